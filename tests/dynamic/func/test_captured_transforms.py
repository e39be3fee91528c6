"""Derivatives in many directions inside captured functions: those of the eager ones."""

from __future__ import annotations

import numpy as np
import pytest

import dynamic as torch
import staticgraph as sg
from staticgraph.compiler.core.pytree import leaves
from staticgraph.dynamic import func

A = torch.tensor(np.random.default_rng(0).normal(size=(3, 3)))


def _scanned(y):
    return sg.scan(lambda c, a: (c * a + 1, c), y.sum(), y)[1]


TRANSFORMS = {
    "jacrev": func.jacrev(lambda y: (A @ y).tanh()),
    "jacrev in parts": func.jacrev(lambda y: y**3, chunk_size=2),
    "jacrev of what is linear": func.jacrev(lambda y: y * 2),
    "jacrev of a constant": func.jacrev(lambda y: torch.ones(2, dtype=torch.float64)),
    "jacrev by two": lambda x: func.jacrev(lambda a, b: (a * b, a.sum()), argnums=(0, 1))(x, x + 1),
    "jacrev of jacrev": func.jacrev(func.jacrev(lambda y: y**3 * y.sum())),
    "hessian": func.hessian(lambda y: (y @ A @ y).sin()),
    "hessian of a loop": func.hessian(
        lambda y: sg.fori_loop(0, 3, lambda i, c: c * y, y * y).sum()
    ),
    "hessian of a scan": func.hessian(lambda y: _scanned(y).sum()),
    "hessians of examples": lambda x: func.vmap(func.hessian(lambda y: ((y * x).sum() * y).sum()))(
        A * x
    ),
    "jacobian": lambda x: torch.autograd.functional.jacobian(_scanned, x),
}


@pytest.mark.parametrize("name", TRANSFORMS)
def test_captured_transforms_are_the_eager_ones(name):
    f, x = TRANSFORMS[name], torch.tensor([1.0, 0.5, 2.0], dtype=torch.float64)
    for one, other in zip(leaves(sg.function(f)(x)), leaves(f(x)), strict=True):
        np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-12, atol=1e-15)
