"""Interpolation: the last axes at another size."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core import dims
from staticgraph.compiler.core.dims import Dim, Size
from staticgraph.compiler.core.errors import OptionError, ShapeError
from staticgraph.compiler.core.values import Value
from staticgraph.compiler.layers.adaptive_pooling import averaged
from staticgraph.compiler.layers.axes import along, beside, cast, number, numbers, shown
from staticgraph.compiler.ops.declare import as_operand

__all__ = ["interpolate"]

RANKS = {"linear": 3, "bilinear": 4, "bicubic": 4, "trilinear": 5}
"""Per mode that interpolates the number of axes of an operand."""
CHOSEN = ("nearest", "nearest-exact", "area")
"""The modes of any number of axes."""


def interpolate(
    x: Value,
    size: Value = None,
    scale_factor: Value = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
) -> Value:
    """The last axes of (n, c, ...) at another size, or at a multiple of theirs.

    Args:
        size: a size for each of these axes, or one for all: ints, or sizes that are unknown until
            run time.
        scale_factor: a factor for each axis, or one for all, from which coordinates are computed.
        mode: nearest, nearest-exact, linear (one axis), bilinear or bicubic (two; Keys 1981, with
            a = -0.75), trilinear (three) or area (means, see `adaptive_avg_pool2d`).
        align_corners: whether the outer elements stay where they are, of the modes in between.
        recompute_scale_factor: whether coordinates are computed from the sizes anyway.

    Raises:
        ShapeError: a mode of another number of axes.
        OptionError: another mode, or not one of size and scale_factor, for each axis.

    Example:
        >>> sg.nn.interpolate(np.array([[[0.0, 2.0]]]), 3, mode="linear", align_corners=True)
        array([[[0., 1., 2.]]])
    """
    x = as_operand(x)
    axes = x.ndim - 2
    if mode not in (*CHOSEN, *RANKS):
        raise OptionError(f"interpolate: mode is one of {(*CHOSEN, *RANKS)}, not {mode!r}")
    if mode in CHOSEN and align_corners is not None:
        raise OptionError(f"interpolate: align_corners={align_corners} has no meaning in {mode!r}")
    if x.ndim < 3 or x.ndim > 5 or x.ndim != RANKS.get(mode, x.ndim):
        raise ShapeError(f"interpolate: {shown(x)} has {x.ndim} axes, of {_ranks(mode)}")
    if (size is None) == (scale_factor is None):
        raise OptionError(
            f"interpolate: one of size={size!r} and scale_factor={scale_factor!r} is given"
        )
    scales: Sequence[float | None] = [None] * axes
    if size is not None:
        wanted = [one if isinstance(one, Dim) else int(one) for one in _each("size", size, axes)]
    else:
        given = [float(one) for one in _each("scale_factor", scale_factor, axes)]
        wanted = [scaled(n, factor) for n, factor in zip(x.shape[2:], given, strict=True)]
        scales = scales if recompute_scale_factor else given
    if any(not isinstance(one, Dim) and one < 1 for one in wanted):
        raise OptionError(f"interpolate: {shown(x)} at the sizes {wanted}: each is at least 1")
    return resized(x, wanted, scales, mode, bool(align_corners))


def _ranks(mode: str) -> str:
    return str(RANKS[mode]) if mode in RANKS else "3 to 5"


def _each(option: str, value: Any, axes: int) -> tuple[Any, ...]:
    single = isinstance(value, float | Dim) or hasattr(value, "__index__")
    listed = (value,) * axes if single else tuple(value)
    if len(listed) != axes:
        raise OptionError(f"interpolate: {option}={value!r} is not for {axes} axes")
    return listed


def scaled(size: Size, factor: float) -> Size:
    """The floor of a multiple of a size; an unknown one is multiplied by a fraction."""
    if not isinstance(size, Dim):
        return math.floor(float(size) * factor)
    share = Fraction(factor).limit_denominator(1_000_000)
    if float(share) != factor:
        raise OptionError(
            f"interpolate: scale_factor={factor} of the size {size}, which is unknown until run "
            "time, is no fraction of small numbers: give size="
        )
    return dims.floor_divide(size * share.numerator, share.denominator)


def resized(
    x: Value, wanted: Sequence[Size], scales: Sequence[float | None], mode: str, align: bool
) -> Value:
    """The last axes of x at these sizes; coordinates from the scales, or from sizes if None."""
    if mode == "area" and not any(isinstance(one, Dim) for one in wanted):
        return averaged(x, [int(one) for one in wanted])
    if mode == "area":
        raise OptionError(f"interpolate: mode 'area' needs known sizes, not {list(wanted)}")
    for axis, (size, scale) in enumerate(zip(wanted, scales, strict=True), 2):
        x = _along(x, axis, size, scale, mode, align)
    return x


def _along(x: Any, axis: int, wanted: Size, scale: float | None, mode: str, align: bool) -> Any:
    """One axis at another size."""
    have = number(x.shape[axis], x, "float64")
    ratio = have / number(wanted, x, "float64") if scale is None else 1 / scale
    of = library(x.shape[axis], wanted)
    places = cast(numbers(wanted, x), np.float64)
    if mode in CHOSEN:
        offset = 0.5 if mode == "nearest-exact" else 0.0
        found = of.minimum(of.floor((places + offset) * ratio), have - 1)
        return ops.take(x, cast(found, np.int64), axis)
    if align:
        ends = number(dims.maximum(wanted - 1, 1), x, "float64")
        source = places * ((have - 1) / ends)
    else:
        source = (places + 0.5) * ratio - 0.5
    if mode == "bicubic":
        return _weighted(x, axis, _cubic(of, source, have))
    source = of.maximum(source, 0.0)
    low = of.minimum(of.floor(source), have - 1)
    part = source - low
    return _weighted(x, axis, [(low, 1 - part), (of.minimum(low + 1, have - 1), part)])


def library(*sizes: Size) -> Value:
    """NumPy, for what is computed of sizes that are known, or the ops of the same names."""
    return ops if any(isinstance(size, Dim) for size in sizes) else np


_A = -0.75


def near(t: Value) -> Value:
    """The weight at a distance up to 1."""
    return ((_A + 2) * t - (_A + 3)) * t * t + 1


def far(t: Value) -> Value:
    """The weight at a distance from 1 to 2."""
    return ((_A * t - 5 * _A) * t + 8 * _A) * t - 4 * _A


def _cubic(of: Any, source: Any, have: Any) -> list[tuple[Any, Any]]:
    """Keys, Cubic convolution interpolation for digital image processing, 1981."""
    low = of.floor(source)
    part = source - low
    weights = (far(part + 1), near(part), near(1 - part), far(2 - part))
    return [
        (of.minimum(of.maximum(low + offset, 0.0), have - 1), weight)
        for offset, weight in zip((-1, 0, 1, 2), weights, strict=True)
    ]


def _weighted(x: Any, axis: int, terms: Sequence[tuple[Any, Any]]) -> Any:
    total = None
    for places, weights in terms:
        weight = beside(along(cast(weights, np.dtype(x.dtype)), axis, x.ndim), x)
        term = ops.take(x, cast(places, np.int64), axis) * weight
        total = term if total is None else total + term
    return total
