"""Convolution in groups of few channels, such as depthwise: sums over windows.

A product of matrices per group would be too small for the BLAS, and the windows would have to be
written out for it. As a sum of elementwise products, a result is computed from the image as it lies
in the cache, vectorised along its rows. Measured on 64 channels of 56 x 56 in 64 groups, 3 x 3, one
thread: 8 times as fast as products of written windows, padding included, and 7 times with both
gradients (1.1 and 4 times as fast as oneDNN).
"""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Iterator, Sequence
from math import prod
from typing import Any

from staticgraph.compiler.core.op import Attrs
from staticgraph.compiler.ops.elementwise.arithmetic import copy
from staticgraph.compiler.ops.reductions.reduction import sum
from staticgraph.compiler.ops.shapes.shape import expand_dims, reshape, squeeze, transpose
from staticgraph.compiler.ops.shapes.slicing import embed, stack, strided_slice
from staticgraph.compiler.ops.windows.windows import overlap_add, sliding_windows, window_count

MOST_PRODUCTS = 64  # per result: they are all written out
REGISTERS = 32  # of vectors, where there are most
MOST_WRITTEN = 1 << 22  # elements of columns that are written out, which a cache has room for
MOST_LINES = 4  # of the result that are computed at once
LEAST_ROWS = 3  # of a window whose lines are: with fewer, putting them in order is more
LEAST_SHARED = 1.3  # lines of the image that they meet for one that they read
MOST_WRITTEN_OUT = 640  # statements of a window: a weight, and three for each line
IMAGES = 32  # of a batch whose size is not known before a call


def is_direct(weight: Any, groups: int) -> bool:
    """Whether a convolution is computed as a sum: it has groups, and few products per result."""
    return groups > 1 and is_few(weight.shape[1], weight.shape[2:])


def is_few(channels: object, window: Sequence[Any]) -> bool:
    """Whether the products of so many channels and places can be written out."""
    products = channels * window[0] * window[1]
    return isinstance(products, int) and products <= MOST_PRODUCTS


def convolve(x: Any, weight: Any, attrs: Attrs) -> Any:
    """The convolution of x: (n, c, h, w), (f, c / groups, kh, kw) -> (n, f, oh, ow).

    With a stride along rows, every so many columns of x are taken together before: a vector of
    results then reads vectors of x, not elements apart. Of one image of 20 x 20 with 214 channels,
    7 x 7 by 2, that is 4 times as fast.
    """
    stride, padding = attrs["stride"], attrs["padding"]
    if not _has_phases(x, weight, attrs):
        return _summed(padded(x, padding), weight, attrs)
    apart = attrs | {"stride": (stride[0], 1)}
    places = (x.shape[3] + 2 * padding[1] - weight.shape[3]) // stride[1] + 1
    parts = [
        _summed(_column_phase(x, first, places + taps - 1, attrs), part, apart)
        for first, taps, part in _weight_phases(weight, stride[1])
    ]
    return functools.reduce(operator.add, parts)


def _has_phases(x: Any, weight: Any, attrs: Attrs) -> bool:
    """Whether every so many columns of x, as many as the stride, are taken together before."""
    if attrs["stride"][1] == 1 or attrs["dilation"][1] > 1:
        return False
    return isinstance(x.shape[3], int) and isinstance(weight.shape[3], int)


def padded(x: Any, padding: tuple[int, int], value: float = 0.0) -> Any:
    """x with so many elements of a value before and behind each of its last two axes."""
    if padding == (0, 0):
        return x
    *lead, height, width = x.shape
    shape = (*lead, height + 2 * padding[0], width + 2 * padding[1])
    return embed(x, (*(0 for _ in lead), *padding), shape, (1,) * len(shape), value)


def _weight_phases(weight: Any, stride: int) -> Iterator[tuple[int, int, Any]]:
    """For each phase of columns: its number, how many of the window's it has, and the weights."""
    for first in range(min(stride, weight.shape[3])):
        taps = len(range(first, weight.shape[3], stride))
        starts, shape = (0, 0, 0, first), (*weight.shape[:3], taps)
        yield first, taps, strided_slice(weight, starts, shape, (1, 1, 1, stride))


def _column_phase(x: Any, first: int, columns: int, attrs: Attrs) -> Any:
    """So many columns of the padded x: the `first` and every `stride`-th one behind it."""
    height, width = attrs["padding"]
    stride = attrs["stride"][1]
    before = max(0, -((first - width) // stride))
    start = first + before * stride - width
    count = max(0, min(len(range(start, x.shape[3], stride)), columns - before))
    starts, shape = (0, 0, 0, start if count else 0), (*x.shape[:3], count)
    part = strided_slice(x, starts, shape, (1, 1, 1, stride))
    whole = (*x.shape[:2], x.shape[2] + 2 * height, columns)
    if (height, before, count) == (0, 0, columns):
        return copy(part)
    return embed(part, (0, 0, height, before if count else 0), whole, (1, 1, 1, 1), 0.0)


def _summed(x: Any, weight: Any, attrs: Attrs) -> Any:
    """The convolution of a padded x.

    A few lines are computed at once: they share their weights and most of the image. Lines that
    are one too few are computed with zeros below the image.
    """
    step, dilation = attrs["stride"][0], attrs["dilation"][0]
    height = window_count(x.shape[2], weight.shape[2], step, dilation)
    together = _together(height, weight, attrs)
    if together == 1:
        return _joined(_each(x, weight, attrs))
    whole = -(-height // together) * together
    reach = (whole - 1) * step + dilation * (weight.shape[2] - 1) + 1
    if reach > x.shape[2]:
        x = embed(x, (0,) * 4, (*x.shape[:2], reach, x.shape[3]), (1,) * 4, 0.0)
    several = attrs | {"stride": (together * step, attrs["stride"][1])}
    sizes = (*x.shape[:2], reach - (together - 1) * step, x.shape[3])
    cuts = [strided_slice(x, (0, 0, i * step, 0), sizes, (1,) * 4) for i in range(together)]
    joined = stack([_each(one, weight, several) for one in cuts], axis=4)
    found = reshape(joined, (x.shape[0], weight.shape[0], whole, joined.shape[5]))
    return found if whole == height else found[:, :, :height]


def _together(height: object, weight: Any, attrs: Attrs) -> int:
    """How many lines are computed at once: of a number that leaves none over, if there is one.

    Not of groups of several channels: of 4, 3 x 3, that took 1.6 times as long.
    """
    _, channels, rows, columns = weight.shape
    if not isinstance(height, int) or rows < LEAST_ROWS or channels > 1:
        return 1
    step, dilation = attrs["stride"][0], attrs["dilation"][0]

    def fits(lines: int) -> bool:
        read = {line * step + row * dilation for line in range(lines) for row in range(rows)}
        written = rows * columns * (1 + 3 * lines)
        return lines * rows >= LEAST_SHARED * len(read) and written <= MOST_WRITTEN_OUT

    fitting = [lines for lines in range(2, MOST_LINES + 1) if lines <= height and fits(lines)]
    even = [lines for lines in fitting if height % lines == 0]
    if not even and rows * columns <= REGISTERS:
        return 1
    return max(even or fitting, default=1)


def _each(x: object, weight: object, attrs: Attrs) -> Any:
    """The convolution of a padded x, line by line: (n, groups, filters / groups, oh, ow)."""
    groups = attrs["groups"]
    products = _windows(x, weight, attrs) * expand_dims(_by_group(weight, groups), (2, 3))
    return sum(products, axis=(5, 6, 7))


def by_weight(g: Any, x: Any, weight: Any, attrs: Attrs) -> Any:
    """The cotangent of the weight, given that of the result and x.

    One sum per place of a window: all read g once, in one loop. With a stride along rows, they read
    every so many columns of x, taken together before, as `convolve` does.
    """
    whole = padded(x, attrs["padding"])
    if _is_written(g, whole, weight, attrs):
        return _by_columns(g, whole, weight, attrs)
    _, channels, height, width = weight.shape
    step, groups = attrs["stride"][1], attrs["groups"]
    phases, apart = [whole], attrs
    if _has_phases(x, weight, attrs) and isinstance(g.shape[3], int):
        apart = attrs | {"stride": (attrs["stride"][0], 1)}
        phases = [
            _column_phase(x, first, g.shape[3] + taps - 1, attrs)
            for first, taps, _ in _weight_phases(weight, step)
        ]
    count = len(phases)
    split, each = [_split(one, groups) for one in phases], _split(g, groups)
    places = itertools.product(range(channels), range(height), range(width))
    sums = [
        sum(_part(split[at % count], (channel, row, at // count), g, apart) * each, axis=(0, 3, 4))
        for channel, row, at in places
    ]
    return reshape(stack(sums, axis=2), weight.shape)


def _is_written(g: Any, x: Any, weight: Any, attrs: Attrs) -> bool:
    """Whether the columns of x that each column of the window meets are written out first.

    Then a window's line meets all lines of an image as one: vectors are not cut at their ends. Of
    256 channels of 7 x 7, 3 x 3, that is 2.5 times as fast, of 94 of 22 x 22, 7 x 7, 3 times; where
    no cache has room for them, it is slower.
    """
    batch, channels, height = x.shape[:3]
    sizes = (channels, height, g.shape[3], weight.shape[3])
    if attrs["stride"] != (1, 1) or not all(isinstance(size, int) for size in sizes):
        return False
    if weight.shape[3] == 1:  # the lines of an image are one already
        return False
    images = batch if isinstance(batch, int) else IMAGES
    return images * prod(sizes) <= MOST_WRITTEN


def _by_columns(g: Any, x: Any, weight: Any, attrs: Attrs) -> Any:
    """The cotangent of the weight: a sum over images per line of a window, of all its columns."""
    _, _, height, width = weight.shape
    down, right = attrs["dilation"]
    lines, across = g.shape[2:]
    split = _split(x, attrs["groups"])
    sizes, steps = (*split.shape[:4], across), (1,) * 5
    cuts = [strided_slice(split, (0, 0, 0, 0, at * right), sizes, steps) for at in range(width)]
    flat = (*split.shape[:3], width, split.shape[3] * across)
    columns = expand_dims(reshape(stack(cuts, axis=3), flat), 2)
    flat = (g.shape[0], attrs["groups"], g.shape[1] // attrs["groups"], lines * across)
    each = expand_dims(reshape(g, flat), (3, 4))
    lead, whole = (0,) * 5, (*columns.shape[:5], lines * across)
    met = [
        strided_slice(columns, (*lead, at * down * across), whole, (1,) * 6) for at in range(height)
    ]
    return reshape(stack([sum(one * each, axis=(0, 5)) for one in met], axis=3), weight.shape)


def _part(x: Any, place: tuple[int, int, int], g: Any, attrs: Attrs) -> Any:
    """What one place of the windows meets: (n, groups, 1, oh, ow)."""
    channel, *inside = place
    start = [at * dilation for at, dilation in zip(inside, attrs["dilation"], strict=True)]
    sizes = (x.shape[0], x.shape[1], 1, *g.shape[2:])
    return strided_slice(x, (0, 0, channel, *start), sizes, (1, 1, 1, *attrs["stride"]))


def by_x(g: object, weight: object, sizes: tuple[object, ...], attrs: Attrs) -> Any:
    """The cotangent of a padded x, whose last axes have these sizes."""
    groups = attrs["groups"]
    each = expand_dims(_split(g, groups), (5, 6, 7))
    products = each * expand_dims(_by_group(weight, groups), (2, 3))
    # (n, groups, filters, oh, ow, channels, kh, kw) -> (n, groups, channels, oh, ow, kh, kw)
    summed = squeeze(products, 2) if products.shape[2] == 1 else sum(products, axis=2)
    windows = transpose(summed, (0, 1, 4, 2, 3, 5, 6))
    whole = overlap_add(windows, sizes, attrs["stride"], attrs["dilation"])
    return _joined(whole)


def _windows(x: object, weight: Any, attrs: Attrs) -> Any:
    """(n, groups, 1, oh, ow, channels, kh, kw); an axis of size 1 for the filters of a group."""
    split = _split(x, attrs["groups"])
    windows = sliding_windows(split, weight.shape[2:], attrs["stride"], attrs["dilation"])
    return expand_dims(transpose(windows, (0, 1, 3, 4, 2, 5, 6)), 2)


def _by_group(weight: Any, groups: int) -> Any:
    """(groups, filters / groups, channels / groups, kh, kw)."""
    if weight.shape[0] == groups:
        return expand_dims(weight, 1)
    return reshape(weight, (groups, weight.shape[0] // groups, *weight.shape[1:]))


def _split(x: Any, groups: int) -> Any:
    """The second axis as two: groups and the channels of a group."""
    if x.shape[1] == groups:
        return expand_dims(x, 2)
    return reshape(x, (x.shape[0], groups, x.shape[1] // groups, *x.shape[2:]))


def _joined(x: Any) -> Any:
    """The groups and what is in them as one axis again."""
    if x.shape[2] == 1:
        return squeeze(x, 2)
    return reshape(x, (x.shape[0], x.shape[1] * x.shape[2], *x.shape[3:]))
