"""Pooling over one, two or three axes: PyTorch's arguments and refusals.

What is computed is `staticgraph.compiler.layers.pooling`, which both paradigms share.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

from staticgraph.compiler.core.bounds import KEPT
from staticgraph.compiler.core.dims import Dim
from staticgraph.compiler.layers.pooling import avg_pooled, lp_norm, max_pooled, window_counts
from staticgraph.dynamic.core.errors import AutogradError
from staticgraph.dynamic.nn.functional.pooled import (
    image_of,
    largest,
    means,
    of_one_axis,
    sliding_windows,
)
from staticgraph.dynamic.nn.functional.windows import Sizes, batched, listed, per_axis
from staticgraph.dynamic.tensors.naming import called

__all__ = [
    "avg_pool1d", "avg_pool2d", "avg_pool3d", "lp_pool1d", "lp_pool2d", "lp_pool3d", "max_pool1d",
    "max_pool2d", "max_pool3d",
]  # fmt: skip

_MAXIMA = {2: "MaxPool2DWithIndices", 3: "MaxPool3DWithIndices"}
_MEANS = {2: "AvgPool2D", 3: "AvgPool3D"}
"""PyTorch's names of nodes by the number of axes."""


@called("SqueezeBackward1")
def max_pool1d(
    input: object, kernel_size: object, stride: object = None, padding: object = 0,
    dilation: object = 1, ceil_mode: bool = False, return_indices: bool = False,
) -> Any:  # fmt: skip
    """The largest element of each window: (n, c, l) -> (n, c, l'); as `max_pool2d`.

    Example:
        >>> nn.functional.max_pool1d(dynamic.tensor([[1.0, 3.0, 2.0, 0.0]]), 2)
        tensor([[3., 2.]])
    """
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

    Example:
        >>> nn.functional.max_pool2d(dynamic.arange(9.0).reshape(1, 3, 3), 2, ceil_mode=True)
        tensor([[[4., 5.],
                 [7., 8.]]])
    """
    options = (kernel_size, stride, padding, dilation, ceil_mode, return_indices)
    return _max_pool(2, input, *options)


def max_pool3d(
    input: object, kernel_size: object, stride: object = None, padding: object = 0,
    dilation: object = 1, ceil_mode: bool = False, return_indices: bool = False,
) -> Any:  # fmt: skip
    """The largest element of each window over three axes; as `max_pool2d`.

    Example:
        >>> nn.functional.max_pool3d(dynamic.arange(8.0).reshape(1, 2, 2, 2), 2)
        tensor([[[[7.]]]])
    """
    options = (kernel_size, stride, padding, dilation, ceil_mode, return_indices)
    return _max_pool(3, input, *options)


def _max_pool(
    axes: int, input: Any, kernel_size: object, stride: object, padding: object,
    dilation: object, ceil_mode: bool, return_indices: bool,
) -> Any:  # fmt: skip
    size, step, edge, spread = _options(axes, kernel_size, stride, padding, dilation)
    array = image_of(input, axes)
    if array is not None and axes == 1:
        rows = (1, *size), (1, *step), (0, *edge), (1, *spread), ceil_mode, return_indices
        return of_one_axis(lambda x: _max_pool(2, x, *rows), input)
    if array is not None:
        sizes = array.shape[array.ndim - axes :]
        attrs = sliding_windows(_MAXIMA[axes], sizes, size, step, edge, spread, ceil_mode)
        if attrs is not None:
            return largest(input, array, attrs, return_indices)

    def pool(x: object) -> Any:
        _check_room(x, size, step, edge, spread, ceil_mode)
        return max_pooled(x, size, step, edge, spread, ceil_mode, return_indices)

    message = f"non-empty {axes + 1}D or {axes + 2}D (batch mode) tensor expected for input"
    return batched(pool, input, axes, message)


def _is_empty(stride: object) -> bool:
    """Whether it is what PyTorch has for None."""
    return isinstance(stride, list | tuple) and not stride


def _options(
    axes: int, kernel_size: object, stride: object, padding: object, dilation: object
) -> tuple[Sizes, Sizes, Sizes, Sizes]:
    """Per axis the sizes of windows, steps, zeros and distances."""
    numbers = type(kernel_size) is type(padding) is type(dilation) is int
    if numbers and (stride is None or type(stride) is int):
        return _of_numbers(axes, kernel_size, stride, padding, dilation)
    return _checked(axes, kernel_size, stride, padding, dilation)


def _checked(
    axes: int, kernel_size: object, stride: object, padding: object, dilation: object
) -> tuple[Sizes, Sizes, Sizes, Sizes]:
    size = per_axis(kernel_size, axes)
    step = size if stride is None or _is_empty(stride) else per_axis(stride, axes)
    if any(one == 0 for one in step):
        raise AutogradError("stride should not be zero")
    edge, spread = per_axis(padding, axes), per_axis(dilation, axes)
    _check_padding(edge, size, spread)
    return size, step, edge, spread


_of_numbers = lru_cache(KEPT)(_checked)


def _check_padding(padding: Sizes, size: Sizes, dilation: Sizes) -> None:
    for p, k, d in zip(padding, size, dilation, strict=True):
        if p < 0:
            raise AutogradError(f"pad must be non-negative, but got pad: {p}")
        if p > (d * (k - 1) + 1) // 2:
            raise AutogradError(
                "pad should be at most half of effective kernel size, but got "
                f"pad={p}, kernel_size={k} and dilation={d}"
            )


def _check_room(
    x: Any, size: Sizes, step: Sizes, edge: Sizes, spread: Sizes, ceil_mode: bool
) -> None:
    """RuntimeError if an axis is known to have no window."""
    counts = window_counts(x, size, step, edge, spread, ceil_mode)
    if any(not isinstance(count, Dim) and count < 1 for count in counts):
        before, after = (
            "x".join(map(str, numbers)) for numbers in (x.shape[1:], (x.shape[1], *counts))
        )
        raise AutogradError(
            f"Given input size: ({before}). Calculated output size: ({after}). Output size is too "
            "small"
        )


@called("SqueezeBackward1")
def avg_pool1d(
    input: object, kernel_size: object, stride: object = None, padding: object = 0,
    ceil_mode: bool = False, count_include_pad: bool = True,
) -> Any:  # fmt: skip
    """The mean of each window: (n, c, l) -> (n, c, l'); as `avg_pool2d`.

    Example:
        >>> nn.functional.avg_pool1d(dynamic.tensor([[1.0, 3.0, 2.0, 0.0]]), 2)
        tensor([[2., 1.]])
    """
    return _avg_pool(1, input, kernel_size, stride, padding, ceil_mode, count_include_pad, None)


def avg_pool2d(
    input: object, kernel_size: object, stride: object = None, padding: object = 0,
    ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: int | None = None,
) -> Any:  # fmt: skip
    """The mean of each window: (n, c, h, w) -> (n, c, h', w'); n is optional.

    The padding counts as zeros, or with `count_include_pad=False` not at all;
    `divisor_override` divides the sums instead of the number of elements.

    Example:
        >>> nn.functional.avg_pool2d(dynamic.ones((1, 3, 3)), 2, padding=1)
        tensor([[[0.2500, 0.5000],
                 [0.5000, 1.0000]]])
    """
    options = (stride, padding, ceil_mode, count_include_pad, divisor_override)
    return _avg_pool(2, input, kernel_size, *options)


def avg_pool3d(
    input: object, kernel_size: object, stride: object = None, padding: object = 0,
    ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: int | None = None,
) -> Any:  # fmt: skip
    """The mean of each window over three axes; as `avg_pool2d`.

    Example:
        >>> nn.functional.avg_pool3d(dynamic.arange(8.0).reshape(1, 2, 2, 2), 2)
        tensor([[[[3.5000]]]])
    """
    options = (stride, padding, ceil_mode, count_include_pad, divisor_override)
    return _avg_pool(3, input, kernel_size, *options)


def _avg_pool(
    axes: int, input: Any, kernel_size: object, stride: object, padding: object, ceil_mode: bool,
    count_include_pad: bool, divisor_override: int | None,
) -> Any:  # fmt: skip
    if divisor_override == 0:
        raise AutogradError("divisor must be not zero")
    size, step, edge, ones = _options(axes, kernel_size, stride, padding, 1)
    usual = divisor_override is None or type(divisor_override) is int
    array = image_of(input, axes) if usual else None  # what is no number is told of below
    if array is not None and axes == 1:
        rows = (1, *size), (1, *step), (0, *edge), ceil_mode, count_include_pad, divisor_override
        return of_one_axis(lambda x: _avg_pool(2, x, *rows), input)
    if array is not None:
        given = size, step, edge, ones, ceil_mode, count_include_pad, divisor_override
        attrs = sliding_windows(_MEANS[axes], array.shape[array.ndim - axes :], *given)
        if attrs is not None:
            return means(input, array, attrs)

    def pool(x: Any) -> Any:
        _check_room(x, size, step, edge, ones, ceil_mode)
        return avg_pooled(x, size, step, edge, ceil_mode, count_include_pad, divisor_override)

    message = (
        f"avg_pool{axes}d(): Expected {axes + 1}D or {axes + 2}D tensor, but got "
        f"{listed(input.shape)}"
    )
    return batched(pool, input, axes, message)


def _lp_pool(axes: int, input: object, p: float, size: object, stride: object, ceil: bool) -> Any:
    def means(powers: object) -> Any:
        return _avg_pool(axes, powers, size, stride, 0, ceil, True, None)

    return lp_norm(input, p, math.prod(per_axis(size, axes)), means)


def lp_pool1d(
    input: object,
    norm_type: float,
    kernel_size: object,
    stride: object = None,
    ceil_mode: bool = False,
) -> Any:
    """The p-norm of each window of the last axis, without absolute values.

    Example:
        >>> nn.functional.lp_pool1d(dynamic.tensor([[3.0, 4.0]]), 2, 2)
        tensor([[5.]])
    """
    return _lp_pool(1, input, norm_type, kernel_size, stride, ceil_mode)


def lp_pool2d(
    input: object,
    norm_type: float,
    kernel_size: object,
    stride: object = None,
    ceil_mode: bool = False,
) -> Any:
    """The p-norm of each window of the last two axes, without absolute values.

    Example:
        >>> nn.functional.lp_pool2d(dynamic.tensor([[[3.0, 4.0], [0.0, 0.0]]]), 2, 2)
        tensor([[[5.]]])
    """
    return _lp_pool(2, input, norm_type, kernel_size, stride, ceil_mode)


def lp_pool3d(
    input: object,
    norm_type: float,
    kernel_size: object,
    stride: object = None,
    ceil_mode: bool = False,
) -> Any:
    """The p-norm of each window of the last three axes, without absolute values.

    Example:
        >>> nn.functional.lp_pool3d(dynamic.ones((1, 2, 2, 1)), 2, (2, 2, 1))
        tensor([[[[2.]]]])
    """
    return _lp_pool(3, input, norm_type, kernel_size, stride, ceil_mode)
