"""The cotangent of the image of a convolution with strides: a convolution for each phase.

With a stride of 2, the places of the image that are even meet one half of the window, and the odd
ones the other half. So each is a convolution without strides of the result's cotangent, with a part
of the weight, and they are put side by side: nothing is added to memory place by place.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from staticgraph.compiler.core.op import Attrs
from staticgraph.compiler.ops.shapes.shape import reshape
from staticgraph.compiler.ops.shapes.slicing import embed, stack, strided_slice

MOST_PHASES = 4


def has_phases(weight: Any, sizes: Sequence[object], attrs: Attrs) -> bool:
    """Whether it is worthwhile: with few phases, all of which meet a part of the window, and
    windows that overlap.
    """
    strides = attrs["stride"]
    window = weight.shape[2:]
    if attrs["dilation"] != (1, 1) or not 1 < prod(strides) <= MOST_PHASES:
        return False
    if not all(isinstance(size, int) for size in (*sizes, *window)):
        return False
    return all(k > s or s == 1 for k, s in zip(window, strides, strict=True))


def by_phases(
    g: Any, weight: Any, sizes: tuple[int, int], attrs: Attrs, convolve: Callable[[Any, Any], Any]
) -> Any:
    """The cotangent of an image of these sizes.

    Args:
        g: the cotangent of the result.
        weight: that of the convolution.
        sizes: the height and width of the image.
        attrs: the options of the convolution.
        convolve: gives the convolution of its first operand, without padding, whose adjoint is
            that with its second operand.
    """
    strides, padding, window = attrs["stride"], attrs["padding"], weight.shape[2:]
    axes = [
        _phases(size, k, s, p)
        for size, k, s, p in zip(sizes, window, strides, padding, strict=True)
    ]
    before = [max(0, *(-start for start, _, _, _ in phases)) for phases in axes]
    lengths = [
        max(start + first + count + part - 1 for start, _, count, part in phases)
        for phases, first in zip(axes, before, strict=True)
    ]
    whole = _spread_out(g, before, lengths)
    rows = []
    for down in axes[0]:
        row = []
        for right in axes[1]:
            both = tuple(zip(down, right, strict=True))
            starts = [start + first for start, first in zip(both[0], before, strict=True)]
            counts = [count + part - 1 for count, part in zip(both[2], both[3], strict=True)]
            piece = strided_slice(whole, (0, 0, *starts), (*whole.shape[:2], *counts), (1, 1, 1, 1))
            part = strided_slice(
                weight, (0, 0, *both[1]), (*weight.shape[:2], *both[3]), (1, 1, *strides)
            )
            row.append(convolve(piece, part))
        rows.append(_side_by_side(row, 4))
    found = _side_by_side(rows, 3)
    if tuple(found.shape[2:]) == tuple(sizes):
        return found
    return strided_slice(found, (0, 0, 0, 0), (*found.shape[:2], *sizes), (1, 1, 1, 1))


Phase = tuple[int, int, int, int]


def _phases(size: int, window: int, stride: int, padding: int) -> list[Phase]:
    """Of each phase: where it starts in g, and in the window; how many places; how much of it."""
    found = []
    for phase in range(stride):
        first, tap = divmod(phase + padding, stride)
        part = len(range(tap, window, stride))
        found.append((first - (part - 1), tap, -(-size // stride), part))
    return found


def _spread_out(g: Any, before: Sequence[int], lengths: Sequence[int]) -> Any:
    """g between zeros, or the part of it that is met."""
    if not any(before) and all(
        length <= size for length, size in zip(lengths, g.shape[2:], strict=True)
    ):
        return g
    kept = [
        min(size, length - first)
        for size, length, first in zip(g.shape[2:], lengths, before, strict=True)
    ]
    part = g
    if kept != list(g.shape[2:]):
        part = strided_slice(g, (0, 0, 0, 0), (*g.shape[:2], *kept), (1, 1, 1, 1))
    return embed(part, (0, 0, *before), (*g.shape[:2], *lengths), (1, 1, 1, 1), 0.0)


def _side_by_side(parts: Sequence[Any], axis: int) -> Any:
    """The elements of an axis of the first part, of the second one and so on, in turn."""
    if len(parts) == 1:
        return parts[0]
    joined = stack(parts, axis=axis)
    shape = list(parts[0].shape)
    shape[axis - 1] *= len(parts)
    return reshape(joined, tuple(shape))
