"""Windows as columns and back, and channels as pixels and back."""

from __future__ import annotations

from typing import Any

from staticgraph.compiler import ops
from staticgraph.compiler.core import dims
from staticgraph.compiler.core.dims import Dim, Size
from staticgraph.compiler.core.errors import OptionError, ShapeError
from staticgraph.compiler.core.types import unify
from staticgraph.compiler.core.values import Value
from staticgraph.compiler.layers.axes import PerAxis, Sizes, flattened, images, per_axis, shown
from staticgraph.compiler.ops.declare import as_operand
from staticgraph.compiler.ops.shapes.slicing import strided_slice
from staticgraph.compiler.ops.windows.windows import overlap_add

__all__ = ["channel_shuffle", "fold", "pixel_shuffle", "pixel_unshuffle", "unfold"]


def unfold(
    x: Value, kernel_size: PerAxis, dilation: PerAxis = 1, padding: PerAxis = 0, stride: PerAxis = 1
) -> Value:
    """The windows of images as columns: (n, c, h, w) -> (n, c kh kw, places); n is optional.

    Raises:
        ShapeError: another number of axes, or no window fits.
        OptionError: an option is out of range.

    Example:
        >>> sg.nn.unfold(np.arange(4.0).reshape(1, 2, 2), (1, 2))
        array([[0., 2.],
               [1., 3.]])
    """
    options = _options("unfold", kernel_size, dilation, padding, stride)
    return images("unfold", x, 2, lambda x: unfolded(x, *options))


def _options(name: str, *values: Any) -> list[Sizes]:
    names = ("kernel_size", "dilation", "padding", "stride")
    return [
        per_axis(name, option, value, 2, int(option != "padding"))
        for option, value in zip(names, values, strict=True)
    ]


def unfolded(x: Value, size: Sizes, spread: Sizes, edge: Sizes, step: Sizes) -> Value:
    """The windows of (n, c, h, w) as columns."""
    x = ops.pad(x, [(0, 0), (0, 0), *((one, one) for one in edge)])
    windows = ops.transpose(ops.sliding_windows(x, size, step, spread), (0, 1, 4, 5, 2, 3))
    rows = x.shape[1] * size[0] * size[1]
    return flattened(ops.reshape(windows, (x.shape[0], rows, *windows.shape[4:])), 2)


def fold(
    x: Value, output_size: Value, kernel_size: PerAxis, dilation: PerAxis = 1, padding: PerAxis = 0,
    stride: PerAxis = 1,
) -> Value:  # fmt: skip
    """Columns added back into images, the adjoint of `unfold`: (n, c kh kw, places); n optional.

    Args:
        output_size: (h, w), ints or sizes that are unknown until run time.

    Raises:
        ShapeError: rows or places do not fit, or another number of axes.
        OptionError: an option is out of range.

    Example:
        >>> sg.nn.fold(np.ones((2, 2)), (1, 3), (1, 2))
        array([[[1., 2., 1.]]])
    """
    options = _options("fold", kernel_size, dilation, padding, stride)
    shape = (output_size,) * 2 if hasattr(output_size, "__index__") else tuple(output_size)
    if len(shape) != 2 or any(not isinstance(n, Dim) and int(n) < 1 for n in shape):
        raise OptionError(f"fold: output_size is a height and a width, not {output_size!r}")
    size = options[0]
    counts = window_counts(shape, *options)
    x = as_operand(x)
    if x.ndim not in (2, 3):
        raise ShapeError(f"fold: {shown(x)} has {x.ndim} axes, of 2 or 3 (with a batch)")
    rows, places = x.shape[-2:]
    if unify(places, counts[0] * counts[1]) is None:
        raise ShapeError(
            f"fold: {shown(x)} has {places} places, {shape} has {counts[0]} x {counts[1]} windows "
            f"{size}"
        )
    if not isinstance(rows, Dim) and rows % (size[0] * size[1]):
        raise ShapeError(f"fold: the {rows} rows of {shown(x)} are no multiple of a window {size}")
    found = folded(ops.expand_dims(x, 0) if x.ndim == 2 else x, shape, *options)
    return ops.squeeze(found, 0) if x.ndim == 2 else found


def window_counts(
    shape: tuple[Size, ...], size: Sizes, spread: Sizes, edge: Sizes, step: Sizes
) -> list[Size]:
    """The number of windows along each axis."""
    return [
        dims.floor_divide(n + 2 * p - d * (k - 1) - 1, s) + 1
        for n, p, d, k, s in zip(shape, edge, spread, size, step, strict=True)
    ]


def folded(
    x: Value, shape: tuple[Size, ...], size: Sizes, spread: Sizes, edge: Sizes, step: Sizes
) -> Value:
    """Columns (n, c kh kw, places) added back into images of this height and width."""
    counts = window_counts(shape, size, spread, edge, step)
    channels = x.shape[1] // (size[0] * size[1])
    columns = ops.reshape(x, (x.shape[0], channels, *size, *counts))
    windows = ops.transpose(columns, (0, 1, 4, 5, 2, 3))
    whole = tuple(n + 2 * p for n, p in zip(shape, edge, strict=True))
    found = overlap_add(windows, whole, step, spread)
    return strided_slice(found, (0, 0, *edge), (*found.shape[:2], *shape), (1,) * 4)


def pixel_shuffle(x: Value, upscale_factor: int) -> Value:
    """Channels as pixels: (..., c r r, h, w) -> (..., c, h r, w r) (Shi et al. 2016).

    Raises:
        ShapeError: fewer than three axes, or the channels are no multiple of r r.

    Example:
        >>> sg.nn.pixel_shuffle(np.arange(4.0).reshape(4, 1, 1), 2)
        array([[[0., 1.],
                [2., 3.]]])
    """
    x, r = _pixels("pixel_shuffle", x, upscale_factor)
    if not isinstance(x.shape[-3], Dim) and x.shape[-3] % (r * r):
        raise ShapeError(
            f"pixel_shuffle: the {x.shape[-3]} channels of {shown(x)} are no multiple of {r} * {r}"
        )
    return shuffled(x, r)


def _pixels(name: str, x: Any, factor: int) -> tuple[Any, int]:
    x = as_operand(x)
    if not hasattr(factor, "__index__") or factor < 1:
        raise OptionError(f"{name}: the factor is an int from 1, not {factor!r}")
    if x.ndim < 3:
        raise ShapeError(f"{name}: {shown(x)} has {x.ndim} axes, of at least 3")
    return x, int(factor)


def shuffled(x: Value, r: int) -> Value:
    """`pixel_shuffle` of what fits."""
    (channels, height, width), lead = x.shape[-3:], tuple(x.shape[:-3])
    x = ops.reshape(x, (*lead, channels // (r * r), r, r, height, width))
    n = len(lead)
    x = ops.transpose(x, (*range(n), n, n + 3, n + 1, n + 4, n + 2))
    return ops.reshape(x, (*lead, channels // (r * r), height * r, width * r))


def pixel_unshuffle(x: Value, downscale_factor: int) -> Value:
    """Pixels as channels, the inverse of `pixel_shuffle`.

    Raises:
        ShapeError: fewer than three axes, or height or width are no multiple of r.

    Example:
        >>> sg.nn.pixel_unshuffle(np.arange(4.0).reshape(1, 2, 2), 2).ravel()
        array([0., 1., 2., 3.])
    """
    x, r = _pixels("pixel_unshuffle", x, downscale_factor)
    for size in x.shape[-2:]:
        if not isinstance(size, Dim) and size % r:
            raise ShapeError(
                f"pixel_unshuffle: height and width of {shown(x)} are no multiples of {r}"
            )
    return unshuffled(x, r)


def unshuffled(x: Value, r: int) -> Value:
    """`pixel_unshuffle` of what fits."""
    (channels, height, width), lead = x.shape[-3:], tuple(x.shape[:-3])
    x = ops.reshape(x, (*lead, channels, height // r, r, width // r, r))
    n = len(lead)
    x = ops.transpose(x, (*range(n), n, n + 2, n + 4, n + 1, n + 3))
    return ops.reshape(x, (*lead, channels * r * r, height // r, width // r))


def channel_shuffle(x: Value, groups: int) -> Value:
    """The channels of (n, c, ...) dealt out over groups (Zhang et al. 2018).

    Raises:
        ShapeError: fewer than two axes, or the channels are no multiple of the groups.

    Example:
        >>> sg.nn.channel_shuffle(np.arange(4.0).reshape(1, 4, 1), 2).ravel()
        array([0., 2., 1., 3.])
    """
    x = as_operand(x)
    if x.ndim < 2:
        raise ShapeError(f"channel_shuffle: {shown(x)} has {x.ndim} axes, of at least 2")
    channels = x.shape[1]
    if groups < 1 or (not isinstance(channels, Dim) and channels % groups):
        raise ShapeError(
            f"channel_shuffle: the {channels} channels of {shown(x)} are no multiple of {groups} "
            "groups"
        )
    return dealt(x, groups)


def dealt(x: Value, groups: int) -> Value:
    """`channel_shuffle` of what fits."""
    batch, channels, *rest = x.shape
    grouped = ops.reshape(x, (batch, groups, channels // groups, *rest))
    return ops.reshape(ops.swapaxes(grouped, 1, 2), tuple(x.shape))
