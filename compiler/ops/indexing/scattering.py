"""Scatters along an axis: x with values written, or added, at the places that an index names.

Which value comes last where several are written to one place is found by a host step
(`last_positions`); what moves elements is made of gathers, whose loops join others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from staticgraph.compiler.core.errors import ShapeError
from staticgraph.compiler.core.op import Attrs, Op
from staticgraph.compiler.core.types import Shape, TensorType, fits, normalise_axis, unify
from staticgraph.compiler.core.values import Value
from staticgraph.compiler.ops.declare import INT64, as_operand, composite, one_axis, unbroadcast
from staticgraph.compiler.ops.elementwise.arithmetic import maximum
from staticgraph.compiler.ops.elementwise.comparison import equal, less, where
from staticgraph.compiler.ops.indexing.take import (
    along_add,
    require_element,
    require_index,
    take,
    take_add,
    take_along_axis,
)
from staticgraph.compiler.ops.reductions.last_places import grid, in_order, last_positions, resized
from staticgraph.compiler.ops.reductions.reduction import positions
from staticgraph.compiler.ops.shapes.shape import broadcast_to, expand_dims, reshape
from staticgraph.compiler.ops.shapes.slicing import embed, strided_slice
from staticgraph.compiler.reference.indices import check_range

__all__ = ["index_add", "index_copy", "index_fill", "put_along_axis", "scatter", "scatter_add"]


_numbers = positions  # `positions` is the name of an argument too

# -- what the ops have in common -------------------------------------------------------------------


def cut(x: Value, index: Value, axis: int) -> Value:
    """The part of x that an index along an axis can name: it may be smaller off the axis."""
    sizes = resized(index.shape, axis, x.shape[axis])
    if tuple(x.shape) == sizes:
        return x
    return strided_slice(x, (0,) * x.ndim, sizes, (1,) * x.ndim)


def grown(part: Any, x: Any, axis: int, fill: float) -> Any:
    """A value per place of `cut(x, index, axis)` as one per place of x, `fill` elsewhere."""
    shape = resized(tuple(x.shape), axis, part.shape[axis])
    if tuple(part.shape) == shape:
        return part
    return embed(part, (0,) * x.ndim, shape, (1,) * x.ndim, fill)


def require_along(
    name: str, x: TensorType, values: TensorType, index: TensorType, axis: int
) -> None:
    """ShapeError or DTypeError unless an index along an axis fits x, and values the index."""
    require_index(name, index)
    if index.ndim != x.ndim:
        raise ShapeError(f"{name}: {x} and index {index} differ in rank")
    for i, (size, other) in enumerate(zip(x.shape, index.shape, strict=True)):
        if i != axis and not fits(other, size):
            raise ShapeError(f"{name}: index {index} is larger than {x} at axis {i}")
    require_fitting(name, values, index.shape)
    require_element(name, x, axis, index)


def require_fitting(name: str, values: TensorType, shape: Shape) -> None:
    """ShapeError unless values broadcast to a shape."""
    pairs = zip(reversed(values.shape), reversed(shape), strict=False)
    if values.ndim > len(shape) or any(a != 1 and unify(a, b) is None for a, b in pairs):
        wanted = TensorType(shape, values.dtype)
        raise ShapeError(f"{name}: values {values} do not broadcast to {wanted}")


def along_bind(name: str) -> Callable[..., tuple[Sequence[Any], Attrs]]:
    """The signature of a scatter along an axis: of x's rank, as `take_along_axis`."""

    def bind(
        x: Any, index: Any, values: Any, axis: Any = None, *, dim: Any = None, wrap: bool = True
    ) -> tuple[Sequence[Any], Attrs]:
        x, axis = as_operand(x), one_axis(name, axis, dim)
        axis = normalise_axis(name, -1 if axis is None else axis, x.ndim)
        return (x, number_or_operand(values), as_operand(index)), {"axis": axis, "wrap": wrap}

    return bind


def number_or_operand(values: object) -> Any:
    """Values as an operand; a Python number as it is, since its dtype is that of what it meets."""
    return values if isinstance(values, bool | int | float | complex) else as_operand(values)


def _untouched(x: object, index: object, axis: int, wrap: bool) -> Any:
    return less(last_of(x, index, axis, wrap), 0)


def last_of(x: Any, index: object, axis: int, wrap: bool) -> Any:
    """Per place of x the last position of an index that names it, or -1."""
    attrs = {"axis": axis, "size": x.shape[axis], "wrap": wrap}
    return grown(last_positions.bound((index,), attrs), x, axis, -1)


def gathered(x: Value, index: Value, axis: int, wrap: bool) -> Value:
    """The elements of x that an index along an axis names."""
    return take_along_axis.bound((cut(x, index, axis), index), {"axis": axis, "wrap": wrap})


def added(values: object, x: Any, index: Any, axis: int, wrap: bool) -> Any:
    """Zeros like x into which values are added."""
    total = along_add(fitted(values, index.shape), index, axis, x.shape[axis], wrap)
    return grown(total, x, axis, 0.0)


def fitted(values: Any, shape: Shape) -> Any:
    """Values broadcast to a shape."""
    return values if tuple(values.shape) == tuple(shape) else broadcast_to(values, shape)


def writable(x: Any, values: Any) -> Any:
    """A copy of an array that can hold values."""
    same = getattr(values, "dtype", None) is x.dtype
    return np.array(x, x.dtype if same else np.result_type(x, values), order="C")


def _promoted(values: Any, x: Any) -> Any:
    """Values as an array of the dtype that they and x have in common."""
    if getattr(values, "dtype", None) is x.dtype:
        return values
    return np.asarray(values, np.result_type(x, values))


def staying(key: Any, shape: tuple[int, ...], numbers: Any) -> Any:
    """Whether each of the values written to a key of an array is the last one for its place."""
    last = np.empty(shape, INT64)  # read where it was written, and nowhere else
    last[key] = numbers
    return last[key] == numbers


def cotangents_at(
    positions: Sequence[int], g: Value, b: Value, key: Value, last: Callable[[], Value]
) -> list[Value]:
    """The cotangents of what is written over at a key, and of the values, on plain arrays."""
    found = []
    for position in positions:
        if position == 0:
            part = np.array(g, order="C")
            part[key] = 0
        else:
            stays = last()
            part = g[key]
            part = unbroadcast(part if stays.all() else _kept(part, stays), b)
        found.append(part)
    return found


def _kept(values: Any, mask: Any) -> Any:
    """The values where a mask holds, and 0 elsewhere.

    Floats by their bits: a processor does not guess which branch a mask without a pattern takes.
    """
    if mask.shape != values.shape or values.dtype.char not in "fd":
        return np.where(mask, values, 0)
    unsigned = np.dtype(f"u{values.dtype.itemsize}")
    every_bit = np.negative(mask.astype(unsigned))  # where it holds
    return (values.view(unsigned) & every_bit).view(values.dtype)


# -- along an axis, one element for another --------------------------------------------------------


def _scatter(x: Any, values: object, index: Any, *, axis: int, wrap: bool) -> Any:
    values = grown(fitted(values, index.shape), x, axis, 0.0)
    last = last_of(x, index, axis, wrap)
    given = take_along_axis.bound(
        (_readable(values, axis), maximum(last, 0)), {"axis": axis, "wrap": False}
    )
    return where(less(last, 0), x, given)


def _readable(values: Any, axis: int) -> Any:
    """Values of which there is one at place 0 of an axis, whether it is meant or not."""
    size = values.shape[axis]
    if isinstance(size, int) and size > 0:
        return values
    shape = resized(tuple(values.shape), axis, size + 1)
    return embed(values, (0,) * values.ndim, shape, (1,) * values.ndim)


def _scatter_numpy(x: Any, values: object, index: Any, *, axis: int, wrap: bool) -> Any:
    index = check_range("scatter", np.asarray(index), x.shape[axis], wrap)
    result = writable(x, values)
    result[grid(index, axis)] = values
    return result


def _scatter_by_x(
    g: object, o: object, a: object, b: object, c: object, *, axis: int, wrap: bool
) -> Any:
    return where(_untouched(a, c, axis, wrap), g, 0)


def _scatter_by_values(
    g: object, o: object, a: object, b: object, c: object, *, axis: int, wrap: bool
) -> Any:
    # of several values for one place the last one alone has a derivative
    last = gathered(last_of(a, c, axis, wrap), c, axis, wrap)
    stays = equal(last, positions(c, axis))
    return unbroadcast(where(stays, gathered(g, c, axis, wrap), 0), b)


def _scatter_arrays(
    positions: Sequence[int], g: Any, o: object, a: object, b: object, c: Any, *, axis: int,
    wrap: bool,
) -> Sequence[Any]:  # fmt: skip
    key = grid(c, axis)
    return cotangents_at(positions, g, b, key, lambda: staying(key, g.shape, _numbers(c, axis)))


def _check(name: str, x: TensorType, values: TensorType, index: TensorType, **attrs: Any) -> None:
    require_along(name, x, values, index, attrs["axis"])


scatter: Op = composite(
    "scatter", _scatter, bind=along_bind("scatter"), evaluate=_scatter_numpy, check=_check,
    vjp=(_scatter_by_x, _scatter_by_values, None), saves=("c", "c", ""),
    vjp_arrays=_scatter_arrays, promotes=slice(0, 2),
    exact=True, complex="linear",
    doc="x with `values` at the places of `index`, of x's rank, whose coordinate along `axis` it "
    "is; it may be smaller than x off the axis. `values` broadcast to the index. Of several for "
    "one place the last one stays. OutOfRangeError outside; negative indices count from the end if "
    "`wrap`.",
    example=">>> sg.scatter(np.array([1.0, 2.0, 3.0]), np.array([2, 0]), np.array([30.0, 10.0]), "
    "axis=0)\n"
    "array([10.,  2., 30.])",
)  # fmt: skip


def _scatter_add(x: object, values: object, index: object, *, axis: int, wrap: bool) -> Any:
    return x + added(values, x, index, axis, wrap)


def _scatter_add_numpy(x: Any, values: object, index: object, *, axis: int, wrap: bool) -> Any:
    index = np.asarray(index)
    given = np.broadcast_to(_promoted(values, x), index.shape)
    attrs = {"axis": axis, "size": x.shape[axis], "wrap": wrap}
    return x + grown(along_add.evaluate(given, index, **attrs), x, axis, 0.0)


scatter_add: Op = composite(
    "scatter_add", _scatter_add, bind=along_bind("scatter_add"), check=_check,
    evaluate=_scatter_add_numpy,
    vjp=(
        lambda g, o, a, b, c, *, axis, wrap: g,
        lambda g, o, a, b, c, *, axis, wrap: unbroadcast(gathered(g, c, axis, wrap), b),
        None,
    ),
    saves=("", "c", ""), promotes=slice(0, 2), complex="linear", sweep="places",
    doc="x to which `values` are added at the places of `index`: see `scatter`. Where several fall "
    "on one place all are added.",
    example=">>> sg.scatter_add(np.array([1.0, 2.0]), np.array([0, 0]), np.array([10.0, 20.0]), "
    "axis=0)\n"
    "array([31.,  2.])",
)  # fmt: skip


def put_along_axis(
    x: Any, index: Any, values: object, axis: int | None = -1, *, dim: int | None = None
) -> Any:
    """x with `values` where `take_along_axis` would read: NumPy's, as a new array.

    The index broadcasts against x off the axis, the values against the index. For axis None x is
    taken as flat. Of several values for one place the last one stays.

    Raises:
        OutOfRangeError: an index is outside of the axis.

    Example:
        >>> sg.put_along_axis(np.zeros((2, 2)), np.array([[1], [0]]), 5.0, axis=1)
        array([[0., 5.],
               [5., 0.]])
    """
    axis = one_axis("put_along_axis", None if dim is not None and axis == -1 else axis, dim)
    x, index = as_operand(x), as_operand(index)
    if axis is None:
        flat = scatter(reshape(x, (-1,)), index, values, 0)
        return reshape(flat, tuple(x.shape))
    axis = normalise_axis("put_along_axis", axis, x.ndim)
    if index.ndim == x.ndim:
        index = fitted(index, resized(tuple(x.shape), axis, index.shape[axis]))
    return scatter(x, index, values, axis)


# -- slices along an axis --------------------------------------------------------------------------


def _require_slices(
    name: str, x: TensorType, values: TensorType, index: TensorType, axis: int
) -> None:
    require_index(name, index)
    if index.ndim != 1:
        raise ShapeError(f"{name}: the index {index} is no vector")
    require_fitting(name, values, resized(x.shape, axis, index.shape[0]))
    require_element(name, x, axis, index)


def _slices_check(
    name: str, x: TensorType, values: TensorType, index: TensorType, **attrs: Any
) -> None:
    _require_slices(name, x, values, index, attrs["axis"])


def _slices_bind(name: str) -> Callable[..., tuple[Sequence[Any], Attrs]]:
    def bind(
        x: Any, index: Any, values: Any, axis: Any = None, *, dim: Any = None, wrap: bool = True
    ) -> tuple[Sequence[Any], Attrs]:
        x, axis = as_operand(x), one_axis(name, axis, dim)
        axis = normalise_axis(name, 0 if axis is None else axis, x.ndim)
        return (x, number_or_operand(values), as_operand(index)), {"axis": axis, "wrap": wrap}

    return bind


def _slices(values: object, x: Any, index: Any, axis: int) -> Any:
    return fitted(values, resized(tuple(x.shape), axis, index.shape[0]))


def _index_add(x: Any, values: object, index: object, *, axis: int, wrap: bool) -> Any:
    return x + take_add(_slices(values, x, index, axis), index, axis, x.shape[axis], wrap)


def _index_add_numpy(x: Any, values: object, index: object, *, axis: int, wrap: bool) -> Any:
    index = np.asarray(index)
    shape = (*x.shape[:axis], len(index), *x.shape[axis + 1 :])
    given = np.broadcast_to(_promoted(values, x), shape)
    return x + take_add.evaluate(given, index, axis=axis, size=x.shape[axis], wrap=wrap)


index_add: Op = composite(
    "index_add", _index_add, bind=_slices_bind("index_add"), check=_slices_check,
    evaluate=_index_add_numpy,
    vjp=(
        lambda g, o, a, b, c, *, axis, wrap: g,
        lambda g, o, a, b, c, *, axis, wrap: unbroadcast(take(g, c, axis), b),
        None,
    ),
    saves=("", "c", ""), promotes=slice(0, 2), complex="linear", sweep="slices",
    doc="x to whose slices along `axis` that a vector of indices names those of `values` are "
    "added. OutOfRangeError outside; negative indices count from the end if `wrap`.",
    example=">>> sg.index_add(np.array([1.0, 2.0]), np.array([0, 0]), np.array([10.0, 20.0]), "
    "axis=0)\n"
    "array([31.,  2.])",
)  # fmt: skip


def _last_slices(x: Any, index: object, axis: int, wrap: bool) -> Any:
    attrs = {"axis": 0, "size": x.shape[axis], "wrap": wrap}
    return last_positions.bound((index,), attrs)


def _as_column(vector: object, x: Any, axis: int) -> Any:
    """One value per slice of x along an axis, to broadcast with x."""
    return expand_dims(vector, tuple(range(1, x.ndim - axis))) if axis < x.ndim - 1 else vector


def copied_slices(x: Any, values: object, index: object, *, axis: int, wrap: bool) -> Any:
    """`index_copy` in other ops."""
    values = _slices(values, x, index, axis)
    last = _last_slices(x, index, axis, wrap)
    given = take.bound((_readable(values, axis), maximum(last, 0)), {"axis": axis})
    return where(_as_column(less(last, 0), x, axis), x, given)


def _slices_numpy(name: str) -> Callable[..., Any]:
    def write(x: Any, values: object, index: object, *, axis: int, wrap: bool) -> Any:
        index = check_range(name, np.asarray(index), x.shape[axis], wrap)
        result = writable(x, values)
        result[(slice(None),) * axis + (in_order(index),)] = values
        return result

    return write


def _slices_by_x(
    g: object, o: object, a: object, b: object, c: object, *, axis: int, wrap: bool
) -> Any:
    return where(_as_column(less(_last_slices(a, c, axis, wrap), 0), a, axis), g, 0)


def _index_copy_by_values(
    g: object, o: object, a: object, b: object, c: object, *, axis: int, wrap: bool
) -> Any:
    last = take(_last_slices(a, c, axis, wrap), c, 0)
    stays = _as_column(equal(last, positions(c, 0)), a, axis)
    return unbroadcast(where(stays, take(g, c, axis), 0), b)


def _index_copy_arrays(
    positions: Sequence[int], g: Any, o: object, a: object, b: object, c: Any, *, axis: int,
    wrap: bool,
) -> Sequence[Any]:  # fmt: skip
    def last() -> Any:
        return _as_column(staying(in_order(c), (g.shape[axis],), _numbers(c, 0)), g, axis)

    return cotangents_at(positions, g, b, (slice(None),) * axis + (in_order(c),), last)


index_copy: Op = composite(
    "index_copy", copied_slices, bind=_slices_bind("index_copy"), check=_slices_check,
    evaluate=_slices_numpy("index_copy"),
    vjp=(_slices_by_x, _index_copy_by_values, None), saves=("c", "c", ""),
    vjp_arrays=_index_copy_arrays, promotes=slice(0, 2),
    exact=True, complex="linear",
    doc="x with the slices of `values` in place of those along `axis` that a vector of indices "
    "names: see `index_add`. Of several for one place the last one stays.",
    example=">>> sg.index_copy(np.array([1.0, 2.0]), np.array([1, 0]), np.array([20.0, 10.0]), "
    "axis=0)\n"
    "array([10., 20.])",
)  # fmt: skip


def _index_fill(x: object, value: object, index: object, *, axis: int, wrap: bool) -> Any:
    return where(_as_column(less(_last_slices(x, index, axis, wrap), 0), x, axis), x, value)


def _fill_check(
    name: str, x: TensorType, value: TensorType, index: TensorType, **attrs: Any
) -> None:
    if value.ndim:
        raise ShapeError(f"{name}: the value {value} is no scalar")
    _require_slices(name, x, value, index, attrs["axis"])


def _index_fill_by_value(
    g: object, o: object, a: object, b: object, c: object, *, axis: int, wrap: bool
) -> Any:
    kept = _as_column(less(_last_slices(a, c, axis, wrap), 0), a, axis)
    return unbroadcast(where(kept, 0, g), b)


index_fill: Op = composite(
    "index_fill", _index_fill, bind=_slices_bind("index_fill"), check=_fill_check,
    evaluate=_slices_numpy("index_fill"),
    vjp=(_slices_by_x, _index_fill_by_value, None), saves=("c", "c", ""), promotes=slice(0, 2),
    exact=True, complex="linear",
    doc="x with one value in the slices along `axis` that a vector of indices names: see "
    "`index_add`.",
    example=">>> sg.index_fill(np.array([1.0, 2.0, 3.0]), np.array([0, 2]), 9.0, axis=0)\n"
    "array([9., 2., 9.])",
)  # fmt: skip
