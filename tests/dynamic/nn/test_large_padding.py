"""Padding of large arrays with their own elements, whose lines are copied, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import dynamic as torch
from staticgraph.dynamic.nn import functional as F  # noqa: N812 - PyTorch's name

MODES = {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("widths", [(3, 0), (0, 2), (2, 1, 0, 3), (63, 63)])
@pytest.mark.parametrize("shape", [(40, 60, 64), (2, 5, 64)])
def test_padding_is_that_of_numpy(
    mode: str, widths: tuple[int, ...], shape: tuple[int, ...]
) -> None:
    x = np.random.default_rng(0).standard_normal((*shape[:1], 1, *shape[1:]))
    pairs = [(0, 0)] * (4 - len(widths) // 2)
    pairs += [(widths[i], widths[i + 1]) for i in range(len(widths) - 2, -1, -2)]
    given = torch.tensor(x if len(widths) == 4 else x[:, 0], requires_grad=True)
    pairs = pairs if len(widths) == 4 else pairs[1:]
    value = F.pad(given, widths, mode)
    array = given.detach().numpy()
    np.testing.assert_array_equal(value.detach().numpy(), np.pad(array, pairs, MODES[mode]))
    g = np.random.default_rng(1).standard_normal(value.shape)
    value.backward(torch.tensor(g))
    places = np.pad(np.arange(array.size).reshape(array.shape), pairs, MODES[mode])
    expected = np.bincount(places.ravel(), g.ravel(), array.size).reshape(array.shape)
    np.testing.assert_allclose(given.grad.numpy(), expected, rtol=1e-13, atol=1e-13)


def test_it_is_derived_twice() -> None:
    x = torch.tensor(np.random.default_rng(0).standard_normal((40, 60, 64)), requires_grad=True)
    (g,) = torch.autograd.grad((F.pad(x, (2, 2), "reflect") ** 3).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(g.sum(), x)
    factor = np.ones(64)
    factor[[1, 2, 61, 62]] = 2.0
    np.testing.assert_allclose(second.numpy(), 6 * x.detach().numpy() * factor, rtol=1e-13)
