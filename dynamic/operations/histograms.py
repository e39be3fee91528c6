"""Histograms, differences and parts of numbers, in PyTorch's names and arguments, not NumPy's."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.functions import counting, elements, sequences
from staticgraph.dynamic.core.errors import ArgumentError, AutogradError, MissingKernelError
from staticgraph.dynamic.core.named_operands import taking_input
from staticgraph.dynamic.operations.places import equal_parts
from staticgraph.dynamic.tensors.dims import axis_of
from staticgraph.dynamic.tensors.tensor import Tensor, has_values, wrap
from staticgraph.dynamic.tensors.values import values_of

__all__ = ["dsplit", "frexp", "gradient", "histc", "histogram", "histogramdd"]

frexp = taking_input(elements.frexp)


def _check(name: str, input: Any, counts: Sequence[object]) -> None:
    """Refuse numbers of bins that are none, and elements that are no real floats.

    So that a call is refused whether it is captured or not.
    """
    for bins in counts:
        if isinstance(bins, bool) or not hasattr(bins, "__index__"):
            raise ArgumentError(
                f"{name}(): argument 'bins' must be int, not {type(bins).__name__} ({bins})"
            )
        if operator.index(bins) <= 0:
            raise AutogradError(f"{name}: bins must be > 0, but got {bins}")
    if not input.dtype.is_floating_point:
        raise MissingKernelError(
            f"\"{name}_cpu\" not implemented for '{input.dtype.legacy}': cast it with float()"
        )


def histc(input: Any, bins: int = 100, min: float = 0, max: float = 0) -> Any:
    """How many elements fall into each of `bins` equal bins of [min, max], the range if equal.

    The elements are floats: NotImplementedError for others.

    Example:
        >>> dynamic.histc(dynamic.tensor([1.0, 2.0, 1.0]), bins=4, min=0, max=3)
        tensor([0., 2., 1., 0.])
    """
    _check("histc", input, [bins])
    if min > max:
        raise AutogradError(f"histc: max must be larger than min, but got {max} and {min}")
    if not has_values(input):
        within = None if min == max else (min, max)
        return ops.astype(counting.histogram(input.detach(), bins, within)[0], input.dtype)
    array = values_of(input)
    low, high = (
        (min, max) if min != max else (array.min(initial=np.inf), array.max(initial=-np.inf))
    )
    if low == high:
        low, high = low - 1, high + 1
    counted, _ = np.histogram(array[(array >= low) & (array <= high)], bins, (low, high))
    return wrap(counted.astype(array.dtype))


class Histogram(NamedTuple):
    """How much falls into each bin, and the limits of the bins."""

    hist: Any
    bin_edges: Any


def histogram(
    input: Any,
    bins: Any,
    *,
    range: tuple[float, float] | None = None,
    weight: Any = None,
    density: bool = False,
) -> Histogram:
    """How many elements fall into each of `bins` bins, or between the limits that a tensor has.

    Each counts as `weight` says; with `density` the counts are such that their integral is 1.
    Nothing is differentiated. The elements are floats: NotImplementedError for others.

    Example:
        >>> dynamic.histogram(dynamic.tensor([0.0, 1.0, 1.5, 4.0]), 2)
        Histogram(hist=tensor([3., 1.]), bin_edges=tensor([0., 2., 4.]))
    """
    _check("histogram", input, [] if isinstance(bins, Tensor) else [bins])
    if not has_values(input):
        _check_range(bins, range)
        found: Any = counting.histogram(input.detach(), bins, range, weight, density)
        return Histogram(*(ops.astype(one, input.dtype) for one in found))
    array = values_of(input)
    given = values_of(bins) if isinstance(bins, Tensor) else bins
    weights = None if weight is None else values_of(weight).reshape(-1)
    try:
        found, edges = np.histogram(array.reshape(-1), given, range, density, weights)
    except (TypeError, ValueError) as error:
        raise AutogradError(f"histogram: {error}") from None
    return Histogram(*(wrap(one.astype(array.dtype)) for one in (found, edges)))


def _check_range(bins: Any, range: tuple[float, float] | None) -> None:
    """Refuse what are no limits, for values that are not known."""
    if not isinstance(bins, Tensor):
        try:
            np.histogram_bin_edges(np.empty(0), bins, range)
        except (TypeError, ValueError) as error:
            raise AutogradError(f"histogram: {error}") from None


def histogramdd(
    input: Any,
    bins: Any,
    *,
    range: Sequence[float] | None = None,
    weight: Any = None,
    density: bool = False,
) -> Histogram:
    """`histogram` of points: the last axis has their coordinates, for each of which there are bins.

    `bins` is a number for all or one for each, or the limits of each; `range` has two numbers for
    each coordinate. The points are floats: NotImplementedError for others.

    Example:
        >>> dynamic.histogramdd(dynamic.tensor([[0.0, 0.0], [1.0, 1.0]]), 2)[0]
        tensor([[1., 0.],
                [0., 1.]])
    """
    counts = [one for one in _each(bins) if not isinstance(one, Tensor)]
    _check("histogramdd", input, counts)
    if not has_values(input):
        limits = None if range is None else list(zip(range[::2], range[1::2], strict=True))
        rows = input.detach().reshape(-1, input.shape[-1])
        counted, ends = counting.histogramdd(rows, bins, limits, weight, density)
        cast = tuple(ops.astype(one, input.dtype) for one in ends)
        return Histogram(ops.astype(counted, input.dtype), cast)
    array = values_of(input)
    points = array.reshape(-1, array.shape[-1])
    given = [values_of(one) if isinstance(one, Tensor) else one for one in _each(bins)]
    limits = None if range is None else list(zip(range[::2], range[1::2], strict=True))
    weights = None if weight is None else values_of(weight).reshape(-1)
    try:
        found, edges = np.histogramdd(
            points, given if len(given) > 1 else given[0], limits, density, weights
        )
    except ValueError as error:
        raise AutogradError(f"histogramdd: {error}") from None
    return Histogram(
        wrap(found.astype(array.dtype)), tuple(wrap(one.astype(array.dtype)) for one in edges)
    )


def _each(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]


def gradient(
    input: Any, *, spacing: Any = 1, dim: Any = None, edge_order: int = 1
) -> tuple[Any, ...]:
    """The slopes by differences along each axis, or those of `dim`: see NumPy's `gradient`.

    `spacing` is the distance of neighbours, one for each axis, or for each its coordinates.

    Example:
        >>> dynamic.gradient(dynamic.tensor([1.0, 2.0, 4.0]))
        (tensor([1.0000, 1.5000, 2.0000]),)
    """
    axes = range(input.ndim) if dim is None else _each(dim)
    places = [axis_of("gradient", one, input.ndim) for one in axes]
    if isinstance(spacing, list | tuple) and len(spacing) != len(places):
        raise AutogradError(
            "torch.gradient expected spacing to be unspecified, a scalar, or a list of length "
            f"equal to the number of axes, {len(places)}, but got a list of length {len(spacing)}"
        )
    spacings = [
        one if isinstance(one, int | float | np.number) else values_of(one)
        for one in _each(spacing)
    ]
    found = sequences.gradient(input, *spacings, axis=tuple(places), edge_order=edge_order)
    return tuple(found) if isinstance(found, list | tuple) else (found,)


def dsplit(input: Any, indices_or_sections: Any) -> tuple[Any, ...]:
    """Views cut along the third axis: into so many equal parts, or before each index.

    Example:
        >>> dynamic.dsplit(dynamic.tensor([[[1.0, 2.0]]]), 2)
        (tensor([[[1.]]]), tensor([[[2.]]]))
    """
    if input.ndim < 3:
        raise AutogradError(
            "torch.dsplit requires a tensor with at least 3 dimension, but got a tensor with "
            f"{input.ndim} dimensions!"
        )
    return equal_parts("dsplit", input, indices_or_sections, 2)
