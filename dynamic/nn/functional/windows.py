"""What convolution and pooling over one or two axes share: options per axis, batches, sizes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from staticgraph.compiler import ops
from staticgraph.compiler.core import dims
from staticgraph.dynamic.core.errors import AutogradError

Sizes = tuple[int, ...]


def flattened(x: Any, axis: int) -> Any:
    """The axes from one on as one: where there is no element, a size of -1 would not say which."""
    return ops.reshape(x, (*x.shape[:axis], dims.product(x.shape[axis:])))


def per_axis(value: Any, axes: int) -> Sizes:
    """An option as one number per axis; RuntimeError if it has another count."""
    numbers = (value,) * axes if hasattr(value, "__index__") else tuple(value)
    if len(numbers) == 1:
        numbers = numbers * axes
    if len(numbers) != axes:
        raise AutogradError(f"expected {axes} numbers, one per spatial axis, but got {value}")
    return tuple(int(number) for number in numbers)


def batched(function: Callable[[Any], object], input: Any, axes: int, message: str) -> Any:
    """`function` of (n, c, ...), on an input with or without the first axis.

    RuntimeError with `message` if the input has another number of axes.
    """
    if input.ndim == axes + 2:
        return function(input)
    if input.ndim != axes + 1:
        raise AutogradError(message)
    return ops.squeeze(function(ops.expand_dims(input, 0)), 0)


def output_size(
    size: int, window: int, stride: int, padding: int, dilation: int, ceil: bool
) -> int:
    """The number of windows along an axis; with `ceil` the last one may reach past the padding."""
    room = size + 2 * padding - dilation * (window - 1) - 1
    if not ceil:
        return room // stride + 1
    count = -(-room // stride) + 1
    # the last window starts inside the input or the padding before it
    return count - 1 if (count - 1) * stride >= size + padding else count


def listed(shape: Sequence[int]) -> str:
    """A shape as PyTorch's messages print it."""
    return str([int(size) for size in shape])
