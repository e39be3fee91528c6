"""Distances of many short rows, whose loops go across rows: those of NumPy, and their gradients."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

import dynamic as torch
from staticgraph.dynamic.core import eager_ops
from staticgraph.dynamic.kernels import native, pairs
from tests.combinations import some

SHAPES = [
    ((300, 4), (200, 4)),
    ((5, 1, 90, 3), (1, 2, 200, 3)),
    ((200, 4), (300, 4)),
    ((200, 3), (3, 300, 3)),
]


def drawn(shape: tuple[int, ...], dtype: str, seed: int) -> Any:
    """Rows of which the first is in both operands, so that a distance is 0."""
    x = np.random.default_rng(seed).standard_normal(shape).astype(dtype)
    x[..., 0, :] = 0.5
    return x


CASES = [
    pytest.param(*case, id=f"{case[0]}-{i}")
    for i, case in enumerate(product(["float32", "float64"], SHAPES))
]


@pytest.mark.parametrize(("dtype", "shapes"), some(CASES, 1))
def test_distances_and_gradients_are_those_of_differences(
    dtype: str, shapes: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(native.state, "enabled", True)
    x, y = (drawn(shape, dtype, seed) for seed, shape in enumerate(shapes))
    assert pairs._across(eager_ops.distances, x, y)
    differences = x[..., :, None, :].astype("f8") - y[..., None, :, :]
    exact = np.sqrt((differences**2).sum(-1))
    eps = float(np.finfo(dtype).eps)
    g = np.cos(np.arange(exact.size)).reshape(exact.shape).astype(dtype)
    slope = np.where(exact == 0, 0, g / np.where(exact == 0, 1, exact))[..., None] * differences
    for needs in [(True, True), (False, True)]:
        a, b = (
            torch.tensor(one, requires_grad=need) for one, need in zip((x, y), needs, strict=True)
        )
        found = torch.cdist(a, b)
        assert found.is_contiguous()
        assert_allclose(found.detach().numpy(), exact, rtol=8 * eps)
        found.backward(torch.tensor(g))
        for one, sums in ((a, slope.sum(-2)), (b, -slope.sum(-3))):
            if one.grad is None:
                continue
            extra = tuple(range(sums.ndim - one.ndim))
            ones = tuple(i for i, size in enumerate(one.shape) if size == 1 and sums.shape[i] > 1)
            expected = sums.sum(extra or ones, keepdims=not extra)
            bound = eps * np.abs(slope).sum() / expected.size
            assert_allclose(one.grad.numpy(), expected, atol=16 * bound, rtol=0)


def test_distances_of_transposed_and_repeated_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native.state, "enabled", True)
    x, y = drawn((4, 300), "float64", 0), drawn((1, 4), "float64", 1)
    a, b = torch.tensor(x, requires_grad=True), torch.tensor(y, requires_grad=True)
    found = torch.cdist(a.T, b.expand(200, 4))
    assert_allclose(found.detach().numpy()[:, 7], np.linalg.norm(x.T - y, axis=1), rtol=1e-14)
    found.sum().backward()
    unit = (x.T - y) / np.linalg.norm(x.T - y, axis=1)[:, None]
    assert_allclose(a.grad.numpy(), 200 * unit.T, rtol=1e-12)
    assert_allclose(b.grad.numpy(), -200 * unit.sum(0, keepdims=True), rtol=1e-11)
