"""`autograd.Function` in captured functions: its forward and its own backward, as eagerly."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dynamic as torch
import staticgraph as sg
from staticgraph.dynamic.autograd import Function
from staticgraph.dynamic.autograd.function import once_differentiable
from tests.dynamic.capture.test_effects import ROWS, same


class Clipped(Function):
    """exp, whose gradient is at most 1 in size."""

    @staticmethod
    def forward(ctx: Any, x: Any, scale: float) -> Any:
        y = (x * scale).exp()
        ctx.save_for_backward(x, y)
        ctx.scale = scale
        return y

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        x, y = ctx.saved_tensors
        assert ctx.needs_input_grad == (True, False)
        return (g * y * ctx.scale + 0 * x).clamp(-1, 1), None


class Pair(Function):
    @staticmethod
    def forward(x: Any, y: Any) -> Any:
        return x * y, x + y, (x > y)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(*inputs)
        ctx.mark_non_differentiable(output[2])

    @staticmethod
    def backward(ctx: Any, g: Any, h: Any, _: Any) -> Any:
        x, y = ctx.saved_tensors
        return 10 * g * y + h, 10 * g * x - h


class Straight(Function):
    """Rounding with the gradient of the identity."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x.round()

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g


class Once(Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, g: Any) -> Any:
        (x,) = ctx.saved_tensors
        return 3 * g * x


class Forward(Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x * 2


def penalty(x: Any) -> Any:
    y = Clipped.apply(x, 0.5)
    (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    return (g * g).sum() + y.sum()


def inside(x: Any) -> Any:
    y = Straight.apply(x.detach().requires_grad_() * 3)
    z = Straight.apply(x * 3) * x
    with torch.no_grad():
        w = Straight.apply(x)
    return z, w, y.detach()


PROGRAMS: dict[str, Callable[..., Any]] = {
    "saved": lambda x: Clipped.apply(x * 2, 1.5) * x,
    "several": lambda x: [one * (i + 1) for i, one in enumerate(Pair.apply(x, x * 2)[:2])],
    "one of several": lambda x: Pair.apply(x, x.exp())[1],
    "straight through": inside,
    "once": lambda x: Once.apply(x),
    "in a loop": lambda x: sum(Clipped.apply(row, 1.0) for row in x),
    "differentiated inside": penalty,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_gradient_is_that_of_backward(name: str) -> None:
    same(lambda: (PROGRAMS[name], []), ROWS)


def test_compiled_and_differentiated_again() -> None:
    x = torch.tensor([0.3, -0.2, 0.1], requires_grad=True)
    found = []
    for function in (PROGRAMS["saved"], sg.function(PROGRAMS["saved"])):
        (g,) = torch.autograd.grad(function(x).sum(), x, create_graph=True)
        (h,) = torch.autograd.grad(g.sum(), x)
        found.append((g.detach().numpy(), h.numpy()))
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)


def test_what_cannot_be_differentiated() -> None:
    x = torch.ones(3, requires_grad=True)
    (g,) = torch.autograd.grad(sg.function(PROGRAMS["once"])(x).sum(), x)
    assert g.tolist() == [3, 3, 3]
    for function in (PROGRAMS["once"], sg.function(PROGRAMS["once"], debug=True)):
        (g,) = torch.autograd.grad((function(x) * x).sum(), x, create_graph=True)
        with pytest.raises(RuntimeError, match="trying to differentiate twice a function"):
            g.sum().backward()
    captured = sg.function(lambda x: Forward.apply(x), debug=True)
    assert captured(x.detach()).tolist() == [2, 2, 2]
    with pytest.raises(NotImplementedError, match="must implement either the backward"):
        captured(x).sum().backward()


def test_a_parameter_from_outside_is_detached() -> None:
    """As what teachers, moving averages and straight-through estimators do with weights."""
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    x = torch.tensor([3.0, 4.0], requires_grad=True)

    def gated(x: Any) -> Any:
        return (w.detach() * w * x + w.data).sum()

    for f in (gated, sg.function(gated)):
        w.grad = x.grad = None
        f(x).backward()
        assert w.grad.tolist() == [3.0, 8.0]
        assert x.grad.tolist() == [1.0, 4.0]
    doubled = sg.function(lambda x: (w.detach().mul_(2) * x).sum().detach())
    assert doubled(x).item() == 22.0
    assert w.tolist() == [2.0, 4.0]
