"""Images read at points between their pixels: `grid_sample`, `affine_grid`."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

from staticgraph.compiler import ops
from staticgraph.compiler.core.dims import Size
from staticgraph.compiler.core.errors import OptionError, ShapeError
from staticgraph.compiler.core.types import unify
from staticgraph.compiler.core.values import Value
from staticgraph.compiler.layers.axes import (
    agree,
    along,
    beside,
    flattened,
    number,
    numbers,
    of_floats,
    shown,
)
from staticgraph.compiler.layers.interpolation import far, near

__all__ = ["affine_grid", "grid_sample"]

MODES = ("bilinear", "nearest", "bicubic")
PADDINGS = ("zeros", "border", "reflection")


def affine_grid(theta: Value, size: Sequence[Size], align_corners: bool | None = None) -> Value:
    """The points at which `grid_sample` reads an image for an affine map of its output.

    (n, 2, 3) and a size (n, c, h, w) -> (n, h, w, 2); (n, 3, 4) and (n, c, d, h, w) ->
    (n, d, h, w, 3); sizes may be unknown until run time.

    Raises:
        OptionError: a size of another number of axes.
        ShapeError: the maps do not fit it.

    Example:
        >>> theta = np.array([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]])
        >>> sg.nn.affine_grid(theta, (1, 1, 1, 2), align_corners=True)[0, 0]
        array([[-1.,  0.],
               [ 1.,  0.]])
    """
    theta, axes = of_floats("affine_grid", theta), tuple(size)[2:]
    rank = len(axes)
    if rank not in (2, 3):
        raise OptionError(f"affine_grid: a size of 4 or 5 axes, not {tuple(size)}")
    if theta.ndim != 3 or not agree(theta.shape[1:], (rank, rank + 1)):
        raise ShapeError(
            f"affine_grid: {shown(theta)} are no maps (n, {rank}, {rank + 1}) for {tuple(size)}"
        )
    return affine_points(theta, axes, bool(align_corners))


def affine_points(theta: Value, axes: Sequence[Size], align_corners: bool) -> Value:
    """`affine_grid` of what fits."""
    rank = len(axes)
    lines = []
    for axis, n in enumerate(axes):
        have = number(n, theta, "float64")
        ends = ops.maximum(have - 1, 1) if align_corners else have
        line = (2 * ops.astype(numbers(n, theta), "float64") - (have - 1)) / ends
        lines.append(ops.broadcast_to(along(line, axis, rank), tuple(axes)))
    ones = ops.broadcast_to(lines[0] * 0 + 1, tuple(axes))
    points = flattened(ops.stack([*reversed(lines), ones], 0), 1)
    base = beside(ops.astype(ops.swapaxes(points, 0, 1), theta.dtype), theta)
    found = ops.matmul(base, ops.swapaxes(theta, 1, 2))
    return ops.reshape(found, (theta.shape[0], *axes, rank))


def grid_sample(
    x: Value,
    grid: Value,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool | None = None,
) -> Value:
    """An image at points: (n, c, h, w), (n, h', w', 2) -> (n, c, h', w'); of volumes alike.

    Args:
        x: images, or volumes (n, c, d, h, w).
        grid: per point x and y (and z) from -1 to 1.
        mode: "bilinear", "nearest", or of images "bicubic".
        padding_mode: outside there are "zeros", the nearest pixel of the "border", or a
            "reflection".
        align_corners: whether -1 and 1 are the centres of the outer pixels, or their edges.

    Raises:
        ShapeError: shapes do not fit.
        OptionError: another mode.

    Example:
        >>> grid = np.array([[[[0.0, 0.0], [1.0, 0.0]]]])
        >>> sg.nn.grid_sample(np.array([[[[1.0, 3.0]]]]), grid, align_corners=True)
        array([[[[2., 3.]]]])
    """
    x, grid = of_floats("grid_sample", x), of_floats("grid_sample", grid)
    rank = x.ndim - 2
    if mode not in MODES or (mode == "bicubic" and rank == 3):
        raise OptionError(f"grid_sample: mode={mode!r} is none of {MODES} for {rank} axes")
    if padding_mode not in PADDINGS:
        raise OptionError(f"grid_sample: padding_mode is one of {PADDINGS}, not {padding_mode!r}")
    fits = rank in (2, 3) and grid.ndim == x.ndim
    if not fits or unify(grid.shape[-1], rank) is None or unify(x.shape[0], grid.shape[0]) is None:
        raise ShapeError(
            f"grid_sample: {shown(x)} and points {shown(grid)}: (n, c, h, w) and (n, ..., 2), or "
            "(n, c, d, h, w) and (n, ..., 3)"
        )
    return sampled(x, grid, mode, padding_mode, bool(align_corners))


def sampled(x: Value, grid: Value, mode: str, padding: str, align: bool) -> Value:
    """`grid_sample` of what fits."""
    rank = x.ndim - 2
    sizes = [number(size, x, grid.dtype) for size in x.shape[2:]]
    places = [_place(grid[..., rank - 1 - axis], size, align) for axis, size in enumerate(sizes)]
    if mode != "bicubic":
        places = [
            _inside(place, size, padding, align) for place, size in zip(places, sizes, strict=True)
        ]
    total: Any = 0
    for chosen in itertools.product(*(_taps(place, mode) for place in places)):
        index = [
            _inside(where, size, padding, align) if mode == "bicubic" else where
            for (where, _), size in zip(chosen, sizes, strict=True)
        ]
        weights = [weight for _, weight in chosen if weight is not None]
        pixels = _read(x, index, sizes)
        if weights:
            pixels = pixels * ops.expand_dims(math.prod(weights), 1)
        total = total + pixels
    return total


def _place(at: Any, size: Any, align: bool) -> Any:
    """From -1 ... 1 to a place among pixels."""
    return (at + 1) / 2 * (size - 1) if align else ((at + 1) * size - 1) / 2


def _inside(place: Any, size: Any, padding: str, align: bool) -> Any:
    """The place where a pixel outside is read instead."""
    if padding == "zeros":
        return place
    if padding == "reflection":
        # of one pixel any distance will do: its place is clipped below
        between = max(size - 1, 1) if isinstance(size, int) else ops.maximum(size - 1, 1)
        low, span = (0.0, between) if align else (-0.5, size)
        away = ops.absolute(place - low)
        turns = ops.floor(away / span)
        rest = away - turns * span
        odd = ops.not_equal(ops.remainder(ops.stop_gradient(turns), 2.0), 0.0)
        place = ops.where(odd, span - rest, rest) + low
    if isinstance(size, int):
        return ops.clip(place, 0, size - 1)
    return ops.minimum(ops.maximum(place, 0), size - 1)


def _taps(place: Any, mode: str) -> list[tuple[Any, Any]]:
    """The pixels that count at a place, with their weights; None for 1."""
    if mode == "nearest":
        return [(ops.round(ops.stop_gradient(place)), None)]
    low = ops.floor(ops.stop_gradient(place))
    t = place - low
    if mode == "bilinear":
        return [(low, 1 - t), (low + 1, t)]
    weights = (far(t + 1), near(t), near(1 - t), far(2 - t))
    return [(low + i - 1, weight) for i, weight in enumerate(weights)]


def _read(x: Any, index: Sequence[Any], sizes: Sequence[Any]) -> Any:
    """The pixels at whole places, 0 outside: (n, c, ...) at (n, ...) -> (n, c, ...)."""
    flat: Any = 0
    valid: Any = None
    for where, size, have in zip(index, sizes, x.shape[2:], strict=True):
        fits = ops.logical_and(ops.greater_equal(where, 0), ops.less_equal(where, size - 1))
        valid = fits if valid is None else ops.logical_and(valid, fits)
        inside = ops.where(fits, ops.stop_gradient(where), 0.0)  # nan is no place either
        flat = flat * number(have, x) + ops.astype(inside, "int64")
    points = tuple(flat.shape)
    places = ops.expand_dims(flattened(flat, 1), 1)
    places = ops.broadcast_to(places, (points[0], x.shape[1], places.shape[2]))
    pixels = ops.take_along_axis(flattened(x, 2), places, 2, wrap=False)
    pixels = ops.reshape(pixels, (points[0], x.shape[1], *points[1:]))
    return ops.where(ops.expand_dims(valid, 1), pixels, 0.0)
