"""Pooling as the one node that it is in PyTorch: ops that only tensors have.

The last axes are those that windows slide over; any axes may be in front of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core import provided
from staticgraph.compiler.core.bounds import Windows
from staticgraph.compiler.core.op import Attrs, Op, Operand
from staticgraph.compiler.core.types import TensorType
from staticgraph.compiler.ops.batching import of_one_shape, unchanged


def largest(x: Any, windows: Windows) -> tuple[Any, Any]:
    """The largest element of each window, and its place in the flat axes, int32.

    Of equal ones the first, but of nan the last, as PyTorch. `x` is row-major.
    """
    shape = (*x.shape[: x.ndim - len(windows.sizes)], *windows.counts)
    out, places = np.empty(shape, x.dtype), np.empty(shape, np.int32)
    provided.over_windows("largest", windows, out, places, x)
    return out, places


def _flat(x: Any, axes: int) -> Any:
    lead = x.ndim - axes
    return ops.reshape(x, (*x.shape[:lead], prod(x.shape[lead:])))


def _at_places(x: Any, places: Any, *, windows: Windows, kind: str) -> Any:
    axes = len(windows.sizes)
    index = _flat(places, axes)
    found = ops.take_along_axis(_flat(x, axes), index, index.ndim - 1, wrap=False)
    return ops.reshape(found, places.shape)


def _of_places(x: TensorType, places: TensorType, **attrs: object) -> TensorType:
    return TensorType(places.shape, x.dtype)


def _put(g: Any, o: object, x: Any, places: Any, *, windows: Windows, kind: str) -> Any:
    axes = len(windows.sizes)
    index = _flat(places, axes)
    flat = ops.broadcast_to(np.zeros((), x.dtype), (*x.shape[: x.ndim - axes], windows.size))
    rule: Any = ops.take_along_axis.rule(0)
    found = rule(_flat(g, axes), None, flat, index, axis=index.ndim - 1, wrap=False)
    return ops.reshape(found, x.shape)


def _put_arrays(
    wanted: Sequence[int], g: Any, o: object, x: Any, places: Any, *, windows: Windows, kind: str
) -> Sequence[Any]:
    found = np.empty(x.shape, g.dtype)
    provided.over_windows("put", windows, found, places, np.ascontiguousarray(g))
    return (found,)


max_pooled = Op(
    name="max_pooled",
    infer_type=_of_places,
    evaluate=_at_places,
    vjp=(_put, None),
    vjp_arrays=_put_arrays,
    saves=("ab", ""),  # PyTorch keeps the image too: who changes it in place is told
    expand=_at_places,
    batching=of_one_shape,
    doc="The elements at places in the flat last axes, those that `largest` found.",
)


def _means(x: Any, *, windows: Windows, kind: str) -> Any:
    out = np.empty((*x.shape[: x.ndim - len(windows.sizes)], *windows.counts), x.dtype)
    provided.over_windows("means", windows, out, np.ascontiguousarray(x))
    return out


def _shares(g: Any, *, windows: Windows, kind: str) -> Any:
    out = np.empty((*g.shape[: g.ndim - len(windows.sizes)], *windows.sizes), g.dtype)
    provided.over_windows("shares", windows, out, np.ascontiguousarray(g))
    return out


def _type_of_means(x: TensorType, *, windows: Windows, kind: str) -> TensorType:
    return TensorType((*x.shape[: x.ndim - len(windows.sizes)], *windows.counts), x.dtype)


def _type_of_shares(g: TensorType, *, windows: Windows, kind: str) -> TensorType:
    return TensorType((*g.shape[: g.ndim - len(windows.sizes)], *windows.sizes), g.dtype)


def _along_axes(x: Any, windows: Windows, back: bool) -> Any:
    """The means or shares by a product with a matrix along each axis."""
    lead = x.ndim - len(windows.axes)
    for axis, (bounds, step) in enumerate(windows.axes, lead):
        weights = np.zeros((windows.sizes[axis - lead], len(bounds)), np.dtype(x.dtype))
        for i, (start, stop, counted) in enumerate(bounds):
            weights[start:stop:step, i] = 1 / counted
        order = [i for i in range(x.ndim) if i != axis]
        moved = ops.matmul(ops.transpose(x, (*order, axis)), weights.T if back else weights)
        x = ops.transpose(moved, (*range(axis), x.ndim - 1, *range(axis, x.ndim - 1)))
    return x


def _applied(op: Op, x: Any, attrs: Attrs) -> Any:
    return x._apply(op, (x,), attrs) if isinstance(x, Operand) else op.evaluate(x, **attrs)


avg_pooled: Op = Op(
    name="avg_pooled",
    infer_type=_type_of_means,
    evaluate=_means,
    vjp=(lambda g, o, x, **attrs: _applied(avg_shares, g, attrs),),
    saves=("a",),  # as PyTorch
    expand=lambda x, *, windows, kind: _along_axes(x, windows, False),
    batching=unchanged,
    linearity="linear",
    doc="The means of windows over the last axes.",
)
avg_shares: Op = Op(
    name="avg_shares",
    infer_type=_type_of_shares,
    evaluate=_shares,
    vjp=(lambda g, o, x, **attrs: _applied(avg_pooled, g, attrs),),
    saves=("",),
    expand=lambda g, *, windows, kind: _along_axes(g, windows, True),
    batching=unchanged,
    linearity="linear",
    doc="What each element has of the cotangents of means: the adjoint of `avg_pooled`.",
)
