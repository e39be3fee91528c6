"""Indices on plain arrays: checked, and counted from the front."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from staticgraph.compiler.core.errors import DTypeError, OutOfRangeError
from staticgraph.compiler.core.values import Array, Value
from staticgraph.compiler.reference.extremes import largest_of_all

_FEW = 256
"""The most elements that are searched twice in less time than they are looked at otherwise."""
_INT64, _UINT64 = np.dtype(np.int64), np.dtype(np.uint64)


def check_range(op: str, index: Value, size: int, wrap: bool = True) -> Value:
    """The index as int64 >= 0.

    Raises:
        OutOfRangeError: it is outside of [0, size), or [-size, size) if `wrap`.
        DTypeError: it is not of integers, unless there are none.
    """
    if index.dtype is not _INT64:
        if index.dtype.kind not in "iu" and index.size:
            raise DTypeError(f"{op}: an index of {index.dtype} is not of integers")
        index = index.astype(_INT64, copy=False)  # a narrow dtype may not hold the size
    if 0 < index.size <= _FEW:
        if index.item(index.argmax()) < size and index.item(index.argmin()) >= 0:
            return index
    # a negative index is a large one without its sign, so one sweep tells that all is well
    elif not index.size or largest_of_all(index.view(_UINT64)) < size:
        return index
    least = -size if wrap else 0
    if index.min() < least or index.max() >= size:
        bad = index[(index < least) | (index >= size)].flat[0]
        raise OutOfRangeError(f"{op}: index {bad} is out of range for an axis of size {size}")
    return np.where(index < 0, index + size, index)


def places_other_than_zero(x: Array) -> list[Array]:
    """Along each axis the coordinates of the elements that are not 0, in their order."""
    mask = x if x.dtype == np.bool_ else np.not_equal(x, 0)  # NumPy looks for others one by one
    found = np.flatnonzero(mask)
    if x.ndim < 2 or not found.size:
        return [found] if x.ndim == 1 else list(np.unravel_index(found, x.shape))
    length = x.shape[-1]
    starts = np.arange(0, x.size, length)
    counts = np.diff(found.searchsorted(starts), append=found.size)
    rows = np.unravel_index(np.arange(starts.size), x.shape[:-1])
    return [*(one.repeat(counts) for one in rows), found - starts.repeat(counts)]


def taken_along(x: Any, index: Any, axis: int) -> Any:
    """The elements at an index of x's rank along an axis; off it the sizes are the same."""
    others = coordinates(index.shape, axis)
    return x[(*others[:axis], index, *others[axis + 1 :])]


@lru_cache(64)
def coordinates(shape: tuple[int, ...], axis: int) -> tuple[Any, ...]:
    """The coordinates along the other axes, to index with; of `axis` itself none."""
    return np.ix_(*[np.arange(1 if i == axis else size) for i, size in enumerate(shape)])
