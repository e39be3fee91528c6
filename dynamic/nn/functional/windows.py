"""What convolution and pooling over one or two axes share: options per axis, batches, sizes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from staticgraph.compiler import ops
from staticgraph.compiler.core.dims import Dim
from staticgraph.dynamic.core.errors import ArgumentError, AutogradError

Sizes = tuple[int, ...]


def per_axis(value: Any, axes: int) -> Sizes:
    """An option as one number per axis; RuntimeError if it has another count."""
    if type(value) is int:  # the usual case, without a loop
        return (value,) * axes
    if hasattr(value, "__index__"):
        return (int(value),) * axes
    if not isinstance(value, Iterable):
        found = type(value).__name__
        raise ArgumentError(f"expected {axes} numbers, one per spatial axis, not {found}")
    numbers = tuple(value)
    if len(numbers) == 1:
        numbers = numbers * axes
    if len(numbers) != axes:
        raise AutogradError(f"expected {axes} numbers, one per spatial axis, but got {value}")
    for number in numbers:
        if not hasattr(number, "__index__"):
            found = type(number).__name__
            raise ArgumentError(f"expected {axes} ints, one per spatial axis, but found {found}")
    return tuple(map(int, numbers))


def batched(function: Callable[[Any], object], input: Any, axes: int, message: str) -> Any:
    """`function` of (n, c, ...), on an input with or without the first axis.

    RuntimeError with `message` if the input has another number of axes.
    """
    if input.ndim == axes + 2:
        return function(input)
    if input.ndim != axes + 1:
        raise AutogradError(message)
    found = function(ops.expand_dims(input, 0))
    if isinstance(found, tuple):
        return tuple(ops.squeeze(one, 0) for one in found)
    return ops.squeeze(found, 0)


def listed(shape: Sequence[Any]) -> str:
    """A shape as PyTorch's messages print it."""
    return str([size if isinstance(size, Dim) else int(size) for size in shape])
