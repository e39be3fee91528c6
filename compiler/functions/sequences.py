"""Functions of neighbours and of places in an order: NumPy's, composed of shared ops."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core.dims import Dim, Size
from staticgraph.compiler.core.dtypes import is_float
from staticgraph.compiler.core.errors import OptionError, ShapeError
from staticgraph.compiler.core.types import normalise_axes, normalise_axis
from staticgraph.compiler.core.values import Value
from staticgraph.compiler.functions.arranging import axis_or_whole, moveaxis, roll
from staticgraph.compiler.functions.elements import floats
from staticgraph.compiler.ops.declare import as_operand, size_value
from staticgraph.compiler.ops.reductions.reduction import positions
from staticgraph.compiler.ops.shapes.slicing import slice_axis

__all__ = [
    "argpartition", "cumulative_prod", "cumulative_sum", "digitize", "gradient", "interp",
    "lexsort", "partition", "searchsorted", "topk", "trapezoid", "unwrap",
]  # fmt: skip


Places = int | Sequence[int]


def _cumulative(
    name: str, op: Callable[..., Any], x: Value, axis: int | None, dtype: object, first: bool
) -> Any:
    x = as_operand(x)
    if axis is None:
        if x.ndim > 1:
            raise OptionError(f"{name}: needs an axis for {x.ndim} axes")
        axis = 0
    axis = normalise_axis(name, axis, x.ndim)
    found = op(x, axis, dtype=dtype)
    if not first:
        return found
    widths = [(1 if i == axis else 0, 0) for i in range(x.ndim)]
    return ops.pad(found, widths, 0.0 if op is ops.cumsum else 1.0)


def cumulative_sum(
    x: Value,
    /,
    *,
    axis: int | None = None,
    dtype: object = None,
    include_initial: bool = False,
) -> Value:
    """The sums of all elements up to each; a 0 before them with `include_initial`.

    Example:
        >>> sg.cumulative_sum(np.array([1.0, 2.0]), include_initial=True)
        array([0., 1., 3.])
    """
    return _cumulative("cumulative_sum", ops.cumsum, x, axis, dtype, include_initial)


def cumulative_prod(
    x: Value,
    /,
    *,
    axis: int | None = None,
    dtype: object = None,
    include_initial: bool = False,
) -> Value:
    """The products of all elements up to each; a 1 before them with `include_initial`.

    Example:
        >>> sg.cumulative_prod(np.array([3.0, 2.0]), include_initial=True)
        array([1., 3., 6.])
    """
    return _cumulative("cumulative_prod", ops.cumprod, x, axis, dtype, include_initial)


def trapezoid(y: Value, x: Value = None, dx: Value = 1.0, axis: int = -1) -> Value:
    """The area under the lines through points at `x`, or `dx` apart, along an axis.

    Example:
        >>> sg.trapezoid(np.array([1.0, 2.0, 3.0]))
        np.float64(4.0)
    """
    y = moveaxis(floats(y), axis, -1)
    size = y.shape[-1]
    if x is not None:
        x = as_operand(x)
        x = x if x.ndim == 1 else moveaxis(x, axis, -1)
        x = x if is_float(x.dtype) else ops.astype(x, y.dtype)
        dx = _after(x) - _before(x)
    if size == 0:
        return ops.sum(y, axis=-1)
    return ops.sum(dx * (_after(y) + _before(y)) / 2, axis=-1)


def _after(x: Any) -> Any:
    return x[..., 1:]


def _before(x: Any) -> Any:
    return x[..., :-1]


def gradient(
    f: Value, *varargs: Value, axis: int | Sequence[int] | None = None, edge_order: int = 1
) -> Value:
    """The slopes by differences along each axis: central inside, of one side at the ends.

    Args:
        f: the values.
        varargs: a distance for all axes, or for each axis a distance or the coordinates.
        axis: one axis or several; all if None.
        edge_order: 1 or 2, of the differences at the ends.

    Returns:
        A tensor of the shape of f per axis: a list unless there is one axis.

    Example:
        >>> sg.gradient(np.array([1.0, 2.0, 4.0]))
        array([1. , 1.5, 2. ])
    """
    f = floats(f)
    axes = normalise_axes("gradient", axis, f.ndim)
    spacings: Sequence[Any] = varargs or (1.0,)
    if len(spacings) == 1 and np.ndim(spacings[0]) == 0:
        spacings = [spacings[0]] * len(axes)
    if len(spacings) != len(axes) or edge_order not in (1, 2):
        raise OptionError(
            f"gradient: {len(spacings)} distances for {len(axes)} axes, edge_order={edge_order}"
        )
    found = [
        moveaxis(_slopes(moveaxis(f, one, -1), spacing, edge_order), -1, one)
        for one, spacing in zip(axes, spacings, strict=True)
    ]
    return found[0] if len(found) == 1 else found


def _slopes(f: Any, spacing: Any, edge_order: int) -> Any:
    """The slopes along the last axis."""
    size = f.shape[-1]
    if not isinstance(size, Dim) and size < edge_order + 1:
        raise ShapeError(f"gradient: {size} elements, of at least {edge_order + 1}")
    spacing = ops.astype(as_operand(spacing), f.dtype)
    uniform = not spacing.ndim
    steps = spacing if uniform else _after(spacing) - _before(spacing)

    def part(x: Any, start: Size, stop: Size) -> Any:
        return slice_axis(x, x.ndim - 1, start, stop)

    def step(start: Size, stop: Size) -> Any:
        return steps if uniform else part(steps, start, stop)

    def end(places: tuple[Size, Size, Size], h: Any, k: Any) -> Any:
        """The slope at the first of three places, by the parabola through them."""
        a, b, c = (part(f, i, i + 1) for i in places)
        return -(2 * h + k) / (h * (h + k)) * a + (h + k) / (h * k) * b - h / (k * (h + k)) * c

    if edge_order == 1:
        first = (part(f, 1, 2) - part(f, 0, 1)) / step(0, 1)
        last = (part(f, size - 1, size) - part(f, size - 2, size - 1)) / step(size - 2, size - 1)
    else:
        first = end((0, 1, 2), step(0, 1), step(1, 2))
        last = -end((size - 1, size - 2, size - 3), step(size - 2, size - 1),
                    step(size - 3, size - 2))  # fmt: skip
    parts = [first, last]
    if isinstance(size, Dim) or size > 2:
        h, k = step(0, size - 2), step(1, size - 1)
        left, here, right = part(f, 0, size - 2), part(f, 1, size - 1), part(f, 2, size)
        if uniform:
            inside = (right - left) / (2 * h)
        else:
            inside = (
                -k / (h * (h + k)) * left + (k - h) / (h * k) * here + h / (k * (h + k)) * right
            )
        parts.insert(1, inside)
    return ops.concatenate(parts, f.ndim - 1)


def unwrap(
    p: Value, discont: float | None = None, axis: int = -1, *, period: float = 2 * math.pi
) -> Value:
    """Angles continued: jumps of more than half a period by multiples of it are taken out.

    Example:
        >>> sg.unwrap(np.array([0.0, 3.0, -3.0])).round(4)
        array([0.    , 3.    , 3.2832])
    """
    p = moveaxis(floats(p), axis, -1)
    first = ops.equal(positions(p, p.ndim - 1), 0)
    step = ops.where(first, 0, p - roll(p, 1, -1))
    half = period / 2
    turned = ops.remainder(step + half, period) - half
    turned = ops.where(
        ops.logical_and(ops.equal(turned, -half), ops.greater(step, 0)), half, turned
    )
    least = half if discont is None else max(discont, half)
    fix = ops.where(ops.less(ops.absolute(step), least), 0, turned - step)
    return moveaxis(ops.where(first, p, p + ops.cumsum(fix, -1)), -1, axis)


# -- order -----------------------------------------------------------------------------------------


def partition(x: Value, kth: Places, axis: int | None = -1, kind: str = "introselect") -> Value:
    """The elements along an axis with the k-th in its place in order, none before it larger.

    It is the whole order: see `sort`. NumPy leaves that of the others open.

    Example:
        >>> sg.partition(np.array([3.0, 1.0, 2.0]), 1)
        array([1., 2., 3.])
    """
    x, axis = _with_kth("partition", x, kth, axis, kind)
    return _having(ops.sort(x, axis), kth, axis)


def argpartition(x: Value, kth: Places, axis: int | None = -1, kind: str = "introselect") -> Value:
    """The places of the elements of `partition`: int64.

    Example:
        >>> sg.argpartition(np.array([3.0, 1.0, 2.0]), 1)
        array([1, 2, 0])
    """
    x, axis = _with_kth("argpartition", x, kth, axis, kind)
    return _having(ops.argsort(x, axis), kth, axis)


def _with_kth(name: str, x: Value, kth: Places, axis: int | None, kind: str) -> tuple[Any, int]:
    if kind != "introselect":
        raise OptionError(f"{name}: kind is 'introselect', not {kind!r}")
    x, axis = axis_or_whole(name, x, axis)
    size = x.shape[axis]
    for one in np.atleast_1d(kth).tolist():
        if not isinstance(size, Dim) and not -size <= one < size:
            raise OptionError(f"{name}: kth={one} of {size} elements")
    return x, axis


def _having(found: Any, kth: Places, axis: int) -> Any:
    """What was found, once it is known to have these elements along an axis of unknown size."""
    size = found.shape[axis]
    if not isinstance(size, Dim):
        return found
    starts = [one if one >= 0 else size + one for one in np.atleast_1d(kth).tolist()]
    return ops.after(found, *[slice_axis(found, axis, one, one + 1) for one in starts])


def topk(x: Value, k: int, axis: int = -1) -> list[Value]:
    """The k largest elements along an axis, the largest first, and their places: int64.

    Example:
        >>> sg.topk(np.array([3.0, 1.0, 2.0]), 2)
        [array([3., 2.]), array([0, 2])]
    """
    x = as_operand(x)
    axis = normalise_axis("topk", axis, x.ndim)
    size = x.shape[axis]
    if k < 0 or (not isinstance(size, Dim) and k > size):
        raise OptionError(f"topk: the {k} largest of {size} elements")
    places = ops.first_places(x, k, axis, True)
    return [ops.take_along_axis(x, places, axis, wrap=False), places]


def lexsort(keys: Sequence[Value], axis: int = -1) -> Value:
    """The places in the order of the last key, of equal ones in that of the key before: int64.

    Example:
        >>> sg.lexsort([np.array([1, 3, 2]), np.array([0, 0, -1])])
        array([2, 0, 1])
    """
    listed = [as_operand(one) for one in keys]
    if not listed:
        raise OptionError("lexsort: there is no key")
    places = ops.argsort(listed[0], axis)
    for key in listed[1:]:
        again = ops.argsort(ops.take_along_axis(key, places, axis, wrap=False), axis)
        places = ops.take_along_axis(places, again, axis, wrap=False)
    return places


def searchsorted(a: Value, v: Value, side: str = "left", sorter: Value = None) -> Value:
    """Where the elements of `v` would be put into the vector `a`, which is in order: int64.

    Before equal ones, or after them if `side` is "right"; nan is the largest. `sorter` has the
    places of the elements of `a` in order. In log2(n) steps, each of which all elements take at
    once; where n is unknown until run time, by a comparison with every element of `a`.

    Example:
        >>> sg.searchsorted(np.array([1.0, 2.0, 3.0]), np.array([2.0, 9.0]))
        array([1, 3])
    """
    if side not in ("left", "right"):
        raise OptionError(f"searchsorted: side is 'left' or 'right', not {side!r}")
    a, v = as_operand(a), as_operand(v)
    if a.ndim != 1:
        raise ShapeError(f"searchsorted: {a.ndim} axes of what is in order, of 1")
    if sorter is not None:
        a = ops.take(a, sorter)
    size = a.shape[0]
    if isinstance(size, Dim):
        return ops.sum(_comes_before(a, ops.expand_dims(v, v.ndim), side), axis=-1)
    found = ops.astype(ops.less(v, v), "int64")  # of nan, too, which is no integer
    step = 1 << int(size).bit_length()
    while step > 1:
        step //= 2
        wanted = found + step
        place = ops.minimum(wanted, size) - 1
        inside = ops.less_equal(wanted, size)
        before = ops.logical_and(inside, _comes_before(ops.take(a, place), v, side))
        found = ops.where(before, wanted, found)
    return found


def _comes_before(a: Any, v: Any, side: str) -> Any:
    before = ops.less(a, v) if side == "left" else ops.less_equal(a, v)
    if not is_float(v.dtype):
        return before
    last = ops.isnan(v)
    if side == "left" and is_float(a.dtype):
        last = ops.logical_and(last, ops.logical_not(ops.isnan(a)))
    return ops.logical_or(before, last)


def digitize(x: Value, bins: Value, right: bool = False) -> Value:
    """The number of the bin of each element between limits in rising order: int64.

    Bin i begins at limit i - 1, which belongs to it unless `right`. Limits that are known, as
    numbers, may be in falling order.

    Example:
        >>> sg.digitize(np.array([0.5, 1.0, 7.0]), np.array([1.0, 2.0]))
        array([0, 1, 2])
    """
    side = "left" if right else "right"
    if isinstance(bins, list | tuple | np.ndarray):
        bins = np.asarray(bins)
        if (bins[1:] < bins[:-1]).any():
            return bins.size - searchsorted(bins[::-1].copy(), x, side)
    return searchsorted(bins, x, side)


def interp(
    x: Value,
    xp: Value,
    fp: Value,
    left: Value = None,
    right: Value = None,
    period: float | None = None,
) -> Value:
    """The lines through the points (xp, fp), in rising order of xp, at `x`.

    Beyond the points it is `left` and `right`, or the first and the last fp; with a `period` the
    points repeat.

    Example:
        >>> sg.interp(np.array([1.5, 9.0]), np.array([1.0, 2.0]), np.array([10.0, 20.0]))
        array([15., 20.])
    """
    x, xp, fp = (floats(one) for one in (x, xp, fp))
    if period is not None:
        x, xp = ops.remainder(x, period), ops.remainder(xp, period)
        order = ops.argsort(xp)
        xp, fp = ops.take(xp, order), ops.take(fp, order)
        size = xp.shape[0]
        ends = (slice_axis(xp, 0, size - 1, size) - period, slice_axis(xp, 0, 0, 1) + period)
        xp = ops.concatenate([ends[0], xp, ends[1]])
        fp = ops.concatenate([slice_axis(fp, 0, size - 1, size), fp, slice_axis(fp, 0, 0, 1)])
        left = right = None
    last = xp.shape[0] - 1
    most = size_value(last, ops.astype(xp, "int64"))
    above = ops.minimum(ops.maximum(searchsorted(xp, x, "right"), 1), most)
    below = ops.maximum(above - 1, 0)
    x0, x1 = ops.take(xp, below), ops.take(xp, above)
    y0, y1 = ops.take(fp, below), ops.take(fp, above)
    found = _line(x, x0, x1, y0, y1)
    first, final = slice_axis(fp, 0, 0, 1), slice_axis(fp, 0, last, last + 1)
    low = ops.squeeze(first, 0) if left is None else left
    high = ops.squeeze(final, 0) if right is None else right
    before = ops.less(x, ops.squeeze(slice_axis(xp, 0, 0, 1), 0))
    beyond = ops.greater(x, ops.squeeze(slice_axis(xp, 0, last, last + 1), 0))
    return ops.where(before, low, ops.where(beyond, high, found))


def _line(x: Any, x0: Any, x1: Any, y0: Any, y1: Any) -> Any:
    """The line through two points at x; the second one where both are at one place.

    From the first point, or from the second one if there is no number, as an end may be infinite.
    """
    upright, there = ops.equal(x0, x1), ops.equal(x, x1)
    slope = (y1 - y0) / ops.where(upright, 1, x1 - x0)
    found = slope * (x - x0) + y0
    found = ops.where(ops.isnan(found), slope * (x - x1) + y1, found)
    unbounded = ops.logical_not(ops.isfinite(found))
    exact = ops.logical_and(ops.equal(x, x0), unbounded)
    level = ops.logical_and(ops.isnan(found), ops.logical_and(ops.equal(y0, y1), ops.equal(x, x)))
    found = ops.where(ops.logical_or(exact, level), y0, found)
    return ops.where(ops.logical_and(there, ops.logical_or(upright, unbounded)), y1, found)
