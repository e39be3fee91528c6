"""Linear systems, inverses and determinants of matrices, by the LAPACK that NumPy ships.

Matrices are the last two axes of an operand; the axes before count them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from staticgraph.compiler.core.dims import Dim
from staticgraph.compiler.core.dtypes import limits, part_dtype
from staticgraph.compiler.core.errors import LinAlgError, OptionError, ShapeError
from staticgraph.compiler.core.lowering import Host
from staticgraph.compiler.core.op import Attrs, Meaning, Op, Rule, register
from staticgraph.compiler.core.types import (
    TensorType,
    broadcast_shapes,
    require_float,
    require_same_dtype,
    type_of,
    unify,
)
from staticgraph.compiler.core.values import Value
from staticgraph.compiler.ops.batching import aligned, unchanged
from staticgraph.compiler.ops.declare import as_operand, unbroadcast
from staticgraph.compiler.ops.elementwise.arithmetic import astype, negative
from staticgraph.compiler.ops.elementwise.comparison import equal, greater_equal, less_equal, where
from staticgraph.compiler.ops.elementwise.complex_numbers import conjugate, real_part
from staticgraph.compiler.ops.linalg.products import matmul
from staticgraph.compiler.ops.reductions.reduction import positions, sum
from staticgraph.compiler.ops.shapes.shape import expand_dims, squeeze, swapaxes
from staticgraph.compiler.reference.cholesky import cholesky as cholesky_by_blocks, factor_into
from staticgraph.compiler.reference.factored import solve as solved
from staticgraph.compiler.reference.triangular import (
    solve_into,
    solve_triangular as solved_triangular,
)

__all__ = ["cholesky", "det", "inv", "pinv", "slogdet", "solve", "solve_triangular"]


def require_matrices(name: str, *types: TensorType) -> None:
    """ShapeError or DTypeError unless each type is of floating matrices."""
    require_float(name, *types)
    for type in types:
        if type.ndim < 2:
            raise ShapeError(f"{name}: {type} has no two axes that make matrices")


def require_square(name: str, type: TensorType) -> None:
    """ShapeError or DTypeError unless a type is of square floating matrices."""
    require_matrices(name, type)
    if unify(*type.shape[-2:]) is None:
        raise ShapeError(f"{name}: {type} is not of square matrices: {type.shape[-2:]}")


def matrix_op(
    name: str,
    function: Callable[..., object],
    result: Callable[..., TensorType],
    *,
    check: Callable[[str, TensorType], None] = require_square,
    vjp: tuple[Rule | None, ...],
    saves: tuple[str, ...] = (),
    smooth: bool = True,
    complex: Meaning = "own",
    complex_vjp: tuple[Rule | None, ...] = (),
    into: Callable[..., bool] | None = None,
    doc: str,
    example: str = "",
) -> Op:
    """Declare an op of the matrices of one operand, which a host step computes."""

    def infer_type(a: TensorType, **attrs: object) -> TensorType:
        check(name, a)
        return result(a, **attrs)

    return register(
        Op(
            name=name,
            infer_type=infer_type,
            evaluate=function,
            vjp=vjp,
            saves=saves,
            checked=True,
            batching=unchanged,
            smooth=smooth,
            lowering=Host(into),
            floating=True,
            complex=complex,
            complex_vjp=complex_vjp,
            doc=doc,
            example=example,
        )
    )


def transposed(a: Value) -> Value:
    """Matrices with their two axes exchanged."""
    return swapaxes(a, -1, -2)


def adjoint(a: Value) -> Value:
    """Matrices transposed and, if they are complex, conjugated."""
    return transposed(conjugate(a) if np.dtype(a.dtype).kind == "c" else a)


def _as_matrices(g: Any) -> Any:
    """One number per matrix, to be multiplied with the matrices."""
    return expand_dims(g, (g.ndim, g.ndim + 1))


def computed_or_failing(
    name: str, function: Callable[..., object], what: str, *arrays: object
) -> Any:
    """What `function` makes of the arrays; LinAlgError if a matrix of the first has none."""
    try:
        return function(*arrays)
    except np.linalg.LinAlgError:
        raise LinAlgError(f"{name}: {_first_failing(function, *arrays)} {what}") from None


def finite(a: Any) -> Any:
    """The matrices; LinAlgError if one has inf or nan, for which LAPACK may look for singular
    values without an end.
    """
    if not np.isfinite(a).all():
        raise np.linalg.LinAlgError
    return a


def _first_failing(function: Callable[..., object], a: Any, *others: object) -> str:
    """The first matrix for which a function fails."""
    whole = str(type_of(a))
    if a.ndim == 2:
        return f"the matrix {whole}"
    for place in np.ndindex(a.shape[:-2]):
        try:
            function(a[place], *(np.eye(a.shape[-1], dtype=a.dtype) for _ in others))
        except np.linalg.LinAlgError:
            return f"matrix {list(place)} of {whole}"
    return f"a matrix of {whole}"


inv: Op = matrix_op(
    "inv", lambda a: computed_or_failing("inv", np.linalg.inv, "is singular", a), lambda a: a,
    vjp=(lambda g, o, a: negative(matmul(matmul(transposed(o), g), transposed(o))),),
    saves=("o",), complex="holomorphic",
    doc="The inverses of square matrices: (..., n, n). LinAlgError for a singular one.",
    example=">>> sg.linalg.inv(np.array([[1.0, 1.0], [0.0, 2.0]]))\n"
    "array([[ 1. , -0.5],\n"
    "       [ 0. ,  0.5]])",
)  # fmt: skip


def _system_type(name: str) -> Callable[..., TensorType]:
    """The type rule of an op that solves A X = B."""

    def infer_type(a: TensorType, b: TensorType, **attrs: object) -> TensorType:
        require_square(name, a)
        require_matrices(name, b)
        dtype = require_same_dtype(name, a, b)
        if unify(a.shape[-1], b.shape[-2]) is None:
            raise ShapeError(
                f"{name}: {a} and {b}: {a.shape[-1]} unknowns, {b.shape[-2]} right-hand rows"
            )
        batch = broadcast_shapes(
            f"{name}: {a} and {b}: leading axes",
            TensorType(a.shape[:-2], dtype),
            TensorType(b.shape[:-2], dtype),
        )
        return TensorType(batch + b.shape[-2:], dtype)

    return infer_type


def _solve_by_a(g: object, o: object, a: object, b: object) -> Any:
    slope = solve_matrices(transposed(a), g)
    return unbroadcast(negative(matmul(slope, transposed(o))), a)


solve_matrices: Op = register(
    Op(
        name="solve",
        infer_type=_system_type("solve"),
        evaluate=lambda a, b: computed_or_failing("solve", solved, "is singular", a, b),
        vjp=(
            _solve_by_a,
            lambda g, o, a, b: unbroadcast(solve_matrices(transposed(a), g), b),
        ),
        saves=("ao", "a"),
        checked=True,
        lowering=Host(),
        promotes=slice(None),
        floating=True,
        batching=aligned,
        complex="holomorphic",
        doc="X with A X = B: (..., n, n), (..., n, k) -> (..., n, k).",
    )
)


def solve(a: object, b: Any) -> Any:
    """The x with a x = b: (..., n, n) and (..., n, k) or (n,); leading axes broadcast.

    Raises:
        LinAlgError: a matrix is singular.

    Example:
        >>> sg.linalg.solve(np.array([[2.0, 0.0], [0.0, 4.0]]), np.array([2.0, 8.0]))
        array([1., 2.])
    """
    a, b = as_operand(a), as_operand(b)
    if b.ndim != 1:
        return solve_matrices(a, b)
    found = solve_matrices(a, expand_dims(b, 1))
    return squeeze(found, found.ndim - 1)


def _solve_triangular_by_a(g: Any, o: object, a: Any, b: object, *, upper: bool) -> Any:
    slope = solve_triangular(transposed(a), g, upper=not upper)
    whole = negative(matmul(slope, transposed(o)))
    read = less_equal if upper else greater_equal
    places = positions(a, a.ndim - 2), positions(a, a.ndim - 1)
    return unbroadcast(where(read(*places), whole, 0), a)


def _solve_triangular_by_b(g: object, o: object, a: object, b: object, *, upper: bool) -> Any:
    return unbroadcast(solve_triangular(transposed(a), g, upper=not upper), b)


def _solve_triangular_bind(a: object, b: object, *, upper: bool = False) -> tuple[Any, Attrs]:
    return (as_operand(a), as_operand(b)), {"upper": upper}


solve_triangular: Op = register(
    Op(
        name="solve_triangular",
        infer_type=_system_type("solve_triangular"),
        evaluate=lambda a, b, *, upper: computed_or_failing(
            "solve_triangular", partial(solved_triangular, upper=upper), "is singular", a, b
        ),
        vjp=(_solve_triangular_by_a, _solve_triangular_by_b),
        saves=("ao", "a"),
        checked=True,
        lowering=Host(solve_into),
        promotes=slice(None),
        floating=True,
        batching=aligned,
        bind=_solve_triangular_bind,
        complex="holomorphic",
        doc="X with A X = B, where A are lower triangles, or upper ones: (..., n, n), (..., n, k) "
        "-> (..., n, k). What is on the other side of the diagonal is not read. LinAlgError where "
        "a number on the diagonal is 0.",
        example=">>> sg.linalg.solve_triangular(np.array([[2.0, 9.0], [2.0, 4.0]]), "
        "np.array([[2.0], [10.0]]))\n"
        "array([[1.],\n"
        "       [2.]])",
    )
)


def _cofactors(a: Any) -> Any:
    """By inverses, or where a matrix is singular by singular values."""
    sizes = np.linalg.det(a)
    if np.all(sizes != 0):
        return np.asarray(sizes)[..., None, None] * np.swapaxes(np.linalg.inv(a), -1, -2)
    u, s, vh = np.linalg.svd(a)
    n = s.shape[-1]
    others = np.where(np.eye(n, dtype=np.bool_), 1, s[..., None, :]).prod(-1)
    sign = np.linalg.det(u) * np.linalg.det(vh)
    return sign[..., None, None] * ((u * others[..., None, :]) @ vh).conj()


def _cofactor_vjp(g: Any, o: object, a: object) -> Any:
    inverse = transposed(inv(a))
    along = sum(g * inverse, axis=(g.ndim - 2, g.ndim - 1), keepdims=True)
    return along * o - matmul(matmul(o, transposed(g)), inverse)


cofactor: Op = matrix_op(
    "cofactor", _cofactors, lambda a: a, vjp=(_cofactor_vjp,), saves=("ao",),
    complex="holomorphic",
    doc="The derivatives of the determinants by the elements, of singular matrices too. Their own "
    "derivatives are those of matrices that are not singular.",
)  # fmt: skip


def _numbers(a: TensorType) -> TensorType:
    return TensorType(a.shape[:-2], a.dtype)


def _real_numbers(a: TensorType) -> TensorType:
    return TensorType(a.shape[:-2], part_dtype(a.dtype))


def _sign_of_complex_vjp(g: Any, o: Any, a: Any) -> Any:
    # the sign turns by the imaginary part of the logarithm's derivative
    turned = real_part(conjugate(g) * o * 1j)
    return _as_matrices(astype(turned, o.dtype) * 1j) * adjoint(inv(a))


det: Op = matrix_op(
    "det", lambda a: np.asarray(np.linalg.det(a)), _numbers,
    vjp=(lambda g, o, a: _as_matrices(g) * cofactor(a),), saves=("a",), complex="holomorphic",
    doc="The determinants of square matrices: (..., n, n) -> (...).",
    example=">>> sg.linalg.det(np.array([[2.0, 1.0], [0.0, 3.0]]))\narray(6.)",
)  # fmt: skip
logabsdet: Op = matrix_op(
    "logabsdet", lambda a: np.asarray(np.linalg.slogdet(a)[1]), _real_numbers,
    vjp=(lambda g, o, a: _as_matrices(g) * adjoint(inv(a)),), saves=("a",),
    doc="The logarithms of the magnitudes of determinants: (..., n, n) -> (...).",
)  # fmt: skip
signdet: Op = matrix_op(
    "signdet", lambda a: np.asarray(np.linalg.slogdet(a)[0]), _numbers, vjp=(None,),
    complex_vjp=(_sign_of_complex_vjp,),
    doc="The signs of determinants: (..., n, n) -> (...), -1, 0 or 1, complex ones of size 1.",
)  # fmt: skip


class SlogDet(NamedTuple):
    """Signs of determinants, and the logarithms of their magnitudes."""

    sign: Any
    logabsdet: Any


def slogdet(a: object) -> SlogDet:
    """The signs and the logarithms of the magnitudes of determinants: (..., n, n) -> (...).

    Example:
        >>> sg.linalg.slogdet(np.array([[0.0, 1.0], [1.0, 0.0]]))
        SlogDet(sign=array(-1.), logabsdet=array(0.))
    """
    return SlogDet(signdet(a), logabsdet(a))


def triangle(a: Any) -> Any:
    """Whether an element is on or below the diagonal: bool (n, n)."""
    return greater_equal(positions(a, a.ndim - 2), positions(a, a.ndim - 1))


def diagonal(a: Any) -> Any:
    """Whether an element is on the diagonal: bool (n, n)."""
    return equal(positions(a, a.ndim - 2), positions(a, a.ndim - 1))


def _cholesky_vjp(g: object, o: object, a: object) -> Any:
    # Murray, Differentiation of the Cholesky decomposition, 2016
    inner = where(triangle(o), matmul(adjoint(o), g), 0)
    inner = where(diagonal(o), inner * 0.5, inner)
    upper = adjoint(o)
    half = solve_triangular(upper, inner, upper=True)
    found = solve_triangular(upper, adjoint(half), upper=True)
    return (found + adjoint(found)) * 0.5


def _cholesky(a: object) -> Any:
    return computed_or_failing("cholesky", cholesky_by_blocks, "is not positive definite", a)


def _factored_into(result: object, a: object) -> bool:
    try:
        return factor_into(result, a)
    except np.linalg.LinAlgError:
        return False  # `_cholesky` tells which matrix it is


cholesky_factor: Op = matrix_op(
    "cholesky", _cholesky,
    lambda a: a, vjp=(_cholesky_vjp,), saves=("o",),
    smooth=False, into=_factored_into,
    doc="The lower Cholesky factors of Hermitian positive definite matrices, of which the lower "
    "triangles are read.",
)  # fmt: skip


def cholesky(a: Value, *, upper: bool = False) -> Value:
    """L with A = L L^H of Hermitian positive definite matrices, lower; or its transpose.

    Only the lower triangle is read.

    Raises:
        LinAlgError: a matrix is not positive definite.

    Example:
        >>> sg.linalg.cholesky(np.array([[4.0, 2.0], [2.0, 5.0]]))
        array([[2., 0.],
               [1., 2.]])
    """
    factor = cholesky_factor(a)
    return adjoint(factor) if upper else factor


def _pinv_type(a: TensorType, **attrs: object) -> TensorType:
    require_matrices("pinv", a)
    return TensorType((*a.shape[:-2], a.shape[-1], a.shape[-2]), a.dtype)


def _pinv_numpy(a: Any, *, rtol: float | None, hermitian: bool) -> Any:
    if rtol is None:
        rtol = max(a.shape[-2:]) * float(limits(a.dtype).eps)
    return computed_or_failing(
        "pinv",
        lambda one: np.linalg.pinv(finite(one), rtol, hermitian),
        "has no singular values",
        a,
    )


def _pinv_vjp(g: object, o: object, a: Any, *, rtol: float | None, hermitian: bool) -> Any:
    # Golub, Pereyra, The differentiation of pseudo-inverses, 1973; by the shorter products
    gt, ot = adjoint(g), adjoint(o)
    rows, columns = a.shape[-2:]
    if isinstance(rows - columns, Dim) or rows <= columns:
        k = matmul(gt, o)
        ko = matmul(k, ot)
        first = matmul(matmul(ot, o), gt - matmul(k, a))
        return ko - adjoint(matmul(o, k)) - matmul(matmul(a, o), ko) + first
    k = matmul(o, gt)
    ok = matmul(ot, k)
    first = matmul(matmul(gt - matmul(a, k), o), ot)
    return first - adjoint(matmul(k, o)) + ok - matmul(matmul(ok, o), a)


def _pinv_bind(
    a: object,
    rcond: float | None = None,
    hermitian: bool = False,
    *,
    rtol: float | None = None,
) -> Any:
    if rcond is not None and rtol is not None:
        raise OptionError(f"pinv: rcond={rcond} and rtol={rtol} are one argument")
    rtol = rcond if rtol is None else rtol
    rtol = None if rtol is None else float(rtol)
    return (as_operand(a),), {"rtol": rtol, "hermitian": bool(hermitian)}


pinv: Op = register(
    Op(
        name="pinv",
        infer_type=_pinv_type,
        evaluate=_pinv_numpy,
        vjp=(_pinv_vjp,),
        saves=("ao",),
        checked=True,
        bind=_pinv_bind,
        lowering=Host(),
        floating=True,
        batching=unchanged,
        complex="own",
        doc="The pseudoinverses (Moore, Penrose) of matrices: (..., m, n) -> (..., n, m). Singular "
        "values up to `rtol` (or `rcond`, NumPy's older name) times the largest count as 0; "
        "max(m, n) times eps unless given.",
        example=">>> sg.linalg.pinv(np.array([[1.0], [1.0]]))\narray([[0.5, 0.5]])",
    )
)
