"""Convolution and pooling, over any number of axes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.layers import convolution
from staticgraph.onnx.call import Call, reads


class Windows(NamedTuple):
    """Windows over the last axes.

    Attributes:
        sizes, strides, dilations: per axis.
        pads: per axis what is put before it and behind it.
        extra: per axis what is put behind that, for windows that are not whole.
    """

    sizes: Sequence[int]
    strides: Sequence[int]
    dilations: Sequence[int]
    pads: Sequence[tuple[int, int]]
    extra: Sequence[int]


def _windows(call: Call, shape: Sequence[Any], sizes: Sequence[int]) -> Windows:
    """The windows of an operator over axes of these sizes."""
    count = len(sizes)
    strides = call.attribute("strides") or [1] * count
    dilations = call.attribute("dilations") or [1] * count
    spans = [d * (k - 1) + 1 for d, k in zip(dilations, sizes, strict=True)]
    given = call.attribute("pads") or [0] * (2 * count)
    pads = list(zip(given[:count], given[count:], strict=True))
    how = call.attribute("auto_pad", "NOTSET")
    if how == "VALID":
        pads = [(0, 0)] * count
    elif how in ("SAME_UPPER", "SAME_LOWER"):
        pads = []
        for size, span, stride in zip(shape, spans, strides, strict=True):
            total = max(0, (-(-size // stride) - 1) * stride + span - size)
            less, more = total // 2, total - total // 2
            pads.append((less, more) if how == "SAME_UPPER" else (more, less))
    extra = [0] * count
    if call.attribute("ceil_mode", 0):
        for i, (size, span, stride) in enumerate(zip(shape, spans, strides, strict=True)):
            room = size + sum(pads[i]) - span
            steps = -(-room // stride)
            if steps * stride >= size + pads[i][0]:  # would begin behind the last element
                steps -= 1
            extra[i] = max(0, steps * stride - room)
    return Windows(sizes, strides, dilations, pads, extra)


def _padded(x: Any, windows: Windows, value: Any, *, extra: bool = True) -> Any:
    widths = [
        (before, after + (more if extra else 0))
        for (before, after), more in zip(windows.pads, windows.extra, strict=True)
    ]
    if not any(map(any, widths)):
        return x
    lead = [(0, 0)] * (x.ndim - len(widths))
    return ops.pad(x, [*lead, *widths], value)


def _slid(x: Any, windows: Windows) -> Any:
    return ops.sliding_windows(x, windows.sizes, windows.strides, windows.dilations)


@reads("MaxPool")
def _max_pool(call: Call) -> Any:
    x = call.value(0)
    windows = _windows(call, x.shape[2:], call.attribute("kernel_shape"))
    lowest = -np.inf if np.dtype(x.dtype).kind not in "iu" else int(np.iinfo(x.dtype).min)
    slid = _slid(_padded(x, windows, lowest), windows)
    return ops.max(slid, tuple(range(x.ndim, slid.ndim)))


@reads("AveragePool")
def _average_pool(call: Call) -> Any:
    x = call.value(0)
    windows = _windows(call, x.shape[2:], call.attribute("kernel_shape"))
    slid = _slid(_padded(x, windows, 0), windows)
    axes = tuple(range(x.ndim, slid.ndim))
    shape = tuple(x.shape[2:])
    counted = np.ones(shape, np.float32)
    if call.attribute("count_include_pad", 0):
        counted = _padded(counted, windows, 1, extra=False)
        behind = windows._replace(pads=[(0, 0)] * len(windows.sizes))
        counted = _padded(counted, behind, 0)
    else:
        counted = _padded(counted, windows, 0)
    number = ops.sum(_slid(counted, windows), tuple(range(len(shape), 2 * len(shape))))
    return ops.astype(ops.sum(slid, axes) / ops.astype(number, x.dtype), x.dtype)


@reads("LpPool")
def _norm_pool(call: Call) -> Any:
    x, p = call.value(0), call.attribute("p", 2)
    windows = _windows(call, x.shape[2:], call.attribute("kernel_shape"))
    slid = _slid(_padded(ops.power(ops.abs(x), p), windows, 0), windows)
    return ops.power(ops.sum(slid, tuple(range(x.ndim, slid.ndim))), 1 / p)


@reads("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool")
def _global_pool(call: Call) -> Any:
    x = call.value(0)
    axes = tuple(range(2, x.ndim))
    if call.step.operator == "GlobalLpPool":
        p = call.attribute("p", 2)
        return ops.power(ops.sum(ops.power(ops.abs(x), p), axes, True), 1 / p)
    return (ops.max if call.step.operator == "GlobalMaxPool" else ops.mean)(x, axes, True)


@reads("Conv")
def _convolution(call: Call) -> Any:
    x, weight, bias = call.value(0), call.value(1), call.optional(2)
    groups = call.attribute("group", 1)
    windows = _windows(call, x.shape[2:], weight.shape[2:])
    count = len(windows.sizes)
    if count > 2:
        found = _by_products(_slid(_padded(x, windows, 0), windows), weight, count, groups)
    else:
        found = _in_plane(x, weight, windows, groups)
    return found if bias is None else found + ops.reshape(bias, (1, -1, *(1,) * count))


def _in_plane(x: Any, weight: Any, windows: Windows, groups: int) -> Any:
    x = _padded(x, windows, 0)
    strides, dilations = tuple(windows.strides), tuple(windows.dilations)
    if len(windows.sizes) == 2:
        return ops.conv2d(x, weight, None, strides, 0, dilations, groups)
    x, weight = ops.expand_dims(x, 2), ops.expand_dims(weight, 2)
    found = ops.conv2d(x, weight, None, (1, *strides), 0, (1, *dilations), groups)
    return ops.squeeze(found, 2)


def _by_products(slid: Any, weight: Any, count: int, groups: int) -> Any:
    """A convolution as products of windows (n, c, places..., window...) with the filters."""
    n, channels, *rest = slid.shape
    places = rest[:count]
    inner, window = channels // groups, math.prod(rest[count:])
    parts = ops.reshape(slid, (n, groups, inner, math.prod(places), window))
    rows = ops.reshape(
        ops.transpose(parts, (0, 1, 3, 2, 4)), (n, groups, math.prod(places), inner * window)
    )
    filters = ops.reshape(weight, (1, groups, weight.shape[0] // groups, inner * window))
    found = ops.matmul(filters, ops.transpose(rows, (0, 1, 3, 2)))
    return ops.reshape(found, (n, weight.shape[0], *places))


@reads("ConvTranspose")
def _transposed_convolution(call: Call) -> Any:
    x, weight, bias = call.value(0), call.value(1), call.optional(2)
    count = x.ndim - 2
    if count > 3:
        raise call.refuse(f"a transposed convolution over {count} axes is not read")
    strides = call.attribute("strides") or [1] * count
    dilations = call.attribute("dilations") or [1] * count
    if count == 1:
        x, weight = ops.expand_dims(x, 2), ops.expand_dims(weight, 2)
    lead = [1] * (2 - count)
    transposed = ops.conv_transpose2d if count < 3 else convolution.conv_transpose3d
    found = transposed(
        x, weight, None, (*lead, *strides), 0, 0, call.attribute("group", 1), (*lead, *dilations)
    )
    found = ops.squeeze(found, 2) if count == 1 else found
    found = _cropped(call, found, x.shape[-count:], strides)
    return found if bias is None else found + ops.reshape(bias, (1, -1, *(1,) * count))


def _cropped(call: Call, whole: Any, sizes: Sequence[int], strides: Sequence[int]) -> Any:
    """The part of a transposed convolution that its pads leave."""
    count = len(sizes)
    more = call.attribute("output_padding") or [0] * count
    how, wanted = call.attribute("auto_pad", "NOTSET"), call.attribute("output_shape")
    given = call.attribute("pads") or [0] * (2 * count)
    pads = list(zip(given[:count], given[count:], strict=True))
    if wanted is None and how.startswith("SAME"):
        wanted = [size * stride for size, stride in zip(sizes, strides, strict=True)]
    if wanted is not None:
        wanted = list(wanted)[-count:]
        pads = []
        sizes = whole.shape[2:]
        more = [max(m, target - size) for m, size, target in zip(more, sizes, wanted, strict=True)]
        for size, behind, target in zip(sizes, more, wanted, strict=True):
            total = size + behind - target
            less, rest = total // 2, total - total // 2
            pads.append((less, rest) if how == "SAME_UPPER" else (rest, less))
    widths = [(0, 0), (0, 0), *((0, one) for one in more)]
    whole = ops.pad(whole, widths) if any(more) else whole
    key = tuple(
        slice(before, size - after)
        for (before, after), size in zip(pads, whole.shape[2:], strict=True)
    )
    return whole[(slice(None), slice(None), *key)]
