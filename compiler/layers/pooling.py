"""Pooling over one, two or three axes.

One and two axes are served by shared ops where the options allow; the rest is composed of windows.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core import dims
from staticgraph.compiler.core.dims import Dim, Size
from staticgraph.compiler.core.errors import OptionError, ShapeError
from staticgraph.compiler.core.values import Value
from staticgraph.compiler.layers.axes import (
    PerAxis,
    Sizes,
    beside,
    flattened,
    images,
    number,
    numbers,
    per_axis,
    shown,
)
from staticgraph.compiler.ops.windows.windows import leading_part

__all__ = [
    "avg_pool1d", "avg_pool2d", "avg_pool3d", "lp_pool1d", "lp_pool2d", "lp_pool3d", "max_pool1d",
    "max_pool2d", "max_pool3d",
]  # fmt: skip


def max_pool1d(
    x: Value, kernel_size: PerAxis, stride: PerAxis | None = None, padding: PerAxis = 0,
    dilation: PerAxis = 1, ceil_mode: bool = False, return_indices: bool = False,
) -> Value:  # fmt: skip
    """The largest element of each window: (n, c, l) -> (n, c, l'); as `max_pool2d`.

    Example:
        >>> sg.nn.max_pool1d(np.array([[1.0, 3.0, 2.0, 0.0]]), 2)
        array([[3., 2.]])
    """
    options = (kernel_size, stride, padding, dilation, ceil_mode, return_indices)
    return _max_pool("max_pool1d", 1, x, *options)


def max_pool2d(
    x: Value, kernel_size: PerAxis, stride: PerAxis | None = None, padding: PerAxis = 0,
    dilation: PerAxis = 1, ceil_mode: bool = False, return_indices: bool = False,
) -> Value:  # fmt: skip
    """The largest element of each window: (n, c, h, w) -> (n, c, h', w'); n is optional.

    The stride is the window if None; the padding never wins, and the first of equal elements,
    but of nan the last, takes the gradient. With `ceil_mode` the last windows may reach past the
    end. With `return_indices` also the places in the flat (h, w) of the input.

    Raises:
        OptionError: an option is out of range: a padding may be half a window.
        ShapeError: another number of axes, or no window fits.

    Example:
        >>> sg.nn.max_pool2d(np.arange(9.0).reshape(1, 3, 3), 2, ceil_mode=True)
        array([[[4., 5.],
                [7., 8.]]])
    """
    options = (kernel_size, stride, padding, dilation, ceil_mode, return_indices)
    return _max_pool("max_pool2d", 2, x, *options)


def max_pool3d(
    x: Value, kernel_size: PerAxis, stride: PerAxis | None = None, padding: PerAxis = 0,
    dilation: PerAxis = 1, ceil_mode: bool = False, return_indices: bool = False,
) -> Value:  # fmt: skip
    """The largest element of each window over three axes; as `max_pool2d`.

    Example:
        >>> sg.nn.max_pool3d(np.arange(8.0).reshape(1, 2, 2, 2), 2)
        array([[[[7.]]]])
    """
    options = (kernel_size, stride, padding, dilation, ceil_mode, return_indices)
    return _max_pool("max_pool3d", 3, x, *options)


def _max_pool(
    name: str, axes: int, x: Any, kernel_size: Any, stride: Any, padding: Any, dilation: Any,
    ceil_mode: bool, return_indices: bool,
) -> Any:  # fmt: skip
    size, step, edge = _options(name, axes, kernel_size, stride, padding)
    spread = per_axis(name, "dilation", dilation, axes, 1)
    _check_padding(name, edge, size, spread)

    def one(x: Any) -> Any:
        _check_room(name, x, size, step, edge, spread, ceil_mode)
        return max_pooled(x, size, step, edge, spread, ceil_mode, return_indices)

    return images(name, x, axes, one)


def max_pooled(
    x: Value, size: Sizes, step: Sizes, edge: Sizes, spread: Sizes, ceil: bool, places: bool
) -> Value:
    """The largest elements of the windows of (n, c, ...), and where they are if `places`.

    Integers stay what they are.
    """
    axes, least = len(size), _least(x)
    simple = axes < 3 and not places and max(spread) == 1 and least == -np.inf
    if simple and not ceil:
        return _shared(ops.max_pool2d, x, size, step, edge)
    counts = window_counts(x, size, step, edge, spread, ceil)
    if simple:
        x = _extended(x, size, step, edge, spread, counts, least)
        pooled = _shared(ops.max_pool2d, x, size, step, (0,) * axes)
        return leading_part(pooled, 2, counts)
    windows = _windows(x, size, step, edge, spread, counts, least)
    flat = flattened(windows, axes + 2)
    if not places:
        return ops.max(flat, -1)
    return ops.max(flat, -1), _places(flat, x, size, step, edge, spread)


def _least(x: Value) -> float:
    """What is no larger than any number of the dtype of x."""
    dtype = np.dtype(x.dtype)
    if dtype.kind in "iu":
        return int(np.iinfo(dtype).min)
    return 0 if dtype.kind == "b" else -np.inf


def _options(
    name: str, axes: int, kernel_size: Any, stride: Any, padding: Any
) -> tuple[Sizes, Sizes, Sizes]:
    size = per_axis(name, "kernel_size", kernel_size, axes, 1)
    step = size if stride is None else per_axis(name, "stride", stride, axes, 1)
    return size, step, per_axis(name, "padding", padding, axes, 0)


def _check_padding(name: str, padding: Sizes, size: Sizes, dilation: Sizes) -> None:
    for p, k, d in zip(padding, size, dilation, strict=True):
        if p > (d * (k - 1) + 1) // 2:
            raise OptionError(
                f"{name}: padding {padding} is more than half the window {size} by {dilation}"
            )


def _check_room(
    name: str, x: Any, size: Sizes, step: Sizes, edge: Sizes, spread: Sizes, ceil: bool
) -> None:
    """ShapeError if an axis is known to have no window."""
    counts = window_counts(x, size, step, edge, spread, ceil)
    if any(not isinstance(count, Dim) and count < 1 for count in counts):
        raise ShapeError(
            f"{name}: no window {size} by {spread} fits into {shown(x)} with {edge} around it"
        )


def window_counts(
    x: Value, size: Sizes, step: Sizes, edge: Sizes, spread: Sizes, ceil: bool
) -> tuple[Size, ...]:
    """The number of windows per axis; with `ceil` the last one may reach past the padding."""
    return tuple(
        count_along(*given, ceil)
        for given in zip(x.shape[2:], size, step, edge, spread, strict=True)
    )


def count_along(
    size: Size, window: int, stride: int, padding: int, dilation: int, ceil: bool
) -> Size:
    """The number of windows along an axis, as `window_counts` has them; an int of an int."""
    room = size + 2 * padding - dilation * (window - 1) - 1
    if not ceil:
        return room // stride + 1
    count, starts = -(-room // stride) + 1, -(-(size + padding) // stride)
    # the last window starts inside the input or the padding before it
    return dims.minimum(count, starts) if isinstance(room, Dim) else min(count, starts)


def _shared(pool: Any, x: Any, size: Sizes, step: Sizes, edge: Sizes) -> Any:
    """The shared op, over two axes; one axis becomes the second of them."""
    if len(size) == 2:
        return pool(x, size, step, edge)
    return ops.squeeze(pool(ops.expand_dims(x, 2), (1, *size), (1, *step), (0, *edge)), 2)


def _windows(
    x: Any, size: Sizes, step: Sizes, edge: Sizes, spread: Sizes, counts: Any, value: float
) -> Any:
    """Every window, its elements along new last axes; what is past the input is `value`."""
    x = _extended(x, size, step, edge, spread, counts, value)
    return leading_part(ops.sliding_windows(x, size, step, spread), 2, counts)


def _extended(
    x: Any, size: Sizes, step: Sizes, edge: Sizes, spread: Sizes, counts: Any, value: float
) -> Any:
    """x with `value` around it, at least as far as the windows reach."""
    widths = [(0, 0), (0, 0)]
    for have, k, s, p, d, count in zip(x.shape[2:], size, step, edge, spread, counts, strict=True):
        reach = (count - 1) * s + d * (k - 1) + 1
        # where sizes are unknown, room for one more window than fits
        after = p + s - 1 if isinstance(reach - have, Dim) else max(0, reach - have - p)
        widths.append((p, after))
    return ops.pad(x, widths, value) if any(any(pair) for pair in widths) else x


def _places(flat: Any, x: Any, size: Sizes, step: Sizes, edge: Sizes, spread: Sizes) -> Any:
    """Where the largest element of each window is, in the flat spatial axes of the input.

    Of several nan the last. Of nothing but -inf the padding, which comes first, is as large: the
    first element of the input.
    """
    inside = ops.squeeze(winner(ops.stop_gradient(flat), -1), -1)
    place: Any = 0
    first: Any = 0
    in_padding: Any = False
    axes = len(size)
    for axis in range(axes):
        offset = inside // math.prod(size[axis + 1 :]) % size[axis]
        start = numbers(flat.shape[2 + axis], x) * step[axis] - edge[axis]
        start = ops.reshape(start, (-1,) + (1,) * (axes - axis - 1))
        begin = ops.where(start < 0, start % spread[axis], start)
        at, length = beside(start, x) + offset * spread[axis], number(x.shape[2 + axis], x)
        place, first = place * length + at, first * length + beside(begin, x)
        in_padding = in_padding | (at < 0) if edge[axis] else in_padding
    return place if in_padding is False else ops.where(in_padding, first, place)


def winner(x: Any, axis: int) -> Any:
    """Where along an axis, which stays, its first largest element is, or its last nan."""
    missing = ops.isnan(x)
    last = number(x.shape[axis], x) - 1 - ops.argmax(ops.flip(missing, axis), axis, True)
    return ops.where(ops.any(missing, axis, True), last, ops.argmax(x, axis, True))


def avg_pool1d(
    x: Value, kernel_size: PerAxis, stride: PerAxis | None = None, padding: PerAxis = 0,
    ceil_mode: bool = False, count_include_pad: bool = True,
) -> Value:  # fmt: skip
    """The mean of each window: (n, c, l) -> (n, c, l'); as `avg_pool2d`.

    Example:
        >>> sg.nn.avg_pool1d(np.array([[1.0, 3.0, 2.0, 0.0]]), 2)
        array([[2., 1.]])
    """
    options = (stride, padding, ceil_mode, count_include_pad, None)
    return _avg_pool("avg_pool1d", 1, x, kernel_size, *options)


def avg_pool2d(
    x: Value, kernel_size: PerAxis, stride: PerAxis | None = None, padding: PerAxis = 0,
    ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: int | None = None,
) -> Value:  # fmt: skip
    """The mean of each window: (n, c, h, w) -> (n, c, h', w'); n is optional.

    The padding counts as zeros, or with `count_include_pad=False` not at all;
    `divisor_override` divides the sums instead of the number of elements. Errors are those of
    `max_pool2d`.

    Example:
        >>> sg.nn.avg_pool2d(np.ones((1, 3, 3)), 2, padding=1)
        array([[[0.25, 0.5 ],
                [0.5 , 1.  ]]])
    """
    options = (stride, padding, ceil_mode, count_include_pad, divisor_override)
    return _avg_pool("avg_pool2d", 2, x, kernel_size, *options)


def avg_pool3d(
    x: Value, kernel_size: PerAxis, stride: PerAxis | None = None, padding: PerAxis = 0,
    ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: int | None = None,
) -> Value:  # fmt: skip
    """The mean of each window over three axes; as `avg_pool2d`.

    Example:
        >>> sg.nn.avg_pool3d(np.arange(8.0).reshape(1, 2, 2, 2), 2)
        array([[[[3.5]]]])
    """
    options = (stride, padding, ceil_mode, count_include_pad, divisor_override)
    return _avg_pool("avg_pool3d", 3, x, kernel_size, *options)


def _avg_pool(
    name: str, axes: int, x: Any, kernel_size: Any, stride: Any, padding: Any, ceil_mode: bool,
    count_include_pad: bool, divisor: int | None,
) -> Any:  # fmt: skip
    size, step, edge = _options(name, axes, kernel_size, stride, padding)
    if divisor == 0:
        raise OptionError(f"{name}: divisor_override=0: a number that is not 0")
    _check_padding(name, edge, size, (1,) * axes)

    def one(x: Any) -> Any:
        _check_room(name, x, size, step, edge, (1,) * axes, ceil_mode)
        return avg_pooled(x, size, step, edge, ceil_mode, count_include_pad, divisor)

    return images(name, x, axes, one)


def avg_pooled(
    x: Value, size: Sizes, step: Sizes, edge: Sizes, ceil: bool, padded: bool, divisor: int | None
) -> Value:
    """The means of the windows of (n, c, ...)."""
    axes = len(size)
    ones = (1,) * axes
    if divisor is None and not ceil and (padded or not any(edge)):
        if axes < 3:
            return _shared(ops.avg_pool2d, x, size, step, edge)
        divisor = math.prod(size)
    counts = window_counts(x, size, step, edge, ones, ceil)
    windows = _windows(x, size, step, edge, ones, counts, 0.0)
    sums = ops.sum(windows, tuple(range(2 + axes, 2 + 2 * axes)))
    if divisor is not None:
        return sums / divisor
    share: Any = 1
    for axis, given in enumerate(zip(x.shape[2:], size, step, edge, counts, strict=True)):
        inside = _elements(x, *given, padded)
        share = share * ops.reshape(inside, (-1,) + (1,) * (axes - axis - 1))
    return sums / beside(ops.astype(share, sums.dtype), x)


def _elements(
    x: Any, size: Size, window: int, step: int, edge: int, count: Size, padded: bool
) -> Any:
    """The number of elements of each window along an axis, with those of the padding or without."""
    start = numbers(count, x) * step - edge
    have = number(size, x)
    stop = ops.minimum(start + window, have + edge)
    if padded:
        return stop - start
    return ops.minimum(stop, have) - ops.maximum(start, 0)


def lp_pool1d(
    x: Value,
    norm_type: float,
    kernel_size: PerAxis,
    stride: PerAxis | None = None,
    ceil_mode: bool = False,
) -> Value:
    """The p-norm of each window of the last axis, without absolute values, p = `norm_type`.

    As in PyTorch the root of a negative sum is 0.

    Example:
        >>> sg.nn.lp_pool1d(np.array([[3.0, 4.0]]), 2, 2)
        array([[5.]])
    """
    return _lp_pool("lp_pool1d", 1, x, norm_type, kernel_size, stride, ceil_mode)


def lp_pool2d(
    x: Value,
    norm_type: float,
    kernel_size: PerAxis,
    stride: PerAxis | None = None,
    ceil_mode: bool = False,
) -> Value:
    """The p-norm of each window of the last two axes; as `lp_pool1d`.

    Example:
        >>> sg.nn.lp_pool2d(np.array([[[3.0, 4.0], [0.0, 0.0]]]), 2, 2)
        array([[[5.]]])
    """
    return _lp_pool("lp_pool2d", 2, x, norm_type, kernel_size, stride, ceil_mode)


def lp_pool3d(
    x: Value,
    norm_type: float,
    kernel_size: PerAxis,
    stride: PerAxis | None = None,
    ceil_mode: bool = False,
) -> Value:
    """The p-norm of each window of the last three axes; as `lp_pool1d`.

    Example:
        >>> sg.nn.lp_pool3d(np.ones((1, 2, 2, 1)), 2, (2, 2, 1))
        array([[[[2.]]]])
    """
    return _lp_pool("lp_pool3d", 3, x, norm_type, kernel_size, stride, ceil_mode)


def _lp_pool(
    name: str, axes: int, x: Any, p: float, kernel_size: Any, stride: Any, ceil: bool
) -> Any:
    if not 0 < p < math.inf:
        raise OptionError(f"{name}: norm_type is a number above 0, not {p!r}")
    size = per_axis(name, "kernel_size", kernel_size, axes, 1)

    def means(powers: Any) -> Any:
        return _avg_pool(name, axes, powers, size, stride, 0, ceil, True, None)

    return lp_norm(x, p, math.prod(size), means)


def lp_norm(x: Value, p: float, count: int, means: Value) -> Value:
    """The p-norms of windows of `count` elements, of which `means` gives the means of powers."""
    powers = means(ops.power(x, float(p)))
    # PyTorch's sign of nan is 0, and its gradient of abs(x) the sign
    sign = ops.where(ops.isnan(powers), 0.0, ops.sign(powers))
    total = sign * ops.relu(powers * sign) * count
    return ops.power(total, 1.0 / p)
