"""Unpooling: the inverse of max pooling, zeros where no element was the largest."""

from __future__ import annotations

import math
from typing import Any

from staticgraph.compiler import ops
from staticgraph.compiler.core.errors import OptionError
from staticgraph.dynamic.core.errors import AutogradError
from staticgraph.dynamic.nn.functional.windows import flattened, per_axis
from staticgraph.dynamic.tensors.tensor import has_values

__all__ = ["max_unpool1d", "max_unpool2d", "max_unpool3d"]


def _max_unpool(
    axes: int,
    input: Any,
    indices: object,
    kernel_size: object,
    stride: object,
    padding: object,
    wanted: Any,
) -> Any:
    size, edge = per_axis(kernel_size, axes), per_axis(padding, axes)
    step = size if stride is None else per_axis(stride, axes)
    lead = input.ndim - axes
    usual = [
        (n - 1) * s + k - 2 * p
        for n, s, k, p in zip(input.shape[lead:], step, size, edge, strict=True)
    ]
    if wanted is None:
        shape = usual
    else:
        shape = list(wanted)[-axes:]
        for one, least, s in zip(shape, usual, step, strict=True):
            if not least - s < one < least + s:
                raise OptionError(
                    f"invalid output_size {shape} (dim 0 must be between {least - s} and "
                    f"{least + s})"
                )
    flat, places = flattened(input, lead), flattened(indices, lead)
    count = math.prod(shape)
    if has_values(places) and places._array.size and places._array.max() >= count:
        raise AutogradError(
            f"Found an invalid max index: {places._array.max()} (output volumes are of size "
            f"{'x'.join(map(str, shape))}"
        )
    zeros = input.new_zeros((*input.shape[:lead], count))
    return ops.reshape(zeros.scatter(lead, places, flat), (*input.shape[:lead], *shape))


def max_unpool1d(
    input: object, indices: object, kernel_size: object, stride: object = None, padding: object = 0,
    output_size: object = None,
) -> Any:  # fmt: skip
    """The elements at the places that `max_pool1d` returned, zeros elsewhere."""
    return _max_unpool(1, input, indices, kernel_size, stride, padding, output_size)


def max_unpool2d(
    input: object, indices: object, kernel_size: object, stride: object = None, padding: object = 0,
    output_size: object = None,
) -> Any:  # fmt: skip
    """The elements at the places that `max_pool2d` returned, zeros elsewhere."""
    return _max_unpool(2, input, indices, kernel_size, stride, padding, output_size)


def max_unpool3d(
    input: object, indices: object, kernel_size: object, stride: object = None, padding: object = 0,
    output_size: object = None,
) -> Any:  # fmt: skip
    """The elements at the places that `max_pool3d` returned, zeros elsewhere."""
    return _max_unpool(3, input, indices, kernel_size, stride, padding, output_size)
