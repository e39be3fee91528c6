"""Products of Householder reflections."""

from __future__ import annotations

from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.dynamic.core.errors import AutogradError
from staticgraph.dynamic.linalg.checks import require_matrices
from staticgraph.dynamic.tensors.narrowing import widening


@widening
def householder_product(A: Any, tau: Any) -> Any:
    """The first n columns of the product of I - tau[i] v[i] v[i]^H, A of shape (..., m, n).

    v[i] is the part of column i of A below the diagonal, after a 1 and zeros (as LAPACK's orgqr).
    RuntimeError for more columns than rows, or more factors than columns.

    Example:
        >>> dynamic.linalg.householder_product(
        ...     dynamic.tensor([[1.0], [0.0]]), dynamic.tensor([2.0])
        ... ).tolist()
        [[-1.0], [0.0]]
    """
    require_matrices("linalg.householder_product", A)
    rows, columns = A.shape[-2:]
    if columns > rows:
        raise AutogradError(
            "torch.linalg.householder_product: input.shape[-2] must be greater than or equal to "
            f"input.shape[-1], got {rows} and {columns}"
        )
    if tau.ndim != A.ndim - 1:
        raise AutogradError(
            "torch.linalg.householder_product: Expected tau to have one dimension less than input, "
            f"but got tau.ndim equal to {tau.ndim} and input.ndim is equal to {A.ndim}"
        )
    if tau.shape[-1] > columns:
        raise AutogradError(
            "torch.linalg.householder_product: input.shape[-1] must be greater than or equal to "
            f"tau.shape[-1], got {columns} and {tau.shape[-1]}"
        )
    dtype = A._array.dtype
    below = A._constant(np.tri(rows, columns, -1, dtype=np.bool_))
    vectors = ops.where(below, A, A._constant(np.eye(rows, columns, dtype=dtype)))
    product = A._constant(np.broadcast_to(np.eye(rows, columns, dtype=dtype), tuple(A.shape)))
    for i in reversed(range(tau.shape[-1])):
        v = vectors[..., i : i + 1]
        along = v.mH @ product
        product = product - tau[..., i : i + 1].unsqueeze(-1) * (v @ along)
    return product
