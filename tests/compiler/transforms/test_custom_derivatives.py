"""`custom_vjp` and `custom_jvp`: wrong rules on purpose, so that it is seen which one is used."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dynamic
import staticgraph as sg
from staticgraph.compiler.core.errors import GraphError, OptionError, OutputError, ShapeError

X, Y = np.array([1.0, 2.0]), np.array([3.0, 4.0])


@sg.custom_vjp
def grown(x: Any, y: Any) -> Any:
    """exp(x) y, whose gradient by x is three times what it should be."""
    return sg.exp(x) * y


def _grown_forward(x: Any, y: Any) -> Any:
    power = sg.exp(x)
    return power * y, (power, y)


grown.defvjp(_grown_forward, lambda res, g: (3 * g * res[0] * res[1], g * res[0]))


@sg.custom_jvp
def root(x: Any) -> Any:
    """The square root, whose derivative is that of 2 sqrt(x)."""
    return sg.sqrt(x)


@root.defjvp
def _(primals: Any, tangents: Any) -> Any:
    value = root(*primals)
    return value, tangents[0] / value


def _tensor(array: Any) -> Any:
    return dynamic.tensor(array, requires_grad=True)


def _eager(function: Callable[..., Any], *arrays: Any) -> list[Any]:
    tensors = list(map(_tensor, arrays))
    function(*tensors).sum().backward()
    return [one.grad.numpy() for one in tensors]


def test_gradients_are_the_rules() -> None:
    slopes = 3 * np.exp(X) * Y, np.exp(X)
    total = sg.grad(lambda x, y: sg.sum(grown(x, y)), (0, 1))
    np.testing.assert_allclose(grown(X, Y), np.exp(X) * Y, 1e-15)
    for found in (total(X, Y), _eager(grown, X, Y), _eager(sg.function(grown), X, Y)):
        np.testing.assert_allclose(found[0], slopes[0], 1e-14)
        np.testing.assert_allclose(found[1], slopes[1], 1e-14)
    np.testing.assert_allclose(sg.grad(lambda x: sg.sum(root(x)))(X), 1 / np.sqrt(X), 1e-15)
    np.testing.assert_allclose(_eager(root, X)[0], 1 / np.sqrt(X), 1e-15)
    np.testing.assert_allclose(_eager(sg.function(root), X)[0], 1 / np.sqrt(X), 1e-15)


def test_derivatives_of_the_rules() -> None:
    second = 3 * np.exp(X) * Y
    found = sg.hessian(lambda x: sg.sum(grown(x, Y)))(X)
    np.testing.assert_allclose(found, np.diag(second), 1e-14)
    x = _tensor(X)
    (first,) = dynamic.autograd.grad(grown(x, dynamic.tensor(Y)).sum(), x, create_graph=True)
    np.testing.assert_allclose(dynamic.autograd.grad(first.sum(), x)[0].numpy(), second, 1e-14)
    # of t / value, where the derivative of the value is 1 / value
    curve = -(X**-1.5)
    np.testing.assert_allclose(sg.vmap(sg.grad(sg.grad(root)))(X), curve, 1e-14)
    eager = dynamic.func.hessian(lambda one: root(one).sum())(x.detach())
    np.testing.assert_allclose(eager.numpy(), np.diag(curve), 1e-14)


def test_forward_mode() -> None:
    moved = sg.jvp(grown, (X, Y), (np.ones(2), np.zeros(2)))[1]
    np.testing.assert_allclose(moved, 3 * np.exp(X) * Y, 1e-14)
    np.testing.assert_allclose(sg.jvp(root, (X,), (X,))[1], np.sqrt(X), 1e-15)
    x = dynamic.tensor(X)
    np.testing.assert_allclose(dynamic.func.jvp(root, (x,), (x,))[1].numpy(), np.sqrt(X), 1e-15)


def test_batches_and_what_all_examples_share() -> None:
    by_x = sg.grad(lambda x: sg.sum(sg.vmap(grown)(x, Y)))(X)
    np.testing.assert_allclose(by_x, 3 * np.exp(X) * Y, 1e-14)
    shared = sg.grad(lambda y: sg.sum(sg.vmap(lambda x: grown(x, y))(X)))(2.0)
    np.testing.assert_allclose(shared, np.exp(X).sum(), 1e-14)
    shared = sg.grad(lambda x: sg.sum(sg.vmap(lambda y: grown(x, y))(Y)))(1.0)
    np.testing.assert_allclose(shared, 3 * np.exp(1) * Y.sum(), 1e-14)
    each = sg.vmap(sg.grad(grown), in_axes=(0, None))(X, 2.0)
    np.testing.assert_allclose(each, 6 * np.exp(X), 1e-14)
    eager = dynamic.func.vmap(dynamic.func.grad(lambda x: grown(x, 2.0)))(dynamic.tensor(X))
    np.testing.assert_allclose(eager.numpy(), each, 1e-14)


def test_in_loops_and_branches() -> None:
    def looped(x: Any) -> Any:
        return sg.scan(lambda carry, _: (grown(carry, 0.1), carry), x, None, 2)[0]

    first = np.exp(X) * 0.1
    expected = 9 * np.exp(first) * 0.1 * first
    np.testing.assert_allclose(sg.grad(lambda x: sg.sum(looped(x)))(X), expected, 1e-14)
    np.testing.assert_allclose(_eager(looped, X)[0], expected, 1e-14)
    np.testing.assert_allclose(_eager(sg.function(looped), X)[0], expected, 1e-14)

    def branched(x: Any) -> Any:
        return sg.cond(sg.sum(x) > 0, root, lambda one: one, x)

    np.testing.assert_allclose(sg.grad(lambda x: sg.sum(branched(x)))(X), 1 / np.sqrt(X), 1e-15)


def test_trees_and_arguments_that_are_no_arrays(tmp_path: Path) -> None:
    @sg.custom_vjp
    def both(point: Any) -> Any:
        return {"product": point["x"] * point["y"], "sum": point["x"] + point["y"], "count": 3}

    def back(point: Any, g: Any) -> Any:
        by_x = g["product"] * point["y"] + g["sum"]
        return ({"x": by_x, "y": g["product"] * point["x"] + 10 * g["sum"]},)

    both.defvjp(lambda point: (both.function(point), point), back)

    def total(x: Any, y: Any) -> Any:
        found = both({"x": x, "y": y})
        return sg.sum(found["product"] * found["sum"]) * found["count"]

    slopes = sg.grad(total, (0, 1))(X, Y)
    expected = 3 * (Y * (X + Y) + X * Y), 3 * (X * (X + Y) + 10 * X * Y)
    for one, other, wanted in zip(slopes, _eager(total, X, Y), expected, strict=True):
        np.testing.assert_allclose(one, wanted, 1e-14)
        np.testing.assert_allclose(other, wanted, 1e-14)

    @sg.custom_vjp(nondiff_argnums=(0,))
    def applied(f: Any, x: Any) -> Any:
        return f(x)

    applied.defvjp(lambda f, x: (f(x), None), lambda f, res, g: (sg.clip(g, -1.0, 1.0),))
    assert sg.grad(lambda x: 5 * applied(sg.sin, x))(2.0) == 1
    assert _eager(lambda x: 5 * applied(sg.sin, x), X)[0].tolist() == [1, 1]
    x = sg.placeholder("x", (None,), "float64")
    executable = sg.compile([x], sg.grad(sg.sum(root(x)), x))
    sg.save(executable, tmp_path / "root.sg")
    np.testing.assert_array_equal(sg.load(tmp_path / "root.sg")(X), executable(X))


def test_what_does_not_fit_is_refused() -> None:
    x = sg.placeholder("x", (2,), "float64")
    with pytest.raises(OptionError, match="custom_vjp: 3 is no function"):
        sg.custom_vjp(3)
    with pytest.raises(OptionError, match=r"nondiff_argnums=\(1,\) of 1"):
        sg.custom_vjp(lambda one: one, nondiff_argnums=(1,))
    for made in (sg.custom_vjp(lambda one: one), sg.custom_jvp(lambda one: one)):
        with pytest.raises(GraphError, match=r"with defvjp before|with defjvp before"):
            made(x)
        with pytest.raises(OptionError, match="arguments by position alone"):
            type(made)(lambda *, one: one)(one=x)

    def refused(fwd: Any, bwd: Any, error: type[Exception], message: str) -> None:
        made = sg.custom_vjp(lambda one, other: one * other)
        made.defvjp(fwd, bwd)
        for given in (x, _tensor(X)):
            with pytest.raises(error, match=message):
                value = sg.sum(made(given, 2.0))
                sg.grad(value, given) if given is x else value.backward()

    refused(lambda a, b: a, None, OutputError, r"fwd returns a pair, \(value, residuals\)")
    good = lambda a, b: (a * b, None)  # noqa: E731
    refused(good, lambda res, g: g, OutputError, "bwd returns a tuple of 2 cotangents")
    refused(
        good, lambda res, g: ((g, g), None), OutputError, r"bwd gives \(\*, \*\) for argument 0"
    )
    refused(
        good, lambda res, g: (sg.reshape(g, (2, 1)), None), ShapeError, r"has the shape \[2, 1\]"
    )

    def refused_forward(rule: Any, message: str) -> None:
        made = sg.custom_jvp(lambda one: one)
        made.defjvp(rule)
        with pytest.raises(OutputError, match=message):
            sg.grad(sg.sum(made(x)), x)

    refused_forward(lambda p, t: p[0], r"jvp returns a pair, \(value, tangent\)")
    refused_forward(lambda p, t: (p[0], t), r"the value is \*, the tangent \(\*,\)")
