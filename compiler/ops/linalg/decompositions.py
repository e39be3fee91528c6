"""Factors of matrices by the LAPACK that NumPy ships: QR, eigenvalues, singular values.

The ops of several results are host steps whose value is a tuple.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from staticgraph.compiler.core import dims
from staticgraph.compiler.core.dims import Dim
from staticgraph.compiler.core.dtypes import part_dtype
from staticgraph.compiler.core.errors import GraphError, OptionError
from staticgraph.compiler.core.lowering import Host
from staticgraph.compiler.core.op import Attrs, Op, register
from staticgraph.compiler.core.types import TensorType, TupleType
from staticgraph.compiler.core.values import Value
from staticgraph.compiler.ops.batching import unchanged
from staticgraph.compiler.ops.declare import as_operand, zeros_like
from staticgraph.compiler.ops.elementwise.arithmetic import absolute, square
from staticgraph.compiler.ops.elementwise.comparison import less, logical_and, logical_not, where
from staticgraph.compiler.ops.indexing.getting import getitem
from staticgraph.compiler.ops.indexing.take import take_along_axis
from staticgraph.compiler.ops.linalg.products import matmul
from staticgraph.compiler.ops.linalg.systems import (
    adjoint,
    computed_or_failing,
    diagonal,
    finite,
    require_matrices,
    require_square,
    solve_matrices,
    triangle,
)
from staticgraph.compiler.ops.programs.control import items
from staticgraph.compiler.ops.reductions.sorting import argsort, sort
from staticgraph.compiler.ops.shapes.shape import broadcast_to, expand_dims
from staticgraph.compiler.ops.shapes.slicing import concatenate

__all__ = ["eigh", "eigvalsh", "qr", "svd", "svdvals"]


def factors(
    name: str,
    function: Callable[..., object],
    result: Callable[..., TupleType],
    vjp: Callable[..., object],
    *,
    check: Callable[[str, TensorType], None] = require_matrices,
    saves: str = "o",
    smooth: bool = True,
    doc: str,
) -> Op:
    """Declare an op of the matrices of one operand that gives several tensors."""

    def infer_type(a: TensorType, **attrs: object) -> TupleType:
        check(name, a)
        return result(a, **attrs)

    def vjp_items(
        positions: Sequence[int], gs: Sequence[object], out: object, a: object, **attrs: object
    ) -> Sequence[Any]:
        return [vjp(gs, items(out), a, **attrs)]

    return register(
        Op(
            name=name,
            infer_type=infer_type,
            evaluate=function,
            batching=unchanged,
            smooth=smooth,
            vjp_items=vjp_items,
            saves=(saves,),
            checked=True,
            lowering=Host(),
            floating=True,
            complex="own",
            doc=doc,
        )
    )


def as_row(values: Any) -> Any:
    return expand_dims(values, values.ndim - 1)


def as_column(values: Any) -> Any:
    return expand_dims(values, values.ndim)


def gaps(values: object) -> Any:
    """values[j] - values[i] at (i, j), 1 on the diagonal."""
    apart = as_row(values) - as_column(values)
    return where(diagonal(apart), 1, apart)


# -- eigenvalues -------------------------------------------------------------------------------


def _vectors_type(a: TensorType, *, lower: bool) -> TupleType:
    return TupleType((TensorType(a.shape[:-1], part_dtype(a.dtype)), a))


def _triangle_of(lower: bool) -> Any:
    return "L" if lower else "U"


def _eigh_numpy(a: Any, *, lower: bool) -> tuple[Any, ...]:
    def found(one: Any) -> tuple[Any, ...]:
        return tuple(np.linalg.eigh(one, _triangle_of(lower)))

    several: tuple[Any, ...] = computed_or_failing("eigh", found, "does not converge", a)
    return several


def _eigh_vjp(gs: Sequence[object], out: Sequence[object], a: object, *, lower: bool) -> Any:
    # Giles, An extended collection of matrix derivative results, 2008, section 3.1
    (values, vectors), (gl, gv) = out, gs
    if gv is None:  # no gap is divided by: eigenvalues may be equal
        return matmul(vectors * as_row(gl), adjoint(vectors))
    inner = matmul(adjoint(vectors), gv) / gaps(values)
    inner = where(diagonal(inner), 0 if gl is None else as_column(gl), inner)
    inner = (inner + adjoint(inner)) * 0.5  # what else there is changes no Hermitian matrix
    return matmul(matmul(vectors, inner), adjoint(vectors))


eigh_factors: Op = factors(
    "eigh", _eigh_numpy, _vectors_type, _eigh_vjp, check=require_square,
    smooth=False,
    doc="The eigenvalues in order, and orthonormal eigenvectors as columns, of Hermitian matrices, "
    "of which one triangle is read: (..., n, n) -> (..., n) and (..., n, n).",
)  # fmt: skip


class Eigh(NamedTuple):
    """Eigenvalues in order, and orthonormal eigenvectors as columns."""

    eigenvalues: Any
    eigenvectors: Any


def _is_lower(name: str, triangle: str) -> bool:
    if triangle not in ("L", "U"):
        raise OptionError(f"{name}: UPLO is 'L' or 'U', not {triangle!r}")
    return triangle == "L"


def eigh(a: Value, UPLO: str = "L") -> Eigh:
    """The eigenvalues in order and eigenvectors of Hermitian matrices (..., n, n).

    One triangle is read. The gradient by the eigenvectors needs distinct eigenvalues, and a
    function that does not depend on their signs.

    Raises:
        LinAlgError: LAPACK's iteration does not converge.

    Example:
        >>> values, vectors = sg.linalg.eigh(np.array([[2.0, 1.0], [1.0, 2.0]]))
        >>> (vectors * values) @ vectors.T
        array([[2., 1.],
               [1., 2.]])
    """
    attrs = {"lower": _is_lower("eigh", UPLO)}
    return Eigh(*items(eigh_factors.bound((as_operand(a),), attrs)))


def _eigenvalues_vjp(g: object, o: object, a: object, *, lower: bool) -> Any:
    _, vectors = items(eigh_factors.bound((a,), {"lower": lower}))
    return matmul(vectors * as_row(g), adjoint(vectors))


def _eigenvalues_type(a: TensorType, *, lower: bool) -> TensorType:
    require_square("eigvalsh", a)
    return TensorType(a.shape[:-1], part_dtype(a.dtype))


def _eigenvalues_bind(a: object, UPLO: str = "L") -> tuple[Sequence[Any], Attrs]:
    return (as_operand(a),), {"lower": _is_lower("eigvalsh", UPLO)}


eigvalsh: Op = register(
    Op(
        name="eigvalsh",
        infer_type=_eigenvalues_type,
        evaluate=lambda a, lower: computed_or_failing(
            "eigvalsh",
            lambda one: np.linalg.eigvalsh(one, _triangle_of(lower)),
            "does not converge",
            a,
        ),
        vjp=(_eigenvalues_vjp,),
        saves=("a",),
        checked=True,
        bind=_eigenvalues_bind,
        lowering=Host(),
        floating=True,
        batching=unchanged,
        smooth=False,
        complex="own",
        doc="The eigenvalues in order of Hermitian matrices, of which one triangle is read: (..., "
        "n, n) -> (..., n). They may be equal for one gradient, but not for a second one.",
        example=">>> sg.linalg.eigvalsh(np.array([[2.0, 1.0], [1.0, 2.0]]))\narray([1., 3.])",
    )
)


# -- singular values ---------------------------------------------------------------------------


def _svd_type(a: TensorType, *, full: bool) -> TupleType:
    *lead, rows, columns = a.shape
    short = dims.minimum(rows, columns)
    left, right = (rows, columns) if full else (short, short)
    shapes = ((*lead, rows, left), (*lead, short), (*lead, right, columns))
    dtypes = (a.dtype, part_dtype(a.dtype), a.dtype)
    return TupleType(tuple(map(TensorType, shapes, dtypes)))


def _svd_numpy(a: Any, *, full: bool) -> tuple[Any, ...]:
    def found(one: Any) -> tuple[Any, ...]:
        return tuple(np.linalg.svd(finite(one), full_matrices=full))

    several: tuple[Any, ...] = computed_or_failing("svd", found, "does not converge", a)
    return several


FULL = (
    "svd_backward: The singular vectors with full_matrices=True have no gradient: use "
    "full_matrices=False"
)


def _skew(x: object) -> Any:
    return x - adjoint(x)


def _svd_vjp(gs: Sequence[object], out: Sequence[Any], a: Any, *, full: bool) -> Any:
    # Townsend, Differentiating the singular value decomposition, 2016
    (u, s, vh), (gu, gd, gvh) = out, gs
    rows, columns = a.shape[-2:]
    if full and rows != columns:
        if gu is not None or gvh is not None:
            raise GraphError(FULL)
        return _singular_vjp(gd, s, a)
    if gu is None and gvh is None:  # no gap is divided by: singular values may be equal
        return matmul(u * as_row(gd), vh)
    row, column = as_row(s), as_column(s)
    apart = gaps(square(s))
    inner: Any = 0
    along = 0 if gd is None else as_column(gd)
    if gu is not None:
        turned = _skew(matmul(adjoint(u), gu))
        inner = turned / apart * row
        if np.dtype(a.dtype).kind == "c":  # of pairs of vectors, turned by a common phase
            along = along + turned / (2 * row)
    if gvh is not None:
        inner = inner + column * (_skew(matmul(vh, adjoint(gvh))) / apart)
    inner = where(diagonal(inner), along, inner)
    found = matmul(matmul(u, inner), vh)
    if gu is not None and rows != s.shape[-1]:  # else nothing is orthogonal to the columns of u
        rest = gu / row
        found = found + matmul(rest - matmul(u, matmul(adjoint(u), rest)), vh)
    if gvh is not None and columns != s.shape[-1]:
        rest = gvh / column
        found = found + matmul(u, rest - matmul(matmul(rest, adjoint(vh)), vh))
    return found


def _first_columns(x: object, count: object) -> Any:
    return getitem(x, (Ellipsis, slice(count)))


svd_factors: Op = factors(
    "svd", _svd_numpy, _svd_type, _svd_vjp, saves="ao",
    doc="The singular value decompositions of matrices (..., m, n): U (..., m, k), the singular "
    "values from the largest on (..., k), and V^H (..., k, n), with k = min(m, n); if `full` U and "
    "V^H are square.",
)  # fmt: skip


class SVD(NamedTuple):
    """Orthonormal columns, singular values from the largest on, orthonormal rows."""

    U: Any
    S: Any
    Vh: Any


def svd(
    a: Value, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False
) -> SVD | Value:
    """A = U diag(S) Vh, singular values from the largest on, of matrices (..., m, n).

    The values alone unless `compute_uv`. Of Hermitian matrices, of which `hermitian` has the lower
    triangle read alone, by their eigenvalues.

    The gradient by the vectors needs distinct singular values, full_matrices=False unless m = n,
    and a function that does not depend on their signs.

    Raises:
        LinAlgError: LAPACK's iteration does not converge.

    Example:
        >>> u, s, vh = sg.linalg.svd(np.array([[3.0, 1.0], [1.0, 3.0]]))
        >>> (u * s) @ vh
        array([[3., 1.],
               [1., 3.]])
    """
    if hermitian:
        return _hermitian_svd(as_operand(a), compute_uv)
    if not compute_uv:
        return svdvals(a)
    attrs = {"full": bool(full_matrices)}
    return SVD(*items(svd_factors.bound((as_operand(a),), attrs)))


def _hermitian_svd(a: Any, compute_uv: bool) -> Any:
    if not compute_uv:
        return sort(absolute(eigvalsh(a)), descending=True)
    values, vectors = eigh(a)
    order = argsort(absolute(values), descending=True)
    values = take_along_axis(values, order, -1, wrap=False)
    places = broadcast_to(as_row(order), vectors.shape)
    u = take_along_axis(vectors, places, -1, wrap=False)
    signs = where(less(values, 0), -1, 1)
    return SVD(u, absolute(values), adjoint(u * as_row(signs)))


def _singular_type(a: TensorType) -> TensorType:
    require_matrices("svdvals", a)
    return TensorType((*a.shape[:-2], dims.minimum(*a.shape[-2:])), part_dtype(a.dtype))


def _singular_vjp(g: object, o: object, a: object) -> Any:
    u, _, vh = items(svd_factors.bound((a,), {"full": False}))
    return matmul(u * as_row(g), vh)


svdvals: Op = register(
    Op(
        name="svdvals",
        infer_type=_singular_type,
        evaluate=lambda a: computed_or_failing(
            "svdvals",
            lambda one: np.linalg.svd(finite(one), compute_uv=False),
            "does not converge",
            a,
        ),
        vjp=(_singular_vjp,),
        saves=("a",),
        checked=True,
        lowering=Host(),
        floating=True,
        batching=unchanged,
        complex="own",
        doc="The singular values of matrices from the largest on: (..., m, n) -> (..., min(m, n)). "
        "They may be equal for one gradient, but not for a second one.",
        example=">>> sg.linalg.svdvals(np.array([[3.0, 0.0], [0.0, -4.0]]))\narray([4., 3.])",
    )
)

# -- orthonormal columns -----------------------------------------------------------------------


def _qr_type(a: TensorType, *, complete: bool) -> TupleType:
    *lead, rows, columns = a.shape
    inner = rows if complete else dims.minimum(rows, columns)
    return TupleType(
        (TensorType((*lead, rows, inner), a.dtype), TensorType((*lead, inner, columns), a.dtype))
    )


def _qr_numpy(a: Any, *, complete: bool) -> tuple[Any, ...]:
    return tuple(np.linalg.qr(a, "complete" if complete else "reduced"))


COMPLETE = "The QR decomposition is not differentiable when mode='complete' and nrows > ncols."


def _qr_vjp(gs: Sequence[object], out: Sequence[object], a: Any, *, complete: bool) -> Any:
    (q, r), (gq, gr) = out, gs
    gq = zeros_like(q) if gq is None else gq
    gr = zeros_like(r) if gr is None else gr
    rows, columns = a.shape[-2:]
    if complete and not _is_known(columns - rows):
        raise GraphError(COMPLETE)
    if _is_known(rows - columns):
        return _tall(q, r, gq, gr)
    # the first columns have the factor, the others, of which there may be none, are turned by it
    short = dims.minimum(rows, columns)
    behind = (Ellipsis, slice(short, None))
    gq = gq + matmul(getitem(a, behind), adjoint(getitem(gr, behind)))
    first = _tall(q, _first_columns(r, short), gq, _first_columns(gr, short))
    return concatenate([first, matmul(q, getitem(gr, behind))], a.ndim - 1)


def _is_known(difference: Any) -> bool:
    """Whether a difference of sizes is known not to be negative."""
    return dims.is_nonnegative(difference) if isinstance(difference, Dim) else difference >= 0


def _tall(q: object, r: object, gq: object, gr: object) -> Any:
    # Walter, Lehmann, On algorithmic differentiation of the QR factorization, 2018
    inner = matmul(r, adjoint(gr)) - matmul(adjoint(gq), q)
    below = triangle(inner)
    strict = logical_and(below, logical_not(diagonal(inner)))
    inner = where(below, inner, 0) + adjoint(where(strict, inner, 0))
    if np.dtype(inner.dtype).kind == "c":  # the diagonal of R is real
        inner = (inner + adjoint(inner)) / 2
    return adjoint(solve_matrices(r, adjoint(gq + matmul(q, inner))))


qr_factors: Op = factors(
    "qr", _qr_numpy, _qr_type, _qr_vjp, saves="ao",
    doc="Orthonormal columns Q (..., m, k) and upper triangles R (..., k, n) of which matrices "
    "(..., m, n) are the products: k = min(m, n), or m if `complete`.",
)  # fmt: skip


class QR(NamedTuple):
    """Orthonormal columns, and an upper triangle."""

    Q: Any
    R: Any


def qr(a: Value, mode: str = "reduced") -> Value:
    """A = Q R with orthonormal columns in Q and an upper triangle R, of matrices (..., m, n).

    mode="reduced": (..., m, k) and (..., k, n) with k = min(m, n); "complete": k = m, without a
    gradient where m > n; "r": R alone. The gradient needs the first k columns to be independent,
    and a function that does not depend on the signs of the columns.

    Example:
        >>> q, r = sg.linalg.qr(np.array([[3.0, 1.0], [4.0, 2.0]]))
        >>> q @ r
        array([[3., 1.],
               [4., 2.]])
    """
    if mode not in ("reduced", "complete", "r"):
        raise OptionError(f"qr: mode is 'reduced', 'complete' or 'r', not {mode!r}")
    factors = QR(*items(qr_factors.bound((as_operand(a),), {"complete": mode == "complete"})))
    return factors.R if mode == "r" else factors
