"""Convolution on plain arrays: its value and cotangents in few NumPy calls, for small images.

Each function computes what the expansion or the rules of conv2d say, but computes once what
several rules share. The generic tests compare.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np

from staticgraph.compiler.core.record import frozen
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


@frozen
class _Layout:
    """What sizes and options say of the windows, found once.

    Attributes:
        windows: the shape of a view of all windows, and `steps` its strides in bytes.
        columns: the shape of the matrix that has a window per column; of several groups, which
            come first, of one for each.
        filters: the same of what has a filter per row.
        places: of the windows, down and right.
    """

    windows: tuple[int, ...]
    steps: tuple[int, ...]
    columns: tuple[int, ...]
    filters: tuple[int, ...]
    places: tuple[int, ...]


@lru_cache(1024)
def _layout(
    images: tuple[int, ...], weight: tuple[int, ...], itemsize: int, stride: Pair, padding: Pair,
    dilation: Pair, groups: int,
) -> _Layout:  # fmt: skip
    """Of images and filters of these shapes."""
    n, c = images[:2]
    window = weight[2:]
    sizes = [size + 2 * edge for size, edge in zip(images[2:], padding, strict=True)]
    places = tuple(
        [
            (size - d * (k - 1) - 1) // s + 1
            for size, k, s, d in zip(sizes, window, stride, dilation, strict=True)
        ]
    )
    right = itemsize
    down = sizes[1] * right
    by_channel = sizes[0] * down
    steps = (
        by_channel, down * dilation[0], right * dilation[1], c * by_channel, down * stride[0],
        right * stride[1],
    )  # fmt: skip
    depth = math.prod(weight[1:])
    by_group = (groups,) if groups > 1 else ()
    columns = (*by_group, depth, n * math.prod(places))
    filters = (*by_group, weight[0] // groups, depth)
    return _Layout((c, *window, n, *places), steps, columns, filters, places)


def _columns(x: Any, layout: _Layout, padding: Pair) -> Any:
    """All windows as the columns of a matrix, or of one for each group."""
    x = _padded(x, padding)
    return np.ndarray(layout.windows, x.dtype, x, 0, layout.steps).reshape(layout.columns)


def _product(a: Any, b: Any) -> Any:
    """A product of matrices, or per group; of one group a third faster than matmul."""
    return small_product(a, b) if a.ndim == 2 else np.matmul(a, b)


def conv2d(
    x: Any, weight: Any, bias: object, *, stride: Pair, padding: Pair, dilation: Pair, groups: int
) -> Any:
    """The products of the filters with every window, and the bias."""
    layout = _layout(x.shape, weight.shape, x.itemsize, stride, padding, dilation, groups)
    rows = _product(weight.reshape(layout.filters), _columns(x, layout, padding))
    n, filters = len(x), len(weight)
    result = np.empty((n, filters, *layout.places), rows.dtype)
    if n == 1:
        by_filter = rows.reshape(result.shape)
    else:
        by_filter = rows.reshape(filters, n, *layout.places).transpose(1, 0, 2, 3)
    return np.add(by_filter, _along_filters(bias), result)


def _along_filters(bias: Any) -> Any:
    return bias[:, None, None] if bias.ndim else bias


def conv2d_vjp(
    positions: Sequence[int],
    g: Any,
    o: object,
    x: Any,
    weight: Any,
    bias: Any,
    *,
    stride: Pair,
    padding: Pair,
    dilation: Pair,
    groups: int,
) -> Any:
    """The cotangents of x, weight and bias, from one matrix of g per group."""
    layout = _layout(x.shape, weight.shape, g.itemsize, stride, padding, dilation, groups)
    n, filters = g.shape[:2]
    by_filter = g if n == 1 else g.transpose(1, 0, 2, 3)
    rows = by_filter.reshape((*layout.filters[:-1], layout.columns[-1]))
    found: list[Any] = []
    for position in positions:
        if position == 0:
            left = weight.reshape(layout.filters)
            left = left.T if groups == 1 else left.transpose(0, 2, 1)
            found.append(_by_x(_product(left, rows), g, x, weight, stride, padding, dilation))
        elif position == 1:
            columns = _columns(x, layout, padding)
            columns = columns.T if groups == 1 else columns.transpose(0, 2, 1)
            dtype = g.dtype if g.dtype is x.dtype else np.result_type(g, x)
            by_weight = np.empty(weight.shape, dtype)
            if groups > 1 or rows.size == 1 or columns.size == 1:  # as `small_product`
                np.matmul(rows, columns, by_weight.reshape(layout.filters))
            else:
                np.dot(rows, columns, by_weight.reshape(layout.filters))
            found.append(by_weight)
        else:
            sums = np.add.reduce(rows.reshape(filters, layout.columns[-1]), 1)
            found.append(sums if len(bias.shape) else np.add.reduce(sums))
    return found


def _by_x(
    products: Any, g: Any, x: Any, weight: Any, stride: Pair, padding: Pair, dilation: Pair
) -> Any:
    """The windows' cotangents added where the windows are."""
    n, c, height, width = x.shape
    top, left = padding
    windows = products.reshape(c, *weight.shape[2:], n, *g.shape[2:])
    sizes = (c, n, height + 2 * top, width + 2 * left)
    if n == 1 and padding == (0, 0):
        found = np.empty(x.shape, windows.dtype)
        _sum(windows, found.reshape(sizes), stride, dilation)
        return found
    whole = np.empty(sizes, windows.dtype)
    _sum(windows, whole, stride, dilation)
    inner = whole[:, :, top : top + height, left : left + width]
    return np.ascontiguousarray(inner.transpose(1, 0, 2, 3))


def _sum(windows: Any, whole: Any, stride: Pair, dilation: Pair) -> None:
    """Windows (c, kh, kw, n, ...) added up in images (c, n, h, w), which are filled."""
    few = whole.size * windows.shape[1] * windows.shape[2] <= FEW
    (_added if few else _added_by_place)(windows, whole, stride, dilation)


def _added(windows: Any, whole: Any, stride: Pair, dilation: Pair) -> None:
    """`_sum` by a copy of the images for each place in a window, and the sum of these."""
    shape, steps = _copies(windows.shape, whole.shape, windows.itemsize, stride, dilation)
    copies = np.zeros(shape, windows.dtype)
    np.ndarray(windows.shape, copies.dtype, copies, 0, steps)[...] = windows
    np.add.reduce(copies, 2, None, whole.reshape(*shape[:2], shape[3]))


@lru_cache(1024)
def _copies(
    windows: tuple[int, ...], sizes: tuple[int, ...], itemsize: int, stride: Pair, dilation: Pair
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The shape of the copies (c, n, places, h w), and the strides in bytes of windows in them."""
    c, down, right, n = windows[:4]
    count, line, image = down * right, sizes[3], sizes[2] * sizes[3]
    steps = (
        n * count * image, right * image + dilation[0] * line, image + dilation[1], count * image,
        stride[0] * line, stride[1],
    )  # fmt: skip
    return (c, n, count, image), tuple([step * itemsize for step in steps])


def _added_by_place(windows: Any, whole: Any, stride: Pair, dilation: Pair) -> None:
    """The same in a pass over all windows for each place in a window."""
    window, counts = windows.shape[1:3], windows.shape[4:]
    whole[...] = 0
    rows, columns = (
        [slice(i * d, i * d + count * s, s) for i in range(k)]
        for k, d, count, s in zip(window, dilation, counts, stride, strict=True)
    )
    for (i, down), (j, right) in product(enumerate(rows), enumerate(columns)):
        target = whole[:, :, down, right]
        np.add(target, windows[:, i, j], out=target)


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
    if groups == 1:
        products = small_product(filters[0].T, rows[0])
    else:
        products = np.matmul(filters.transpose(0, 2, 1), rows)
    height, width = (
        size + extra
        for size, extra in zip(_reach(x, weight, stride, dilation), output_padding, strict=True)
    )
    windows = products.reshape(each * groups, *window, n, *counts)
    whole = np.empty((each * groups, n, height, width), windows.dtype)
    _sum(windows, whole, stride, dilation)
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
