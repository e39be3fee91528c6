"""Resize: along each axis, elements between elements."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core.values import Array
from staticgraph.onnx.call import Call, reads


class _Axis(NamedTuple):
    """How an axis is resized.

    Attributes:
        axis: which one.
        old, new: its sizes.
        scale: new elements for an old one, of which `new` is the rounded product.
        start, end: the part of it that is taken, from 0 to 1.
    """

    axis: int
    old: int
    new: int
    scale: float
    start: float
    end: float


@reads("Resize")
def _resize(call: Call) -> Any:
    x = call.value(0)
    mode = call.attribute("mode", "nearest")
    if np.dtype(x.dtype).kind != "f" and mode != "nearest":
        raise call.refuse(f"{x.dtype} is resized by the nearest elements only")
    for axis in _axes(call, x):
        places = _places(call, axis)
        if mode == "nearest":
            x = ops.take(x, np.clip(_nearest(call, places), 0, axis.old - 1), axis.axis)
        else:
            x = _weighted(call, x, axis, places, mode)
        if call.attribute("coordinate_transformation_mode") == "tf_crop_and_resize":
            outside = (places < 0) | (places > axis.old - 1)
            value = call.attribute("extrapolation_value", 0.0)
            x = ops.where(_along(x, axis.axis, outside), value, x)
    return x


def _axes(call: Call, x: Any) -> list[_Axis]:
    """The axes that change."""
    axes = [int(axis) % x.ndim for axis in call.attribute("axes") or range(x.ndim)]
    roi = call.raw(1)
    crops = call.attribute("coordinate_transformation_mode") == "tf_crop_and_resize"
    parts = _numbers(call, 1) if crops and roi is not None else [0.0, 1.0] * len(axes)
    parts = parts if crops else [0.0] * len(axes) + [1.0] * len(axes)
    new, scales = _sizes(call, x, axes)
    found = []
    for i, axis in enumerate(axes):
        start, end = parts[i], parts[i + len(axes)]
        old = x.shape[axis]
        if new[i] == old and math.isclose(scales[i], 1) and (start, end) == (0, 1):
            continue
        found.append(_Axis(axis, old, new[i], scales[i], start, end))
    return found


def _sizes(call: Call, x: Any, axes: Sequence[int]) -> tuple[list[Any], list[float]]:
    """The new sizes of axes, and the scales."""
    old = [x.shape[axis] for axis in axes]
    if call.raw(2) is not None and np.size(call.raw(2)):
        scales = _numbers(call, 2)
        new = [
            one if scale == 1 else math.floor(one * scale)
            for one, scale in zip(old, scales, strict=True)
        ]
        return new, scales
    new = call.sizes(3)
    pairs = list(zip(new, old, strict=True))
    scales = [1.0 if one == other else one / other for one, other in pairs]
    policy = call.attribute("keep_aspect_ratio_policy", "stretch")
    if policy != "stretch":
        scale = (min if policy == "not_larger" else max)(scales)
        return [math.floor(scale * one + 0.5) for one in old], [scale] * len(old)
    return new, scales


def _numbers(call: Call, position: int) -> list[float]:
    found = call.raw(position)
    if not isinstance(found, np.ndarray | np.generic):
        raise call.refuse("the scales are computed by the model, and have to be known before")
    return [float(one) for one in np.ravel(found)]


def _places(call: Call, axis: _Axis) -> Array:
    """Where the new elements are among the old ones."""
    how = call.attribute("coordinate_transformation_mode", "half_pixel")
    index, length, last = np.arange(axis.new, dtype=np.float64), axis.scale * axis.old, axis.old - 1
    if how == "asymmetric":
        return index / axis.scale
    if how == "align_corners":
        return index * (0 if length == 1 else last / (length - 1))
    if how == "tf_crop_and_resize":
        if length == 1:
            return np.full(axis.new, (axis.start + axis.end) * last / 2)
        return axis.start * last + index * ((axis.end - axis.start) * last / (length - 1))
    half = (index + 0.5) / axis.scale - 0.5
    if how == "half_pixel":
        return half
    if how == "pytorch_half_pixel":
        return half if length != 1 else np.full(axis.new, -0.5)
    if how == "half_pixel_symmetric":
        return half + axis.old / 2 * (1 - axis.new / length)
    raise call.refuse(f"the coordinates {how!r} are not known")


def _nearest(call: Call, places: Array) -> Array:
    how = call.attribute("nearest_mode", "round_prefer_floor")
    if how == "round_prefer_floor":
        found = np.ceil(places - 0.5)
    elif how == "round_prefer_ceil":
        found = np.floor(places + 0.5)
    elif how in ("floor", "ceil"):
        found = np.floor(places) if how == "floor" else np.ceil(places)
    else:
        raise call.refuse(f"the nearest element by {how!r} is not known")
    return found.astype(np.int64)


def _weighted(call: Call, x: Any, axis: _Axis, places: Array, mode: str) -> Any:
    """Sums of neighbours."""
    if mode not in ("linear", "cubic"):
        raise call.refuse(f"the mode {mode!r} is not known")
    scale = min(axis.scale, 1.0) if call.attribute("antialias", 0) else 1.0
    reach = 1 if mode == "linear" else 2
    first = math.floor(-reach / scale) + 1
    taps = np.floor(places).astype(np.int64)[:, None] + np.arange(first, 2 - first)
    apart = np.abs(taps - places[:, None]) * scale
    a = call.attribute("cubic_coeff_a", -0.75)
    weights = np.maximum(1 - apart, 0) if mode == "linear" else _cubic(apart, float(a))
    if scale != 1:
        weights /= weights.sum(1, keepdims=True)
    if call.attribute("exclude_outside", 0):
        weights = np.where((taps < 0) | (taps >= axis.old), 0, weights)
        weights /= weights.sum(1, keepdims=True)
    taps = np.clip(taps, 0, axis.old - 1)
    total = None
    for index, weight in zip(taps.T, weights.T, strict=True):
        factor = _along(x, axis.axis, weight.astype(np.dtype(x.dtype)))
        part = ops.take(x, index, axis.axis) * factor
        total = part if total is None else total + part
    return total


def _cubic(apart: Array, a: float) -> Array:
    """Keys' kernel, 1981."""
    near = ((a + 2) * apart - (a + 3)) * apart * apart + 1
    far = ((a * apart - 5 * a) * apart + 8 * a) * apart - 4 * a
    return np.where(apart <= 1, near, np.where(apart < 2, far, 0))


def _along(x: Any, axis: int, values: Array) -> Array:
    """An array that lies along one axis of x."""
    return values.reshape([-1] + [1] * (x.ndim - 1 - axis))
