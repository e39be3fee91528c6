"""The places of elements in order on plain arrays: stable, nan last, or first if descending.

NumPy sorts whole numbers with vectors, in a tenth of the time of a stable sort. So a value and its
place become one number of 64 bits, which no other is equal to: in order of the numbers the places
are those of a stable sort. Values that are too far apart for that are sorted by their lower
halves, and what is in this order by the upper ones.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from staticgraph.compiler.core.values import Array

LEAST = 64
"""The length from which it is faster, of many rows."""
LEAST_IN_ALL = 512
"""The elements of all rows from which it is: what is fixed takes 12 us."""
LEAST_OF_HALVES = 1024
"""The length from which it is faster to sort twice."""
_FIRST = 64
"""The elements that tell of most arrays that they are in no order."""
_HALF = np.uint64(32)
_LOWER = np.uint64(0xFFFFFFFF)


def order(
    x: Any, *, axis: int, descending: bool, sort: Callable[..., object] = np.ndarray.sort
) -> Any:
    """The places along an axis in order; `sort(numbers, axis)` sorts in place."""
    is_large = x.shape[axis] >= LEAST and x.size >= LEAST_IN_ALL
    keys = _keys(x, axis, descending) if is_large else None
    if keys is not None:
        places = _order_of_keys(keys, sort)
        if places is not None:
            return np.ascontiguousarray(np.moveaxis(places.view(np.int64), -1, axis))
    if not descending:
        return np.argsort(x, axis, kind="stable")
    found = np.argsort(np.flip(x, axis), axis, kind="stable")
    return np.flip(x.shape[axis] - 1 - found, axis)


def first_in_order(x: Any, count: int, axis: int, descending: bool) -> Any:
    """The first places along an axis in order."""
    size = x.shape[axis]
    if 0 < count < size and size >= LEAST and x.size >= LEAST_IN_ALL:
        found = _among_candidates(x, count, axis, descending)
        if found is None and 4 * count < 3 * size and x.dtype.kind in "fiu":
            found = _selected(x, count, axis, descending)
        if found is not None:
            return found
    places: Array = order(x, axis=axis, descending=descending)
    return np.ascontiguousarray(places[(slice(None),) * axis + (slice(count),)])


def _selected(x: Any, count: int, axis: int, descending: bool) -> Any:
    """The first places of rows: of what the last of them bounds, which NumPy selects."""
    rows = np.ascontiguousarray(np.moveaxis(x, axis, -1))
    shape, size = (*rows.shape[:-1], count), rows.shape[-1]
    rows = rows.reshape(-1, size)
    kth = size - count if descending else count - 1
    bound = np.partition(rows, kth, axis=-1)[:, kth, None]
    missing = np.isnan(bound)
    if len(rows) == 1 and not missing[0, 0]:
        return np.moveaxis(_bounded(rows[0], bound[0], count, descending).reshape(shape), -1, axis)
    if descending:  # nan is the largest
        better, equal = ~(rows <= bound), rows == bound
    else:
        better, equal = rows < bound, rows == bound
    if missing.any():
        absent = np.isnan(rows)
        better = np.where(missing, ~absent & (not descending), better)
        equal = np.where(missing, absent, equal)
    wanted = count - better.sum(-1, keepdims=True)
    if (equal.sum(-1, keepdims=True) != wanted).any():
        equal &= equal.cumsum(-1) <= wanted
    place = (np.flatnonzero(better | equal) % size).reshape(len(rows), count)
    inside = order(np.take_along_axis(rows, place, -1), axis=-1, descending=descending)
    chosen = np.take_along_axis(place, inside, -1).reshape(shape)
    return np.ascontiguousarray(np.moveaxis(chosen, -1, axis))


def _bounded(row: Any, bound: Any, count: int, descending: bool) -> Any:
    """The first places of a row: they are among those of what is as good as the last of them."""
    place = np.flatnonzero(~(row < bound) if descending else row <= bound)
    return place[order(row[place], axis=0, descending=descending)[:count]]


def _keys(x: Any, axis: int, descending: bool) -> Any:
    """Per element an unsigned integer in the order of the values; the axis becomes the last one.

    None for other dtypes than floats of 32 and 64 bits and integers, and for axes whose places need
    more than 32 bits.
    """
    kind, width = x.dtype.kind, x.dtype.itemsize
    if x.shape[axis] >= 1 << 32 or not ((kind == "f" and width in (4, 8)) or kind in "iu"):
        return None
    rows = np.ascontiguousarray(np.moveaxis(x, axis, -1))
    if kind == "f":
        unsigned = np.dtype(f"u{width}")
        sign = unsigned.type(1 << (8 * width - 1))
        rows = rows + rows.dtype.type(0)  # -0.0 is 0.0
        bits = np.where(np.isnan(rows), rows.dtype.type(np.nan), rows).view(unsigned)
        keys = np.where(bits & sign, ~bits, bits | sign)
    elif kind == "i":
        keys = rows.astype(np.int64).view(np.uint64) ^ np.uint64(1 << 63)
    else:
        keys = rows
    return ~keys if descending else keys


def _in_order(keys: Any) -> bool:
    """Whether nothing along the last axis is less than what is before it."""
    return bool((keys[..., 1:] >= keys[..., :-1]).all())


def _order_of_keys(keys: Any, sort: Callable[..., object]) -> Any:
    """The places along the last axis in order, uint64; None where a stable sort is faster."""
    count = keys.shape[-1]
    if _in_order(keys[..., :_FIRST]) and _in_order(keys):
        return np.broadcast_to(np.arange(count, dtype=np.uint64), keys.shape).copy()
    least = keys.min()
    spread, bits = int(keys.max() - least).bit_length(), (count - 1).bit_length()
    if spread + bits > 64:
        if count < LEAST_OF_HALVES:
            return None
        lower = _order_of_keys(keys & _LOWER, sort)
        upper = np.take_along_axis(keys >> _HALF, lower.view(np.int64), -1)
        order_of_upper = _order_of_keys(upper, sort).view(np.int64)
        return np.take_along_axis(lower, order_of_upper, -1)
    numbers = (keys - least).astype(np.uint64)
    numbers <<= np.uint64(bits)
    numbers |= np.arange(count, dtype=np.uint64)
    sort(numbers, -1)
    numbers &= np.uint64((1 << bits) - 1)
    return numbers


def _among_candidates(x: Any, count: int, axis: int, descending: bool) -> Any:
    """The first places of rows of floats, looked for among those that can be first.

    Each of the `count` best parts of a row has an element as good as the best of the worst of
    them: so what is worse than that is not among the first. None where this does not help.
    """
    size, part = x.shape[axis], 64
    if x.dtype.kind != "f" or x.dtype.itemsize < 4 or size < 4 * part * count or not x.size:
        return None
    rows = np.ascontiguousarray(np.moveaxis(x, axis, -1))
    shape = (*rows.shape[:-1], count)
    rows = rows.reshape(-1, size)
    best = np.maximum if descending else np.minimum
    # the elements of a part lie apart, so that many parts are gone through at once
    parts = rows[:, : size // part * part].reshape(len(rows), part, -1)
    bests = best.reduce(parts, 1)
    if np.isnan(bests).any() or np.isnan(rows[:, size // part * part :]).any():
        return None
    kth = bests.shape[1] - count if descending else count - 1
    bound = np.partition(bests, kth, axis=-1)[:, kth, None]
    row, place = np.divmod(np.flatnonzero(rows >= bound if descending else rows <= bound), size)
    values = rows[row, place]
    inside = np.lexsort((place, -values if descending else values, row))
    begins = np.searchsorted(row, np.arange(len(rows)))
    chosen = inside[begins[:, None] + np.arange(count)]
    return np.ascontiguousarray(np.moveaxis(place[chosen].reshape(shape), -1, axis))
