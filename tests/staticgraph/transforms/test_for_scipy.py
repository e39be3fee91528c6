"""Executables as SciPy's solvers call functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.optimize as so

import staticgraph as sg

X = sg.placeholder("x", (None,), "float64")
ROSEN = sg.compile([X], sg.sum(100 * (X[1:] - X[:-1] ** 2) ** 2 + (1 - X[:-1]) ** 2), name="rosen")
AT = np.array([1.3, 0.7, 0.8, 1.9, 1.2])


def fitted() -> tuple[Any, Any, Any, dict[str, Any]]:
    w, b = sg.variable(np.zeros(3, "float32"), name="w"), sg.variable(0.0, name="b")
    rows, y = sg.placeholder("rows", (None, 3)), sg.placeholder("y", (None,))
    residuals = sg.compile([rows, y], sg.tanh(rows @ w) + b - y, name="residuals")
    data = np.random.default_rng(0).normal(size=(40, 3)).astype("float32")
    return w, b, residuals, {"rows": data, "y": np.float32(np.tanh(data @ [1, -2, 0.5]) + 0.25)}


def test_a_number_has_scipys_derivatives() -> None:
    f = ROSEN.scipy(AT)
    assert f.fun(AT) == f(AT) == pytest.approx(so.rosen(AT), rel=1e-14)
    np.testing.assert_allclose(f.jac(AT), so.rosen_der(AT), rtol=1e-13)
    np.testing.assert_allclose(f.hess(AT), so.rosen_hess(AT), rtol=1e-12)
    v = np.arange(5.0)
    np.testing.assert_allclose(f.hessp(AT, v), so.rosen_hess_prod(AT, v), rtol=1e-12)
    np.testing.assert_allclose(f.operator(AT) @ v, so.rosen_hess_prod(AT, v), rtol=1e-12)


@pytest.mark.parametrize("method", ["L-BFGS-B", "trust-ncg", "SLSQP"])
def test_solvers_find_the_minimum(method: str) -> None:
    f = ROSEN.scipy(AT)
    more: dict[str, Any] = {"hessp": f.hessp} if method == "trust-ncg" else {}
    found = so.minimize(f.value_and_grad, f.x0, jac=True, method=method, tol=1e-10, **more)
    np.testing.assert_allclose(found.x, 1, atol=1e-5)


def test_what_solvers_change_is_not_what_was_kept() -> None:
    f = ROSEN.scipy(AT)
    x = AT.copy()
    before = f.value_and_grad(x)[1]
    before[:] = 0
    assert (f.jac(x) != 0).all()
    x += 1
    np.testing.assert_allclose(f.jac(x), so.rosen_der(AT + 1), rtol=1e-13)


def test_residuals_of_variables_are_fitted_and_assigned() -> None:
    w, b, residuals, data = fitted()
    f = residuals.scipy([w, b], **data)
    assert f.x0.tolist() == [0, 0, 0, 0]
    J, operator, v = f.jac(f.x0), f.operator(f.x0), np.arange(4.0)
    assert J.shape == (40, 4)
    assert J.dtype == np.float64
    np.testing.assert_allclose(J, so.approx_fprime(f.x0, f.fun, 1e-3), atol=2e-3)
    np.testing.assert_allclose(operator @ v, J @ v, rtol=1e-5)
    np.testing.assert_allclose(operator.rmatvec(np.ones(40)), J.sum(0), rtol=1e-4, atol=1e-5)
    for jac in (f.jac, f.operator):
        found = so.least_squares(f.fun, f.x0, jac=jac)
        np.testing.assert_allclose(found.x, [1, -2, 0.5, 0.25], atol=1e-4)
    assert w.value.tolist() == [0, 0, 0]
    f.assign(found.x)
    np.testing.assert_allclose(w.value, [1, -2, 0.5], atol=1e-4)
    np.testing.assert_allclose(f.unpack(found.x)[b], 0.25, atol=1e-4)


def test_several_inputs_lie_one_behind_another() -> None:
    a, b = sg.placeholder("a", (2, None), "float64"), sg.placeholder("b", ())
    run = sg.compile([b, a], sg.sum(a * a) * b)
    f = run.scipy({"a": [[1, 2, 3], [4, 5, 6]], "b": 2})
    assert f.x0.tolist() == [1, 2, 3, 4, 5, 6, 2]
    value, gradient = f.value_and_grad(f.x0)
    assert value == 182
    assert gradient.tolist() == [4, 8, 12, 16, 20, 24, 91]
    assert f.hessp(f.x0, np.eye(7)[6]).tolist() == [2, 4, 6, 8, 10, 12, 0]
    assert f.unpack(f.x0)["a"].shape == (2, 3)
    few = sg.compile([a, b], sg.sum(a, axis=1) * b).scipy({"a": np.ones((2, 3)), "b": 3.0})
    assert few.jac(few.x0).tolist() == [[3, 3, 3, 0, 0, 0, 3], [0, 0, 0, 3, 3, 3, 3]]


def refused() -> list[tuple[Callable[[], Any], type, str]]:
    w, b, residuals, data = fitted()
    f = residuals.scipy([w, b], **data)
    k = sg.placeholder("k", (2,), "int64")
    return [
        (lambda: residuals.scipy(np.ones(3)), sg.OptionError, "without a value are .'rows', 'y'"),
        (lambda: residuals.scipy([w], rows=data["rows"]), sg.FeedError, "'y': no value is given"),
        (lambda: residuals.scipy([w], z=1, **data), sg.FeedError, "'z': no input"),
        (lambda: residuals.scipy({"z": 1}, **data), sg.FeedError, "'z' is no input and no variab"),
        (lambda: residuals.scipy({w: np.ones(4)}, **data), sg.ShapeError, r"starts with \(4,\)"),
        (lambda: residuals.scipy({}, **data), sg.OptionError, "there are no parameters"),
        (lambda: f.pack({w: np.ones(3)}), sg.FeedError, "the parameters are .*, not"),
        (lambda: f.pack({w: np.ones(4), b: 0}), sg.ShapeError, r"has the shape \(4,\), not \(3,\)"),
        (lambda: f.fun(np.ones(3)), sg.ShapeError, "fun: a vector of 3 elements, where .* have 4"),
        (lambda: f.fun(f.x0 + 1j), sg.DTypeError, "fun: a vector of real numbers, not complex"),
        (lambda: f.value_and_grad(f.x0), sg.OutputError, "no number: it has a Jacobian"),
        (lambda: sg.compile([X], [X, X]).scipy(AT), sg.OutputError, "2 outputs, where it takes"),
        (lambda: sg.compile([k], k[0]).scipy(AT), sg.OutputError, "the output is int64"),
        (lambda: sg.compile([k], k[0] * 1.5).scipy(AT), sg.OptionError, "'k' is of int64, not of"),
        (lambda: sg.compile([], w[0], updates={w: w + 1}).scipy(w), sg.OptionError, "it updates"),
    ]


def test_what_does_not_fit_is_refused() -> None:
    for call, error, text in refused():
        with pytest.raises(error, match=text):
            call()


def test_an_operator_needs_scipy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "scipy.sparse.linalg", None)
    with pytest.raises(ImportError, match="operator needs SciPy"):
        ROSEN.scipy(AT).operator(AT)
