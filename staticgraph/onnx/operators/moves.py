"""Operators that move elements, and what computes shapes for them."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core import dims
from staticgraph.compiler.core.dims import Dim
from staticgraph.compiler.functions import public as functions
from staticgraph.onnx.call import Call, as_sizes, is_sizes, reads

_COMBINED = {"add": "sum", "mul": "prod", "max": "amax", "min": "amin"}
"""How scatters combine, by ONNX's names."""
_LARGEST = 1 << 31
"""The elements that an operator may make of nothing: a file of some bytes asks for any number."""


@reads("Constant")
def _constant(call: Call) -> Any:
    for name, dtype in (
        ("value", None), ("value_float", "float32"), ("value_floats", "float32"),
        ("value_int", "int64"), ("value_ints", "int64"),
    ):  # fmt: skip
        found = call.attribute(name)
        if found is not None:
            return np.asarray(found, dtype)
    raise call.refuse("it has no numbers")


@reads("Shape")
def _shape(call: Call) -> Any:
    x = call.raw(0)
    start, end = call.attribute("start", 0), call.attribute("end")
    return as_sizes(x.shape[start:end])


@reads("Size")
def _size(call: Call) -> Any:
    return as_sizes([dims.product(call.raw(0).shape)]).reshape(())


@reads("ConstantOfShape")
def _filled(call: Call) -> Any:
    value = np.asarray(call.attribute("value", np.zeros(1, np.float32))).reshape(())
    return made(call, value, call.sizes(0, "shape"))


def made(call: Call, value: Any, shape: list[Any]) -> Any:
    """A number everywhere in a shape of known and unknown sizes."""
    known = [one for one in shape if isinstance(one, int)]
    if min(known, default=0) < 0 or math.prod(known) > _LARGEST:
        raise call.refuse(f"the shape {shape} is negative, or too large")
    if len(known) == len(shape):
        return np.full(shape, value)
    return _broadcast(value, shape)


def _broadcast(value: Any, shape: list[Any]) -> Any:
    """An array as an expression, of a shape with unknown sizes."""
    from staticgraph.leaves import constant

    return ops.broadcast_to(constant(value), tuple(shape))


@reads("Range")
def _range(call: Call) -> Any:
    bounds: list[Any] = [call.raw(i) for i in range(3)]
    if all(isinstance(one, np.ndarray | np.generic) for one in bounds):
        if not any(map(is_sizes, bounds)):
            numbers: list[Any] = [np.asarray(one).reshape(())[()] for one in bounds]
            start, stop, step = numbers
            if not step or abs((stop - start) / step) > _LARGEST:
                raise call.refuse(f"it counts from {start} to {stop} by {step}")
            dtype: Any = np.asarray(bounds[0]).dtype
            return np.arange(start, stop, step, dtype=dtype)
        start, stop, step = (call.sizes(i)[0] for i in range(3))
        count = dims.maximum(0, -dims.floor_divide(start - stop, step))
        from staticgraph.compiler.graph.expression import construct
        from staticgraph.compiler.ops import leaves

        return construct(leaves.iota, (), {"size": count}) * call.value(2) + call.value(0)
    raise call.refuse("its bounds are computed by the model, and have to be known before")


@reads("EyeLike")
def _eye(call: Call) -> Any:
    from staticgraph.onnx.package import dtype_of

    x = call.value(0)
    number = call.attribute("dtype")
    dtype: Any = x.dtype if number is None else dtype_of(number)
    rows, columns = x.shape
    return np.eye(rows, columns, k=call.attribute("k", 0), dtype=dtype)


# -- shapes -----------------------------------------------------------------------------------


@reads("Reshape")
def _reshape(call: Call) -> Any:
    x, shape = call.raw(0), call.sizes(1, "shape")
    if not call.attribute("allowzero", 0):
        shape = [
            x.shape[i] if not isinstance(one, Dim) and one == 0 else one
            for i, one in enumerate(shape)
        ]
    if is_sizes(x):
        return x.reshape(shape)
    return ops.reshape(call.value(0), tuple(_filled_in(call, x, shape)))


def _filled_in(call: Call, x: Any, shape: list[Any]) -> list[Any]:
    """The shape with what -1 stands for."""
    at = [i for i, one in enumerate(shape) if not isinstance(one, Dim) and one == -1]
    if len(at) != 1 or not any(isinstance(one, Dim) for one in (*shape, *x.shape)):
        return shape
    rest = dims.product([one for i, one in enumerate(shape) if i != at[0]])
    shape[at[0]] = dims.floor_divide(dims.product(x.shape), rest)
    return shape


@reads("Flatten")
def _flatten(call: Call) -> Any:
    x, axis = call.value(0), call.attribute("axis", 1)
    axis = axis + x.ndim if axis < 0 else axis
    return ops.reshape(x, (dims.product(x.shape[:axis]), dims.product(x.shape[axis:])))


@reads("Squeeze", "Unsqueeze")
def _axes(call: Call) -> Any:
    x, axes = call.raw(0), call.given("axes", 1)
    if call.step.operator == "Unsqueeze":
        if axes is None:
            raise call.refuse("it has no axes")
        return np.expand_dims(x, tuple(axes)) if is_sizes(x) else ops.expand_dims(x, tuple(axes))
    if axes is None:
        axes = [i for i, one in enumerate(x.shape) if isinstance(one, int) and one == 1]
    if is_sizes(x):
        return np.squeeze(x, tuple(axes))
    unknown = {axis % x.ndim for axis in axes if isinstance(x.shape[axis], Dim)}
    if unknown:  # what is 1 only when it is run is read at 0
        first = tuple(0 if i in unknown else slice(None) for i in range(x.ndim))
        kept = [i for i in range(x.ndim) if i not in unknown]
        x, axes = x[first], [kept.index(i % len(first)) for i in axes if i % len(first) in kept]
    return ops.squeeze(x, tuple(axes)) if axes else x


@reads("Expand")
def _expand(call: Call) -> Any:
    x, shape = call.value(0), call.sizes(1, "shape")
    own = [1] * (len(shape) - x.ndim) + list(x.shape)
    shape = [1] * (len(own) - len(shape)) + shape
    whole = [
        one if not isinstance(other, Dim) and other == 1 else other
        for one, other in zip(own, shape, strict=True)
    ]
    return ops.broadcast_to(x, tuple(whole))


@reads("Transpose")
def _transpose(call: Call) -> Any:
    x = call.value(0)
    axes = call.attribute("perm")
    return ops.transpose(x, list(range(x.ndim))[::-1] if axes is None else list(axes))


@reads("Tile")
def _tile(call: Call) -> Any:
    return functions.tile(call.value(0), call.numbers(1, "repeats"))


@reads("Concat")
def _concatenate(call: Call) -> Any:
    axis = call.attribute("axis", 0)
    raw = [call.raw(i) for i in range(len(call.values))]
    if any(map(is_sizes, raw)) and all(isinstance(one, np.ndarray) for one in raw):
        return np.concatenate([one.astype(object) for one in raw], axis)
    return ops.concatenate(call.operands, axis)


@reads("Split")
def _split(call: Call) -> Any:
    x, axis = call.value(0), call.attribute("axis", 0)
    parts = call.given("split", 1)
    if parts is None:
        count = call.attribute("num_outputs") or len(call.step.outputs)
        size = -(-x.shape[axis] // count)
        parts = [size] * (count - 1) + [x.shape[axis] - size * (count - 1)]
    bounds = np.cumsum([0, *parts])
    if (isinstance(x.shape[axis], int) and bounds[-1] != x.shape[axis]) or min(parts) < 0:
        raise call.refuse(f"parts of {parts} do not make an axis of {x.shape[axis]}")
    key: list[Any] = [slice(None)] * x.ndim
    found = []
    for start, stop in itertools.pairwise(bounds):
        key[axis] = slice(int(start), int(stop))
        found.append(x[tuple(key)])
    return tuple(found)


@reads("Slice")
def _slice(call: Call) -> Any:
    x = call.raw(0)
    starts, ends = call.sizes(1, "starts"), call.sizes(2, "ends")
    axes = range(len(starts)) if call.raw(3) is None else call.numbers(3, "axes")
    steps = [1] * len(starts) if call.raw(4) is None else call.numbers(4, "steps")
    key: list[Any] = [slice(None)] * x.ndim
    for axis, start, end, step in zip(axes, starts, ends, steps, strict=True):
        key[axis] = _range_of(x.shape[axis], start, end, step)
    return x[tuple(key)]


def _range_of(size: Any, start: Any, end: Any, step: int) -> slice:
    """The part of an axis, whose ends may lie far outside of it."""
    if isinstance(size, int) and isinstance(start, int) and isinstance(end, int):
        if step < 0 and end < -size:
            return slice(start, None, step)
        return slice(start, end, step)
    far = isinstance(end, int) and abs(end) >= _LARGEST - 1
    return slice(start, None if far or end is size else end, step)


@reads("Pad")
def _pad(call: Call) -> Any:
    x, widths = call.value(0), call.numbers(1, "pads")
    value, axes = call.raw(2), call.given("axes", 3)
    chosen = list(range(x.ndim)) if axes is None else [axis % x.ndim for axis in axes]
    half = len(widths) // 2
    pairs = dict(zip(chosen, zip(widths[:half], widths[half:], strict=True), strict=True))
    around = [pairs.get(axis, (0, 0)) for axis in range(x.ndim)]
    key = tuple(
        slice(max(0, -before), size - max(0, -after))
        for size, (before, after) in zip(x.shape, around, strict=True)
    )
    x = x[key] if min(widths, default=0) < 0 else x
    around = [(max(0, before), max(0, after)) for before, after in around]
    mode = call.attribute("mode", "constant")
    if mode == "constant":
        if value is not None and not isinstance(value, np.ndarray):
            raise call.refuse("its value is computed by the model, and has to be known before")
        return ops.pad(x, around, 0 if value is None else value.reshape(()).item())
    for axis, pair in enumerate(around):
        if any(pair):
            x = ops.take(x, np.pad(np.arange(x.shape[axis]), pair, mode=mode), axis)
    return x


@reads("Trilu")
def _triangle(call: Call) -> Any:
    (k,) = [0] if call.raw(1) is None else call.numbers(1, "diagonal")
    function = functions.triu if call.attribute("upper", 1) else functions.tril
    return function(call.value(0), k)


@reads("DepthToSpace", "SpaceToDepth")
def _blocks(call: Call) -> Any:
    x, block = call.value(0), call.attribute("blocksize")
    n, c, h, w = x.shape
    mode = call.attribute("mode", "DCR")
    if call.step.operator == "SpaceToDepth":
        parts = ops.reshape(x, (n, c, h // block, block, w // block, block))
        order = (0, 3, 5, 1, 2, 4) if mode == "DCR" else (0, 1, 3, 5, 2, 4)
        moved = ops.transpose(parts, order)
        return ops.reshape(moved, (n, c * block * block, h // block, w // block))
    depth = c // (block * block)
    if mode == "DCR":
        parts = ops.reshape(x, (n, block, block, depth, h, w))
        moved = ops.transpose(parts, (0, 3, 4, 1, 5, 2))
    else:
        parts = ops.reshape(x, (n, depth, block, block, h, w))
        moved = ops.transpose(parts, (0, 1, 4, 2, 5, 3))
    return ops.reshape(moved, (n, depth, h * block, w * block))


# -- by indices -------------------------------------------------------------------------------


@reads("Gather")
def _gather(call: Call) -> Any:
    x, axis = call.raw(0), call.attribute("axis", 0)
    if is_sizes(x):
        return np.asarray(np.take(x, np.asarray(call.raw(1)), axis), object)
    return ops.take(call.value(0), call.value(1), axis)


@reads("GatherElements")
def _gather_elements(call: Call) -> Any:
    x, index, axis = call.value(0), call.value(1), call.attribute("axis", 0) % call.value(0).ndim
    key = tuple(slice(None) if i == axis else slice(0, size) for i, size in enumerate(index.shape))
    return ops.take_along_axis(x[key], index, axis)


@reads("ScatterElements")
def _scatter_elements(call: Call) -> Any:
    x, index, updates = call.operands
    axis, how = call.attribute("axis", 0) % x.ndim, call.attribute("reduction", "none")
    if any(
        index.shape[i] is not size and index.shape[i] != size
        for i, size in enumerate(x.shape) if i != axis
    ):  # fmt: skip
        raise call.refuse("the indices are fewer than the rows")
    if how == "none":
        return ops.scatter(x, index, updates, axis)
    return ops.scatter_reduce(x, index, updates, axis, _COMBINED[how])


@reads("GatherND")
def _gather_places(call: Call) -> Any:
    x, index = call.operands
    lead = call.attribute("batch_dims", 0)
    key: list[Any] = []
    for axis in range(lead):
        steps = np.arange(x.shape[axis])
        key.append(steps.reshape([1] * axis + [-1] + [1] * (index.ndim - 2 - axis)))
    key += [index[..., i] for i in range(index.shape[-1])]
    return x[tuple(key)]


@reads("ScatterND")
def _scatter_places(call: Call) -> Any:
    x, index, updates = call.operands
    how = call.attribute("reduction", "none")
    depth, count = index.shape[-1], math.prod(index.shape[:-1])
    inner = x.shape[depth:]
    flat = ops.reshape(x, (math.prod(x.shape[:depth]), math.prod(inner)))
    rows = ops.reshape(updates, (count, math.prod(inner)))
    place: Any = np.zeros(count, np.int64)
    columns = ops.reshape(index, (count, depth))
    for axis in range(depth):
        column = columns[:, axis]
        size = x.shape[axis]
        place = place * size + ops.where(ops.less(column, 0), column + size, column)
    places = ops.broadcast_to(ops.expand_dims(place, 1), rows.shape)
    if how == "none":
        made = ops.scatter(flat, places, rows, 0)
    else:
        made = ops.scatter_reduce(flat, places, rows, 0, _COMBINED[how])
    return ops.reshape(made, x.shape)


@reads("OneHot")
def _one_hot(call: Call) -> Any:
    index, values = call.value(0), call.value(2)
    (depth,) = call.numbers(1, "depth")
    axis = call.attribute("axis", -1)
    axis = axis + index.ndim + 1 if axis < 0 else axis
    wrapped = ops.where(ops.less(index, 0), index + depth, index)
    steps = np.arange(depth).reshape([depth] + [1] * (index.ndim - axis))
    chosen = ops.equal(ops.expand_dims(wrapped, axis), steps)
    return ops.where(chosen, values[1], values[0])


@reads("Compress")
def _compress(call: Call) -> Any:
    x, condition, axis = call.value(0), call.raw(1), call.attribute("axis")
    if not isinstance(condition, np.ndarray):
        raise call.refuse("the size of its result depends on values")
    places = np.flatnonzero(condition)
    if axis is None:
        return ops.take(ops.reshape(x, (-1,)), places, 0)
    return ops.take(x, places, axis)


@reads("ReverseSequence")
def _reverse_sequence(call: Call) -> Any:
    x, lengths = call.operands
    batch, time = call.attribute("batch_axis", 1), call.attribute("time_axis", 0)
    along, across = [1] * x.ndim, [1] * x.ndim
    along[time], across[batch] = x.shape[time], x.shape[batch]
    steps = np.arange(x.shape[time]).reshape(along)
    last = ops.reshape(lengths, across) - 1
    index = ops.where(ops.less_equal(steps, last), last - steps, steps)
    return ops.take_along_axis(x, ops.broadcast_to(index, x.shape), time)
