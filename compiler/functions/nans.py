"""What nan is left out of: NumPy's sums, means and extrema of the other elements."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core.dtypes import is_float, is_inexact
from staticgraph.compiler.core.errors import OptionError
from staticgraph.compiler.core.values import Value
from staticgraph.compiler.functions.arranging import axis_or_whole
from staticgraph.compiler.ops.declare import as_operand
from staticgraph.compiler.ops.reductions.masked_moments import root

__all__ = [
    "nanargmax", "nanargmin", "nancumprod", "nancumsum", "nanmax", "nanmean", "nanmin", "nanprod",
    "nanstd", "nansum", "nanvar",
]  # fmt: skip

Axes = int | Sequence[int] | None


def _filled(x: Any, value: float) -> Any:
    """x with a value in the place of nan."""
    return ops.where(ops.isnan(x), value, x) if is_inexact(x.dtype) else x


def _cast(x: Any, dtype: object) -> Any:
    return as_operand(x) if dtype is None else ops.astype(x, dtype)


def _numbers(x: Any, where: Any) -> Any:
    """Which elements count: those that are no nan, of those for which `where` holds."""
    there = ops.logical_not(ops.isnan(x))
    return there if where is None else ops.logical_and(there, where)


def nansum(
    x: Value,
    axis: Axes = None,
    keepdims: bool = False,
    *,
    dtype: object = None,
    where: Value = None,
    initial: Value = None,
) -> Value:
    """The sum of the elements that are not nan: see `sum`.

    Example:
        >>> sg.nansum(np.array([1.0, np.nan, 2.0]))
        np.float64(3.0)
    """
    x = _filled(as_operand(x), 0)
    return ops.sum(x, axis, keepdims, dtype=dtype, where=where, initial=initial)


def nanprod(
    x: Value,
    axis: Axes = None,
    keepdims: bool = False,
    *,
    dtype: object = None,
    where: Value = None,
    initial: Value = None,
) -> Value:
    """The product of the elements that are not nan: see `prod`.

    Example:
        >>> sg.nanprod(np.array([3.0, np.nan, 2.0]))
        np.float64(6.0)
    """
    x = _filled(as_operand(x), 1)
    return ops.prod(x, axis, keepdims, dtype=dtype, where=where, initial=initial)


def nancumsum(x: Value, axis: int | None = None, *, dtype: object = None) -> Value:
    """The running sums of the elements that are not nan: see `cumsum`.

    Example:
        >>> sg.nancumsum(np.array([1.0, np.nan, 2.0]))
        array([1., 1., 3.])
    """
    return ops.cumsum(_filled(as_operand(x), 0), axis, dtype=dtype)


def nancumprod(x: Value, axis: int | None = None, *, dtype: object = None) -> Value:
    """The running products of the elements that are not nan: see `cumprod`.

    Example:
        >>> sg.nancumprod(np.array([3.0, np.nan, 2.0]))
        array([3., 3., 6.])
    """
    return ops.cumprod(_filled(as_operand(x), 1), axis, dtype=dtype)


def nanmean(
    x: Value,
    axis: Axes = None,
    keepdims: bool = False,
    *,
    dtype: object = None,
    where: Value = None,
) -> Value:
    """The mean of the elements that are not nan, and for which `where` holds; nan if there is none.

    Example:
        >>> sg.nanmean(np.array([1.0, np.nan, 2.0]))
        np.float64(1.5)
    """
    x = _cast(x, dtype)
    if is_inexact(x.dtype):
        where = _numbers(x, where)
    return ops.mean(x, axis, keepdims, where=where)


def nanvar(
    x: Value,
    axis: Axes = None,
    keepdims: bool = False,
    *,
    ddof: float | None = None,
    correction: float = 0,
    dtype: object = None,
    where: Value = None,
    mean: Value = None,
) -> Value:
    """The variance of the elements that are not nan, divided by their number less `ddof`.

    Of those for which `where` holds, around a `mean` if it is known: see `var`. nan where no more
    than `ddof` are left; `correction` is another name for it.

    Example:
        >>> sg.nanvar(np.array([1.0, np.nan, 3.0]))
        array(1.)
    """
    if ddof is not None and correction:
        raise OptionError(f"nanvar: correction={correction} and ddof={ddof} are one argument")
    ddof = correction if ddof is None else ddof
    x = _cast(x, dtype)
    if not is_inexact(x.dtype):
        return ops.var(x, axis, keepdims, ddof=ddof, where=where, mean=mean)
    there = _numbers(x, where)
    found = ops.var(x, axis, keepdims, ddof=ddof, where=there, mean=mean)
    ones = ops.broadcast_to(there, x.shape)
    left = ops.sum(ones, axis=axis, keepdims=keepdims)
    return ops.where(ops.greater(left, ddof), found, math.nan)


def nanstd(
    x: Value,
    axis: Axes = None,
    keepdims: bool = False,
    *,
    ddof: float | None = None,
    correction: float = 0,
    dtype: object = None,
    where: Value = None,
    mean: Value = None,
) -> Value:
    """The standard deviation of the elements that are not nan: see `nanvar`.

    Example:
        >>> sg.nanstd(np.array([1.0, np.nan, 3.0]))
        array(1.)
    """
    variance = nanvar(
        x, axis, keepdims, ddof=ddof, correction=correction, dtype=dtype, where=where, mean=mean
    )
    return root(variance)


def _nan_extremum(
    extremum: Callable[..., Any], x: Value, axis: Axes, keepdims: bool, where: Any, initial: Any
) -> Any:
    x = as_operand(x)
    if not is_float(x.dtype):
        return extremum(x, axis=axis, keepdims=keepdims, where=where, initial=initial)
    there = _numbers(x, where)
    worst = -math.inf if extremum is ops.max else math.inf
    of_some = ops.where(there, x, worst)
    if initial is not None:
        return extremum(of_some, axis=axis, keepdims=keepdims, initial=initial)
    found = extremum(of_some, axis=axis, keepdims=keepdims)
    return ops.where(ops.any(there, axis=axis, keepdims=keepdims), found, math.nan)


def nanmax(
    x: Value,
    axis: Axes = None,
    keepdims: bool = False,
    *,
    where: Value = None,
    initial: Value = None,
) -> Value:
    """The largest of the elements that are not nan; nan if there is none, or `initial`.

    Example:
        >>> sg.nanmax(np.array([1.0, np.nan, 2.0]))
        array(2.)
    """
    return _nan_extremum(ops.max, x, axis, keepdims, where, initial)


def nanmin(
    x: Value,
    axis: Axes = None,
    keepdims: bool = False,
    *,
    where: Value = None,
    initial: Value = None,
) -> Value:
    """The smallest of the elements that are not nan; nan if there is none, or `initial`.

    Example:
        >>> sg.nanmin(np.array([1.0, np.nan, 2.0]))
        array(1.)
    """
    return _nan_extremum(ops.min, x, axis, keepdims, where, initial)


def nanargmax(x: Value, axis: int | None = None, keepdims: bool = False) -> Value:
    """The place of the largest of the elements that are not nan; -1 if there is none (JAX's).

    Example:
        >>> sg.nanargmax(np.array([1.0, np.nan, 2.0]))
        array(2)
    """
    return _nan_place("nanargmax", ops.argmax, -math.inf, x, axis, keepdims)


def nanargmin(x: Value, axis: int | None = None, keepdims: bool = False) -> Value:
    """The place of the smallest of the elements that are not nan; -1 if there is none (JAX's).

    Example:
        >>> sg.nanargmin(np.array([1.0, np.nan, 2.0]))
        array(0)
    """
    return _nan_place("nanargmin", ops.argmin, math.inf, x, axis, keepdims)


def _nan_place(
    name: str, position: Any, worst: float, x: Value, axis: int | None, keepdims: bool
) -> Any:
    if axis is None and keepdims:
        flat = _nan_place(name, position, worst, x, None, False)
        return ops.reshape(flat, (1,) * np.ndim(x))
    x, axis = axis_or_whole(name, x, axis)
    if not is_float(x.dtype):
        return position(x, axis=axis, keepdims=keepdims)
    found = position(_filled(x, worst), axis=axis, keepdims=keepdims)
    return ops.where(ops.all(ops.isnan(x), axis=axis, keepdims=keepdims), -1, found)
