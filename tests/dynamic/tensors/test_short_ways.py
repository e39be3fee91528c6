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
    assert shown(found) == shown(general) == ("IndexBackward0", ["torch::autograd::AccumulateGrad"])
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


@pytest.mark.parametrize("spread", [1.0, 7.0, 9.0, 90.0, 2000.0], ids=str)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_softmax_of_a_few_rows_near_and_far_apart(spread: float, dtype: str) -> None:
    rows = np.random.default_rng(1).standard_normal((3, 5)).astype(dtype)
    x = rows + np.array([[0.0], [spread], [-spread]], dtype)  # as one, they would be 0 / 0
    exact = np.exp(x.astype("float64") - x.max(1, keepdims=True).astype("float64"))
    exact /= exact.sum(1, keepdims=True)
    eps = np.finfo(dtype).eps
    given = torch.tensor(x)
    assert_allclose(torch.softmax(given, 1).numpy(), exact, rtol=16 * eps)
    assert_allclose(
        torch.log_softmax(given, 1).numpy(), np.log(exact), rtol=16 * eps, atol=32 * eps
    )
    labels = torch.tensor([0, 4, 2])
    loss = torch.nn.functional.cross_entropy(given, labels, reduction="none")
    assert_allclose(loss.numpy(), -np.log(exact)[range(3), [0, 4, 2]], rtol=16 * eps, atol=32 * eps)


def test_softmax_of_what_is_no_number() -> None:
    x = torch.tensor([[0.0, -np.inf], [-np.inf, -np.inf], [np.inf, 0.0], [1.0, np.nan]])
    found = torch.softmax(x, 1).numpy()
    assert_array_equal(found[0], [1, 0])
    assert np.isnan(found[1:3]).any(1).all() and np.isnan(found[3]).all()


@pytest.mark.parametrize("dim", [0, 1, -1])
@pytest.mark.parametrize("name", ["cat", "stack"])
def test_few_tensors_are_joined_as_numpy_does(name: str, dim: int) -> None:
    a, b = (torch.tensor(X[i], requires_grad=not i) for i in range(2))
    join = getattr(torch, name)
    found = join((a, b.T.contiguous().T), dim)  # the second in another order
    numpy = np.concatenate if name == "cat" else np.stack
    expected: Any = numpy((X[0], X[1]), dim)
    assert_array_equal(found.detach().numpy(), expected)
    assert found.is_contiguous()
    weights = np.arange(expected.size, dtype=float).reshape(expected.shape)
    (found * torch.tensor(weights)).sum().backward()
    first = np.split(weights, 2, dim)[0]
    assert_array_equal(a.grad.numpy(), first if name == "cat" else first.squeeze(dim))
    assert shown(found)[1] == ["torch::autograd::AccumulateGrad", None]


def test_what_is_joined_into_a_tensor_is_not_recorded() -> None:
    a = torch.ones(2, requires_grad=True)
    whole, square = torch.empty(4), torch.empty(2, 2)
    for join, out in ((torch.cat, whole), (torch.stack, square)):
        with pytest.raises(RuntimeError, match=r"functions with out=\.\.\. arguments"):
            join((a, a), out=out)
        with torch.no_grad():
            assert join((a, a), out=out) is out and out.sum() == 4
    blocks = torch.full((2, 2, 2), 3.0)
    assert torch.bmm(blocks, blocks, out=torch.empty(2, 2, 2)).unique().tolist() == [18.0]


def test_products_of_few_stacks() -> None:
    a = torch.tensor(X[:2], requires_grad=True)
    b = torch.tensor(X[:2].swapaxes(1, 2) + 1, requires_grad=True)
    found = torch.bmm(a, b)
    assert_allclose(found.detach().numpy(), X[:2] @ (X[:2].swapaxes(1, 2) + 1), rtol=1e-14)
    assert found.grad_fn.name() == "BmmBackward0"
    found.sum().backward()
    expected = np.broadcast_to((X[:2] + 1).sum(1)[:, None, :], (2, 4, 3))
    assert_allclose(a.grad.numpy(), expected, rtol=1e-13)
    with pytest.raises(RuntimeError, match="batch2 must be a 3D tensor"):
        torch.bmm(a, b[0])


def test_an_extreme_along_an_axis_and_its_place() -> None:
    x = torch.tensor([[1.0, 3.0, 3.0], [2.0, np.nan, 0.0]], requires_grad=True)
    for dim, keepdim in ((1, False), (-1, True), (0, False)):
        found = x.max(dim, keepdim)
        assert_array_equal(
            found.values.detach().numpy(), np.max(x.detach().numpy(), dim, keepdims=keepdim)
        )
        assert_array_equal(
            found.indices.numpy(), np.argmax(x.detach().numpy(), dim, keepdims=keepdim)
        )
        assert found.indices.dtype == torch.int64 and not found.indices.requires_grad
    x.max(1).values.sum().backward()
    assert_array_equal(x.grad.numpy(), [[0, 1, 0], [0, 1, 0]])  # the first of those that tie
    with pytest.raises(IndexError, match="Dimension out of range"):
        x.max(2)


def test_options_are_told_apart_by_their_types() -> None:
    leaky = torch.nn.functional.leaky_relu
    x = torch.tensor([-2.0, 2.0])
    for _ in range(2):  # then the attributes are kept
        assert leaky(x, 1).tolist() == [-2.0, 2.0]
        assert leaky(x, 0.5).tolist() == [-1.0, 2.0]
        assert leaky(x, negative_slope=0.25).tolist() == [-0.5, 2.0]
        assert leaky(x).tolist() == pytest.approx([-0.02, 2.0])
    with pytest.raises(TypeError, match="negative_slope"):
        leaky(x, "1")


@pytest.mark.parametrize("key", [(..., 1), (..., slice(0, 2)), (0, ...), (None, ..., 2), (...,)])
def test_an_ellipsis_in_an_index(key: Any) -> None:
    x = leaf()
    found = x[key]
    assert_array_equal(found.detach().numpy(), X[key])
    found.sum().backward()
    expected = np.zeros_like(X)
    expected[key] = 1
    assert_array_equal(x.grad.numpy(), expected)
    with pytest.raises(IndexError):
        x[..., ..., 0]


def test_a_root_that_is_an_input_gets_its_own_cotangent_too() -> None:
    x = torch.tensor([2.0, 3.0], requires_grad=True)
    loss = (x * x).sum()
    for roots in ((loss, x), (x, loss)):
        cotangents = [torch.ones(one.shape) for one in roots]
        (found,) = torch.autograd.grad(roots, x, cotangents, retain_graph=True)
        assert found.tolist() == [5.0, 7.0]


def test_a_cast_of_16_bits_hands_its_gradient_back_rounded() -> None:
    x = torch.tensor([1.0, 3.0], dtype=torch.float16, requires_grad=True)
    (x.float() * torch.tensor([1.0001, 2.0])).sum().backward()
    assert x.grad.dtype == torch.float16 and x.grad.tolist() == [1.0, 2.0]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_layer_norm_of_a_few_rows_with_weights(dtype: str) -> None:
    x, w, b = (torch.tensor(X[0, i:][: j or 4].astype(dtype)) for i, j in ((0, 0), (0, 1), (1, 1)))
    w, b = w[0], b[0]
    for one in (x, w, b):
        one.requires_grad_()
    found = torch.nn.functional.layer_norm(x, (3,), w, b)
    rows, scale, shift = (one.detach().numpy().astype(float) for one in (x, w, b))
    centred = rows - rows.mean(1, keepdims=True)
    normal = centred / np.sqrt((centred**2).mean(1, keepdims=True) + 1e-5)
    eps = np.finfo(dtype).eps
    assert_allclose(found.detach().numpy(), normal * scale + shift, rtol=64 * eps, atol=16 * eps)
    assert found.grad_fn.name() == "NativeLayerNormBackward0"
    found.sum().backward()
    assert_allclose(w.grad.numpy(), normal.sum(0), atol=64 * eps)
    assert_array_equal(b.grad.numpy(), [4, 4, 4])


def test_the_third_power_is_a_product() -> None:
    x = torch.tensor([-2.0, 0.0, 1.5], requires_grad=True)
    (x**3).sum().backward()
    assert (x**3).tolist() == [-8.0, 0.0, 3.375] and x.grad.tolist() == [12.0, 0.0, 6.75]
    assert (torch.tensor([-2, 3]) ** 3).tolist() == [-8, 27]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_largest_numbers_overflow_nowhere_on_the_way(dtype: str) -> None:
    most = np.finfo(dtype).max
    x = np.array([-np.inf, -most, -700.0, 0.0, 700.0, most, np.inf], dtype)
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        assert_array_equal(ops.erf(x), [-1, -1, -1, 0, 1, 1, 1])
        found = np.asarray(ops.sigmoid(x))
    assert found[[0, 1, 3, 4, 5, 6]].tolist() == [0, 0, 0.5, 1, 1, 1] and float(found[2]) < 1e-300
