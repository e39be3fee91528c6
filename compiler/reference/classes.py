"""The cross entropy of class indices on plain arrays: few NumPy calls, mostly in place."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from staticgraph.compiler.core.values import Array, Value
from staticgraph.compiler.reference.direct import shift
from staticgraph.compiler.reference.indices import check_range
from staticgraph.compiler.reference.totals import total, whole


def _shifted(x: Any) -> tuple[Any, Any, Any]:
    """x less the maximum of its row, the exponential of that, and its sums along the rows."""
    shifted = np.subtract(x, shift(x, 1))
    exponential = np.exp(shifted)
    return shifted, exponential, total(exponential, (1,), False)


def places(x: Value, target: object) -> Value:
    """The positions in the flat x (n, c) of the element that each target (n,) names."""
    rows, classes = x.shape
    return check_range("cross_entropy", target, classes, wrap=False) + row_starts(rows, classes)


@functools.lru_cache(maxsize=64)
def row_starts(rows: int, columns: int) -> Array:
    """Where the rows of a matrix start in the flat one."""
    return np.arange(0, rows * columns, columns)


def cross_entropy(x: Array, target: Array, *, reduction: str) -> Array:
    """The cross entropy of x (n, c) and class indices (n,)."""
    return reduced(losses_of(x, target), reduction)


def reduced(losses: Array, reduction: str) -> Array:
    """Losses as they are, their mean, or their sum."""
    if reduction == "none":
        return losses
    return whole(losses) / len(losses) if reduction == "mean" else whole(losses)


def cross_entropy_vjp(g: Any, x: Any, target: Any, *, reduction: str) -> Any:
    """(softmax(x) - one_hot(target)) g for x (n, c)."""
    if reduction == "mean":
        g = g / len(target)
    elif reduction == "none":
        g = g[:, None]
    return slopes_of(x, target, g)


def losses_of(x: Array, target: Array) -> Array:
    """The cross entropy of each row."""
    shifted, _, sums = _shifted(x)
    losses: Array = np.log(sums, sums)
    np.subtract(losses, named(shifted, target), losses)
    return losses


def slopes_of(x: Array, target: Array, g: Array) -> Array:
    """(softmax(x) - one_hot(target)) g."""
    _, result, sums = _shifted(x)
    result = less(np.divide(result, sums[:, None], result), target)
    slopes: Array = np.multiply(result, g, result)
    return slopes


def named(x: Value, target: Value) -> Value:
    """Of each row of x (n, c) the element that a target (n,) names."""
    note: Any = getattr(x, "note_named", None)
    if note is not None:  # an array that notes what is done with it, for `compiler.runtime.loops`
        return note(target)
    return x.take(places(x, target))


def less(x: Any, target: Any) -> Any:
    """x with these elements less by 1, in place."""
    note: Any = getattr(x, "note_less", None)
    if note is not None:
        return note(target)
    found = places(x, target)
    if x.flags.c_contiguous:
        x.reshape(-1)[found] -= 1
    else:  # what is flat would be a copy: logits whose columns are next to each other
        x[np.divmod(found, x.shape[1])] -= 1
    return x
