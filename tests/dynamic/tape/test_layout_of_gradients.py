"""Gradients of leaves lie in memory as the leaves do, as in PyTorch: scripts flatten them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dynamic as torch
from dynamic import nn

F = nn.functional
X, ROWS = torch.ones(5, 3), torch.ones(2, 5, 3)

FUNCTIONS: dict[str, tuple[tuple[int, ...], Callable[[Any], Any]]] = {
    "linear": ((4, 3), lambda w: F.linear(X, w)),
    "linear of a result": ((4, 3), lambda w: F.linear(X * w.sum(), w)),
    "linear of rows": ((4, 3), lambda w: F.linear(ROWS, w)),
    "linear of one row": ((4, 3), lambda w: F.linear(X[0], w)),
    "t": ((4, 3), lambda w: w.t() * 2),
    "T": ((4, 3), lambda w: X @ w.T),
    "product": ((3, 4), lambda w: X @ w),
    "stacks": ((2, 4, 3), lambda w: torch.bmm(ROWS, w.transpose(1, 2))),
    "einsum": ((4, 3), lambda w: torch.einsum("bi,oi->bo", X, w)),
    "permute": ((4, 3, 2), lambda w: w.permute(2, 0, 1).sin()),
    "sum": ((4, 3), lambda w: w.sum(0)),
    "expand": ((1, 3), lambda w: w.expand(4, 3)),
    "transposed convolution": (
        (2, 3, 2, 2), lambda w: F.conv_transpose2d(torch.ones(1, 2, 4, 4), w)
    ),
    "bilinear": ((4, 3, 3), lambda w: F.bilinear(X, X, w)),
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_gradient_can_be_flattened(name: str) -> None:
    shape, function = FUNCTIONS[name]
    w = torch.from_numpy(np.random.default_rng(0).normal(size=shape)).float().requires_grad_()
    function(w).sum().backward()
    first = w.grad.view(-1).clone()
    function(w).sum().backward()
    np.testing.assert_allclose(w.grad.view(-1).numpy(), 2 * first.numpy(), rtol=1e-5)
    hooked = w.detach().clone().requires_grad_()
    hooked.register_post_accumulate_grad_hook(lambda leaf: None)
    function(hooked).sum().backward()
    np.testing.assert_allclose(hooked.grad.view(-1).numpy(), first.numpy(), rtol=1e-5)


@pytest.mark.parametrize("kind", [nn.RNNCell, nn.LSTMCell, nn.GRUCell])
def test_gradients_of_cells_can_be_flattened(kind: Any) -> None:
    cell = kind(3, 4)
    found = cell(X)
    (found[0] if isinstance(found, tuple) else found).sum().backward()
    assert all(one.grad.is_contiguous() for one in cell.parameters())


def test_the_gradient_of_a_weight_is_the_product_however_it_lies() -> None:
    rng = np.random.default_rng(1)
    x, g = rng.normal(size=(5, 3)), rng.normal(size=(5, 4))
    for given in (torch.from_numpy(x), torch.from_numpy(x).requires_grad_()):
        w = torch.zeros(4, 3, dtype=torch.float64, requires_grad=True)
        F.linear(given, w).backward(torch.from_numpy(g))
        np.testing.assert_allclose(w.grad.numpy(), g.T @ x, rtol=1e-12)
        assert w.grad.is_contiguous()
        (found,) = torch.autograd.grad(F.linear(given, w), w, torch.from_numpy(g))
        assert found.is_contiguous()


@pytest.mark.parametrize("size", [3, 600])
def test_a_gradient_whose_elements_are_one_is_not_added_to(size: int) -> None:
    w = torch.zeros(size, size, requires_grad=True)
    w.grad = torch.zeros(size, 1).expand(size, size)
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
        w.sum().backward()
    array = np.ones((size, size), np.float32)
    array.flags.writeable = False
    w.grad = torch.from_numpy(array)
    with pytest.raises(RuntimeError, match="the memory of the tensor is read-only"):
        w.sum().backward()
    w.grad = w.grad.clone()
    w.sum().backward()
    np.testing.assert_array_equal(w.grad.numpy(), np.full((size, size), 2.0))
