"""Linear algebra: gradients of symmetric matrices, singular ones, and what does not fit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import dynamic
import staticgraph as sg
from staticgraph.compiler.graph.expression import Expression
from staticgraph.compiler.inspect.interpret import interpret
from tests.combinations import some
from tests.trace import difference_quotient

RNG = np.random.default_rng(0)
A = RNG.normal(size=(2, 3, 3)) + 3 * np.eye(3)
SINGULAR = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]])
SINGULAR[2] = SINGULAR[0] + SINGULAR[1]


def placeholder(shape: Any) -> Expression:
    return sg.placeholder("a", tuple(shape), "float64")


def definite(a: Any) -> Any:
    return a @ sg.swapaxes(a, -1, -2) + np.eye(3)


@pytest.mark.slow
@pytest.mark.parametrize(
    "function",
    [
        lambda a: sg.linalg.cholesky(definite(a)),
        lambda a: sg.linalg.cholesky(definite(a), upper=True) * a,
        lambda a: sg.linalg.solve(definite(a), a),
        lambda a: sg.linalg.solve_triangular(a, definite(a)),
        lambda a: sg.linalg.solve_triangular(definite(a), a, upper=True),
    ],
    ids=["cholesky", "upper", "solve", "lower triangle", "upper triangle"],
)
@pytest.mark.parametrize("order", some([2, 1], 1))
def test_derivatives_are_difference_quotients(function: Callable[..., Any], order: int) -> None:
    a = placeholder(A.shape)
    weights = np.linspace(0.5, 1.5, A.size).reshape(A.shape)
    total = sg.sum(function(a) * weights)
    if order == 2:
        total = sg.sum(sg.grad(total, a) * weights[::-1])
    executable = sg.compile([a], sg.grad(total, a))

    def value(point: Any) -> float:
        return float(interpret([total], {a: point})[0])

    assert_allclose(executable(A), difference_quotient(value, A), rtol=3e-7, atol=1e-8)


@pytest.mark.parametrize("upper", [False, True])
def test_a_cholesky_factor_is_numpys(upper: bool) -> None:
    a = sg.placeholder("a", (None, None, None), "float32")
    given = (A @ A.swapaxes(-1, -2)).astype("float32")
    found = sg.compile([a], sg.linalg.cholesky(a, upper=upper))(given)
    assert found.dtype == np.float32
    expected = np.linalg.cholesky(given)
    assert_array_equal(found, expected.swapaxes(-1, -2) if upper else expected)


@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("shape", [(150, 3), (64, 1), (65, 0), (2, 130, 130)])
def test_triangles_of_several_blocks(shape: tuple[int, ...], upper: bool) -> None:
    rng = np.random.default_rng(1)
    n = shape[-2]
    a = rng.normal(size=(n, n)) / n + 2 * np.eye(n)
    b = rng.normal(size=shape)
    found = sg.linalg.solve_triangular(a, b, upper=upper)
    triangle = np.triu(a) if upper else np.tril(a)
    assert found.shape == shape
    assert_allclose(triangle @ found, b, rtol=0, atol=1e-13)
    a[n - 1, n - 1] = 0
    with pytest.raises(sg.LinAlgError, match=rf"solve_triangular: .*{n}\] is singular"):
        sg.linalg.solve_triangular(a, b, upper=upper)


def test_the_determinant_of_a_singular_matrix_has_a_gradient() -> None:
    a = placeholder((3, 3))
    found = sg.compile([a], sg.grad(sg.linalg.det(a), a))(SINGULAR)
    quotient = difference_quotient(lambda p: float(np.linalg.det(p)), SINGULAR)
    assert_allclose(found, quotient, rtol=1e-8, atol=1e-10)
    x = dynamic.tensor(SINGULAR, requires_grad=True)
    x.det().backward()
    assert_allclose(x.grad.numpy(), found, rtol=1e-12, atol=1e-12)


def test_slogdet_has_names() -> None:
    a = placeholder((None, 3, 3))
    found = sg.linalg.slogdet(a)
    sign, size = sg.compile([a], (found.sign, found.logabsdet))(A - 3)
    assert_array_equal(sign, np.linalg.slogdet(A - 3)[0])
    assert_array_equal(size, np.linalg.slogdet(A - 3)[1])


def test_integers_are_cast() -> None:
    a = sg.placeholder("a", (2, 2), "int64")
    found = sg.compile([a], [sg.linalg.inv(a), sg.linalg.solve(a, [1.0, 2.0])])
    given = np.array([[2, 0], [0, 4]])
    inverse, solution = found(given)
    assert_array_equal(inverse, [[0.5, 0], [0, 0.25]])
    assert_array_equal(solution, [0.5, 0.5])


SQUARES = ("inv", "det", "cholesky", "expm", "slogdet")


@pytest.mark.parametrize("name", [*SQUARES, "pinv"])
def test_what_does_not_fit(name: str) -> None:
    op = getattr(sg.linalg, name)
    with pytest.raises(sg.ShapeError, match=r"float64\[3\] has no two axes that make matrices"):
        op(placeholder((3,)))
    if name in SQUARES:
        with pytest.raises(sg.ShapeError, match=r"float64\[3, 2\] is not of square matrices"):
            op(placeholder((3, 2)))


def test_systems_that_do_not_fit() -> None:
    a = placeholder((3, 3))
    with pytest.raises(sg.ShapeError, match=r"solve: .*: 3 unknowns, 2 right-hand rows"):
        sg.linalg.solve(a, placeholder((2, 4)))
    with pytest.raises(sg.ShapeError, match=r"solve: .*leading axes"):
        sg.linalg.solve(placeholder((2, 3, 3)), placeholder((4, 3, 1)))
    with pytest.raises(sg.DTypeError, match="not floating point"):
        sg.linalg.inv.infer_type(sg.placeholder("b", (2, 2), "bool").type)


def test_sizes_of_a_call_are_checked_before_it_runs() -> None:
    a = placeholder((None, None))
    f = sg.compile([a], sg.linalg.inv(a))
    with pytest.raises(sg.ShapeError, match=r"inv: .* is not of square matrices"):
        f(np.ones((2, 3)))


@pytest.mark.parametrize(
    "name, given, text",
    [
        ("inv", np.zeros((3, 3)), r"inv: the matrix float64\[3, 3\] is singular"),
        ("inv", np.stack([A[0], SINGULAR * 0]), r"inv: matrix \[1\] of float64\[2, 3, 3\] is"),
        ("cholesky", -np.eye(2), r"cholesky: the matrix float64\[2, 2\] is not positive definite"),
        ("pinv", np.full((2, 2), np.nan), r"pinv: the matrix float64\[2, 2\] has no singular"),
    ],
)  # fmt: skip
def test_a_matrix_without_a_value_is_an_error(name: str, given: Any, text: str) -> None:
    op = getattr(sg.linalg, name)
    with pytest.raises(sg.LinAlgError, match=f"^{text}"):
        op(given)
    a = placeholder((None,) * given.ndim)
    with pytest.raises(sg.LinAlgError, match=rf"^{text}.*\({__file__}:\d+\)$"):
        sg.compile([a], op(a))(given)


def test_the_system_that_is_singular_is_named() -> None:
    a, b = np.stack([A[0], SINGULAR * 0]), np.ones((2, 3, 2))
    with pytest.raises(np.linalg.LinAlgError, match=r"solve: matrix \[1\] of float64\[2, 3, 3\]"):
        sg.linalg.solve(a, b)


def test_a_captured_function_of_tensors_solves() -> None:
    def function(a: Any, b: Any) -> Any:
        return (dynamic.linalg.solve(a, b) * dynamic.linalg.inv(a)).sum() + a.logdet().sum()

    leaves = [dynamic.tensor(one, requires_grad=True) for one in (A, A[::-1].copy())]
    function(*leaves).backward()
    expected = [one.grad.numpy() for one in leaves]
    for one in leaves:
        one.grad = None
    sg.function(function)(*leaves).backward()
    for one, grad in zip(leaves, expected, strict=True):
        assert_allclose(one.grad.numpy(), grad, rtol=1e-10)


def test_expressions_and_arrays_give_the_same() -> None:
    a = placeholder((2, 3, 3))
    assert isinstance(sg.linalg.det(a), Expression)
    assert_allclose(sg.linalg.det(A), np.linalg.det(A))
    assert_allclose(sg.linalg.solve(A, np.ones(3)), np.linalg.solve(A, np.ones(3)))


def test_a_constant_that_is_singular_is_an_error_of_the_call() -> None:
    x = sg.placeholder("x", (2, 2), "float64")
    singular = sg.constant(np.ones((2, 2)))
    compiled = sg.compile([x], sg.linalg.solve(singular, sg.constant(np.ones(2))) + x)
    with pytest.raises(sg.LinAlgError, match=r"solve: the matrix float64\[2, 2\] is singular.*py:"):
        compiled(np.eye(2))


@pytest.mark.parametrize("side", [4, 5, 10])
@pytest.mark.parametrize("order", ["matrix first", "vector first"])
def test_vectors_meet_each_matrix_of_a_stack_in_one_product(side: int, order: str) -> None:
    rng = np.random.default_rng(side)
    stack, vectors = rng.standard_normal((3, side, side)), rng.standard_normal((7, 3, side))
    turned = stack if order == "matrix first" else stack.swapaxes(1, 2)

    def energy(matrix: Any, vector: Any) -> Any:
        found = matrix @ vector if order == "matrix first" else vector @ matrix
        return (found * found).sum()

    mapped = sg.vmap(sg.vmap(energy), in_axes=(None, 0))
    made = np.einsum("kij,nkj->nki", stack, vectors)
    assert_allclose(mapped(turned, vectors), (made * made).sum(-1), rtol=1e-12)
    by_stack, by_vectors = sg.grad(lambda s, v: mapped(s, v).sum(), argnums=(0, 1))(turned, vectors)
    expected = 2 * np.einsum("nki,nkj->kij", made, vectors)
    if order == "vector first":
        expected = expected.swapaxes(1, 2)
    assert_allclose(by_stack, expected, rtol=1e-12)
    assert_allclose(by_vectors, 2 * np.einsum("kij,nki->nkj", stack, made), rtol=1e-12)
    s, v = sg.placeholder("s", stack.shape, "float64"), sg.placeholder("v", (None, 3, side))
    ops = {
        (node["op"].name, len(node["type"].shape), node["type"].shape[0])
        for _, node in sg.compile([s, v], mapped(s, sg.astype(v, "float64"))).graph.nodes(data=True)
    }
    assert (("matmul", 3, 3) in ops) == (side > 4)
