"""Padding of large arrays along the last axis with their own elements: lines are copied.

A kernel of `take` looks each element's index up. That takes twice as long there, and along other
axes, whose slices it copies, no longer.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core import provided
from staticgraph.compiler.core.settings import COMPILE_LARGE_OPS
from staticgraph.compiler.reference.copies import LARGE, add_into, copy_into
from staticgraph.dynamic.core.dtypes import F32, F64


def _begin(index: Any, size: int) -> int | None:
    """Where all elements are in a row in a padded axis of these indices; None if nowhere."""
    for begin in np.flatnonzero(index[: len(index) - size + 1] == 0).tolist():
        if np.array_equal(index[begin : begin + size], np.arange(size)):
            return int(begin)
    return None


def _around(index: Any, begin: int, size: int) -> tuple[Any, Any]:
    """The places before and after these elements, and the elements that they have."""
    places = np.array([*range(begin), *range(begin + size, len(index))], np.int64)
    return places, index[places].astype(np.int64, copy=False)


def _in_lines(x: Any, axis: int) -> bool:
    """Whether there is a loop over lines along an axis."""
    return axis == x.ndim - 1 and x.dtype in (F32, F64) and not COMPILE_LARGE_OPS.is_off


def padded_along(x: Any, index: Any, axis: int, wrap: bool = True) -> Any:
    """`take`, where few indices are beside a row of all of them."""
    size = x.shape[axis]
    begin = _begin(index, size) if x.size >= LARGE and index.ndim == 1 else None
    if begin is None:
        return ops.take.evaluate(x, index, axis=axis, wrap=wrap)
    out = np.empty((*x.shape[:axis], len(index), *x.shape[axis + 1 :]), x.dtype)
    places, elements = _around(index, begin, size)
    if _in_lines(x, axis):
        provided.padded_lines(out, np.ascontiguousarray(x), places, elements, begin, False)
        return out
    lines, given = np.moveaxis(out, axis, 0), np.moveaxis(x, axis, 0)
    copy_into(lines[begin : begin + size], given)
    for place, element in zip(places.tolist(), elements.tolist(), strict=True):
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
    places, elements = _around(index, begin, size)
    found = np.empty(x.shape, g.dtype)
    if _in_lines(g, axis):
        provided.padded_lines(found, np.ascontiguousarray(g), places, elements, begin, True)
        return [found]
    lines, sums = np.moveaxis(g, axis, 0), np.moveaxis(found, axis, 0)
    copy_into(sums, lines[begin : begin + size])
    for place, element in zip(places.tolist(), elements.tolist(), strict=True):
        add_into(sums[element], lines[place])
    return [found]
