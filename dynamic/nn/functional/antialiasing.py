"""Interpolation to fewer elements without aliasing: each is a mean of all that it stands for."""

from __future__ import annotations

from typing import Any

import numpy as np

from staticgraph.compiler import ops


def _triangle(t: Any) -> Any:
    return np.maximum(1 - t, 0)


def _keys(t: Any) -> Any:
    """The cubic of Keys with a = -0.5, as image libraries have it."""
    a = -0.5
    near = ((a + 2) * t - (a + 3)) * t * t + 1
    far = ((t - 5) * t + 8) * t * a - 4 * a
    return np.where(t < 1, near, np.where(t < 2, far, 0))


_FILTERS = {"bilinear": (_triangle, 1), "bicubic": (_keys, 2)}
"""Per mode the weights by the distance, and how far they reach."""
MODES = tuple(_FILTERS)


def antialiased(x: Any, axis: int, wanted: int, scale: float | None, mode: str, align: bool) -> Any:
    """One axis at another size, each element a weighted mean of a window that grows with the step.

    `scale` is the multiple that the size was given as, or None.
    """
    have = x.shape[axis]
    if align:
        step = (have - 1) / (wanted - 1) if wanted > 1 else 0.0
    else:
        step = have / wanted if scale is None else 1 / scale
    weights = _weights(have, wanted, step, mode).astype(x._array.dtype)
    rows = ops.swapaxes(x, axis, -1)
    return ops.swapaxes(ops.matmul(rows, x._constant(weights.T)), axis, -1)


def _weights(have: int, wanted: int, step: float, mode: str) -> Any:
    """The weight of each element (columns) in each new one (rows)."""
    kernel, reach = _FILTERS[mode]
    wide = max(step, 1.0)
    centers = step * (np.arange(wanted) + 0.5)
    first = np.maximum((centers - reach * wide + 0.5).astype(np.int64), 0)
    last = np.minimum((centers + reach * wide + 0.5).astype(np.int64), have)
    places = np.arange(have)
    distances = np.abs(places - centers[:, None] + 0.5) / wide
    inside = (places >= first[:, None]) & (places < last[:, None])
    found = np.where(inside, kernel(distances), 0.0)
    total = found.sum(1, keepdims=True)
    return found / np.where(total == 0, 1, total)
