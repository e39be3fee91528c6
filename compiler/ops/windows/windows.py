"""Sliding windows over the last axes, and their adjoint: the parts of convolution and pooling."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np

from staticgraph.compiler.core import dims
from staticgraph.compiler.core.affine import Affine
from staticgraph.compiler.core.dims import Size
from staticgraph.compiler.core.errors import OptionError, ShapeError
from staticgraph.compiler.core.lowering import Index, IndexMap, Overlap
from staticgraph.compiler.core.op import Attrs, Op, register
from staticgraph.compiler.core.types import Shape, TensorType, fits
from staticgraph.compiler.ops.batching import unchanged
from staticgraph.compiler.ops.declare import as_operand
from staticgraph.compiler.ops.shapes.slicing import strided_slice

__all__ = ["sliding_windows"]

Steps = tuple[int, ...]


def window_count(size: Size, window: int, stride: int, dilation: int) -> Size:
    """How many windows fit into an axis."""
    return dims.floor_divide(size - dilation * (window - 1) - 1, stride) + 1


def _bind(
    x: object, sizes: Sequence[int], strides: Sequence[int], dilations: Sequence[int]
) -> tuple[Sequence[Any], Attrs]:
    x = as_operand(x)
    attrs = {
        "sizes": tuple(map(int, sizes)),
        "strides": tuple(map(int, strides)),
        "dilations": tuple(map(int, dilations)),
    }
    if len({len(value) for value in attrs.values()}) != 1:
        raise OptionError(f"sliding_windows: {attrs} do not name the same number of axes")
    if any(value < 1 for steps in attrs.values() for value in steps):
        raise OptionError(f"sliding_windows: {attrs}: each must be at least 1")
    return (x,), attrs


def _type(x: TensorType, *, sizes: Steps, strides: Steps, dilations: Steps) -> TensorType:
    if x.ndim < len(sizes):
        raise ShapeError(f"sliding_windows: {x} has fewer axes than the window {sizes}")
    counts = []
    for size, *steps in zip(x.shape[x.ndim - len(sizes) :], sizes, strides, dilations, strict=True):
        count = window_count(size, *steps)
        if not fits(1, count):
            raise ShapeError(f"sliding_windows: no window {sizes} by {dilations} fits into {x}")
        counts.append(count)
    return TensorType(x.shape[: x.ndim - len(sizes)] + tuple(counts) + sizes, x.dtype)


def _numpy(x: Any, *, sizes: Steps, strides: Steps, dilations: Steps) -> Any:
    lead = x.ndim - len(sizes)
    spans = tuple(d * (k - 1) + 1 for k, d in zip(sizes, dilations, strict=True))
    axes = tuple(range(lead, x.ndim))
    windows = np.lib.stride_tricks.sliding_window_view(x, spans, axes)
    every: list[Any] = [slice(None)] * lead
    every += [slice(None, None, step) for step in strides]
    every += [slice(None, None, step) for step in dilations]
    return windows[tuple(every)]


def _joined(index: Index, k: int, strides: Steps, dilations: Steps) -> Index:
    """The index into the axes that windows of `k` axes slide over."""
    lead, place, inside = index[: len(index) - 2 * k], index[-2 * k : -k], index[-k:]
    moved: tuple[Affine, ...] = tuple(
        outer * stride + inner * dilation
        for outer, inner, stride, dilation in zip(place, inside, strides, dilations, strict=True)
    )
    return lead + moved


def _vjp(g: object, o: object, a: Any, *, sizes: Steps, strides: Steps, dilations: Steps) -> Any:
    return overlap_add(g, a.shape[a.ndim - len(sizes) :], strides, dilations)


sliding_windows = register(
    Op(
        name="sliding_windows",
        infer_type=_type,
        evaluate=_numpy,
        vjp=(_vjp,),
        saves=("",),
        bind=_bind,
        lowering=IndexMap(
            lambda index, x, out, *, sizes, strides, dilations: _joined(
                index, len(sizes), strides, dilations
            ),
            repeats=True,
        ),
        batching=unchanged,
        linearity="linear",
        exact=True,
        complex="linear",
        doc="Every window over the last axes: (..., n) -> (..., windows, window), for one axis; "
        "for k axes k counts and then k window axes.",
        example=">>> sg.sliding_windows(np.array([1.0, 2.0, 3.0, 4.0]), (2,), (1,), (1,))\n"
        "array([[1., 2.],\n"
        "       [2., 3.],\n"
        "       [3., 4.]])",
    )
)


def _overlap_bind(
    x: object, shape: Sequence[Size], strides: Sequence[int], dilations: Sequence[int]
) -> tuple[Sequence[Any], Attrs]:
    return (as_operand(x),), {
        "shape": tuple(shape),
        "strides": tuple(strides),
        "dilations": tuple(dilations),
    }


def _overlap_type(x: TensorType, *, shape: Shape, strides: Steps, dilations: Steps) -> TensorType:
    k = len(shape)
    if x.ndim < 2 * k:
        raise ShapeError(f"overlap_add: {x} has no windows of {k} axes")
    counts, sizes = x.shape[x.ndim - 2 * k : x.ndim - k], x.shape[x.ndim - k :]
    for size, count, window, stride, dilation in zip(
        shape, counts, sizes, strides, dilations, strict=True
    ):
        reach = (count - 1) * stride + (window - 1) * dilation + 1
        if isinstance(reach, int) and isinstance(size, int) and count != 0 and reach > size:
            raise ShapeError(f"overlap_add: the windows of {x} reach {reach}, past {shape}")
    return TensorType(x.shape[: x.ndim - 2 * k] + shape, x.dtype)


def _overlap_numpy(x: Any, *, shape: Any, strides: Steps, dilations: Steps) -> Any:
    k = len(shape)
    lead, counts, sizes = x.shape[: -2 * k], x.shape[-2 * k : -k], x.shape[-k:]
    result = np.zeros(lead + shape, x.dtype)
    for inside in product(*map(range, sizes)):
        place = tuple(
            slice(i * dilation, i * dilation + count * stride, stride)
            for i, count, stride, dilation in zip(inside, counts, strides, dilations, strict=True)
        )
        element: Any = (..., *inside)
        target: Any = (..., *place)
        result[target] += x[element]
    return result


def _overlap_vjp(g: Any, o: object, a: Any, *, shape: Any, strides: Steps, dilations: Steps) -> Any:
    sizes = a.shape[a.ndim - len(shape) :]
    windows = sliding_windows(g, sizes, strides, dilations)
    counts = a.shape[a.ndim - 2 * len(shape) : a.ndim - len(shape)]
    return leading_part(windows, g.ndim - len(shape), counts)


def _meets(x: TensorType, *, shape: Any, strides: Steps, dilations: Steps) -> tuple[bool, bool]:
    """Whether windows may overlap, and whether they cover everything."""
    k = len(shape)
    counts, sizes = x.shape[x.ndim - 2 * k : x.ndim - k], x.shape[x.ndim - k :]
    reach = [(size - 1) * step for size, step in zip(sizes, dilations, strict=True)]
    overlap = any(
        not isinstance(length, int) or length >= stride
        for length, stride in zip(reach, strides, strict=True)
    )
    covered = tuple(count * stride for count, stride in zip(counts, strides, strict=True))
    return overlap, sizes == strides and covered == tuple(shape)


def leading_part(x: Any, axis: int, sizes: Sequence[Size]) -> Any:
    """The first `sizes` elements of the axes from `axis` on."""
    wanted = (*x.shape[:axis], *sizes, *x.shape[axis + len(sizes) :])
    if tuple(wanted) == tuple(x.shape):
        return x
    return strided_slice(x, (0,) * x.ndim, wanted, (1,) * x.ndim)


overlap_add = register(
    Op(
        name="overlap_add",
        infer_type=_overlap_type,
        evaluate=_overlap_numpy,
        vjp=(_overlap_vjp,),
        saves=("",),
        bind=_overlap_bind,
        lowering=Overlap(
            lambda index, x, *, shape, strides, dilations: _joined(
                index, len(shape), strides, dilations
            ),
            _meets,
        ),
        batching=unchanged,
        linearity="linear",
        complex="linear",
        doc="Windows added back into the axes that they were taken from, of sizes `shape`: the "
        "adjoint of `sliding_windows`.",
    )
)
