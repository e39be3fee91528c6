"""What windows, convolutions and pools mean in plain NumPy: window by window."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from staticgraph.compiler.core.values import Array


def _sliding_windows(x: Array, sizes: Any, strides: Any, dilations: Any) -> Array:
    lead = x.shape[: x.ndim - len(sizes)]
    counts = [
        (n - d * (k - 1) - 1) // s + 1
        for n, k, s, d in zip(x.shape[len(lead) :], sizes, strides, dilations, strict=True)
    ]
    if min(counts) < 1:
        raise ValueError("no window fits")
    result = np.empty((*lead, *counts, *sizes), x.dtype)
    for window in np.ndindex(*counts):
        for inside in np.ndindex(*sizes):
            steps = zip(window, strides, inside, dilations, strict=True)
            place = tuple(w * s + i * d for w, s, i, d in steps)
            result[(..., *window, *inside)] = x[(..., *place)]
    return result


def _overlap_add(x: Array, shape: Any, strides: Any, dilations: Any) -> Array:
    k = len(shape)
    result = np.zeros((*x.shape[: x.ndim - 2 * k], *shape), x.dtype)
    for window in np.ndindex(*x.shape[x.ndim - 2 * k : x.ndim - k]):
        for inside in np.ndindex(*x.shape[x.ndim - k :]):
            steps = zip(window, strides, inside, dilations, strict=True)
            place = tuple(w * s + i * d for w, s, i, d in steps)
            result[(..., *place)] += x[(..., *window, *inside)]
    return result


def _pair(value: Any) -> tuple[int, int]:
    return (value, value) if isinstance(value, int) else (value[0], value[1])


def _conv2d(
    x: Array, w: Array, b: Array | None = None, stride: object = 1, padding: object = 0,
    dilation: object = 1, groups: int = 1,
) -> Array:  # fmt: skip
    (sh, sw), (ph, pw), (dh, dw) = map(_pair, (stride, padding, dilation))
    x = np.pad(x, [(0, 0), (0, 0), (ph, ph), (pw, pw)])
    n, _, height, width = x.shape
    out, per, kh, kw = w.shape
    rows, columns = (height - dh * (kh - 1) - 1) // sh + 1, (width - dw * (kw - 1) - 1) // sw + 1
    result = np.zeros((n, out, rows, columns), np.result_type(x, w))
    for o, i, u, v in itertools.product(range(out), range(per), range(kh), range(kw)):
        channel = o // (out // groups) * per + i
        top, left = u * dh, v * dw
        seen = x[:, channel, top : top + rows * sh : sh, left : left + columns * sw : sw]
        result[:, o] += seen[:, :rows, :columns] * w[o, i, u, v]
    return result if b is None else result + b.reshape(1, -1, 1, 1)


def _conv_transpose2d(
    x: Array, w: Array, b: Array | None = None, stride: object = 1, padding: object = 0,
    output_padding: object = 0, groups: int = 1, dilation: object = 1,
) -> Array:  # fmt: skip
    (sh, sw), (ph, pw), (dh, dw) = map(_pair, (stride, padding, dilation))
    oh, ow = _pair(output_padding)
    n, c, height, width = x.shape
    _, per, kh, kw = w.shape
    rows, columns = (height - 1) * sh + dh * (kh - 1) + 1, (width - 1) * sw + dw * (kw - 1) + 1
    full = np.zeros((n, per * groups, rows + oh, columns + ow), np.result_type(x, w))
    for i, o, u, v in itertools.product(range(c), range(per), range(kh), range(kw)):
        to = i // (c // groups) * per + o
        for y, z in itertools.product(range(height), range(width)):
            full[:, to, y * sh + u * dh, z * sw + v * dw] += x[:, i, y, z] * w[i, o, u, v]
    result = full[:, :, ph : rows + oh - ph, pw : columns + ow - pw]
    return result if b is None else result + b.reshape(1, -1, 1, 1)


def _pool(function: Any, fill: float) -> Callable[..., Any]:
    def pool(x: Array, kernel_size: object, stride: object = None, padding: object = 0) -> Array:
        (kh, kw), (ph, pw) = _pair(kernel_size), _pair(padding)
        sh, sw = (kh, kw) if stride is None else _pair(stride)
        x = np.pad(x, [(0, 0), (0, 0), (ph, ph), (pw, pw)], constant_values=fill)
        rows, columns = (x.shape[2] - kh) // sh + 1, (x.shape[3] - kw) // sw + 1
        result = np.empty((*x.shape[:2], rows, columns), x.dtype)
        for i, j in itertools.product(range(rows), range(columns)):
            window = x[:, :, i * sh : i * sh + kh, j * sw : j * sw + kw]
            result[:, :, i, j] = function(window, (2, 3))
        return result

    return pool


REFERENCE: dict[str, Callable[..., Any]] = {
    "sliding_windows": _sliding_windows, "overlap_add": _overlap_add, "conv2d": _conv2d,
    "conv_transpose2d": _conv_transpose2d, "max_pool2d": _pool(np.max, -math.inf),
    "avg_pool2d": _pool(np.mean, 0.0),
}  # fmt: skip
