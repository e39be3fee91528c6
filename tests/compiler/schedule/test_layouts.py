"""Transposed matrices whose rows are reduced are written out in the order of the rows first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

import staticgraph as sg
from tests.combinations import some

FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "softmax": lambda x: sg.softmax(x.T, -1),
    "sums": lambda x: sg.exp(x.T).sum(1),
    "extrema": lambda x: (x.T * 2 - 1).max(1),
    "scaled": lambda x: x.T / (x.T * x.T).sum(1, keepdims=True),
    "with the matrix itself": lambda x: sg.tanh(x).sum() + sg.exp(x.T).sum(1),
    "with its gradient": lambda x: sg.grad(sg.log_softmax(x.T, -1)[:, 0].sum(), x),
}


def arranged(executable: sg.Executable) -> bool:
    return any(data["op"].name == "reshape" for _, data in executable.lowered.nodes(data=True))


@pytest.mark.slow
@pytest.mark.parametrize("known", some([False, True], 1), ids=["unknown sizes", "known sizes"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_are_those_without(name: str, known: bool) -> None:
    x = sg.placeholder("x", (130, 140) if known else (None, None), "float64")
    result = FUNCTIONS[name](x)
    executable = sg.compile([x], result)
    plain = sg.compile([x], result, disable=["arrange_rows"])
    assert arranged(executable)
    assert not arranged(plain)
    for shape in ((130, 140),) if known else ((130, 140), (1, 2), (3, 70), (70, 3)):
        value = np.random.default_rng(0).standard_normal(shape)
        assert_allclose(executable(value), plain(value), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: sg.softmax(x, -1),
        lambda x: sg.exp(x.T).sum(0),
        lambda x: sg.exp(x.T).sum(),
        lambda x: sg.tanh(x.T) * 2,
        lambda x: x.T @ x,
        lambda x: sg.softmax(x[::2], -1),
    ],
    ids=["row-major", "columns", "everything", "elements", "product", "every other row"],
)
def test_what_is_not_read_across_stays(function: Callable[[Any], Any]) -> None:
    x = sg.placeholder("x", (None, None), "float64")
    assert not arranged(sg.compile([x], function(x)))


def test_what_stays_in_the_cache_stays() -> None:
    x = sg.placeholder("x", (100, 100), "float64")
    assert not arranged(sg.compile([x], sg.softmax(x.T, -1)))
