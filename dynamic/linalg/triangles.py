"""A = P L U: factors of Gaussian elimination with row exchanges (`lu`, `lu_factor`, `lu_solve`)."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.ops.linalg.systems import adjoint as adjoint_of
from staticgraph.dynamic.autograd.function import Function
from staticgraph.dynamic.core.errors import AutogradError
from staticgraph.dynamic.core.results import named
from staticgraph.dynamic.linalg.checks import require_matrices, require_square
from staticgraph.dynamic.linalg.solving import solve_triangular
from staticgraph.dynamic.operations.diagonals import tril, triu
from staticgraph.dynamic.tensors.narrowing import widening
from staticgraph.dynamic.tensors.tensor import wrap
from staticgraph.dynamic.tensors.values import values_of


class Factors(NamedTuple):
    """L below the diagonal and U in one matrix; the row that each was exchanged with, from 1."""

    LU: Any
    pivots: Any

    def __repr__(self) -> str:
        return named("linalg_lu_factor", self)


class CheckedFactors(NamedTuple):
    """The factors, and per matrix 0, or which pivot, from 1, is the first that is 0."""

    LU: Any
    pivots: Any
    info: Any

    def __repr__(self) -> str:
        return named("linalg_lu_factor_ex", self)


class PLU(NamedTuple):
    """A permutation, a lower triangle with ones on its diagonal, an upper triangle."""

    P: Any
    L: Any
    U: Any

    def __repr__(self) -> str:
        return named("linalg_lu", self)


def _eliminated(matrix: Any, pivot: bool) -> Any:
    """Both triangles in place of a matrix; the rows that were exchanged."""
    m, n = matrix.shape
    exchanged = np.arange(min(m, n))
    for k in range(min(m, n)):
        if pivot:
            row = k + int(np.argmax(np.abs(matrix[k:, k])))
            exchanged[k] = row
            matrix[[k, row]] = matrix[[row, k]]
        if matrix[k, k] != 0:
            matrix[k + 1 :, k] /= matrix[k, k]
            matrix[k + 1 :, k + 1 :] -= np.outer(matrix[k + 1 :, k], matrix[k, k + 1 :])
    return exchanged


def _orders(pivots: Any, rows: int) -> Any:
    """Per matrix where each row comes from that was exchanged so: (..., k) -> (..., rows)."""
    *batches, count = pivots.shape
    orders = np.tile(np.arange(rows), (*batches, 1))
    size = math.prod(batches)
    flat = orders.reshape(size, rows), pivots.reshape(size, count)
    for order, exchanged in zip(*flat, strict=True):
        for k, row in enumerate(exchanged):
            order[[k, row - 1]] = order[[row - 1, k]]
    return orders


class _Elimination(Function):
    """The triangles, in one matrix, of a square matrix whose rows need no exchange.

    Of dA = dL U + L dU follows L^-1 dA U^-1 = L^-1 dL + dU U^-1: a strict lower triangle and an
    upper one, which the gradient takes apart.
    """

    @staticmethod
    def forward(ctx: Any, matrix: Any, found: Any) -> Any:
        """What was found."""
        result = found.clone()
        ctx.save_for_backward(result)
        return result

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        """L^-H (tril(L^H g_L, -1) + triu(g_U U^H)) U^-H."""
        (found,) = ctx.saved_tensors
        lower = adjoint_of(_lower(found))
        upper = adjoint_of(triu(found))
        inner = tril(lower @ tril(g, -1), -1) + triu(triu(g) @ upper)
        half = solve_triangular(lower, inner, upper=True, unitriangular=True)
        return solve_triangular(upper, half, upper=False, left=False), None


def _lower(packed: Any) -> Any:
    """The first columns of the lower triangle, with ones on its diagonal."""
    count = min(packed.shape[-2:])
    square = packed[..., :, :count]
    return ops.where(np.eye(packed.shape[-2], count, dtype=np.bool_), 1, tril(square, -1))


def lu_factor_ex(A: Any, *, pivot: bool = True, check_errors: bool = False) -> CheckedFactors:
    """As `lu_factor`, which a pivot of 0 does not stop unless the errors are checked.

    Example:
        >>> dynamic.linalg.lu_factor_ex(dynamic.tensor([[1.0, 2.0], [2.0, 4.0]])).info
        tensor(2, dtype=torch.int32)
    """
    require_matrices("linalg.lu_factor_ex", A)
    rows, columns = A.shape[-2:]
    count = min(rows, columns)
    packed = np.array(values_of(A))
    batches = tuple(A.shape[:-2])
    pivots = np.zeros((*batches, count), np.int32)
    flat = packed.reshape(math.prod(batches), rows, columns)
    for matrix, exchanged in zip(flat, pivots.reshape(len(flat), count), strict=True):
        exchanged[:] = _eliminated(matrix, pivot) + 1
    zero = np.diagonal(packed, axis1=-2, axis2=-1) == 0
    first = zero.argmax(-1) + 1 if count else 0
    info = np.where(zero.any(-1), first, 0).astype(np.int32)
    if check_errors and info.any():
        raise AutogradError(
            f"torch.linalg.lu_factor: U[{info.max()},{info.max()}] is zero and using it on "
            "lu_solve would result in a division by zero."
        )
    order = wrap(_orders(pivots, rows)[..., None])
    exchanged_rows = ops.take_along_axis(A, ops.broadcast_to(order, tuple(A.shape)), -2)
    found = _recorded(exchanged_rows, wrap(packed), count) if A.requires_grad else wrap(packed)
    return CheckedFactors(found, wrap(pivots), wrap(np.asarray(info)))


def _recorded(matrix: Any, found: Any, count: int) -> Any:
    """`found`, the triangles of a matrix, as functions of it."""
    square = _Elimination.apply(matrix[..., :count, :count], found[..., :count, :count])
    if matrix.shape[-2] > count:
        below = solve_triangular(triu(square), matrix[..., count:, :count], upper=True, left=False)
        return ops.concatenate((square, below), -2)
    if matrix.shape[-1] > count:
        lower = _lower(square)
        beside = solve_triangular(lower, matrix[..., :count, count:], upper=False)
        return ops.concatenate((square, beside), -1)
    return square


def lu_factor(A: Any, *, pivot: bool = True) -> Factors:
    """A = P L U with L and U in one matrix, and the rows that were exchanged: see `lu_solve`.

    RuntimeError where a pivot is 0.

    Example:
        >>> dynamic.linalg.lu_factor(dynamic.tensor([[2.0, 1.0], [4.0, 4.0]])).pivots
        tensor([2, 2], dtype=torch.int32)
    """
    require_matrices("linalg.lu_factor", A)
    return Factors(*lu_factor_ex(A, pivot=pivot, check_errors=True)[:2])


def lu(A: Any, *, pivot: bool = True) -> PLU:
    """A = P L U: (..., m, n) = (..., m, m) (..., m, k) (..., k, n) with k = min(m, n).

    P is empty without `pivot`.

    Example:
        >>> p, l, u = dynamic.linalg.lu(dynamic.tensor([[2.0, 1.0], [4.0, 4.0]]))
        >>> l, u
        (tensor([[1.0000, 0.0000],
                [0.5000, 1.0000]]), tensor([[ 4.,  4.],
                [ 0., -1.]]))
    """
    require_matrices("linalg.lu", A)
    packed, pivots, _ = lu_factor_ex(A, pivot=pivot)
    permutation, lower, upper = unpacked(packed, pivots)
    return PLU(permutation if pivot else A._constant(np.empty(0, A._array.dtype)), lower, upper)


def unpacked(packed: Any, pivots: Any) -> PLU:
    """The three factors of what `lu_factor` returns."""
    rows, columns = packed.shape[-2:]
    orders = _orders(values_of(pivots), rows)
    permutation = np.swapaxes(np.eye(rows, dtype=packed._array.dtype)[orders], -1, -2)
    upper = triu(packed[..., : min(rows, columns), :])
    return PLU(packed._constant(np.ascontiguousarray(permutation)), _lower(packed), upper)


@widening
def lu_solve(LU: Any, pivots: Any, B: Any, *, left: bool = True, adjoint: bool = False) -> Any:
    """X with A X = B, or X A = B unless `left`, of what `lu_factor` has made of A.

    With `adjoint` A is its conjugate transpose.

    Example:
        >>> factors = dynamic.linalg.lu_factor(dynamic.tensor([[2.0, 1.0], [4.0, 4.0]]))
        >>> dynamic.linalg.lu_solve(*factors, dynamic.tensor([[3.0], [8.0]]))
        tensor([[1.],
                [1.]])
    """
    require_square("linalg.lu_solve", LU)
    if not left:
        return adjoint_of(lu_solve(LU, pivots, adjoint_of(B), adjoint=not adjoint))
    permutation, lower, upper = unpacked(LU, pivots)
    if adjoint:
        half = solve_triangular(adjoint_of(upper), B, upper=False)
        whole = solve_triangular(adjoint_of(lower), half, upper=True, unitriangular=True)
        return permutation @ whole
    half = solve_triangular(lower, adjoint_of(permutation) @ B, upper=False, unitriangular=True)
    return solve_triangular(upper, half, upper=True)
