"""Draws that were asked for before: the short way has the numbers and errors of the long one."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import dynamic
import staticgraph as sg
from staticgraph.compiler.core.errors import DTypeError, ShapeError
from staticgraph.random import plans

KEY, OTHER = sg.random.key(5), sg.random.key(6)
DRAWS: dict[str, Callable[[Any, Any], Any]] = {
    "uniform": lambda key, shape: sg.random.uniform(key, shape, "float64", -1.0, 2.0),
    "normal": sg.random.normal,
    "randint": lambda key, shape: sg.random.randint(key, shape, -3, 1000),
    "gamma": lambda key, shape: sg.random.gamma(key, 0.3, shape),
}


@pytest.mark.parametrize("name", DRAWS)
def test_draws_again_are_those_of_a_graph(name: str) -> None:
    draw, key = DRAWS[name], sg.placeholder("key", (), "int64")
    graph = sg.compile([key], draw(key, (2, 3)))
    for given in (KEY, OTHER, KEY):
        wanted = graph(given)
        for shape in ((6,), (2, 3), (), (0,), (6,)):
            found = draw(given, shape)
            assert found.shape == shape
            assert_array_equal(found.ravel(), wanted.ravel()[: found.size])
    first, second = draw(KEY, (7,)), draw(KEY, (7,))
    assert not np.shares_memory(first, second)


def test_what_is_equal_to_sizes_and_is_none_is_refused_after_a_draw() -> None:
    assert sg.random.uniform(KEY, (1,)).shape == sg.random.uniform(KEY, 1).shape == (1,)
    for shape in ((1.0,), (True,), 1.0, True):
        with pytest.raises(ShapeError, match=r"uniform: .* is no size"):
            sg.random.uniform(KEY, shape)


def test_bounds_that_are_equal_to_integers_and_are_none_are_refused_after_a_draw() -> None:
    assert_array_equal(sg.random.randint(KEY, (2,), 0, 1), [0, 0])
    with pytest.raises(DTypeError, match="minval is no integer"):
        sg.random.randint(KEY, (2,), 0.0, 1)


def test_keys_are_looked_at_after_a_draw() -> None:
    sg.random.normal(KEY, (2,))
    with pytest.raises(DTypeError, match="normal: the key is float64"):
        sg.random.normal(np.zeros(()), (2,))
    with pytest.raises(ShapeError, match="normal: the key has the shape"):
        sg.random.normal(np.zeros(2, np.int64), (2,))


def test_the_default_dtype_of_a_draw_is_that_of_its_time() -> None:
    before = sg.random.normal(KEY, (3,))
    with sg.default_dtype("float64"):
        assert sg.random.normal(KEY, (3,)).dtype == np.float64
    sg.set_default_dtype("float64")
    try:
        assert sg.random.normal(KEY, (3,)).dtype == np.float64
    finally:
        sg.set_default_dtype("float32")
    assert_array_equal(sg.random.normal(KEY, (3,)), before)
    assert before.dtype == np.float32


def test_the_sign_of_a_parameter_that_is_0_changes_nothing() -> None:
    for mean in (-0.0, 0.0, -0.0):
        found = sg.random.normal(KEY, (8,), None, mean, 0.0)
        assert_array_equal(np.signbit(found), False)


def test_parameters_that_are_arrays_tensors_or_expressions_are_not_kept() -> None:
    sg.random.exponential(KEY, (2,), "float64", 2.0)
    before = plans._kept.cache_info().currsize
    for scale in (np.full(2, 2.0), dynamic.ones(2), sg.placeholder("scale", (2,), "float64")):
        sg.random.exponential(KEY, (2,), "float64", scale)
    assert plans._kept.cache_info().currsize == before


def test_several_threads_draw_the_same_at_once() -> None:
    wanted = {size: sg.random.gamma(KEY, 0.7, (size,)) for size in (3, 5000)}
    wrong: list[int] = []

    def draw(size: int) -> None:
        for _ in range(50):
            if not np.array_equal(sg.random.gamma(KEY, 0.7, (size,)), wanted[size]):
                wrong.append(size)

    workers = [threading.Thread(target=draw, args=(size,)) for size in (3, 5000, 3, 5000)]
    for one in workers:
        one.start()
    for one in workers:
        one.join()
    assert not wrong
