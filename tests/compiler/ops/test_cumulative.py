"""Running totals where a single scale of a row would not do, and where there are none."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import dynamic
import staticgraph as sg

ROWS = [
    [0.0, 1000.0, -5.0, 3.0],
    [-1000.0, 0.0, 2000.0, 5.0],
    [1.0, -np.inf, 2.0, 0.5],
    [-np.inf, -np.inf, 2.0, -3.0],
]


@pytest.mark.parametrize("values", ROWS)
def test_logcumsumexp_keeps_what_is_far_below_the_largest(values: list[float]) -> None:
    x = np.array(values)
    expected = [np.logaddexp.reduce(x[: i + 1]) for i in range(len(x))]
    assert_allclose(sg.logcumsumexp(x), expected, rtol=1e-15)
    symbol = sg.placeholder("x", (None,), "float64")
    total = sg.logcumsumexp(symbol)
    weights = np.array([1.0, -2.0, 0.5, 3.0])
    compiled = sg.compile([symbol], [total, *sg.grad((total * weights).sum(), [symbol])])
    value, slope = compiled(x)
    assert_allclose(value, expected, rtol=1e-15)
    # d out[j] / d x[i] = exp(x[i] - out[j]) for i <= j
    steps = np.array([
        [0 if i > j or x[i] == -np.inf else np.exp(x[i] - expected[j]) for i in range(len(x))]
        for j in range(len(x))
    ])  # fmt: skip
    assert_allclose(slope, weights @ steps, rtol=1e-11, atol=1e-300)
    tensor = dynamic.tensor(values, dtype=dynamic.float64, requires_grad=True)
    (dynamic.logcumsumexp(tensor, 0) * dynamic.tensor(weights)).sum().backward()
    assert_allclose(tensor.grad.numpy(), weights @ steps, rtol=1e-11, atol=1e-300)


def test_logcumsumexp_of_nothing_is_nothing() -> None:
    assert dynamic.zeros(2, 0).logcumsumexp(1).shape == (2, 0)
    assert sg.logcumsumexp(np.zeros((0, 3)), 0).shape == (0, 3)
