"""Convolution on plain arrays: its value and cotangents in few NumPy calls, for small images.

Each function computes what the expansion or the rules of conv2d say, but computes once what
several rules share. The generic tests compare.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np

from staticgraph.compiler.reference.product_arrays import small_product

Pair = tuple[int, int]

FEW = 1 << 15
"""The most elements of windows that are written out to be added: beyond, passes are fast."""


def _padded(x: Any, padding: Pair) -> Any:
    """x in row-major order, with zeros around its images."""
    if padding == (0, 0):
        return x if x.flags.c_contiguous else np.ascontiguousarray(x)
    (top, left), (n, c, height, width) = padding, x.shape
    whole = np.zeros((n, c, height + 2 * top, width + 2 * left), x.dtype)
    whole[:, :, top : top + height, left : left + width] = x
    return whole


def _columns(x: Any, weight: Any, stride: Pair, padding: Pair, dilation: Pair, groups: int) -> Any:
    """All windows as matrices (groups, channels * window, batch * places), and the places."""
    n, c = x.shape[:2]
    window = weight.shape[2:]
    x = _padded(x, padding)
    places = tuple(
        [
            (size - d * (k - 1) - 1) // s + 1
            for size, k, s, d in zip(x.shape[2:], window, stride, dilation, strict=True)
        ]
    )
    by_image, by_channel, down, right = x.strides
    steps = (
        by_channel, down * dilation[0], right * dilation[1], by_image, down * stride[0],
        right * stride[1],
    )  # fmt: skip
    windows = np.ndarray((c, *window, n, *places), x.dtype, x, 0, steps)
    return windows.reshape(groups, math.prod(weight.shape[1:]), n * math.prod(places)), places


def _product(a: Any, b: Any) -> Any:
    """A product of matrices per group; of one group a third faster than matmul."""
    return small_product(a[0], b[0])[None] if len(a) == 1 else np.matmul(a, b)


def conv2d(
    x: Any, weight: Any, bias: object, *, stride: Pair, padding: Pair, dilation: Pair, groups: int
) -> Any:
    """The products of the filters with every window, and the bias."""
    columns, places = _columns(x, weight, stride, padding, dilation, groups)
    filters = len(weight)
    rows = _product(weight.reshape(groups, filters // groups, columns.shape[1]), columns)
    by_filter = rows.reshape(filters, len(x), *places)
    result = np.empty((len(x), filters, *places), rows.dtype)
    return np.add(by_filter.transpose(1, 0, 2, 3), _along_filters(bias), out=result)


def _along_filters(bias: Any) -> Any:
    return bias[:, None, None] if bias.ndim else bias


def conv2d_vjp(
    positions: Sequence[int],
    g: Any,
    o: object,
    x: object,
    weight: Any,
    bias: Any,
    *,
    stride: Pair,
    padding: Pair,
    dilation: Pair,
    groups: int,
) -> Any:
    """The cotangents of x, weight and bias, from one matrix of g per group."""
    n, filters, *places = g.shape
    depth = math.prod(weight.shape[1:])
    rows = g.transpose(1, 0, 2, 3).reshape(groups, filters // groups, n * math.prod(places))
    found = []
    for position in positions:
        if position == 0:
            left = weight.reshape(groups, filters // groups, depth).transpose(0, 2, 1)
            found.append(_by_x(_product(left, rows), g, x, weight, stride, padding, dilation))
        elif position == 1:
            columns, _ = _columns(x, weight, stride, padding, dilation, groups)
            by_weight = _product(rows, columns.transpose(0, 2, 1))
            found.append(by_weight.reshape(weight.shape))
        else:
            sums = np.add.reduce(rows.reshape(filters, n * math.prod(places)), 1)
            found.append(sums if len(bias.shape) else np.add.reduce(sums))
    return found


def _by_x(
    products: Any, g: Any, x: Any, weight: Any, stride: Pair, padding: Pair, dilation: Pair
) -> Any:
    """The windows' cotangents added where the windows are."""
    n, c, height, width = x.shape
    counts, window, (top, left) = g.shape[2:], weight.shape[2:], padding
    windows = products.reshape(c, *window, n, *counts)
    sizes = (c, n, height + 2 * top, width + 2 * left)
    whole = _sum(windows, sizes, stride, dilation)
    inner = whole[:, :, top : top + height, left : left + width]
    return np.ascontiguousarray(inner.transpose(1, 0, 2, 3))


def _sum(windows: Any, sizes: tuple[int, ...], stride: Pair, dilation: Pair) -> Any:
    """Windows (c, kh, kw, n, ...) added up in images (c, n, h, w)."""
    few = math.prod(sizes) * windows.shape[1] * windows.shape[2] <= FEW
    return (_added if few else _added_by_place)(windows, sizes, stride, dilation)


def _added(windows: Any, sizes: tuple[int, ...], stride: Pair, dilation: Pair) -> Any:
    """`_sum` by a copy of the images for each place in a window, and the sum of these."""
    c, down, right, n = windows.shape[:4]
    count, line, image = down * right, sizes[3], sizes[2] * sizes[3]
    copies = np.zeros((c, n, count, image), windows.dtype)
    steps = (
        n * count * image, right * image + dilation[0] * line, image + dilation[1], count * image,
        stride[0] * line, stride[1],
    )  # fmt: skip
    by_byte = tuple([step * copies.itemsize for step in steps])
    np.ndarray(windows.shape, copies.dtype, copies, 0, by_byte)[...] = windows
    return np.add.reduce(copies, 2).reshape(sizes)


def _added_by_place(windows: Any, sizes: tuple[int, ...], stride: Pair, dilation: Pair) -> Any:
    """The same in a pass over all windows for each place in a window."""
    window, counts = windows.shape[1:3], windows.shape[4:]
    whole = np.zeros(sizes, windows.dtype)
    rows, columns = (
        [slice(i * d, i * d + count * s, s) for i in range(k)]
        for k, d, count, s in zip(window, dilation, counts, stride, strict=True)
    )
    for (i, down), (j, right) in product(enumerate(rows), enumerate(columns)):
        target = whole[:, :, down, right]
        np.add(target, windows[:, i, j], out=target)
    return whole


def conv_transpose2d(
    x: Any,
    weight: Any,
    bias: Any,
    *,
    stride: Pair,
    padding: Pair,
    output_padding: Pair,
    dilation: Pair,
    groups: int,
) -> Any:
    """The products of the filters with every element, added where their windows are, and bias."""
    channels, each, *window = weight.shape
    n, _, *counts = x.shape
    rows = x.transpose(1, 0, 2, 3).reshape(groups, channels // groups, n * math.prod(counts))
    filters = weight.reshape(groups, channels // groups, each * math.prod(window))
    products = _product(filters.transpose(0, 2, 1), rows)
    height, width = (
        size + extra
        for size, extra in zip(_reach(x, weight, stride, dilation), output_padding, strict=True)
    )
    windows = products.reshape(each * groups, *window, n, *counts)
    whole = _sum(windows, (each * groups, n, height, width), stride, dilation)
    top, left = padding
    inner = whole[:, :, top : height - top, left : width - left].transpose(1, 0, 2, 3)
    return np.add(inner, _along_filters(bias), out=np.empty(inner.shape, whole.dtype))


def _reach(x: Any, weight: Any, stride: Pair, dilation: Pair) -> tuple[int, ...]:
    """The sizes that the windows cover, whose places are the elements of x."""
    return tuple(
        [
            (size - 1) * s + d * (k - 1) + 1
            for size, k, s, d in zip(x.shape[2:], weight.shape[2:], stride, dilation, strict=True)
        ]
    )


def conv_transpose2d_vjp(
    positions: Sequence[int],
    g: Any,
    o: object,
    x: Any,
    weight: Any,
    bias: Any,
    *,
    stride: Pair,
    padding: Pair,
    output_padding: Pair,
    dilation: Pair,
    groups: int,
) -> Any:
    """The cotangents of x, weight and bias: a convolution, its weight's cotangent, and a sum."""
    height, width = _reach(x, weight, stride, dilation)
    whole = _padded(g, padding)[:, :, :height, :width]
    options: Any = {"stride": stride, "padding": (0, 0), "dilation": dilation, "groups": groups}
    found = []
    for position in positions:
        if position == 0:
            found.append(conv2d(whole, weight, np.array(-0.0, g.dtype), **options))
        elif position == 1:
            found += conv2d_vjp((1,), x, None, whole, weight, bias, **options)
        else:
            found.append(g.sum((0, 2, 3)) if len(bias.shape) else g.sum())
    return found
