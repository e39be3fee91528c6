"""Order statistics, averages and covariances: NumPy's, composed of shared ops."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core import dims
from staticgraph.compiler.core.dims import Dim
from staticgraph.compiler.core.dtypes import is_float
from staticgraph.compiler.core.errors import OptionError, ShapeError
from staticgraph.compiler.core.types import normalise_axes
from staticgraph.compiler.core.values import Value
from staticgraph.compiler.functions.arranging import axis_or_whole, diagonal, moveaxis
from staticgraph.compiler.functions.elements import floats
from staticgraph.compiler.ops.declare import as_operand, common_dtype, count, size_value, zeros_like

__all__ = [
    "amax", "amin", "average", "corrcoef", "count_nonzero", "cov", "median", "nanargmax",
    "nanargmin", "nancumprod", "nancumsum", "nanmax", "nanmean", "nanmedian", "nanmin",
    "nanpercentile", "nanprod", "nanquantile", "nanstd", "nansum", "nanvar", "percentile", "ptp",
    "quantile",
]  # fmt: skip

Axes = int | Sequence[int] | None


def amax(x: Value, axis: Axes = None, keepdims: bool = False) -> Value:
    """The largest element along axes: NumPy's other name of `max`.

    Example:
        >>> sg.amax(np.array([1.0, 5.0]))
        np.float64(5.0)
    """
    return ops.max(x, axis, keepdims)


def amin(x: Value, axis: Axes = None, keepdims: bool = False) -> Value:
    """The smallest element along axes: NumPy's other name of `min`.

    Example:
        >>> sg.amin(np.array([1.0, 5.0]))
        np.float64(1.0)
    """
    return ops.min(x, axis, keepdims)


def ptp(x: Value, axis: Axes = None, keepdims: bool = False) -> Value:
    """The largest element less the smallest one.

    Example:
        >>> sg.ptp(np.array([4.0, 1.0, 9.0]))
        np.float64(8.0)
    """
    return ops.subtract(ops.max(x, axis, keepdims), ops.min(x, axis, keepdims))


def count_nonzero(x: Value, axis: Axes = None, keepdims: bool = False) -> Value:
    """How many elements are not 0: int64.

    Example:
        >>> sg.count_nonzero(np.array([0.0, 2.0, np.nan]))
        np.int64(2)
    """
    x = as_operand(x)
    there = x if x.dtype.kind == "b" else ops.not_equal(x, 0)
    return ops.sum(there, axis=axis, keepdims=keepdims)


def average(
    x: Value,
    axis: Axes = None,
    weights: Value = None,
    returned: bool = False,
    *,
    keepdims: bool = False,
) -> Value:
    """The mean, in which each element has a weight; with `returned` the sum of the weights too.

    `weights` has the shape of `x`, or one weight per element along one axis.

    Example:
        >>> sg.average(np.array([1.0, 4.0]), weights=np.array([2.0, 1.0]))
        np.float64(2.0)
    """
    x = floats(x)
    axes = normalise_axes("average", axis, x.ndim)
    if weights is None:
        found = ops.mean(x, axis=axes, keepdims=keepdims)
        total = ops.sum(zeros_like(x) + 1, axis=axes, keepdims=keepdims)
    else:
        weights = as_operand(weights)
        dtype = common_dtype(x, weights)
        x, weights = ops.astype(x, dtype), ops.astype(weights, dtype)
        if weights.ndim == 1 != x.ndim and len(axes) == 1:
            after = x.ndim - 1 - axes[0]
            weights = ops.reshape(weights, (-1,) + (1,) * after)
        weights = ops.multiply(weights, ops.astype(zeros_like(x) + 1, weights.dtype))
        total = ops.sum(weights, axis=axes, keepdims=keepdims)
        found = ops.divide(ops.sum(x * weights, axis=axes, keepdims=keepdims), total)
    return (found, total) if returned else found


# -- what nan is left out of -----------------------------------------------------------------------


def _filled(x: Any, value: float) -> Any:
    """x with a value in the place of nan."""
    return ops.where(ops.isnan(x), value, x) if is_float(x.dtype) else x


def _numbers(x: Any, axis: Axes, keepdims: bool) -> Any:
    """How many elements are not nan, as numbers of x's dtype."""
    there = ops.astype(ops.logical_not(ops.isnan(x)), x.dtype)
    return ops.sum(there, axis=axis, keepdims=keepdims)


def nansum(x: Value, axis: Axes = None, keepdims: bool = False) -> Value:
    """The sum of the elements that are not nan.

    Example:
        >>> sg.nansum(np.array([1.0, np.nan, 2.0]))
        np.float64(3.0)
    """
    return ops.sum(_filled(as_operand(x), 0), axis=axis, keepdims=keepdims)


def nanprod(x: Value, axis: Axes = None, keepdims: bool = False) -> Value:
    """The product of the elements that are not nan.

    Example:
        >>> sg.nanprod(np.array([3.0, np.nan, 2.0]))
        np.float64(6.0)
    """
    return ops.prod(_filled(as_operand(x), 1), axis=axis, keepdims=keepdims)


def nancumsum(x: Value, axis: int | None = None) -> Value:
    """The running sums of the elements that are not nan: see `cumsum`.

    Example:
        >>> sg.nancumsum(np.array([1.0, np.nan, 2.0]))
        array([1., 1., 3.])
    """
    return ops.cumsum(_filled(as_operand(x), 0), axis)


def nancumprod(x: Value, axis: int | None = None) -> Value:
    """The running products of the elements that are not nan: see `cumprod`.

    Example:
        >>> sg.nancumprod(np.array([3.0, np.nan, 2.0]))
        array([3., 3., 6.])
    """
    return ops.cumprod(_filled(as_operand(x), 1), axis)


def nanmean(x: Value, axis: Axes = None, keepdims: bool = False) -> Value:
    """The mean of the elements that are not nan; nan if there is none.

    Example:
        >>> sg.nanmean(np.array([1.0, np.nan, 2.0]))
        np.float64(1.5)
    """
    x = as_operand(x)
    if not is_float(x.dtype):
        return ops.mean(x, axis=axis, keepdims=keepdims)
    return ops.divide(nansum(x, axis, keepdims), _numbers(x, axis, keepdims))


def nanvar(x: Value, axis: Axes = None, keepdims: bool = False, *, ddof: float = 0) -> Value:
    """The variance of the elements that are not nan, divided by their number less `ddof`.

    Example:
        >>> sg.nanvar(np.array([1.0, np.nan, 3.0]))
        array(1.)
    """
    x = as_operand(x)
    if not is_float(x.dtype):
        return ops.var(x, axis=axis, keepdims=keepdims, correction=ddof)
    # inf - inf is nan, which is not left out: there is no variance
    centred = ops.where(ops.isnan(x), 0, x - nanmean(x, axis, True))
    freedom = _numbers(x, axis, keepdims) - ddof
    squares = ops.sum(ops.square(centred), axis=axis, keepdims=keepdims)
    return ops.where(ops.greater(freedom, 0), squares / freedom, math.nan)


def nanstd(x: Value, axis: Axes = None, keepdims: bool = False, *, ddof: float = 0) -> Value:
    """The standard deviation of the elements that are not nan: see `nanvar`.

    Example:
        >>> sg.nanstd(np.array([1.0, np.nan, 3.0]))
        np.float64(1.0)
    """
    return ops.sqrt(nanvar(x, axis, keepdims, ddof=ddof))


def _nan_extremum(extremum: Callable[..., Any], x: Value, axis: Axes, keepdims: bool) -> Any:
    x = as_operand(x)
    if not is_float(x.dtype):
        return extremum(x, axis=axis, keepdims=keepdims)
    missing = ops.isnan(x)
    worst = -math.inf if extremum is ops.max else math.inf
    found = extremum(ops.where(missing, worst, x), axis=axis, keepdims=keepdims)
    return ops.where(ops.all(missing, axis=axis, keepdims=keepdims), math.nan, found)


def nanmax(x: Value, axis: Axes = None, keepdims: bool = False) -> Value:
    """The largest of the elements that are not nan; nan if there is none.

    Example:
        >>> sg.nanmax(np.array([1.0, np.nan, 2.0]))
        array(2.)
    """
    return _nan_extremum(ops.max, x, axis, keepdims)


def nanmin(x: Value, axis: Axes = None, keepdims: bool = False) -> Value:
    """The smallest of the elements that are not nan; nan if there is none.

    Example:
        >>> sg.nanmin(np.array([1.0, np.nan, 2.0]))
        array(1.)
    """
    return _nan_extremum(ops.min, x, axis, keepdims)


def nanargmax(x: Value, axis: int | None = None, keepdims: bool = False) -> Value:
    """The place of the largest of the elements that are not nan; -1 if there is none (JAX's).

    Example:
        >>> sg.nanargmax(np.array([1.0, np.nan, 2.0]))
        array(2)
    """
    return _nan_place(ops.argmax, -math.inf, x, axis, keepdims)


def nanargmin(x: Value, axis: int | None = None, keepdims: bool = False) -> Value:
    """The place of the smallest of the elements that are not nan; -1 if there is none (JAX's).

    Example:
        >>> sg.nanargmin(np.array([1.0, np.nan, 2.0]))
        array(0)
    """
    return _nan_place(ops.argmin, math.inf, x, axis, keepdims)


def _nan_place(position: Any, worst: float, x: Value, axis: int | None, keepdims: bool) -> Any:
    if axis is None and keepdims:
        flat = _nan_place(position, worst, x, None, False)
        return ops.reshape(flat, (1,) * np.ndim(x))
    x, axis = axis_or_whole("nanargmax", x, axis)
    if not is_float(x.dtype):
        return position(x, axis=axis, keepdims=keepdims)
    found = position(_filled(x, worst), axis=axis, keepdims=keepdims)
    return ops.where(ops.all(ops.isnan(x), axis=axis, keepdims=keepdims), -1, found)


# -- quantiles -------------------------------------------------------------------------------------

METHODS = ("linear", "lower", "higher", "midpoint", "nearest")


def quantile(
    x: Value, q: Value, axis: Axes = None, keepdims: bool = False, *, method: str = "linear"
) -> Value:
    """The numbers below which the shares `q` of the elements lie: new first axes as q has.

    Between two elements `method` is "linear", "lower", "higher", "midpoint" or "nearest". nan where
    there is a nan.

    Raises:
        OptionError: a share that is known is not within [0, 1], or the method is none of these.

    Example:
        >>> sg.quantile(np.array([1.0, 2.0, 4.0]), 0.75)
        array(3.)
    """
    return _quantile("quantile", x, q, axis, keepdims, method, False)


def percentile(
    x: Value, q: Value, axis: Axes = None, keepdims: bool = False, *, method: str = "linear"
) -> Value:
    """`quantile` of q / 100.

    Example:
        >>> sg.percentile(np.array([1.0, 2.0, 4.0]), 75)
        array(3.)
    """
    return quantile(x, _hundredths(q), axis, keepdims, method=method)


def median(x: Value, axis: Axes = None, keepdims: bool = False) -> Value:
    """The middle element in order, or the mean of the two in the middle; nan if there is a nan.

    Example:
        >>> sg.median(np.array([1.0, 9.0, 2.0]))
        array(2.)
    """
    return quantile(x, 0.5, axis, keepdims, method="midpoint")


def nanquantile(
    x: Value, q: Value, axis: Axes = None, keepdims: bool = False, *, method: str = "linear"
) -> Value:
    """`quantile` of the elements that are not nan; nan if there is none.

    Example:
        >>> sg.nanquantile(np.array([1.0, np.nan, 3.0]), 0.5)
        array(2.)
    """
    return _quantile("nanquantile", x, q, axis, keepdims, method, True)


def nanpercentile(
    x: Value, q: Value, axis: Axes = None, keepdims: bool = False, *, method: str = "linear"
) -> Value:
    """`nanquantile` of q / 100.

    Example:
        >>> sg.nanpercentile(np.array([1.0, np.nan, 3.0]), 50)
        array(2.)
    """
    return nanquantile(x, _hundredths(q), axis, keepdims, method=method)


def nanmedian(x: Value, axis: Axes = None, keepdims: bool = False) -> Value:
    """`median` of the elements that are not nan; nan if there is none.

    Example:
        >>> sg.nanmedian(np.array([1.0, np.nan, 3.0]))
        array(2.)
    """
    return nanquantile(x, 0.5, axis, keepdims, method="midpoint")


def _hundredths(q: Value) -> Value:
    return np.true_divide(q, 100) if isinstance(q, int | float | list | tuple) else q / 100


def _quantile(
    name: str, x: Value, q: Value, axis: Axes, keepdims: bool, method: str, skip: bool
) -> Any:
    if method not in METHODS:
        raise OptionError(f"{name}: method is one of {', '.join(METHODS)}, not {method!r}")
    x = as_operand(x)
    x = x if is_float(x.dtype) else ops.astype(x, "float64")
    axes = normalise_axes(name, axis, x.ndim)
    kept = tuple(i for i in range(x.ndim) if i not in axes)
    rows = ops.transpose(x, (*kept, *axes)) if x.ndim > 1 else x
    rows = ops.reshape(rows, (*rows.shape[: len(kept)], dims.product(rows.shape[len(kept) :])))
    if rows.shape[-1] == 0:
        raise ShapeError(f"{name}: there is no element along axes {axes}")
    if np.iscomplexobj(q):
        raise OptionError(f"{name}: the shares {q!r:.80} are not real")
    levels = q if hasattr(q, "dtype") and not isinstance(q, np.ndarray) else np.asarray(q, float)
    if isinstance(levels, np.ndarray) and not ((levels >= 0) & (levels <= 1)).all():
        raise OptionError(f"{name}: the shares {q!r:.80} are not all within [0, 1]")
    found = _between(ops.sort(rows), ops.reshape(levels, (-1,)), method, skip)
    if keepdims:
        found = ops.expand_dims(found, tuple(axis + 1 for axis in axes))
    return ops.reshape(found, (*levels.shape, *found.shape[1:]))


def _between(rows: Any, levels: Any, method: str, skip: bool) -> Any:
    """The quantiles of rows in order, nan last, along a new first axis in place of the last."""
    missing = ops.isnan(rows)
    # ranks in float64, as float32 does not have the places beyond 2**24
    levels = ops.reshape(ops.astype(levels, "float64"), (-1,) + (1,) * (rows.ndim - 1))
    size = rows.shape[-1]
    if skip:
        last = ops.sum(ops.astype(ops.logical_not(missing), "float64"), axis=-1) - 1
        last = ops.stop_gradient(ops.maximum(last, 0))
    else:
        last = (
            size_value(size - 1, ops.astype(rows, "float64"))
            if isinstance(size, Dim)
            else float(size - 1)
        )
    # per level and row, as a column each: what is left of an element, and what is right of it
    ranks = levels * last
    if not skip:
        ranks = ops.broadcast_to(ranks, (levels.shape[0], *rows.shape[:-1]))
    rounded = {"nearest": ops.round, "higher": ops.ceil}.get(method, ops.floor)
    low = _elements(rows, rounded(ranks))
    if method in ("lower", "higher", "nearest"):
        found = low
    else:
        high = _elements(rows, ops.ceil(ranks))
        part = (
            0.5 * ops.sign(ranks - ops.floor(ranks))
            if method == "midpoint"
            else (ranks - ops.floor(ranks))
        )
        part = ops.astype(part, rows.dtype)
        step = high - low
        # from the nearer end, so that it is exact at both, and from a finite one
        from_low = ops.logical_and(ops.less(part, 0.5), ops.greater(low, -math.inf))
        from_low = ops.logical_or(from_low, ops.equal(high, math.inf))
        found = ops.where(from_low, low + step * part, high - step * (1 - part))
        same = ops.logical_and(ops.isinf(low), ops.equal(low, high))
        found = ops.where(same, low, found)
    hidden = ops.all(missing, axis=-1) if skip else ops.any(missing, axis=-1)
    return ops.where(hidden, math.nan, found)


def _elements(rows: Any, ranks: Any) -> Any:
    places = moveaxis(ops.astype(ops.stop_gradient(ranks), "int64"), 0, -1)
    return moveaxis(ops.take_along_axis(rows, places, -1, wrap=False), -1, 0)


# -- covariances -----------------------------------------------------------------------------------


def cov(
    m: Value,
    y: Value = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: int | None = None,
    fweights: Value = None,
    aweights: Value = None,
) -> Value:
    """The covariances of variables, one per row (per column unless `rowvar`), over observations.

    They are divided by n - 1, by n if `bias`, or by n - ddof. `y` has more variables, `fweights`
    counts and `aweights` weighs the observations.

    Example:
        >>> sg.cov(np.array([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]]))
        array([[ 1., -1.],
               [-1.,  1.]])
    """
    x = _variables(m, rowvar)
    scalar = x.shape[0] == 1 and y is None
    if y is not None:
        x = ops.concatenate([x, _variables(y, rowvar)], 0)
    ddof = (0 if bias else 1) if ddof is None else ddof
    weights = None
    for given in (fweights, aweights):
        if given is not None:
            given = ops.astype(as_operand(given), x.dtype)
            weights = given if weights is None else weights * given
    if weights is None:
        centred = x - ops.mean(x, axis=1, keepdims=True)
        weighted, norm = centred, count(x, (1,)) - ddof
        norm = max(norm, 0) if isinstance(norm, int | float) else ops.maximum(norm, 0)
    else:
        total = ops.sum(weights)
        mean = ops.sum(x * weights, axis=1, keepdims=True) / total
        centred = x - mean
        weighted, norm = centred * weights, total - ddof
        if aweights is not None:
            aweights = ops.astype(as_operand(aweights), x.dtype)
            norm = total - ddof * ops.sum(weights * aweights) / total
        norm = ops.maximum(norm, 0)
    found = ops.divide(ops.matmul(weighted, ops.transpose(centred)), norm)
    return ops.reshape(found, ()) if scalar else found


def _variables(m: Value, rowvar: bool) -> Any:
    m = as_operand(m)
    m = m if is_float(m.dtype) else ops.astype(m, "float64")
    if m.ndim > 2:
        raise ShapeError(f"cov: {m.ndim} axes, of at most 2")
    if m.ndim < 2:
        return ops.reshape(m, (1, -1))
    return m if rowvar else ops.transpose(m)


def corrcoef(x: Value, y: Value = None, rowvar: bool = True) -> Value:
    """The correlations of variables, one per row (per column unless `rowvar`), within [-1, 1].

    Example:
        >>> sg.corrcoef(np.array([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]]))
        array([[ 1., -1.],
               [-1.,  1.]])
    """
    found = cov(x, y, rowvar)
    if not found.ndim:
        return ops.divide(found, found)
    scale = ops.sqrt(diagonal(found))
    return ops.clip(found / ops.expand_dims(scale, 1) / scale, -1, 1)
