"""Unpooling: the inverse of max pooling, zeros where no element was the largest."""

from __future__ import annotations

from typing import Any

from staticgraph.compiler.core import dims
from staticgraph.compiler.core.dims import Dim
from staticgraph.compiler.core.errors import OptionError
from staticgraph.compiler.layers.unpooling import put, usual_sizes
from staticgraph.dynamic.core.errors import AutogradError
from staticgraph.dynamic.nn.functional.windows import per_axis
from staticgraph.dynamic.tensors.tensor import has_values

__all__ = ["max_unpool1d", "max_unpool2d", "max_unpool3d"]


def _max_unpool(
    axes: int,
    input: Any,
    indices: Any,
    kernel_size: object,
    stride: object,
    padding: object,
    wanted: Any,
) -> Any:
    size, edge = per_axis(kernel_size, axes), per_axis(padding, axes)
    step = size if stride is None else per_axis(stride, axes)
    usual = usual_sizes(input, size, step, edge)
    shape = usual
    if wanted is not None:
        shape = tuple(wanted)[-axes:]
        for one, least, s in zip(shape, usual, step, strict=True):
            if not isinstance(one - least, Dim) and not least - s < one < least + s:
                raise OptionError(
                    f"invalid output_size {list(shape)} (dim 0 must be between {least - s} and "
                    f"{least + s})"
                )
    count = dims.product(shape)
    if has_values(indices) and indices._array.size and indices._array.max() >= count:
        raise AutogradError(
            f"Found an invalid max index: {indices._array.max()} (output volumes are of size "
            f"{'x'.join(map(str, shape))}"
        )
    return put(input, indices, shape)


def max_unpool1d(
    input: object, indices: object, kernel_size: object, stride: object = None, padding: object = 0,
    output_size: object = None,
) -> Any:  # fmt: skip
    """The elements at the places that `max_pool1d` returned, zeros elsewhere.

    Example:
        >>> nn.functional.max_unpool1d(dynamic.tensor([[3.0, 2.0]]), dynamic.tensor([[1, 2]]), 2)
        tensor([[0., 3., 2., 0.]])
    """
    return _max_unpool(1, input, indices, kernel_size, stride, padding, output_size)


def max_unpool2d(
    input: object, indices: object, kernel_size: object, stride: object = None, padding: object = 0,
    output_size: object = None,
) -> Any:  # fmt: skip
    """The elements at the places that `max_pool2d` returned, zeros elsewhere.

    Example:
        >>> nn.functional.max_unpool2d(dynamic.tensor([[[5.0]]]), dynamic.tensor([[[3]]]), 2)
        tensor([[[0., 0.],
                 [0., 5.]]])
    """
    return _max_unpool(2, input, indices, kernel_size, stride, padding, output_size)


def max_unpool3d(
    input: object, indices: object, kernel_size: object, stride: object = None, padding: object = 0,
    output_size: object = None,
) -> Any:  # fmt: skip
    """The elements at the places that `max_pool3d` returned, zeros elsewhere.

    Example:
        >>> nn.functional.max_unpool3d(
        ...     dynamic.tensor([[[[5.0]]]]), dynamic.tensor([[[[0]]]]), (1, 1, 2)
        ... )
        tensor([[[[5., 0.]]]])
    """
    return _max_unpool(3, input, indices, kernel_size, stride, padding, output_size)
