"""Captured functions and transforms that captured functions call, of tensors around these."""

from __future__ import annotations

import numpy as np
import pytest

import dynamic as torch
import staticgraph as sg

doubled = sg.custom_vjp(lambda x: x * 2)
doubled.defvjp(lambda x: (x * 2, None), lambda _, g: (g * 7,))
INNER = {
    "a gradient of one's own": doubled,
    "function": lambda w: sg.function(lambda x: x * 2)(w),
    "vmap": lambda w: sg.vmap(lambda e: e * e)(w),
    "grad": lambda w: sg.grad(lambda x: (x**3).sum())(w),
    "of a dict": lambda w: sg.function(lambda d: d["w"] * 3)({"w": w}),
    "scan": lambda w: sg.scan(lambda c, e: (c + e, c * e), 0.0, w)[1],
    "map": lambda w: sg.map(lambda e: e * e, w),
    "while": lambda w: sg.while_loop(lambda c: sg.sum(c) < 99, lambda c: c * 2, w, max_steps=9),
    "branch": lambda w: sg.cond(sg.sum(w) > 20, lambda: w, lambda: -w),
    "branch of operands": lambda w: sg.cond(sg.sum(w) > 20, lambda x: x * 2, lambda x: -x, w),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", INNER)
def test_they_read_tensors_as_they_are_at_each_call(name):
    w, inner = torch.tensor([1.0, 2.0, 3.0], requires_grad=True), INNER[name]
    y = torch.zeros(3)
    outer = sg.function(lambda y: y + inner(w))
    for _ in range(3):
        expected = inner(w)
        np.testing.assert_allclose(outer(y).detach().numpy(), expected.detach().numpy())
        found = torch.autograd.grad(outer(y).sum(), w)[0]
        right = torch.autograd.grad(expected.sum(), w)[0]
        np.testing.assert_allclose(found.numpy(), right.numpy(), rtol=1e-6)
        with torch.no_grad():
            w.add_(10.0)


def test_vmap_of_vmap_of_tensors():
    def pairs(x):
        return sg.vmap(lambda a: sg.vmap(lambda b: sg.sum(sg.tanh(a * b)))(x))(x)

    x = np.random.default_rng(0).normal(size=(4, 3))
    t = torch.tensor(x, requires_grad=True)
    found = pairs(t)
    expected = np.tanh(x[:, None] * x).sum(-1)
    np.testing.assert_allclose(found.detach().numpy(), expected, rtol=1e-12)
    (found**2).sum().backward()
    slopes = 2 * expected[..., None] * (1 - np.tanh(x[:, None] * x) ** 2)
    expected = np.einsum("ijk,jk->ik", slopes, x) + np.einsum("ijk,ik->jk", slopes, x)
    np.testing.assert_allclose(t.grad.numpy(), expected, rtol=1e-12)
