"""Weights divided by their largest singular value: the steps of the power iteration, in NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dynamic as torch
from dynamic import nn


def _unit(x: Any) -> Any:
    return x / np.linalg.norm(x)


def test_each_call_in_training_improves_the_singular_vectors_once() -> None:
    layer = nn.Linear(4, 3).double()
    weight = layer.weight.detach().numpy().copy()
    torch.manual_seed(3)
    nn.utils.spectral_norm(layer)
    torch.manual_seed(3)
    u = _unit(torch.randn(3, dtype=torch.float64).numpy())
    np.testing.assert_allclose(layer.weight_u.numpy(), u, rtol=1e-12)  # random as yet
    for _ in range(2):
        layer(torch.ones(4, dtype=torch.float64))
        v = _unit(weight.T @ u)
        u = _unit(weight @ v)
        np.testing.assert_allclose(layer.weight.detach().numpy(), weight / (u @ weight @ v))
    layer.eval()
    layer(torch.ones(4, dtype=torch.float64))
    np.testing.assert_allclose(layer.weight_u.numpy(), u)
    nn.utils.remove_spectral_norm(layer)
    np.testing.assert_allclose(layer.weight.detach().numpy(), weight / (u @ weight @ v))
    assert sorted(layer.state_dict()) == ["bias", "weight"]


def test_many_calls_find_the_singular_value_of_a_transposed_convolution() -> None:
    layer = nn.utils.spectral_norm(nn.ConvTranspose2d(2, 3, 2), n_power_iterations=50)
    layer(torch.ones(1, 2, 3, 3))
    matrix = layer.weight.detach().movedim(1, 0).reshape(3, -1).numpy()
    assert np.linalg.svd(matrix)[1][0] == pytest.approx(1.0, abs=1e-4)


def test_what_is_refused() -> None:
    layer = nn.utils.spectral_norm(nn.Linear(2, 2))
    with pytest.raises(RuntimeError, match="Cannot register two spectral_norm hooks on the same"):
        nn.utils.spectral_norm(layer)
    with pytest.raises(ValueError, match="Expected n_power_iterations to be positive, but got"):
        nn.utils.spectral_norm(nn.Linear(2, 2), n_power_iterations=0)
    with pytest.raises(ValueError, match="spectral_norm of 'weight' not found in Linear"):
        nn.utils.remove_spectral_norm(nn.Linear(2, 2))
