"""Functions that are one op here, and composed elsewhere: values and gradients are the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import dynamic as torch
from staticgraph.compiler.layers import activations, regression
from staticgraph.dynamic.core import composed_ops
from staticgraph.dynamic.kernels import native

F = torch.nn.functional
SHAPES = ((6, 4), (260, 600))


def draw(shape: tuple[int, ...], seed: int = 0) -> Any:
    x = np.random.default_rng(seed).standard_normal(shape) * 3
    x.flat[:4] = 3.0, -3.0, 0.0, 1.0
    return torch.from_numpy(x).requires_grad_()


ACTIVATIONS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "hardswish": (F.hardswish, activations.hardswish),
    "logsigmoid": (F.logsigmoid, activations.logsigmoid),
    "glu": (F.glu, lambda x: composed_ops.glu.expand(x, axis=1)),
    "glu along the first axis": (
        lambda x: F.glu(x, 0), lambda x: composed_ops.glu.expand(x, axis=0),
    ),
}  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations_are_what_they_are_composed_of(name: str, shape: tuple[int, ...]) -> None:
    function, composed = ACTIVATIONS[name]
    found, expected = (gradients(one, draw(shape)) for one in (function, composed))
    for one, other in zip(found, expected, strict=True):
        assert_allclose(one, other, rtol=1e-12, atol=1e-13)


def gradients(function: Callable[..., Any], *operands: Any) -> list[Any]:
    """The value, its gradients, and those of their squares."""
    value = function(*operands)
    weight = torch.from_numpy(np.random.default_rng(9).standard_normal(tuple(value.shape)))
    first = torch.autograd.grad((value * weight).sum(), operands, create_graph=True)
    second = torch.autograd.grad(sum((one * one).sum() for one in first), operands)
    return [one.detach().numpy() for one in (value, *first, *second)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("name", ["smooth_l1_loss", "huber_loss"])
def test_losses_are_what_they_are_composed_of(
    name: str, reduction: str, shape: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    option = {"beta" if name == "smooth_l1_loss" else "delta": 0.75}

    def composed(x: Any, target: Any) -> Any:
        return getattr(regression, name)(x, target, **option, reduction=reduction)

    function = getattr(F, name)
    found = gradients(
        lambda x, y: function(x, y, reduction=reduction, **option), draw(shape), draw(shape, 1)
    )
    expected = gradients(composed, draw(shape), draw(shape, 1))
    for one, other in zip(found, expected, strict=True):
        assert_allclose(one, other, rtol=1e-11, atol=1e-12)
    monkeypatch.setattr(native.state, "enabled", False)
    without = gradients(
        lambda x, y: function(x, y, reduction=reduction, **option), draw(shape), draw(shape, 1)
    )
    for one, other in zip(without, expected, strict=True):
        assert_allclose(one, other, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("shape", SHAPES)
def test_the_slope_of_an_infinite_difference_is_that_of_a_large_one(shape: tuple[int, ...]) -> None:
    for function in (F.smooth_l1_loss, F.huber_loss):
        x = draw(shape).detach()
        x[0, :3] = torch.tensor([np.inf, -np.inf, np.nan])
        x.requires_grad_()
        function(x, torch.zeros_like(x), reduction="sum").backward()
        assert_array_equal(x.grad[0, :3].numpy(), [1.0, -1.0, np.nan])


def test_a_large_loss_is_one_node_with_the_gradient_of_an_absolute_difference_for_no_beta() -> None:
    x, target = draw(SHAPES[1]), draw(SHAPES[1], 1)
    loss = F.smooth_l1_loss(x, target, reduction="sum", beta=0.0)
    assert loss.grad_fn.name() == "SmoothL1LossBackward0"
    leaves = [node for node, _ in loss.grad_fn.next_functions]
    assert [leaf.variable for leaf in leaves] == [x, target]
    loss.backward()
    difference = np.sign(x.detach().numpy() - target.detach().numpy())
    assert_array_equal(x.grad.numpy(), difference)
    assert_array_equal(target.grad.numpy(), -difference)
    y = x * 1
    loss = F.huber_loss(y, target)
    y.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()
