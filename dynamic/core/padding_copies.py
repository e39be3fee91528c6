"""Padding of large arrays along the last axis with their own elements: lines are copied.

A kernel of `take` looks each element's index up. That takes twice as long there, and along other
axes, whose slices it copies, no longer.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.reference.copies import LARGE, add_into, copy_into


def _begin(index: Any, size: int) -> int | None:
    """Where all elements are in a row in a padded axis of these indices; None if nowhere."""
    for begin in np.flatnonzero(index[: len(index) - size + 1] == 0).tolist():
        if np.array_equal(index[begin : begin + size], np.arange(size)):
            return int(begin)
    return None


def _around(index: Any, begin: int, size: int) -> list[tuple[int, int]]:
    """The places before and after these elements, each with the element that it has."""
    places = [*range(begin), *range(begin + size, len(index))]
    return list(zip(places, index[places].tolist(), strict=True))


def padded_along(x: Any, index: Any, axis: int, wrap: bool = True) -> Any:
    """`take`, where few indices are beside a row of all of them."""
    size = x.shape[axis]
    begin = _begin(index, size) if x.size >= LARGE and index.ndim == 1 else None
    if begin is None:
        return ops.take.evaluate(x, index, axis=axis, wrap=wrap)
    out = np.empty((*x.shape[:axis], len(index), *x.shape[axis + 1 :]), x.dtype)
    lines, given = np.moveaxis(out, axis, 0), np.moveaxis(x, axis, 0)
    copy_into(lines[begin : begin + size], given)
    for place, element in _around(index, begin, size):
        copy_into(lines[place], given[element])
    return out


def padded_along_vjp(
    positions: Sequence[int], g: Any, o: object, x: Any, index: Any, *, axis: int, wrap: bool = True
) -> Any:
    """The cotangent of x: that of the row of all elements, and to some the others' added."""
    size = x.shape[axis]
    begin = _begin(index, size) if g.size >= LARGE and index.ndim == 1 else None
    if begin is None:
        rule: Any = ops.take.rule(0)
        return [rule(g, o, x, index, axis=axis, wrap=wrap)]
    lines = np.moveaxis(g, axis, 0)
    found = np.empty(x.shape, g.dtype)
    sums = np.moveaxis(found, axis, 0)
    copy_into(sums, lines[begin : begin + size])
    for place, element in _around(index, begin, size):
        add_into(sums[element], lines[place])
    return [found]
