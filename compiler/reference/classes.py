"""The cross entropy of class indices on plain arrays: few NumPy calls, mostly in place."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from staticgraph.compiler.core.values import Array
from staticgraph.compiler.reference.direct import shift
from staticgraph.compiler.reference.indices import check_range
from staticgraph.compiler.reference.totals import total, whole


def _shifted(x: Any) -> tuple[Any, Any, Any]:
    """x less the maximum of its row, the exponential of that, and its sums along the rows."""
    shifted = np.subtract(x, shift(x, 1))
    exponential = np.exp(shifted)
    return shifted, exponential, total(exponential, (1,), False)


def _places(x: Any, target: object) -> Any:
    """The positions in the flat x (n, c) of the element that each target (n,) names."""
    rows, classes = x.shape
    return check_range("cross_entropy", target, classes, wrap=False) + row_starts(rows, classes)


@functools.lru_cache(maxsize=64)
def row_starts(rows: int, columns: int) -> Any:
    """Where the rows of a matrix start in the flat one."""
    return np.arange(0, rows * columns, columns)


def cross_entropy(x: Array, target: Array, *, reduction: str) -> Array:
    """The cross entropy of x (n, c) and class indices (n,)."""
    shifted, _, sums = _shifted(x)
    losses: Array = np.log(sums, sums)
    np.subtract(losses, shifted.take(_places(x, target)), losses)
    if reduction == "none":
        return losses
    return whole(losses) / len(losses) if reduction == "mean" else whole(losses)


def cross_entropy_vjp(g: Any, x: object, target: Any, *, reduction: str) -> Any:
    """(softmax(x) - one_hot(target)) g for x (n, c)."""
    if reduction == "mean":
        g = g / len(target)
    elif reduction == "none":
        g = g[:, None]
    _, result, sums = _shifted(x)
    np.divide(result, sums[:, None], result)
    result.reshape(-1)[_places(x, target)] -= 1
    return np.multiply(result, g, result)
