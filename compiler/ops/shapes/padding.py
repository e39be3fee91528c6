"""Padding in NumPy's modes: by a number, by elements that are there, or by what comes of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from staticgraph.compiler.core.annotated import as_float
from staticgraph.compiler.core.dims import Dim, Size
from staticgraph.compiler.core.dtypes import is_inexact
from staticgraph.compiler.core.errors import OptionError, ShapeError
from staticgraph.compiler.core.op import op_named
from staticgraph.compiler.core.types import DType, normalise_axis
from staticgraph.compiler.core.values import Value
from staticgraph.compiler.ops.declare import as_operand
from staticgraph.compiler.ops.elementwise.arithmetic import astype, floor, minimum
from staticgraph.compiler.ops.elementwise.comparison import equal, greater_equal, where
from staticgraph.compiler.ops.indexing.take import take
from staticgraph.compiler.ops.reductions.reduction import max as largest, mean, min as least
from staticgraph.compiler.ops.reductions.sorting import sort
from staticgraph.compiler.ops.shapes.shape import broadcast_to, reshape
from staticgraph.compiler.ops.shapes.slicing import concatenate, embed, slice_axis

__all__ = ["pad"]

Pairs = list[tuple[Any, Any]]


class _Edge(NamedTuple):
    """One end of an axis: how many elements it gets, and what `pad` was told of it."""

    width: int
    value: Any
    end: Any
    length: Any


def pad(
    x: Value,
    pad_width: Value,
    mode: str | float = "constant",
    value: float = 0.0,
    *,
    constant_values: Value = None,
    end_values: Value = 0,
    reflect_type: str = "even",
    stat_length: Value = None,
) -> Value:
    """`x` with elements added around it, as `numpy.pad`.

    Args:
        x: an array.
        pad_width: (before, after) per axis, one pair for all axes, or one number for both sides of
            all axes; or a dict from axes to these.
        mode: what is added: "constant"; "edge", the outermost elements; "reflect" or "symmetric",
            the elements mirrored at the outermost ones, or behind them; "wrap", those of the other
            side; "linear_ramp" to `end_values`; the "mean", "median", "maximum" or "minimum" of
            the nearest `stat_length` elements; "empty", zeros. A number is the constant.
        value: the constant, for both sides of all axes.
        constant_values, end_values, stat_length: one, a pair, or pairs as `pad_width`.
        reflect_type: "odd" takes mirrored elements from twice the outermost one.

    Raises:
        OptionError: another mode, a negative width, or a constant that does not fit the dtype.
        ShapeError: another number of pairs than of axes, or an axis has no element to add.

    Example:
        >>> sg.pad(np.array([1.0, 2.0, 3.0]), (2, 1), mode="reflect")
        array([3., 2., 1., 2., 3., 2.])
    """
    x = as_operand(x)
    if not isinstance(mode, str):
        value, mode = mode, "constant"
    widths = _pairs("pad", _by_axis(pad_width, x.ndim), x.ndim)
    if any(width < 0 for pair in widths for width in pair):
        raise OptionError(f"pad: negative width in {widths}")
    if mode in ("constant", "empty") and constant_values is None:
        return _constant(x, widths, value)
    if mode != "constant" and mode not in _PLACES and mode not in _ADDED:
        names = ", ".join(["constant", "empty", *_PLACES, *_ADDED])
        raise OptionError(f"pad: mode is one of {names}, not {mode!r}")
    if reflect_type not in ("even", "odd"):
        raise OptionError(f"pad: reflect_type is 'even' or 'odd', not {reflect_type!r}")
    told = [
        _pairs("pad", one, x.ndim)
        for one in (0 if constant_values is None else constant_values, end_values, stat_length)
    ]
    for axis, pair in enumerate(widths):
        if pair == (0, 0):
            continue
        if x.shape[axis] == 0 and mode != "constant":
            raise ShapeError(f"pad: axis {axis} has no element, of which mode {mode!r} adds some")
        edges = [_Edge(int(pair[i]), *(one[axis][i] for one in told)) for i in (0, 1)]
        x = _along(x, axis, mode, edges, reflect_type == "odd")
    return x


def _by_axis(widths: Value, ndim: int) -> Value:
    if not isinstance(widths, dict):
        return widths
    pairs: list[Any] = [(0, 0)] * ndim
    for axis, pair in widths.items():
        pairs[normalise_axis("pad", axis, ndim)] = (pair, pair) if np.ndim(pair) == 0 else pair
    return pairs


def _pairs(name: str, given: Value, ndim: int) -> Pairs:
    """One for all, one pair for all, or a pair per axis: as pairs."""
    pairs = [given] * ndim if np.ndim(given) == 0 else list(given)
    if len(pairs) == 2 and all(np.ndim(one) == 0 for one in pairs):
        pairs = [tuple(pairs)] * ndim
    if len(pairs) == 1 != ndim:
        pairs = pairs * ndim
    pairs = [(pair, pair) if np.ndim(pair) == 0 else tuple(pair) for pair in pairs]
    pairs = [pair * 2 if len(pair) == 1 else pair for pair in pairs]
    if len(pairs) != ndim:
        raise ShapeError(f"{name}: {len(pairs)} pairs of widths for {ndim} axes")
    return pairs


def _constant(x: Any, pairs: Pairs, value: float) -> Any:
    starts = tuple(int(before) for before, _ in pairs)
    shape = tuple(
        size + int(before) + int(after)
        for size, (before, after) in zip(x.shape, pairs, strict=True)
    )
    fill = as_float("pad", "value", value)
    _check_fill(fill, np.dtype(x.dtype))
    return embed(x, starts, shape, (1,) * x.ndim, fill)


def _check_fill(value: float, dtype: DType) -> None:
    if is_inexact(dtype):
        return
    low, high = (0, 1) if dtype.kind == "b" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    if not (low <= value <= high and value == int(value)):
        raise OptionError(f"pad: value {value} does not fit {dtype.name}")


def _along(x: Any, axis: int, mode: str, edges: Sequence[_Edge], odd: bool) -> Any:
    """x with elements added at both ends of an axis."""
    if mode == "constant":
        for at, edge in enumerate(edges):
            pairs = [(0, 0)] * x.ndim
            pairs[axis] = (0, edge.width) if at else (edge.width, 0)
            x = _constant(x, pairs, edge.value) if edge.width else x
        return x
    if mode in _PLACES:
        return _mirrored(x, axis, mode, edges, odd)
    parts = [_ADDED[mode](x, axis, edge, at == 1) for at, edge in enumerate(edges)]
    return concatenate([parts[0], x, parts[1]], axis=axis)


# -- elements that are there -----------------------------------------------------------------------


def _numbers(size: Size, like: Any) -> Any:
    if isinstance(size, Dim):
        return like._apply(op_named("iota"), (), {"size": size})
    return np.arange(size)


def _size(size: Size, like: Any) -> Any:
    if isinstance(size, Dim):
        return astype(like._apply(op_named("size_of"), (), {"size": size}), "int64")
    return np.int64(size)


def _mirrored(x: Any, axis: int, mode: str, edges: Sequence[_Edge], odd: bool) -> Any:
    before, after = (edge.width for edge in edges)
    size = _size(x.shape[axis], x)
    places = _numbers(x.shape[axis] + before + after, x) - before
    index, turned, turns = _PLACES[mode](places, size)
    found = take(x, index, axis)
    if not odd or mode not in ("reflect", "symmetric"):
        return found
    shape = (-1,) + (1,) * (x.ndim - 1 - axis)
    first, last = slice_axis(x, axis, 0, 1), take(x, reshape(size - 1, (1,)), axis)
    turns = astype(reshape(turns, shape), x.dtype)
    return where(reshape(turned, shape), 2 * last - found, found) + 2 * turns * (last - first)


def _edge_places(places: Any, size: Any) -> tuple[Any, Any, Any]:
    inside = where(greater_equal(places, 0), places, 0)
    return minimum(inside, size - 1), None, None


def _wrapped_places(places: Any, size: Any) -> tuple[Any, Any, Any]:
    return places % size, None, None


def _reflected_places(places: Any, size: Any) -> tuple[Any, Any, Any]:
    period = where(equal(size, 1), 1, 2 * (size - 1))
    index = places % period
    turned = greater_equal(index, size)
    return where(turned, period - index, index), turned, places // period


def _symmetric_places(places: Any, size: Any) -> tuple[Any, Any, Any]:
    index = places % (2 * size)
    turned = greater_equal(index, size)
    return where(turned, 2 * size - 1 - index, index), turned, places // (2 * size)


_PLACES: Mapping[str, Callable[[Any, Any], tuple[Any, Any, Any]]] = {
    "edge": _edge_places, "reflect": _reflected_places, "symmetric": _symmetric_places,
    "wrap": _wrapped_places,
}  # fmt: skip
"""Per mode the places whose elements are taken, whether these are mirrored, and how many times all
has been gone through."""


# -- what comes of elements ------------------------------------------------------------------------


def _nearest(x: Any, axis: int, length: Any, last: bool) -> Any:
    """The elements of an axis nearest to an end: all, if no number of them is given."""
    size = x.shape[axis]
    if length is None or (not isinstance(size, Dim) and length >= size):
        return x
    if length < 1:
        raise OptionError(f"pad: stat_length is positive, not {length}")
    return slice_axis(x, axis, size - length if last else 0, size if last else length)


def _repeated(x: Any, axis: int, width: int) -> Any:
    return broadcast_to(x, (*x.shape[:axis], width, *x.shape[axis + 1 :]))


def _statistic(function: Callable[..., Any]) -> Callable[[Any, int, _Edge, bool], Any]:
    def added(x: Any, axis: int, edge: _Edge, last: bool) -> Any:
        found = function(_nearest(x, axis, edge.length, last), axis)
        if not is_inexact(x.dtype):
            found = astype(op_named("round")(found) if is_inexact(found.dtype) else found, x.dtype)
        return _repeated(found, axis, edge.width)

    return added


def _median(x: Any, axis: int) -> Any:
    size, ordered = _size(x.shape[axis], x), sort(x, axis)
    middle = [take(ordered, reshape(at // 2, (1,)), axis) for at in (size - 1, size)]
    return (middle[0] + middle[1]) / 2


def _ramp(x: Any, axis: int, edge: _Edge, last: bool) -> Any:
    """Numbers at equal distances between the end that is asked for and the outermost element."""
    size = x.shape[axis]
    outermost = slice_axis(x, axis, size - 1 if last else 0, size if last else 1)
    shares = np.arange(edge.width) / max(edge.width, 1)
    shares = shares[::-1] if last else shares
    shares = shares.reshape((-1,) + (1,) * (x.ndim - 1 - axis))
    if is_inexact(x.dtype):
        shares = astype(shares, x.dtype)
    ramp = edge.end + (outermost - edge.end) * shares
    return ramp if is_inexact(x.dtype) else astype(floor(ramp), x.dtype)


_ADDED: Mapping[str, Callable[[Any, int, _Edge, bool], Any]] = {
    "linear_ramp": _ramp,
    "mean": _statistic(lambda x, axis: mean(x, axis, True)),
    "median": _statistic(_median),
    "maximum": _statistic(lambda x, axis: largest(x, axis, True)),
    "minimum": _statistic(lambda x, axis: least(x, axis, True)),
}
"""Per mode what is added at an end of an axis."""
