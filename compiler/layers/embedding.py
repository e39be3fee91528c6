"""Embeddings, their sums, means and maxima, and indices as one-hot vectors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core.dims import Dim, Size
from staticgraph.compiler.core.errors import DTypeError, OptionError, ShapeError
from staticgraph.compiler.core.values import Value
from staticgraph.compiler.functions.segments import segment_max, segment_min, segment_sum
from staticgraph.compiler.functions.sequences import searchsorted
from staticgraph.compiler.layers.axes import beside, number, numbers, same_shape, shown
from staticgraph.compiler.ops.declare import as_operand, size_value, zeros_like
from staticgraph.compiler.ops.shapes.slicing import slice_axis

__all__ = ["embedding", "embedding_bag", "one_hot"]

MODES = ("sum", "mean", "max")


def embedding(indices: Value, weight: Value, padding_idx: int | None = None) -> Value:
    """The rows of `weight` at integer indices: (...), (n, d) -> (..., d).

    The row `padding_idx` gets no gradient.

    Raises:
        DTypeError: the indices are no integers.
        ShapeError: the weight is no matrix.
        OptionError: padding_idx is no row of it.
        OutOfRangeError: an index is no row of it.

    Example:
        >>> sg.nn.embedding(np.array([1, 1, 0]), np.array([[1.0], [2.0]]))
        array([[2.],
               [2.],
               [1.]])
    """
    indices, weight, padding_idx = _table("embedding", indices, weight, padding_idx)
    return rows_of(ops.take(weight, indices, 0), indices, padding_idx)


def _table(name: str, indices: Any, weight: Any, padding_idx: int | None) -> tuple[Any, Any, Any]:
    indices, weight = as_operand(indices), as_operand(weight)
    if np.dtype(indices.dtype).kind not in "iu":
        raise DTypeError(f"{name}: indices {shown(indices)} are no integers")
    if weight.ndim != 2:
        raise ShapeError(f"{name}: weight {shown(weight)} has {weight.ndim} axes, of 2")
    rows = weight.shape[0]
    if padding_idx is None:
        return indices, weight, None
    if isinstance(rows, Dim):
        last = number(rows + padding_idx, weight) if padding_idx < 0 else padding_idx
        return indices, weight, last
    if not -rows <= padding_idx < rows:
        raise OptionError(f"{name}: padding_idx={padding_idx} is no row of {shown(weight)}")
    return indices, weight, padding_idx % rows


def rows_of(found: Value, indices: Value, padding_idx: int | None) -> Value:
    """The rows `found` at indices, of which those of `padding_idx` get no gradient."""
    if padding_idx is None:
        return found
    padding = ops.expand_dims(ops.equal(indices, padding_idx), -1)
    return ops.where(padding, ops.stop_gradient(found), found)


def one_hot(indices: Value, num_classes: int) -> Value:
    """1 at each index along a new last axis, 0 elsewhere: (...) -> (..., num_classes), int64.

    Example:
        >>> sg.nn.one_hot(np.array([2, 0]), 3)
        array([[0, 0, 1],
               [1, 0, 0]])
    """
    return ops.one_hot(indices, num_classes, "int64")


def embedding_bag(
    indices: Value,
    weight: Value,
    offsets: Value = None,
    *,
    mode: str = "mean",
    per_sample_weights: Value = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Value:
    """The rows of `weight` at indices, summed, averaged or the largest: bags -> (bags, d).

    Args:
        indices: the bags are its rows (n, l), or begin in a vector (l,) at `offsets`; an empty
            one gives zeros.
        offsets: where the bags begin, in order, the first one at 0.
        mode: "sum", "mean" or "max".
        per_sample_weights: of the shape of the indices, what weighs the rows of a sum.
        include_last_offset: whether the last of the offsets is the end of the last bag.
        padding_idx: a row that is left out.

    Raises:
        DTypeError: indices or offsets are no integers.
        ShapeError: shapes or ranks do not fit.
        OptionError: another mode, weights without "sum", or offsets missing or too much.
        OutOfRangeError: an index is no row of the weight.

    Example:
        >>> table = np.array([[1.0], [2.0], [4.0]])
        >>> sg.nn.embedding_bag(np.array([0, 1, 2]), table, np.array([0, 2]), mode="sum")
        array([[3.],
               [4.]])
    """
    name = "embedding_bag"
    indices, weight, padding_idx = _table(name, indices, weight, padding_idx)
    if mode not in MODES:
        raise OptionError(f"{name}: mode is one of {MODES}, not {mode!r}")
    if per_sample_weights is not None:
        if mode != "sum":
            raise OptionError(f"{name}: per_sample_weights weigh a sum, not mode={mode!r}")
        per_sample_weights = as_operand(per_sample_weights)
        same_shape(name, indices, "per_sample_weights", per_sample_weights)
    if indices.ndim not in (1, 2):
        raise ShapeError(f"{name}: indices {shown(indices)} have {indices.ndim} axes, of 1 or 2")
    if (offsets is None) != (indices.ndim == 2):
        raise OptionError(
            f"{name}: offsets say where the bags of a vector begin, and of no matrix: "
            f"{shown(indices)}, offsets={offsets!r}"
        )
    rows = ops.take(weight, indices, 0)
    if per_sample_weights is not None:
        rows = rows * ops.expand_dims(per_sample_weights, -1)
    kept = None if padding_idx is None else ops.not_equal(indices, padding_idx)
    if indices.ndim == 2:
        return of_matrix(rows, kept, mode)
    offsets = as_operand(offsets)
    if np.dtype(offsets.dtype).kind not in "iu" or offsets.ndim != 1:
        raise DTypeError(f"{name}: offsets {shown(offsets)} are no vector of integers")
    bags, count = bags_of(indices, offsets, include_last_offset)
    return of_bags(rows, bags, count, kept, mode)


def of_matrix(rows: Value, kept: Value, mode: str) -> Value:
    """What `mode` makes of bags of one length, (n, l, d), of which only some rows are `kept`."""
    known = None if kept is None else ops.expand_dims(kept, 2)
    length = rows.shape[1]
    if mode == "max" and (isinstance(length, Dim) or length):
        allowed = rows if known is None else ops.where(known, rows, -math.inf)
        place = ops.argmax(ops.stop_gradient(allowed), 1, keepdims=True)
        found = ops.squeeze(ops.take_along_axis(rows, place, 1, wrap=False), 1)
        return found if known is None else ops.where(ops.any(known, 1), found, 0)
    total = ops.sum(rows if known is None else ops.where(known, rows, 0), 1)
    if mode != "mean":
        return total
    if known is None:
        return total / (size_value(length, total) if isinstance(length, Dim) else max(length, 1))
    return total / ops.maximum(ops.astype(ops.sum(known, 1), total.dtype), 1)


def bags_of(indices: Value, offsets: Value, include_last: bool) -> tuple[Value, Size]:
    """The number of the bag of each index, and how many bags there are."""
    count = offsets.shape[0] - int(include_last)
    starts = slice_axis(offsets, 0, 0, count)
    places = beside(numbers(indices.shape[0], indices), indices)
    return searchsorted(starts, places, side="right") - 1, count


def of_bags(rows: Value, bags: Value, count: Size, kept: Value, mode: str) -> Value:
    """What `mode` makes of rows (l, d) in so many bags, of which only some are `kept`."""
    known = None if kept is None else ops.expand_dims(kept, 1)
    if mode == "max":
        return _largest(rows, bags, count, known)
    total = segment_sum(rows if known is None else ops.where(known, rows, 0), bags, count)
    if mode == "sum":
        return total
    ones = zeros_like(slice_axis(rows, 1, 0, 1)) + 1
    sizes = segment_sum(ones if known is None else ops.where(known, ones, 0), bags, count)
    return total / ops.maximum(sizes, 1)


def _largest(rows: Any, bags: Any, count: Size, known: Any) -> Any:
    """The largest element per bag and column, of equal ones the first; 0 of empty bags."""
    values = ops.stop_gradient(rows)
    if known is not None:
        values = ops.where(known, values, -math.inf)
    best = ops.take(segment_max(values, bags, count), bags, 0)
    wins = ops.logical_or(ops.equal(values, best), ops.isnan(values))
    wins = wins if known is None else ops.logical_and(wins, known)
    end = number(rows.shape[0], rows)
    here = ops.expand_dims(beside(numbers(rows.shape[0], rows), rows), 1)
    first = segment_min(ops.where(wins, here, end), bags, count)
    padded = ops.pad(rows, [(0, 1), (0, 0)])  # where there is no winner
    return ops.take_along_axis(padded, ops.minimum(first, end), 0, wrap=False)
