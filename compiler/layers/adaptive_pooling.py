"""Adaptive pooling: the last axes in a wanted number of parts, and a number for each of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from staticgraph.compiler import ops
from staticgraph.compiler.core.dims import Dim, Size
from staticgraph.compiler.core.errors import OptionError, ShapeError
from staticgraph.compiler.core.values import Value
from staticgraph.compiler.layers.axes import along, beside, number, numbers, shown
from staticgraph.compiler.layers.pooling import winner
from staticgraph.compiler.ops.declare import as_operand
from staticgraph.compiler.ops.shapes.slicing import slice_axis

__all__ = [
    "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "adaptive_max_pool1d",
    "adaptive_max_pool2d", "adaptive_max_pool3d",
]  # fmt: skip

Parts = Sequence[int | None]


def adaptive_avg_pool1d(x: Value, output_size: Value) -> Value:
    """The means of `output_size` parts of the last axis: (n, c, l) -> (n, c, output_size).

    See `adaptive_avg_pool2d` for the parts and errors.

    Example:
        >>> sg.nn.adaptive_avg_pool1d(np.array([[1.0, 2.0, 6.0]]), 2)
        array([[1.5, 4. ]])
    """
    return averaged(x, _parts("adaptive_avg_pool1d", 1, x, output_size))


def adaptive_avg_pool2d(x: Value, output_size: Value) -> Value:
    """The means of parts of the last two axes: (n, c, h, w) -> (n, c, *output_size).

    Part i of m of an axis of size s goes from floor(i s / m) to ceil((i + 1) s / m); None keeps
    the size of an axis, one number is that of both; n is optional.

    Raises:
        ShapeError: another number of axes.
        OptionError: not one number of parts for each axis.

    Example:
        >>> sg.nn.adaptive_avg_pool2d(np.arange(6.0).reshape(1, 2, 3), (1, None))
        array([[[1.5, 2.5, 3.5]]])
    """
    return averaged(x, _parts("adaptive_avg_pool2d", 2, x, output_size))


def adaptive_avg_pool3d(x: Value, output_size: Value) -> Value:
    """The means of parts of the last three axes: see `adaptive_avg_pool2d`.

    Example:
        >>> sg.nn.adaptive_avg_pool3d(np.arange(8.0).reshape(1, 2, 2, 2), 1)
        array([[[[3.5]]]])
    """
    return averaged(x, _parts("adaptive_avg_pool3d", 3, x, output_size))


def adaptive_max_pool1d(x: Value, output_size: Value, return_indices: bool = False) -> Value:
    """The largest elements of parts of the last axis: see `adaptive_avg_pool2d` for the parts.

    Example:
        >>> sg.nn.adaptive_max_pool1d(np.array([[1.0, 9.0, 6.0]]), 2, return_indices=True)
        (array([[9., 9.]]), array([[1, 1]]))
    """
    parts = _parts("adaptive_max_pool1d", 1, x, output_size)
    return largest(x, parts, return_indices)


def adaptive_max_pool2d(x: Value, output_size: Value, return_indices: bool = False) -> Value:
    """The largest elements of parts of the last two axes.

    With `return_indices` also their places in the flat axes; the first of equal elements takes
    the gradient. See `adaptive_avg_pool2d` for the parts and errors.

    Example:
        >>> sg.nn.adaptive_max_pool2d(np.arange(6.0).reshape(1, 2, 3), 1)
        array([[[5.]]])
    """
    parts = _parts("adaptive_max_pool2d", 2, x, output_size)
    return largest(x, parts, return_indices)


def adaptive_max_pool3d(x: Value, output_size: Value, return_indices: bool = False) -> Value:
    """The largest elements of parts of the last three axes: see `adaptive_max_pool2d`.

    Example:
        >>> sg.nn.adaptive_max_pool3d(np.arange(8.0).reshape(1, 2, 2, 2), (2, 1, 1))
        array([[[[3.]],
        <BLANKLINE>
                [[7.]]]])
    """
    parts = _parts("adaptive_max_pool3d", 3, x, output_size)
    return largest(x, parts, return_indices)


def _parts(name: str, axes: int, x: Any, wanted: Any) -> Parts:
    x = as_operand(x)
    parts = (wanted,) * axes if wanted is None or hasattr(wanted, "__index__") else tuple(wanted)
    known = [one for one in parts if one is not None]
    if len(parts) != axes or any(not hasattr(one, "__index__") or one < 1 for one in known):
        raise OptionError(
            f"{name}: output_size is a number of parts, or one for each of {axes} axes, not "
            f"{wanted!r}"
        )
    if x.ndim not in (axes + 1, axes + 2):
        raise ShapeError(f"{name}: {shown(x)} has {x.ndim} axes, of {axes + 1} or {axes + 2}")
    if 0 in x.shape[-axes:]:
        raise ShapeError(f"{name}: {shown(x)} has nothing to pool along an axis")
    return parts


def averaged(x: Value, parts: Parts) -> Value:
    """The means of the parts of the last axes; None for each of its elements."""
    x = as_operand(x)
    for axis, count in enumerate(parts, x.ndim - len(parts)):
        if count is not None:
            x = _means_along(x, axis, int(count))
    return x


def _part(i: int, size: Size, count: int) -> tuple[Size, Size]:
    return i * size // count, -(-(i + 1) * size // count)


def _cut(x: Any, axis: int, start: Size, stop: Size) -> Any:
    """A part of an axis."""
    if isinstance(x.shape[axis], Dim):
        return slice_axis(x, axis, start, stop)
    return x[(*(slice(None),) * axis, slice(start, stop))]


def _means_along(x: Any, axis: int, parts: int) -> Any:
    size = x.shape[axis]
    if parts and isinstance(size, int) and size % parts == 0:
        shape = (*x.shape[:axis], parts, size // parts, *x.shape[axis + 1 :])
        return ops.mean(ops.reshape(x, shape), axis + 1)
    if isinstance(size, Dim):
        x = ops.after(x, slice_axis(x, axis, 0, 1))  # which a run refuses where there is none
    slices = (_cut(x, axis, *_part(i, size, parts)) for i in range(parts))
    return ops.concatenate([ops.mean(one, axis, True) for one in slices], axis)


def largest(x: Value, parts: Parts, places: bool) -> Value:
    """The largest elements of the parts of the last axes, and where they are if `places`.

    One axis after the other, the last one first: the first of equal elements is the one that is
    first in the flat axes too.
    """
    x = as_operand(x)
    first, sizes = x.ndim - len(parts), tuple(x.shape[x.ndim - len(parts) :])
    found: list[Any] = [None] * len(parts)
    for axis in reversed(range(first, x.ndim)):
        count, size = parts[axis - first], sizes[axis - first]
        if count is None:
            found[axis - first] = beside(along(numbers(size, x), axis, x.ndim), x)
            continue
        index = _largest_along(x, axis, int(count))
        x = ops.take_along_axis(x, index, axis, wrap=False)
        if places:
            later = found[axis - first + 1 :]
            found[axis - first + 1 :] = [
                ops.take_along_axis(ops.broadcast_to(one, _filled(one, x, axis, size)), index, axis,
                                    wrap=False)
                for one in later
            ]  # fmt: skip
        found[axis - first] = index
    if not places:
        return x
    flat: Any = 0
    for size, one in zip(sizes, found, strict=True):
        flat = flat * number(size, x) + one
    return x, ops.broadcast_to(flat, tuple(x.shape))


def _filled(place: Any, x: Any, axis: int, size: Size) -> tuple[Size, ...]:
    """The shape of x before the elements of an axis of `size` were chosen."""
    return tuple(size if i == axis else one for i, one in enumerate(x.shape))


def _largest_along(x: Any, axis: int, parts: int) -> Any:
    """Where the largest element of each part of an axis is."""
    size, values = x.shape[axis], ops.stop_gradient(x)
    chosen = []
    for i in range(parts):
        start, stop = _part(i, size, parts)
        inside = winner(_cut(values, axis, start, stop), axis)
        chosen.append(inside + number(start, x))
    return ops.concatenate(chosen, axis)
