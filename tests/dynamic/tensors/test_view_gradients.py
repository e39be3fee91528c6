"""Gradients through views, of which some elements were written or are one in memory."""

from __future__ import annotations

import numpy as np
import pytest

import dynamic as torch


def _gradient(program):
    """The gradient of what a program makes of a vector, in which it may be overwritten."""
    x = torch.tensor([0.5, -1.0, 2.0], requires_grad=True)
    program(x).sum().backward()
    return x.grad.tolist()


def _assigned_number(x):
    y = x.prod() * 1
    y[...] = 5.0
    return y * x


def _view_then_base(x):
    y = x[:, None] * x
    v = y.reshape(-1)
    v.mul_(3)
    y.relu_()
    return v


def _transposed_base(x):
    y = torch.stack([x, x * 2])
    v = y[:, 1:]
    y.t_()
    v.mul_(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
    return y.sum() + 10 * v.sum()


def _axis_added_in_place(x):
    v = (x * 2)[1:]
    v.unsqueeze_(0).mul_(3)
    return v


def _filled_view(x):
    v = (x * 2)[1:]
    v.fill_(7.0)
    return v.sin() * x[:2]


def _compared_in_place(x):
    y = x * 2
    v = y[1:]
    v.eq_(1)
    return y + v.sum()


def _diagonal(x):
    y = x[:, None] * x
    y.diagonal().copy_(x * 5)
    return y


def _windows(x):
    y = x * 1
    windows = y.unfold(0, 2, 1)
    y.mul_(2)
    return windows * torch.tensor([[1.0, 2.0], [3.0, 4.0]])


def _as_strided(x):
    y = x * 3
    y.as_strided((2,), (2,)).mul_(10)
    return y


def _expanded(x):
    y = x * 3
    rows = y.expand(2, 3)
    y.mul_(2)
    return rows


def _own_view_assigned(x):
    y = x * 3
    y[0] = y.unbind(0)[2]
    return y


# the figures are those of PyTorch 2.13
@pytest.mark.parametrize(
    ("program", "gradient"),
    [
        (_assigned_number, [5.0, 5.0, 5.0]),
        (lambda x: (x * 2).sum().unsqueeze(0).mul_(3.0), [6.0, 6.0, 6.0]),
        (_view_then_base, [15.0, -6.0, 15.0]),
        (_transposed_base, [3.0, 77.0, 110.0]),
        (_axis_added_in_place, [0.0, 6.0, 6.0]),
        (_filled_view, [0.6569865942001343, 0.6569865942001343, 0.0]),
        (_compared_in_place, [2.0, 0.0, 0.0]),
        (_diagonal, [7.0, 10.0, 4.0]),
        (_windows, [2.0, 10.0, 8.0]),
        (_as_strided, [30.0, 3.0, 30.0]),
        (_expanded, [12.0, 12.0, 12.0]),
        (_own_view_assigned, [0.0, 3.0, 6.0]),
    ],
)
def test_gradients_through_views_that_were_overwritten(program, gradient):
    assert _gradient(program) == pytest.approx(gradient)


def test_second_derivatives_through_views_that_were_overwritten():
    x = torch.tensor([0.5, -1.0, 2.0], requires_grad=True)
    y = x * x
    v = y[1:]
    v.mul_(x[:2])
    w = y[0]
    w[...] = 0.5
    (g,) = torch.autograd.grad((v * v).sum() + w * x[0], x, create_graph=True)
    # v is [x0 x1^2, x1 x2^2], and w a constant
    assert g.tolist() == pytest.approx([1.5, -33.0, 32.0])
    (second,) = torch.autograd.grad(g.sum(), x)
    assert second.tolist() == pytest.approx([-2.0, -33.0, -16.0])


def test_a_gradient_through_a_written_view_is_on_memory_of_its_own():
    h, k = torch.ones(2, 3, requires_grad=True), torch.ones(4, 3, requires_grad=True)
    y = torch.zeros(4, 3)
    y[:2] = h
    ((y + k) * torch.arange(12.0).reshape(4, 3)).sum().backward()
    h.grad.zero_()
    assert k.grad.tolist() == np.arange(12.0).reshape(4, 3).tolist()


_OVERLAPPING = {
    "expanded": lambda x: x.expand(2, 3, 4),
    "windows": lambda x: x.unfold(0, 2, 1),
    "windows of windows": lambda x: x.unfold(0, 2, 1).unfold(1, 3, 1),
}


_VIEWS = {
    "diagonal": lambda e: e.diagonal(0, 0, 1),
    "offset diagonal": lambda e: e.diagonal(1, 0, -1),
    "windows": lambda e: e.unfold(0, 2, 1),
    "last windows": lambda e: e.unfold(-1, 2, 1),
    "diagonal of windows": lambda e: e.unfold(0, 2, 1).diagonal(0, 0, -1),
}


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("view", _VIEWS)
@pytest.mark.parametrize("shared", _OVERLAPPING)
def test_gradients_through_views_of_elements_that_are_one_in_memory(
    shared: str, view: str, create_graph: bool
) -> None:
    """Seed 62511 of the campaign `eager`: diagonals of expanded tensors had twice the gradient."""
    found = []
    for apart in (False, True):
        x = torch.arange(12, dtype=torch.float64).reshape(3, 4).requires_grad_()
        e = _OVERLAPPING[shared](x)
        y = _VIEWS[view](e.clone() if apart else e)
        weights = torch.arange(1, y.numel() + 1, dtype=torch.float64).reshape(y.shape)
        gradients = torch.autograd.grad((y * weights).sum(), [x, e], create_graph=create_graph)
        found.append([g.tolist() for g in gradients])
    assert found[0] == found[1]


@pytest.mark.parametrize("create_graph", [False, True])
def test_a_gradient_by_memory_is_shared_by_the_elements_that_are_there(create_graph: bool) -> None:
    """The values are PyTorch's."""
    x = torch.ones(1, 4, dtype=torch.float64, requires_grad=True)
    e = x.expand(3, 4)
    y = e.as_strided((2,), (1,), 1) * torch.tensor([3.0, 6.0], dtype=torch.float64)
    by_x, by_e = torch.autograd.grad(y.sum(), [x, e], create_graph=create_graph)
    assert by_x.tolist() == [[0.0, 3.0, 6.0, 0.0]]
    assert by_e.tolist() == [[0.0, 1.0, 2.0, 0.0]] * 3
