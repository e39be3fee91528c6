"""Functions of matrices made of their factors: norms, powers, ranks, least squares."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from staticgraph.compiler.core import dims
from staticgraph.compiler.core.dtypes import is_inexact, limits
from staticgraph.compiler.core.errors import OptionError, ShapeError
from staticgraph.compiler.core.types import TensorType, as_dtype, normalise_axis
from staticgraph.compiler.core.values import Value
from staticgraph.compiler.ops.declare import as_operand, size_value
from staticgraph.compiler.ops.elementwise.arithmetic import absolute, astype, maximum, square
from staticgraph.compiler.ops.elementwise.comparison import greater, where
from staticgraph.compiler.ops.indexing.getting import getitem
from staticgraph.compiler.ops.linalg.decompositions import eigvalsh, svdvals
from staticgraph.compiler.ops.linalg.products import matmul
from staticgraph.compiler.ops.linalg.systems import (
    diagonal,
    inv,
    pinv,
    require_matrices,
    require_square,
)
from staticgraph.compiler.ops.reductions.norms import vector_norm
from staticgraph.compiler.ops.reductions.reduction import max, min, sum
from staticgraph.compiler.ops.shapes.shape import broadcast_to, expand_dims, permute, squeeze

__all__ = ["lstsq", "matrix_norm", "matrix_power", "matrix_rank"]


def _type(a: Any) -> TensorType:
    return TensorType(tuple(a.shape), as_dtype(a.dtype))


def _floating(a: Any) -> Any:
    a = as_operand(a)
    return a if is_inexact(a.dtype) else astype(a, "float64")


def matrix_norm(
    a: Value, ord: Value = "fro", axis: tuple[int, int] = (-2, -1), keepdims: bool = False
) -> Value:
    """The norms of matrices in the planes of two axes, the last ones unless given.

    `ord` is "fro" (Frobenius), "nuc" (the sum of the singular values), 2 and -2 (the largest and
    the smallest of them), 1 and -1 (the largest and smallest sum of a column's magnitudes), inf and
    -inf (of a row's).

    Example:
        >>> sg.linalg.matrix_norm(np.array([[3.0, 0.0], [0.0, 4.0]]))
        np.float64(5.0)
    """
    a = _floating(a)
    first, second = (normalise_axis("matrix_norm", one, a.ndim) for one in axis)
    if first == second:
        raise ShapeError(f"matrix_norm: {axis} are not two axes of {_type(a)}")
    if ord == "fro":
        return vector_norm(a, 2, (first, second), keepdims)
    if ord in (1, -1, math.inf, -math.inf):
        along, over = (first, second) if abs(ord) == 1 else (second, first)
        sums = sum(absolute(a), axis=along, keepdims=True)
        found = (max if ord > 0 else min)(sums, axis=(over,), keepdims=True)
        return found if keepdims else squeeze(found, (first, second))
    if ord not in ("nuc", 2, -2):
        raise OptionError(
            f"matrix_norm: ord is 'fro', 'nuc', 1, -1, 2, -2, inf or -inf, not {ord!r}"
        )
    others = [one for one in range(a.ndim) if one not in (first, second)]
    values = svdvals(permute(a, (*others, first, second)))
    if ord == "nuc":
        found = sum(values, axis=-1)
    else:
        found = (max if ord > 0 else min)(values, axis=(values.ndim - 1,))
    return expand_dims(found, (first, second)) if keepdims else found


def matrix_power(a: Value, n: int) -> Value:
    """Integer powers of square matrices (..., n, n), by squaring; negative ones of the inverses.

    Raises:
        LinAlgError: a matrix is singular, and the power negative.

    Example:
        >>> sg.linalg.matrix_power(np.array([[1.0, 1.0], [0.0, 1.0]]), 3)
        array([[1., 3.],
               [0., 1.]])
    """
    a = _floating(a)
    require_square("matrix_power", _type(a))
    if n < 0:
        return matrix_power(inv(a), -n)
    if n == 0:
        eye = astype(broadcast_to(diagonal(a), tuple(a.shape)), a.dtype)
        return where(np.ones((), np.bool_), eye, a)
    result = None
    while n:
        if n % 2:
            result = a if result is None else matmul(result, a)
        n //= 2
        a = matmul(a, a) if n else a
    return result


def matrix_rank(
    a: Value,
    tol: float | None = None,
    hermitian: bool = False,
    *,
    rtol: float | None = None,
    atol: float | None = None,
) -> Value:
    """How many singular values of matrices exceed max(atol, rtol times the largest): int64 (...).

    `rtol` is max(m, n) times eps unless it or `atol` is given; `tol` is NumPy's name of `atol`.
    Of symmetric matrices (`hermitian`) the magnitudes of the eigenvalues are counted. Without a
    gradient.

    Example:
        >>> sg.linalg.matrix_rank(np.array([[1.0, 2.0], [2.0, 4.0]]))
        np.int64(1)
    """
    if tol is not None and (rtol is not None or atol is not None):
        raise OptionError(f"matrix_rank: tol={tol} beside rtol={rtol} and atol={atol}")
    atol = tol if atol is None else atol
    a = _floating(a)
    require_matrices("matrix_rank", _type(a))
    rows, columns = a.shape[-2:]
    values = absolute(eigvalsh(a)) if hermitian else svdvals(a)
    if values.shape[-1] == 0:
        return sum(astype(values, "int64"), axis=-1)
    largest = max(values, axis=(values.ndim - 1,), keepdims=True)
    if rtol is None:
        eps = float(limits(np.dtype(a.dtype)).eps)
        size = size_value(dims.maximum(rows, columns), values)
        limit = largest * (size * (0.0 if atol or tol is not None else eps))
    else:
        limit = largest * float(rtol)
    limit = maximum(limit, float(atol or 0.0))
    return sum(astype(greater(values, limit), "int64"), axis=-1)


class LeastSquares(NamedTuple):
    """Least-squares solutions, their squared residuals, the ranks and the singular values."""

    x: Any
    residuals: Any
    rank: Any
    s: Any


def lstsq(a: Value, b: Value, rcond: float | None = None) -> LeastSquares:
    """The x of least |a x - b|, of least |x| among several.

    `a` is (..., m, n), `b` is (..., m, k) or (..., m), `x` has n in place of m. By pseudoinverses,
    of which singular values up to `rcond` times the largest count as 0 (max(m, n) times eps unless
    given). The residuals are the sums of squares of a x - b, per column, for all matrices: unlike
    NumPy's, which are empty where the rank is below n.

    Example:
        >>> a = np.array([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]])
        >>> sg.linalg.lstsq(a, np.array([1.0, 3.0, 5.0])).x
        array([1., 2.])
    """
    a, b = _floating(a), _floating(b)
    vector = b.ndim == a.ndim - 1
    right = expand_dims(b, b.ndim) if vector else b
    x = matmul(pinv(a, rtol=rcond), right)
    residuals = sum(square(absolute(matmul(a, x) - right)), axis=-2)
    if vector:
        x, residuals = squeeze(x, x.ndim - 1), getitem(residuals, (Ellipsis, 0))
    return LeastSquares(x, residuals, matrix_rank(a, rtol=rcond), svdvals(a))
