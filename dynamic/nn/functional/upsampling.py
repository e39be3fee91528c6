"""Interpolation: the last axes at another size."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core.errors import OptionError
from staticgraph.dynamic.core.errors import AutogradError
from staticgraph.dynamic.core.user_warnings import warn
from staticgraph.dynamic.nn.functional.adaptive_pooling import (
    adaptive_avg_pool1d,
    adaptive_avg_pool2d,
    adaptive_avg_pool3d,
)
from staticgraph.dynamic.nn.functional.antialiasing import MODES, antialiased

__all__ = ["interpolate", "upsample"]

_RANKS = {"linear": 3, "bilinear": 4, "bicubic": 4, "trilinear": 5}
_NEAREST = ("nearest", "nearest-exact", "area")


def interpolate(
    input: Any,
    size: object = None,
    scale_factor: object = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Any:
    """The last axes of (n, c, ...) at another size, or at a multiple of theirs.

    `mode` is nearest, nearest-exact, linear (one axis), bilinear or bicubic (two; a = -0.75),
    trilinear (three) or area. With `antialias` (bilinear and bicubic) each element is a mean of all
    that it stands for. With `align_corners` the outer elements stay where they are.
    """
    axes = input.ndim - 2
    if antialias and mode not in MODES:
        raise OptionError("Anti-alias option is restricted to bilinear and bicubic modes")
    if mode in _NEAREST and align_corners is not None:
        raise OptionError(
            "align_corners option can only be set with the interpolating modes: linear | bilinear "
            "| bicubic | trilinear"
        )
    if mode not in (*_NEAREST, *_RANKS):
        raise AutogradError(f"interpolate: there is no mode {mode!r}")
    if mode in _RANKS and input.ndim != _RANKS[mode]:
        raise AutogradError(f"interpolate: a {input.ndim}D input does not fit mode {mode!r}")
    sizes, scales = _sizes(input, size, scale_factor, recompute_scale_factor, axes)
    if mode == "area":
        pools = (adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d)
        return pools[axes - 1](input, sizes)
    for axis, (wanted, scale) in enumerate(zip(sizes, scales, strict=True), 2):
        if antialias:
            input = antialiased(input, axis, wanted, scale, mode, bool(align_corners))
            continue
        input = _resized(input, axis, wanted, scale, mode, bool(align_corners))
    return input


def _sizes(
    input: Any, size: Any, scale_factor: Any, recompute: bool | None, axes: int
) -> tuple[list[int], list[float | None]]:
    """The wanted sizes, and the scales by which coordinates are computed; None: from the sizes."""
    if size is not None and scale_factor is not None:
        raise OptionError("only one of size or scale_factor should be defined")
    have = input.shape[2:]
    if size is not None:
        if recompute:
            raise OptionError("recompute_scale_factor is not meaningful with an explicit size.")
        listed = (size,) * axes if hasattr(size, "__index__") else tuple(size)
        _require_count("size", listed, axes, "Input and output must have the same number of "
                       "spatial dimensions, but got input with spatial dimensions of "
                       f"{list(have)} and output size of {size}. ")  # fmt: skip
        return [int(one) for one in listed], [None] * axes
    if scale_factor is None:
        raise OptionError("either size or scale_factor should be defined")
    scales = (
        (scale_factor,) * axes if isinstance(scale_factor, int | float) else tuple(scale_factor)
    )
    _require_count("scale", scales, axes, "Input and scale_factor must have the same number of "
                   f"spatial dimensions, but got input with spatial dimensions of {list(have)} and "
                   f"scale_factor of shape {scale_factor}. ")  # fmt: skip
    wanted = [math.floor(float(n) * s) for n, s in zip(have, scales, strict=True)]
    return wanted, [None] * axes if recompute else [float(one) for one in scales]


def _require_count(what: str, listed: tuple[object, ...], axes: int, text: str) -> None:
    if len(listed) != axes:
        raise OptionError(
            f"{text}Please provide input tensor in (N, C, d1, d2, ...,dK) format and "
            f"{'output size' if what == 'size' else 'scale_factor'} in "
            f"{'(o1, o2, ...,oK)' if what == 'size' else '(s1, s2, ...,sK)'} format."
        )


def _resized(x: Any, axis: int, wanted: int, scale: float | None, mode: str, align: bool) -> Any:
    """One axis at another size."""
    have = x.shape[axis]
    ratio = have / wanted if scale is None else 1 / scale
    places = np.arange(wanted)
    if mode == "nearest":
        return ops.take(x, np.minimum(np.floor(places * ratio), have - 1).astype(np.int64), axis)
    if mode == "nearest-exact":
        found = np.minimum(np.floor((places + 0.5) * ratio), have - 1)
        return ops.take(x, found.astype(np.int64), axis)
    if align:
        source = places * ((have - 1) / (wanted - 1) if wanted > 1 else 0.0)
    else:
        source = (places + 0.5) * ratio - 0.5
    if mode == "bicubic":
        return _cubic(x, axis, source)
    source = np.maximum(source, 0)
    low = np.minimum(np.floor(source), have - 1).astype(np.int64)
    high = np.minimum(low + 1, have - 1)
    part = source - low
    return _weighted(x, axis, ((low, 1 - part), (high, part)))


_A = -0.75


def _near(t: Any) -> Any:
    """The weight at a distance up to 1."""
    return ((_A + 2) * t - (_A + 3)) * t * t + 1


def _far(t: Any) -> Any:
    """The weight at a distance from 1 to 2."""
    return ((_A * t - 5 * _A) * t + 8 * _A) * t - 4 * _A


def _cubic(x: Any, axis: int, source: Any) -> Any:
    """Keys, Cubic convolution interpolation for digital image processing, 1981."""
    low = np.floor(source)
    part = source - low
    weights = (_far(part + 1), _near(part), _near(1 - part), _far(2 - part))
    last = x.shape[axis] - 1
    places = [np.clip(low + offset, 0, last).astype(np.int64) for offset in (-1, 0, 1, 2)]
    return _weighted(x, axis, tuple(zip(places, weights, strict=True)))


def _weighted(x: Any, axis: int, terms: tuple[tuple[object, Any], ...]) -> Any:
    shape = [-1 if i == axis else 1 for i in range(x.ndim)]
    total = None
    for places, weights in terms:
        weight = x.constant(weights.reshape(shape).astype(x._array.dtype))
        term = ops.take(x, places, axis) * weight
        total = term if total is None else total + term
    return total


def upsample(
    input: object,
    size: object = None,
    scale_factor: object = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
) -> Any:
    """The old name of `interpolate`."""
    warn("`nn.functional.upsample` is deprecated. Use `nn.functional.interpolate` instead.")
    return interpolate(input, size, scale_factor, mode, align_corners)
