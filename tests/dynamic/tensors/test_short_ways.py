"""The short ways of small tensors give what the general ones give, values and tape alike."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import dynamic as torch
import staticgraph as sg
from staticgraph.compiler import ops
from staticgraph.compiler.reference import activation
from staticgraph.dynamic.tensors.indexing import Indexing

X = np.random.default_rng(0).standard_normal((5, 4, 3))


def leaf() -> Any:
    return torch.tensor(X, requires_grad=True)


def shown(tensor: Any) -> tuple[str, list[Any]]:
    return tensor.grad_fn.name(), [
        None if node is None else node.name() for node, _ in tensor.grad_fn.next_functions
    ]


@pytest.mark.parametrize(
    "index", [[0, 1], [[4, -5], [2, 2]], [], [[[0]]]], ids=["rows", "twice", "none", "axes"]
)
def test_rows_by_a_tensor_of_indices(index: Any) -> None:
    x, key = leaf(), torch.tensor(index, dtype=torch.int64)
    found, general = x[key], Indexing.__getitem__(x, key)
    assert_array_equal(found.detach().numpy(), X[np.array(index, int)])
    assert_array_equal(general.detach().numpy(), X[np.array(index, int)])
    assert (
        shown(found)
        == shown(general)
        == ("IndexBackward0", ["torch::autograd::AccumulateGrad", None])
    )
    (found**2).sum().backward()
    expected = np.zeros_like(X)
    np.add.at(expected, np.array(index, int), 2 * X[np.array(index, int)])
    assert_allclose(x.grad.numpy(), expected, rtol=1e-14)


def test_an_index_that_is_changed_before_its_gradient_is_refused() -> None:
    for size in (5, 70_000):  # in a short way, and in the general one
        x = torch.randn(size, 2, requires_grad=True)
        key = torch.tensor([0, 1])
        loss = x[key].sum()
        key += 1
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            loss.backward()
    x = torch.randn(5, 2, requires_grad=True)
    rows = np.array([0, 1])
    loss = x[rows].sum()
    rows[:] = 3  # no tensor: a copy was taken
    loss.backward()
    assert x.grad.sum(1).tolist() == [2, 2, 0, 0, 0]


def test_an_index_out_of_range_is_told_as_in_pytorch() -> None:
    for key in (torch.tensor([7]), torch.tensor([-6, 0])):
        with pytest.raises(IndexError, match=r"^index -?\d is out of bounds for dimension 0 with"):
            leaf()[key]


def test_elements_by_a_mask_are_in_order() -> None:
    for x in (leaf(), leaf().transpose(0, 2)):
        mask = x.detach() > 0
        assert_array_equal(x[mask].detach().numpy(), x.detach().numpy()[mask.numpy()])


@pytest.mark.parametrize("bounds", [(-0.5, 0.5), (None, 0), (1, -1), (0.25, None)])
def test_limits_that_are_numbers(bounds: Any) -> None:
    low, high = (np.array(one) if one is not None else None for one in bounds)
    results = []
    for limits in (bounds, (low, high)):
        x = leaf()
        y = x.clamp(*limits)
        (y * y).sum().backward()
        results.append((y.detach().numpy(), x.grad.numpy(), shown(y)[0]))
    assert_array_equal(results[0][0], results[1][0])
    assert_array_equal(results[0][1], results[1][1])
    assert results[0][2] == results[1][2] == "ClampBackward1"
    y = leaf().clamp(*bounds)
    assert torch.autograd.gradcheck(lambda x: x.clamp(*bounds), leaf())
    with torch.no_grad():
        assert not leaf().clamp(*bounds).requires_grad


@pytest.mark.parametrize("kind", ["f4", "f8"])
def test_relu_of_many_elements_at_once(kind: str) -> None:
    x = np.random.default_rng(0).standard_normal((40, 50)).astype(kind)
    x.reshape(-1)[:6] = [0.0, -0.0, np.nan, -np.nan, np.inf, -np.inf]
    g = x[::-1].copy()
    for one, cotangent in ((x, g), (x.T, g.T), (x[::2], g[::2])):
        out = activation.relu(one)
        assert_array_equal(out, np.maximum(one, 0))
        (found,) = activation.relu_vjp((0,), cotangent, out, one)
        assert found.dtype == kind
        assert_array_equal(found, np.where(out <= 0, 0, cotangent))


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_the_cross_entropy_of_few(reduction: str) -> None:
    labels = torch.tensor([1, 0, 2, 2, 1])
    results = []
    for function in (torch.nn.functional.cross_entropy, ops.cross_entropy):
        x = torch.tensor(X[:, 0], requires_grad=True)
        y = function(x, labels, reduction=reduction)
        y.sum().backward()
        results.append((y.detach().numpy(), x.grad.numpy(), shown(y)))
    assert_array_equal(results[0][0], results[1][0])
    assert_array_equal(results[0][1], results[1][1])
    assert results[0][2] == results[1][2]


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_the_squared_error_of_few(reduction: str) -> None:
    results = []
    for function in (torch.nn.functional.mse_loss, ops.mse_loss, _in_ops):
        x, y = (torch.tensor(one, requires_grad=True) for one in (X[:, 0], X[:, 1]))
        z = function(x, y, reduction=reduction)
        z.sum().backward()
        results.append([one.numpy() for one in (z.detach(), x.grad, y.grad)])
    for found in results[:2]:
        for one, expected in zip(found, results[2], strict=True):
            assert_array_equal(one, expected)


def _in_ops(x: Any, y: Any, reduction: str) -> Any:
    losses = (x - y).square()
    return losses if reduction == "none" else getattr(losses, reduction)()


def test_the_largest_of_batches_and_of_captured_tensors() -> None:
    x = torch.tensor(X)
    expected = np.sort(X, 1)[:, :1:-1]
    for function in (
        lambda x: torch.topk(x, 2, 1)[0],
        torch.func.vmap(lambda x: torch.topk(x, 2, 0)[0]),
        sg.function(lambda x: torch.topk(x, 2, 1)[0]),
    ):
        assert_array_equal(function(x).numpy(), expected)


def test_distances_of_points_that_are_one_have_no_slope() -> None:
    def total(x: Any) -> Any:
        return torch.cdist(x, x).sum()

    points = torch.tensor([[0.0, 0.0], [1.0, 2.0], [1.0, 2.0]], dtype=torch.float64)
    x = points.clone().requires_grad_()
    total(x).backward()
    expected = x.grad.numpy()
    assert np.all(np.isfinite(expected))
    assert_allclose(sg.grad(total)(points).numpy(), expected, rtol=1e-14)
    assert_allclose(torch.func.grad(total)(points).numpy(), expected, rtol=1e-14)
    assert x.grad.sum().item() == pytest.approx(0, abs=1e-14)
    other = points[:, None] + 1.0
    assert torch.autograd.gradcheck(torch.cdist, (x, other.requires_grad_()))
    assert torch.autograd.gradgradcheck(torch.cdist, (x, other))
