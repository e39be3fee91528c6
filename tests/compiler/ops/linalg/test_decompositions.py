"""Factors of matrices: gradients of symmetric ones, what does not fit, steps of several results."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import dynamic
import staticgraph as sg
from staticgraph.compiler import ops
from staticgraph.compiler.codegen.bytecode import HostCall
from staticgraph.compiler.core.errors import GraphError, LinAlgError, OptionError, ShapeError
from staticgraph.compiler.inspect.interpret import interpret
from tests.combinations import some
from tests.trace import difference_quotient

RNG = np.random.default_rng(0)
A = RNG.normal(size=(2, 3, 3)) + 3 * np.eye(3)
TALL = RNG.normal(size=(2, 4, 3)) + np.eye(4, 3) * 3


def symmetric(a: Any) -> Any:
    return a + sg.swapaxes(a, -1, -2) + np.diag([0.0, 2.0, 5.0])


GAUGELESS: dict[str, Callable[[Any], Any]] = {
    "eigh": lambda a: (ops.eigh(symmetric(a))[1] ** 2) * ops.eigh(symmetric(a))[0][..., None, :],
    "eigh of the upper triangle": lambda a: ops.eigh(symmetric(a), "U").eigenvectors ** 2,
    "eigvalsh": lambda a: ops.eigvalsh(symmetric(a)) ** 2,
    "svd": lambda a: ops.svd(a).U ** 2 + ops.svd(a).Vh ** 2 * ops.svd(a).S[..., None, :],
    "tall svd": lambda a: ops.svd(a[..., :2], False).U ** 2,
    "wide svd": lambda a: ops.svd(a[..., :2, :], False).Vh ** 2,
    "svdvals": lambda a: ops.svdvals(a) ** 2,
    "qr": lambda a: ops.qr(a[..., :2]).Q ** 2 + (ops.qr(a[..., :2]).R ** 2).sum(-1)[..., None, :],
    "wide qr": lambda a: ops.qr(a[..., :2, :]).R ** 2,
    "Q alone": lambda a: ops.qr(a).Q ** 2,
    "R alone": lambda a: ops.qr(a, "r") ** 2,
}
ONLY_REVERSE = {"values of a full svd": lambda a: ops.svd(a[..., :2]).S ** 2}


@pytest.mark.slow
@pytest.mark.parametrize("name", some(GAUGELESS | ONLY_REVERSE, 6))
@pytest.mark.parametrize("order", some([2, 1], 1))
def test_derivatives_are_difference_quotients(name: str, order: int) -> None:
    a = sg.placeholder("a", (2, 3, 3), "float64")
    found = (GAUGELESS | ONLY_REVERSE)[name](a)
    total = sg.sum(found * np.linspace(0.5, 1.5, int(np.prod(found.shape))).reshape(found.shape))
    if order == 2:
        total = sg.sum(sg.grad(total, a) * np.linspace(0.5, 1.5, A.size).reshape(A.shape)[::-1])
    slope = sg.compile([a], sg.grad(total, a))(A)

    def value(point: Any) -> float:
        return float(interpret([total], {a: point})[0])

    assert_allclose(slope, difference_quotient(value, A), rtol=3e-6, atol=1e-7)


@pytest.mark.slow
@pytest.mark.parametrize("name", some(GAUGELESS, 2))
def test_eager_derivatives_of_both_modes_are_the_compiled_ones(name: str) -> None:
    def total(a: Any) -> Any:
        return (GAUGELESS[name](a) ** 2).sum()

    expected = sg.grad(total)(A)
    x = dynamic.tensor(A, requires_grad=True)
    (found,) = dynamic.autograd.grad(total(x), x, create_graph=True)
    assert_allclose(found.detach().numpy(), expected, rtol=1e-8, atol=1e-9)
    # compiled, those of second order are compared with quotients above
    second = sg.function(sg.grad(lambda a: (sg.grad(total)(a) ** 2).sum()), debug=True)(A)
    (again,) = dynamic.autograd.grad((found**2).sum(), x)
    assert_allclose(again.numpy(), second, rtol=1e-6, atol=1e-6)
    direction = RNG.normal(size=A.shape)
    _, slope = dynamic.func.jvp(total, (dynamic.tensor(A),), (dynamic.tensor(direction),))
    assert_allclose(slope.item(), (expected * direction).sum(), rtol=1e-8)
    batch = dynamic.func.vmap(GAUGELESS[name])(dynamic.tensor(A[:, None]))
    assert_allclose(batch.numpy()[:, 0], GAUGELESS[name](A), rtol=1e-9, atol=1e-12)
    assert_allclose(sg.vmap(GAUGELESS[name])(A[:, None])[:, 0], GAUGELESS[name](A), atol=1e-12)
    captured = sg.function(total)(dynamic.tensor(A))
    assert_allclose(captured.item(), total(A), rtol=1e-10)


def test_equal_values_have_one_derivative() -> None:
    for function in (ops.eigvalsh, ops.svdvals, lambda a: ops.eigh(a)[0], lambda a: ops.svd(a)[1]):
        found = sg.grad(lambda a, f=function: (f(a) * np.array([2.0, 2.0, 2.0])).sum())(np.eye(3))
        assert_allclose(found, 2 * np.eye(3), atol=1e-12)


REFUSED = [
    (lambda a: ops.eigh(a[..., :2]), ShapeError, r"eigh: .* is not of square matrices: \(3, 2\)"),
    (lambda a: ops.eigvalsh(a, "X"), OptionError, "eigvalsh: UPLO is 'L' or 'U', not 'X'"),
    (lambda a: ops.svd(a[0, 0]), ShapeError, "svd: .* has no two axes that make matrices"),
    (lambda a: ops.qr(a, "full"), OptionError, "qr: mode is 'reduced', 'complete' or 'r', not 'fu"),
    (lambda a: ops.matrix_norm(a, "big"), OptionError, "matrix_norm: ord is .* not 'big'"),
    (lambda a: ops.matrix_norm(a, axis=(0, -3)), ShapeError, r"matrix_norm: \(0, -3\) are not two"),
    (lambda a: ops.matrix_power(a[..., :2], 2), ShapeError, "matrix_power: .* is not of square"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "error", "text"), REFUSED)
def test_what_does_not_fit_is_refused(call: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        call(sg.placeholder("a", (2, 3, 3), "float64"))


def test_what_has_no_derivative_says_so() -> None:
    a = sg.placeholder("a", (4, 3), "float64")
    for value, text in (
        (ops.svd(a).U, "use full_matrices=False"),
        (ops.qr(a, "complete").Q, "not differentiable when mode='complete' and nrows > ncols"),
    ):
        with pytest.raises(GraphError, match=text):
            sg.grad(sg.sum(value), a)
    b = sg.placeholder("b", (None, None), "float64")
    found = sg.compile([b], [*ops.qr(b), *ops.svd(b), *ops.qr(b, "complete")])
    for given in (TALL[0], TALL[0].T, A[0]):
        expected = [*np.linalg.qr(given), *np.linalg.svd(given), *np.linalg.qr(given, "complete")]
        for one, other in zip(found(given), expected, strict=True):
            assert_array_equal(one, other)


@pytest.mark.slow
def test_one_gradient_serves_tall_and_wide_matrices() -> None:
    b = sg.placeholder("b", (None, None), "float64")
    loss = sg.sum(ops.qr(b).R ** 4) + sg.sum(ops.qr(b).Q ** 4)
    compiled = sg.compile([b], sg.grad(loss, b))
    for given in (TALL[0], TALL[0].T, A[0]):
        x = dynamic.tensor(np.array(given), requires_grad=True)
        q, r = dynamic.linalg.qr(x)
        ((r**4).sum() + (q**4).sum()).backward()
        assert_allclose(compiled(given), x.grad.numpy(), rtol=1e-9, atol=1e-10)


def test_what_lapack_refuses_is_an_error_of_the_op() -> None:
    a = sg.placeholder("a", (None, 2, 2), "float64")
    bad = np.stack([np.eye(2), np.full((2, 2), np.nan)])
    step = sg.compile([a], ops.svd(a).S)
    with pytest.raises(LinAlgError, match=r"svd: matrix \[1\] of float64\[2, 2, 2\] does not conv"):
        step(bad)
    with pytest.raises(LinAlgError, match="svd: matrix"):
        ops.svd(bad)


@pytest.mark.parametrize("backend", ["llvm", "numba"])
@pytest.mark.parametrize("fuse", [True, False])
def test_results_that_nothing_reads_are_not_kept(backend: str, fuse: bool) -> None:
    a = sg.placeholder("a", (None, 3), "float64")
    options: Any = {"fuse": fuse, **({"backend": backend} if backend == "numba" else {})}
    f = sg.compile([a], ops.svd(a, full_matrices=False).S * 2, **options)
    (call,) = [one for one in f.kernel.program if isinstance(one, HostCall)]
    assert [one is None for one in call.results] == [True, False, True]
    assert_allclose(f(TALL[0]), 2 * np.linalg.svd(TALL[0])[1])
    for again in (copy.deepcopy(f), pickle.loads(pickle.dumps(f))):
        assert_allclose(again(TALL[1]), 2 * np.linalg.svd(TALL[1])[1])


def test_steps_of_several_results_run_in_loops_and_come_back_from_files(tmp_path: Any) -> None:
    def step(c: Any, x: Any) -> Any:
        values, vectors = ops.eigh(x + x.T + c)
        return vectors @ sg.swapaxes(vectors, -1, -2) * 0.5, values

    xs = sg.placeholder("xs", (None, 3, 3), "float64")
    last, ys = sg.scan(step, np.zeros((3, 3)), xs)
    f = sg.compile([xs], [last, ys, sg.grad(sg.sum(ys**2), xs)])
    f.save(tmp_path / "f.sg")
    for g in (f, sg.load(tmp_path / "f.sg")):
        for given in (A, A[:0], A[:1]):
            expected = [np.linalg.eigvalsh(x + x.T + np.eye(3) * 0.5 * (i > 0))
                        for i, x in enumerate(given)]  # fmt: skip
            assert_allclose(g(given)[1], np.reshape(expected, (-1, 3)), atol=1e-12)
            assert np.isfinite(g(given)[2]).all()


def test_what_is_the_same_in_each_step_is_not_computed_if_there_is_no_step() -> None:
    a = sg.placeholder("a", (2, 2), "float64")
    xs = sg.placeholder("xs", (None, 2), "float64")
    _, ys = sg.scan(lambda c, x: (c, ops.svd(a).S * x), sg.constant(np.zeros(2)), xs)
    f = sg.compile([a, xs], ys)
    bad = np.full((2, 2), np.nan)
    assert f(bad, np.zeros((0, 2))).shape == (0, 2)
    with pytest.raises(LinAlgError):
        f(bad, np.zeros((1, 2)))


def test_the_results_are_those_of_one_node_of_the_tape() -> None:
    x = dynamic.tensor(A[0], requires_grad=True)
    found = dynamic.linalg.svd(x, full_matrices=False)
    assert [one.grad_fn.name() for one in found] == ["LinalgSvdBackward0"] * 3
    assert [one.output_nr for one in found] == [0, 1, 2]
    assert found.U.grad_fn is found.S.grad_fn
    found.S.sum().backward()
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        found.S.sum().backward()
    values, vectors = dynamic.linalg.eigh(x @ x.T)
    vectors.detach().mul_(2.0)
    with pytest.raises(RuntimeError, match=r"modified by an inplace operation.*LinalgEigh"):
        values.sum().backward()


def test_least_squares_have_numpys_names_and_values() -> None:
    a, b = TALL[0], RNG.normal(size=(4, 2))
    found = sg.function(sg.linalg.lstsq)(a, b)
    x, residuals, rank, s = np.linalg.lstsq(a, b)
    for name, expected in (("x", x), ("residuals", residuals), ("rank", rank), ("s", s)):
        assert_allclose(getattr(found, name), expected, rtol=1e-10, atol=1e-12)


def test_matrices_that_are_not_finite_have_no_singular_values() -> None:
    # of some of these LAPACK looks for singular values without an end
    a = np.array([[-np.inf, 0, 0], [0, 0, 0], [0, -np.inf, 0]])
    leaf = sg.placeholder("a", (None, 3, 3), "float64")
    for function in (ops.svd, ops.svdvals, ops.pinv):
        with pytest.raises(np.linalg.LinAlgError, match=r"the matrix float64\[3, 3\]"):
            function(a)
        with pytest.raises(np.linalg.LinAlgError, match=r"matrix \[1\] of float64\[2, 3, 3\]"):
            sg.compile([leaf], function(leaf))(np.stack([np.eye(3), a]))
