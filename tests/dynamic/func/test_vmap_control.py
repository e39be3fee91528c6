"""`cond`, `while_loop` and their like in vmap of tensors: against one example after the other."""

from __future__ import annotations

import numpy as np
import pytest

import dynamic as torch
import staticgraph as sg
from staticgraph.dynamic.func import grad, jvp, vmap


def _switched(r):
    branches = [lambda r: r * 2, sg.exp, lambda r: sg.sum(r) * r]
    return sg.switch(sg.astype(sg.abs(r[0]) * 2, "int64"), branches, r)


def _bounded(r):
    body = lambda y: y * 1.5 + r * 0.1  # noqa: E731
    return sg.while_loop(lambda y: sg.sum(y * y) < 30.0, body, r, max_steps=40)


CONTROL = (
    lambda r: sg.cond(r[0] > 0, lambda: sg.sin(r) * r, lambda: r * r),
    lambda r: sg.cond(r[0] > 0, lambda: sg.cond(r[1] > 0, lambda: r, lambda: r * 3), lambda: -r),
    lambda r: sg.while_loop(lambda y: sg.sum(y * y) < 30.0, lambda y: y * 1.5 + r * 0.1, r),
    lambda r: sg.fori_loop(0, sg.astype(sg.abs(r[0]) * 3, "int64"), lambda i, c: c * r + i, r),
    lambda r: sg.scan(
        lambda c, e: (sg.cond(e > 0, lambda: c * sg.exp(-e), lambda: c + e * e), c * e), r[0], r
    )[1],
    _switched,
    _bounded,
)


@pytest.mark.parametrize("f", CONTROL)
def test_loops_and_branches_go_by_each_example(f):
    x = torch.tensor(np.random.default_rng(0).normal(size=(4, 3)))

    def agree(g):
        expected = torch.stack([g(row) for row in x])
        np.testing.assert_allclose(vmap(g)(x).numpy(), expected.numpy(), rtol=1e-12)

    agree(f)
    agree(grad(lambda r: (f(r) ** 2).sum()))
    agree(lambda r: jvp(f, (r,), (r * r,))[1])
    both = vmap(vmap(f))(torch.stack([x, -x]))
    np.testing.assert_allclose(both[0].numpy(), vmap(f)(x).numpy(), rtol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("i", [0, 1, 2, 3, 6])
def test_captured_loops_and_branches_go_by_each_example(i):
    f, x = CONTROL[i], torch.tensor(np.random.default_rng(0).normal(size=(2, 4, 3)))
    forward = lambda r: jvp(f, (r,), (r * r,))[1]  # noqa: E731
    along = lambda m: jvp(vmap(f), (m,), (m * m,))[1]  # noqa: E731
    for g, given in (
        (vmap(f), x[0]), (vmap(vmap(f)), x), (forward, x[0, 0]), (vmap(forward), x[0]),
        (along, x[0]), (vmap(along), x),
    ):  # fmt: skip
        expected = g(given).numpy()
        np.testing.assert_allclose(sg.function(g)(given).numpy(), expected, rtol=1e-12)


LOOPS = (
    lambda r, by: sg.while_loop(lambda y: sg.sum(y * y) < 30.0, lambda y: y * 1.5 + by * by, r),
    lambda r, by: sg.scan(lambda c, e: (c * by + e, c), r, torch.stack([r, r]))[0],
    lambda r, by: sg.fori_loop(0, 3, lambda i, c: c * by + i, r),
    lambda r, by: sg.cond(sg.sum(r) > 0, lambda c: c * by, lambda c: c + by, r),
)


@pytest.mark.slow
@pytest.mark.parametrize("f", LOOPS)
def test_captured_loops_read_examples_and_dual_numbers_that_the_carry_does_not_have(f):
    x, c = torch.tensor(np.random.default_rng(0).normal(size=(4, 3))), torch.ones(3).double()
    for g in (
        lambda x, c: vmap(lambda by: f(c, by))(x),
        lambda x, c: jvp(lambda by: f(c, by), (x[0],), (c,))[1],
        lambda x, c: vmap(lambda r: vmap(lambda by: f(r, by))(x))(x),
        lambda x, c: vmap(lambda by: jvp(lambda r: f(r, by), (c,), (c,))[1])(x),
        lambda x, c: jvp(lambda m: vmap(lambda by: f(c, by))(m), (x,), (x,))[1],
        lambda x, c: vmap(lambda r: jvp(lambda by: f(r, by), (c,), (c,))[1])(x),
    ):
        expected = g(x, c).numpy()
        np.testing.assert_allclose(sg.function(g)(x, c).numpy(), expected, rtol=1e-12)


def test_captured_loops_of_numbers_and_examples_count_for_each():
    def steps(e):
        return sg.while_loop(lambda c: c[0] < 9, lambda c: (c[0] * 2, c[1] + 1), (e, 0))

    value, count = sg.function(vmap(steps))(torch.tensor([1.0, 4.0, 9.0]))
    assert (value.tolist(), count.tolist()) == ([16.0, 16.0, 9.0], [4, 2, 0])


def test_captured_conditions_of_examples_that_the_carry_does_not_have_are_refused():
    f = sg.function(vmap(lambda e: sg.while_loop(lambda c: e > 2, lambda c: c + 1, 0) + e))
    with pytest.raises(RuntimeError, match="data-dependent control flow"):
        f(torch.ones(3))


def test_what_loops_and_branches_of_a_batch_refuse():
    x = torch.tensor([[1.0, 2.0], [-1.0, 2.0]])
    with pytest.raises(sg.ShapeError, match=r"cond: result: float32\[2\] becomes float32\[1\]"):
        vmap(lambda r: sg.cond(r[0] > 0, lambda: r, lambda: r[:1]))(x)
    with pytest.raises(sg.CheckError, match="while_loop goes on after max_steps=4 steps"):
        vmap(lambda r: sg.while_loop(lambda y: y[0] < 0, lambda y: y, r, max_steps=4))(x)


def test_gradients_of_compiled_loops_are_not_of_tensors_of_func():
    x = torch.tensor(np.ones((2, 4, 3)))

    def looped(m):
        return sg.vmap(lambda r: sg.scan(lambda c, e: (c * e, c), r[0], r)[0])(m)

    with pytest.raises(sg.GraphError, match="scan: the gradient of a compiled one by tensors of"):
        vmap(grad(lambda m: looped(m).sum()))(x)
