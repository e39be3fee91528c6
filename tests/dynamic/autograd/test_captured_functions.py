"""A user's `Function` in captured code: in loops, branches and batches its backward is the rule."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dynamic
import staticgraph as sg


class Square(dynamic.autograd.Function):
    """x * x, with 3 x for a derivative."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return 3 * g * ctx.saved_tensors[0]


class Both(dynamic.autograd.Function):
    """Product and sum, of which the second has ten times its derivative by y."""

    @staticmethod
    def forward(ctx: Any, x: Any, y: Any) -> Any:
        ctx.save_for_backward(x, y)
        return x * y, x + y

    @staticmethod
    def backward(ctx: Any, g: Any, h: Any) -> Any:
        x, y = ctx.saved_tensors
        return g * y + h, g * x + 10 * h


class Exponential(dynamic.autograd.Function):
    """exp(x), whose backward reads the result."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        found = dynamic.exp(x)
        ctx.save_for_backward(found)
        return found

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return 2 * g * ctx.saved_tensors[0]


def _both(x: Any) -> Any:
    product, total = Both.apply(x, 2 * x)
    return product + total


def _repeated(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda x: sg.scan(lambda carry, _: (function(carry), carry), x, None, 2)[0]


PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "plain": Square.apply,
    "loop": _repeated(Square.apply),
    "loop of two results": _repeated(_both),
    "loop of a saved result": _repeated(Exponential.apply),
    "branch": lambda x: sg.cond(x.sum() > 0, Square.apply, lambda one: one, x),
    "batch": lambda x: sg.vmap(lambda one: Square.apply(one) * one)(x),
    "batch of two results": lambda x: sg.vmap(_both)(x),
    "batch of a saved result": lambda x: sg.vmap(lambda one: Exponential.apply(one) * one)(x),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_captured_gradients_are_those_of_eager_calls(name: str) -> None:
    program = PROGRAMS[name]
    found = []
    for function in (program, sg.function(program)):
        x = dynamic.tensor([0.5, 2.0], dtype=dynamic.float64, requires_grad=True)
        value = function(x)
        value.sum().backward()
        found.append((value.detach().numpy(), x.grad.numpy()))
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, 1e-14)
