"""Pooling on plain arrays: one pass over the images per element of a window.

Each function computes what the expansion or the rules of its op say, without an array of all
windows. The generic tests compare.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
    (top, left), (height, width) = padding, whole.shape[2:]
    return whole[:, :, top : height - top, left : width - left]


def _elements(whole: Any, size: Pair, stride: Pair) -> Iterator[Any]:
    """For each place in a window the elements there of all windows, a view."""
    rows, columns = (
        (have - k) // s + 1 for have, k, s in zip(whole.shape[2:], size, stride, strict=True)
    )
    down, right = stride
    for i, j in product(*map(range, size)):
        yield whole[:, :, i : i + rows * down : down, j : j + columns * right : right]


def max_pool2d(x: object, *, size: Pair, stride: Pair, padding: Pair) -> Any:
    """The largest element of each window."""
    first, *rest = _elements(_padded(x, padding, -np.inf), size, stride)
    result = first.copy()
    for one in rest:
        np.maximum(result, one, out=result)
    return result


def max_pool2d_vjp(
    positions: Sequence[int],
    g: Any,
    o: object,
    x: object,
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
    pairs = zip(_elements(whole, size, stride), _elements(found, size, stride), strict=True)
    for one, target in pairs:
        wins = one == o
        wins |= one != one
        wins &= left
        left ^= wins
        np.add(target, np.where(wins, g, zero), out=target)
    return (np.ascontiguousarray(_inner(found, padding)),)


def avg_pool2d(x: object, *, size: Pair, stride: Pair, padding: Pair) -> Any:
    """The mean of each window."""
    first, *rest = _elements(_padded(floats(x), padding, 0.0), size, stride)
    result = first.copy()
    for one in rest:
        np.add(result, one, out=result)
    return np.divide(result, size[0] * size[1], out=result)
