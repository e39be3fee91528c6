"""Sets of elements, in NumPy's names: of the sizes that the caller gives, as in JAX.

What is missing is filled up, and what is too much is left out.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core.dims import Size, product
from staticgraph.compiler.core.dtypes import is_float
from staticgraph.compiler.core.errors import OptionError, ShapeError
from staticgraph.compiler.core.values import Value
from staticgraph.compiler.functions.arranging import known_size, moveaxis, ravel
from staticgraph.compiler.functions.counting import extract, flatnonzero, require_size
from staticgraph.compiler.functions.sequences import lexsort
from staticgraph.compiler.ops.declare import as_operand, common_dtype, size_value
from staticgraph.compiler.ops.indexing.take import take_add
from staticgraph.compiler.ops.reductions.reduction import positions
from staticgraph.compiler.ops.shapes.slicing import slice_axis

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


def _distinct(
    name: str, x: Value, size: Size | None, fill: Value, equal_nan: bool = True
) -> Unique:
    count = require_size(name, size)
    x = as_operand(x)
    shape, x = tuple(x.shape), ravel(x)
    length = x.shape[0]
    if length == 0:
        raise ShapeError(f"{name}: there is no element")
    order = ops.argsort(x)
    rows = ops.take(x, order)
    after, before = slice_axis(rows, 0, 1, length), slice_axis(rows, 0, 0, length - 1)
    return _numbered(rows, order, _differ(after, before, equal_nan), count, fill, shape)


def _differ(after: Any, before: Any, equal_nan: bool) -> Any:
    new = ops.not_equal(after, before)
    if equal_nan and is_float(after.dtype):
        both = ops.logical_and(ops.isnan(after), ops.isnan(before))
        return ops.logical_and(new, ops.logical_not(both))
    return new


def _distinct_slices(
    x: Value, axis: int, size: Size | None, fill: Value, equal_nan: bool
) -> Unique:
    count = require_size("unique", size)
    x = moveaxis(as_operand(x), axis, 0)
    length = x.shape[0]
    columns = x if length == 0 else ops.reshape(x, (length, product(x.shape[1:])))
    width = known_size("unique", columns, columns.ndim - 1)
    if length == 0 or not width:
        raise ShapeError("unique: there is no element")
    order = lexsort([columns[:, i] for i in reversed(range(width))])
    rows = ops.take(columns, order, 0)
    after, before = slice_axis(rows, 0, 1, length), slice_axis(rows, 0, 0, length - 1)
    new = ops.any(_differ(after, before, equal_nan), axis=1)
    found = _numbered(ops.take(x, order, 0), order, new, count, fill, (length,))
    return found._replace(values=moveaxis(found.values, 0, axis))


def _numbered(rows: Any, order: Any, new: Any, count: Size, fill: Value, shape: Any) -> Unique:
    """The first of equal rows in order, where `new` tells which differ from those before."""
    length = rows.shape[0]
    number = ops.pad(ops.cumsum(ops.astype(new, "int64"), 0), (1, 0))
    found = slice_axis(number, 0, length - 1, length) + 1
    first = ops.concatenate([ops.broadcast_to(ops.equal(found, found), (1,)), new])
    starts = flatnonzero(first, size=count, fill_value=0)
    values = ops.take(rows, starts, 0)
    inside = ops.less(positions(starts, 0), found)
    if fill is None:
        fill = ops.squeeze(slice_axis(rows, 0, 0, 1), 0)
    ones = ops.astype(ops.equal(order, order), "int64")
    kept = ops.where(ops.less(number, size_value(count, number)), ones, 0)
    last = size_value(count - 1, number)
    counts = starts if count == 0 else take_add(kept, ops.minimum(number, last), 0, count)
    inverse = take_add(number, order, 0, length)
    there = ops.reshape(inside, (count,) + (1,) * (rows.ndim - 1))
    return Unique(
        ops.where(there, values, fill),
        ops.where(inside, ops.take(order, starts), 0),
        ops.reshape(inverse, shape),
        counts,
    )


def unique(
    x: Value,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
    sorted: bool = True,
    size: Size | None = None,
    fill_value: Value = None,
) -> Value:
    """The distinct elements of the flat `x` in order, the first `size` of them.

    Where there are fewer, `fill_value` follows, the smallest element if None. With `return_index`
    also where each is first, with `return_inverse` which of them each element of `x` is, with
    `return_counts` how often each is there. With `axis` the distinct slices along it, in the order
    of their elements. All nan are one unless `equal_nan` is False. They are in order whatever
    `sorted` says.

    Raises:
        OptionError: no `size` is given.

    Example:
        >>> sg.unique(np.array([3.0, 1.0, 3.0]), size=3, return_counts=True)
        (array([1., 3., 1.]), array([1, 2, 0]))
    """
    if axis is None:
        found = _distinct("unique", x, size, fill_value, equal_nan)
    else:
        found = _distinct_slices(x, axis, size, fill_value, equal_nan)
    wanted = (True, return_index, return_inverse, return_counts)
    results = tuple(one for one, asked in zip(found, wanted, strict=True) if asked)
    return results if len(results) > 1 else found.values


def unique_values(x: Value, /, *, size: Size | None = None, fill_value: Value = None) -> Value:
    """`unique` without more.

    Example:
        >>> sg.unique_values(np.array([3.0, 1.0, 3.0]), size=2)
        array([1., 3.])
    """
    return _distinct("unique_values", x, size, fill_value).values


def unique_counts(
    x: Value, /, *, size: Size | None = None, fill_value: Value = None
) -> tuple[Value, Value]:
    """The distinct elements, and how often each is there: see `unique`.

    Example:
        >>> sg.unique_counts(np.array([3.0, 1.0, 3.0]), size=2)
        (array([1., 3.]), array([1, 2]))
    """
    found = _distinct("unique_counts", x, size, fill_value)
    return found.values, found.counts


def unique_inverse(
    x: Value, /, *, size: Size | None = None, fill_value: Value = None
) -> tuple[Value, Value]:
    """The distinct elements, and which of them each element is: see `unique`.

    Example:
        >>> sg.unique_inverse(np.array([3.0, 1.0, 3.0]), size=2)
        (array([1., 3.]), array([1, 0, 1]))
    """
    found = _distinct("unique_inverse", x, size, fill_value)
    return found.values, found.inverse_indices


def unique_all(x: Value, /, *, size: Size | None = None, fill_value: Value = None) -> Unique:
    """All that `unique` tells, as a named tuple.

    Example:
        >>> sg.unique_all(np.array([3.0, 1.0, 3.0]), size=2).indices
        array([1, 0])
    """
    return _distinct("unique_all", x, size, fill_value)


def isin(
    x: Value,
    test_elements: Value,
    assume_unique: bool = False,
    invert: bool = False,
    *,
    kind: str | None = None,
) -> Value:
    """Per element whether it is among others; whether it is not, if `invert`.

    All are compared with all, whatever `kind` ("sort" or "table") and `assume_unique` say.

    Example:
        >>> sg.isin(np.array([1.0, 2.0, 3.0]), np.array([3.0, 1.0]))
        array([ True, False,  True])
    """
    if kind not in (None, "sort", "table"):
        raise OptionError(f"isin: kind is 'sort' or 'table', not {kind!r}")
    x, others = as_operand(x), ravel(test_elements)
    found = ops.any(ops.equal(ops.expand_dims(x, x.ndim), others), axis=-1)
    return ops.logical_not(found) if invert else found


def union1d(x: Value, y: Value, *, size: Size | None = None, fill_value: Value = None) -> Value:
    """The distinct elements of two tensors in order: see `unique`.

    Example:
        >>> sg.union1d(np.array([3.0, 1.0]), np.array([2.0, 3.0]), size=3)
        array([1., 2., 3.])
    """
    both = ops.concatenate([ravel(x), ravel(y)])
    return _distinct("union1d", both, size, fill_value).values


def _kept(values: Any, there: Any, count: Size, fill: Value) -> Any:
    if fill is None:
        places = flatnonzero(there, size=count, fill_value=-1)
        first = places if count == 0 else ops.take(places, np.zeros((), np.int64))
        places = ops.where(ops.less(places, 0), first, places)
        return ops.take(values, ops.maximum(places, 0))
    return extract(there, values, size=count, fill_value=fill)


def intersect1d(
    x: Value,
    y: Value,
    assume_unique: bool = False,
    return_indices: bool = False,
    *,
    size: Size | None = None,
    fill_value: Value = None,
) -> Value:
    """The distinct elements that are in both tensors, in order, the first `size` of them.

    With `return_indices` also where each is first in the flat tensors; 0 where there is none.
    Elements are looked at alike whether `assume_unique` or not.

    Example:
        >>> sg.intersect1d(np.array([3.0, 1.0, 2.0]), np.array([2.0, 3.0]), size=2)
        array([2., 3.])
    """
    count = require_size("intersect1d", size)
    x, y = ravel(x), ravel(y)
    dtype = common_dtype(x, y)
    x, y = ops.astype(x, dtype), ops.astype(y, dtype)
    own = _distinct("intersect1d", x, x.shape[0], None)
    there = ops.logical_and(ops.greater(own.counts, 0), isin(own.values, y))
    values = _kept(own.values, there, count, fill_value)
    if not return_indices:
        return values
    inside = ops.less(positions(values, 0), ops.sum(ops.astype(there, "int64")))
    first = extract(there, own.indices, size=count)
    same = ops.equal(ops.expand_dims(ops.take(x, first), 1), y)
    return values, first, ops.where(inside, ops.argmax(same, axis=1), 0)


def setdiff1d(
    x: Value,
    y: Value,
    assume_unique: bool = False,
    *,
    size: Size | None = None,
    fill_value: Value = None,
) -> Value:
    """The distinct elements of `x` that are not in `y`, in order, the first `size` of them.

    They are, whether `assume_unique` or not, where NumPy keeps the order of x.

    Example:
        >>> sg.setdiff1d(np.array([3.0, 1.0, 2.0]), np.array([2.0]), size=2)
        array([1., 3.])
    """
    count = require_size("setdiff1d", size)
    x = ravel(x)
    own = _distinct("setdiff1d", x, x.shape[0], None)
    there = ops.logical_and(ops.greater(own.counts, 0), isin(own.values, y, invert=True))
    return _kept(own.values, there, count, fill_value)


def setxor1d(
    x: Value,
    y: Value,
    assume_unique: bool = False,
    *,
    size: Size | None = None,
    fill_value: Value = None,
) -> Value:
    """The distinct elements that are in one of two tensors alone, in order, the first `size`.

    `assume_unique` changes nothing.

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
    size = x.shape[0]
    if size == 0:
        return x, ops.astype(x, "bool")
    own = _distinct(name, x, size, None)
    return own.values, ops.logical_and(ops.greater(own.counts, 0), isin(own.values, y, invert=True))
