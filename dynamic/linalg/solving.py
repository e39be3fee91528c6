"""Inverses, determinants and solutions of linear systems."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from compiler import ops
from compiler.op import Op, Operand
from compiler.ops.declare import unbroadcast
from compiler.types import TensorType
from dynamic.errors import AutogradError
from dynamic.linalg.checks import require_matrices, require_square, singular
from dynamic.results import named

_INVERSION = "diagonal element {pivot} is zero, the inversion could not be completed"


def transposed(a: Any) -> Any:
    """Matrices with their last two axes exchanged."""
    return ops.swapaxes(a, -1, -2)


def apply(op: Op, *operands: Any, **attrs: Any) -> Any:
    """An op on tensors or plain arrays."""
    for one in operands:
        if isinstance(one, Operand):
            return one.apply(op, operands, attrs)
    return op.evaluate(*operands, **attrs)


def _inverse(a: Any) -> Any:
    try:
        return np.linalg.inv(a)
    except np.linalg.LinAlgError:
        raise singular("linalg.inv", _INVERSION, a) from None


inverse_op: Op = Op(
    name="linalg_inv_ex",
    infer_type=lambda a: a,
    evaluate=_inverse,
    vjp=(lambda g, o, a: -ops.matmul(ops.matmul(transposed(o), g), transposed(o)),),
    saves=("o",),
    doc="The inverses of square matrices.",
)


def inv(A: Any) -> Any:
    """The inverses of square matrices: (..., n, n); RuntimeError for a singular one."""
    require_square("linalg.inv", A)
    return apply(inverse_op, A)


def _solved(a: Any, b: Any) -> Any:
    try:
        return np.linalg.solve(a, b)
    except np.linalg.LinAlgError:
        raise singular("torch.linalg.solve", "solver failed", a) from None


def _solve_type(a: TensorType, b: TensorType) -> TensorType:
    return TensorType(np.broadcast_shapes(a.shape[:-2], b.shape[:-2]) + b.shape[-2:], b.dtype)


def _solve_by_b(g: Any, o: Any, a: Any, b: Any) -> Any:
    return unbroadcast(apply(solve_op, transposed(a), g), b)


def _solve_by_a(g: Any, o: Any, a: Any, b: Any) -> Any:
    slope = apply(solve_op, transposed(a), g)
    return unbroadcast(-ops.matmul(slope, transposed(o)), a)


solve_op: Op = Op(
    name="linalg_solve_ex",
    infer_type=_solve_type,
    evaluate=_solved,
    vjp=(_solve_by_a, _solve_by_b),
    saves=("ao", "a"),
    promotes=slice(None),
    doc="X with A X = B, of matrices.",
)


def solve(A: Any, B: Any, *, left: bool = True) -> Any:
    """X with A X = B, or X A = B unless `left`: (..., n, n) and (..., n, k) or vectors (..., n)."""
    require_square("linalg.solve", A)
    if not left:
        return transposed(solve(transposed(A), transposed(B)))
    vector = B.ndim == 1 or (B.ndim == A.ndim - 1 and tuple(B.shape) == tuple(A.shape[:-1]))
    rows = B.shape[-1] if vector else B.shape[-2]
    if rows != A.shape[-1]:
        raise AutogradError(
            "linalg.solve: Incompatible shapes of A and B for the equation AX = B "
            f"({A.shape[-2]}x{A.shape[-1]} and {B.shape[-2]}x{B.shape[-1]})"
            if not vector
            else f"linalg.solve: a vector of {rows} elements for matrices of {A.shape[-1]} columns"
        )
    if vector:
        return ops.squeeze(apply(solve_op, A, ops.expand_dims(B, B.ndim)), -1)
    return apply(solve_op, A, B)


def solve_triangular(
    A: Any, B: Any, *, upper: bool, left: bool = True, unitriangular: bool = False
) -> Any:
    """As `solve`, for triangular matrices; `unitriangular` ones have ones on the diagonal."""
    require_square("linalg.solve_triangular", A)
    triangle = A.triu() if upper else A.tril()
    if unitriangular:
        diagonal = np.eye(A.shape[-1], dtype=np.bool_)
        triangle = ops.where(diagonal, 1, triangle)
    return solve(triangle, B, left=left)


def _cofactors(a: Any) -> Any:
    """The derivatives of the determinants, of singular matrices too: by singular values."""
    u, s, vh = np.linalg.svd(a)
    n = s.shape[-1]
    others = np.where(np.eye(n, dtype=np.bool_), 1, s[..., None, :]).prod(-1)
    sign = np.linalg.det(u) * np.linalg.det(vh)
    return sign[..., None, None] * ((u * others[..., None, :]) @ vh)


def _det_vjp(g: Any, o: Any, a: Any) -> Any:
    g = ops.expand_dims(g, (g.ndim, g.ndim + 1))
    values = getattr(a, "_array", a)
    if (getattr(o, "_array", o) != 0).all():
        o = ops.expand_dims(o, (o.ndim, o.ndim + 1))
        return g * o * transposed(apply(inverse_op, a))
    return g * _cofactors(values)


_det: Op = Op(
    name="linalg_det",
    infer_type=lambda a: TensorType(a.shape[:-2], a.dtype),
    evaluate=lambda a: np.asarray(np.linalg.det(a)),
    vjp=(_det_vjp,),
    saves=("ao",),
    doc="The determinants of square matrices.",
)


def det(A: Any) -> Any:
    """The determinants of square matrices: (..., n, n) -> (...).

    Those of singular matrices are differentiable once.
    """
    require_square("linalg.det", A)
    return apply(_det, A)


class SlogDet(NamedTuple):
    """Signs of determinants, and the logarithms of their magnitudes."""

    sign: Any
    logabsdet: Any

    def __repr__(self) -> str:
        return named("linalg_slogdet", self)


def _logabsdet_vjp(g: Any, o: Any, a: Any) -> Any:
    return ops.expand_dims(g, (g.ndim, g.ndim + 1)) * transposed(apply(inverse_op, a))


_logabsdet: Op = Op(
    name="linalg_slogdet",
    infer_type=lambda a: TensorType(a.shape[:-2], a.dtype),
    evaluate=lambda a: np.asarray(np.linalg.slogdet(a)[1]),
    vjp=(_logabsdet_vjp,),
    saves=("a",),
    doc="The logarithms of the magnitudes of determinants.",
)


_sign: Op = Op(
    name="linalg_slogdet",
    infer_type=lambda a: TensorType(a.shape[:-2], a.dtype),
    evaluate=lambda a: np.asarray(np.linalg.slogdet(a)[0]),
    vjp=(None,),
    doc="The signs of determinants.",
)


def slogdet(A: Any) -> SlogDet:
    """The signs and the logarithms of the magnitudes of determinants: (..., n, n) -> (...)."""
    require_square("linalg.slogdet", A)
    return SlogDet(apply(_sign, A), apply(_logabsdet, A))


def logdet(input: Any) -> Any:
    """The logarithms of determinants; nan where they are negative."""
    sign, logarithm = slogdet(input)
    return ops.where(ops.less(sign, 0), np.nan, logarithm)


def _rank_tolerance(A: Any) -> float:
    return max(A.shape[-2:]) * float(np.finfo(A._array.dtype).eps)


def _pinv_vjp(g: Any, o: Any, a: Any, *, rcond: float, hermitian: bool) -> Any:
    gt, ot = transposed(g), transposed(o)
    if a.shape[-2] <= a.shape[-1]:
        k = gt @ o
        ko = k @ ot
        return -transposed(o @ k) + ko - (a @ o) @ ko + (ot @ o) @ (gt - k @ a)
    k = o @ gt
    ok = ot @ k
    return -transposed(k @ o) + (gt - a @ k) @ o @ ot + ok - (ok @ o) @ a


_pinv: Op = Op(
    name="linalg_pinv",
    infer_type=lambda a, rcond, hermitian: TensorType(
        (*a.shape[:-2], a.shape[-1], a.shape[-2]), a.dtype
    ),
    evaluate=lambda a, rcond, hermitian: np.linalg.pinv(a, rcond, hermitian),
    vjp=(_pinv_vjp,),
    saves=("ao",),
    doc="The pseudoinverses (Moore, Penrose) of matrices.",
)


def pinv(A: Any, *, rtol: float | None = None, hermitian: bool = False) -> Any:
    """The pseudoinverses of matrices: (..., m, n) -> (..., n, m).

    Singular values up to `rtol` times the largest count as 0; max(m, n) times eps unless given.
    """
    require_matrices("linalg.pinv", A)
    rtol = _rank_tolerance(A) if rtol is None else rtol
    return apply(_pinv, A, rcond=float(rtol), hermitian=bool(hermitian))


class LeastSquares(NamedTuple):
    """Least-squares solutions, their squared residuals, the ranks and the singular values."""

    solution: Any
    residuals: Any
    rank: Any
    singular_values: Any

    def __repr__(self) -> str:
        return named("linalg_lstsq", self)


def lstsq(A: Any, B: Any, rcond: float | None = None, *, driver: str | None = None) -> LeastSquares:
    """The X of least |A X - B|, of least |X| among several: by pseudoinverses.

    Residuals and singular values are empty, as those of PyTorch's default driver; `driver`
    changes nothing.
    """
    require_matrices("linalg.lstsq", A)
    vector = B.ndim == A.ndim - 1
    right = ops.expand_dims(B, B.ndim) if vector else B
    solution = pinv(A, rtol=rcond) @ right
    empty = A.constant(np.empty(0, A._array.dtype))
    rank = A.constant(np.asarray(np.linalg.matrix_rank(A._array, rtol=rcond), np.int64))
    found = ops.squeeze(solution, -1) if vector else solution
    return LeastSquares(found, empty, rank, empty)
