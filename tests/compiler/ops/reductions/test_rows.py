"""Sparsemax against bisection in exact fractions, at ties and where there is no number."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import dynamic
import staticgraph as sg
from staticgraph.compiler import ops
from staticgraph.compiler.core.errors import AxisError
from staticgraph.compiler.inspect.interpret import interpret
from staticgraph.dynamic.kernels import native
from tests.combinations import some
from tests.trace import placeholder

INF, NAN = np.inf, np.nan


def _nearest(row: list[Fraction]) -> list[float]:
    """The shift t with sum(max(x - t, 0)) = 1, halved 80 times between max - 1 and max."""
    low, high = max(row) - 1, max(row)
    for _ in range(80):
        middle = (low + high) / 2
        if sum(max(x - middle, Fraction(0)) for x in row) > 1:
            low = middle
        else:
            high = middle
    return [float(max(x - high, Fraction(0))) for x in row]


@pytest.mark.slow
@pytest.mark.parametrize("dtype", some(["float64", "float32"], 1))
@pytest.mark.parametrize("size", [1, 2, 7, 300])
def test_sparsemax_is_what_bisection_finds(dtype: str, size: int) -> None:
    rng = np.random.default_rng(size)
    x = (rng.integers(-40, 40, (5, size)) / 16 + 1000).astype(dtype)  # with ties, and far from 0
    expected = np.array([_nearest([Fraction(float(one)) for one in row]) for row in x])
    symbol = sg.placeholder("x", (None, None), dtype)
    given = sg.compile([symbol], [sg.sparsemax(symbol), sg.sparsemax(symbol.T, axis=0).T])(x)
    for found in (sg.sparsemax(x), dynamic.tensor(x).sparsemax(-1).numpy(), *given):
        assert found.dtype == dtype
        assert_allclose(found, expected, 0, 4 * np.finfo(dtype).eps)
        assert_allclose(found.sum(1), 1, 0, 8 * np.finfo(dtype).eps)


def test_sparsemax_of_large_tensors_is_that_of_small_ones() -> None:
    x = np.random.default_rng(0).normal(size=(40, 5000))
    attrs = {"axis": 1}
    assert native.evaluate(ops.sparsemax, [x], attrs) is None  # NumPy sorts faster without a kernel
    assert native.cotangents(ops.sparsemax, (0,), x, sg.sparsemax(x), [x], attrs) is not None
    tensor = dynamic.tensor(x, requires_grad=True)
    weight = np.random.default_rng(1).normal(size=x.shape)
    value = tensor.sparsemax(1)
    (value * dynamic.tensor(weight)).sum().backward()
    assert_allclose(value.detach().numpy(), sg.sparsemax(x), 0, 1e-15)
    inside = sg.sparsemax(x) > 0
    mean = (weight * inside).sum(1, keepdims=True) / inside.sum(1, keepdims=True)
    assert_allclose(tensor.grad.numpy(), np.where(inside, weight - mean, 0), 0, 1e-14)


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
def test_sparsemax_where_there_is_no_number() -> None:
    rows = np.array(
        [[NAN, 1.0, 0.0], [INF, 1.0, 0.0], [-INF, -INF, -INF], [-INF, 2.0, 2.0], [0.0, -0.0, 0.0]]
    )
    expected = [[NAN] * 3, [NAN] * 3, [NAN] * 3, [0, 0.5, 0.5], [1 / 3] * 3]
    symbol = placeholder((5, 3), "float64", "x")
    for found in (sg.sparsemax(rows), *interpret([sg.sparsemax(symbol)], {symbol: rows})):
        assert_allclose(found, expected, 1e-15)
    assert sg.sparsemax(np.zeros((2, 0))).shape == (2, 0)
    assert_array_equal(sg.sparsemax(np.array([3, 1])), [1.0, 0.0])  # integers are cast
    assert dynamic.tensor(2.0).sparsemax(0).item() == 1
    with pytest.raises(AxisError, match="sparsemax: axis -1 is out of range for 0 axes"):
        sg.sparsemax(np.array(2.0))


def test_what_is_zero_on_the_edge_of_the_support_has_no_slope() -> None:
    tensor = dynamic.tensor([1.0, 0.0, 0.5], requires_grad=True, dtype=dynamic.float64)
    (tensor.sparsemax(0) * dynamic.tensor([1.0, 2.0, 4.0], dtype=dynamic.float64)).sum().backward()
    assert_array_equal(tensor.grad.numpy(), [-1.5, 0.0, 1.5])
