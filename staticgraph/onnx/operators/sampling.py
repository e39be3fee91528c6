"""Elements at places that a grid names, windows put together again, and parts around the middle."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.layers import folding, sampling_grids
from staticgraph.onnx.call import Call, reads

_MODES = {"linear": "bilinear", "cubic": "bicubic"}
"""The modes of GridSample whose names have changed."""


@reads("AffineGrid")
def _affine_grid(call: Call) -> Any:
    aligned = bool(call.attribute("align_corners", 0))
    return sampling_grids.affine_grid(call.value(0), tuple(call.numbers(1, "sizes")), aligned)


@reads("GridSample")
def _grid_sample(call: Call) -> Any:
    mode = call.attribute("mode", "linear" if call.opset >= 20 else "bilinear")
    return sampling_grids.grid_sample(
        call.value(0), call.value(1), _MODES.get(mode, mode),
        call.attribute("padding_mode", "zeros"), bool(call.attribute("align_corners", 0)),
    )  # fmt: skip


@reads("Col2Im")
def _folded(call: Call) -> Any:
    sizes, block = call.numbers(1, "sizes"), call.numbers(2, "block")
    pads = call.attribute("pads") or [0] * (2 * len(sizes))
    if len(sizes) != 2 or pads[:2] != pads[2:]:
        raise call.refuse("blocks of other than two axes, or with pads of two sizes")
    options = (tuple(call.attribute(name) or (1, 1)) for name in ("dilations", "strides"))
    dilations, strides = options
    return folding.fold(call.value(0), sizes, tuple(block), dilations, tuple(pads[:2]), strides)


@reads("MaxUnpool")
def _unpooled(call: Call) -> Any:
    x, places = call.value(0), call.value(1)
    sizes = call.attribute("kernel_shape")
    strides = call.attribute("strides") or [1] * len(sizes)
    pads = call.attribute("pads") or [0] * (2 * len(sizes))
    if any(not isinstance(size, int) for size in x.shape):
        raise call.refuse("places count through all axes, of which not all sizes are known")
    shape = list(x.shape[:2])
    for axis, (size, stride) in enumerate(zip(sizes, strides, strict=True)):
        both = pads[axis] + pads[axis + len(sizes)]
        shape.append((x.shape[axis + 2] - 1) * stride - both + size)
    flat = np.zeros(math.prod(shape), x.dtype)
    found = ops.scatter(flat, ops.reshape(places, (-1,)), ops.reshape(x, (-1,)), axis=0)
    found = ops.reshape(found, tuple(shape))
    if call.raw(2) is None:
        return found
    wanted = call.numbers(2, "sizes")
    return ops.pad(found, [(0, target - size) for size, target in zip(shape, wanted, strict=True)])


@reads("CenterCropPad")
def _centred(call: Call) -> Any:
    x, sizes = call.value(0), call.numbers(1, "sizes")
    axes = call.attribute("axes") or range(x.ndim)
    for axis, size in zip(axes, sizes, strict=True):
        old = x.shape[axis]
        if not isinstance(old, int) or size < 0:
            raise call.refuse(f"axis {axis} of {old} cannot become one of {size}")
        if size < old:
            x = ops.take(x, np.arange(size) + (old - size) // 2, axis)
        elif size > old:
            widths = [(0, 0)] * x.ndim
            widths[axis] = ((size - old) // 2, size - old - (size - old) // 2)
            x = ops.pad(x, widths)
    return x


@reads("TensorScatter")
def _written(call: Call) -> Any:
    cache, update, starts = call.value(0), call.value(1), call.optional(2)
    axis = call.attribute("axis", -2) % cache.ndim
    size, whole = update.shape[axis], cache.shape[axis]
    if not axis or not isinstance(size, int) or not isinstance(whole, int):
        raise call.refuse(f"{size} places along axis {axis} of {whole} are not written")
    starts = np.zeros(1, np.int64) if starts is None else starts
    rows = (-1, *(1,) * (cache.ndim - 1))
    along = tuple(whole if i == axis else 1 for i in range(cache.ndim))
    behind = np.arange(whole).reshape(along) - ops.reshape(starts, rows)
    if call.attribute("mode", "linear") == "circular":
        behind = behind % whole
    shape = tuple(whole if i == axis else one for i, one in enumerate(update.shape))
    places = ops.broadcast_to(ops.clip(behind, 0, size - 1), shape)
    is_new = ops.logical_and(behind >= 0, behind < size)
    return ops.where(is_new, ops.take_along_axis(update, places, axis), cache)
