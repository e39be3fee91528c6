"""Pooling over two axes: the largest, the mean or a norm of each window."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from staticgraph.compiler.core.errors import OptionError, ShapeError
from staticgraph.compiler.core.op import Attrs
from staticgraph.compiler.core.types import TensorType
from staticgraph.compiler.ops.batching import images
from staticgraph.compiler.ops.declare import as_operand, composite
from staticgraph.compiler.ops.elementwise.arithmetic import astype, maximum, power
from staticgraph.compiler.ops.elementwise.comparison import (
    equal,
    greater_equal,
    isnan,
    logical_and,
    where,
)
from staticgraph.compiler.ops.reductions.reduction import max, min, positions, sum
from staticgraph.compiler.ops.shapes.shape import broadcast_to, expand_dims
from staticgraph.compiler.ops.windows.conv import Pair, cropped, pair
from staticgraph.compiler.ops.windows.conv_direct import padded
from staticgraph.compiler.ops.windows.windows import overlap_add, sliding_windows
from staticgraph.compiler.reference import pooling_arrays

__all__ = ["avg_pool2d", "lp_pool2d", "max_pool2d"]


def _pool_bind(name: str) -> Callable[..., tuple[Sequence[Any], Attrs]]:
    def bind(
        x: Any, kernel_size: Any, stride: Any = None, padding: Any = 0
    ) -> tuple[Sequence[Any], Attrs]:
        size = pair(name, "kernel_size", kernel_size, 1)
        edge = pair(name, "padding", padding, 0)
        if any(2 * p > k for p, k in zip(edge, size, strict=True)):
            raise OptionError(f"{name}: padding {edge} is more than half the window {size}")
        step = size if stride is None else pair(name, "stride", stride, 1)
        return (as_operand(x),), {"size": size, "stride": step, "padding": edge}

    return bind


def _pool_check(name: str, x: TensorType, **attrs: object) -> None:
    if x.ndim != 4:
        raise ShapeError(f"{name}: {x} does not have four axes (batch, channels, height, width)")


def _windows(x: object, size: Pair, stride: Pair, padding: Pair, value: float) -> Any:
    return sliding_windows(padded(x, padding, value), size, stride, (1, 1))


def _restored(windows: object, x: Any, stride: Pair, padding: Pair) -> Any:
    sizes = tuple(size + 2 * p for size, p in zip(x.shape[2:], padding, strict=True))
    return cropped(overlap_add(windows, sizes, stride, (1, 1)), padding, x.shape[2:])


def _max_pool2d(x: object, *, size: Pair, stride: Pair, padding: Pair) -> Any:
    return max(_windows(x, size, stride, padding, -np.inf), axis=(4, 5))


def _max_pool2d_vjp(
    g: object, o: object, x: object, *, size: Pair, stride: Pair, padding: Pair
) -> Any:
    # the first largest element of a window, or the last nan, takes the gradient, as PyTorch's
    windows = _windows(x, size, stride, padding, -np.inf)
    number = np.arange(size[0] * size[1], dtype=np.int32).reshape(size)
    wins = equal(windows, expand_dims(o, (4, 5)))
    if any(padding):  # where all is -inf, the first element that is none of the padding
        wins = logical_and(wins, greater_equal(number, _first_inside(o, size, stride, padding)))
    last = number.size - 1
    order = where(isnan(windows), last - number, where(wins, number, number.size))
    first = min(order, axis=(4, 5), keepdims=True)
    found = equal(where(isnan(expand_dims(o, (4, 5))), last - first, first), number)
    return _restored(where(found, expand_dims(g, (4, 5)), 0), x, stride, padding)


def _first_inside(o: Any, size: Pair, stride: Pair, padding: Pair) -> Any:
    """In each window the number of its first element that is not padding: (1, 1, oh, ow, 1, 1)."""
    down, right = (
        maximum(edge - positions(o, axis) * step, 0)
        for axis, edge, step in zip((2, 3), padding, stride, strict=True)
    )
    return expand_dims(astype(down * size[1] + right, np.dtype(np.int32)), (4, 5))


max_pool2d = composite(
    "max_pool2d", _max_pool2d, bind=_pool_bind("max_pool2d"), check=_pool_check, floating=True,
    vjp=(_max_pool2d_vjp,), saves=("ao",), evaluate=pooling_arrays.max_pool2d,
    vjp_arrays=pooling_arrays.max_pool2d_vjp,
    batching=images, sweep="windows",
    smooth=False,
    doc="The largest element of each window: (n, c, h, w) -> (n, c, oh, ow); the padding never "
    "wins. The first winner takes the gradient, but of nan the last.",
    example=">>> sg.max_pool2d(np.arange(8.0).reshape(1, 1, 2, 4), 2)\narray([[[[5., 7.]]]])",
)  # fmt: skip


def _avg_pool2d(x: object, *, size: Pair, stride: Pair, padding: Pair) -> Any:
    return sum(_windows(x, size, stride, padding, 0.0), axis=(4, 5)) / (size[0] * size[1])


def _avg_pool2d_vjp(
    g: Any, o: object, x: object, *, size: Pair, stride: Pair, padding: Pair
) -> Any:
    share = expand_dims(g / (size[0] * size[1]), (4, 5))
    return _restored(broadcast_to(share, (*g.shape, *size)), x, stride, padding)


avg_pool2d = composite(
    "avg_pool2d", _avg_pool2d, bind=_pool_bind("avg_pool2d"), check=_pool_check, floating=True,
    vjp=(_avg_pool2d_vjp,), saves=("",), evaluate=pooling_arrays.avg_pool2d,
    vjp_arrays=pooling_arrays.avg_pool2d_vjp, batching=images, linearity="linear", sweep="windows",
    doc="The mean of each window, padding counted as zeros: (n, c, h, w) -> (n, c, oh, ow).",
    example=">>> sg.avg_pool2d(np.arange(8.0).reshape(1, 1, 2, 4), 2)\narray([[[[2.5, 4.5]]]])",
)  # fmt: skip


def _lp_bind(
    x: Any, norm_type: float, kernel_size: Any, stride: Any = None
) -> tuple[Sequence[Any], Attrs]:
    if not 0 < norm_type < math.inf:
        raise OptionError(f"lp_pool2d: norm_type is a number above 0, not {norm_type!r}")
    operands, attrs = _pool_bind("lp_pool2d")(x, kernel_size, stride)
    return operands, attrs | {"norm_type": float(norm_type)}


def _lp_pool2d(x: object, *, norm_type: float, size: Pair, stride: Pair, padding: Pair) -> Any:
    sums = sum(_windows(power(x, norm_type), size, stride, padding, 0.0), axis=(4, 5))
    return power(sums, 1 / norm_type)


def _lp_pool2d_numpy(x: Any, *, norm_type: float, size: Pair, stride: Pair, padding: Pair) -> Any:
    windows = np.lib.stride_tricks.sliding_window_view(np.power(x, norm_type), size, (2, 3))
    return np.power(windows[:, :, :: stride[0], :: stride[1]].sum((4, 5)), 1 / norm_type)


def _lp_pool2d_vjp(
    g: Any, o: object, x: object, *, norm_type: float, size: Pair, stride: Pair, padding: Pair
) -> Any:
    flat = equal(o, 0)
    share = where(flat, 0, g * power(where(flat, 1, o), 1 - norm_type))
    shares = broadcast_to(expand_dims(share, (4, 5)), (*g.shape, *size))
    return power(x, norm_type - 1) * _restored(shares, x, stride, padding)


lp_pool2d = composite(
    "lp_pool2d", _lp_pool2d, bind=_lp_bind, check=_pool_check, floating=True,
    vjp=(_lp_pool2d_vjp,), saves=("ao",), evaluate=_lp_pool2d_numpy,
    batching=images, smooth=False, sweep="windows", choices={"norm_type": (1, 2, 2, 3.0)},
    doc="""sum(x**p)**(1/p) of each window, p = norm_type: (n, c, h, w) -> (n, c, oh, ow).

    It is the p-norm of what is not negative: as in PyTorch no absolute value is taken, so that the
    root of a negative sum is nan. Where a window's sum is 0 the gradient is 0.""",
    example=">>> sg.lp_pool2d(np.array([[[[3.0, 4.0], [0.0, 0.0]]]]), 2, (1, 2))\n"
    "array([[[[5.],\n         [0.]]]])",
)  # fmt: skip
