"""Norms of vectors and matrices, and what follows from them."""

from __future__ import annotations

import math
from typing import Any

from staticgraph.compiler import ops
from staticgraph.dynamic.core.errors import AutogradError
from staticgraph.dynamic.core.named_operands import taking_numpys_words
from staticgraph.dynamic.linalg.checks import require_matrices
from staticgraph.dynamic.linalg.decompositions import svdvals
from staticgraph.dynamic.linalg.solving import inv
from staticgraph.dynamic.tensors.dims import axes_of, axis_of
from staticgraph.dynamic.tensors.narrowing import widening


@taking_numpys_words
def vector_norm(
    x: Any, ord: float = 2, dim: object = None, keepdim: bool = False, *, dtype: object = None
) -> Any:
    """The p-norms of vectors along axes, of all elements if None: p is any number, inf or -inf.

    Example:
        >>> dynamic.linalg.vector_norm(dynamic.tensor([3.0, 4.0]))
        tensor(5.)
    """
    x = x if dtype is None else x.to(dtype=dtype)
    axes = axes_of(
        "vector_norm", None if isinstance(dim, list | tuple) and not dim else dim, x.ndim
    )
    attrs = {"p": float(ord), "axes": axes, "keepdims": keepdim}
    return x._apply(ops.vector_norm, (x,), attrs)


@taking_numpys_words
def matrix_norm(
    A: Any,
    ord: object = "fro",
    dim: tuple[int, int] = (-2, -1),
    keepdim: bool = False,
    *,
    dtype: object = None,
) -> Any:
    """The norms of matrices in the planes of two axes.

    `ord` is 'fro' (Frobenius), 'nuc' (the sum of the singular values), 2 and -2 (the largest and
    the smallest of them), 1 and -1 (of the sums of columns), inf and -inf (of rows).

    Example:
        >>> dynamic.linalg.matrix_norm(dynamic.tensor([[3.0, 0.0], [0.0, 4.0]]))
        tensor(5.)
    """
    A = A if dtype is None else A.to(dtype=dtype)
    require_matrices("linalg.matrix_norm", A)
    first, second = (axis_of("matrix_norm", one, A.ndim) for one in dim)
    if first == second:
        raise AutogradError(f"linalg.matrix_norm: dims must be different. Got ({first}, {second})")
    if ord == "fro":
        return vector_norm(A, 2, (first, second), keepdim)
    if ord not in (1, -1, 2, -2, math.inf, -math.inf, "nuc"):
        raise AutogradError(f"linalg.matrix_norm: Order {ord} not supported.")
    return ops.matrix_norm(A, ord, (first, second), keepdim)


@taking_numpys_words
def norm(
    A: Any, ord: Any = None, dim: Any = None, keepdim: bool = False, *, dtype: object = None
) -> Any:
    """A vector norm, or a matrix norm if two axes are named or meant: see both.

    Without `ord` the square root of the sum of all squares.

    Example:
        >>> dynamic.linalg.norm(dynamic.tensor([3.0, 4.0]))
        tensor(5.)
    """
    axes = None if dim is None else (dim,) if hasattr(dim, "__index__") else tuple(dim)
    if ord is not None and (len(axes) == 2 if axes is not None else A.ndim == 2):
        return matrix_norm(A, ord, (-2, -1) if axes is None else axes, keepdim, dtype=dtype)
    if ord is not None and isinstance(ord, str):
        raise AutogradError(f"linalg.norm: order {ord} can only be used with matrices")
    return vector_norm(A, 2 if ord is None else ord, axes, keepdim, dtype=dtype)


@widening
def cond(A: object, p: object = None) -> Any:
    """The condition numbers of matrices: the norm times that of the inverse; 2-norms if None.

    Example:
        >>> dynamic.linalg.cond(dynamic.tensor([[4.0, 0.0], [0.0, 2.0]]))
        tensor(2.)
    """
    require_matrices("linalg.cond", A)
    if p in (None, 2, -2):
        values = svdvals(A)
        ratio = values[..., 0] / values[..., -1]
        return 1 / ratio if p == -2 else ratio
    return matrix_norm(A, p) * matrix_norm(inv(A), p)
