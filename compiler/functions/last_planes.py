"""Diagonals of the matrices in the last two axes: `linalg` has them there, NumPy in the first."""

from __future__ import annotations

from staticgraph.compiler.core.values import Value
from staticgraph.compiler.functions import arranging


def diagonal(x: Value, offset: int = 0, axis1: int = -2, axis2: int = -1) -> Value:
    """The diagonals of the matrices in the last two axes, or in others: (..., size).

    Example:
        >>> sg.linalg.diagonal(np.array([[[1.0, 2.0], [3.0, 4.0]]]))
        array([[1., 4.]])
    """
    return arranging.diagonal(x, offset, axis1, axis2)


def trace(
    x: Value, offset: int = 0, axis1: int = -2, axis2: int = -1, *, dtype: object = None
) -> Value:
    """The sums along the diagonals of the matrices in the last two axes: see `sg.trace`.

    Example:
        >>> sg.linalg.trace(np.array([[[1.0, 2.0], [3.0, 4.0]]]))
        array([5.])
    """
    return arranging.trace(x, offset, axis1, axis2, dtype=dtype)
