"""Gradients through the tape, first and second order, against central differences."""

from __future__ import annotations

import numpy as np
import pytest

import dynamic as torch
from staticgraph.dynamic.nn import functional

TARGET = torch.tensor([0, 2])

FUNCTIONS = {
    "arithmetic": lambda x, w: ((x * w - 2 / x) / (w + 3) + x**2 - 1.5 * w).sum(),
    "powers": lambda x, w: (x**w + 2.0**x + w**-1).sum(),
    "mlp": lambda x, w: (torch.tanh(x @ w.T) ** 2).sum(),
    "normalised": lambda x, w: ((x - x.mean(1, keepdim=True)) / x.std(1, keepdim=True) * w).sum(),
    "softmax": lambda x, w: (x.softmax(-1) * w.log_softmax(0)).sum(),
    "cross entropy": lambda x, w: functional.cross_entropy(x * w, TARGET),
    "losses": lambda x, w: (
        functional.mse_loss(x, w.sin())
        + functional.l1_loss(x, w)
        + functional.nll_loss(x * w, TARGET)
    ),
    "layer norm": lambda x, w: (functional.layer_norm(x, (3,), w[0], w[1]) ** 3).sum(),
    "linear": lambda x, w: functional.gelu(functional.linear(x, w, w[:, 0])).sum(),
    "views": lambda x, w: (
        (x.T.reshape(-1)[1:5].view(2, 2) @ w[:, :2]).flatten().dot(w.view(-1)[:4])
    ),
    "indices": lambda x, w: (x[torch.tensor([1, 0, 1])] * w[0]).sum() * w[0, 1] * x[..., -1].sum(),
    "advanced": lambda x, w: (
        (x[[0, 1], [2, 0]] * w[w > 0.6].sum()).sum() + x.gather(1, w.argmax(1, keepdims=True)).sum()
    ),
    "joined": lambda x, w: (torch.cat([x, w]) ** 2).sum() + (torch.stack([x, w], -1) ** 3).sum(),
    "extrema": lambda x, w: (
        (x.max(1)[0] * w.amin(0)[:2]).sum() + torch.maximum(x, w).sum() + x.max()
    ),
    "norms": lambda x, w: x.norm() * w.norm(dim=0).sum() + x.norm(1) + (x - w).norm(3),
    "broadcast": lambda x, w: (x.unsqueeze(1) * w.expand(4, 2, 3)[1:2] * x[0, 0]).sum(),
    "cast": lambda x, w: (x.float().double() * 0 + x * w).sum() + x.var() + w.logsumexp(1).sum(),
    "chosen": lambda x, w: torch.where(x > w, x * w, w).sum() + x.masked_fill(w > 0.7, 0.0).sum(),
    "clamped": lambda x, w: (x.clamp(0.4, 0.8) * w).sum() + functional.relu(x - w).sum(),
    "split": lambda x, w: sum((part * (i + 1)).sum() for i, part in enumerate(x.split([1, 2], 1))),
}


def differences(function, arrays, step=1e-6):
    """Central differences of a scalar function of float64 arrays."""
    results = []
    for position, array in enumerate(arrays):
        slope = np.zeros_like(array)
        for place in np.ndindex(array.shape):
            ends = []
            for sign in (1, -1):
                moved = [one.copy() for one in arrays]
                moved[position][place] += sign * step
                ends.append(function(*(torch.tensor(one) for one in moved)).item())
            slope[place] = (ends[0] - ends[1]) / (2 * step)
        results.append(slope)
    return results


def points(seed=0):
    return list(np.random.default_rng(seed).uniform(0.3, 0.95, (2, 2, 3)))


def gradient(function, arrays, **options):
    tensors = [torch.tensor(one, requires_grad=True) for one in arrays]
    found = torch.autograd.grad(function(*tensors), tensors, materialize_grads=True, **options)
    return tensors, found


@pytest.mark.parametrize("name", FUNCTIONS)
def test_first_order(name):
    function, arrays = FUNCTIONS[name], points()
    _, found = gradient(function, arrays)
    for one, expected in zip(found, differences(function, arrays), strict=True):
        assert one.shape == expected.shape and one.dtype == torch.float64
        np.testing.assert_allclose(one.numpy(), expected, rtol=2e-6, atol=2e-8)


@pytest.mark.parametrize("name", sorted(set(FUNCTIONS) - {"cast"}))
def test_second_order(name):
    function, arrays = FUNCTIONS[name], points(1)

    def slope(*tensors):
        """A scalar that depends on all first derivatives."""
        tensors = [one if one.requires_grad else one.requires_grad_() for one in tensors]
        found = torch.autograd.grad(
            function(*tensors), tensors, create_graph=True, materialize_grads=True
        )
        return sum((one * (i + 1)).sin().sum() for i, one in enumerate(found))

    tensors = [torch.tensor(one, requires_grad=True) for one in arrays]
    result = slope(*tensors)
    expected = differences(slope, arrays)
    if not result.requires_grad:  # linear: the first derivative is constant
        assert not np.any(expected)
        return
    found = torch.autograd.grad(result, tensors, materialize_grads=True)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one.numpy(), other, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", sorted(set(FUNCTIONS) - {"cast", "layer norm"}))
def test_float32_stays_float32_and_recorded_equals_plain(name):
    arrays = [one.astype(np.float32) for one in points(2)]
    _, plain = gradient(FUNCTIONS[name], arrays)
    _, recorded = gradient(FUNCTIONS[name], arrays, create_graph=True)
    for one, other in zip(plain, recorded, strict=True):
        assert one.dtype == other.dtype == torch.float32
        np.testing.assert_array_equal(one.numpy(), other.detach().numpy())


def test_layer_norm_recorded_differs_from_plain_by_rounding():
    """The plain rule adds up with the BLAS, whose kernel for a processor has an order of its own.

    Each rule rounds terms as large as g * weight / deviation, which mostly cancel, a few times.
    """
    x, w = (one.astype(np.float32) for one in points(2))
    function = FUNCTIONS["layer norm"]
    _, exact = gradient(function, [one.astype(np.float64) for one in (x, w)])
    deviation = x.std(1).min()
    largest = w[0].max() * 3 * (np.sqrt(2) * w[0].max() + w[1].max()) ** 2 / deviation
    for options in ({}, {"create_graph": True}):
        _, found = gradient(function, [x, w], **options)
        for one, other in zip(found, exact, strict=True):
            assert one.dtype == torch.float32
            bound = 8 * largest * np.finfo(np.float32).eps
            np.testing.assert_allclose(one.detach().numpy(), other.numpy(), rtol=0, atol=bound)


def test_third_order():
    x = torch.tensor(0.7, dtype=torch.float64, requires_grad=True)
    y = x.sin()
    for expected in (np.cos(0.7), -np.sin(0.7), -np.cos(0.7)):
        (y,) = torch.autograd.grad(y, x, create_graph=True)
        assert y.item() == pytest.approx(expected, abs=1e-15)


def test_a_tensor_used_twice_gets_both_gradients():
    x = torch.tensor(3.0, requires_grad=True)
    (x * x + x * x.clone() + x).backward()
    assert x.grad.item() == 13.0


def test_gradients_with_respect_to_computed_tensors():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    z = (y * y).sum()
    by_y, by_x = torch.autograd.grad(z, (y, x))
    assert by_y.tolist() == [4.0, 8.0] and by_x.tolist() == [8.0, 16.0]
    assert x.grad is None


@pytest.mark.parametrize("name", ["max", "min"])
def test_several_nan_share_the_gradient_of_an_extremum_of_all(name: str) -> None:
    """As in PyTorch, where `amax` of the same elements has a gradient of nan."""
    x = torch.tensor([[np.nan, 1.0], [np.nan, 2.0]], requires_grad=True)
    (slope,) = torch.autograd.grad(getattr(x, name)(), x)
    assert slope.tolist() == [[0.5, 0.0], [0.5, 0.0]]
    (second,) = torch.autograd.grad((getattr(x, name)() * 3).sum(), x, create_graph=True)
    assert second.tolist() == [[1.5, 0.0], [1.5, 0.0]]
    of_all = getattr(x, f"a{name}")()
    assert torch.autograd.grad(of_all, x)[0].isnan().all()
    assert of_all.grad_fn.name() == f"A{name}Backward0"
    assert getattr(x, name)().grad_fn.name() == f"{name.title()}Backward1"


def test_the_median_along_an_axis_is_its_first_nan() -> None:
    x = torch.tensor([[np.nan, 1.0, np.nan], [2.0, 2.0, 1.0], [np.nan, np.nan, np.nan]])
    values, places = x.median(1)
    assert places.tolist() == [0, 0, 0] and values.isnan().tolist() == [True, False, True]
