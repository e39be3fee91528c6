"""Order statistics, averages and covariances: NumPy's, composed of shared ops."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core import dims
from staticgraph.compiler.core.dims import Dim, is_one
from staticgraph.compiler.core.dtypes import is_inexact, part_dtype
from staticgraph.compiler.core.errors import OptionError, ShapeError
from staticgraph.compiler.core.op import Op
from staticgraph.compiler.core.types import normalise_axes, normalise_axis
from staticgraph.compiler.core.values import Value
from staticgraph.compiler.functions.arranging import diagonal, moveaxis
from staticgraph.compiler.functions.elements import floats
from staticgraph.compiler.ops.declare import as_operand, common_dtype, count, size_value, zeros_like

__all__ = [
    "amax", "amin", "average", "corrcoef", "count_nonzero", "cov", "median", "nanmedian",
    "nanpercentile", "nanquantile", "percentile", "ptp", "quantile",
]  # fmt: skip

Axes = int | Sequence[int] | None


def amax(
    x: Value,
    axis: Axes = None,
    keepdims: bool = False,
    *,
    where: Value = None,
    initial: Value = None,
) -> Value:
    """The largest element along axes: `max`, but winners share the gradient along one axis too.

    So do those of JAX's and PyTorch's function of this name.

    Example:
        >>> sg.amax(np.array([1.0, 5.0]))
        np.float64(5.0)
    """
    return _shared(ops.max, x, axis, keepdims, where=where, initial=initial)


def _shared(extremum: Op, *args: Value, **options: Value) -> Value:
    assert extremum.bind is not None
    operands, attrs = extremum.bind(*args, **options)
    return extremum.bound(operands, {**(attrs or {}), "ties": "even"})


def amin(
    x: Value,
    axis: Axes = None,
    keepdims: bool = False,
    *,
    where: Value = None,
    initial: Value = None,
) -> Value:
    """The smallest element along axes: `min`, but winners share the gradient as those of `amax`.

    Example:
        >>> sg.amin(np.array([1.0, 5.0]))
        np.float64(1.0)
    """
    return _shared(ops.min, x, axis, keepdims, where=where, initial=initial)


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

    `weights` has the shape of `x`, or of the axes alone.

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
        if weights.ndim == len(axes) != x.ndim:
            listed = axis if isinstance(axis, Sequence) else axes
            given = [normalise_axis("average", one, x.ndim) for one in listed]
            weights = ops.transpose(weights, sorted(range(len(given)), key=given.__getitem__))
            others = [one for one in range(x.ndim) if one not in axes]
            weights = ops.expand_dims(weights, others)
        weights = ops.multiply(weights, ops.astype(zeros_like(x) + 1, weights.dtype))
        total = ops.sum(weights, axis=axes, keepdims=keepdims)
        found = ops.divide(ops.sum(x * weights, axis=axes, keepdims=keepdims), total)
    return (found, total) if returned else found


# -- quantiles -------------------------------------------------------------------------------------

_CONTINUOUS = {
    "hazen": (0.5, 0.5), "weibull": (0.0, 0.0), "interpolated_inverted_cdf": (0.0, 1.0),
    "median_unbiased": (1 / 3, 1 / 3), "normal_unbiased": (3 / 8, 3 / 8),
}  # fmt: skip
"""Per method the alpha and beta of its places (Hyndman, Fan 1996)."""
METHODS = (
    "linear", "lower", "higher", "midpoint", "nearest", "inverted_cdf", "averaged_inverted_cdf",
    "closest_observation", *_CONTINUOUS,
)  # fmt: skip


def quantile(
    x: Value,
    q: Value,
    axis: Axes = None,
    keepdims: bool = False,
    *,
    method: str = "linear",
    weights: Value = None,
) -> Value:
    """The numbers below which the shares `q` of the elements lie: new first axes as q has.

    Between two elements `method` is "linear", "lower", "higher", "midpoint" or "nearest", or any
    other of NumPy's. nan where there is a nan. With `weights` of the shape of x, or of its one
    axis, `method` is "inverted_cdf": elements count as often as they weigh.

    Raises:
        OptionError: a share that is known is not within [0, 1], or the method is none of these, or
            not "inverted_cdf" with weights.
        ShapeError: the weights do not fit.

    Example:
        >>> sg.quantile(np.array([1.0, 2.0, 4.0]), 0.75)
        array(3.)
    """
    return _quantile("quantile", x, q, axis, keepdims, method, False, weights)


def percentile(
    x: Value,
    q: Value,
    axis: Axes = None,
    keepdims: bool = False,
    *,
    method: str = "linear",
    weights: Value = None,
) -> Value:
    """`quantile` of q / 100.

    Example:
        >>> sg.percentile(np.array([1.0, 2.0, 4.0]), 75)
        array(3.)
    """
    return quantile(x, _hundredths(q), axis, keepdims, method=method, weights=weights)


def median(x: Value, axis: Axes = None, keepdims: bool = False) -> Value:
    """The middle element in order, or the mean of the two in the middle; nan if there is a nan.

    Example:
        >>> sg.median(np.array([1.0, 9.0, 2.0]))
        array(2.)
    """
    return quantile(x, 0.5, axis, keepdims, method="midpoint")


def nanquantile(
    x: Value,
    q: Value,
    axis: Axes = None,
    keepdims: bool = False,
    *,
    method: str = "linear",
    weights: Value = None,
) -> Value:
    """`quantile` of the elements that are not nan; nan if there is none.

    Example:
        >>> sg.nanquantile(np.array([1.0, np.nan, 3.0]), 0.5)
        array(2.)
    """
    return _quantile("nanquantile", x, q, axis, keepdims, method, True, weights)


def nanpercentile(
    x: Value,
    q: Value,
    axis: Axes = None,
    keepdims: bool = False,
    *,
    method: str = "linear",
    weights: Value = None,
) -> Value:
    """`nanquantile` of q / 100.

    Example:
        >>> sg.nanpercentile(np.array([1.0, np.nan, 3.0]), 50)
        array(2.)
    """
    return nanquantile(x, _hundredths(q), axis, keepdims, method=method, weights=weights)


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
    name: str,
    x: Value,
    q: Value,
    axis: Axes,
    keepdims: bool,
    method: str,
    skip: bool,
    weights: Value,
) -> Any:
    if method not in METHODS:
        raise OptionError(f"{name}: method is one of {', '.join(METHODS)}, not {method!r}")
    x = floats(x)
    axes = normalise_axes(name, axis, x.ndim)
    rows = _rows(x, axes)
    if rows.shape[-1] == 0:
        raise ShapeError(f"{name}: there is no element along axes {axes}")
    if np.iscomplexobj(q):
        raise OptionError(f"{name}: the shares {q!r:.80} are not real")
    levels = q if hasattr(q, "dtype") and not isinstance(q, np.ndarray) else np.asarray(q, float)
    if isinstance(levels, np.ndarray) and not ((levels >= 0) & (levels <= 1)).all():
        raise OptionError(f"{name}: the shares {q!r:.80} are not all within [0, 1]")
    flat = ops.reshape(levels, (-1,))
    if weights is None:
        found = _between(ops.sort(rows), flat, method, skip)
    else:
        if method != "inverted_cdf":
            raise OptionError(f"{name}: method='inverted_cdf' takes weights, {method!r} does not")
        heavy = _rows(_weights_of(name, x, as_operand(weights), axes), axes)
        found = _weighted(rows, heavy, flat, skip)
    if keepdims:
        found = ops.expand_dims(found, tuple(axis + 1 for axis in axes))
    return ops.reshape(found, (*levels.shape, *found.shape[1:]))


def _rows(x: Any, axes: tuple[int, ...]) -> Any:
    """x with some axes as one, the last."""
    kept = tuple(i for i in range(x.ndim) if i not in axes)
    rows = ops.transpose(x, (*kept, *axes)) if x.ndim > 1 else x
    lead = rows.shape[: len(kept)]
    return ops.reshape(rows, (*lead, dims.product(rows.shape[len(kept) :])))


def _weights_of(name: str, x: Any, weights: Any, axes: tuple[int, ...]) -> Any:
    """The weights as float64, in the shape of x."""
    weights = ops.astype(weights, "float64")
    if weights.ndim == 1 and x.ndim > 1:
        if len(axes) != 1:
            raise ShapeError(f"{name}: weights of one axis for elements along {len(axes)}")
        weights = ops.reshape(weights, (-1,) + (1,) * (x.ndim - 1 - axes[0]))
    elif weights.ndim != x.ndim:
        raise ShapeError(f"{name}: weights of {weights.ndim} axes for {x.ndim}")
    return ops.broadcast_to(weights, x.shape)


def _weighted(rows: Any, weights: Any, levels: Any, skip: bool) -> Any:
    """The first elements in order below which the shares of the weight lie, as `_between`."""
    missing = ops.isnan(rows)
    order = ops.argsort(rows)
    rows = ops.take_along_axis(rows, order, -1, wrap=False)
    if skip:
        weights = ops.where(missing, 0.0, weights)
    weights = ops.stop_gradient(ops.take_along_axis(weights, order, -1, wrap=False))
    shares = ops.cumsum(weights, -1)
    shares = shares / ops.expand_dims(shares[..., -1], shares.ndim - 1)
    levels = ops.reshape(ops.astype(levels, "float64"), (-1,) + (1,) * rows.ndim)
    # what weighs nothing before the first that weighs is below every share, of 0 too
    below = ops.logical_or(ops.less(shares, levels), ops.equal(shares, 0.0))
    ranks = ops.sum(ops.astype(below, "int64"), axis=-1)
    size = rows.shape[-1]
    last = size_value(size - 1, ranks) if isinstance(size, Dim) else size - 1
    found = _elements(rows, ops.minimum(ranks, last))
    hidden = ops.all(missing, axis=-1) if skip else ops.any(missing, axis=-1)
    return ops.where(hidden, math.nan, found)


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
    if not skip:
        if hasattr(rows, "_constant") and isinstance(levels, np.ndarray):
            levels = rows._constant(levels)  # the sizes beside it may be unknown
        levels = ops.broadcast_to(levels, (levels.shape[0], *rows.shape[:-1]))
    # per level and row, as a column each: what is left of an element, and what is right of it
    left, right, part = _places(method, levels, last)
    found = low = _elements(rows, left)
    if right is not None:
        high, part = _elements(rows, right), ops.astype(part, rows.dtype)
        step = high - low
        # from the nearer end, so that it is exact at both, and from a finite one
        from_low = ops.logical_and(ops.less(part, 0.5), ops.greater(low, -math.inf))
        from_low = ops.logical_or(from_low, ops.equal(high, math.inf))
        found = ops.where(from_low, low + step * part, high - step * (1 - part))
        same = ops.logical_and(ops.isinf(low), ops.equal(low, high))
        found = ops.where(same, low, found)
    hidden = ops.all(missing, axis=-1) if skip else ops.any(missing, axis=-1)
    return ops.where(hidden, math.nan, found)


def _places(method: str, levels: Any, last: Any) -> tuple[Any, Any, Any]:
    """The ranks left and right of shares, of ranks up to the last, and how far right they lie.

    None for the right one: the method takes the left one as it is.
    """

    def within(rank: Any) -> Any:
        return ops.minimum(ops.maximum(rank, 0.0), last)

    if method in ("lower", "higher", "nearest"):
        rounded = {"nearest": ops.round, "higher": ops.ceil, "lower": ops.floor}[method]
        return rounded(levels * last), None, None
    before = levels * (last + 1) - 1  # the share below the element at a rank of this
    if method == "inverted_cdf":
        return within(ops.ceil(before)), None, None
    if method == "closest_observation":
        left = ops.floor(before - 0.5)
        even = ops.logical_and(ops.equal(left, before - 0.5), ops.equal(left % 2, 1))
        return within(ops.where(even, left, left + 1)), None, None
    if method == "averaged_inverted_cdf":
        left = ops.floor(before)
        return within(left), within(left + 1), ops.where(ops.equal(left, before), 0.5, 1.0)
    if method in _CONTINUOUS:
        alpha, beta = _CONTINUOUS[method]
        ranks = within(before + alpha + levels * (1 - alpha - beta))
    else:
        ranks = levels * last
    left = ops.floor(ranks)
    part = 0.5 * ops.sign(ranks - left) if method == "midpoint" else ranks - left
    return left, ops.ceil(ranks), part


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
    *,
    dtype: object = None,
) -> Value:
    """The covariances of variables, one per row (per column unless `rowvar`), over observations.

    They are divided by n - 1, by n if `bias`, or by n - ddof. `y` has more variables, `fweights`
    counts and `aweights` weighs the observations, which are cast to `dtype`. One variable has one
    number; of a number of variables that is unknown until run time the result is a matrix always.

    Example:
        >>> sg.cov(np.array([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]]))
        array([[ 1., -1.],
               [-1.,  1.]])
    """
    x = _variables(m, rowvar, dtype)
    scalar = y is None and is_one(x.shape[0])
    if y is not None:
        x = ops.concatenate([x, _variables(y, rowvar, dtype)], 0)
    ddof = (0 if bias else 1) if ddof is None else ddof
    weights, is_complex = None, x.dtype.kind == "c"
    part = part_dtype(x.dtype)
    for given in (fweights, aweights):
        if given is not None:
            given = ops.astype(as_operand(given), part)
            weights = given if weights is None else weights * given
    if weights is None:
        centred = x - ops.mean(x, axis=1, keepdims=True)
        weighted, norm = centred, count(x, (1,), ops.real_part(x) if is_complex else x) - ddof
        norm = max(norm, 0) if isinstance(norm, int | float) else ops.maximum(norm, 0)
    else:
        total = ops.sum(weights)
        mean = ops.sum(x * weights, axis=1, keepdims=True) / total
        centred = x - mean
        weighted, norm = centred * weights, total - ddof
        if aweights is not None:
            aweights = ops.astype(as_operand(aweights), part)
            norm = total - ddof * ops.sum(weights * aweights) / total
        norm = ops.maximum(norm, 0)
    others = ops.conjugate(centred) if is_complex else centred
    found = ops.divide(ops.matmul(weighted, ops.transpose(others)), norm)
    return ops.reshape(found, ()) if scalar else found


def _variables(m: Value, rowvar: bool, dtype: object) -> Any:
    m = as_operand(m) if dtype is None else ops.astype(m, dtype)
    m = m if is_inexact(m.dtype) else ops.astype(m, "float64")
    if m.ndim > 2:
        raise ShapeError(f"cov: {m.ndim} axes, of at most 2")
    if m.ndim < 2:
        return ops.reshape(m, (1, -1))
    return m if rowvar else ops.transpose(m)


def corrcoef(x: Value, y: Value = None, rowvar: bool = True, *, dtype: object = None) -> Value:
    """The correlations of variables, one per row (per column unless `rowvar`), within [-1, 1].

    Of complex ones both parts are. See `cov`.

    Example:
        >>> sg.corrcoef(np.array([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]]))
        array([[ 1., -1.],
               [-1.,  1.]])
    """
    found = cov(x, y, rowvar, dtype=dtype)
    if not found.ndim:
        return ops.divide(found, found)
    if found.dtype.kind != "c":
        return _correlations(found, ops.sqrt(diagonal(found)))
    scale = ops.sqrt(ops.real_part(diagonal(found)))
    parts = (ops.real_part(found), ops.imaginary_part(found))
    return ops.make_complex(*(_correlations(part, scale) for part in parts))


def _correlations(covariances: Any, scale: Any) -> Any:
    return ops.clip(covariances / ops.expand_dims(scale, 1) / scale, -1, 1)
