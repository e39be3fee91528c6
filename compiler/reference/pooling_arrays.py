"""Pooling on plain arrays: one pass over the images per element of a window.

Each function computes what the expansion or the rules of its op say, without an array of all
windows. The generic tests compare.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np

from staticgraph.compiler.reference.scratch import floats

Pair = tuple[int, int]

FEW = 2048
"""The most windows whose elements are written side by side: beyond, passes over arrays are fast."""


def _padded(x: Any, padding: Pair, value: float) -> Any:
    if padding == (0, 0):
        return x
    (top, left), (height, width) = padding, x.shape[2:]
    whole = np.full((*x.shape[:2], height + 2 * top, width + 2 * left), value, x.dtype)
    _inner(whole, padding)[...] = x
    return whole


def _inner(whole: Any, padding: Pair) -> Any:
    """What the padding surrounds, a view."""
    if padding == (0, 0):
        return whole
    (top, left), (height, width) = padding, whole.shape[2:]
    return whole[:, :, top : height - top, left : width - left]


@lru_cache(1024)
def _places(sizes: Pair, size: Pair, stride: Pair) -> list[Any]:
    """For each place in a window the index of the elements there of all windows."""
    rows, columns = ((have - k) // s + 1 for have, k, s in zip(sizes, size, stride, strict=True))
    down, right = stride
    return [
        (..., slice(i, i + rows * down, down), slice(j, j + columns * right, right))
        for i, j in product(*map(range, size))
    ]


def max_pool2d(x: Any, *, size: Pair, stride: Pair, padding: Pair) -> Any:
    """The largest element of each window."""
    x = _padded(x, padding, -np.inf)
    if min(size) > 1:  # of lines, then of columns: fewer steps than places
        (down, right), (height, width) = size, x.shape[2:]
        x = _combined(np.maximum, x, _places((height, width), (down, 1), (stride[0], 1)))
        return _combined(np.maximum, x, _places((x.shape[2], width), (1, right), (1, stride[1])))
    return _combined(np.maximum, x, _places(x.shape[2:], size, stride))


def _combined(function: Any, x: Any, places: Sequence[Any]) -> Any:
    """What a function of two arrays makes of the elements at all places, a new array."""
    if len(places) == 1:
        return x[places[0]].copy()
    first = x[places[0]]
    result = np.empty(first.shape, x.dtype)
    function(first, x[places[1]], out=result)
    for place in places[2:]:
        function(result, x[place], out=result)
    return result


def max_pool2d_vjp(
    positions: Sequence[int],
    g: Any,
    o: Any,
    x: Any,
    *,
    size: Pair,
    stride: Pair,
    padding: Pair,
) -> Any:
    """g where the first largest element of a window, or the first nan, is."""
    whole = _padded(x, padding, -np.inf)
    add = _add_few if g.size <= FEW else _add_by_place
    return (np.ascontiguousarray(_inner(add(whole, g, o, size, stride), padding)),)


def _add_few(whole: Any, g: Any, o: object, size: Pair, stride: Pair) -> Any:
    """g added where the winners are, from all windows side by side: few steps, much memory."""
    whole = np.ascontiguousarray(whole)
    *lead, down, right = whole.strides
    steps = (*lead, down * stride[0], right * stride[1], down, right)
    windows = np.ndarray((*g.shape, *size), whole.dtype, whole, 0, steps)
    first = windows.reshape(*g.shape, size[0] * size[1]).argmax(-1)  # of nan, if there is one
    starts, inside = _numbers(whole.shape, g.shape, size, stride)
    found = np.zeros(whole.size, g.dtype)
    # the last window first: an element gets its parts in the order of its places in the windows
    np.add.at(found, (starts + inside[first]).ravel()[::-1], g.ravel()[::-1])
    return found.reshape(whole.shape)


@lru_cache(128)
def _numbers(shape: Any, counts: Any, size: Pair, stride: Pair) -> tuple[Any, Any]:
    """Which of all elements starts each window, and how far behind it its others are."""
    place = np.arange(np.prod(shape)).reshape(shape)
    rows, columns = counts[2:]
    starts = place[:, :, : rows * stride[0] : stride[0], : columns * stride[1] : stride[1]]
    return starts[:, :, :rows, :columns], place[0, 0, : size[0], : size[1]].ravel()


def _add_by_place(whole: Any, g: Any, o: Any, size: Pair, stride: Pair) -> Any:
    """The same in a pass over all windows for each place in a window."""
    found = np.zeros(whole.shape, g.dtype)
    left = np.ones(g.shape, np.bool_)  # the windows whose winner comes yet
    zero = g.dtype.type(0)
    for place in _places(whole.shape[2:], size, stride):
        one, target = whole[place], found[place]
        wins = one == o
        wins |= one != one
        wins &= left
        left ^= wins
        np.add(target, np.where(wins, g, zero), out=target)
    return found


def avg_pool2d(x: object, *, size: Pair, stride: Pair, padding: Pair) -> Any:
    """The mean of each window."""
    whole = _padded(floats(x), padding, 0.0)
    result = _combined(np.add, whole, _places(whole.shape[2:], size, stride))
    return np.divide(result, size[0] * size[1], out=result)


def avg_pool2d_vjp(
    positions: Sequence[int],
    g: Any,
    o: object,
    x: Any,
    *,
    size: Pair,
    stride: Pair,
    padding: Pair,
) -> Any:
    """The share of g that each element has of it, of all windows that it is in."""
    (top, left), (height, width) = padding, x.shape[2:]
    whole = np.zeros((*x.shape[:2], height + 2 * top, width + 2 * left), g.dtype)
    share = g / (size[0] * size[1])
    for place in _places(whole.shape[2:], size, stride):
        target = whole[place]
        np.add(target, share, out=target)
    return (np.ascontiguousarray(_inner(whole, padding)),)
