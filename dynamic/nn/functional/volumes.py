"""Convolution and pooling over three axes, composed of windows; and adaptive maxima."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from compiler import ops
from dynamic.errors import AutogradError
from dynamic.nn.functional.conv import (
    _check,
    _check_bias,
    _check_extra,
    _check_room,
    _padding,
    _wrong_rank,
)
from dynamic.nn.functional.pooling import _adaptive, _avg_pool, _max_pool
from dynamic.nn.functional.windows import Sizes, batched, listed, per_axis
from dynamic.tensors.tensor import wrap

__all__ = [
    "adaptive_avg_pool3d", "adaptive_max_pool1d", "adaptive_max_pool2d", "adaptive_max_pool3d",
    "avg_pool3d", "conv3d", "conv_transpose3d", "max_pool3d",
]  # fmt: skip

AXES = 3


def conv3d(
    input: Any,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Any:
    """Cross-correlation: (n, c, d, h, w), (f, c / groups, kd, kh, kw), (f,) -> (n, f, d', h', w').

    n is optional; options are one number or three; `padding` as that of `conv1d`.
    """
    steps, spread = per_axis(stride, AXES), per_axis(dilation, AXES)
    before, after = _padding(padding, steps, spread, weight.shape[2:])

    def convolve(x: Any) -> Any:
        _check(x, weight, bias, groups)
        if before != after:
            widths = [(0, 0), (0, 0), *((0, b - a) for a, b in zip(before, after, strict=True))]
            x = ops.pad(x, widths)
        _check_room(x, weight, before, spread)
        x = ops.pad(x, [(0, 0), (0, 0), *((one, one) for one in before)])
        windows = ops.sliding_windows(x, tuple(weight.shape[2:]), steps, spread)
        columns = ops.transpose(windows, (1, 5, 6, 7, 0, 2, 3, 4))
        depth, places = math.prod(weight.shape[1:]), math.prod(columns.shape[4:])
        columns = ops.reshape(columns, (groups, depth, places))
        product = ops.matmul(_filters(weight, groups), columns)
        result = ops.reshape(product, (weight.shape[0], *_place_shape(windows)))
        return _with_bias(ops.transpose(result, (1, 0, 2, 3, 4)), bias)

    return batched(convolve, input, AXES, _wrong_rank("conv3d", AXES, input))


def _place_shape(windows: Any) -> tuple[int, ...]:
    """The batch and the places of windows: (n, d', h', w')."""
    return (windows.shape[0], *windows.shape[2 : 2 + AXES])


def _filters(weight: Any, groups: int) -> Any:
    return ops.reshape(weight, (groups, weight.shape[0] // groups, math.prod(weight.shape[1:])))


def _with_bias(x: Any, bias: Any) -> Any:
    return x if bias is None else x + ops.reshape(bias, (-1, 1, 1, 1))


def conv_transpose3d(
    input: Any,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
) -> Any:
    """The adjoint of `conv3d`: (n, c, d, h, w), (c, f / groups, kd, kh, kw), (f,)."""
    steps, edge, extra, spread = (
        per_axis(option, AXES) for option in (stride, padding, output_padding, dilation)
    )

    def convolve(x: Any) -> Any:
        if x.shape[1] != weight.shape[0]:
            raise AutogradError(
                f"Given transposed=1, weight of size {listed(weight.shape)}, expected input"
                f"{listed(x.shape)} to have {weight.shape[0]} channels, but got {x.shape[1]} "
                "channels instead"
            )
        _check_bias(weight, bias, weight.shape[1] * groups)
        _check_extra(extra, steps, spread)
        values = ops.transpose(x, (1, 0, 2, 3, 4))
        values = ops.reshape(values, (groups, x.shape[1] // groups, -1))
        columns = ops.matmul(ops.swapaxes(_filters(weight, groups), -1, -2), values)
        shape = (weight.shape[1] * groups, *weight.shape[2:], x.shape[0], *x.shape[2:])
        windows = ops.transpose(ops.reshape(columns, shape), (4, 0, 5, 6, 7, 1, 2, 3))
        whole = ops.overlap_add(windows, _reach(x, weight, steps, spread, extra), steps, spread)
        inner = (slice(one, size - one) for one, size in zip(edge, whole.shape[2:], strict=True))
        return _with_bias(whole[(slice(None), slice(None), *inner)], bias)

    return batched(convolve, input, AXES, _wrong_rank("conv_transpose3d", AXES, input))


def _reach(x: Any, weight: Any, steps: Sizes, spread: Sizes, extra: Sizes) -> Sizes:
    """The sizes that the windows cover, and what is added at the end."""
    return tuple(
        (size - 1) * s + d * (k - 1) + 1 + e
        for size, s, d, k, e in zip(
            x.shape[2:], steps, spread, weight.shape[2:], extra, strict=True
        )
    )


def max_pool3d(
    input: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The largest element of each window over three axes; as `max_pool2d`."""
    found = _max_pool(AXES, input, kernel_size, stride, padding, dilation, ceil_mode, True)
    return found if return_indices else found[0]


def avg_pool3d(
    input: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Any:
    """The mean of each window over three axes; as `avg_pool2d`."""
    divisor = divisor_override
    whole = count_include_pad or not any(per_axis(padding, AXES))
    if divisor is None and not ceil_mode and whole:
        divisor = math.prod(per_axis(kernel_size, AXES))
    options = (stride, padding, ceil_mode, count_include_pad, divisor)
    return _avg_pool(AXES, input, kernel_size, *options)


def adaptive_avg_pool3d(input: Any, output_size: Any) -> Any:
    """The means of parts of the last three axes: see `adaptive_avg_pool2d`."""
    return _adaptive(AXES, input, output_size)


def _adaptive_max(axes: int, input: Any, wanted: Any, return_indices: bool) -> Any:
    sizes = (wanted,) * axes if wanted is None or hasattr(wanted, "__index__") else tuple(wanted)
    if len(sizes) != axes:
        raise AutogradError(f"adaptive_max_pool{axes}d: output_size must be {axes}")
    if input.ndim not in (axes + 1, axes + 2):
        raise AutogradError(
            f"adaptive_max_pool{axes}d(): Expected {axes + 1}D or {axes + 2}D tensor, but got: "
            f"{listed(input.shape)}"
        )
    spatial = tuple(input.shape[input.ndim - axes :])
    parts = tuple(
        have if one is None else int(one) for one, have in zip(sizes, spatial, strict=True)
    )
    flat = ops.reshape(input, (*input.shape[: input.ndim - axes], -1))
    places = np.arange(math.prod(spatial)).reshape(spatial)
    chosen = []
    for index in np.ndindex(parts):
        part = tuple(
            slice(i * size // count, -(-(i + 1) * size // count))
            for i, size, count in zip(index, spatial, parts, strict=True)
        )
        inside = places[part].reshape(-1)
        chosen.append(inside[np.argmax(flat._array[..., inside], -1)])
    indices = wrap(np.stack(chosen, -1))
    shape = (*input.shape[: input.ndim - axes], *parts)
    values = ops.reshape(ops.take_along_axis(flat, indices, -1), shape)
    return (values, ops.reshape(indices, shape)) if return_indices else values


def adaptive_max_pool1d(input: Any, output_size: Any, return_indices: bool = False) -> Any:
    """The largest elements of parts of the last axis: see `adaptive_avg_pool2d` for the parts."""
    return _adaptive_max(1, input, output_size, return_indices)


def adaptive_max_pool2d(input: Any, output_size: Any, return_indices: bool = False) -> Any:
    """The largest elements of parts of the last two axes; with `return_indices` also where."""
    return _adaptive_max(2, input, output_size, return_indices)


def adaptive_max_pool3d(input: Any, output_size: Any, return_indices: bool = False) -> Any:
    """The largest elements of parts of the last three axes; with `return_indices` also where."""
    return _adaptive_max(AXES, input, output_size, return_indices)
