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
    return _combined(np.maximum, x, _places(x.shape[2:], size, stride))


def _combined(function: Any, x: Any, places: Sequence[Any]) -> Any:
    """What a function of two arrays makes of the elements at all places, a new array."""
    if len(places) == 1:
        return x[places[0]].copy()
    first = x[places[0]]
    result = np.empty(first.shape, x.dtype)
    function(first, x[places[1]], result)
    for place in places[2:]:
        function(result, x[place], result)
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
    found = np.zeros(whole.shape, g.dtype)
    left = np.ones(g.shape, np.bool_)  # the windows whose winner comes yet
    zero = g.dtype.type(0)
    has_nan = (o != o).any()
    for place in _places(whole.shape[2:], size, stride):
        one, target = whole[place], found[place]
        wins = one == o
        if has_nan:
            wins |= one != one
        wins &= left
        left ^= wins
        np.add(target, np.where(wins, g, zero), target)
    return (np.ascontiguousarray(_inner(found, padding)),)


def avg_pool2d(x: object, *, size: Pair, stride: Pair, padding: Pair) -> Any:
    """The mean of each window."""
    x = _padded(floats(x), padding, 0.0)
    result = _combined(np.add, x, _places(x.shape[2:], size, stride))
    return np.divide(result, size[0] * size[1], result)


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
        np.add(target, share, target)
    return (np.ascontiguousarray(_inner(whole, padding)),)
