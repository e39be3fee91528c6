"""Convolution over one, two or three axes, and its adjoint.

One and two axes are served by shared ops; three are composed of windows and a matrix product.
"""

from __future__ import annotations

from typing import Any

from staticgraph.compiler import ops
from staticgraph.compiler.core import dims
from staticgraph.compiler.core.dims import Dim
from staticgraph.compiler.core.errors import OptionError, ShapeError
from staticgraph.compiler.core.types import fits, unify
from staticgraph.compiler.core.values import Value
from staticgraph.compiler.layers.axes import PerAxis, Sizes, flattened, images, per_axis, shown
from staticgraph.compiler.ops.declare import as_operand
from staticgraph.compiler.ops.shapes.slicing import strided_slice
from staticgraph.compiler.ops.windows.windows import overlap_add

__all__ = [
    "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d",
]  # fmt: skip


def conv1d(
    x: Value, weight: Value, bias: Value = None, stride: PerAxis = 1, padding: PerAxis | str = 0,
    dilation: PerAxis = 1, groups: int = 1,
) -> Value:  # fmt: skip
    """Cross-correlation: (n, c, l), (f, c / groups, k), (f,) -> (n, f, l'); n is optional.

    Args:
        padding: a number of zeros on both sides, "valid" (0) or "same" (l' = l, with stride 1).

    Raises:
        ShapeError: channels, bias or rank do not fit, or no window does.
        OptionError: an option is out of range.

    Example:
        >>> sg.nn.conv1d(np.array([[[1.0, 2.0, 4.0]]]), np.array([[[-1.0, 1.0]]]))
        array([[[1., 2.]]])
    """
    return _conv("conv1d", 1, x, weight, bias, stride, padding, dilation, groups)


def conv2d(
    x: Value, weight: Value, bias: Value = None, stride: PerAxis = 1, padding: PerAxis | str = 0,
    dilation: PerAxis = 1, groups: int = 1,
) -> Value:  # fmt: skip
    """Cross-correlation: (n, c, h, w), (f, c / groups, kh, kw), (f,) -> (n, f, h', w').

    n is optional; options are one number or two; `padding` and errors as those of `conv1d`.

    Example:
        >>> x = np.arange(6.0).reshape(1, 1, 2, 3)
        >>> sg.nn.conv2d(x, np.ones((1, 1, 2, 2)), padding="same")
        array([[[[ 8., 12.,  7.],
                 [ 7.,  9.,  5.]]]])
    """
    return _conv("conv2d", 2, x, weight, bias, stride, padding, dilation, groups)


def conv3d(
    x: Value, weight: Value, bias: Value = None, stride: PerAxis = 1, padding: PerAxis | str = 0,
    dilation: PerAxis = 1, groups: int = 1,
) -> Value:  # fmt: skip
    """Cross-correlation: (n, c, d, h, w), (f, c / groups, kd, kh, kw), (f,) -> (n, f, d', h', w').

    n is optional; options are one number or three; `padding` and errors as those of `conv1d`.

    Example:
        >>> sg.nn.conv3d(np.ones((1, 1, 2, 2, 2)), np.ones((1, 1, 2, 2, 2)))
        array([[[[[8.]]]]])
    """
    return _conv("conv3d", 3, x, weight, bias, stride, padding, dilation, groups)


def _conv(
    name: str, axes: int, x: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any,
    groups: int,
) -> Any:  # fmt: skip
    weight = as_operand(weight)
    bias = None if bias is None else as_operand(bias)
    _check_weight(name, weight, axes)
    steps = per_axis(name, "stride", stride, axes, 1)
    spread = per_axis(name, "dilation", dilation, axes, 1)
    before, after = _padding(name, padding, steps, spread, weight.shape[2:])

    def one(x: Any) -> Any:
        _check(name, x, weight, bias, groups)
        x = uneven(x, before, after)
        for size, k, p, d in zip(x.shape[2:], weight.shape[2:], before, spread, strict=True):
            if not fits(d * (k - 1) + 1, size + 2 * p):
                raise ShapeError(
                    f"{name}: no window {tuple(weight.shape[2:])} by {spread} fits into "
                    f"{shown(x)} with {before} around it"
                )
        return convolved(x, weight, bias, steps, before, spread, groups)

    return images(name, x, axes, one)


def uneven(x: Value, before: Sizes, after: Sizes) -> Value:
    """x with so many zeros as there are more of them after its elements than before."""
    if before == after:
        return x
    widths = [(0, 0), (0, 0), *((0, b - a) for a, b in zip(before, after, strict=True))]
    return ops.pad(x, widths)


def convolved(
    x: Value, weight: Value, bias: Value, steps: Sizes, edge: Sizes, spread: Sizes, groups: int
) -> Value:
    """The convolution of operands that fit, over as many axes as there are steps."""
    if len(steps) == 2:
        return ops.conv2d(x, weight, bias, steps, edge, spread, groups)
    if len(steps) == 3:
        return _by_windows(x, weight, bias, steps, edge, spread, groups)
    lifted = (ops.expand_dims(one, 2) for one in (x, weight))
    options = ((1, *steps), (0, *edge), (1, *spread))
    return ops.squeeze(ops.conv2d(*lifted, bias, *options, groups), 2)


def _by_windows(
    x: Any, weight: Any, bias: Any, steps: Sizes, edge: Sizes, spread: Sizes, groups: int
) -> Any:
    x = ops.pad(x, [(0, 0), (0, 0), *((one, one) for one in edge)])
    windows = ops.sliding_windows(x, tuple(weight.shape[2:]), steps, spread)
    columns = ops.transpose(windows, (1, 5, 6, 7, 0, 2, 3, 4))
    depth, places = dims.product(weight.shape[1:]), dims.product(columns.shape[4:])
    columns = ops.reshape(columns, (groups, depth, places))
    product = ops.matmul(_filters(weight, groups), columns)
    result = ops.reshape(product, (weight.shape[0], windows.shape[0], *windows.shape[2:5]))
    return _with_bias(ops.transpose(result, (1, 0, 2, 3, 4)), bias)


def _filters(weight: Any, groups: int) -> Any:
    rows = weight.shape[0] // groups
    return ops.reshape(weight, (groups, rows, dims.product(weight.shape[1:])))


def _with_bias(x: Any, bias: Any) -> Any:
    return x if bias is None else x + ops.reshape(bias, (-1, 1, 1, 1))


def _padding(
    name: str, padding: Any, stride: Sizes, dilation: Sizes, window: Any
) -> tuple[Sizes, Sizes]:
    """The number of zeros before and after the elements of each axis."""
    if padding == "valid":
        return (0,) * len(stride), (0,) * len(stride)
    if padding != "same":
        if isinstance(padding, str):
            raise OptionError(f"{name}: padding is 'valid', 'same' or numbers, not {padding!r}")
        both = per_axis(name, "padding", padding, len(stride), 0)
        return both, both
    if any(step != 1 for step in stride):
        raise OptionError(f"{name}: padding='same' keeps the size with stride 1 only, not {stride}")
    return same_padding(dilation, window)


def same_padding(dilation: Sizes, window: Value) -> tuple[Sizes, Sizes]:
    """The zeros before and after with which windows are as many as elements."""
    totals = [step * (size - 1) for step, size in zip(dilation, window, strict=True)]
    return tuple(total // 2 for total in totals), tuple(total - total // 2 for total in totals)


def _check_weight(name: str, weight: Any, axes: int) -> None:
    if weight.ndim != axes + 2:
        raise ShapeError(f"{name}: weight {shown(weight)} has {weight.ndim} axes, of {axes + 2}")
    if any(isinstance(size, Dim) for size in weight.shape[2:]):
        raise ShapeError(f"{name}: weight {shown(weight)}: the sizes of a window must be known")


def _check(name: str, x: Any, weight: Any, bias: Any, groups: int) -> None:
    filters, channels = weight.shape[0], weight.shape[1] * groups
    if groups < 1 or not isinstance(filters, int) or filters % groups:
        raise OptionError(f"{name}: groups={groups} does not divide the {filters} filters")
    if unify(x.shape[1], channels) is None:
        raise ShapeError(
            f"{name}: {shown(x)} has {x.shape[1]} channels, weight {shown(weight)} in {groups} "
            f"groups expects {channels}"
        )
    _check_bias(name, bias, filters)


def _check_bias(name: str, bias: Any, filters: Any) -> None:
    if bias is not None and (bias.ndim != 1 or unify(bias.shape[0], filters) is None):
        raise ShapeError(
            f"{name}: bias {shown(bias)} does not have one value per filter: {filters}"
        )


def conv_transpose1d(
    x: Value, weight: Value, bias: Value = None, stride: PerAxis = 1, padding: PerAxis = 0,
    output_padding: PerAxis = 0, groups: int = 1, dilation: PerAxis = 1,
) -> Value:  # fmt: skip
    """The adjoint of `conv1d`: (n, c, l), (c, f / groups, k), (f,) -> (n, f, l').

    l' = (l - 1) stride - 2 padding + dilation (k - 1) + output_padding + 1; n is optional. Errors
    are those of `conv1d`.

    Example:
        >>> sg.nn.conv_transpose1d(np.array([[[1.0, 2.0]]]), np.array([[[1.0, 3.0]]]), stride=2)
        array([[[1., 3., 2., 6.]]])
    """
    options = (stride, padding, output_padding, dilation)
    return _transposed("conv_transpose1d", 1, x, weight, bias, groups, *options)


def conv_transpose2d(
    x: Value, weight: Value, bias: Value = None, stride: PerAxis = 1, padding: PerAxis = 0,
    output_padding: PerAxis = 0, groups: int = 1, dilation: PerAxis = 1,
) -> Value:  # fmt: skip
    """The adjoint of `conv2d`: (n, c, h, w), (c, f / groups, kh, kw), (f,) -> (n, f, h', w').

    Sizes as those of `conv_transpose1d`, for each axis.

    Example:
        >>> sg.nn.conv_transpose2d(np.array([[[[1.0, 2.0]]]]), np.ones((1, 1, 1, 2)))
        array([[[[1., 3., 2.]]]])
    """
    options = (stride, padding, output_padding, dilation)
    return _transposed("conv_transpose2d", 2, x, weight, bias, groups, *options)


def conv_transpose3d(
    x: Value, weight: Value, bias: Value = None, stride: PerAxis = 1, padding: PerAxis = 0,
    output_padding: PerAxis = 0, groups: int = 1, dilation: PerAxis = 1,
) -> Value:  # fmt: skip
    """The adjoint of `conv3d`: (n, c, d, h, w), (c, f / groups, kd, kh, kw), (f,).

    Sizes as those of `conv_transpose1d`, for each axis.

    Example:
        >>> sg.nn.conv_transpose3d(np.ones((1, 1, 1, 1, 2)), np.ones((1, 1, 1, 1, 2)))
        array([[[[[1., 2., 1.]]]]])
    """
    options = (stride, padding, output_padding, dilation)
    return _transposed("conv_transpose3d", 3, x, weight, bias, groups, *options)


def _transposed(
    name: str, axes: int, x: Any, weight: Any, bias: Any, groups: int, *options: Any
) -> Any:
    weight = as_operand(weight)
    bias = None if bias is None else as_operand(bias)
    _check_weight(name, weight, axes)
    stride, padding, extra, dilation = (
        per_axis(name, option, value, axes, least)
        for option, value, least in zip(
            ("stride", "padding", "output_padding", "dilation"), options, (1, 0, 0, 1), strict=True
        )
    )
    channels = weight.shape[0]
    if groups < 1 or not isinstance(channels, int) or channels % groups:
        raise OptionError(f"{name}: groups={groups} does not divide the {channels} channels")
    if any(e >= s and e >= d for e, s, d in zip(extra, stride, dilation, strict=True)):
        raise OptionError(
            f"{name}: output_padding {extra} is not less than stride {stride} or dilation "
            f"{dilation}"
        )
    _check_bias(name, bias, weight.shape[1] * groups)

    def one(x: Any) -> Any:
        if unify(x.shape[1], channels) is None:
            raise ShapeError(
                f"{name}: {shown(x)} has {x.shape[1]} channels, weight {shown(weight)} expects "
                f"{channels}"
            )
        return transposed(x, weight, bias, stride, padding, extra, groups, dilation)

    return images(name, x, axes, one)


def transposed(
    x: Value, weight: Value, bias: Value, steps: Sizes, edge: Sizes, extra: Sizes, groups: int,
    spread: Sizes,
) -> Value:  # fmt: skip
    """The adjoint of a convolution of operands that fit, over as many axes as there are steps."""
    if len(steps) == 2:
        return ops.conv_transpose2d(x, weight, bias, steps, edge, extra, groups, spread)
    if len(steps) == 3:
        return _by_overlaps(x, weight, bias, steps, edge, extra, groups, spread)
    lifted = (ops.expand_dims(one, 2) for one in (x, weight))
    settings = ((1, *steps), (0, *edge), (0, *extra), groups, (1, *spread))
    return ops.squeeze(ops.conv_transpose2d(*lifted, bias, *settings), 2)


def _by_overlaps(
    x: Any, weight: Any, bias: Any, steps: Sizes, edge: Sizes, extra: Sizes, groups: int,
    spread: Sizes,
) -> Any:  # fmt: skip
    values = ops.transpose(x, (1, 0, 2, 3, 4))
    values = ops.reshape(values, (groups, x.shape[1] // groups, *values.shape[1:]))
    values = flattened(values, 2)
    columns = ops.matmul(ops.swapaxes(_filters(weight, groups), -1, -2), values)
    shape = (weight.shape[1] * groups, *weight.shape[2:], x.shape[0], *x.shape[2:])
    windows = ops.transpose(ops.reshape(columns, shape), (4, 0, 5, 6, 7, 1, 2, 3))
    reach = tuple(
        (size - 1) * s + d * (k - 1) + 1 + e
        for size, s, d, k, e in zip(
            x.shape[2:], steps, spread, weight.shape[2:], extra, strict=True
        )
    )
    whole = overlap_add(windows, reach, steps, spread)
    sizes = [size - 2 * one for size, one in zip(reach, edge, strict=True)]
    inner = strided_slice(whole, (0, 0, *edge), (*whole.shape[:2], *sizes), (1,) * 5)
    return _with_bias(inner, bias)
