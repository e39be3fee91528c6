"""Products and powers of matrices, and ranks."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from staticgraph.compiler import ops
from staticgraph.dynamic.core.dtypes import require_dtype
from staticgraph.dynamic.core.errors import AutogradError
from staticgraph.dynamic.core.required_ints import require_int
from staticgraph.dynamic.linalg.checks import SAME, require_matrices, require_square
from staticgraph.dynamic.linalg.solving import inv
from staticgraph.dynamic.operations.diagonals import diagonal as _diagonal
from staticgraph.dynamic.operations.distances import cross as _cross
from staticgraph.dynamic.operations.places import powers_of
from staticgraph.dynamic.tensors.naming import called
from staticgraph.dynamic.tensors.narrowing import narrowing, widening

matmul = ops.matmul


@called("LinalgCross")
def cross(input: object, other: object, *, dim: int = -1) -> Any:
    """The vector products along an axis of size 3.

    Example:
        >>> dynamic.linalg.cross(dynamic.tensor([1.0, 0.0, 0.0]), dynamic.tensor([0.0, 1.0, 0.0]))
        tensor([0., 0., 1.])
    """
    require_dtype("expected scalar type {0} but found {1}", input, other)
    return _cross(input, other, dim)


def diagonal(A: object, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Any:
    """The diagonals of matrices, along a new last axis.

    Example:
        >>> dynamic.linalg.diagonal(dynamic.tensor([[1.0, 2.0], [3.0, 4.0]]))
        tensor([1., 4.])
    """
    return _diagonal(A, offset, dim1, dim2)


def vander(x: object, *, N: int | None = None) -> Any:
    """The powers of numbers from 0 on.

    Example:
        >>> dynamic.linalg.vander(dynamic.tensor([1, 2, 3]))
        tensor([[1, 1, 1],
                [1, 2, 4],
                [1, 3, 9]])
    """
    return powers_of(x, N, True)


@narrowing
def vecdot(x: object, y: Any, *, dim: int = -1) -> Any:
    """The inner products along an axis.

    Example:
        >>> dynamic.linalg.vecdot(
        ...     dynamic.tensor([[1.0, 2.0], [3.0, 4.0]]), dynamic.tensor([1.0, 10.0])
        ... )
        tensor([21., 43.])
    """
    require_dtype(SAME.format("linalg.vecdot", "x", "y"), x, y)
    return ops.sum(x * y, dim)


def multi_dot(tensors: Sequence[object]) -> Any:
    """The product of several matrices, of which the first and the last may be vectors.

    Example:
        >>> dynamic.linalg.multi_dot([dynamic.ones((2, 3)), dynamic.ones((3, 4)), dynamic.ones(4)])
        tensor([12., 12.])
    """
    if len(tensors) < 2:
        raise AutogradError(f"multi_dot(): expected at least 2 tensors but got {len(tensors)}")
    return functools.reduce(ops.matmul, tensors)


def matrix_power(A: object, n: int) -> Any:
    """Integer powers of square matrices, by squaring; negative ones of the inverses.

    Example:
        >>> dynamic.matrix_power(dynamic.tensor([[1.0, 1.0], [0.0, 1.0]]), 3)
        tensor([[1., 3.],
                [0., 1.]])
    """
    require_square("linalg.matrix_power", A)
    require_int("matrix_power", "n", 2, n)
    if n < 0:  # inv has PyTorch's error
        return ops.matrix_power(inv(A), -n)
    return ops.matrix_power(A, n)


@called("LinalgMatrixExp")
def matrix_exp(A: Any) -> Any:
    """The exponentials of square matrices.

    Example:
        >>> dynamic.matrix_exp(dynamic.zeros(2, 2))
        tensor([[1., 0.],
                [0., 1.]])
    """
    require_square("linalg.matrix_exp", A)
    return ops.expm(A)


@widening
def matrix_rank(
    A: object,
    tol: float | None = None,
    hermitian: bool = False,
    *,
    atol: float | None = None,
    rtol: float | None = None,
) -> Any:
    """How many singular values exceed max(atol, rtol times the largest); int64, no gradient.

    `tol` is `atol` with `rtol` 0, as in PyTorch.

    Example:
        >>> dynamic.linalg.matrix_rank(dynamic.tensor([[1.0, 2.0], [2.0, 4.0]]))
        tensor(1)
    """
    require_matrices("linalg.matrix_rank", A)
    if tol is not None:
        atol, rtol = tol, 0.0
    return ops.matrix_rank(A, rtol=rtol, atol=atol, hermitian=hermitian)
