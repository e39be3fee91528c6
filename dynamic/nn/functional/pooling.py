"""Pooling over one, two or three axes.

One and two axes are served by shared ops where the options allow; the rest is composed of windows.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.dynamic.core.errors import AutogradError
from staticgraph.dynamic.nn.functional.windows import (
    Sizes,
    batched,
    flattened,
    listed,
    output_size,
    per_axis,
)  # fmt: skip
from staticgraph.dynamic.tensors.tensor import wrap

__all__ = [
    "avg_pool1d", "avg_pool2d", "avg_pool3d", "lp_pool1d", "lp_pool2d", "lp_pool3d", "max_pool1d",
    "max_pool2d", "max_pool3d",
]  # fmt: skip


def max_pool1d(
    input: object, kernel_size: object, stride: object = None, padding: object = 0,
    dilation: object = 1, ceil_mode: bool = False, return_indices: bool = False,
) -> Any:  # fmt: skip
    """The largest element of each window: (n, c, l) -> (n, c, l'); as `max_pool2d`."""
    options = (kernel_size, stride, padding, dilation, ceil_mode, return_indices)
    return _max_pool(1, input, *options)


def max_pool2d(
    input: object, kernel_size: object, stride: object = None, padding: object = 0,
    dilation: object = 1, ceil_mode: bool = False, return_indices: bool = False,
) -> Any:  # fmt: skip
    """The largest element of each window: (n, c, h, w) -> (n, c, h', w'); n is optional.

    The stride is the window if None; the padding never wins, and the first of equal elements takes
    the gradient. With `ceil_mode` the last windows may reach past the end. With `return_indices`
    also the places in the flat (h, w) of the input.
    """
    options = (kernel_size, stride, padding, dilation, ceil_mode, return_indices)
    return _max_pool(2, input, *options)


def max_pool3d(
    input: object, kernel_size: object, stride: object = None, padding: object = 0,
    dilation: object = 1, ceil_mode: bool = False, return_indices: bool = False,
) -> Any:  # fmt: skip
    """The largest element of each window over three axes; as `max_pool2d`."""
    options = (kernel_size, stride, padding, dilation, ceil_mode, return_indices)
    return _max_pool(3, input, *options)


def _max_pool(
    axes: int, input: object, kernel_size: object, stride: object, padding: object,
    dilation: object, ceil_mode: bool, return_indices: bool,
) -> Any:  # fmt: skip
    size, step, edge = _options(axes, kernel_size, stride, padding)
    spread = per_axis(dilation, axes)
    _check_padding(edge, size, spread)
    message = f"non-empty {axes + 1}D or {axes + 2}D (batch mode) tensor expected for input"
    where: list[Any] = []

    def pool(x: object) -> Any:
        counts = _counts(x, size, step, edge, spread, ceil_mode)
        if axes < 3 and not return_indices and set(spread) == {1}:
            if not ceil_mode:
                return _shared(ops.max_pool2d, axes, x, size, step, edge)
            x = _extended(x, size, step, edge, spread, counts, -np.inf)
            return _shared(ops.max_pool2d, axes, x, size, step, (0,) * axes)
        windows = _windows(x, size, step, edge, spread, counts, -np.inf)
        flat = flattened(windows, axes + 2)
        if return_indices:
            where.append(_places(flat, x, size, step, edge, spread))
        return ops.max(flat, -1)

    values = batched(pool, input, axes, message)
    if not return_indices:
        return values
    return values, where[0].reshape(tuple(values.shape))


def _options(
    axes: int, kernel_size: object, stride: object, padding: object
) -> tuple[Sizes, Sizes, Sizes]:
    size = per_axis(kernel_size, axes)
    step = size if stride is None or stride == () else per_axis(stride, axes)
    if any(one == 0 for one in step):
        raise AutogradError("stride should not be zero")
    return size, step, per_axis(padding, axes)


def _check_padding(padding: Sizes, size: Sizes, dilation: Sizes) -> None:
    for p, k, d in zip(padding, size, dilation, strict=True):
        if p < 0:
            raise AutogradError(f"pad must be non-negative, but got pad: {p}")
        if p > (d * (k - 1) + 1) // 2:
            raise AutogradError(
                "pad should be at most half of effective kernel size, but got "
                f"pad={p}, kernel_size={k} and dilation={d}"
            )


def _counts(x: Any, size: Sizes, step: Sizes, edge: Sizes, spread: Sizes, ceil_mode: bool) -> Sizes:
    """The number of windows per axis; RuntimeError if there is none."""
    counts = tuple(
        output_size(*numbers, ceil_mode)
        for numbers in zip(x.shape[2:], size, step, edge, spread, strict=True)
    )
    if any(count < 1 for count in counts):
        before, after = (
            "x".join(map(str, numbers)) for numbers in (x.shape[1:], (x.shape[1], *counts))
        )
        raise AutogradError(
            f"Given input size: ({before}). Calculated output size: ({after}). Output size is too "
            "small"
        )
    return counts


def _shared(pool: Any, axes: int, x: object, size: Sizes, step: Sizes, edge: Sizes) -> Any:
    """The shared op, over two axes; one axis becomes the second of them."""
    if axes == 2:
        return pool(x, size, step, edge)
    result = pool(ops.expand_dims(x, 2), (1, *size), (1, *step), (0, *edge))
    return ops.squeeze(result, 2)


def _windows(
    x: object, size: Sizes, step: Sizes, edge: Sizes, spread: Sizes, counts: Sizes, value: float
) -> Any:
    """Every window, its elements along new last axes; what is past the input is `value`."""
    x = _extended(x, size, step, edge, spread, counts, value)
    windows = ops.sliding_windows(x, size, step, spread)
    if tuple(windows.shape[2 : 2 + len(size)]) != counts:
        windows = windows[(slice(None), slice(None), *(slice(0, count) for count in counts))]
    return windows


def _extended(
    x: Any, size: Sizes, step: Sizes, edge: Sizes, spread: Sizes, counts: Sizes, value: float
) -> Any:
    """x with `value` around it, as far as the windows reach."""
    widths = [(0, 0), (0, 0)]
    for have, k, s, p, d, count in zip(x.shape[2:], size, step, edge, spread, counts, strict=True):
        reach = (count - 1) * s + d * (k - 1) + 1
        widths.append((p, max(0, reach - have - p)))
    return ops.pad(x, widths, value) if any(any(pair) for pair in widths) else x


def _places(flat: Any, x: Any, size: Sizes, step: Sizes, edge: Sizes, spread: Sizes) -> Any:
    """Where the largest element of each window is, in the flat spatial axes of the input."""
    inside = ops.argmax(flat.detach(), -1)
    place: Any = 0
    axes = len(size)
    for axis in range(axes):
        offset = inside // math.prod(size[axis + 1 :]) % size[axis]
        start = np.arange(flat.shape[2 + axis]) * step[axis] - edge[axis]
        start = start.reshape((-1,) + (1,) * (axes - axis - 1))
        place = place * x.shape[2 + axis] + wrap(start) + offset * spread[axis]
    return place


def avg_pool1d(
    input: object, kernel_size: object, stride: object = None, padding: object = 0,
    ceil_mode: bool = False, count_include_pad: bool = True,
) -> Any:  # fmt: skip
    """The mean of each window: (n, c, l) -> (n, c, l'); as `avg_pool2d`."""
    return _avg_pool(1, input, kernel_size, stride, padding, ceil_mode, count_include_pad, None)


def avg_pool2d(
    input: object, kernel_size: object, stride: object = None, padding: object = 0,
    ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: int | None = None,
) -> Any:  # fmt: skip
    """The mean of each window: (n, c, h, w) -> (n, c, h', w'); n is optional.

    The padding counts as zeros, or with `count_include_pad=False` not at all;
    `divisor_override` divides the sums instead of the number of elements.
    """
    options = (stride, padding, ceil_mode, count_include_pad, divisor_override)
    return _avg_pool(2, input, kernel_size, *options)


def avg_pool3d(
    input: object, kernel_size: object, stride: object = None, padding: object = 0,
    ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: int | None = None,
) -> Any:  # fmt: skip
    """The mean of each window over three axes; as `avg_pool2d`."""
    options = (stride, padding, ceil_mode, count_include_pad, divisor_override)
    return _avg_pool(3, input, kernel_size, *options)


def _avg_pool(
    axes: int, input: Any, kernel_size: object, stride: object, padding: object, ceil_mode: bool,
    count_include_pad: bool, divisor_override: int | None,
) -> Any:  # fmt: skip
    size, step, edge = _options(axes, kernel_size, stride, padding)
    if divisor_override == 0:
        raise AutogradError("divisor must be not zero")
    ones = (1,) * axes
    _check_padding(edge, size, ones)

    def pool(x: Any) -> Any:
        counts = _counts(x, size, step, edge, ones, ceil_mode)
        divisor = divisor_override
        if divisor is None and not ceil_mode and (count_include_pad or not any(edge)):
            if axes < 3:
                return _shared(ops.avg_pool2d, axes, x, size, step, edge)
            divisor = math.prod(size)
        windows = _windows(x, size, step, edge, ones, counts, 0.0)
        sums = ops.sum(windows, tuple(range(2 + axes, 2 + 2 * axes)))
        if divisor is not None:
            return sums / divisor
        share = np.ones(())
        for numbers in zip(x.shape[2:], size, step, edge, counts, strict=True):
            share = np.multiply.outer(share, _elements(*numbers, count_include_pad))
        return sums / sums.constant(share.astype(np.dtype(sums.dtype)))

    message = (
        f"avg_pool{axes}d(): Expected {axes + 1}D or {axes + 2}D tensor, but got "
        f"{listed(input.shape)}"
    )
    return batched(pool, input, axes, message)


def _elements(size: int, window: int, step: int, edge: int, count: int, padded: bool) -> Any:
    """The number of elements of each window along an axis, with those of the padding or without."""
    start = np.arange(count) * step - edge
    stop = np.minimum(start + window, size + edge)
    if padded:
        return stop - start
    return np.minimum(stop, size) - np.maximum(start, 0)


def _lp_pool(axes: int, input: object, p: float, size: object, stride: object, ceil: bool) -> Any:
    count = math.prod(per_axis(size, axes))
    powers = _avg_pool(axes, ops.power(input, float(p)), size, stride, 0, ceil, True, None)
    # PyTorch's sign of nan is 0, and its gradient of abs(x) the sign
    sign = ops.where(ops.isnan(powers), 0.0, ops.sign(powers))
    total = sign * ops.relu(powers * sign) * count
    return ops.power(total, 1.0 / p)


def lp_pool1d(
    input: object,
    norm_type: float,
    kernel_size: object,
    stride: object = None,
    ceil_mode: bool = False,
) -> Any:
    """The p-norm of each window of the last axis, without absolute values."""
    return _lp_pool(1, input, norm_type, kernel_size, stride, ceil_mode)


def lp_pool2d(
    input: object,
    norm_type: float,
    kernel_size: object,
    stride: object = None,
    ceil_mode: bool = False,
) -> Any:
    """The p-norm of each window of the last two axes, without absolute values."""
    return _lp_pool(2, input, norm_type, kernel_size, stride, ceil_mode)


def lp_pool3d(
    input: object,
    norm_type: float,
    kernel_size: object,
    stride: object = None,
    ceil_mode: bool = False,
) -> Any:
    """The p-norm of each window of the last three axes, without absolute values."""
    return _lp_pool(3, input, norm_type, kernel_size, stride, ceil_mode)
