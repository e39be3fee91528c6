"""Unpooling: the inverse of max pooling, zeros where no element was the largest."""

from __future__ import annotations

from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core import dims
from staticgraph.compiler.core.dims import Dim, Size
from staticgraph.compiler.core.errors import DTypeError, OptionError, ShapeError
from staticgraph.compiler.core.op import Operand
from staticgraph.compiler.core.values import Value
from staticgraph.compiler.layers.axes import (
    PerAxis,
    Sizes,
    flattened,
    per_axis,
    same_shape,
    shown,
)
from staticgraph.compiler.ops.declare import as_operand

__all__ = ["max_unpool1d", "max_unpool2d", "max_unpool3d"]


def max_unpool1d(
    x: Value, indices: Value, kernel_size: PerAxis, stride: PerAxis | None = None,
    padding: PerAxis = 0, output_size: Value = None,
) -> Value:  # fmt: skip
    """The elements at the places that `max_pool1d` returned, zeros elsewhere; as `max_unpool2d`.

    Example:
        >>> sg.nn.max_unpool1d(np.array([[3.0, 2.0]]), np.array([[1, 2]]), 2)
        array([[0., 3., 2., 0.]])
    """
    return _unpool("max_unpool1d", 1, x, indices, kernel_size, stride, padding, output_size)


def max_unpool2d(
    x: Value, indices: Value, kernel_size: PerAxis, stride: PerAxis | None = None,
    padding: PerAxis = 0, output_size: Value = None,
) -> Value:  # fmt: skip
    """The elements at the places that `max_pool2d` returned, zeros elsewhere.

    (n, c, h, w) and integers of the same shape -> (n, c, *output_size); n is optional. The sizes
    are the smallest that the options of the pooling allow if `output_size` is None.

    Raises:
        ShapeError: shapes or ranks do not fit.
        DTypeError: the indices are no integers.
        OptionError: an option is out of range.
        OutOfRangeError: a place is outside.

    Example:
        >>> sg.nn.max_unpool2d(np.array([[[5.0]]]), np.array([[[3]]]), 2)
        array([[[0., 0.],
                [0., 5.]]])
    """
    return _unpool("max_unpool2d", 2, x, indices, kernel_size, stride, padding, output_size)


def max_unpool3d(
    x: Value, indices: Value, kernel_size: PerAxis, stride: PerAxis | None = None,
    padding: PerAxis = 0, output_size: Value = None,
) -> Value:  # fmt: skip
    """The elements at the places that `max_pool3d` returned, zeros elsewhere; as `max_unpool2d`.

    Example:
        >>> sg.nn.max_unpool3d(np.array([[[[5.0]]]]), np.array([[[[0]]]]), (1, 1, 2))
        array([[[[5., 0.]]]])
    """
    return _unpool("max_unpool3d", 3, x, indices, kernel_size, stride, padding, output_size)


def _unpool(
    name: str, axes: int, x: Any, indices: Any, kernel_size: Any, stride: Any, padding: Any,
    wanted: Any,
) -> Any:  # fmt: skip
    x, indices = as_operand(x), as_operand(indices)
    size = per_axis(name, "kernel_size", kernel_size, axes, 1)
    step = size if stride is None else per_axis(name, "stride", stride, axes, 1)
    edge = per_axis(name, "padding", padding, axes, 0)
    if x.ndim not in (axes + 1, axes + 2):
        raise ShapeError(f"{name}: {shown(x)} has {x.ndim} axes, of {axes + 1} or {axes + 2}")
    if np.dtype(indices.dtype).kind not in "iu":
        raise DTypeError(f"{name}: indices {shown(indices)} are no integers")
    same_shape(name, x, "indices", indices)
    usual = usual_sizes(x, size, step, edge)
    shape = usual if wanted is None else tuple(wanted)[-axes:]
    for one, least, s in zip(shape, usual, step, strict=True):
        if not isinstance(one - least, Dim) and not -s < one - least < s:
            raise OptionError(f"{name}: output_size {shape} is not within {step} of {usual}")
    return put(x, indices, shape)


def usual_sizes(x: Value, size: Sizes, step: Sizes, edge: Sizes) -> tuple[Size, ...]:
    """The smallest sizes whose windows are the elements of x."""
    lead = x.ndim - len(size)
    return tuple(
        (n - 1) * s + k - 2 * p for n, s, k, p in zip(x.shape[lead:], step, size, edge, strict=True)
    )


def put(x: Value, indices: Value, shape: tuple[Size, ...]) -> Value:
    """The elements of x at places in the flat last axes, which have this shape; zeros elsewhere."""
    lead = x.ndim - len(shape)
    flat, places = flattened(x, lead), flattened(indices, lead)
    whole = (*x.shape[:lead], dims.product(shape))
    zero: Any = np.zeros((), np.dtype(x.dtype))
    zeros = ops.broadcast_to(x._constant(zero) if isinstance(x, Operand) else zero, whole)
    found = ops.scatter.bound((zeros, flat, places), {"axis": lead, "wrap": False})
    return ops.reshape(found, (*x.shape[:lead], *shape))
