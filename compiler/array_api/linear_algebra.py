"""Linear algebra, in the standard's signatures: of the namespace itself and of `linalg`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.array_api.promotion import named, named_linear, together
from staticgraph.compiler.array_api.reductions import sum as total
from staticgraph.compiler.core.errors import ShapeError

IN_BOTH = ("matmul", "matrix_transpose", "tensordot", "vecdot")


def cholesky(x: Any, /, *, upper: bool = False) -> Any:
    """The triangular factor of positive definite matrices."""
    return named_linear("cholesky")(x, upper=upper)


def cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    """The products of vectors in space."""
    x1, x2 = together(x1, x2)
    sizes = [one.shape[axis] if -one.ndim <= axis < one.ndim else 0 for one in (x1, x2)]
    if sizes != [3, 3]:
        raise ShapeError(f"cross: the axis {axis} has sizes {sizes}, not 3")
    return named_linear("cross")(x1, x2, axis=axis)


def diagonal(x: Any, /, *, offset: int = 0) -> Any:
    """The diagonals of matrices."""
    return named_linear("diagonal")(x, offset, -2, -1)


def trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Any:
    """The sums of the diagonals of matrices."""
    return total(diagonal(x, offset=offset), axis=-1, dtype=dtype)


def matmul(x1: Any, x2: Any, /) -> Any:
    """The products of matrices."""
    return ops.matmul(*together(x1, x2))


def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    """A norm of matrices."""
    return named_linear("matrix_norm")(x, ord=ord, keepdims=keepdims)


def matrix_power(x: Any, n: int, /) -> Any:
    """Square matrices multiplied n times."""
    return named_linear("matrix_power")(x, n)


def matrix_rank(x: Any, /, *, rtol: Any = None) -> Any:
    """How many singular values are greater than the largest times `rtol`."""
    values = named_linear("svdvals")(x)
    bound = _bound(x, values, rtol)
    return ops.sum(ops.astype(ops.greater(values, bound), np.int64), axis=-1)


def _bound(x: Any, values: Any, rtol: Any) -> Any:
    """The singular value that counts as 0, along the last axis of all."""
    if rtol is None:
        rtol = max(x.shape[-2:]) * float(np.finfo(np.dtype(values.dtype)).eps)
    elif hasattr(rtol, "ndim"):
        rtol = ops.expand_dims(rtol, -1)
    return ops.multiply(*together(ops.max(values, axis=-1, keepdims=True), rtol))


def matrix_transpose(x: Any, /) -> Any:
    """The last two axes exchanged."""
    return named_linear("matrix_transpose")(x)


def outer(x1: Any, x2: Any, /) -> Any:
    """All products of elements of two vectors."""
    return ops.outer(*together(x1, x2))


def pinv(x: Any, /, *, rtol: Any = None) -> Any:
    """The Moore-Penrose inverse; singular values up to the largest times `rtol` count as 0."""
    if rtol is None or not hasattr(rtol, "ndim"):
        return named_linear("pinv")(x, rtol=rtol)
    u, s, vh = named_linear("svd")(x, full_matrices=False)
    small = ops.less_equal(s, _bound(x, s, rtol))
    one = s._constant(np.ones((), s.dtype))
    inverse = ops.where(small, ops.multiply(s, 0), ops.divide(one, ops.where(small, one, s)))
    u, vh = (named("conj")(named_linear("matrix_transpose")(part)) for part in (u, vh))
    return ops.matmul(ops.multiply(*together(vh, ops.expand_dims(inverse, -2))), u)


def qr(x: Any, /, *, mode: str = "reduced") -> Any:
    """Orthogonal times triangular."""
    return named_linear("qr")(x, mode=mode)


def solve(x1: Any, x2: Any, /) -> Any:
    """What x1 times it is x2: a vector, or matrices."""
    x1, x2 = together(x1, x2)
    if x2.ndim == 1:
        return ops.squeeze(named_linear("solve")(x1, ops.expand_dims(x2, -1)), -1)
    return named_linear("solve")(x1, x2)


def svd(x: Any, /, *, full_matrices: bool = True) -> Any:
    """The singular value decomposition."""
    return named_linear("svd")(x, full_matrices)


def tensordot(x1: Any, x2: Any, /, *, axes: Any = 2) -> Any:
    """The sums of products along pairs of axes."""
    return named("tensordot")(*together(x1, x2), axes)


def vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    """The sums of products along an axis, x1 conjugated."""
    return named("vecdot")(*together(x1, x2), axis=axis)


def vector_norm(
    x: Any, /, *, axis: int | tuple[int, ...] | None = None, keepdims: bool = False, ord: Any = 2
) -> Any:
    """A norm along axes."""
    return named_linear("vector_norm")(x, ord=ord, axis=axis, keepdims=keepdims)


def _of_one(name: str) -> Callable[..., Any]:
    def function(x: Any, /) -> Any:
        return named_linear(name)(x)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"The standard's `{name}` of matrices."
    return function


_OF_ONE = ("det", "eig", "eigh", "eigvals", "eigvalsh", "inv", "slogdet", "svdvals")
FUNCTIONS: dict[str, Callable[..., Any]] = {
    one.__name__: one
    for one in (
        cholesky, cross, diagonal, matmul, matrix_norm, matrix_power, matrix_rank, matrix_transpose,
        outer, pinv, qr, solve, svd, tensordot, trace, vecdot, vector_norm,
    )
} | {name: _of_one(name) for name in _OF_ONE}  # fmt: skip
