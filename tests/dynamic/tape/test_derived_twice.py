"""Derivatives that are constant, or constant in pieces, and that can be derived again.

What is expected is what PyTorch 2.13 gives.
"""

from __future__ import annotations

from typing import Any

import pytest

import dynamic as torch

F = torch.nn.functional
VALUES = (-4.0, -2.0, -0.5, -0.3, 0.0, 0.2, 0.5, 1.0, 2.0, 3.5, 6.0, 7.0)
EDGES = (-0.5, 0.0, 0.5, 1.0, 6.0)
"""Where one of the functions bends: the slopes of both sides differ."""
STEP = 1e-6


def nll(x: Any) -> Any:
    return F.nll_loss(x.reshape(4, 3), torch.tensor([0, 1, 2, 0]), reduction="none")


FUNCTIONS = {
    "hardtanh": F.hardtanh,
    "relu6": F.relu6,
    "relu": F.relu,
    "leaky_relu": F.leaky_relu,
    "threshold": lambda x: F.threshold(x, 0.3, 0.1),
    "torch.threshold": lambda x: torch.threshold(x, 0.3, 0.1),
    "softshrink": F.softshrink,
    "hardshrink": F.hardshrink,
    "rrelu": F.rrelu,
    "prelu": lambda x: F.prelu(x, torch.tensor([0.2], dtype=torch.float64)),
    "max_pool1d": lambda x: F.max_pool1d(x[None], 3),
    "avg_pool1d": lambda x: F.avg_pool1d(x[None], 3),
    "reflect": lambda x: F.pad(x.reshape(1, 3, 4), (1, 1), mode="reflect"),
    "replicate": lambda x: F.pad(x.reshape(1, 3, 4), (1, 1), mode="replicate"),
    "nll_loss": nll,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_gradient_depends_on_the_input_with_derivative_0(name: str) -> None:
    x = torch.tensor(list(VALUES), dtype=torch.float64, requires_grad=True)
    (g,) = torch.autograd.grad(FUNCTIONS[name](x).sum(), x, create_graph=True)
    assert g.requires_grad
    (second,) = torch.autograd.grad((g * g).sum(), x)
    assert second.tolist() == [0.0] * len(VALUES)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_gradient_of_a_gradient_penalty(name: str) -> None:
    x = torch.tensor(list(VALUES), dtype=torch.float64, requires_grad=True)
    y = FUNCTIONS[name](x)
    (g,) = torch.autograd.grad((y**2).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(g.sum(), x)
    moved = (x + STEP).detach().requires_grad_()
    (after,) = torch.autograd.grad((FUNCTIONS[name](moved) ** 2).sum(), moved)
    quotients = (after - g.detach()) / STEP
    for i, value in enumerate(VALUES):
        if value not in EDGES:
            assert second[i].item() == pytest.approx(quotients[i].item(), rel=1e-4, abs=1e-4)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_gradient_depends_on_the_input_where_its_cotangent_has_a_gradient(name: str) -> None:
    x = torch.tensor(list(VALUES), dtype=torch.float64, requires_grad=True)
    y = FUNCTIONS[name](x)
    cotangent = torch.ones_like(y).requires_grad_()
    (g,) = torch.autograd.grad(y, x, cotangent, create_graph=True)
    assert g.grad_fn is not None
    found = torch.autograd.grad(g.sum(), (x, cotangent))
    assert found[0].tolist() == [0.0] * len(VALUES)
    assert any(found[1].flatten().tolist())


@pytest.mark.parametrize("chosen", [lambda x: x.max(0)[0], lambda x: x.min(0)[0]])
def test_the_gradient_of_an_extremum_depends_on_its_cotangent_alone(chosen: Any) -> None:
    x = torch.tensor([1.0, 3.0, 2.0], requires_grad=True)
    (g,) = torch.autograd.grad(chosen(x), x, create_graph=True)
    assert not g.requires_grad


def test_the_node_of_the_gradient_of_relu_has_the_name_of_pytorch() -> None:
    x = torch.tensor([1.0, -2.0], requires_grad=True)
    (g,) = torch.autograd.grad(torch.relu(x).sum(), x, create_graph=True)
    assert str(g) == "tensor([1., 0.], grad_fn=<ThresholdBackwardBackward0>)"


def test_clamp_and_where_have_no_such_derivative() -> None:
    x = torch.tensor([-2.0, 0.5], requires_grad=True)
    for y in (x.clamp(-1, 1), torch.where(x > 0, x, 0.0), x * 2):
        (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
        assert not g.requires_grad


def test_the_second_derivative_of_hardsigmoid_is_missing_as_in_pytorch() -> None:
    x = torch.tensor([-4.0, 0.5], requires_grad=True)
    (g,) = torch.autograd.grad(F.hardsigmoid(x).sum(), x, create_graph=True)
    assert g.requires_grad
    assert g.tolist() == [0.0, pytest.approx(1 / 6)]
    text = "^derivative for aten::hardsigmoid_backward is not implemented$"
    with pytest.raises(RuntimeError, match=text):
        torch.autograd.grad(g.sum(), x)


@pytest.mark.parametrize(
    ("function", "name"),
    [
        (F.hardtanh, "HardtanhBackward0"),
        (F.relu6, "HardtanhBackward0"),
        (F.hardsigmoid, "HardsigmoidBackward0"),
        (F.softshrink, "SoftshrinkBackward0"),
        (F.hardshrink, "HardshrinkBackward0"),
        (lambda x: F.threshold(x, 0.0, 1.0), "ThresholdBackward0"),
        (lambda x: F.prelu(x, torch.tensor([0.25])), "PreluKernelBackward0"),
    ],
)
def test_an_activation_is_one_node_of_pytorchs_name(function: Any, name: str) -> None:
    x = torch.tensor([0.5], requires_grad=True)
    node = function(x).grad_fn
    assert node.name() == name
    assert node.next_functions[0][0].name().endswith("AccumulateGrad")


def test_the_slope_of_prelu_gets_its_gradient() -> None:
    x = torch.tensor([[-2.0, 1.0], [3.0, -4.0]], requires_grad=True)
    slope = torch.tensor([0.5, 0.1], requires_grad=True)
    F.prelu(x, slope).sum().backward()
    assert x.grad.tolist() == [[0.5, 1.0], [1.0, pytest.approx(0.1)]]
    assert slope.grad.tolist() == [-2.0, -4.0]


@pytest.mark.slow
def test_activations_of_large_tensors_are_those_of_small_ones() -> None:
    x = torch.linspace(-8, 8, 300_000, dtype=torch.float64).requires_grad_()
    for function in (F.hardtanh, F.softshrink, F.hardshrink, F.hardsigmoid, F.rrelu):
        y = function(x)
        (g,) = torch.autograd.grad(y.sum(), x)
        part = x.detach()[::3000].requires_grad_()
        (small,) = torch.autograd.grad(function(part).sum(), part)
        assert y.detach()[::3000].tolist() == function(part).tolist()
        assert g[::3000].tolist() == small.tolist()


def test_threshold_keeps_nan() -> None:
    assert str(torch.threshold(torch.tensor([float("nan"), 1.0]), 2.0, 5.0)) == "tensor([nan, 5.])"
