"""Functions of how often and where: histograms, places. Sizes that depend on values are given.

What NumPy returns in a size that depends on values has here the size that the caller gives, as in
JAX: what is missing is filled up, what is too much is left out.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core.dims import Dim, Size
from staticgraph.compiler.core.dtypes import is_float, promoted
from staticgraph.compiler.core.errors import OptionError, ShapeError
from staticgraph.compiler.core.types import unify
from staticgraph.compiler.core.values import Value
from staticgraph.compiler.functions.arranging import ravel
from staticgraph.compiler.functions.elements import floats
from staticgraph.compiler.functions.sequences import searchsorted
from staticgraph.compiler.functions.statistics import count_nonzero
from staticgraph.compiler.ops.declare import as_operand, size_value, zeros_like
from staticgraph.compiler.ops.indexing.take import take_add
from staticgraph.compiler.ops.reductions.reduction import positions
from staticgraph.compiler.ops.shapes.slicing import slice_axis

__all__ = [
    "argwhere", "bincount", "choose", "compress", "extract", "fill_diagonal", "flatnonzero",
    "histogram", "histogram2d", "histogram_bin_edges", "histogramdd", "nonzero", "unravel_index",
]  # fmt: skip


# -- where -----------------------------------------------------------------------------------------


def require_size(name: str, size: Size | None) -> Size:
    """A size that the caller has given, unknown ones as well; OptionError if there is none."""
    if size is None:
        raise OptionError(f"{name}: needs size=, the number of places: it would depend on values")
    if isinstance(size, Dim):
        return size
    count = operator.index(size)
    if count < 0:
        raise OptionError(f"{name}: size={size} is negative")
    return count


def flatnonzero(x: Value, *, size: Size | None = None, fill_value: int = 0) -> Value:
    """The places in the flat `x` of what is not 0, the first `size` of them: int64.

    Example:
        >>> sg.flatnonzero(np.array([0.0, 5.0, 7.0]), size=3, fill_value=-1)
        array([ 1,  2, -1])
    """
    x = ravel(x)
    count = require_size("flatnonzero", size)
    there = x if np.dtype(x.dtype).kind == "b" else ops.not_equal(x, 0)
    found = ops.sum(there)
    # those that hold come first in the order of what does not, each kind in its own order
    order = ops.argsort(ops.astype(ops.logical_not(there), "int8"))
    return _sized(order, found, count, fill_value)


def _sized(x: Any, found: Any, count: Size, fill: Value) -> Any:
    """The first `count` elements along axis 0, of which those from `found` on are filled."""
    length = x.shape[0]
    if isinstance(length, Dim) or isinstance(count, Dim):
        x = ops.concatenate([x, ops.broadcast_to(zeros_like(x) if not x.ndim else
                                                 zeros_like(ops.sum(x, axis=0)),
                                                 (count, *x.shape[1:]))])  # fmt: skip
    elif length < count:
        x = ops.pad(x, [(0, count - length)] + [(0, 0)] * (x.ndim - 1))
    x = slice_axis(x, 0, 0, count)
    return ops.where(ops.less(positions(x, 0), found), x, fill)


def nonzero(x: Value, *, size: Size | None = None, fill_value: int = 0) -> tuple[Value, ...]:
    """Per axis the places of what is not 0, of the first `size` such elements: int64.

    Example:
        >>> sg.nonzero(np.array([[0.0, 5.0], [7.0, 0.0]]), size=2)
        (array([0, 1]), array([1, 0]))
    """
    x = as_operand(x)
    flat = flatnonzero(x, size=require_size("nonzero", size), fill_value=-1)
    filled = ops.less(flat, 0)
    places = unravel_index(ops.maximum(flat, 0), x.shape)
    return tuple(ops.where(filled, fill_value, one) for one in places)


def argwhere(x: Value, *, size: Size | None = None, fill_value: int = 0) -> Value:
    """The places of what is not 0, one per row: int64, (size, axes).

    Example:
        >>> sg.argwhere(np.array([[0.0, 5.0], [7.0, 0.0]]), size=2)
        array([[0, 1],
               [1, 0]])
    """
    return ops.stack(nonzero(x, size=require_size("argwhere", size), fill_value=fill_value), axis=1)


def unravel_index(indices: Value, shape: Sequence[Any]) -> tuple[Value, ...]:
    """Places in a flat tensor as places along each axis of a shape: int64.

    Places beyond the end begin anew, and negative ones count from the end.

    Example:
        >>> sg.unravel_index(np.array([5]), (2, 3))
        (array([1]), array([2]))
    """
    rest = ops.astype(as_operand(indices), "int64")
    found: list[Any] = []
    for size in reversed(tuple(shape)):
        number = size_value(size, rest)
        found.append(ops.remainder(rest, number))
        rest = ops.floor_divide(rest, number)
    return tuple(reversed(found))


def compress(
    condition: Value, x: Value, axis: int | None = None, *, size: Size | None = None,
    fill_value: float = 0,
) -> Value:  # fmt: skip
    """The parts of `x` along an axis (of the flat x if None) for which a vector of bools holds.

    The first `size` of them, with `fill_value` where there are fewer.

    Example:
        >>> sg.compress(np.array([True, False, True]), np.array([1.0, 2.0, 3.0]), size=2)
        array([1., 3.])
    """
    count = require_size("compress", size)
    x = ravel(x) if axis is None else ops.swapaxes(x, 0, axis)
    condition = as_operand(condition)
    if condition.ndim != 1:
        raise ShapeError(f"compress: a condition of {condition.ndim} axes, of 1")
    places = flatnonzero(condition, size=count, fill_value=0)
    taken = ops.take(x, places, 0)
    there = ops.less(positions(taken, 0), count_nonzero(condition))
    fill = False if np.dtype(x.dtype).kind == "b" and not fill_value else fill_value
    found = ops.where(there, taken, fill)
    return found if axis is None else ops.swapaxes(found, 0, axis)


def extract(
    condition: Value, x: Value, *, size: Size | None = None, fill_value: float = 0
) -> Value:
    """The elements of `x` where a condition of its shape holds, the first `size` of them.

    Example:
        >>> x = np.array([1.0, 5.0, 9.0])
        >>> sg.extract(x > 2, x, size=2)
        array([5., 9.])
    """
    count = require_size("extract", size)
    return compress(ravel(condition), ravel(x), size=count, fill_value=fill_value)


def choose(x: Value, choices: Sequence[Value], mode: str = "clip") -> Value:
    """Per element that of the choice whose number it is; `mode` is "clip" or "wrap".

    Example:
        >>> sg.choose(np.array([1, 0]), [np.array([1.0, 2.0]), np.array([10.0, 20.0])])
        array([10.,  2.])
    """
    if mode not in ("clip", "wrap") or not choices:
        raise OptionError(f"choose: mode is 'clip' or 'wrap', not {mode!r}; {len(choices)} choices")
    x, last = as_operand(x), len(choices) - 1
    x = ops.clip(x, 0, last) if mode == "clip" else ops.remainder(x, last + 1)
    found = as_operand(choices[-1])
    for i in reversed(range(last)):
        found = ops.where(ops.equal(x, i), choices[i], found)
    return found


def fill_diagonal(x: Value, val: Value, wrap: bool = False, *, inplace: bool = False) -> Value:
    """A copy of `x` with a number on its main diagonal; nothing is written in place, as in JAX.

    Example:
        >>> sg.fill_diagonal(np.zeros((2, 2)), 1.0)
        array([[1., 0.],
               [0., 1.]])
    """
    x = as_operand(x)
    if inplace or wrap or x.ndim < 2:
        raise OptionError("fill_diagonal: takes 2 axes or more, and neither inplace nor wrap")
    if x.ndim > 2 and None in (unify(x.shape[0], size) for size in x.shape):
        raise ShapeError(f"fill_diagonal: the sizes of {x.ndim} axes differ: {tuple(x.shape)}")
    there = ops.equal(positions(x, 0), positions(x, 1))
    for axis in range(2, x.ndim):
        there = ops.logical_and(there, ops.equal(positions(x, 0), positions(x, axis)))
    return ops.where(there, ops.astype(as_operand(val), x.dtype), x)


# -- how often -------------------------------------------------------------------------------------


def bincount(
    x: Value, weights: Value = None, minlength: int = 0, *, length: int | None = None
) -> Value:
    """How often each of the numbers 0, 1, ..., length - 1 is in a vector of integers: int64.

    With `weights` the sums of these, as floating-point numbers. `length` is needed where values are
    not known (JAX's), and is else the largest number and 1, at least `minlength`. Numbers from
    `length` on are not counted, and negative ones as 0.

    Example:
        >>> sg.bincount(np.array([0, 2, 2]), length=4)
        array([1, 0, 2, 0])
    """
    x = as_operand(x)
    if np.dtype(x.dtype).kind not in "iu" or x.ndim != 1:
        raise OptionError(f"bincount: takes a vector of integers, not {x.ndim} axes of {x.dtype}")
    if length is None:
        if not isinstance(x, np.ndarray):
            raise OptionError("bincount: needs length=: it would depend on values")
        length = max(int(x.max(initial=-1)) + 1, minlength)
    x = ops.maximum(ops.astype(x, "int64"), 0)
    ones = ops.astype(ops.equal(x, x), "int64") if weights is None else floats(weights)
    if not length:
        return ops.reshape(ones, (-1,))[:0]
    inside = ops.less(x, length)
    return take_add(ops.where(inside, ones, 0), ops.minimum(x, length - 1), 0, length)


def histogram_bin_edges(
    x: Value, bins: Value = 10, range: tuple[float, float] | None = None
) -> Value:
    """The limits of `bins` equal bins over a range, that of the elements if None; or `bins` itself.

    Example:
        >>> sg.histogram_bin_edges(np.array([0.0, 4.0]), 2)
        array([0., 2., 4.])
    """
    if isinstance(bins, str):
        raise OptionError(
            f"histogram: bins={bins!r} is a rule by which values say how many bins there are: give "
            "a number, or the limits"
        )
    if np.ndim(bins):
        return as_operand(bins)
    x = ravel(x)
    x = x if is_float(x.dtype) else ops.astype(x, "float64")
    steps = np.linspace(0.0, 1.0, int(bins) + 1)
    if range is not None:
        low, high = range
        if low == high:
            low, high = low - 0.5, high + 0.5
        return np.linspace(low, high, int(bins) + 1).astype(x.dtype)
    if x.shape[0] == 0:
        return steps.astype(x.dtype)
    least, most = ops.min(x), ops.max(x)
    flat = ops.astype(ops.equal(least, most), x.dtype) * 0.5
    least, most = least - flat, most + flat
    places = np.arange(int(bins) + 1).astype(x.dtype)
    # rounded, the last one might be smaller than the largest element
    return ops.where(steps < 1, least + places * ((most - least) / int(bins)), most)


def histogram(
    x: Value,
    bins: Value = 10,
    range: tuple[float, float] | None = None,
    weights: Value = None,
    density: bool = False,
) -> tuple[Value, Value]:
    """How many elements fall into each bin, and the limits of the bins; the last one is closed.

    The sums of `weights` if they are given; with `density` divided by the total and the widths.

    Example:
        >>> sg.histogram(np.array([0.0, 1.0, 1.5, 4.0]), 2)
        (array([3, 1]), array([0., 2., 4.]))
    """
    edges = histogram_bin_edges(x, bins, range)
    count = int(edges.shape[0]) - 1
    place, inside = _bins(ravel(x), edges, count)
    ones = ops.astype(ops.equal(place, place), "int64") if weights is None else ravel(weights)
    found = take_add(ops.where(inside, ones, 0), place, 0, count)
    if density:
        limits = floats(edges)
        widths = slice_axis(limits, 0, 1, count + 1) - slice_axis(limits, 0, 0, count)
        found = ops.divide(ops.astype(found, limits.dtype), ops.sum(found) * widths)
    return found, edges


def _bins(x: Any, edges: Any, count: int) -> tuple[Any, Any]:
    """The bin of each element, and whether there is one."""
    # with an axis, as a tensor without axes would be cast to the dtype of an eager x
    first, last = (slice_axis(edges, 0, i, i + 1) for i in (0, count))
    place = ops.clip(searchsorted(edges, x, "right") - 1, 0, count - 1)
    return place, ops.logical_and(ops.greater_equal(x, first), ops.less_equal(x, last))


def histogramdd(
    sample: Value,
    bins: Value = 10,
    range: Sequence[tuple[float, float] | None] | None = None,
    weights: Value = None,
    density: bool = False,
) -> tuple[Value, list[Value]]:
    """How many points, one per row, fall into each cell, and per axis the limits: see `histogram`.

    `bins` is a number, or per axis a number or the limits.

    Example:
        >>> sg.histogramdd(np.array([[0.0, 0.0], [1.0, 1.0]]), 2)[0]
        array([[1., 0.],
               [0., 1.]])
    """
    sample = as_operand(sample)
    if sample.ndim != 2:
        raise ShapeError(f"histogramdd: points in {sample.ndim} axes, of 2")
    axes = int(sample.shape[1])
    each = list(bins) if _several(bins) else [bins] * axes
    ranges = [None] * axes if range is None else list(range)
    if len(each) != axes or len(ranges) != axes:
        raise OptionError(
            f"histogramdd: {len(each)} bins and {len(ranges)} ranges for {axes} coordinates"
        )
    flat, all_inside, shape, edges = None, None, [], []
    for i, (one, limits) in enumerate(zip(each, ranges, strict=True)):
        x = ops.squeeze(slice_axis(sample, 1, i, i + 1), 1)
        edge = histogram_bin_edges(x, one, limits)
        count = int(edge.shape[0]) - 1
        place, inside = _bins(x, edge, count)
        flat = place if flat is None else flat * count + place
        all_inside = inside if all_inside is None else ops.logical_and(all_inside, inside)
        shape.append(count)
        edges.append(edge)
    ones = ops.astype(ops.equal(flat, flat), "int64") if weights is None else ravel(weights)
    found = take_add(ops.where(all_inside, ones, 0), flat, 0, int(np.prod(shape)))
    dtype = promoted(*(floats(edge).dtype for edge in edges))
    found = ops.astype(ops.reshape(found, tuple(shape)), dtype)
    if density:
        found = found / ops.sum(found)
        for i, edge in enumerate(map(floats, edges)):
            widths = slice_axis(edge, 0, 1, shape[i] + 1) - slice_axis(edge, 0, 0, shape[i])
            found = found / ops.reshape(widths, (-1,) + (1,) * (axes - 1 - i))
    return found, edges


def _several(bins: Any) -> bool:
    return isinstance(bins, list | tuple) or (isinstance(bins, np.ndarray) and bins.ndim > 0)


def histogram2d(
    x: Value,
    y: Value,
    bins: Value = 10,
    range: Sequence[tuple[float, float] | None] | None = None,
    weights: Value = None,
    density: bool = False,
) -> tuple[Value, Value, Value]:
    """How many points (x, y) fall into each cell, and the limits along both: see `histogramdd`.

    Example:
        >>> sg.histogram2d(np.array([0.0, 1.0]), np.array([0.0, 1.0]), 2)[0]
        array([[1., 0.],
               [0., 1.]])
    """
    points = ops.stack([ravel(x), ravel(y)], axis=1)
    if _several(bins) and len(bins) > 2:  # limits, of both
        bins = [as_operand(bins)] * 2
    found, edges = histogramdd(points, bins, range, weights, density)
    return found, edges[0], edges[1]
