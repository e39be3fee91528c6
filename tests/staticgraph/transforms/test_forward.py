"""Forward mode against reverse mode, and derivatives by hand; what is not connected."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dynamic
import staticgraph as sg
from staticgraph.compiler.core.errors import GraphError, OptionError, OutputError

X, Y = np.arange(1.0, 4.0), np.arange(2.0, 5.0)


def _both(x: Any, y: Any) -> Any:
    return {"vector": sg.tanh(x) * y.sum() + x[::-1], "scalar": (x * x).sum()}


@pytest.mark.slow
def test_jacobians_by_columns_are_those_by_rows() -> None:
    columns, rows = (made(_both, argnums=(0, 1))(X, Y) for made in (sg.jacfwd, sg.jacobian))
    for name in ("vector", "scalar"):
        for one, other in zip(columns[name], rows[name], strict=True):
            assert one.shape == other.shape
            np.testing.assert_allclose(one, other, 1e-13)
    matrix = np.arange(4.0).reshape(2, 2)
    found = sg.jacfwd(lambda a: (a @ a, a), has_aux=True)(matrix)
    np.testing.assert_allclose(found[0], sg.jacobian(lambda a: a @ a)(matrix), 1e-14)
    np.testing.assert_array_equal(found[1], matrix)
    with pytest.raises(OutputError, match="only floating point has a gradient"):
        sg.jacfwd(lambda x: x > 0)(X)


def test_jacobians_of_loops_without_a_bound() -> None:
    def grown(x: Any) -> Any:
        return sg.while_loop(lambda c: sg.sum(c) < 100, lambda c: c * c + c[::-1], x)

    found = sg.jacfwd(grown)(np.array([1.0, 2.0]))
    quotients = [
        (grown(np.array([1.0, 2.0]) + step) - grown(np.array([1.0, 2.0]) - step)) / 2e-6
        for step in np.eye(2) * 1e-6
    ]
    np.testing.assert_allclose(found, np.transpose(quotients), 1e-6)


def test_products_with_hessians() -> None:
    by_x, by_y = sg.hvp(lambda x, y: sg.sum(x**3 * y), (X, Y), (X, np.zeros(3)))
    np.testing.assert_allclose(by_x, 6 * X * X * Y, 1e-14)
    np.testing.assert_allclose(by_y, 3 * X**3, 1e-14)
    p = sg.placeholder("p", (None,), "float64")
    (product,) = sg.hvp(lambda x: sg.sum(x**3), (p,), (p,))
    np.testing.assert_allclose(sg.compile([p], product)(X), 6 * X * X, 1e-14)
    with pytest.raises(OutputError, match="no scalar"):
        sg.hvp(lambda x: x, (X,), (X,))
    for given in (X, np.float64(2.0)):
        with pytest.raises(sg.OptionError, match=r"^hvp: the primals are a tuple or a list, not"):
            sg.hvp(sg.sum, given, given)


def test_linear_maps() -> None:
    value, moved = sg.linearize(lambda x, y: x * y, X, Y)
    np.testing.assert_allclose(value, X * Y)
    np.testing.assert_allclose(moved(Y, X), Y * Y + X * X)
    np.testing.assert_allclose(moved(X, np.zeros(3)), X * Y)


def test_gradients_by_what_has_no_part() -> None:
    p, q = sg.placeholder("p", (), "float64"), sg.placeholder("q", (2,), "float64")
    with pytest.raises(GraphError, match="does not depend on <placeholder 'q'"):
        sg.grad(p * 2, q)
    found = sg.grad(p * 2, [p, q], on_disconnected="zero")
    assert [one.tolist() for one in sg.compile([], found)()] == [2, [0, 0]]
    assert sg.grad(lambda x, y: x * 2, 1)(1.0, 3.0) == 0
    with pytest.raises(GraphError, match=r"grad: .* does not depend on"):
        sg.grad(lambda x, y: x * 2, 1, on_disconnected="error")(1.0, 3.0)
    for refused in (
        lambda: sg.grad(p * 2, p, on_disconnected="none"),
        lambda: sg.grad(lambda x: x, on_disconnected="none"),
    ):
        with pytest.raises(OptionError, match="on_disconnected is 'error' or 'zero', not 'none'"):
            refused()


def test_a_tangent_of_ones_like_an_eager_tensor() -> None:
    # a tangent was an expression beside an eager primal, and jvp of jvp was refused
    x = dynamic.tensor(np.array([0.5, 1.0]))
    weight = dynamic.tensor(np.array([2.0, 3.0]), requires_grad=True)

    def slope(x: Any) -> Any:
        return sg.jvp(lambda x: sg.sin(x) * weight, (x,), (sg.ones_like(x),))[1]

    curve = sg.jvp(slope, (x,), (sg.ones_like(x),))[1]
    curve.sum().backward()
    np.testing.assert_allclose(weight.grad.numpy(), -np.sin([0.5, 1.0]), rtol=1e-15)
    empty, none = sg.zeros_like(dynamic.zeros(2, 0)), sg.full_like(x, np.nan, "float32", (1, 2))
    assert (tuple(empty.shape), tuple(none.shape), none.dtype) == ((2, 0), (1, 2), dynamic.float32)
