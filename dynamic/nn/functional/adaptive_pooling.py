"""Adaptive pooling: the last axes in a wanted number of parts, and a number for each of them.

What is computed is `staticgraph.compiler.layers.adaptive_pooling`, which both paradigms share.
"""

from __future__ import annotations

from typing import Any

from staticgraph.compiler import ops
from staticgraph.compiler.layers.adaptive_pooling import averaged, largest
from staticgraph.compiler.layers.axes import flattened
from staticgraph.dynamic.core.errors import AutogradError
from staticgraph.dynamic.core.required_ints import require_int
from staticgraph.dynamic.nn.functional import pooled
from staticgraph.dynamic.nn.functional.windows import listed
from staticgraph.dynamic.tensors.naming import called
from staticgraph.dynamic.tensors.tensor import PLAIN, wrap

__all__ = [
    "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "adaptive_max_pool1d",
    "adaptive_max_pool2d", "adaptive_max_pool3d",
]  # fmt: skip


@called("SqueezeBackward1")
def adaptive_avg_pool1d(input: object, output_size: object) -> Any:
    """The means of `output_size` parts of the last axis: (n, c, l) -> (n, c, output_size).

    Example:
        >>> nn.functional.adaptive_avg_pool1d(dynamic.tensor([[1.0, 2.0, 6.0]]), 2)
        tensor([[1.5000, 4.0000]])
    """
    return _means(1, input, output_size)


def adaptive_avg_pool2d(input: object, output_size: object) -> Any:
    """The means of parts of the last two axes: (n, c, h, w) -> (n, c, *output_size).

    Part i of m of an axis of size s goes from floor(i s / m) to ceil((i + 1) s / m); None keeps
    the size of an axis, one number is that of both.

    Example:
        >>> nn.functional.adaptive_avg_pool2d(dynamic.arange(6.0).reshape(1, 2, 3), (1, None))
        tensor([[[1.5000, 2.5000, 3.5000]]])
    """
    return _means(2, input, output_size)


def adaptive_avg_pool3d(input: object, output_size: object) -> Any:
    """The means of parts of the last three axes: see `adaptive_avg_pool2d`.

    Example:
        >>> nn.functional.adaptive_avg_pool3d(dynamic.arange(8.0).reshape(1, 2, 2, 2), 1)
        tensor([[[[3.5000]]]])
    """
    return _means(3, input, output_size)


def _counts(name: str, axes: int, input: Any, wanted: Any, but: str) -> tuple[Any, ...]:
    """The wanted number of parts of each axis, None for all its elements."""
    counts = (wanted,) * axes if wanted is None or hasattr(wanted, "__index__") else tuple(wanted)
    if len(counts) != axes:
        raise AutogradError(f"{name}: output_size must be {axes}")
    for count in counts:
        if count is not None:
            require_int(name, "output_size", 2, count, 0)
    if input.ndim not in (axes + 1, axes + 2):
        raise AutogradError(
            f"{name}(): Expected {axes + 1}D or {axes + 2}D tensor, but got{but} "
            f"{listed(input.shape)}"
        )
    if 0 in input.shape[-axes:]:
        raise AutogradError(
            f"{name}(): Expected input to have non-zero size for non-batch dimensions, but input "
            f"has sizes {listed(input.shape)} with dimension "
            f"{list(input.shape).index(0, input.ndim - axes)} being empty"
        )
    return counts


def _means(axes: int, input: Any, wanted: object) -> Any:
    counts = _counts(f"adaptive_avg_pool{axes}d", axes, input, wanted, "")
    x = pooled.image_of(input, axes)
    if x is None:
        return averaged(input, counts)
    if axes == 1:
        return pooled.of_one_axis(lambda one: _means(2, one, (1, *counts)), input)
    if all(count == 1 for count in counts):
        return ops.mean(input, axis=tuple(range(x.ndim - axes, x.ndim)), keepdims=True)
    attrs = pooled.adaptive_windows(f"AdaptiveAvgPool{axes}D", x.shape[x.ndim - axes :], counts)
    return averaged(input, counts) if attrs is None else pooled.means(input, x, attrs)


def _maxima(axes: int, input: Any, wanted: object, return_indices: bool) -> Any:
    sizes = _counts(f"adaptive_max_pool{axes}d", axes, input, wanted, ":")
    x = pooled.image_of(input, axes)
    if x is not None and axes == 1:
        return pooled.of_one_axis(lambda one: _maxima(2, one, (1, *sizes), return_indices), input)
    if x is not None:
        attrs = pooled.adaptive_windows(f"AdaptiveMaxPool{axes}D", x.shape[x.ndim - axes :], sizes)
        if attrs is not None:
            return pooled.largest(input, x, attrs, return_indices)
    if type(input) not in PLAIN:
        return largest(input, sizes, return_indices)
    indices = wrap(largest(input._array, sizes, True)[1])  # one gather is one node
    first = input.ndim - axes
    flat = ops.take_along_axis(flattened(input, first), flattened(indices, first), first)
    values = ops.reshape(flat, tuple(indices.shape))
    return (values, indices) if return_indices else values


@called("SqueezeBackward1")
def adaptive_max_pool1d(input: object, output_size: object, return_indices: bool = False) -> Any:
    """The largest elements of parts of the last axis: see `adaptive_avg_pool2d` for the parts.

    Example:
        >>> nn.functional.adaptive_max_pool1d(
        ...     dynamic.tensor([[1.0, 9.0, 6.0]]), 2, return_indices=True
        ... )
        (tensor([[9., 9.]]), tensor([[1, 1]]))
    """
    return _maxima(1, input, output_size, return_indices)


def adaptive_max_pool2d(input: object, output_size: object, return_indices: bool = False) -> Any:
    """The largest elements of parts of the last two axes; with `return_indices` also where.

    Example:
        >>> nn.functional.adaptive_max_pool2d(dynamic.arange(6.0).reshape(1, 2, 3), 1)
        tensor([[[5.]]])
    """
    return _maxima(2, input, output_size, return_indices)


def adaptive_max_pool3d(input: object, output_size: object, return_indices: bool = False) -> Any:
    """The largest elements of parts of the last three axes; with `return_indices` also where.

    Example:
        >>> x = dynamic.arange(8.0).reshape(1, 2, 2, 2)
        >>> nn.functional.adaptive_max_pool3d(x, (2, 1, 1)).flatten()
        tensor([3., 7.])
    """
    return _maxima(3, input, output_size, return_indices)
