"""Images read at points between their pixels: `grid_sample`, `affine_grid`."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core.errors import OptionError
from staticgraph.compiler.layers.axes import flattened
from staticgraph.dynamic.core.errors import AutogradError
from staticgraph.dynamic.tensors.tensor import wrap


def affine_grid(theta: Any, size: Any, align_corners: bool | None = None) -> Any:
    """The points at which `grid_sample` reads an image for an affine map of its output.

    (n, 2, 3) and a size (n, c, h, w) -> (n, h, w, 2); (n, 3, 4) and (n, c, d, h, w) ->
    (n, d, h, w, 3).
    """
    axes = [int(one) for one in size][2:]
    rank = len(axes)
    if rank not in (2, 3):
        raise MissingRankError(
            "affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, "
            f"respectively. Got size {list(size)}"
        )
    if theta.ndim != 3 or tuple(theta.shape[1:]) != (rank, rank + 1):
        raise OptionError(
            f"Expected a batch of {rank}D affine matrices of shape Nx{rank}x{rank + 1} for size "
            f"{list(size)}. Got {theta.shape}."
        )
    lines = []
    for n in axes:
        line = np.linspace(-1, 1, n) if n > 1 else np.zeros(n)
        lines.append(line if align_corners or n < 2 else line * (n - 1) / n)
    meshes = np.meshgrid(*lines, indexing="ij")
    points = np.stack([*reversed(meshes), np.ones(axes)], -1).reshape(-1, rank + 1)
    base = wrap(points.astype(np.dtype(theta.dtype)))
    return (base @ theta.transpose(1, 2)).reshape(theta.shape[0], *axes, rank)


class MissingRankError(OptionError, NotImplementedError):
    """An affine map of so many axes is not there; PyTorch raises NotImplementedError."""


def grid_sample(
    input: Any,
    grid: Any,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool | None = None,
) -> Any:
    """An image at points: (n, c, h, w), (n, h', w', 2) -> (n, c, h', w'); of volumes alike.

    Args:
        input: images, or volumes (n, c, d, h, w).
        grid: per point x and y (and z) from -1 to 1.
        mode: "bilinear", "nearest", or of images "bicubic".
        padding_mode: outside there are "zeros", the nearest pixel of the "border", or a
            "reflection".
        align_corners: whether -1 and 1 are the centres of the outer pixels, or their edges.
    """
    if mode not in ("bilinear", "nearest", "bicubic"):
        raise OptionError(
            "nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', "
            f"but got: '{mode}'"
        )
    if padding_mode not in ("zeros", "border", "reflection"):
        raise OptionError(
            "nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or "
            f"'reflection', but got: '{padding_mode}'"
        )
    rank = input.ndim - 2
    if rank not in (2, 3) or grid.ndim != input.ndim or grid.shape[-1] != rank:
        raise AutogradError(
            "grid_sampler(): expected 4D or 5D input and grid with same number of dimensions, but "
            f"got input with sizes {list(input.shape)} and grid with sizes {list(grid.shape)}"
        )
    if input.shape[0] != grid.shape[0]:
        raise AutogradError(
            "grid_sampler(): expected grid and input to have same batch size, but got input with "
            f"sizes {list(input.shape)} and grid with sizes {list(grid.shape)}"
        )
    if mode == "bicubic" and rank == 3:
        raise AutogradError("grid_sampler(): bicubic interpolation only supports 4D input")
    sizes = [int(one) for one in input.shape[2:]]
    places = [
        _place(grid[..., rank - 1 - axis], size, bool(align_corners))
        for axis, size in enumerate(sizes)
    ]
    if mode != "bicubic":
        places = [
            _inside(place, size, padding_mode, bool(align_corners))
            for place, size in zip(places, sizes, strict=True)
        ]
    taps = [_taps(place, mode) for place in places]
    total: Any = 0
    for chosen in itertools.product(*taps):
        index = [
            _inside(where, size, padding_mode, bool(align_corners)) if mode == "bicubic" else where
            for (where, _), size in zip(chosen, sizes, strict=True)
        ]
        weight = math.prod(weight for _, weight in chosen)
        total = total + _read(input, index, sizes) * _as_channel(weight, grid)
    return total


def _as_channel(weight: Any, grid: Any) -> Any:
    return weight.unsqueeze(1) if hasattr(weight, "unsqueeze") else weight


def _place(at: Any, size: int, align_corners: bool) -> Any:
    """From -1 ... 1 to a place among pixels."""
    if align_corners:
        return (at + 1) / 2 * (size - 1)
    return ((at + 1) * size - 1) / 2


def _inside(place: Any, size: int, padding_mode: str, align_corners: bool) -> Any:
    """The place where a pixel outside is read instead."""
    if padding_mode == "zeros":
        return place
    if padding_mode == "reflection":
        low, span = (0.0, size - 1.0) if align_corners else (-0.5, float(size))
        if not span:
            return place * 0
        away = ops.absolute(place - low)
        turns = ops.floor(away / span)
        rest = away - turns * span
        odd = ops.not_equal(ops.remainder(turns.detach(), 2.0), 0.0)
        place = ops.where(odd, span - rest, rest) + low
    return place.clamp(0, size - 1)


def _taps(place: Any, mode: str) -> list[tuple[Any, Any]]:
    """The pixels that count at a place, with their weights."""
    if mode == "nearest":
        return [(ops.round(place.detach()), ops.where(np.array(False), place, 1.0))]
    low = ops.floor(place.detach())
    t = place - low
    if mode == "bilinear":
        return [(low, 1 - t), (low + 1, t)]
    a = -0.75
    near = [((a + 2) * x - (a + 3)) * x * x + 1 for x in (t, 1 - t)]
    far = [((a * x - 5 * a) * x + 8 * a) * x - 4 * a for x in (t + 1, 2 - t)]
    return [(low - 1, far[0]), (low, near[0]), (low + 1, near[1]), (low + 2, far[1])]


def _read(input: Any, index: list[Any], sizes: list[int]) -> Any:
    """The pixels at whole places, 0 outside: (n, c, ...) at (n, ...) -> (n, c, ...)."""
    flat: Any = 0
    valid: Any = None
    for where, size in zip(index, sizes, strict=True):
        fits = ops.logical_and(where >= 0, where <= size - 1)
        valid = fits if valid is None else ops.logical_and(valid, fits)
        flat = flat * size + ops.where(fits, where.detach(), 0.0)  # nan is no place either
    count, channels = input.shape[0], input.shape[1]
    shape = tuple(flat.shape)
    places = flattened(flat.long(), 1).unsqueeze(1).expand(count, channels, -1)
    pixels = flattened(input, 2).gather(2, places)
    return ops.where(valid.unsqueeze(1), pixels.reshape(count, channels, *shape[1:]), 0.0)
