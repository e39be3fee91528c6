"""Scatters to positions of all axes: `put`, `index_put` and masks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from staticgraph.compiler.core.dims import Size, product
from staticgraph.compiler.core.errors import OptionError, OutOfRangeError, ShapeError
from staticgraph.compiler.core.op import Attrs, Op, register
from staticgraph.compiler.core.types import Shape, TensorType, broadcast_shapes
from staticgraph.compiler.ops.batching import Apply, Example, aligned, evaluated, full, widened
from staticgraph.compiler.ops.declare import INT64, as_operand, composite, size_value, unbroadcast
from staticgraph.compiler.ops.elementwise.arithmetic import astype, maximum, minimum
from staticgraph.compiler.ops.elementwise.comparison import equal, less, where
from staticgraph.compiler.ops.indexing.keys import axes_of, numbers
from staticgraph.compiler.ops.indexing.scattering import (
    copied_slices,
    cotangents_at,
    fitted,
    index_add,
    index_copy,
    number_or_operand,
    require_fitting,
    staying,
    writable,
)
from staticgraph.compiler.ops.indexing.take import require_element, require_index, take
from staticgraph.compiler.ops.reductions.last_places import in_order, last_positions
from staticgraph.compiler.ops.reductions.reduction import positions
from staticgraph.compiler.ops.shapes.shape import reshape
from staticgraph.compiler.reference.indices import check_range

__all__ = ["index_put", "masked_fill", "put", "ravel_multi_index"]


def _flat_last(x: Any, index: object) -> Any:
    attrs = {"axis": 0, "size": product(x.shape), "wrap": True}
    return last_positions.bound((reshape(index, (-1,)),), attrs)


def _put(x: Any, values: object, index: Any) -> Any:
    flat = reshape(x, (-1,))
    given = reshape(fitted(values, index.shape), (-1,))
    found = copied_slices(flat, given, reshape(index, (-1,)), axis=0, wrap=True)
    return reshape(found, tuple(x.shape))


def _put_numpy(x: Any, values: object, index: object) -> Any:
    index = check_range("put", np.asarray(index), x.size)
    result = writable(x, values)
    result.reshape(-1)[in_order(index)] = values
    return result


def _put_check(name: str, x: TensorType, values: TensorType, index: TensorType) -> None:
    require_index(name, index)
    require_fitting(name, values, index.shape)
    if x.size == 0 and isinstance(index.size, int) and index.size > 0:
        raise OutOfRangeError(f"{name}: index {index} points into {x}, which is empty")


def _put_by_x(g: Any, o: object, a: object, b: object, c: Any) -> Any:
    return where(reshape(less(_flat_last(a, c), 0), tuple(g.shape)), g, 0)


def _put_by_values(g: object, o: object, a: object, b: object, c: Any) -> Any:
    places = reshape(c, (-1,))
    stays = equal(take(_flat_last(a, c), places, 0), positions(places, 0))
    part = where(stays, take(reshape(g, (-1,)), places, 0), 0)
    return unbroadcast(reshape(part, tuple(c.shape)), b)


def _put_arrays(
    positions: Sequence[int], g: Any, o: object, a: object, b: object, c: Any
) -> Sequence[Any]:
    c = in_order(c)

    def last() -> Any:
        return staying(c, (g.size,), np.arange(c.size).reshape(c.shape))

    parts = cotangents_at(positions, g.reshape(-1), b, c, last)
    return [
        part.reshape(g.shape) if position == 0 else part
        for position, part in zip(positions, parts, strict=True)
    ]


def _inside(name: str, index: object, size: Size, mode: str) -> Any:
    """Indices that are moved into an axis as `mode` says, or as they are for "raise"."""
    index = as_operand(index)
    if mode == "raise":
        return index
    if mode not in ("wrap", "clip"):
        raise OptionError(f"{name}: mode is 'raise', 'wrap' or 'clip', not {mode!r}")
    limit = size_value(size, index)
    return index % limit if mode == "wrap" else minimum(maximum(index, 0), limit - 1)


def _put_bind(
    x: Any, index: object, values: object, mode: str = "raise"
) -> tuple[Sequence[Any], Attrs]:
    x = as_operand(x)
    if hasattr(x, "_constant") and isinstance(index, np.ndarray):
        index = x._constant(index)  # the size of x may be unknown
    index = _inside("put", index, product(x.shape), mode)
    return (x, number_or_operand(values), index), {}


def _batched_put(
    op: Op, examples: Sequence[Example], size: Size, attrs: Attrs, apply: Apply = evaluated
) -> Any:
    """None for a batch of unknown size, whose examples have no known places."""
    if not isinstance(size, int):
        return None
    x, values, index = examples
    whole = full(x, size)
    count = math.prod(whole.shape[1:])
    places = astype(full(index, size), "int64")
    offsets = (np.arange(size) * count).reshape((size,) + (1,) * index.ndim)
    places = where(less(places, 0), places + count, places) + offsets
    return apply(op, [whole, widened(values, index.ndim), places], attrs)


put: Op = composite(
    "put", _put, bind=_put_bind, evaluate=_put_numpy, check=_put_check,
    vjp=(_put_by_x, _put_by_values, None), saves=("c", "c", ""), vjp_arrays=_put_arrays,
    promotes=slice(0, 2),
    batching=_batched_put,
    exact=True, complex="linear",
    doc="x with `values` at integer positions of the flat x: NumPy's `put`, as a new array. "
    "`values` broadcast to the index; of several for one place the last one stays. Negative "
    "indices count from the end; OutOfRangeError outside, unless `mode` is \"wrap\" or \"clip\".",
    example=">>> sg.put(np.array([1.0, 2.0, 3.0]), np.array([0, -1]), np.array([10.0, 30.0]))\n"
    "array([10.,  2., 30.])",
)  # fmt: skip


def _ravel_type(*indices: TensorType, shape: Shape) -> TensorType:
    if len(indices) != len(shape):
        raise ShapeError(f"ravel_multi_index: {len(indices)} indices for {axes_of(shape)}")
    for axis, index in enumerate(indices):
        require_index("ravel_multi_index", index)
        require_element("ravel_multi_index", TensorType(shape, INT64), axis, index)
    wide = [TensorType(index.shape, INT64) for index in indices]
    return TensorType(broadcast_shapes("ravel_multi_index", *wide), INT64)


def _ravel_numpy(*indices: object, shape: tuple[int, ...]) -> Any:
    total: Any = np.zeros((), INT64)
    for index, size in zip(indices, shape, strict=True):
        total = total * size + check_range("ravel_multi_index", np.asarray(index), size)
    return np.asarray(total)


def _ravel_bind(
    indices: Sequence[Any],
    shape: Sequence[Size],
    mode: str | Sequence[str] = "raise",
    order: str = "C",
) -> tuple[Sequence[Any], Attrs]:
    if order not in ("C", "F"):
        raise OptionError(f"ravel_multi_index: order is 'C' or 'F', not {order!r}")
    modes = [mode] * len(shape) if isinstance(mode, str) else list(mode)
    if not len(indices) == len(shape) == len(modes):
        raise ShapeError(f"ravel_multi_index: {len(indices)} indices for {axes_of(shape)}")
    given = [
        _inside("ravel_multi_index", index, size, one)
        for index, size, one in zip(indices, shape, modes, strict=True)
    ]
    step = 1 if order == "C" else -1
    return tuple(given[::step]), {"shape": tuple(shape)[::step]}


def _ravel(*indices: Any, shape: Shape) -> Any:
    total: Any = None
    for index, size in zip(indices, shape, strict=True):
        part = take(numbers(index, size), index, 0)  # checked, and counted from the front
        total = part if total is None else total * size_value(size, total) + part
    return total


ravel_multi_index: Op = register(
    Op(
        name="ravel_multi_index",
        infer_type=_ravel_type,
        evaluate=_ravel_numpy,
        checked=True,
        bind=_ravel_bind,
        expand=_ravel,
        batching=aligned,
        exact=True,
        doc="The positions in a flat array of `shape` of the elements that one integer index per "
        "axis names; the indices broadcast. Negative ones count from the end; OutOfRangeError "
        'outside of an axis, unless its `mode` is "wrap" or "clip". Of an array in columns with '
        '`order="F"`. int64.',
        example=">>> sg.ravel_multi_index((np.array([1, 0]), np.array([2, 1])), (2, 3))\n"
        "array([5, 1])",
    )
)


def index_put(x: Any, indices: Sequence[object], values: Any, accumulate: bool = False) -> Any:
    """x with `x[indices] = values`, or with the values added there if `accumulate`.

    `indices` are one or several integer tensors that broadcast, for the first axes of x; the values
    broadcast to what they select. Of several values for one place the last one stays, or all are
    added. A mask selects no number of elements that is known: see `where` and `masked_fill`.

    Raises:
        OutOfRangeError: an index is outside of its axis.
        DTypeError: an index is no integer tensor.

    Example:
        >>> sg.index_put(np.zeros((2, 2)), (np.array([0, 1]), np.array([1, 0])), 5.0)
        array([[0., 5.],
               [5., 0.]])
    """
    x, given = as_operand(x), [as_operand(one) for one in indices]
    lead, rest = tuple(x.shape[: len(given)]), tuple(x.shape[len(given) :])
    if len(given) > x.ndim or not given:
        raise ShapeError(f"index_put: {len(given)} indices for {axes_of(x.shape)}")
    places = ravel_multi_index(given, lead)
    rows = reshape(x, (product(lead), *rest))
    values = number_or_operand(values)
    if not isinstance(values, bool | int | float | complex) and tuple(values.shape):
        values = fitted(values, (*places.shape, *rest))
        values = reshape(values, (product(places.shape), *rest))
    write = index_add if accumulate else index_copy
    return reshape(write(rows, reshape(places, (-1,)), values, 0), tuple(x.shape))


def masked_fill(x: object, mask: object, value: object) -> Any:
    """x with `value` where a bool mask holds; all broadcast.

    Example:
        >>> sg.masked_fill(np.array([1.0, 2.0]), np.array([True, False]), -1.0)
        array([-1.,  2.])
    """
    return where(mask, value, x)
