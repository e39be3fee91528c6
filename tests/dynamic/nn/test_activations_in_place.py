"""Activations that overwrite their input: one node with PyTorch's name, and its gradients."""

from __future__ import annotations

import pytest

import dynamic as torch
from dynamic import nn

F = nn.functional
NAMES = {
    "leaky_relu": "LeakyReluBackward1", "elu": "EluBackward1", "selu": "EluBackward1",
    "celu": "CeluBackward1", "silu": "SiluBackward0", "mish": "MishBackward0",
    "threshold": "ThresholdBackward1", "hardtanh": "HardtanhBackward0",
    "relu6": "HardtanhBackward0", "hardsigmoid": "HardsigmoidBackward0",
    "hardswish": "HardswishBackward0", "rrelu": "RreluWithNoiseBackward1",
}  # fmt: skip


def applied(name, x, **options):
    return getattr(F, name)(x, *((0.1, 0.2) if name == "threshold" else ()), **options)


@pytest.mark.parametrize("name", NAMES)
def test_they_overwrite_tensors_and_views(name):
    values = torch.tensor([-0.7, 0.4, 2.0, -4.0], dtype=torch.float64)
    x, twin = (values.clone().requires_grad_() for _ in range(2))
    y = x * 1
    assert applied(name, y, inplace=True) is y and y._version == 1
    assert y.grad_fn.name() == NAMES[name]
    assert torch.equal(y, applied(name, twin))
    g = torch.arange(4.0, dtype=torch.float64)
    expected = torch.autograd.grad(applied(name, twin * 1), twin, g)[0]
    assert torch.equal(torch.autograd.grad(y, x, g)[0], expected)
    z = x * 1
    applied(name, z[1:3], inplace=True)
    assert z.grad_fn.name() == "torch::autograd::CopySlices"
    expected = torch.cat([g[:1], expected[1:3], g[3:]])
    assert torch.equal(torch.autograd.grad(z, x, g)[0], expected)


def test_a_part_that_both_operands_of_the_last_op_read():
    def written(x):
        y = x * 1
        F.mish(y[1:], inplace=True)
        return y

    x = torch.tensor([-0.7, 2.0, 0.3], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(written, x) and torch.autograd.gradgradcheck(written, x)


def test_random_slopes_have_a_gradient_where_they_overwrite():
    x = torch.tensor([-1.0, 2.0], requires_grad=True)
    y = x * 1
    nn.RReLU(0.25, 0.5, inplace=True)(y).sum().backward()
    assert 0.25 <= x.grad[0] <= 0.5 and x.grad[1] == 1 and torch.equal(y, x * x.grad)


def test_what_packs_saved_tensors_packs_the_values_from_before():
    seen = []
    x = torch.tensor([-1.0, 2.0], requires_grad=True)
    y = x * 1
    hooks = torch.autograd.graph.saved_tensors_hooks(lambda t: (seen.append(t), t)[1], lambda t: t)
    with hooks:
        F.hardswish(y, inplace=True)
    y.sum().backward()
    assert seen[0].tolist() == [-1, 2] and torch.allclose(x.grad, torch.tensor([1 / 6, 7 / 6]))


def test_without_a_graph_and_under_transforms():
    x = torch.tensor([-1.0, 1.0])
    with torch.no_grad():
        assert F.leaky_relu(x, 0.5, inplace=True) is x and x.tolist() == [-0.5, 1]
    assert F.relu6(torch.tensor([-1, 2, 9]), inplace=True).tolist() == [0, 2, 6]
    leaf = torch.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        F.mish(leaf, inplace=True)
    f = torch.func.grad(lambda x: F.leaky_relu(x * 1, 0.5, inplace=True).sum())
    assert torch.func.vmap(f)(torch.tensor([[-1.0], [1.0]])).tolist() == [[0.5], [1]]
    out, slope = torch.func.jvp(lambda x: F.elu(x * 1, inplace=True), (leaf,), (leaf,))
    assert out.tolist() == slope.tolist() == [1, 1]


def test_a_penalty_on_the_gradient_of_a_part_has_nodes_in_pytorchs_order():
    x = torch.ones(2, 3, requires_grad=True)
    part = F.threshold((x + 1).view_as(x), 0.0, 0.0, True)
    g = torch.autograd.grad(torch.sigmoid(part).sum(), x, create_graph=True)[0]
    inner = g.sum().grad_fn.next_functions[0][0].next_functions
    assert inner[1][0].name() == "ThresholdBackwardBackward0"
