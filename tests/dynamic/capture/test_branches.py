"""Branches on values in captured functions of tensors: each call does what its side does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dynamic as torch
import staticgraph as sg
from staticgraph.dynamic import nn
from tests.dynamic.capture.test_effects import World, same

HERE = r"test_branches\.py:\d+: "


def _alone(f: Callable[..., Any]) -> Callable[[], World]:
    return lambda: (f, [])


def halves(x: Any) -> Any:
    if x.sum() > 0:
        return x * 2
    return x - 1


def thirds(x: Any) -> Any:
    if x.sum() > 1:
        y = x.exp()
    elif not x.sum() > -1:
        y = x * x
    else:
        y = x.sin() if 0 < x[0] < 1 or x[1] > 0 else x.cos()
    return y.sum(), y


def itself_or_new(x: Any) -> Any:
    return x / x.norm() if x.norm() > 1.5 else x


def a_view_or_new(x: Any) -> Any:
    return x[1:] if x[0] > 0 else x[1:] * 2


def a_view_of_either(x: Any) -> Any:
    y = x * 3
    return y, (y[:2] if x[0] > 0 else y[1:])


def twice(x: Any) -> Any:
    y = x * 2
    return (y, y) if x[0] > 0 else (y, y + 1)


def aliased(x: Any) -> Any:
    y = x * 1
    z = y
    if y.sum() > 0:
        y += x
    return z * 2, y


def a_view_written(x: Any) -> Any:
    y = x.clone()
    if x[0] > 0:
        y[:2] *= 5
    else:
        y[x[1] > 0] = 7.0
    return y


def an_argument_written(x: Any) -> Any:
    with torch.no_grad():
        if x[0] > 0:
            x.mul_(2)
    return x + 1


def by_python(x: Any) -> Any:
    a, b, c = x
    return max(a, b, c) - min(a, b), sorted([a, b, c])[1], abs(a)


def in_it(x: Any) -> Any:
    return x * 2 if 0.0 in x.round() else x


def of_one_or_the_other(x: Any, y: Any) -> Any:
    return (x.sum() if x[0] > 0 else y.sum()), x.detach() * 2 if y[0] > 0 else y * 3


def many(x: Any) -> Any:
    for one in x:
        if one > 0:
            x = x * 1.5
        else:
            x = x + one
    return x


def left_early(x: Any) -> Any:
    for _ in range(3):
        if x.sum() > 2:
            break
        x = x + 1
    else:
        x = -x
    return x


def _recursive(x: Any, depth: int) -> Any:
    if depth == 0 or x.sum() > 1:
        return x
    return _recursive(x + 1, depth - 1)


def recursive(x: Any) -> Any:
    return _recursive(x, 3)


def gradients(x: Any) -> Any:
    loss = (x * x).sum() if x[0] > 0 else x.sum()
    (g,) = torch.autograd.grad(loss, x, create_graph=True)
    return g * 2 if g.sum() > 1 else g


def without_a_gradient(x: Any) -> Any:
    with torch.no_grad():
        scale = 2 if x[0] > 0 else 3
    return x * scale, x.detach() if x[1] > 0 else x * 1


def a_leaf_inside(x: Any) -> Any:
    w = torch.ones(3, dtype=x.dtype).requires_grad_()
    ((w * x).sum() if x[0] > 0 else (w * w * x).sum()).backward()
    return w.grad


def freed(x: Any) -> Any:
    y = (x * x).sum()
    if x[0] > 0:
        y.backward()
    return y


PROGRAMS = [
    halves, thirds, itself_or_new, a_view_or_new, a_view_of_either, twice, aliased, a_view_written,
    by_python, in_it, many, left_early, recursive, gradients, without_a_gradient, a_leaf_inside,
    freed,
]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda one: one.__name__)
def test_a_branch_on_a_value_means_what_it_means_eagerly(program: Callable[..., Any]) -> None:
    same(_alone(program), [(3,)] * 8)


def test_an_argument_is_overwritten_on_the_side_that_says_so() -> None:
    for sign in (1.0, -1.0, 2.0):
        x, y = (torch.tensor([sign, 2.0]) for _ in range(2))
        found = sg.function(an_argument_written, debug=True)(x)
        np.testing.assert_array_equal(found, an_argument_written(y))
        np.testing.assert_array_equal(x, y)


class Net(nn.Module):
    """Layers that are used by values."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(3, 3).double()
        self.norm = nn.BatchNorm1d(3).double()
        self.register_buffer("seen", torch.zeros((), dtype=torch.int64))

    def forward(self, x: Any) -> Any:
        h = self.first(x)
        if h.mean() > 0:
            h = self.norm(h)
            self.seen += 1
        if (h > 2).any():
            return h.clamp(max=2)
        return h


def test_statistics_and_buffers_change_on_the_side_that_says_so() -> None:
    def make() -> World:
        net = Net()
        return net, [net]

    same(make, [((4, 3),)] * 6)


def _training(x: Any, net: Any, optimizer: Any) -> Any:
    loss = (net(x) - 1).square().mean()
    optimizer.zero_grad()
    if torch.isfinite(loss) and loss < 4:
        loss.backward()
        norm = sum(p.grad.square().sum() for p in net.parameters()).sqrt()
        if norm > 1:
            for p in net.parameters():
                p.grad /= norm
        optimizer.step()
    return loss.detach()


def test_what_a_side_does_not_read_gets_no_gradient() -> None:
    def make() -> World:
        first, second = nn.Linear(3, 3).double(), nn.BatchNorm1d(3).double()
        return (lambda x: first(x) if x.mean() > 0 else second(x * 2)), [first, second]

    same(make, [((4, 3),)] * 4)


def test_what_requires_grad_is_what_depends_on_it_on_the_side_that_was_taken() -> None:
    for x, y in ((1.0, 1.0), (1.0, -1.0), (-1.0, 1.0), (-1.0, -1.0)):
        f = sg.function(of_one_or_the_other, debug=True)
        first, second = torch.tensor([x]).requires_grad_(), torch.tensor([y])
        for args in ((first, second), (second, first), (first, first), (second, second)):
            expected = [one.requires_grad for one in of_one_or_the_other(*args)]
            assert [one.requires_grad for one in f(*args)] == expected


@pytest.mark.parametrize("kind", [torch.optim.SGD, torch.optim.Adam])
def test_an_optimizer_steps_on_the_side_that_says_so(kind: Any) -> None:
    def make() -> World:
        net = nn.Linear(3, 1).double()
        optimizer = kind(net.parameters(), lr=0.1)
        return (lambda x: _training(x * x * x, net, optimizer)), [net]

    same(make, [((4, 3),)] * 8)


def test_the_predicate_of_a_tensor_of_one_element() -> None:
    f = sg.function(lambda x: x * 2 if x else x - 1, debug=True)
    for value in (0.0, -0.0, 2.0, np.nan, [[3.0]], [0.0]):
        x = torch.tensor(value)
        np.testing.assert_array_equal(f(x), x * 2 if x else x - 1)
    for shape, what in (((2,), "more than one value"), ((0,), "no values")):
        with pytest.raises(RuntimeError, match=f"Boolean value of Tensor with {what}"):
            f(torch.zeros(*shape))


def _dropout_in_a_branch(x: Any) -> Any:
    return nn.functional.dropout(x, 0.5) if x.sum() > 0 else x


def _other_numbers(x: Any) -> Any:
    before = torch.randn(3)
    if x.sum() > 0:
        y = torch.rand(2)[0] + torch.randn(3)
        if y[0] > 1:
            y = y + torch.rand(3)
    else:
        y = nn.functional.dropout(x, 0.5)
    return x + y + before + torch.randperm(3)


@pytest.mark.parametrize("program", [_dropout_in_a_branch, _other_numbers])
def test_the_stream_goes_on_from_the_side_that_is_taken(program: Callable[..., Any]) -> None:
    fast = sg.function(program)
    for seed in range(6):
        x = torch.ones(3) * (-1) ** seed
        torch.manual_seed(seed)
        expected = [program(x), torch.rand(2)]
        torch.manual_seed(seed)
        for one, other in zip([fast(x), torch.rand(2)], expected, strict=True):
            np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-6)


def test_random_numbers_behind_a_branch_are_those_of_either_side() -> None:
    def dropped(x: Any) -> Any:
        y = x * 2 if x.sum() > 0 else x
        return nn.functional.dropout(y, 0.5)

    same(_alone(dropped), [(3,)] * 4)


def test_a_step_is_not_made_where_the_function_raises() -> None:
    weight = torch.ones(2, requires_grad=True)
    optimizer = torch.optim.SGD([weight], lr=0.5, momentum=0.9)

    @sg.function
    def step(x: Any) -> Any:
        optimizer.zero_grad()
        loss = (weight * x).sum()
        if loss < 0:
            raise ArithmeticError("the loss is negative")
        loss.backward()
        optimizer.step()
        return loss

    assert step(torch.ones(2)).item() == 2
    with pytest.raises(ArithmeticError, match=r"^the loss is negative"):
        step(-torch.ones(2))
    assert weight.tolist() == [0.5, 0.5]
    assert step(torch.ones(2)).item() == 1


def test_a_parameter_read_after_a_step_and_a_branch_are_refused() -> None:
    net = nn.Linear(3, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)

    def f(x: Any) -> Any:
        net(x).sum().backward()
        optimizer.step()
        return net(x).detach() if x.sum() > 0 else net(x).detach() * 2

    with pytest.raises(sg.CaptureError, match=HERE + ".*reads parameters after an optimizer has"):
        sg.function(f)(torch.ones(3))


class Squared(torch.autograd.Function):
    """Another gradient than that of what it computes."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (x,) = ctx.saved_tensors
        return g * x * 5 if x.sum() > 0 else g * x * 7


class Straight(torch.autograd.Function):
    """Rounds, and hands the gradient on."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x.round() if x.sum() > 0 else x.floor()

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * 3


def _own_before(x: Any) -> Any:
    y = Squared.apply(x)
    return y * 2 if y.sum() > 2 else y


def _own_on_a_side(x: Any) -> Any:
    return Squared.apply(x) if x.sum() > 0 else x


def test_a_gradient_of_the_users_is_in_front_of_a_branch_or_on_a_side() -> None:
    same(_alone(_own_before), [(3,)] * 4)
    same(_alone(lambda x: Straight.apply(x) * x), [(3,)] * 4)
    same(_alone(_own_on_a_side), [(3,)] * 4)


def test_what_does_different_things_is_no_part_of_a_transform() -> None:
    captured = sg.function(itself_or_new, debug=True)
    x = torch.tensor([3.0, 4.0])
    np.testing.assert_allclose(torch.func.grad(lambda v: captured(v)[0])(x), [0.128, -0.096])
    with pytest.raises(sg.CaptureError, match="itself_or_new: a captured function that does diff"):
        torch.func.vmap(captured)(x[None])
    plain = sg.function(halves, debug=True)
    np.testing.assert_array_equal(torch.func.vmap(plain)(torch.stack([x, -x])), [[6, 8], [-4, -5]])


def _draws_between(x: Any) -> Any:
    noise = torch.rand(3)
    if x.sum() > 50:
        torch.randn(3)
        raise ArithmeticError("too large")
    later = torch.rand(3)
    return x * noise * later if x.sum() > 0 else x - later


def _draws_on_the_side_that_raises(x: Any) -> Any:
    if x.sum() > 50:
        torch.randn(3)
        raise ArithmeticError("too large")
    return x * torch.rand(3)


@pytest.mark.parametrize("program", [_draws_between, _draws_on_the_side_that_raises])
def test_what_a_side_draws_that_raises_is_not_drawn_by_others(program: Callable[..., Any]) -> None:
    same(_alone(program), [(3,)] * 4)


def test_what_only_a_side_that_raises_reads_is_an_operand() -> None:
    def program() -> World:
        weight, limit = torch.ones(3, requires_grad=True), torch.full((3,), 2.0)

        def f(x: Any) -> Any:
            if x.sum() < 50:
                return x * torch.rand(3) * weight
            (limit * x).sum()
            raise ArithmeticError("too large")

        return f, [weight]

    same(program, [(3,)] * 2)


def test_the_same_numbers_on_sides_that_depend_on_others() -> None:
    def program() -> World:
        weight = torch.ones(3, requires_grad=True)

        def f(x: Any) -> Any:
            noise = torch.rand(3)
            return x * noise * weight if x.sum() > 0 else x * noise

        return f, [weight]

    same(program, [(3,)] * 4)


def test_what_a_side_asks_that_raises_is_asked_at_each_call() -> None:
    @sg.function
    def f(x: Any) -> Any:
        if x.sum() > 0 and x.requires_grad:
            raise ArithmeticError("no gradient here")
        return x * 2

    @sg.function
    def g(x: Any) -> Any:
        if x.sum() > 0 and torch.is_grad_enabled():
            raise ArithmeticError("no gradient here")
        return x * 2

    x = torch.ones(2)
    for _ in range(2):
        with pytest.raises(ArithmeticError, match=r"^no gradient here"):
            f(torch.ones(2, requires_grad=True))
        assert f(x).tolist() == [2, 2]
        with pytest.raises(ArithmeticError, match=r"^no gradient here"):
            g(x)
        with torch.no_grad():
            assert g(x).tolist() == [2, 2]
