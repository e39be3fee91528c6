"""Basic indexing against NumPy, with known and unknown sizes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from hypothesis.extra.numpy import array_shapes, basic_indices
from numpy.testing import assert_allclose, assert_array_equal

from staticgraph.compiler import ops
from staticgraph.compiler.core.dims import unknown
from staticgraph.compiler.core.errors import ShapeError
from staticgraph.compiler.inspect.interpret import interpret
from staticgraph.compiler.transforms.autodiff import gradients
from tests.trace import placeholder

shapes = array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=5)
bounds = st.none() | st.integers(-7, 7)
slices = st.builds(slice, bounds, bounds, st.sampled_from([None, 1, 2, 3, -1, -2, -3]))


@st.composite
def shapes_and_keys(draw: st.DrawFn) -> tuple[tuple[int, ...], Any]:
    shape = draw(shapes)
    if draw(st.booleans()):
        return shape, draw(basic_indices(shape, allow_newaxis=True))
    return shape, tuple(draw(slices) for _ in shape)


def _array(shape: tuple[int, ...]) -> np.ndarray:
    return np.arange(float(np.prod(shape))).reshape(shape)


@settings(max_examples=120, deadline=None)
@given(shapes_and_keys(), st.booleans())
def test_getitem_is_numpys(case: tuple[tuple[int, ...], Any], sizes: bool) -> None:
    shape, key = case
    array = _array(shape)
    # with `sizes`, every axis is unknown, so that nothing can be decided before the run
    x = placeholder([unknown() if sizes and size != 1 else size for size in shape])
    picked = x[key]
    expected = array[key]
    assert picked.ndim == expected.ndim
    (value,) = interpret([picked], {x: array})
    assert_array_equal(value, expected)
    assert_array_equal(ops.getitem(array, key), expected)
    (slope,) = interpret(gradients((picked * picked).sum(), [x]), {x: array})
    mask = np.zeros(shape)
    mask[key] = 1
    assert_array_equal(slope, 2 * array * mask)


def test_slices_that_fit_are_known_to() -> None:
    n = unknown("n")
    x = placeholder((n,))
    assert x[1:].shape == x[:-1].shape
    assert x[:].shape == (n,)
    assert x[::-1].shape == (n,)
    assert (x[1:] - x[:-1]).shape == x[1:].shape
    assert placeholder((n + 3,))[1:-1].shape == (n + 1,)
    assert placeholder((2 * n,))[::2].shape == (n,)
    assert x[: n // 2].shape == (n // 2,)


@pytest.mark.parametrize(
    ("key", "least", "message"),
    [
        (2, 3, r"max\(0, n - 3\) \+ 3 = 3 and n = 2 differ"),
        (-3, 3, r"max\(0, n - 3\) = 0 and n - 3 = -1 differ"),
        ((Ellipsis, 4), 5, r"max\(0, n - 5\) \+ 5 = 5 and n = 4 differ"),
    ],
)
def test_index_into_unknown_size_is_checked_when_it_runs(
    key: Any, least: int, message: str
) -> None:
    x = placeholder((unknown("n"),))
    picked = x[key]
    (value,) = interpret([picked], {x: np.arange(float(least))})
    assert value == np.arange(float(least))[key]
    with pytest.raises(ShapeError, match=rf"<strided_slice: float64\[1\]> .*: {message}"):
        interpret([picked], {x: np.arange(float(least - 1))})


def test_parts_of_unknown_size_are_checked_when_they_run() -> None:
    x = placeholder((unknown("n"), 2))
    first, second, third = ops.split(x, 3)
    array = np.arange(12.0).reshape(6, 2)
    for value, expected in zip(
        interpret([first, second, third], {x: array}), np.split(array, 3), strict=True
    ):
        assert_array_equal(value, expected)
    with pytest.raises(ShapeError, match=r"<reshape: .*: 2\*n = 14 and .* = 12 differ"):
        interpret([first], {x: np.zeros((7, 2))})


def test_parts_may_be_cut_from_the_end_beyond_it_and_in_any_order() -> None:
    x, array = placeholder((4, 2)), np.arange(8.0).reshape(4, 2)
    for cuts in ([2, 1], [2, -1], [-1, 2], [5, 1], [-9, 2]):
        found = interpret(ops.split(x, cuts), {x: array})
        for value, expected in zip(found, np.split(array, cuts), strict=True):
            assert_array_equal(value, expected)


def test_a_size_is_an_index() -> None:
    n = unknown("n")
    x, y = placeholder((n + 2,)), placeholder((n,))
    array = np.arange(5.0)
    assert interpret([x[n]], {x: array, y: array[:3]}) == [3.0]
    assert interpret([x[n - 1]], {x: array, y: array[:3]}) == [2.0]


def test_an_integer_expression_is_an_index() -> None:
    x, i = placeholder((4, 2)), placeholder((), "int32")
    array = np.arange(8.0).reshape(4, 2)
    (value,) = interpret([x[i]], {x: array, i: np.array(-1, "int32")})
    assert_array_equal(value, array[-1])


@pytest.mark.parametrize("key", [..., slice(None), (slice(None, None, 2), None)])
def test_a_part_is_a_value_of_its_own(key: Any) -> None:
    x = placeholder((1,), "float64")
    whole = x * x
    part = whole[key]
    assert part is not whole
    by_part, by_x = gradients(ops.sum(ops.exp(part) * 3 + whole[0]), [part, x])
    array = np.array([0.5])
    found = interpret([by_part, by_x], {x: array})
    assert_allclose(found[0].reshape(1), 3 * np.exp(array**2))
    assert_allclose(found[1], 2 * array * (3 * np.exp(array**2) + 1))
