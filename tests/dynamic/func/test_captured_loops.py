"""Loops and branches of examples and dual numbers in captured functions: one each, not unrolled."""

from __future__ import annotations

import numpy as np
import pytest

import dynamic as torch
import staticgraph as sg
from staticgraph.compiler.core.pytree import leaves
from staticgraph.dynamic import func
from tests.combinations import some

RNG = np.random.default_rng(0)
XS, HS, WS = (torch.tensor(RNG.normal(size=s)) for s in ((2, 4, 6, 3), (2, 4, 3), (4, 3, 3)))
X, H, W = XS[0].clone(), HS[0].clone(), WS[0].clone()


def rnn(x, h, w):
    def step(carry, row):
        after = torch.tanh(carry @ w + row)
        return after, after.sum()

    return sg.scan(step, h, x)


def counted(x):
    last, rows = sg.scan(lambda c, e: ((c[0] + 1, c[1] + e * c[0]), c[1]), (0.0, 0.0), x)
    return last[1], rows


def mapped(*dims):
    return lambda *given: func.vmap(rnn, dims)(*given)


def squares(*trees):
    return sum((one * one).sum() for one in leaves(trees))


BATCHES = {
    "all": (mapped(0, 0, 0), (X, H, WS)),
    "the carry and the slices": (mapped(0, 0, None), (X, H, W)),
    "the carry alone": (mapped(None, 0, None), (X[0], H, W)),
    "the slices alone": (mapped(0, None, None), (X, H[0], W)),
    "what the step reads": (mapped(None, None, 0), (X[0], H[0], WS)),
    "other axes": (
        lambda x, h: func.vmap(rnn, (1, 1, None), (1, 0))(x, h, W),
        (X.transpose(0, 1).contiguous(), H.T.contiguous()),
    ),
    "batches of batches": (
        lambda x, h: func.vmap(func.vmap(rnn, (0, 0, None)), (0, 0, None))(x, h, W),
        (XS, HS),
    ),
    "one batch inside another": (
        lambda x, h: func.vmap(lambda h: func.vmap(lambda x: rnn(x, h, W))(x))(h),
        (X, H),
    ),
    "numbers that become examples": (lambda x: func.vmap(counted)(x), (X[:, :, 0],)),
    "from the end": (
        lambda x: func.vmap(lambda r: sg.scan(lambda c, e: (c * e, c), r[0], r, None, True))(x),
        (X,),
    ),
    "no carry": (lambda h, x: func.vmap(lambda r: sg.map(lambda e: e * r, x))(h), (H, X[0])),
    "no slices": (
        lambda h: func.vmap(lambda r: sg.scan(lambda c, _: (c * r, c), W[0], None, 3)[1])(h),
        (H,),
    ),
    "dual numbers of a batch": (
        lambda x, h: func.jvp(lambda h: mapped(0, 0, None)(x, h, W), (h,), (h,)),
        (X, H),
    ),
    "a batch of dual numbers": (
        lambda x, h: func.vmap(lambda x, h: func.jvp(lambda h: rnn(x, h, W), (h,), (h,)))(x, h),
        (X, H),
    ),
    "dual numbers that the step reads": (
        lambda h, x: func.jvp(lambda r: sg.map(lambda e: e * r, x), (h,), (h,)),
        (H[0], X[0]),
    ),
}


def agree(f, given, name, most):
    """Compare a captured function with the eager one, and count its loops or branches."""
    captured = sg.function(f, debug=True)
    pairs = zip(leaves(captured(*given)), leaves(f(*given)), strict=True)
    for one, other in pairs:
        assert (one.shape, one.dtype) == (other.shape, other.dtype)
        np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-10, atol=1e-12)
    made = captured.executable(*given).graph.nodes(data="op")
    assert 1 <= sum(op.name == name for _, op in made) <= most
    assert len(made) < 80  # unrolled they are several hundred


@pytest.mark.parametrize("name", some(BATCHES, 5))
def test_a_scan_of_examples_is_one_scan(name):
    f, given = BATCHES[name]
    agree(f, given, "scan", 1)
    by_all = func.grad(lambda *x: squares(f(*x)), argnums=tuple(range(len(given))))
    agree(by_all, given, "scan", 3)  # forward, forward for the carries, and back


def test_one_trace_serves_batches_of_any_size():
    eager = mapped(0, 0, None)
    f = sg.function(eager, debug=True)
    for count in (4, 3, 1, 0):
        for one, other in zip(
            f(X[:count], H[:count], W), eager(X[:count], H[:count], W), strict=True
        ):
            assert one.shape == other.shape
            np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-12)
    assert len(f.traces) == 1
    with pytest.raises(ValueError, match=r"same size in the mapped dimension, got sizes \[4, 3\]"):
        f(X, H[:3], W)


@pytest.mark.parametrize("back", [lambda f: f, lambda f: lambda *x: func.jvp(f, x, x)])
def test_a_branch_that_all_examples_take_stays_one(back):
    def closed(x, h):
        return func.vmap(lambda r: sg.cond(h.sum() > 0, lambda: r * 2, lambda: h[0] + r.exp()))(x)

    def given(x, h):
        return func.vmap(lambda r: sg.cond(h.sum() > 0, lambda r, _: r, torch.mul, r, h[0]))(x)

    def nested(x, h):
        pair = func.vmap(
            lambda q: func.vmap(lambda r: sg.cond(h.sum() > 0, _twice, _exp, r * q))(x)
        )
        return pair(h)

    for f in (closed, given, nested):
        agree(back(f), (X[0], H), "cond", 1)
        agree(back(f), (X[0], -H), "cond", 1)


def _twice(x):
    return x * 2


def _exp(x):
    return x.exp()


def test_what_loops_of_examples_refuse_is_named_as_eagerly():
    def grown(x):
        return func.vmap(lambda r: sg.scan(lambda c, e: (torch.stack([c, e]), c), r[0], r))(x)

    def uneven(x):
        return func.vmap(lambda r: sg.scan(lambda c, e: c + e, r[0], r))(x)

    for f, error, message in (
        (grown, sg.ShapeError, r"scan: carry: float64\[3\] becomes float64\[2, 3\]"),
        (uneven, sg.OptionError, "returns no pair"),
    ):
        for one in (f, sg.function(f, debug=True)):
            with pytest.raises(error, match=message):
                one(X)


def test_random_numbers_of_examples_are_refused_as_eagerly():
    f = lambda x: func.vmap(lambda r: r + torch.rand(3))(x)  # noqa: E731
    for one in (f, sg.function(f, debug=True)):
        with pytest.raises(RuntimeError, match="called random operation while in randomness error"):
            one(H)


def test_a_batch_of_places_is_no_index_as_eagerly():
    f = func.vmap(lambda r: r[r.argmax()])
    for one in (f, sg.function(f, debug=True)):
        with pytest.raises(RuntimeError, match=r"calling .item\(\) on a Tensor"):
            one(H)


def test_numbers_and_sizes_meet_examples_as_python_numbers():
    def f(x, number):
        return func.vmap(lambda r: r * number + r.clamp(max=number) / x.shape[0])(x)

    x = X.float()
    for given in ((x, 2), (x, 0.5), ((x * 4).int(), 2), ((x * 4).int(), 0.5)):
        one, other = sg.function(f, debug=True)(*given), f(*given)
        assert one.dtype == other.dtype
        np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-6)
        forward = lambda x, n: func.jvp(lambda y: y * n + n, (x,), (x,))  # noqa: E731
        for one, other in zip(
            sg.function(forward, debug=True)(x, given[1]), forward(x, given[1]), strict=True
        ):
            np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-6)


@pytest.mark.parametrize(
    "f",
    [
        func.grad(lambda x: (x * (2 if x.requires_grad else 3)).sum()),
        func.grad(lambda x: (x * (2 if (x * x).requires_grad else 3)).sum()),
        func.grad(lambda x: (x * (2 if x.is_leaf else 3)).sum()),
        func.grad(lambda x: (x * (2 if x.detach().requires_grad else 3)).sum()),
        func.vmap(func.grad(lambda x: (x * (2 if x.requires_grad else 3)).sum())),
        func.vmap(lambda x: x * (2 if x.requires_grad else 3)),
        func.vmap(lambda x: x * x.data + (x if x.grad is None else 0)),
        lambda x: x * (2 if func.grad(lambda y: (y * y).sum())(x).requires_grad else 3),
    ],
)
def test_what_is_differentiated_requires_grad_inside_alone(f):
    np.testing.assert_array_equal(sg.function(f, debug=True)(H).numpy(), f(H).numpy())


def test_a_leaf_made_inside_is_not_changed_in_place():
    def whole(x):
        y = (x * 1).detach().requires_grad_()
        y += 1
        return y

    def view(x):
        y = (x * 1).detach().requires_grad_()
        y[0] += 1
        return y

    for f in (whole, view, func.grad(lambda y: y.mul_(2).sum())):
        for one in (f, sg.function(f, debug=True)):
            with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
                one(H)
