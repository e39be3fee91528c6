"""Dual tensors: tangents against closed forms, with both grad modes, and PyTorch's errors."""

from __future__ import annotations

import numpy as np
import pytest

import dynamic as torch
from staticgraph.dynamic.autograd import forward_ad as fwd
from staticgraph.dynamic.nn import functional

X = np.array([1.0, 2.0, 3.0])
V = np.array([0.5, -1.0, 2.0])


@pytest.fixture
def level():
    with fwd.dual_level() as number:
        yield number


def dual(value=X, tangent=V, **options):
    return fwd.make_dual(torch.tensor(value, **options), torch.tensor(tangent))


def tangent(x):
    return fwd.unpack_dual(x).tangent.detach().numpy()


CASES = {
    "product": (lambda x: x * x * 3, 6 * X * V),
    "number": (lambda x: 2 / x, -2 / X**2 * V),
    "constant": (lambda x: x * torch.tensor(X), X * V),
    "constant first": (lambda x: torch.tensor(X) - x, -V),
    "parameter first": (lambda x: torch.nn.Parameter(torch.tensor(X)) * x, X * V),
    "power": (lambda x: x**3, 3 * X**2 * V),
    "sum": (lambda x: x.sum(), V.sum()),
    "softmax": (
        lambda x: x.softmax(0),
        np.exp(X) / np.exp(X).sum() * (V - (np.exp(X) * V).sum() / np.exp(X).sum()),
    ),
    "norm": (lambda x: x.norm(), X @ V / np.sqrt(X @ X)),
    "matrix": (lambda x: torch.outer(x, x) @ x, (X @ X) * V + 2 * X * (X @ V)),
    "views": (lambda x: x[1:].reshape(2, 1).T[0, 0] * x[-1], V[1] * X[2] + X[1] * V[2]),
    "split": (lambda x: x.split(1)[2] * x.unbind()[0], V[2:] * X[0] + X[2:] * V[0]),
    "iteration": (lambda x: sum(x), V.sum()),
    "in place": (lambda x: (x * 1).mul_(x).add_(1), 2 * X * V),
    "set item": (lambda x: _set(x * 1), V * [0, 1, 1]),
    "view in place": (lambda x: _scaled_tail(x * 2), 2 * V * [1, 3, 3]),
    "detached": (lambda x: x.detach() * x, X * V),
    "layer norm": (lambda x: functional.layer_norm(x, (3,)).sum() + x[0], V[0]),
    "cast": (lambda x: x.float().double(), V),
    "chosen": (lambda x: torch.where(x > 1.5, x * x, x), V * [1, 4, 6]),
    "maximum": (lambda x: x.max(0).values, V[2]),
}


def _set(x):
    x[0] = 7.0
    return x


def _scaled_tail(x):
    x[1:].mul_(3)
    return x


@pytest.mark.parametrize("recording", [True, False])
@pytest.mark.parametrize("name", CASES)
def test_tangents(level, name, recording):
    function, expected = CASES[name]
    with torch.set_grad_enabled(recording):
        result = function(dual())
    np.testing.assert_allclose(tangent(result), expected, rtol=1e-6, atol=1e-14)
    plain = function(torch.tensor(X))
    np.testing.assert_array_equal(fwd.unpack_dual(result).primal.detach(), plain.detach())


def test_tensors_without_a_tangent(level):
    x = torch.tensor(X)
    assert fwd.unpack_dual(x) == (x, None) or fwd.unpack_dual(x).primal is x
    assert fwd.unpack_dual(x).tangent is None
    assert fwd.unpack_dual(dual().detach()).tangent is None
    assert fwd.unpack_dual(dual() > 2).tangent is None
    assert fwd.unpack_dual(dual().argmax()).tangent is None


def test_parts_are_what_was_given(level):
    primal, direction = torch.tensor(X), torch.tensor(V)
    made = fwd.make_dual(primal, direction)
    assert isinstance(made, torch.Tensor) and torch.is_tensor(made)
    assert made.shape == (3,) and made.dtype == torch.float64 and not made.requires_grad
    unpacked = fwd.unpack_dual(made)
    assert unpacked.primal is not primal and unpacked.tangent is direction
    assert unpacked.primal.data_ptr() == primal.data_ptr()
    assert repr(made) == (
        "tensor([1., 2., 3.], dtype=torch.float64, "
        "tangent=tensor([ 0.5000, -1.0000,  2.0000], dtype=torch.float64))"
    )


def test_tangents_end_with_the_level():
    with fwd.dual_level():
        x = dual()
        y = x * x
    assert fwd.unpack_dual(y).tangent is None
    np.testing.assert_array_equal((y + x).numpy(), X * X + X)
    assert repr(y) == "tensor([1., 4., 9.], dtype=torch.float64)"
    with fwd.dual_level():
        assert fwd.unpack_dual(y * 2).tangent is None


def test_reverse_over_forward(level):
    leaf = torch.tensor(X, requires_grad=True)
    y = (fwd.make_dual(leaf, torch.tensor(V)) ** 3).sum()
    fwd.unpack_dual(y).tangent.backward(retain_graph=True)  # of sum 3 x^2 v
    np.testing.assert_allclose(leaf.grad, 6 * X * V)
    y.backward()
    np.testing.assert_allclose(leaf.grad, 6 * X * V + 3 * X**2)


@pytest.mark.parametrize("create_graph", [True, False])
def test_forward_over_reverse(level, create_graph):
    leaf = torch.tensor(X, requires_grad=True)
    x = fwd.make_dual(leaf, torch.tensor(V))
    (g,) = torch.autograd.grad((x**4).sum(), x, create_graph=create_graph)
    primal, along = fwd.unpack_dual(g)
    np.testing.assert_allclose(primal.detach(), 4 * X**3)
    np.testing.assert_allclose(along.detach(), 12 * X**2 * V)
    assert primal.requires_grad == along.requires_grad == create_graph
    if create_graph:
        (third,) = torch.autograd.grad(along.sum(), leaf)
        np.testing.assert_allclose(third, 24 * X * V)


def test_a_module_along_a_direction(level):
    # PyTorch's documented way: exchange the parameters for dual tensors
    torch.manual_seed(0)
    model = torch.nn.Linear(3, 2).double()
    weight = model.weight.detach()
    direction = torch.randn_like(weight)
    del model.weight
    model.weight = fwd.make_dual(weight, direction)
    found = tangent(model(torch.tensor(X)))
    np.testing.assert_allclose(found, direction.numpy() @ X)


def test_a_function_of_the_user(level):
    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * 3 * x**2

    np.testing.assert_allclose(tangent(Cube.apply(dual())), 3 * X**2 * V)
    np.testing.assert_allclose(tangent(Cube.apply(dual(requires_grad=True))), 3 * X**2 * V)


def test_what_is_written_into_a_plain_tensor_is_not_lost(level):
    plain, x = torch.zeros(3, dtype=torch.float64), dual()
    plain[0] = x[0]
    first = fwd.unpack_dual(x).tangent.tolist()
    assert fwd.unpack_dual(plain).tangent.tolist() == [first[0], 0.0, 0.0]
    plain += x
    assert fwd.unpack_dual(plain).tangent.tolist() == [2 * first[0], *first[1:]]


def test_errors_outside_a_level():
    x = torch.tensor(X)
    with pytest.raises(RuntimeError, match="Trying to create a dual Tensor for forward AD but no"):
        fwd.make_dual(x, x)
    with pytest.raises(RuntimeError, match="Dual level must be a positive number"):
        fwd.exit_dual_level()


def test_errors_inside_a_level(level):
    x = torch.tensor(X)
    with (
        pytest.raises(RuntimeError, match="Nested forward mode AD is not supported at the moment"),
        fwd.dual_level(),
    ):
        pass
    text = r"different size than that of the original Tensor.*size \[3\] while .* size \[2\]"
    with pytest.raises(RuntimeError, match="Trying to set a forward gradient that has a " + text):
        fwd.make_dual(x, x[:2])
    with pytest.raises(ValueError, match="Expected primal to be floating point or complex"):
        fwd.make_dual(torch.arange(3), x)
    with pytest.raises(ValueError, match="Expected tangent to be floating point or complex"):
        fwd.make_dual(x, torch.arange(3))
    with pytest.raises(RuntimeError, match="already has a forward gradient at the same level 0"):
        fwd.make_dual(dual(), x)
    with pytest.raises(RuntimeError, match="called inside a functorch transform"):
        torch.func.jvp(lambda y: y.sum().backward(), (x,), (x,))
    with pytest.raises(RuntimeError, match="itself has a forward gradient at the same level 0"):
        fwd.make_dual(x, dual())
    with pytest.raises(RuntimeError, match="exit a forward AD level that was not the last one"):
        fwd.exit_dual_level(level=3)


def test_level_numbers():
    assert fwd.enter_dual_level() == 0
    fwd.exit_dual_level(level=0)
    with pytest.raises(RuntimeError, match="no level exists"):
        dual()


def of(**members):
    return type("F", (torch.autograd.Function,), {k: staticmethod(v) for k, v in members.items()})


def test_what_a_jvp_returns_is_checked(level):
    def marked(ctx, a):
        b = a.clone()
        ctx.mark_non_differentiable(b)
        return a * 1, b

    with pytest.raises(RuntimeError, match=r"gradient at position 1.*return None at that position"):
        of(forward=marked, jvp=lambda ctx, t: (t * 1, t * 1)).apply(dual())
    with pytest.raises(RuntimeError, match=r"invalid number of forward gradients \(expected 2 but"):
        of(forward=marked, jvp=lambda ctx, t: t * 1).apply(dual())
    of(forward=marked, jvp=lambda ctx, t: (t * 1, None)).apply(dual())
    with pytest.raises(RuntimeError, match="jvp is not returning a view"):
        of(forward=lambda ctx, a: a[:2], jvp=lambda ctx, t: t[:2] * 1).apply(dual())
    with pytest.raises(RuntimeError, match="not returning a view of the same base as the given"):
        x = dual(np.ones(4), np.ones(4))[:3]
        of(forward=lambda ctx, a: a[:2], jvp=lambda ctx, t: (t * 1)[:2]).apply(x)


def test_out_is_refused(level):
    with pytest.raises(NotImplementedError, match="forward AD with add_out that does not support"):
        torch.add(dual(), dual(), out=torch.zeros(3, dtype=torch.float64))


def test_nothing_else_is_in_the_module():
    with pytest.raises(AttributeError, match=r"module 'dynamic.autograd.forward_ad' has no attri"):
        _ = fwd.levels


def test_forward_mode_can_be_switched_off():
    x, t = torch.ones(2), torch.ones(2)
    with fwd.dual_level():
        dual = fwd.make_dual(x, t)
        assert fwd._is_fwd_grad_enabled()
        with fwd._set_fwd_grad_enabled(False):
            assert not fwd._is_fwd_grad_enabled()
            assert fwd.unpack_dual(dual * 2).tangent is None
        assert fwd.unpack_dual(dual * 2).tangent.tolist() == [2.0, 2.0]


def test_an_op_without_a_derivative_says_so():
    x, t = torch.ones(2), torch.ones(2)
    with (
        fwd.dual_level(),
        pytest.raises(NotImplementedError, match="Trying to use forward AD with gammainc"),
    ):
        torch.special.gammainc(fwd.make_dual(x, t), x)
