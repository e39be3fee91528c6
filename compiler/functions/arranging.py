"""Functions that move, repeat and cut elements: NumPy's, composed of shared ops."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core import dims
from staticgraph.compiler.core.dims import Dim, Size
from staticgraph.compiler.core.errors import OptionError, ShapeError
from staticgraph.compiler.core.size_refusals import needing
from staticgraph.compiler.core.types import normalise_axis
from staticgraph.compiler.core.values import Value
from staticgraph.compiler.ops.declare import as_operand, size_value, zeros_like
from staticgraph.compiler.ops.indexing.keys import numbers
from staticgraph.compiler.ops.reductions.reduction import positions
from staticgraph.compiler.ops.shapes.slicing import slice_axis

__all__ = [
    "atleast_1d", "atleast_2d", "atleast_3d", "diag", "diagflat", "diagonal", "fliplr", "flipud",
    "matrix_transpose", "moveaxis", "permute_dims", "ravel", "repeat", "resize", "roll", "rollaxis",
    "rot90", "tile", "trace", "tril", "triu", "unstack",
]  # fmt: skip


def axis_or_whole(name: str, x: Value, axis: int | None) -> tuple[Value, int]:
    """x and an axis in its normal form; the flat x and 0 if there is none."""
    x = as_operand(x)
    if axis is None:
        return ops.reshape(x, (-1,)), 0
    return x, normalise_axis(name, axis, x.ndim)


def moveaxis(x: Value, source: int | Sequence[int], destination: int | Sequence[int]) -> Value:
    """`x` with axes moved to other places; the others keep their order.

    Example:
        >>> sg.moveaxis(np.zeros((2, 3, 4)), 0, -1).shape
        (3, 4, 2)
    """
    x = as_operand(x)
    here, there = (
        [normalise_axis("moveaxis", axis, x.ndim) for axis in _listed(one)]
        for one in (source, destination)
    )
    if len(here) != len(there):
        raise OptionError(f"moveaxis: {source} and {destination} are not as many axes")
    order = [axis for axis in range(x.ndim) if axis not in here]
    for target, axis in sorted(zip(there, here, strict=True)):
        order.insert(target, axis)
    return x if order == list(range(x.ndim)) else ops.transpose(x, tuple(order))


def _listed(one: Any) -> list[int]:
    return [operator.index(one)] if hasattr(one, "__index__") else list(one)


def rollaxis(x: Value, axis: int, start: int = 0) -> Value:
    """`x` with one axis moved before the axis `start`.

    Example:
        >>> sg.rollaxis(np.zeros((2, 3, 4)), 2).shape
        (4, 2, 3)
    """
    x = as_operand(x)
    axis = normalise_axis("rollaxis", axis, x.ndim)
    start = start if start == x.ndim else normalise_axis("rollaxis", start, x.ndim)
    return moveaxis(x, axis, start - (axis < start))


def permute_dims(x: Value, axes: Sequence[int]) -> Value:
    """The axes in another order: the array API's name of `transpose`.

    Example:
        >>> sg.permute_dims(np.zeros((2, 3)), (1, 0)).shape
        (3, 2)
    """
    return ops.transpose(x, tuple(axes))


def matrix_transpose(x: Value) -> Value:
    """The last two axes exchanged: (..., m, n) -> (..., n, m).

    Example:
        >>> sg.matrix_transpose(np.zeros((5, 2, 3))).shape
        (5, 3, 2)
    """
    return ops.swapaxes(x, -1, -2)


def ravel(x: Value, order: str = "C") -> Value:
    """All elements in one axis, in row-major order, or with order="F" column by column.

    Example:
        >>> sg.ravel(np.array([[1.0, 2.0], [3.0, 4.0]]))
        array([1., 2., 3., 4.])
    """
    return ops.reshape(x, (-1,), order="C" if order == "K" else order)


def atleast_1d(x: Value) -> Value:
    """`x` with at least one axis.

    Example:
        >>> sg.atleast_1d(np.array(1.0))
        array([1.])
    """
    x = as_operand(x)
    return x if x.ndim else ops.reshape(x, (1,))


def atleast_2d(x: Value) -> Value:
    """`x` with at least two axes, new ones first.

    Example:
        >>> sg.atleast_2d(np.array([1.0, 2.0]))
        array([[1., 2.]])
    """
    x = as_operand(x)
    return x if x.ndim > 1 else ops.reshape(x, (1, -1))


def atleast_3d(x: Value) -> Value:
    """`x` with at least three axes: (n,) -> (1, n, 1), (m, n) -> (m, n, 1).

    Example:
        >>> sg.atleast_3d(np.array([1.0, 2.0])).shape
        (1, 2, 1)
    """
    x = atleast_2d(x) if np.ndim(x) < 2 else as_operand(x)
    return ops.expand_dims(x, 2) if x.ndim == 2 else x


def fliplr(x: Value) -> Value:
    """The elements in reverse order along axis 1.

    Example:
        >>> sg.fliplr(np.array([[1.0, 2.0], [3.0, 4.0]]))
        array([[2., 1.],
               [4., 3.]])
    """
    return ops.flip(x, 1)


def flipud(x: Value) -> Value:
    """The elements in reverse order along axis 0.

    Example:
        >>> sg.flipud(np.array([[1.0, 2.0], [3.0, 4.0]]))
        array([[3., 4.],
               [1., 2.]])
    """
    return ops.flip(x, 0)


def rot90(x: Value, k: int = 1, axes: Sequence[int] = (0, 1)) -> Value:
    """The plane of two axes turned by `k` right angles, from the first axis towards the second.

    Example:
        >>> sg.rot90(np.array([[1.0, 2.0], [3.0, 4.0]]))
        array([[2., 4.],
               [1., 3.]])
    """
    x = as_operand(x)
    first, second = (normalise_axis("rot90", axis, x.ndim) for axis in axes)
    if first == second:
        raise OptionError(f"rot90: {tuple(axes)} are not two axes")
    turns = k % 4
    if turns == 2:
        return ops.flip(x, (first, second))
    if turns == 1:
        return ops.swapaxes(ops.flip(x, second), first, second)
    return ops.flip(ops.swapaxes(x, first, second), second) if turns else x


def roll(x: Value, shift: int | Sequence[int], axis: int | Sequence[int] | None = None) -> Value:
    """The elements moved along axes, those past the end to the front; along the flat x if None.

    `shift` is one number for all axes, or one per axis. The result is new, even if nothing moves.

    Example:
        >>> sg.roll(np.array([1.0, 2.0, 3.0]), 1)
        array([3., 1., 2.])
    """
    x = as_operand(x)
    if axis is None:
        whole = sum(_listed(shift))
        flat = ops.reshape(x, (-1,))
        moved = _rolled(flat, whole, 0)
        return ops.copy(x) if moved is flat else ops.reshape(moved, x.shape)
    before = x
    pairs = np.broadcast(_listed(shift), _listed(axis))
    for one, along in pairs:
        x = _rolled(x, int(one), normalise_axis("roll", int(along), x.ndim))
    return ops.copy(x) if x is before else x


def _rolled(x: Any, shift: int, axis: int) -> Any:
    size = x.shape[axis]
    if isinstance(size, Dim):
        count = size_value(size, ops.astype(x, "int64"))
        places = ops.remainder(ops.reshape(positions(x, axis), (-1,)) - shift, count)
        return ops.take(x, places, axis)
    shift = shift % size if size else 0
    if not shift:
        return x
    last, first = slice_axis(x, axis, size - shift, size), slice_axis(x, axis, 0, size - shift)
    return ops.concatenate([last, first], axis)


def tile(x: Value, reps: int | Sequence[int]) -> Value:
    """`x` side by side so many times along each axis; new axes come first.

    Example:
        >>> sg.tile(np.array([1.0, 2.0]), 2)
        array([1., 2., 1., 2.])
    """
    x = as_operand(x)
    times = _listed(reps)
    ndim = max(x.ndim, len(times))
    times = [1] * (ndim - len(times)) + times
    shape = (1,) * (ndim - x.ndim) + tuple(x.shape)
    apart = [size for one in shape for size in (1, one)]
    grown = [size for pair in zip(times, shape, strict=True) for size in pair]
    whole = ops.broadcast_to(ops.reshape(x, tuple(apart)), tuple(grown))
    return ops.reshape(whole, tuple(t * size for t, size in zip(times, shape, strict=True)))


def repeat(x: Value, repeats: int | Sequence[int], axis: int | None = None) -> Value:
    """Each element along an axis so many times in a row; of the flat x if None.

    `repeats` is a number, or one per element along the axis.

    Example:
        >>> sg.repeat(np.array([1.0, 2.0]), 2)
        array([1., 1., 2., 2.])
    """
    x, axis = axis_or_whole("repeat", x, axis)
    size = x.shape[axis]
    counts = np.asarray(repeats)
    if counts.dtype.kind not in "iu" or (counts < 0).any():
        raise OptionError(f"repeat: {repeats} are not numbers of times")
    if counts.size == 1:
        times = int(counts.reshape(()))
        shape = tuple(x.shape)
        grown = (*shape[: axis + 1], times, *shape[axis + 1 :])
        whole = ops.broadcast_to(ops.expand_dims(x, axis + 1), grown)
        return ops.reshape(whole, (*shape[:axis], size * times, *shape[axis + 1 :]))
    if isinstance(size, Dim) or counts.shape != (size,):
        raise ShapeError(f"repeat: {counts.shape} numbers of times for {size} elements")
    return ops.take(x, np.repeat(np.arange(size), counts), axis)


def resize(x: Value, new_shape: Size | Sequence[Size]) -> Value:
    """The elements in row-major order, repeated as often as it takes to fill a shape.

    Example:
        >>> sg.resize(np.array([1.0, 2.0, 3.0]), (2, 2))
        array([[1., 2.],
               [3., 1.]])
    """
    flat = ravel(x)
    size = flat.shape[0]
    shape = _shape(new_shape)
    total = dims.product(shape)
    if isinstance(size, Dim) or isinstance(total, Dim):
        places = numbers(flat, total)
        places = ops.remainder(places, size_value(size, places))
        return ops.reshape(ops.take(flat, places, 0), shape)
    if not size:
        raise ShapeError("resize: there is no element to repeat")
    return ops.reshape(slice_axis(tile(flat, -(-total // size)), 0, 0, total), shape)


def _shape(shape: Any) -> tuple[Size, ...]:
    sizes = (shape,) if hasattr(shape, "__index__") else tuple(shape)
    return tuple(one if isinstance(one, Dim) else int(one) for one in sizes)


def known_size(name: str, x: Value, axis: int) -> int:
    """The size of an axis, which must be known when a graph is defined."""
    size = x.shape[axis]
    if isinstance(size, Dim):
        error = ShapeError(f"{name}: the size of axis {axis} is unknown until run time")
        raise needing(error, [size])
    return int(size)


def unstack(x: Value, /, *, axis: int = 0) -> tuple[Value, ...]:
    """The parts of `x` along an axis, without it; its size is known.

    Example:
        >>> sg.unstack(np.array([[1.0, 2.0], [3.0, 4.0]]))
        (array([1., 2.]), array([3., 4.]))
    """
    x = as_operand(x)
    axis = normalise_axis("unstack", axis, x.ndim)
    size = known_size("unstack", x, axis)
    return tuple(ops.squeeze(slice_axis(x, axis, i, i + 1), axis) for i in range(size))


# -- diagonals and triangles ---------------------------------------------------------------------


def _above(x: Any, k: int) -> Any:
    """Where an element of the last two axes is k or more to the right of the main diagonal."""
    rows, columns = positions(x, x.ndim - 2), positions(x, x.ndim - 1)
    return ops.less_equal(rows + k, columns)


def _matrices(name: str, x: Value) -> Any:
    x = as_operand(x)
    if x.ndim == 1:  # as NumPy: rows of a square
        return ops.broadcast_to(x, (x.shape[0], x.shape[0]))
    if x.ndim < 2:
        raise ShapeError(f"{name}: a number has no triangle")
    return x


def tril(x: Value, k: int = 0) -> Value:
    """The matrices of the last two axes with zeros above the k-th diagonal.

    Example:
        >>> sg.tril(np.array([[1.0, 2.0], [3.0, 4.0]]))
        array([[1., 0.],
               [3., 4.]])
    """
    x = _matrices("tril", x)
    return ops.where(_above(x, k + 1), zeros_like(x), x)


def triu(x: Value, k: int = 0) -> Value:
    """The matrices of the last two axes with zeros below the k-th diagonal.

    Example:
        >>> sg.triu(np.array([[1.0, 2.0], [3.0, 4.0]]))
        array([[1., 2.],
               [0., 4.]])
    """
    x = _matrices("triu", x)
    return ops.where(_above(x, k), x, zeros_like(x))


def diagonal(x: Value, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Value:
    """The diagonals of the planes of two axes, along a new last axis.

    Example:
        >>> sg.diagonal(np.array([[1.0, 2.0], [3.0, 4.0]]))
        array([1., 4.])
    """
    x = as_operand(x)
    first, second = (
        normalise_axis("diagonal", axis1, x.ndim),
        normalise_axis("diagonal", axis2, x.ndim),
    )
    if first == second:
        raise OptionError(f"diagonal: {axis1} and {axis2} are one axis")
    x = moveaxis(x, (first, second), (-2, -1))
    top, left = max(-offset, 0), max(offset, 0)
    rows, columns = x.shape[-2:]
    size = dims.maximum(dims.minimum(rows - top, columns - left), 0)
    if size == 0:
        return ops.reshape(slice_axis(x, x.ndim - 2, 0, 0), (*x.shape[:-2], 0))
    square = slice_axis(slice_axis(x, x.ndim - 2, top, top + size), x.ndim - 1, left, left + size)
    # in rows of one element more the diagonal is the first column
    lead = tuple(x.shape[:-2])
    flat = ops.reshape(square, (*lead, size * size))
    longer = ops.embed(flat, (0,) * flat.ndim, (*lead, size * size + size), (1,) * flat.ndim)
    column = slice_axis(ops.reshape(longer, (*lead, size, size + 1)), flat.ndim, 0, 1)
    return ops.squeeze(column, flat.ndim)


def diag(x: Value, k: int = 0) -> Value:
    """The k-th diagonal of a matrix, or the matrix that has a vector on its k-th diagonal.

    Example:
        >>> sg.diag(np.array([1.0, 2.0]))
        array([[1., 0.],
               [0., 2.]])
    """
    x = as_operand(x)
    if x.ndim == 2:
        return diagonal(x, k)
    if x.ndim != 1:
        raise ShapeError(f"diag: takes a vector or a matrix, not {x.ndim} axes")
    rows = ops.expand_dims(ops.pad(x, (max(-k, 0), max(k, 0))), 1)
    size = rows.shape[0]
    whole = ops.broadcast_to(rows, (size, size))
    there = ops.equal(positions(whole, 0) + k, positions(whole, 1))
    return ops.where(there, whole, zeros_like(whole))


def diagflat(x: Value, k: int = 0) -> Value:
    """The matrix that has all elements on its k-th diagonal.

    Example:
        >>> sg.diagflat(np.array([[1.0], [2.0]]))
        array([[1., 0.],
               [0., 2.]])
    """
    return diag(ravel(x), k)


def trace(
    x: Value, offset: int = 0, axis1: int = 0, axis2: int = 1, *, dtype: object = None
) -> Value:
    """The sums along the diagonals of the planes of two axes, of elements cast to `dtype`.

    Example:
        >>> sg.trace(np.array([[1.0, 2.0], [3.0, 4.0]]))
        np.float64(5.0)
    """
    return ops.sum(diagonal(x, offset, axis1, axis2), axis=-1, dtype=dtype)
