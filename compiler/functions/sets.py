"""Sets of elements, in NumPy's names: of the sizes that the caller gives, as in JAX.

What is missing is filled up, and what is too much is left out.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core.dtypes import is_float
from staticgraph.compiler.core.errors import ShapeError
from staticgraph.compiler.core.values import Value
from staticgraph.compiler.functions.arranging import known_size, ravel
from staticgraph.compiler.functions.counting import extract, flatnonzero, require_size
from staticgraph.compiler.ops.declare import as_operand, common_dtype
from staticgraph.compiler.ops.indexing import take_add
from staticgraph.compiler.ops.reduction import positions
from staticgraph.compiler.ops.slicing import slice_axis

__all__ = [
    "intersect1d", "isin", "setdiff1d", "setxor1d", "union1d", "unique", "unique_all",
    "unique_counts", "unique_inverse", "unique_values",
]  # fmt: skip


class Unique(NamedTuple):
    """The distinct elements in order, where each is first, which each is, and how often it is."""

    values: Value
    indices: Value
    inverse_indices: Value
    counts: Value


def _distinct(name: str, x: Value, size: int | None, fill: Value) -> Unique:
    count = require_size(name, size)
    x = as_operand(x)
    shape, x = tuple(x.shape), ravel(x)
    length = known_size(name, x, 0)
    if not length:
        raise ShapeError(f"{name}: there is no element")
    order = ops.argsort(x)
    rows = ops.take(x, order)
    after, before = slice_axis(rows, 0, 1, length), slice_axis(rows, 0, 0, length - 1)
    new = ops.not_equal(after, before)
    if is_float(x.dtype):  # all nan are one
        new = ops.logical_and(new, ops.logical_not(ops.isnan(before)))
    number = ops.pad(ops.cumsum(ops.astype(new, "int64"), 0), (1, 0))
    found = slice_axis(number, 0, length - 1, length) + 1
    first = ops.concatenate([ops.broadcast_to(ops.equal(found, found), (1,)), new])
    starts = flatnonzero(first, size=count, fill_value=0)
    values = ops.take(rows, starts)
    inside = ops.less(positions(starts, 0), found)
    if fill is None:
        fill = ops.squeeze(slice_axis(rows, 0, 0, 1), 0)
    ones = ops.astype(ops.equal(order, order), "int64")
    kept = ops.where(ops.less(number, count), ones, 0)
    counts = take_add(kept, ops.minimum(number, count - 1), 0, count) if count else starts
    inverse = take_add(number, order, 0, length)
    return Unique(
        ops.where(inside, values, fill),
        ops.where(inside, ops.take(order, starts), 0),
        ops.reshape(inverse, shape),
        counts,
    )


def unique(
    x: Value,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    *,
    size: int | None = None,
    fill_value: Value = None,
) -> Value:
    """The distinct elements of the flat `x` in order, the first `size` of them.

    Where there are fewer, `fill_value` follows, the smallest element if None. With `return_index`
    also where each is first, with `return_inverse` which of them each element of `x` is, with
    `return_counts` how often each is there.

    Raises:
        OptionError: no `size` is given.

    Example:
        >>> sg.unique(np.array([3.0, 1.0, 3.0]), size=3, return_counts=True)
        (array([1., 3., 1.]), array([1, 2, 0]))
    """
    found = _distinct("unique", x, size, fill_value)
    wanted = (True, return_index, return_inverse, return_counts)
    results = tuple(one for one, asked in zip(found, wanted, strict=True) if asked)
    return results if len(results) > 1 else found.values


def unique_values(x: Value, /, *, size: int | None = None, fill_value: Value = None) -> Value:
    """`unique` without more.

    Example:
        >>> sg.unique_values(np.array([3.0, 1.0, 3.0]), size=2)
        array([1., 3.])
    """
    return _distinct("unique_values", x, size, fill_value).values


def unique_counts(
    x: Value, /, *, size: int | None = None, fill_value: Value = None
) -> tuple[Value, Value]:
    """The distinct elements, and how often each is there: see `unique`.

    Example:
        >>> sg.unique_counts(np.array([3.0, 1.0, 3.0]), size=2)
        (array([1., 3.]), array([1, 2]))
    """
    found = _distinct("unique_counts", x, size, fill_value)
    return found.values, found.counts


def unique_inverse(
    x: Value, /, *, size: int | None = None, fill_value: Value = None
) -> tuple[Value, Value]:
    """The distinct elements, and which of them each element is: see `unique`.

    Example:
        >>> sg.unique_inverse(np.array([3.0, 1.0, 3.0]), size=2)
        (array([1., 3.]), array([1, 0, 1]))
    """
    found = _distinct("unique_inverse", x, size, fill_value)
    return found.values, found.inverse_indices


def unique_all(x: Value, /, *, size: int | None = None, fill_value: Value = None) -> Unique:
    """All that `unique` tells, as a named tuple.

    Example:
        >>> sg.unique_all(np.array([3.0, 1.0, 3.0]), size=2).indices
        array([1, 0])
    """
    return _distinct("unique_all", x, size, fill_value)


def isin(x: Value, test_elements: Value, invert: bool = False) -> Value:
    """Per element whether it is among others; whether it is not, if `invert`.

    Example:
        >>> sg.isin(np.array([1.0, 2.0, 3.0]), np.array([3.0, 1.0]))
        array([ True, False,  True])
    """
    x, others = as_operand(x), ravel(test_elements)
    found = ops.any(ops.equal(ops.expand_dims(x, x.ndim), others), axis=-1)
    return ops.logical_not(found) if invert else found


def union1d(x: Value, y: Value, *, size: int | None = None, fill_value: Value = None) -> Value:
    """The distinct elements of two tensors in order: see `unique`.

    Example:
        >>> sg.union1d(np.array([3.0, 1.0]), np.array([2.0, 3.0]), size=3)
        array([1., 2., 3.])
    """
    both = ops.concatenate([ravel(x), ravel(y)])
    return _distinct("union1d", both, size, fill_value).values


def _members(name: str, x: Value, y: Value, size: int | None, fill: Value, inside: bool) -> Value:
    """The distinct elements of x that are in y, or are not."""
    count = require_size(name, size)
    x = ravel(x)
    own = _distinct(name, x, known_size(name, x, 0), None)
    there = ops.logical_and(ops.greater(own.counts, 0), isin(own.values, y, not inside))
    return _kept(own.values, there, count, fill)


def _kept(values: Any, there: Any, count: int, fill: Value) -> Any:
    if fill is None:
        places = flatnonzero(there, size=count, fill_value=-1)
        first = ops.take(places, np.zeros((), np.int64)) if count else places
        places = ops.where(ops.less(places, 0), first, places)
        return ops.take(values, ops.maximum(places, 0))
    return extract(there, values, size=count, fill_value=fill)


def intersect1d(x: Value, y: Value, *, size: int | None = None, fill_value: Value = None) -> Value:
    """The distinct elements that are in both tensors, in order, the first `size` of them.

    Example:
        >>> sg.intersect1d(np.array([3.0, 1.0, 2.0]), np.array([2.0, 3.0]), size=2)
        array([2., 3.])
    """
    x, y = as_operand(x), as_operand(y)
    x = ops.astype(x, common_dtype(x, y))
    return _members("intersect1d", x, y, size, fill_value, True)


def setdiff1d(x: Value, y: Value, *, size: int | None = None, fill_value: Value = None) -> Value:
    """The distinct elements of `x` that are not in `y`, in order, the first `size` of them.

    Example:
        >>> sg.setdiff1d(np.array([3.0, 1.0, 2.0]), np.array([2.0]), size=2)
        array([1., 3.])
    """
    return _members("setdiff1d", x, y, size, fill_value, False)


def setxor1d(x: Value, y: Value, *, size: int | None = None, fill_value: Value = None) -> Value:
    """The distinct elements that are in one of two tensors alone, in order, the first `size`.

    Example:
        >>> sg.setxor1d(np.array([3.0, 1.0]), np.array([2.0, 3.0]), size=2)
        array([1., 2.])
    """
    count = require_size("setxor1d", size)
    x, y = ravel(x), ravel(y)
    lone = [_lone("setxor1d", one, other) for one, other in ((x, y), (y, x))]
    values, there = (ops.concatenate(parts) for parts in zip(*lone, strict=True))
    order = ops.argsort(values)
    return _kept(ops.take(values, order), ops.take(there, order), count, fill_value)


def _lone(name: str, x: Any, y: Any) -> tuple[Any, Any]:
    """The distinct elements of x, filled up, and whether each is one that is not in y."""
    size = known_size(name, x, 0)
    if not size:
        return x, ops.astype(x, "bool")
    own = _distinct(name, x, size, None)
    return own.values, ops.logical_and(ops.greater(own.counts, 0), isin(own.values, y, True))
