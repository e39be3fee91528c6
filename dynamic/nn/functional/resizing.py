"""Other sizes: interpolation, unpooling, windows as columns, channels as pixels."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from compiler import ops
from compiler.core.errors import OptionError
from dynamic.errors import AutogradError
from dynamic.nn.functional.pooling import adaptive_avg_pool1d, adaptive_avg_pool2d
from dynamic.nn.functional.volumes import adaptive_avg_pool3d
from dynamic.nn.functional.windows import per_axis
from dynamic.user_warnings import warn

__all__ = [
    "channel_shuffle", "fold", "interpolate", "max_unpool1d", "max_unpool2d", "max_unpool3d",
    "pixel_shuffle", "pixel_unshuffle", "unfold", "upsample",
]  # fmt: skip

_RANKS = {"linear": 3, "bilinear": 4, "bicubic": 4, "trilinear": 5}
_NEAREST = ("nearest", "nearest-exact", "area")


def interpolate(
    input: Any,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Any:
    """The last axes of (n, c, ...) at another size, or at a multiple of theirs.

    `mode` is nearest, nearest-exact, linear (one axis), bilinear or bicubic (two; a = -0.75),
    trilinear (three) or area. With `align_corners` the outer elements stay where they are.
    """
    axes = input.ndim - 2
    if antialias:
        raise OptionError("interpolate: antialias=True is not supported")
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


def _require_count(what: str, listed: tuple[Any, ...], axes: int, text: str) -> None:
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


def _weighted(x: Any, axis: int, terms: tuple[tuple[Any, Any], ...]) -> Any:
    shape = [-1 if i == axis else 1 for i in range(x.ndim)]
    total = None
    for places, weights in terms:
        weight = x.constant(weights.reshape(shape).astype(x._array.dtype))
        term = ops.take(x, places, axis) * weight
        total = term if total is None else total + term
    return total


def upsample(
    input: Any,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
) -> Any:
    """The old name of `interpolate`."""
    warn("`nn.functional.upsample` is deprecated. Use `nn.functional.interpolate` instead.")
    return interpolate(input, size, scale_factor, mode, align_corners)


def _max_unpool(
    axes: int, input: Any, indices: Any, kernel_size: Any, stride: Any, padding: Any, wanted: Any
) -> Any:
    size, edge = per_axis(kernel_size, axes), per_axis(padding, axes)
    step = size if stride is None else per_axis(stride, axes)
    lead = input.ndim - axes
    usual = [
        (n - 1) * s + k - 2 * p
        for n, s, k, p in zip(input.shape[lead:], step, size, edge, strict=True)
    ]
    if wanted is None:
        shape = usual
    else:
        shape = list(wanted)[-axes:]
        for one, least, s in zip(shape, usual, step, strict=True):
            if not least - s < one < least + s:
                raise OptionError(
                    f"invalid output_size {shape} (dim 0 must be between {least - s} and "
                    f"{least + s})"
                )
    flat = ops.reshape(input, (*input.shape[:lead], -1))
    places = ops.reshape(indices, (*input.shape[:lead], -1))
    count = math.prod(shape)
    if places._array.size and places._array.max() >= count:
        raise AutogradError(
            f"Found an invalid max index: {places._array.max()} (output volumes are of size "
            f"{'x'.join(map(str, shape))}"
        )
    zeros = input.constant(np.zeros((*input.shape[:lead], count), input._array.dtype))
    return ops.reshape(zeros.scatter(lead, places, flat), (*input.shape[:lead], *shape))


def max_unpool1d(
    input: Any, indices: Any, kernel_size: Any, stride: Any = None, padding: Any = 0,
    output_size: Any = None,
) -> Any:  # fmt: skip
    """The elements at the places that `max_pool1d` returned, zeros elsewhere."""
    return _max_unpool(1, input, indices, kernel_size, stride, padding, output_size)


def max_unpool2d(
    input: Any, indices: Any, kernel_size: Any, stride: Any = None, padding: Any = 0,
    output_size: Any = None,
) -> Any:  # fmt: skip
    """The elements at the places that `max_pool2d` returned, zeros elsewhere."""
    return _max_unpool(2, input, indices, kernel_size, stride, padding, output_size)


def max_unpool3d(
    input: Any, indices: Any, kernel_size: Any, stride: Any = None, padding: Any = 0,
    output_size: Any = None,
) -> Any:  # fmt: skip
    """The elements at the places that `max_pool3d` returned, zeros elsewhere."""
    return _max_unpool(3, input, indices, kernel_size, stride, padding, output_size)


def unfold(
    input: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
) -> Any:
    """The windows of images as columns: (n, c, h, w) -> (n, c kh kw, places); n is optional."""
    size, spread, edge, step = (
        per_axis(one, 2) for one in (kernel_size, dilation, padding, stride)
    )
    if input.ndim == 3:
        return ops.squeeze(unfold(ops.expand_dims(input, 0), size, spread, edge, step), 0)
    x = ops.pad(input, [(0, 0), (0, 0), *((one, one) for one in edge)])
    windows = ops.transpose(ops.sliding_windows(x, size, step, spread), (0, 1, 4, 5, 2, 3))
    rows = x.shape[1] * size[0] * size[1]
    return ops.reshape(windows, (x.shape[0], rows, -1))


def fold(
    input: Any,
    output_size: Any,
    kernel_size: Any,
    dilation: Any = 1,
    padding: Any = 0,
    stride: Any = 1,
) -> Any:
    """Columns added back into images, the adjoint of `unfold`: (n, c kh kw, places); n optional."""
    size, spread, edge, step = (
        per_axis(one, 2) for one in (kernel_size, dilation, padding, stride)
    )
    shape = per_axis(output_size, 2)
    if input.ndim == 2:
        return ops.squeeze(fold(ops.expand_dims(input, 0), shape, size, spread, edge, step), 0)
    counts = [
        (n + 2 * p - d * (k - 1) - 1) // s + 1
        for n, p, d, k, s in zip(shape, edge, spread, size, step, strict=True)
    ]
    if input.shape[2] != counts[0] * counts[1]:
        raise AutogradError(
            f"Given output_size={shape}, kernel_size={size}, dilation={spread}, padding={edge}, "
            f"stride={step}, expected the size of the input's last dimension to be "
            f"{counts[0]} * {counts[1]} = {counts[0] * counts[1]}, but got {input.shape[2]}"
        )
    columns = ops.reshape(input, (input.shape[0], -1, *size, *counts))
    windows = ops.transpose(columns, (0, 1, 4, 5, 2, 3))
    whole = tuple(n + 2 * p for n, p in zip(shape, edge, strict=True))
    x = ops.overlap_add(windows, whole, step, spread)
    return x[:, :, edge[0] : edge[0] + shape[0], edge[1] : edge[1] + shape[1]]


def pixel_shuffle(input: Any, upscale_factor: int) -> Any:
    """Channels as pixels: (..., c r r, h, w) -> (..., c, h r, w r)."""
    r, (channels, height, width) = upscale_factor, input.shape[-3:]
    if channels % (r * r):
        raise AutogradError(
            "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square "
            f"of upscale_factor, but input.size(-3)={channels} is not divisible by {r * r}"
        )
    lead = tuple(input.shape[:-3])
    x = ops.reshape(input, (*lead, channels // (r * r), r, r, height, width))
    n = len(lead)
    x = ops.transpose(x, (*range(n), n, n + 3, n + 1, n + 4, n + 2))
    return ops.reshape(x, (*lead, channels // (r * r), height * r, width * r))


def pixel_unshuffle(input: Any, downscale_factor: int) -> Any:
    """Pixels as channels, the inverse of `pixel_shuffle`."""
    r, (channels, height, width) = downscale_factor, input.shape[-3:]
    lead = tuple(input.shape[:-3])
    x = ops.reshape(input, (*lead, channels, height // r, r, width // r, r))
    n = len(lead)
    x = ops.transpose(x, (*range(n), n, n + 2, n + 4, n + 1, n + 3))
    return ops.reshape(x, (*lead, channels * r * r, height // r, width // r))


def channel_shuffle(input: Any, groups: int) -> Any:
    """The channels of (n, c, ...) dealt out over groups."""
    batch, channels, *rest = input.shape
    x = ops.reshape(input, (batch, groups, channels // groups, *rest))
    return ops.reshape(ops.swapaxes(x, 1, 2), tuple(input.shape))
