"""func: transforms and their nesting, against closed forms and values computed by PyTorch 2.13."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import dynamic as torch
from staticgraph.dynamic.func import (
    grad,
    grad_and_value,
    hessian,
    jacfwd,
    jacrev,
    jvp,
    linearize,
    vjp,
    vmap,
)
from staticgraph.dynamic.nn import functional


def tensor(values):
    return torch.tensor(values, dtype=torch.float64)


X = tensor([1.0, 2.0, 3.0])
PAIR = tensor([[0.3, -1.2, 0.7], [1.1, 0.4, -0.6]])
WEIGHT = tensor([[0.5, -0.25, 1.0], [-1.5, 0.75, 0.2]])
TARGET = torch.tensor([1, 0])


def loss(w, x, t):
    return functional.cross_entropy(w @ x, t)


def same(found, expected, rtol=1e-12):
    np.testing.assert_allclose(found.detach().numpy(), np.asarray(expected), rtol=rtol, atol=1e-14)


class TestAgainstPyTorch:
    """The literals are what PyTorch 2.13 prints for the same calls."""

    def test_gradients_per_sample(self):
        found = vmap(grad(loss), in_dims=(None, 0, 0))(WEIGHT, PAIR, TARGET)
        row = np.array([0.274117741651225, -1.0964709666049, 0.6396080638528583])
        other = np.array([-0.23190012282552178, -0.08432731739109883, 0.12649097608664822])
        same(found, [[row, -row], [other, -other]])

    def test_hessian(self):
        block = np.array(
            [
                [0.007094786207399766, -0.028379144829599065, 0.016554501150599456],
                [-0.028379144829599065, 0.11351657931839626, -0.06621800460239782],
                [0.016554501150599456, -0.06621800460239782, 0.03862716935139873],
            ]
        )
        found = hessian(loss)(WEIGHT, PAIR[0], TARGET[0]).reshape(6, 6)
        same(found, np.block([[block, -block], [-block, block]]))

    def test_forward_over_reverse(self):
        def slope(w):
            return grad(loss)(w, PAIR[0], TARGET[0])

        row = np.array([0.11162463632975639, -0.44649854531902555, 0.2604574847694316])
        same(jvp(slope, (WEIGHT,), (WEIGHT * 2,))[1], [row, -row])

    @pytest.mark.parametrize("outer", [*itertools.product((jacfwd, jacrev), repeat=2)])
    def test_third_order(self, outer):
        first, second = outer
        found = first(second(grad(lambda a: torch.logsumexp(a, 0))))(PAIR[0])
        expected = [
            0.06126937856850859, -0.007971665370717612, -0.053297713197790975,
            -0.007971665370717616, -0.02529568613209923, 0.033267351502816844,
            -0.053297713197791, 0.033267351502816844, 0.020030361694974172,
        ]  # fmt: skip
        same(found[0].reshape(-1), expected, rtol=1e-10)


@pytest.mark.parametrize(
    "inner", [*itertools.product(("reverse", "forward", "batch"), repeat=3)], ids="-".join
)
def test_third_derivatives_by_every_nesting(inner):
    """d^3/dx^3 of x^5 is 60 x^2, whichever way each derivative is taken."""

    def derivative(function, mode):
        if mode == "reverse":
            return grad(function)
        if mode == "forward":
            return lambda x: jvp(function, (x,), (torch.ones_like(x.detach()),))[1]
        return lambda x: vmap(grad(function))(torch.stack([x, x]))[1]

    function = lambda x: x**5  # noqa: E731
    for mode in inner:
        function = derivative(function, mode)
    same(function(tensor(1.5)), 60 * 1.5**2)


def test_levels_are_not_confused():
    # d/dx x * (d/dy (x + y)) is 1, and 2 for whoever confuses the two derivatives
    def along(function, x):
        return jvp(function, (x,), (torch.ones_like(x.detach()),))[1]

    one = tensor(1.0)
    modes = (grad, lambda f: lambda x: along(f, x))
    for inner, outer in itertools.product(modes, repeat=2):
        found = outer(lambda x, inner=inner: x * inner(lambda y: x + y)(one))(one)
        same(found, 1.0)
    same(vmap(lambda x: vmap(lambda y: x * 10 + y)(X))(X), 10 * X.numpy()[:, None] + X.numpy())


class TestGrad:
    def test_argnums_structure_and_aux(self):
        f = lambda a, b: (a["u"] * b).sum() * a["v"][0]  # noqa: E731
        a = {"u": X, "v": [tensor(2.0)]}
        found = grad(f)(a, X)
        assert found.keys() == a.keys() and isinstance(found["v"], list)
        same(found["u"], 2 * X.numpy())
        same(found["v"][0], 14.0)
        _, second = grad(f, argnums=(0, -1))(a, X)
        same(second, 2 * X.numpy())
        g, (value, aux) = grad_and_value(lambda x: ((x**2).sum(), {"y": x * 2}), has_aux=True)(X)
        same(g, 2 * X.numpy())
        same(value, 14.0)
        same(aux["y"], 2 * X.numpy())
        assert not (g.requires_grad or value.requires_grad or aux["y"].requires_grad)
        g, aux = grad(lambda x: (x.sum(), 7), has_aux=True)(X)
        assert aux == 7

    def test_keywords_and_unused_inputs(self):
        same(grad(lambda x, *, k: (x * k).sum())(X, k=3.0), [3.0] * 3)
        _, second = grad(lambda x, y: (x * 2).sum(), argnums=(0, 1))(X, X)
        same(second, np.zeros(3))
        same(grad(lambda x: tensor(3.0))(X), np.zeros(3))

    def test_it_is_recorded_where_that_matters(self):
        x, w = X.clone().requires_grad_(), tensor(2.0).requires_grad_()
        g = grad(lambda x: (w * x**3).sum())(x)
        g.sum().backward()
        same(x.grad, 12 * X.numpy())
        same(w.grad, 3 * (X.numpy() ** 2).sum())
        g = grad(lambda x: (w * x).sum())(X)
        assert g.requires_grad
        assert not grad(lambda x: (x * x).sum())(X).requires_grad
        with torch.no_grad():
            assert not grad(lambda x: (w * x**3).sum())(x).requires_grad
        same(grad(lambda x: (x * x).sum())(torch.nn.Parameter(X)), 2 * X.numpy())

    def test_no_grad_inside_counts(self):
        def function(x):
            with torch.no_grad():
                y = x**2
            return (x - y).sum()

        same(grad(function)(X), np.ones(3))

    def test_errors(self):
        text = r"grad_and_value\(f\)\(\*args\): "
        for function, match in (
            (lambda x: x * x, text + r"Expected f\(\*args\) to return a scalar Tensor, got tensor "
             r"with 1 dims. Maybe you wanted to use the vjp or jacrev APIs instead\?"),
            (lambda x: 3.0, text + r"Expected f\(\*args\) to return a Tensor, got <class 'float'>"),
        ):  # fmt: skip
            with pytest.raises(RuntimeError, match=match):
                grad(function)(X)
        with pytest.raises(RuntimeError, match=r"a tuple: \(output, aux\) if has_aux is True"):
            grad(lambda x: x.sum(), has_aux=True)(X)
        for argnums, match in (
            (2, "Got argnum=2, but only 1 positional inputs"),
            ("x", "argnums must be int or Tuple"),
            ((), "argnums must be non-empty"),
            ((0, 0), r"argnums elements must be unique, got \(0, 0\)"),
        ):
            with pytest.raises(RuntimeError, match=match):
                grad(lambda x: x.sum(), argnums=argnums)(X)
        with pytest.raises(ValueError, match="Thing passed to transform API must be Tensor, got"):
            grad(lambda x: x)(3.0)
        with pytest.raises(RuntimeError, match="only Tensors of floating point dtype can require"):
            grad(lambda x: x.sum())(torch.arange(3))


class TestProducts:
    def test_vjp(self):
        out, pullback = vjp(lambda x, y: {"p": x * y, "s": x.sum()}, X, X + 1)
        same(out["p"], X.numpy() * (X.numpy() + 1))
        for _ in range(2):
            a, b = pullback({"p": X, "s": tensor(10.0)})
            same(a, X.numpy() * (X.numpy() + 1) + 10)
            same(b, X.numpy() ** 2)
        out, pullback, aux = vjp(lambda x: (x * 2, x), X, has_aux=True)
        same(pullback(X)[0], 2 * X.numpy())
        assert not out.requires_grad and not aux.requires_grad

    def test_jvp(self):
        out, along = jvp(lambda x, y: (x * y["k"], x.sum()), (X, {"k": X}), (X, {"k": X * 0}))
        same(out[0], X.numpy() ** 2)
        same(along[0], X.numpy() ** 2)
        same(along[1], 6.0)
        _, along, aux = jvp(lambda x: (x**2, {"a": x}), (X,), (X,), has_aux=True)
        same(along, 2 * X.numpy() ** 2)
        assert aux["a"] is X
        same(jvp(lambda x: torch.ones(2), (X,), (X,))[1], [0.0, 0.0])

    def test_cotangents_that_move_with_the_primal(self):
        def product(x):  # 3 x^3, one x from the cotangent
            return vjp(lambda y: y**3, x)[1](x)[0]

        values = X.numpy()
        same(jvp(product, (X,), (X,))[1], 9 * values**3)
        same(jacfwd(product)(X), np.diag(9 * values**2))
        same(vmap(jacrev(product))(torch.stack([X, X]))[1], np.diag(9 * values**2))

    def test_linearize(self):
        runs = []

        def function(x, y):
            runs.append(1)
            return torch.tanh(x * y), x.sum()

        out, pushforward = linearize(function, X, PAIR[0])
        for direction in (X, X * 2):
            found = pushforward(direction, PAIR[1])
            expected = jvp(function, (X, PAIR[0]), (direction, PAIR[1]))[1]
            for one, other in zip(found, expected, strict=True):
                same(one, other)
                assert not one.requires_grad
        assert len(runs) == 3
        same(out[0], np.tanh(X.numpy() * PAIR[0].numpy()))

    def test_errors(self):
        with pytest.raises(RuntimeError, match=r"cotangents: \*, primal output: \(\*, \*\)"):
            vjp(lambda x: (x, x), X)[1](X)
        with pytest.raises(RuntimeError, match=r"Mismatch in shape: grad_output\[0\] has a shape"):
            vjp(lambda x: x, X)[1](X[:2])
        for call in (lambda: vjp(lambda x: 3, X), lambda: jacrev(lambda x: 3)(X)):
            with pytest.raises(RuntimeError, match=r"vjp\(f, \*primals\): expected f\(\*primals\)"):
                call()
        with pytest.raises(RuntimeError, match="Expected primals to be a tuple"):
            jvp(lambda x: x, X, X)
        with pytest.raises(RuntimeError, match="primals and tangents to have the same python"):
            jvp(lambda x: x, (X,), (X, X))
        with pytest.raises(RuntimeError, match="Expected primals to contain at least one Tensor"):
            jvp(lambda: X, (), ())
        with pytest.raises(RuntimeError, match="to return only tensors, got unsupported type"):
            jvp(lambda x: 3, (X,), (X,))
        with pytest.raises(RuntimeError, match="Trying to set a forward gradient that has a diff"):
            jvp(lambda x: x, (X,), (X[:2],))
        with pytest.raises(RuntimeError, match="output of f is independent of the inputs"):
            jvp(lambda x: torch.ones(2), (X,), (X,), strict=True)
        with pytest.raises(RuntimeError, match=r"a tuple: \(output, aux\) if has_aux is True"):
            jvp(lambda x: x, (X,), (X,), has_aux=True)
        with pytest.raises(ValueError, match="Thing passed to transform API must be Tensor"):
            jvp(lambda x: x, (3.0,), (X,))
        with pytest.raises(RuntimeError, match="tangents to have the structure of the primals"):
            linearize(lambda x: x, X)[1](X, X)


@pytest.mark.parametrize("jacobian", [jacrev, jacfwd])
@pytest.mark.parametrize("chunk_size", [None, 1, 2])
class TestJacobians:
    def test_structure(self, jacobian, chunk_size):
        def function(x, y):
            return {"product": y["m"] @ x, "sum": x.sum()}

        found = jacobian(function, argnums=(0, 1), chunk_size=chunk_size)(X, {"m": PAIR})
        by_x, by_m = found["product"]
        same(by_x, PAIR.numpy())
        expected = np.zeros((2, 2, 3))
        expected[0, 0] = expected[1, 1] = X.numpy()
        same(by_m["m"], expected)
        same(found["sum"][0], np.ones(3))
        same(found["sum"][1]["m"], np.zeros((2, 3)))

    def test_aux_and_constants(self, jacobian, chunk_size):
        found, aux = jacobian(lambda x: (x**2, x * 2), has_aux=True, chunk_size=chunk_size)(X)
        same(found, np.diag(2 * X.numpy()))
        same(aux, 2 * X.numpy())
        assert type(aux) is torch.Tensor
        constant = jacobian(lambda x: tensor([1.0, 2.0]), chunk_size=chunk_size)(X)
        same(constant, np.zeros((2, 3)))

    @pytest.mark.parametrize("shape", [(0,), (2, 0)])
    def test_no_elements(self, jacobian, chunk_size, shape):
        x = torch.zeros(*shape)
        found = jacobian(lambda x: (x.sigmoid(), x.sum()), chunk_size=chunk_size)(x)
        assert [tuple(one.shape) for one in found] == [shape + shape, shape]
        second, aux = jacobian(lambda x: (hessian(lambda x: x)(x), x), has_aux=True)(x)
        assert (tuple(second.shape), tuple(aux.shape)) == (shape * 4, shape)

    def test_in_batches_and_recorded(self, jacobian, chunk_size):
        batch = torch.stack([X, X * 2])
        function = jacobian(lambda x: x**3, chunk_size=chunk_size)
        same(vmap(function)(batch), [np.diag(3 * row**2) for row in batch.numpy()])
        x = X.clone().requires_grad_()
        function(x).sum().backward()
        same(x.grad, 6 * X.numpy())

    def test_chunk_size(self, jacobian, chunk_size):
        with pytest.raises(ValueError, match="chunk_size should be None or greater than 0"):
            jacobian(lambda x: x, chunk_size=0)(X)


def test_an_output_of_jvp_that_is_the_input_has_a_gradient_of_its_own():
    x = torch.tensor([0.5], requires_grad=True)
    out, tangent = torch.func.jvp(lambda v: v, (x,), (x,))
    assert out is not x
    assert tangent is x
    loss = (x * x).sum() + (out * 0.5).sum() + (tangent * 3).sum()
    found = [torch.autograd.grad(loss, y, retain_graph=True)[0].item() for y in (x, out, tangent)]
    assert found == [4.5, 0.5, 4.5]
