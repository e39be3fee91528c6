"""Functions of each element with options: per value of these a way, one day a builtin one."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dynamic as torch
from staticgraph.compiler import ops
from staticgraph.dynamic.fast_paths import options

F = torch.nn.functional

pytestmark = pytest.mark.usefixtures("soon")

FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "elu": lambda x: F.elu(x, 0.75),
    "leaky_relu": lambda x: F.leaky_relu(x, 0.03),
    "hardtanh": lambda x: F.hardtanh(x, -0.7, 0.6),
    "relu6": F.relu6,
    "hardsigmoid": F.hardsigmoid,
    "hardswish": F.hardswish,
    "logsigmoid": F.logsigmoid,
    "softshrink": lambda x: F.softshrink(x, 0.3),
    "hardshrink": lambda x: F.hardshrink(x, 0.3),
    "threshold": lambda x: F.threshold(x, 0.1, -3.0),
}


def draw(*shape: int, seed: int = 0, dtype: str = "float32") -> np.ndarray:
    x = np.random.default_rng(seed).standard_normal(shape).astype(dtype) * 3
    if x.size > 5:
        x.flat[:6] = 0.0, -0.0, np.nan, np.inf, -np.inf, 3.0
    return x


def of(function: Callable[[Any], Any], x: np.ndarray) -> list[bytes]:
    operand = torch.from_numpy(x.copy()).requires_grad_()
    with np.errstate(all="ignore"):
        value = function(operand)
        value.backward(torch.ones_like(value))
    return [value.detach().numpy().tobytes(), operand.grad.numpy().tobytes()]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_bits_stay_whatever_comes(name: str) -> None:
    function = FUNCTIONS[name]
    shapes = ((3, 4), (7,), (1,), (2, 3, 5))
    given = [draw(*shape, seed=i, dtype=d) for i, shape in enumerate(shapes) for d in ("f4", "f8")]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DYNAMIC_COMPILE_SMALL_OPS", "0")
        expected = [of(function, x) for x in given]
    for _ in range(30):
        for x, one in zip(given, expected, strict=True):
            assert of(function, x) == one
    for x in (np.array(0.5), draw(0), draw(0, 3), draw(4, 6)[:, ::2], draw(3, 4).T):
        found = function(torch.from_numpy(x.copy())).numpy()
        assert np.array_equal(function(torch.from_numpy(x)).numpy(), found, equal_nan=True)


def test_a_way_becomes_a_builtin_function_that_records() -> None:
    x = torch.from_numpy(draw(3, 4)).requires_grad_()
    for _ in range(20):
        y = F.hardtanh(x, -0.25, 0.125)
    way = options._ways[ops.hardtanh][(-0.25, 0.125), float, float]
    assert inspect.isbuiltin(way.function)
    assert y.grad_fn.name() == "HardtanhBackward0"
    assert y.grad_fn.next_functions[0][0].variable is x
    with torch.no_grad():
        assert F.hardtanh(x, -0.25, 0.125).grad_fn is None
    z = x * 1
    y = F.hardtanh(z, -0.25, 0.125)
    z.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_zeros_of_both_signs_are_other_options() -> None:
    x = torch.tensor([1.0, -1.0])
    for _ in range(10):
        for zero in (0.0, -0.0):
            assert np.signbit(F.threshold(x, 0.5, zero).numpy()[1]) == np.signbit(zero)
            assert np.signbit(F.leaky_relu(x, zero).numpy()[1]) != np.signbit(zero)


@pytest.mark.parametrize("number", [-1e9, -np.inf, np.nan, -0.0, 2])
def test_filling_where_a_mask_holds_is_what_the_op_gives(number: float) -> None:
    x = torch.from_numpy(draw(3, 4)).requires_grad_()
    mask = torch.from_numpy(np.arange(12).reshape(3, 4) % 3 == 0)
    for chosen in (mask, mask[:1]):
        value = x.masked_fill(chosen, number)
        expected = np.where(chosen.numpy(), np.array(number, "f4"), x.detach().numpy())
        assert value.detach().numpy().tobytes() == expected.tobytes()
        assert value.grad_fn.name() == "MaskedFillBackward0"
        (slope,) = torch.autograd.grad(value, x, torch.ones(3, 4))
        assert np.array_equal(slope.numpy(), np.broadcast_to(~chosen.numpy(), (3, 4)))
    value = x.masked_fill(mask, number)
    mask.logical_not_()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        value.sum().backward()
