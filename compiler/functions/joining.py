"""Functions that join tensors and take them apart: NumPy's, composed of shared ops."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core.dims import Dim, Size, maximum
from staticgraph.compiler.core.errors import DTypeError, OptionError, ShapeError
from staticgraph.compiler.core.op import Operand
from staticgraph.compiler.core.types import broadcast_shapes, normalise_axis, type_of
from staticgraph.compiler.core.values import Value
from staticgraph.compiler.functions.arranging import (
    atleast_1d,
    atleast_2d,
    atleast_3d,
    axis_or_whole,
    ravel,
)
from staticgraph.compiler.ops.declare import as_operand, size_value, zeros_like
from staticgraph.compiler.ops.indexing.keys import numbers, slice_bounds
from staticgraph.compiler.ops.shapes.slicing import slice_axis

__all__ = [
    "append", "array_split", "block", "broadcast_arrays", "column_stack", "concat", "delete",
    "dsplit", "dstack", "ediff1d", "hsplit", "hstack", "insert", "ix_", "meshgrid", "select",
    "vsplit", "vstack",
]  # fmt: skip


def _cast(tensors: Sequence[Value], dtype: object) -> Sequence[Value]:
    return tensors if dtype is None else [ops.astype(one, dtype) for one in tensors]


def concat(tensors: Sequence[Value], axis: int | None = 0, *, dtype: object = None) -> Value:
    """Tensors joined along an axis: the array API's name of `concatenate`; flat ones if None.

    With `dtype` they are cast first, as by `stack` and the like.

    Example:
        >>> sg.concat([np.array([1.0]), np.array([2.0, 3.0])])
        array([1., 2., 3.])
    """
    tensors = _cast(tensors, dtype)
    if axis is None:
        return ops.concatenate([ravel(one) for one in tensors])
    return ops.concatenate(tensors, axis)


def hstack(tensors: Sequence[Value], *, dtype: object = None) -> Value:
    """Tensors joined along their second axis, vectors along their only one.

    Example:
        >>> sg.hstack([np.array([1.0]), np.array([2.0, 3.0])])
        array([1., 2., 3.])
    """
    grown = [atleast_1d(one) for one in _cast(tensors, dtype)]
    return ops.concatenate(grown, 0 if grown and grown[0].ndim == 1 else 1)


def vstack(tensors: Sequence[Value], *, dtype: object = None) -> Value:
    """Tensors joined along their first axis, vectors as rows.

    Example:
        >>> sg.vstack([np.array([1.0, 2.0]), np.array([3.0, 4.0])])
        array([[1., 2.],
               [3., 4.]])
    """
    return ops.concatenate([atleast_2d(one) for one in _cast(tensors, dtype)], 0)


def dstack(tensors: Sequence[Value]) -> Value:
    """Tensors joined along their third axis.

    Example:
        >>> sg.dstack([np.array([1.0, 2.0]), np.array([3.0, 4.0])])
        array([[[1., 3.],
                [2., 4.]]])
    """
    return ops.concatenate([atleast_3d(one) for one in tensors], 2)


def column_stack(tensors: Sequence[Value]) -> Value:
    """Tensors joined along their second axis, vectors as columns.

    Example:
        >>> sg.column_stack([np.array([1.0, 2.0]), np.array([3.0, 4.0])])
        array([[1., 3.],
               [2., 4.]])
    """
    grown = [as_operand(one) for one in tensors]
    return ops.concatenate([x if x.ndim > 1 else ops.reshape(x, (-1, 1)) for x in grown], 1)


def block(tensors: Value) -> Value:
    """Nested lists of tensors as one: the innermost lists are joined along the last axis.

    Example:
        >>> sg.block([[np.array([[1.0]]), np.array([[2.0]])], [np.array([[3.0, 4.0]])]])
        array([[1., 2.],
               [3., 4.]])
    """
    depth = _depth(tensors)
    ndim = max(depth, *(np.ndim(one) for one in _innermost(tensors)))
    return _joined(tensors, depth, ndim)


def _depth(tensors: Any) -> int:
    if not isinstance(tensors, list):
        return 0
    if not tensors:
        raise OptionError("block: a list has nothing in it")
    depths = {_depth(one) for one in tensors}
    if len(depths) > 1:
        raise OptionError(f"block: lists of different depths side by side: {sorted(depths)}")
    return 1 + depths.pop()


def _innermost(tensors: Any) -> list[Any]:
    if not isinstance(tensors, list):
        return [tensors]
    return [one for inner in tensors for one in _innermost(inner)]


def _joined(tensors: Any, depth: int, ndim: int) -> Any:
    if not isinstance(tensors, list):
        x = as_operand(tensors)
        return ops.reshape(x, (1,) * (ndim - x.ndim) + tuple(x.shape))
    return ops.concatenate([_joined(one, depth - 1, ndim) for one in tensors], ndim - depth)


def broadcast_arrays(*tensors: Value) -> list[Value]:
    """All tensors in the shape that they broadcast to.

    Example:
        >>> sg.broadcast_arrays(np.array([1.0, 2.0]), np.array([[3.0]]))
        [array([[1., 2.]]), array([[3., 3.]])]
    """
    listed = [as_operand(one) for one in tensors]
    types = [type_of(one) if isinstance(one, np.ndarray) else one for one in listed]
    shape = broadcast_shapes("broadcast_arrays", *types)
    return [ops.broadcast_to(one, shape) for one in listed]


def meshgrid(*tensors: Value, indexing: str = "xy", sparse: bool = False) -> list[Value]:
    """Per vector its elements along an axis of its own, in the shape of all of them.

    The first two axes are exchanged with "xy", and not with indexing="ij"; with `sparse` the other
    axes have size 1.

    Example:
        >>> sg.meshgrid(np.array([1.0, 2.0]), np.array([3.0]))
        [array([[1., 2.]]), array([[3., 3.]])]
    """
    if indexing not in ("xy", "ij"):
        raise OptionError(f"meshgrid: indexing is 'xy' or 'ij', not {indexing!r}")
    vectors = [ravel(one) for one in tensors]
    places = list(range(len(vectors)))
    if indexing == "xy" and len(vectors) > 1:
        places[:2] = 1, 0
    shape: list[Size] = [1] * len(vectors)
    for place, vector in zip(places, vectors, strict=True):
        shape[place] = vector.shape[0]
    lone = [
        ops.reshape(vector, tuple(size if i == place else 1 for i, size in enumerate(shape)))
        for place, vector in zip(places, vectors, strict=True)
    ]
    return lone if sparse else [ops.broadcast_to(one, tuple(shape)) for one in lone]


def ix_(*tensors: Value) -> tuple[Value, ...]:
    """Per vector its elements along an axis of its own, the others of size 1.

    Of a vector of bools, which is an array, the places where it holds.

    Example:
        >>> [one.shape for one in sg.ix_(np.array([1, 2]), np.array([3, 4, 5]))]
        [(2, 1), (1, 3)]
    """
    listed = [as_operand(one) for one in tensors]
    for i, x in enumerate(listed):
        if np.dtype(x.dtype).kind == "b":
            if not isinstance(x, np.ndarray):
                raise OptionError("ix_: the places where bools hold depend on values: use nonzero")
            listed[i] = np.flatnonzero(x)
    return tuple(meshgrid(*listed, indexing="ij", sparse=True))


# -- taking apart --------------------------------------------------------------------------------


def array_split(x: Value, indices_or_sections: int | Sequence[int], axis: int = 0) -> list[Value]:
    """`x` cut along an axis into so many parts, the first ones longer, or before each index.

    Example:
        >>> sg.array_split(np.array([1.0, 2.0, 3.0]), 2)
        [array([1., 2.]), array([3.])]
    """
    x = as_operand(x)
    axis = normalise_axis("array_split", axis, x.ndim)
    size = x.shape[axis]
    if isinstance(indices_or_sections, int | np.integer):
        count = int(indices_or_sections)
        if count < 1:
            raise OptionError(f"array_split: {count} parts")
        lengths = [(size + (count - 1 - i)) // count for i in range(count)]
        bounds = [0, *itertools.accumulate(lengths)]
    else:
        bounds = [0, *(slice_bounds(slice(one), size)[1] for one in indices_or_sections), size]
    return [slice_axis(x, axis, a, maximum(a, b)) for a, b in itertools.pairwise(bounds)]


def hsplit(x: Value, indices_or_sections: int | Sequence[int]) -> list[Value]:
    """`x` cut along its second axis, a vector along its only one: see `split`.

    Example:
        >>> sg.hsplit(np.array([1.0, 2.0]), 2)
        [array([1.]), array([2.])]
    """
    return ops.split(x, indices_or_sections, 0 if np.ndim(x) == 1 else 1)


def vsplit(x: Value, indices_or_sections: int | Sequence[int]) -> list[Value]:
    """`x` cut along its first axis, of two or more: see `split`.

    Example:
        >>> sg.vsplit(np.array([[1.0], [2.0]]), 2)
        [array([[1.]]), array([[2.]])]
    """
    _require_axes("vsplit", x, 2)
    return ops.split(x, indices_or_sections, 0)


def dsplit(x: Value, indices_or_sections: int | Sequence[int]) -> list[Value]:
    """`x` cut along its third axis: see `split`.

    Example:
        >>> sg.dsplit(np.array([[[1.0, 2.0]]]), 2)
        [array([[[1.]]]), array([[[2.]]])]
    """
    _require_axes("dsplit", x, 3)
    return ops.split(x, indices_or_sections, 2)


def _require_axes(name: str, x: Value, count: int) -> None:
    if np.ndim(x) < count:
        raise ShapeError(f"{name}: {np.ndim(x)} axes, of at least {count}")


# -- elements put in and left out ------------------------------------------------------------------


def append(x: Value, values: Value, axis: int | None = None) -> Value:
    """`values` behind `x` along an axis; both flat if None.

    Example:
        >>> sg.append(np.array([1.0, 2.0]), np.array([3.0]))
        array([1., 2., 3.])
    """
    return concat([x, values], axis)


def delete(x: Value, obj: int | slice | Sequence[int], axis: int | None = None) -> Value:
    """`x` without the elements at some places along an axis; of the flat x if None.

    Raises:
        OptionError: of an axis of unknown size: places from both ends, which may be the same, or
            a mask.

    Example:
        >>> sg.delete(np.array([1.0, 2.0, 3.0]), 1)
        array([1., 3.])
    """
    x, axis = axis_or_whole("delete", x, axis)
    size = x.shape[axis]
    if not isinstance(size, Dim):
        kept = np.delete(np.arange(size), np.asarray(obj) if isinstance(obj, Operand) else obj)
        return ops.take(x, kept, axis)
    if isinstance(obj, slice):
        start, count, step = slice_bounds(obj, size)
        start, step = (start, step) if step > 0 else (start + (count - 1) * step, -step)
        after = numbers(x, size) - size_value(start, numbers(x, size))
        inside = ops.logical_and(
            ops.greater_equal(after, 0), ops.less(after, size_value(count * step, after))
        )
        gone = ops.logical_and(inside, ops.equal(ops.remainder(after, step), 0))
        return ops.take(x, slice_axis(ops.argsort(gone), 0, 0, size - count), axis)
    places = sorted({*_places("delete", obj).reshape(-1).tolist()})
    if places and places[0] < 0 <= places[-1]:
        raise OptionError(
            f"delete: places {places[0]} and {places[-1]} from both ends of an axis whose size is"
            " unknown until run time may be the same"
        )
    gone_at = [_from_start(one, size) for one in places]
    pairs = zip([0, *(one + 1 for one in gone_at)], [*gone_at, size], strict=True)
    return ops.concatenate([slice_axis(x, axis, *pair) for pair in pairs], axis)


def _places(name: str, obj: Value) -> Any:
    """Places along an axis of unknown size, whose values are known."""
    if isinstance(obj, Operand):
        raise OptionError(f"{name}: computed places along an axis whose size is unknown")
    places = np.asarray(obj)
    if places.dtype.kind == "b":
        raise OptionError(f"{name}: a mask along an axis whose size is unknown: give its places")
    if places.size and places.dtype.kind not in "iu":
        raise DTypeError(f"{name}: places of {places.dtype}: integers expected")
    return places.astype(np.int64)


def _from_start(place: int, size: Size) -> Size:
    return place if place >= 0 else size + place


def insert(
    x: Value, obj: int | slice | Sequence[int], values: Value, axis: int | None = None
) -> Value:
    """`x` with values put before some places along an axis; into the flat x if None.

    Raises:
        OptionError: a mask along an axis of unknown size.

    Example:
        >>> sg.insert(np.array([1.0, 3.0]), 1, 2.0)
        array([1., 2., 3.])
    """
    x, axis = axis_or_whole("insert", x, axis)
    values, size = as_operand(values), x.shape[axis]
    if isinstance(size, Dim):
        return _inserted(x, obj, values, axis)
    places = np.arange(size)[obj] if isinstance(obj, slice) else np.asarray(obj)
    if places.dtype.kind == "b":
        if places.shape != (size,):
            raise ShapeError(f"insert: bools of shape {places.shape} for {size} places")
        places = np.flatnonzero(places)
    new = _new(x, places.ndim, places.size, values, axis)
    places = np.repeat(places, new.shape[axis]) if places.size == 1 else places
    # marks of what is new among marks of what was there, as NumPy orders them
    order = np.insert(np.arange(size), places.reshape(-1), size + np.arange(places.size))
    return ops.take(ops.concatenate([x, new], axis), order, axis)


def _new(x: Any, ndim: int, count: Size, values: Any, axis: int) -> Any:
    """What is put into x, in its shape but along the axis: at so many places, or all at one."""
    if not ndim and values.ndim:  # one place: the values are those of a slice there
        values = ops.swapaxes(atleast(values, x.ndim), 0, axis) if axis else values
    if not isinstance(count, Dim) and count == 1 and _has_axis(values, x, axis):
        count = values.shape[axis - x.ndim]
    shape = tuple(count if i == axis else one for i, one in enumerate(x.shape))
    if isinstance(x, Operand) and not isinstance(values, Operand):
        values = x._constant(values)
    return ops.broadcast_to(ops.astype(values, x.dtype), shape)


def _inserted(x: Any, obj: Any, values: Any, axis: int) -> Any:
    """x with values before some places along an axis of unknown size."""
    size = x.shape[axis]
    if isinstance(obj, slice):
        start, count, step = slice_bounds(obj, size)
        new = _new(x, 1, count, values, axis)
        k = numbers(x, count)
        places = k * step + size_value(start, k)
    else:
        known = _places("insert", obj)
        new = _new(x, known.ndim, known.size, values, axis)
        ends = {known.max(initial=0), known.min(initial=0)}
        for end in sorted(ends):  # that the place is there
            at = _from_start(int(end), size)
            x = ops.after(x, slice_axis(x, axis, at, size))
        known = known.reshape(-1)
        places = x._constant(known)
        places = ops.where(known < 0, places + size_value(size, places), places)
        places = ops.broadcast_to(places, (new.shape[axis],))
    # what is new stands before what was there; the sort keeps the order at one place
    order = ops.argsort(ops.concatenate([numbers(x, size) * 2 + 1, places * 2]))
    return ops.take(ops.concatenate([x, new], axis), order, axis)


def atleast(x: Any, ndim: int) -> Any:
    """x with at least so many axes, new ones first."""
    return x if x.ndim >= ndim else ops.reshape(x, (1,) * (ndim - x.ndim) + tuple(x.shape))


def _has_axis(values: Any, x: Any, axis: int) -> bool:
    return bool(values.ndim >= x.ndim - axis and values.ndim)


def ediff1d(x: Value, to_end: Value = None, to_begin: Value = None) -> Value:
    """The differences of neighbours of the flat x, with what comes before and behind them.

    Example:
        >>> sg.ediff1d(np.array([1.0, 4.0, 9.0]))
        array([3., 5.])
    """
    x = ravel(x)
    size = x.shape[0]
    for name, end in (("to_end", to_end), ("to_begin", to_begin)):
        if end is not None and not np.can_cast(as_operand(end).dtype, x.dtype, "same_kind"):
            raise DTypeError(f"ediff1d: {name} of {as_operand(end).dtype} beside {x.dtype}")
    parts = [x[1:] - x[:-1]] if size != 0 else [x]
    if to_begin is not None:
        parts.insert(0, ops.astype(ravel(to_begin), x.dtype))
    if to_end is not None:
        parts.append(ops.astype(ravel(to_end), x.dtype))
    return ops.concatenate(parts) if len(parts) > 1 else parts[0]


def select(condlist: Sequence[Value], choicelist: Sequence[Value], default: Value = 0) -> Value:
    """Per element the choice of the first condition that holds, else `default`.

    Example:
        >>> x = np.array([1.0, 5.0, 9.0])
        >>> sg.select([x < 2, x < 6], [x, -x], 0.0)
        array([ 1., -5.,  0.])
    """
    if len(condlist) != len(choicelist) or not condlist:
        raise OptionError(f"select: {len(condlist)} conditions for {len(choicelist)} choices")
    first = as_operand(choicelist[0])
    found = default
    if isinstance(default, int | float):
        falsehood = np.dtype(first.dtype).kind == "b" and not default
        found = zeros_like(first) if falsehood else zeros_like(first) + default
    for condition, choice in zip(reversed(condlist), reversed(choicelist), strict=True):
        found = ops.where(condition, choice, found)
    return found
