"""Inverses, determinants and solutions of linear systems."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core.errors import LinAlgError
from staticgraph.compiler.ops.linalg.systems import transposed
from staticgraph.dynamic.core.dtypes import require_dtype
from staticgraph.dynamic.core.errors import AutogradError
from staticgraph.dynamic.core.results import named
from staticgraph.dynamic.linalg.checks import SAME, require_matrices, require_square, singular
from staticgraph.dynamic.tensors.narrowing import widening

_INVERSION = "diagonal element {pivot} is zero, the inversion could not be completed"


@widening
def inv(A: object) -> Any:
    """The inverses of square matrices: (..., n, n); RuntimeError for a singular one.

    Example:
        >>> dynamic.inverse(dynamic.tensor([[2.0, 0.0], [0.0, 4.0]]))
        tensor([[0.5000, 0.0000],
                [0.0000, 0.2500]])
    """
    require_square("linalg.inv", A)
    try:
        return ops.inv(A)
    except LinAlgError:
        raise singular("linalg.inv", _INVERSION, A) from None


def _solved(A: object, B: object) -> Any:
    try:
        return ops.solve_matrices(A, B)
    except LinAlgError:
        raise singular("torch.linalg.solve", "solver failed", A) from None


@widening
def solve(A: Any, B: Any, *, left: bool = True) -> Any:
    """X with A X = B, or X A = B unless `left`: (..., n, n) and (..., n, k) or vectors (..., n).

    Example:
        >>> dynamic.linalg.solve(
        ...     dynamic.tensor([[2.0, 0.0], [0.0, 4.0]]), dynamic.tensor([2.0, 8.0])
        ... )
        tensor([1., 2.])
    """
    require_square("linalg.solve", A)
    require_dtype(SAME.format("linalg.solve", "A", "B"), A, B)
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
        return ops.squeeze(_solved(A, ops.expand_dims(B, B.ndim)), -1)
    return _solved(A, B)


def solve_triangular(
    A: Any, B: object, *, upper: bool, left: bool = True, unitriangular: bool = False
) -> Any:
    """As `solve`, for triangular matrices; `unitriangular` ones have ones on the diagonal.

    Example:
        >>> dynamic.linalg.solve_triangular(
        ...     dynamic.tensor([[2.0]]), dynamic.tensor([[6.0]]), upper=True
        ... )
        tensor([[3.]])
    """
    require_square("linalg.solve_triangular", A)
    if unitriangular:
        A = ops.where(np.eye(A.shape[-1], dtype=np.bool_), 1, A)
    if not left:
        return transposed(solve_triangular(transposed(A), transposed(B), upper=not upper))
    try:
        return ops.solve_triangular(A, B, upper=upper)
    except LinAlgError:
        raise singular("torch.linalg.solve_triangular", "solver failed", A) from None


def det(A: object) -> Any:
    """The determinants of square matrices: (..., n, n) -> (...).

    Those of singular matrices are differentiable once.

    Example:
        >>> dynamic.det(dynamic.tensor([[2.0, 1.0], [0.0, 3.0]]))
        tensor(6.)
    """
    require_square("linalg.det", A)
    return ops.det(A)


class SlogDet(NamedTuple):
    """Signs of determinants, and the logarithms of their magnitudes."""

    sign: Any
    logabsdet: Any

    def __repr__(self) -> str:
        return named("linalg_slogdet", self)


def slogdet(A: object) -> SlogDet:
    """The signs and the logarithms of the magnitudes of determinants: (..., n, n) -> (...).

    Example:
        >>> dynamic.slogdet(dynamic.tensor([[0.0, 1.0], [1.0, 0.0]]))
        torch.return_types.linalg_slogdet(
        sign=tensor(-1.),
        logabsdet=tensor(0.))
    """
    require_square("linalg.slogdet", A)
    return SlogDet(ops.signdet(A), ops.logabsdet(A))


def logdet(input: object) -> Any:
    """The logarithms of determinants; nan of negative ones, the principal values if complex.

    Example:
        >>> dynamic.logdet(dynamic.eye(2))
        tensor(0.)
    """
    sign, logarithm = slogdet(input)
    if np.dtype(sign.dtype).kind == "c":
        return ops.log(sign) + logarithm
    return ops.where(ops.less(sign, 0), np.nan, logarithm)


@widening
def pinv(A: object, *, rtol: float | None = None, hermitian: bool = False) -> Any:
    """The pseudoinverses of matrices: (..., m, n) -> (..., n, m).

    Singular values up to `rtol` times the largest count as 0; max(m, n) times eps unless given.

    Example:
        >>> dynamic.linalg.pinv(dynamic.tensor([[1.0], [1.0]]))
        tensor([[0.5000, 0.5000]])
    """
    require_matrices("linalg.pinv", A)
    return ops.pinv(A, rtol=rtol, hermitian=hermitian)


class LeastSquares(NamedTuple):
    """Least-squares solutions, their squared residuals, the ranks and the singular values."""

    solution: Any
    residuals: Any
    rank: Any
    singular_values: Any

    def __repr__(self) -> str:
        return named("linalg_lstsq", self)


@widening
def lstsq(A: Any, B: Any, rcond: float | None = None, *, driver: str | None = None) -> LeastSquares:
    """The X of least |A X - B|, of least |X| among several: by pseudoinverses.

    Residuals and singular values are empty, as those of PyTorch's default driver; `driver`
    changes nothing.

    Example:
        >>> dynamic.linalg.lstsq(
        ...     dynamic.tensor([[2.0], [0.0]]), dynamic.tensor([[6.0], [1.0]])
        ... ).solution
        tensor([[3.]])
    """
    require_matrices("linalg.lstsq", A)
    vector = B.ndim == A.ndim - 1
    right = ops.expand_dims(B, B.ndim) if vector else B
    solution = pinv(A, rtol=rcond) @ right
    empty = A._constant(np.empty(0, A._array.dtype))
    rank = ops.matrix_rank(A, rtol=rcond)
    found = ops.squeeze(solution, -1) if vector else solution
    return LeastSquares(found, empty, rank, empty)
