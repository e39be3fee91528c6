"""`x[key]`: slices, then one gather along the axes that indices name, then the order of the axes.

Indices of several axes become one along those axes laid flat, with what stands between them: so a
read, and its gradient, cost what is touched. Each index is checked against its own axis.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from staticgraph.compiler.core.dims import Size, product
from staticgraph.compiler.core.errors import ShapeError
from staticgraph.compiler.core.record import Record, record
from staticgraph.compiler.core.types import Shape, TensorType, broadcast_shapes
from staticgraph.compiler.core.values import Value
from staticgraph.compiler.ops.declare import INT64, as_operand, size_value
from staticgraph.compiler.ops.indexing.keys import INDEXED, NEW, Selection, numbers, selection
from staticgraph.compiler.ops.indexing.take import take
from staticgraph.compiler.ops.shapes.shape import (
    broadcast_to,
    expand_dims,
    flip,
    reshape,
    squeeze,
    transpose,
)
from staticgraph.compiler.ops.shapes.slicing import strided_slice


def getitem(x: Value, key: Value) -> Value:
    """`x[key]` for every index of NumPy's whose number of elements does not depend on values.

    Numbers, slices, None, Ellipsis; tensors of integers, which broadcast, for one or several axes;
    masks whose values are known; sizes that are unknown until run time; and slices with a start
    that is computed, `x[i : i + n]`. Where indices stand apart their axes come first, as in NumPy.

    Raises:
        OutOfRangeError: an index is outside of its axis, in the definition or when it runs.
        ShapeError: how many elements there are depends on values.
        DTypeError: what is no index.
    """
    x = as_operand(x)
    chosen = selection(x, key)
    if chosen.mask is not None:
        raise ShapeError(
            "getitem: how many elements a mask takes depends on its values: give their number, "
            "x.at[mask].get(size=n), or use where(mask, x, 0)"
        )
    if not (chosen.indices or chosen.moving):
        return arranged(part_of(chosen), tuple(range(chosen.x.ndim)), chosen)
    found = gathered_places(chosen)
    return arranged(take(found.laid(found.part), found.index, found.first), found.labels, chosen)


# -- slices and numbers ----------------------------------------------------------------------------


def part_of(chosen: Selection) -> Any:
    """What slices and numbers leave of x, of its rank."""
    changed = chosen.dropped or len(chosen.order) != chosen.x.ndim
    backward = tuple(axis for axis, span in enumerate(chosen.spans) if span[2] < 0)
    sliced = _sizes(chosen) != tuple(chosen.x.shape) or any(
        start != 0 for start, _, step in chosen.spans if step > 0
    )
    x = chosen.x
    if sliced or not (backward or changed or chosen.indices or chosen.moving):
        starts, steps = window_of(chosen)
        x = strided_slice(x, starts, _sizes(chosen), steps)
    return flip(x, backward) if backward else x


def _sizes(chosen: Selection) -> Shape:
    return tuple(length for _, length, _ in chosen.spans)


def window_of(chosen: Selection) -> tuple[tuple[Size, ...], tuple[int, ...]]:
    """The starts and steps of the part, with steps forward."""
    starts, steps = [], []
    for start, length, step in chosen.spans:
        starts.append(start if step > 0 else start + (length - 1) * step)
        steps.append(abs(step))
    return tuple(starts), tuple(steps)


# -- the order of the axes -------------------------------------------------------------------------


def arranged(found: Any, labels: Sequence[int], chosen: Selection) -> Any:
    """Axes with these labels in the order of the result."""
    dropped = tuple(i for i, label in enumerate(labels) if label in chosen.dropped)
    if dropped:
        found = squeeze(found, dropped)
    permutation = _permutation(labels, chosen)
    if permutation != tuple(range(len(permutation))):
        found = transpose(found, permutation)
    new = _new_axes(labels, chosen)
    return expand_dims(found, new) if new else found


def spread(values: Any, labels: Sequence[int], sizes: Shape, chosen: Selection) -> Any:
    """Values that broadcast to the result, as its axes lie before `arranged`; numbers stay so."""
    if isinstance(values, bool | int | float | complex):
        return values
    new, permutation = _new_axes(labels, chosen), _permutation(labels, chosen)
    kept = [size for label, size in zip(labels, sizes, strict=True) if label not in chosen.dropped]
    shape: list[Size] = [kept[i] for i in permutation]
    for axis in new:
        shape.insert(axis, 1)
    extra = values.ndim - len(shape)
    if extra > 0 and all(size == 1 for size in values.shape[:extra]):
        values = squeeze(values, tuple(range(extra)))
    _require_broadcast(values, shape)
    values = broadcast_to(values, tuple(shape))
    values = squeeze(values, new) if new else values
    if permutation != tuple(range(len(permutation))):
        values = transpose(values, tuple(int(i) for i in np.argsort(permutation)))
    dropped = tuple(i for i, label in enumerate(labels) if label in chosen.dropped)
    return expand_dims(values, dropped) if dropped else values


def _require_broadcast(values: Any, shape: Sequence[Size]) -> None:
    """ShapeError unless values broadcast to what a key selects."""
    pairs = list(zip(reversed(values.shape), reversed(shape), strict=False))
    known = ((a, b) for a, b in pairs if isinstance(a, int) and isinstance(b, int))
    if values.ndim > len(shape) or any(a not in (1, b) for a, b in known):
        selected = TensorType(tuple(shape), np.dtype(values.dtype))
        given = TensorType(tuple(values.shape), np.dtype(values.dtype))
        raise ShapeError(f"at: values {given} do not broadcast to {selected}, which is selected")


def _permutation(labels: Sequence[int], chosen: Selection) -> tuple[int, ...]:
    """Where each axis of the result, but for new ones, is among those that are not dropped."""
    kept = [label for label in labels if label not in chosen.dropped]
    found: list[int] = []
    for label in chosen.order:
        found.extend(i for i, one in enumerate(kept) if one == label)
    return tuple(found)


def _new_axes(labels: Sequence[int], chosen: Selection) -> tuple[int, ...]:
    places, at = [], 0
    for label in chosen.order:
        if label == NEW:
            places.append(at)
            at += 1
        else:
            at += sum(one == label for one in labels)
    return tuple(places)


# -- indices ---------------------------------------------------------------------------------------


@record
class Places(Record):
    """What is gathered, as one gather along an axis.

    Attributes:
        part: of x, of its rank.
        first, stop: the axes of it that are laid flat.
        index: the places along them.
        labels: of the axes of the result, in order: axes of x, and `INDEXED`.
    """

    part: Value
    first: int
    stop: int
    index: Value
    labels: tuple[int, ...]

    def laid(self, part: Any) -> Any:
        """The part with the axes flat."""
        if self.stop == self.first + 1:
            return part
        flat = product(part.shape[self.first : self.stop])
        return reshape(part, (*part.shape[: self.first], flat, *part.shape[self.stop :]))


def gathered_places(chosen: Selection) -> Places:
    """The one gather that a key with indices is."""
    ndim = chosen.x.ndim
    indexed = {**chosen.indices, **chosen.moving}
    if len(indexed) == 1:
        ((axis, index),) = indexed.items()
        index = as_operand(index)
        middle = [axis] if axis in chosen.moving else [INDEXED] * index.ndim
        labels = (*range(axis), *middle, *range(axis + 1, ndim))
        return Places(part_of(chosen), axis, axis + 1, index, labels)
    sliced = [
        axis for axis, span in enumerate(chosen.spans) if span != (0, chosen.x.shape[axis], 1)
    ]
    first, stop = min(*indexed, *sliced), max(*indexed, *sliced) + 1
    index, middle = _flat_index(chosen, first, stop)
    labels = (*range(first), *middle, *range(stop, ndim))
    return Places(chosen.x, first, stop, index, labels)


def _flat_index(chosen: Selection, first: int, stop: int) -> tuple[Any, list[int]]:
    """The places along the flat axes, and the labels of its own axes."""
    x = chosen.x
    types = [TensorType(tuple(one.shape), INT64) for one in chosen.indices.values()]
    shape = broadcast_shapes("getitem", *types) if types else ()
    behind = [axis for axis in range(first, stop) if not _is_pinned(chosen, axis)]
    total: Any = None
    for axis in range(first, stop):
        size = x.shape[axis]
        if axis in chosen.indices:
            part = _checked(x, size, chosen.indices[axis])
            part = expand_dims(part, tuple(range(part.ndim, part.ndim + len(behind))))
        elif axis in chosen.dropped:
            part = size_value(chosen.spans[axis][0], numbers(x, size))
        else:
            part = _along(chosen, axis)
            rest = len(behind) - 1 - behind.index(axis)
            part = expand_dims(part, tuple(range(1, 1 + rest))) if rest else part
        stride = size_value(product(x.shape[axis + 1 : stop]), numbers(x, size))
        part = part if isinstance(stride, int) and stride == 1 else part * stride
        total = part if total is None else total + part
    return total, [INDEXED] * len(shape) + behind


def _is_pinned(chosen: Selection, axis: int) -> bool:
    return axis in chosen.indices or axis in chosen.dropped


def _along(chosen: Selection, axis: int) -> Any:
    """The places along an axis that a slice takes."""
    if axis in chosen.moving:
        return chosen.moving[axis]
    start, length, step = chosen.spans[axis]
    places = numbers(chosen.x, length)
    places = places if step == 1 else places * step
    return places if start == 0 else places + size_value(start, places)


def _checked(x: Any, size: Size, index: Any) -> Any:
    """An index counted from the front, checked against the size of its axis."""
    index = as_operand(index)
    if isinstance(index, np.ndarray | np.generic) and isinstance(size, int):
        array = np.asarray(index).astype(np.int64)
        if not array.size or (-size <= array.min() and array.max() < size):
            return np.where(array < 0, array + size, array)
    return take(numbers(x, size), index, 0)
