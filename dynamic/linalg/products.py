"""Products and powers of matrices, and ranks."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from staticgraph.compiler import ops
from staticgraph.dynamic.core.dtypes import require_dtype
from staticgraph.dynamic.core.errors import AutogradError
from staticgraph.dynamic.linalg.checks import SAME, require_matrices, require_square
from staticgraph.dynamic.linalg.solving import inv
from staticgraph.dynamic.operations.arranging import diagonal as _diagonal
from staticgraph.dynamic.operations.distances import cross as _cross
from staticgraph.dynamic.operations.places import vander as _vander

matmul = ops.matmul


def cross(input: object, other: object, *, dim: int = -1) -> Any:
    """The vector products along an axis of size 3."""
    require_dtype("expected scalar type {0} but found {1}", input, other)
    return _cross(input, other, dim)


def diagonal(A: object, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Any:
    """The diagonals of matrices, along a new last axis."""
    return _diagonal(A, offset, dim1, dim2)


def vander(x: object, *, N: int | None = None) -> Any:
    """The powers of numbers from 0 on."""
    return _vander(x, N, increasing=True)


def vecdot(x: object, y: Any, *, dim: int = -1) -> Any:
    """The inner products along an axis."""
    require_dtype(SAME.format("linalg.vecdot", "x", "y"), x, y)
    return ops.sum(x * y, dim)


def multi_dot(tensors: Sequence[object]) -> Any:
    """The product of several matrices, of which the first and the last may be vectors."""
    if len(tensors) < 2:
        raise AutogradError(f"multi_dot(): expected at least 2 tensors but got {len(tensors)}")
    return functools.reduce(ops.matmul, tensors)


def matrix_power(A: object, n: int) -> Any:
    """Integer powers of square matrices, by squaring; negative ones of the inverses."""
    require_square("linalg.matrix_power", A)
    if n < 0:  # inv has PyTorch's error
        return ops.matrix_power(inv(A), -n)
    return ops.matrix_power(A, n)


def matrix_exp(A: Any) -> Any:
    """The exponentials of square matrices."""
    require_square("linalg.matrix_exp", A)
    return ops.expm(A)


def matrix_rank(
    A: object, *, atol: float | None = None, rtol: float | None = None, hermitian: bool = False
) -> Any:
    """How many singular values exceed max(atol, rtol times the largest); int64, no gradient."""
    require_matrices("linalg.matrix_rank", A)
    return ops.matrix_rank(A, rtol=rtol, atol=atol, hermitian=hermitian)
