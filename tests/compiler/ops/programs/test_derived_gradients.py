"""Gradients of users' functions of numbers, derived from the functions themselves."""

from __future__ import annotations

import math
from collections.abc import Callable
from math import erf
from typing import Any

import numba
import numpy as np
import pytest

import dynamic
import staticgraph as sg
from staticgraph.compiler.core.errors import GraphError

POWER = 3


@numba.njit
def _cubed(x: float) -> float:
    return x**POWER


@sg.op
def mixed(x: float, y: float) -> float:
    return math.sin(x) * math.exp(-y) + erf(x * y) + _cubed(x) / (1.0 + math.hypot(x, y))


@sg.op
def branched(x: float, y: float) -> float:
    if abs(x) <= y:
        return 0.5 * x * x
    return y * (max(x, -x) - 0.5 * y)


@sg.op
def newton(x: float) -> float:
    y = x
    for _ in range(4):
        y = y - (y * y * y + y - x) / (3.0 * y * y + 1.0)
    return np.tanh(y)


@sg.op
def rooted(x: float) -> float:
    if x > 0.0:
        return math.sqrt(x)
    return 0.0


X, Y = np.array([0.5, -3.0, 2.0]), np.array([1.0, 1.5, 0.2])
SAME: dict[str, tuple[Any, Callable[..., Any], tuple[np.ndarray, ...]]] = {
    "arithmetic and math": (
        mixed,
        lambda x, y: sg.sin(x) * sg.exp(-y) + sg.erf(x * y) + x**3 / (1.0 + sg.hypot(x, y)),
        (X, Y),
    ),
    "branches": (
        branched,
        lambda x, y: sg.where(sg.abs(x) <= y, 0.5 * x * x, y * (sg.abs(x) - 0.5 * y)),
        (X, Y),
    ),
    "a loop, and NumPy": (newton, newton.function, (X,)),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SAME)
def test_they_are_those_of_the_same_in_ops(name: str) -> None:
    own, ops, arrays = SAME[name]
    places = tuple(range(len(arrays)))

    def derivatives(f: Callable[..., Any]) -> list[Any]:
        first = sg.grad(lambda *x: sg.sum(f(*x)), argnums=places)
        second = sg.grad(lambda *x: sg.sum(first(*x)[0]), argnums=places)
        pushed = sg.jvp(f, arrays, tuple(np.ones_like(one) for one in arrays))[1]
        return [*first(*arrays), *second(*arrays), pushed]

    expected = derivatives(ops)
    for one, other in zip(derivatives(own), expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-14)
    inputs = [sg.placeholder(f"x{i}", (None,), "float64") for i in places]
    compiled = sg.compile(inputs, sg.grad(sg.sum(own(*inputs)), inputs))(*arrays)
    tensors = [dynamic.tensor(one, requires_grad=True) for one in arrays]
    own(*tensors).sum().backward()
    for i in places:
        np.testing.assert_allclose(compiled[i], expected[i], rtol=1e-12)
        np.testing.assert_allclose(tensors[i].grad.numpy(), expected[i], rtol=1e-12)


def test_a_side_that_is_not_taken_gives_no_nan() -> None:
    x = np.array([4.0, 0.0, -1.0])
    first = sg.grad(lambda x: sg.sum(rooted(x)))
    np.testing.assert_array_equal(first(x), [0.25, 0.0, 0.0])
    np.testing.assert_array_equal(sg.grad(lambda x: sg.sum(first(x)))(x), [-1.0 / 32.0, 0.0, 0.0])


@pytest.mark.slow
def test_they_broadcast_in_the_dtype_of_the_operands_in_batches_loops_and_captures() -> None:
    slopes = sg.grad(lambda x, y: sg.sum(branched(x, y)), argnums=(0, 1))
    found = slopes(np.ones((2, 3), "float32"), np.ones((2, 1), "float32"))
    assert [(one.shape, one.dtype.name) for one in found] == [
        ((2, 3), "float32"), ((2, 1), "float32"),
    ]  # fmt: skip
    each = sg.vmap(sg.grad(lambda x: branched(x, 1.0)))(X)
    np.testing.assert_array_equal(each, [0.5, -1.0, 1.0])
    tensor = dynamic.tensor(X, requires_grad=True)
    sg.function(lambda x: branched(x, 1.0).sum())(tensor).backward()
    np.testing.assert_array_equal(tensor.grad.numpy(), each)
    looped = sg.grad(lambda x: sg.sum(sg.scan(lambda c, _: (newton(c), c), x, None, 2)[0]))(X)
    slope = sg.grad(lambda x: sg.sum(newton(x)))
    np.testing.assert_allclose(looped, slope(newton(X)) * slope(X), rtol=1e-12)


def test_a_rule_comes_too_late_once_one_was_derived() -> None:
    @sg.op
    def doubled(x: float) -> float:
        return 2.0 * x

    assert sg.grad(doubled)(1.0) == 2.0
    with pytest.raises(GraphError, match="its rule for gradient was used already"):
        doubled.vjp(lambda g, out, x: g)
