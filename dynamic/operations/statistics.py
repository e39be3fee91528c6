"""Order statistics, covariances, and where numbers fall among others."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core.dtypes import is_float, is_inexact, part_dtype
from staticgraph.dynamic.core.dtypes import INT64, get_default_dtype, known_array
from staticgraph.dynamic.core.errors import AutogradError
from staticgraph.dynamic.core.results import named
from staticgraph.dynamic.core.sizes import differ
from staticgraph.dynamic.operations.complex_numbers import complex, is_complex, real
from staticgraph.dynamic.operations.sorting import argsort, shared_by_ties
from staticgraph.dynamic.tensors.creation import as_tensor
from staticgraph.dynamic.tensors.dims import along, axis_of
from staticgraph.dynamic.tensors.naming import called, keep
from staticgraph.dynamic.tensors.narrowing import widening as _wide
from staticgraph.dynamic.tensors.tensor import Tensor, has_values, wrap
from staticgraph.dynamic.tensors.values import values_of
from staticgraph.dynamic.tensors.views import computed

__all__ = [
    "bucketize", "corrcoef", "cov", "isin", "mode", "nanmedian", "nanquantile", "quantile",
    "searchsorted",
]  # fmt: skip


class NanMedian(NamedTuple):
    """The middle elements of those that are not nan, and where they are."""

    values: Any
    indices: Any

    def __repr__(self) -> str:
        return named("nanmedian", self)


class Mode(NamedTuple):
    """The most frequent elements along an axis, and where they are."""

    values: Any
    indices: Any

    def __repr__(self) -> str:
        return named("mode", self)


_INTERPOLATIONS = ("linear", "lower", "higher", "midpoint", "nearest")


def _quantile(
    input: Any, q: object, dim: int | None, keepdim: bool, interpolation: str, skip: bool
) -> Any:
    if interpolation not in _INTERPOLATIONS:
        raise AutogradError(
            "quantile() interpolation must be one of linear, lower, higher, midpoint or nearest, "
            f"but got {interpolation}"
        )
    if not input.dtype.is_floating_point:
        raise AutogradError("quantile() input tensor must be either float or double dtype")
    levels = values_of(as_tensor(q, dtype=input.dtype))
    if levels.ndim > 1:
        raise AutogradError("quantile() q must be a scalar or 1D tensor")
    if ((levels < 0) | (levels > 1)).any():
        if not levels.ndim:
            raise AutogradError(f"quantile() q must be in the range [0, 1] but got {q}")
        raise AutogradError("quantile() q values must be in the range [0, 1]")
    if not input.numel():
        raise AutogradError("quantile() input tensor must be non-empty")
    x = ops.reshape(input, (-1,)) if dim is None or not input.ndim else input
    axis = 0 if dim is None else axis_of("quantile", dim, x.ndim)
    rows = ops.take_along_axis(x, argsort(x, axis), axis).movedim(axis, -1)
    found = _between(rows, levels.reshape(-1), interpolation, skip)
    if keepdim:
        if dim is None:
            found = ops.reshape(found, (-1,) + (1,) * input.ndim)
        else:
            found = ops.expand_dims(found, axis + 1)
    return found if levels.ndim else found[0]


def _between(rows: Any, levels: Any, interpolation: str, skip: bool) -> Any:
    """The quantiles of rows in order, nan last: a new first axis, and the last one gone."""
    if not has_values(rows):
        return _between_traced(rows, levels, interpolation, skip)
    missing = np.isnan(rows._array)
    counts = (~missing).sum(-1) if skip else np.full(rows.shape[:-1], rows.shape[-1])
    ranks = levels.reshape(-1, *(1,) * counts.ndim) * np.maximum(counts - 1, 0)
    if not skip:
        ranks = np.where(missing[..., -1], rows.shape[-1] - 1, ranks)
    ranks = ranks.astype(rows._array.dtype)
    below = np.floor(ranks)
    if interpolation == "nearest":
        below = np.rint(ranks)
    elif interpolation == "higher":
        below = np.ceil(ranks)
    low = _at(rows, below)
    if interpolation in ("lower", "higher", "nearest"):
        return low
    part = np.full_like(ranks, 0.5) if interpolation == "midpoint" else ranks - below
    return low.lerp(_at(rows, np.ceil(ranks)), wrap(part))


def _between_traced(rows: Any, levels: Any, interpolation: str, skip: bool) -> Any:
    """`_between` of rows whose values are not known yet."""
    missing, last = ops.isnan(rows), rows.shape[-1] - 1
    given = rows._constant(levels.reshape(-1, *(1,) * (rows.ndim - 1)))
    if skip:
        ranks = given * ops.maximum((~missing).sum(-1) - 1, 0).to(rows.dtype)
    else:
        top = rows._constant(levels.dtype.type(last))
        ranks = ops.where(missing[..., -1], top, given * last)
    ranks = ranks.detach()
    rounded = {"nearest": ops.round, "higher": ops.ceil}.get(interpolation, ops.floor)
    below = rounded(ranks)
    low = ops.take_along_axis(rows, below.long().movedim(0, -1), -1).movedim(-1, 0)
    if interpolation in ("lower", "higher", "nearest"):
        return low
    part = 0.5 if interpolation == "midpoint" else ranks - below
    high = ops.take_along_axis(rows, ops.ceil(ranks).long().movedim(0, -1), -1).movedim(-1, 0)
    return low.lerp(high, part)


def _at(rows: object, places: Any) -> Any:
    columns = np.moveaxis(places.astype(np.int64), 0, -1)
    return ops.take_along_axis(rows, wrap(columns), -1).movedim(-1, 0)


@computed
@_wide
def quantile(
    input: object,
    q: object,
    dim: int | None = None,
    keepdim: bool = False,
    *,
    interpolation: str = "linear",
) -> Any:
    """The q-quantiles along an axis, or of all elements: a new first axis if q is a vector.

    `interpolation` between neighbours is linear, lower, higher, midpoint or nearest. nan if there
    is a nan.

    Example:
        >>> dynamic.quantile(dynamic.tensor([1.0, 2.0, 4.0]), 0.75)
        tensor(3.)
    """
    return _quantile(input, q, dim, keepdim, interpolation, False)


@computed
@_wide
def nanquantile(
    input: object,
    q: object,
    dim: int | None = None,
    keepdim: bool = False,
    *,
    interpolation: str = "linear",
) -> Any:
    """The quantiles of the elements that are not nan: see `quantile`.

    Example:
        >>> dynamic.nanquantile(dynamic.tensor([1.0, np.nan, 3.0]), 0.5)
        tensor(2.)
    """
    return _quantile(input, q, dim, keepdim, interpolation, True)


@along
@computed
def nanmedian(input: Any, dim: int | None = None, keepdim: bool = False) -> Any:
    """The middle element of those that are not nan; with `dim` also where it is.

    Example:
        >>> dynamic.nanmedian(dynamic.tensor([1.0, np.nan, 3.0]))
        tensor(1.)
    """
    return _nanmedian_of_all(input) if dim is None else _nanmedian_along(input, dim, keepdim)


@called("Nanmedian")
def _nanmedian_of_all(input: Any) -> Any:
    flat = ops.reshape(input, (-1,))
    middle = _nanmedian_along(flat, 0, False).values
    return middle if not input.requires_grad else keep(shared_by_ties(flat, middle), input)


@called("NanmedianBackward1")
def _nanmedian_along(input: Any, dim: int, keepdim: bool) -> Any:
    axis = axis_of("nanmedian", dim, input.ndim)
    order = argsort(input, axis)
    counts = (~ops.isnan(input)).sum(axis, True)
    rank = ops.maximum((counts - 1) // 2, 0)
    places = ops.take_along_axis(order, rank, axis)
    values = ops.take_along_axis(input, places, axis)
    if keepdim:
        return NanMedian(values, places)
    return NanMedian(values.squeeze(axis), places.squeeze(axis))


def _most_frequent(rows: Any) -> Any:
    """Where the last of the equal elements stands that are most, along the last axis."""
    order = ops.argsort(rows, -1)
    ordered = ops.take_along_axis(rows, order, -1)
    places = ops.cumsum(order * 0 + 1, -1)
    starts = ordered[..., 1:] != ordered[..., :-1]
    before, _ = ops.cummax(ops.where(starts, places[..., :-1], 0), -1)
    run = places - ops.concatenate([places[..., :1] * 0, before], -1)
    return ops.take_along_axis(order, ops.argmax(run, -1, keepdims=True), -1)


@called("Mode")
@computed
def mode(input: Any, dim: int = -1, keepdim: bool = False) -> Any:
    """The most frequent element along an axis, of several the smallest, and its last place.

    Example:
        >>> dynamic.mode(dynamic.tensor([1, 2, 2])).values
        tensor(2)
    """
    axis = axis_of("mode", dim, input.ndim)
    if not input.ndim:
        return Mode(input.clone(), wrap(np.zeros((), INT64)))
    if not input.shape[axis]:
        raise IndexError(f"mode(): Expected reduction dim {axis} to have non-zero size.")
    places = ops.swapaxes(_most_frequent(ops.swapaxes(input.detach(), axis, -1)), axis, -1)
    values = ops.take_along_axis(input, places, axis)
    if keepdim:
        return Mode(values, places)
    return Mode(values.squeeze(axis), places.squeeze(axis))


def _check_weights(name: str, weights: Any, x: Any) -> None:
    """RuntimeError unless there is a weight per observation, and those that count are integers."""
    if weights.ndim > 1:
        raise AutogradError(
            f"cov(): expected {name} to have one or fewer dimensions but got {name} with "
            f"{weights.ndim} dimensions"
        )
    whole = weights._array.dtype.kind in "iu"
    if whole != (name == "fweights"):
        wanted = "integral" if name == "fweights" else "floating point"
        raise AutogradError(
            f"cov(): expected {name} to have {wanted} dtype but got {name} with "
            f"{weights.dtype} dtype"
        )
    if differ(tuple(weights.shape) or (1,), (x.shape[1],)):
        raise AutogradError(
            f"cov(): expected {name} to have the same numel as there are observations in the input "
            f"tensor but got {weights.numel()} != {x.shape[1]}"
        )


def cov(input: Any, *, correction: int = 1, fweights: Any = None, aweights: Any = None) -> Any:
    """The covariances of variables, one per row, over observations, one per column.

    One row has a variance: a tensor without axes. `fweights` counts and `aweights` weighs the
    observations.

    Example:
        >>> dynamic.cov(dynamic.tensor([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]]))
        tensor([[ 1., -1.],
                [-1.,  1.]])
    """
    if input.ndim > 2:
        raise AutogradError(
            "cov(): expected input to have two or fewer dimensions but got an input with "
            f"{input.ndim} dimensions"
        )
    x = input if input.ndim == 2 else ops.reshape(input, (1, -1))
    x = x if is_inexact(x._array.dtype) else x.to(get_default_dtype())
    parts = part_dtype(x._array.dtype)
    weights = None
    for name, given in (("fweights", fweights), ("aweights", aweights)):
        if given is not None:
            _check_weights(name, given, x)
            given = given.to(parts)
            weights = given if weights is None else weights * given
    if weights is None:
        total: Any = x.shape[1]
        centred = x - x.mean(1, True)
        scaled = centred
        norm: Any = total - correction
    else:
        total = weights.sum()
        centred = x - (x * weights).sum(1, True) / total
        scaled = centred * weights
        norm = total - correction
        if aweights is not None:
            norm = total - correction * (weights * aweights.to(parts)).sum() / total
    limited = ops.maximum(as_tensor(norm, dtype=parts), 0.0)
    found = (scaled @ centred.conj().transpose(0, 1)) / limited
    return found if x.shape[0] != 1 else found.reshape(())


def corrcoef(input: object) -> Any:
    """The correlations of variables, one per row, within [-1, 1].

    Example:
        >>> dynamic.corrcoef(dynamic.tensor([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]]))
        tensor([[ 1., -1.],
                [-1.,  1.]])
    """
    found = cov(input)
    if not found.ndim:
        return found / found
    scale = real(found).diagonal().sqrt()
    found = found / scale.unsqueeze(1) / scale.unsqueeze(0)
    if is_complex(found):
        return complex(found.real.clamp(-1, 1), found.imag.clamp(-1, 1))
    return found.clamp(-1, 1)


def searchsorted(
    sorted_sequence: Any,
    input: object,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Any = None,
) -> Any:
    """Where numbers would be inserted to keep rows in order: before equal ones, or after.

    Example:
        >>> dynamic.searchsorted(dynamic.tensor([1.0, 2.0, 3.0]), dynamic.tensor([2.0, 9.0]))
        tensor([1, 3])
    """
    if side not in (None, "left", "right"):
        raise AutogradError(
            "torch.searchsorted(): side can only be 'left' or 'right' but got " + side
        )
    where: Any = "right" if right or side == "right" else "left"
    if any(isinstance(one, Tensor) and not has_values(one) for one in (sorted_sequence, input)):
        return _places_among(sorted_sequence, input, where, sorter, out_int32)
    rows = sorted_sequence._array
    if sorter is not None:
        rows = np.take_along_axis(rows, values_of(sorter), -1)
    values = input._array if isinstance(input, Tensor) else known_array("searchsorted", input)
    if rows.ndim == 1:
        found = np.searchsorted(rows, values, where)
    else:
        if rows.shape[:-1] != values.shape[:-1]:
            raise AutogradError(
                "torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 "
                "dimensions of boundaries tensor and input value tensor must match, but we got "
                f"boundaries tensor {list(rows.shape)} and input value tensor {list(values.shape)}"
            )
        flat = zip(
            rows.reshape(-1, rows.shape[-1]), values.reshape(-1, values.shape[-1]), strict=True
        )
        found = np.stack([np.searchsorted(row, value, where) for row, value in flat])
        found = found.reshape(values.shape)
    return wrap(np.asarray(found, np.int32 if out_int32 else np.int64))


def _places_among(rows: Any, values: Any, where: str, sorter: Any, small: bool) -> Any:
    """`searchsorted` where values are not known yet: how many elements of a row come before."""
    if sorter is not None:
        rows = ops.take_along_axis(rows, sorter, -1)
    values = values if isinstance(values, Tensor) else rows._constant(np.asarray(values))
    if rows.ndim == 1:
        rows = ops.reshape(rows, (1,) * values.ndim + (rows.shape[0],))
    else:
        rows = ops.expand_dims(rows, -2)
    wanted = ops.expand_dims(values, -1)
    before = rows < wanted if where == "left" else rows <= wanted
    if is_float(wanted.dtype):  # nan is the last
        last = ops.isnan(wanted)
        if where == "left" and is_float(rows.dtype):
            last = ops.logical_and(last, ~ops.isnan(rows))
        before = ops.logical_or(before, last)
    return before.sum(-1).to(np.dtype(np.int32 if small else np.int64))


def bucketize(
    input: object, boundaries: object, *, out_int32: bool = False, right: bool = False
) -> Any:
    """The bucket of each element between boundaries in order; see `searchsorted`.

    Example:
        >>> dynamic.bucketize(dynamic.tensor([0.5, 1.0, 9.0]), dynamic.tensor([1.0, 2.0]))
        tensor([0, 0, 2])
    """
    ndim = getattr(boundaries, "ndim", 1)
    if ndim != 1:
        raise AutogradError(f"boundaries tensor must be 1 dimension, but got dim({ndim})")
    return searchsorted(boundaries, input, out_int32=out_int32, right=right)


def isin(
    elements: object, test_elements: object, *, assume_unique: bool = False, invert: bool = False
) -> Any:
    """Per element whether it is among others.

    Example:
        >>> dynamic.isin(dynamic.tensor([1.0, 2.0, 3.0]), dynamic.tensor([3.0, 1.0]))
        tensor([ True, False,  True])
    """
    first, second = (
        values_of(one) if isinstance(one, Tensor) else known_array("isin", one)
        for one in (elements, test_elements)
    )
    return wrap(np.isin(first, second, assume_unique, invert))
