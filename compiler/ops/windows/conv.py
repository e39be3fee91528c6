"""Convolution over two axes, on (batch, channels, height, width).

All are composites of sliding windows: a convolution is a product of matrices over all windows of
all images (im2col) for each group, forward and for both gradients; kernels never write it out as a
whole (`compiler.codegen.windows`). In small groups it is a sum over windows (`conv_direct`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from staticgraph.compiler.core.errors import OptionError, ShapeError
from staticgraph.compiler.core.op import Attrs
from staticgraph.compiler.core.types import TensorType, unify
from staticgraph.compiler.ops.batching import images
from staticgraph.compiler.ops.declare import as_operand, composite
from staticgraph.compiler.ops.elementwise.arithmetic import copy
from staticgraph.compiler.ops.linalg.products import matmul
from staticgraph.compiler.ops.reductions.reduction import sum
from staticgraph.compiler.ops.shapes.shape import (
    expand_dims,
    flip,
    reshape,
    transpose,
)
from staticgraph.compiler.ops.shapes.slicing import embed, strided_slice
from staticgraph.compiler.ops.windows import conv_direct, conv_strided
from staticgraph.compiler.ops.windows.conv_direct import padded
from staticgraph.compiler.ops.windows.conv_work import (
    goes_by_line,
    goes_by_tap,
    is_added,
    is_moved,
    weight_goes_by_tap,
)
from staticgraph.compiler.ops.windows.windows import overlap_add, sliding_windows
from staticgraph.compiler.reference import conv_arrays

__all__ = ["conv2d", "conv_transpose2d"]

Pair = tuple[int, int]

LEAST_CHANNELS = 8
"""Of an image whose cotangent is a convolution if there are more filters: rows of a tile."""
MANY_FILTERS = 4
"""Times as many as a window has elements: then the windows are turned for gemm, not g. Measured on
a Zen 5: of 21 images of 7 channels to 253 filters of 1 x 1 it is 1.4 times as fast, of 64 images of
a channel to 16 filters of 3 x 3 half as fast."""


def pair(name: str, option: str, value: Any, least: int) -> Pair:
    """`value` as one number per axis; OptionError if it is less than `least`."""
    if type(value) is int and value >= least:  # the usual case, without a loop
        return value, value
    both = (value, value) if hasattr(value, "__index__") else value
    both = tuple(both) if isinstance(both, Iterable) else ()
    if len(both) != 2 or any(not hasattr(v, "__index__") or v < least for v in both):
        raise OptionError(f"{name}: {option} is an int from {least}, or two, not {value!r}")
    return int(both[0]), int(both[1])


def cropped(x: Any, padding: Pair, shape: Sequence[object]) -> Any:
    if padding == (0, 0):
        return x
    return strided_slice(x, (0, 0, *padding), (*x.shape[:2], *shape), (1, 1, 1, 1))


def _conv_bind(
    x: Any,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> tuple[Sequence[Any], Attrs]:
    x, weight = as_operand(x), as_operand(weight)
    bias = np.array(-0.0, x.dtype) if bias is None else as_operand(bias)
    return (x, weight, bias), {
        "stride": pair("conv2d", "stride", stride, 1),
        "padding": pair("conv2d", "padding", padding, 0),
        "dilation": pair("conv2d", "dilation", dilation, 1),
        "groups": int(groups),
    }


def _conv_check(
    name: str, x: TensorType, weight: TensorType, bias: TensorType, *, groups: int, **attrs: object
) -> None:
    if x.ndim != 4 or weight.ndim != 4:
        raise ShapeError(f"{name}: {x} and weight {weight}: both must have four axes")
    channels, filters = x.shape[1], weight.shape[0]
    if groups < 1 or not isinstance(filters, int) or filters % groups:
        raise OptionError(f"{name}: groups {groups} does not divide the {filters} filters")
    if unify(channels, weight.shape[1] * groups) is None:
        raise ShapeError(
            f"{name}: {x} has {channels} channels, weight {weight} in {groups} groups expects "
            f"{weight.shape[1] * groups}"
        )
    if bias.ndim and bias.shape != (filters,):
        raise ShapeError(f"{name}: bias {bias} does not have one value per filter: {filters}")


def _columns(x: Any, weight: Any, attrs: Attrs, by_line: bool = False) -> Any:
    """All windows as a matrix per group: (groups, channels * window, batch * places).

    `by_line`: with the lines of the window first, and then the channels.
    """
    groups = attrs["groups"]
    if groups > 1:
        x = reshape(x, (x.shape[0], groups, x.shape[1] // groups, *x.shape[2:]))
    x = padded(x, attrs["padding"])
    windows = sliding_windows(x, weight.shape[2:], attrs["stride"], attrs["dilation"])
    order = (1, 4, 5, 0, 2, 3) if groups == 1 else (1, 2, 5, 6, 0, 3, 4)
    if by_line:
        order = (4, 1, 5, 0, 2, 3) if groups == 1 else (1, 5, 2, 6, 0, 3, 4)
    depth = weight.shape[1] * weight.shape[2] * weight.shape[3]
    places = windows.shape[0] * windows.shape[-4] * windows.shape[-3]
    return reshape(transpose(windows, order), (groups, depth, places))


def _tap_columns(x: Any, weight: Any, attrs: Attrs, backwards: bool = False) -> Any:
    """All windows as a matrix, (1, window * channels, places * batch), of images side by side.

    In memory they are (channels, height, width, batch), where products read them
    (`codegen.tap_products`).
    `backwards`: with the last place of a window first.
    """
    beside = copy(transpose(x, (1, 2, 3, 0)))
    if attrs["padding"] != (0, 0):
        channels, height, width, batch = beside.shape
        down, across = attrs["padding"]
        shape = (channels, height + 2 * down, width + 2 * across, batch)
        beside = embed(beside, (0, down, across, 0), shape, (1,) * 4, 0.0)
    whole = transpose(beside, (0, 3, 1, 2))
    windows = sliding_windows(whole, weight.shape[2:], attrs["stride"], attrs["dilation"])
    if backwards:
        windows = flip(windows, (4, 5))
    depth = weight.shape[1] * weight.shape[2] * weight.shape[3]
    places = windows.shape[1] * windows.shape[2] * windows.shape[3]
    return reshape(transpose(windows, (4, 5, 0, 2, 3, 1)), (1, depth, places))


def _filters(weight: Any, groups: int) -> Any:
    """(groups, filters / groups, channels * window)."""
    rows = weight.shape[0] // groups
    return reshape(weight, (groups, rows, weight.shape[1] * weight.shape[2] * weight.shape[3]))


def _by_filter(g: Any, groups: int) -> Any:
    """A value per filter and place as a matrix per group: (groups, filters, batch * places)."""
    rows = g.shape[1] // groups
    places = g.shape[0] * g.shape[2] * g.shape[3]
    return reshape(transpose(g, (1, 0, 2, 3)), (groups, rows, places))


def _by_place(g: Any, groups: int) -> Any:
    """The same with a row for each place: (groups, batch * places, filters)."""
    rows = g.shape[1] // groups
    places = g.shape[0] * g.shape[2] * g.shape[3]
    if groups == 1:
        return reshape(transpose(g, (0, 2, 3, 1)), (1, places, rows))
    split = reshape(g, (g.shape[0], groups, rows, *g.shape[2:]))
    return reshape(transpose(split, (1, 0, 3, 4, 2)), (groups, places, rows))


def _conv2d(
    x: Any, weight: Any, bias: Any, *, stride: Pair, padding: Pair, dilation: Pair, groups: int
) -> Any:
    attrs = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
    shift = expand_dims(bias, (1, 2)) if bias.ndim else bias
    if conv_direct.is_direct(weight, groups):
        return conv_direct.convolve(x, weight, attrs) + shift
    if goes_by_tap(x, weight, attrs):
        # a weight that was flipped is read as it lies
        flipped = is_moved(weight)
        left = transpose(flip(weight, (2, 3)) if flipped else weight, (0, 2, 3, 1))
        product = matmul(_filters(left, 1), _tap_columns(x, weight, attrs, flipped))
        sizes = _places(x, weight, attrs)
        result = reshape(product, (weight.shape[0], *sizes, x.shape[0]))
        return transpose(result, (3, 0, 1, 2)) + shift
    by_line = goes_by_line(x, weight, attrs)
    left = _filters(transpose(weight, (0, 2, 1, 3)) if by_line else weight, groups)
    product = matmul(left, _columns(x, weight, attrs, by_line))
    result = reshape(product, (weight.shape[0], x.shape[0], *_places(x, weight, attrs)))
    return transpose(result, (1, 0, 2, 3)) + shift


def _places(x: Any, weight: Any, attrs: Attrs) -> Iterable[Any]:
    """The height and width of the result."""
    options = (attrs[key] for key in ("stride", "padding", "dilation"))
    for size, k, s, p, d in zip(x.shape[2:], weight.shape[2:], *options, strict=True):
        yield (size + 2 * p - d * (k - 1) - 1) // s + 1


def _full_padding(
    weight: Any, *, stride: Pair, padding: Pair, dilation: Pair, groups: int
) -> Pair | None:
    """The padding of g if the cotangent of x is better computed as a convolution of g.

    That writes out no products of all windows, but windows of g: worthwhile if x has more than a
    few channels, which are the rows of that product, or if these are not written out either.
    """
    if stride != (1, 1) or not _has_rows(weight, groups):
        return None
    height, width = (
        d * (k - 1) - p for d, k, p in zip(dilation, weight.shape[2:], padding, strict=True)
    )
    return (height, width) if height >= 0 and width >= 0 else None


def _has_rows(weight: Any, groups: int) -> bool:
    """Whether a group has channels enough to be rows of a product, or is computed without one."""
    filters, channels, *window = weight.shape
    if not isinstance(channels, int):
        return False
    if groups > 1 and conv_direct.is_few(filters // groups, window):
        return True
    return channels >= LEAST_CHANNELS or (groups == 1 and filters <= channels)


def _conv2d_by_x(g: Any, o: object, x: Any, weight: Any, bias: Any, **attrs: Any) -> Any:
    groups, padding = attrs["groups"], attrs["padding"]
    around = _full_padding(weight, **attrs)
    adds = not conv_direct.is_direct(weight, groups) and is_added(g, x, weight, attrs)
    if around is not None and not adds:
        return conv2d(g, _turned(weight, groups), None, 1, around, attrs["dilation"], groups)
    sizes = (*x.shape[2:], *g.shape[2:])
    has_phases = conv_strided.has_phases(weight, sizes, attrs) and not adds
    if has_phases and _has_rows(weight, groups):

        def convolve(part: Any, taps: Any) -> Any:
            return conv2d(part, _turned(taps, groups), None, 1, 0, 1, groups)

        return conv_strided.by_phases(g, weight, tuple(x.shape[2:]), attrs, convolve)
    sizes = tuple(size + 2 * p for size, p in zip(x.shape[2:], padding, strict=True))
    if conv_direct.is_direct(weight, groups):
        return cropped(conv_direct.by_x(g, weight, sizes, attrs), padding, x.shape[2:])
    columns = matmul(transpose(_filters(weight, groups), (0, 2, 1)), _by_filter(g, groups))
    channels = weight.shape[1] * groups
    shape = (channels, *weight.shape[2:], g.shape[0], *g.shape[2:])
    windows = transpose(reshape(columns, shape), (3, 0, 4, 5, 1, 2))
    whole = overlap_add(windows, sizes, attrs["stride"], attrs["dilation"])
    return cropped(whole, padding, x.shape[2:])


def _turned(weight: Any, groups: int) -> Any:
    """The weight whose convolution is the adjoint: flipped, filters and channels exchanged."""
    flipped = flip(weight, (2, 3))
    if groups == 1:
        return transpose(flipped, (1, 0, 2, 3))
    filters, channels, *window = weight.shape
    grouped = reshape(flipped, (groups, filters // groups, channels, *window))
    return reshape(transpose(grouped, (0, 2, 1, 3, 4)), (channels * groups, -1, *window))


def _conv2d_by_weight(g: Any, o: object, x: object, weight: Any, bias: Any, **attrs: Any) -> Any:
    if conv_direct.is_direct(weight, attrs["groups"]):
        return conv_direct.by_weight(g, x, weight, attrs)
    if weight_goes_by_tap(x, weight, attrs):
        beside = transpose(g, (1, 2, 3, 0))
        places = g.shape[0] * g.shape[2] * g.shape[3]
        left = reshape(beside, (1, weight.shape[0], places))
        product = matmul(left, transpose(_tap_columns(x, weight, attrs), (0, 2, 1)))
        filters, channels, *window = weight.shape
        return transpose(reshape(product, (filters, *window, channels)), (0, 3, 1, 2))
    columns = _columns(x, weight, attrs)
    deep = weight.shape[1] * weight.shape[2] * weight.shape[3]
    filters = weight.shape[0]
    if attrs["groups"] == 1 and isinstance(deep, int) and filters > MANY_FILTERS * deep:
        product = matmul(_by_filter(g, 1), transpose(columns, (0, 2, 1)))
        return reshape(product, weight.shape)
    # windows on the left: they are packed in rows, and g is read image by image, or with the
    # filters side by side
    product = matmul(columns, _by_place(g, attrs["groups"]))
    return reshape(transpose(product, (0, 2, 1)), weight.shape)


def _conv2d_by_bias(
    g: object, o: object, x: object, weight: object, bias: Any, **attrs: Any
) -> Any:
    return sum(g, axis=(0, 2, 3)) if bias.ndim else sum(g)


conv2d = composite(
    "conv2d", _conv2d, bind=_conv_bind, check=_conv_check, promotes=slice(None), floating=True,
    vjp=(_conv2d_by_x, _conv2d_by_weight, _conv2d_by_bias), saves=("b", "a", ""),
    evaluate=conv_arrays.conv2d, vjp_arrays=conv_arrays.conv2d_vjp,
    batching=images, sweep="windows",
    doc="Cross-correlation: x (n, c, h, w), weight (f, c / groups, kh, kw), bias (f,) -> "
    "(n, f, oh, ow); stride, padding (zeros on both sides), dilation, groups as PyTorch's.",
    example=">>> sg.conv2d(np.array([[[[1.0, 2.0, 4.0]]]]), np.array([[[[-1.0, 1.0]]]]))\n"
    "array([[[[1., 2.]]]])",
)  # fmt: skip


def _transpose_bind(
    x: Any,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
) -> tuple[Sequence[Any], Attrs]:
    x, weight = as_operand(x), as_operand(weight)
    bias = np.array(-0.0, x.dtype) if bias is None else as_operand(bias)
    return (x, weight, bias), {
        "stride": pair("conv_transpose2d", "stride", stride, 1),
        "padding": pair("conv_transpose2d", "padding", padding, 0),
        "output_padding": pair("conv_transpose2d", "output_padding", output_padding, 0),
        "dilation": pair("conv_transpose2d", "dilation", dilation, 1),
        "groups": int(groups),
    }


def _transpose_check(
    name: str, x: TensorType, weight: TensorType, bias: TensorType, *, groups: int, **attrs: Any
) -> None:
    if x.ndim != 4 or weight.ndim != 4:
        raise ShapeError(f"{name}: {x} and weight {weight}: both must have four axes")
    channels, filters = weight.shape[0], weight.shape[1]
    if groups < 1 or not isinstance(channels, int) or channels % groups:
        raise OptionError(f"{name}: groups {groups} does not divide the {channels} channels")
    if unify(x.shape[1], channels) is None:
        raise ShapeError(
            f"{name}: {x} has {x.shape[1]} channels, weight {weight} expects {channels}"
        )
    if bias.ndim and bias.shape != (filters * groups,):
        raise ShapeError(
            f"{name}: bias {bias} does not have one value per filter: {filters * groups}"
        )
    extra, stride, dilation = attrs["output_padding"], attrs["stride"], attrs["dilation"]
    if any(e >= s and e >= d for e, s, d in zip(extra, stride, dilation, strict=True)):
        raise OptionError(
            f"{name}: output_padding {extra} is not less than stride {stride} or dilation "
            f"{dilation}"
        )


def _reach(x: Any, weight: Any, stride: Pair, dilation: Pair) -> tuple[Any, ...]:
    """The sizes that the windows cover, whose places are the elements of x."""
    return tuple(
        (size - 1) * s + d * (k - 1) + 1
        for size, k, s, d in zip(x.shape[2:], weight.shape[2:], stride, dilation, strict=True)
    )


def _conv_transpose2d(
    x: Any,
    weight: Any,
    bias: Any,
    *,
    stride: Pair,
    padding: Pair,
    output_padding: Pair,
    dilation: Pair,
    groups: int,
) -> Any:
    columns = matmul(transpose(_filters(weight, groups), (0, 2, 1)), _by_filter(x, groups))
    shape = (weight.shape[1] * groups, *weight.shape[2:], x.shape[0], *x.shape[2:])
    windows = transpose(reshape(columns, shape), (3, 0, 4, 5, 1, 2))
    reach = _reach(x, weight, stride, dilation)
    extended = tuple(size + extra for size, extra in zip(reach, output_padding, strict=True))
    whole = overlap_add(windows, extended, stride, dilation)
    sizes = tuple(size - 2 * p for size, p in zip(extended, padding, strict=True))
    result = cropped(whole, padding, sizes)
    return result + (expand_dims(bias, (1, 2)) if bias.ndim else bias)


def _covered(g: object, x: object, weight: object, attrs: Attrs) -> tuple[Any, Attrs]:
    """The cotangent with its padding, cut to what the windows cover, and the options of conv2d."""
    stride, dilation = attrs["stride"], attrs["dilation"]
    whole = padded(g, attrs["padding"])
    if any(attrs["output_padding"]):
        whole = _cropped_end(whole, _reach(x, weight, stride, dilation))
    options = {"stride": stride, "padding": (0, 0), "dilation": dilation, "groups": attrs["groups"]}
    return whole, options


def _cropped_end(x: Any, sizes: tuple[object, ...]) -> Any:
    return strided_slice(x, (0, 0, 0, 0), (*x.shape[:2], *sizes), (1, 1, 1, 1))


def _conv_transpose2d_by_x(
    g: object, o: object, x: object, weight: object, bias: object, **attrs: object
) -> Any:
    whole, options = _covered(g, x, weight, attrs)
    return conv2d(whole, weight, None, **options)


def _conv_transpose2d_by_weight(
    g: object, o: object, x: object, weight: object, bias: object, **attrs: object
) -> Any:
    whole, options = _covered(g, x, weight, attrs)
    return _conv2d_by_weight(x, None, whole, weight, bias, **options)


conv_transpose2d = composite(
    "conv_transpose2d", _conv_transpose2d, bind=_transpose_bind, check=_transpose_check,
    promotes=slice(None), floating=True,
    vjp=(_conv_transpose2d_by_x, _conv_transpose2d_by_weight, _conv2d_by_bias),
    saves=("b", "a", ""), sweep="windows", evaluate=conv_arrays.conv_transpose2d,
    vjp_arrays=conv_arrays.conv_transpose2d_vjp,
    doc="The adjoint of conv2d: x (n, c, h, w), weight (c, f / groups, kh, kw), bias (f,) -> "
    "(n, f, oh, ow); stride, padding, output_padding, dilation, groups as PyTorch's.",
    example=">>> sg.conv_transpose2d(np.array([[[[1.0, 2.0]]]]), np.array([[[[1.0, 10.0]]]]))\n"
    "array([[[[ 1., 12., 20.]]]])",
)  # fmt: skip
