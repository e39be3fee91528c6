"""What linear algebra requires of its operands, in PyTorch's words."""

from __future__ import annotations

from typing import Any

import numpy as np

from staticgraph.compiler.core.dtypes import is_inexact
from staticgraph.compiler.core.errors import LinAlgError
from staticgraph.dynamic.core.dtypes import DTYPES
from staticgraph.dynamic.core.errors import AutogradError

SAME = (
    "{0}: Expected {1} and {2} to have the same dtype, but found {1} of type {{0}} and {2} of type "
    "{{1}} instead"
)
"""What `require_dtype` says of two operands of a function, by its name and theirs."""


def require_matrices(name: str, a: Any, symbol: str = "A") -> None:
    """RuntimeError unless a tensor is of floating matrices."""
    if a.ndim < 2:
        raise AutogradError(f"{name}: The input tensor {symbol} must have at least 2 dimensions.")
    if not is_inexact(a._array.dtype):
        raise AutogradError(
            f"{name}: Expected a floating point or complex tensor as input. Got "
            f"{DTYPES[a._array.dtype].legacy}"
        )


def require_square(name: str, a: Any) -> None:
    """RuntimeError unless a tensor is of square floating matrices."""
    require_matrices(name, a)
    rows, columns = a.shape[-2:]
    if rows != columns:
        raise AutogradError(
            f"{name}: A must be batches of square matrices, but they are {rows} by {columns} "
            "matrices"
        )


def _zero_pivot(a: object) -> int:
    """The number, from 1, of the first zero pivot of a matrix; 0 if there is none."""
    a = np.array(a)
    for k in range(len(a)):
        pivot = k + int(np.argmax(np.abs(a[k:, k])))
        if a[pivot, k] == 0:
            return k + 1
        a[[k, pivot]] = a[[pivot, k]]
        a[k + 1 :] -= np.outer(a[k + 1 :, k] / a[k, k], a[k])
    return 0


def singular(name: str, what: str, a: Any) -> LinAlgError:
    """The error for the first singular matrix of a batch."""
    array = a._array
    for i, matrix in enumerate(array.reshape(-1, *array.shape[-2:])):
        pivot = _zero_pivot(matrix)
        if pivot:
            reason = what.replace("{pivot}", str(pivot))
            return LinAlgError(
                f"{name}: {batch_element(a, i)}The {reason} because the input matrix is singular."
            )
    return LinAlgError(f"{name}: the input matrix is singular.")


def batch_element(a: Any, i: int) -> str:
    """Which matrix of a batch is meant; nothing for a single one."""
    return f"(Batch element {i}): " if a.ndim > 2 else ""


def not_positive_definite(name: str, a: Any) -> LinAlgError:
    """The error for the first matrix of a batch without a Cholesky factor."""
    array = a._array
    for i, matrix in enumerate(array.reshape(-1, *array.shape[-2:])):
        for order in range(1, len(matrix) + 1):
            try:
                np.linalg.cholesky(matrix[:order, :order])
            except np.linalg.LinAlgError:
                return LinAlgError(
                    f"{name}: {batch_element(a, i)}The factorization could not be completed "
                    "because the input is not positive-definite (the leading minor of order "
                    f"{order} is not positive-definite)."
                )
    return LinAlgError(f"{name}: the input is not positive-definite.")
