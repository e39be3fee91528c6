"""Images read at points between their pixels: `grid_sample`, `affine_grid`; PyTorch's refusals.

What is computed is `staticgraph.compiler.layers.sampling_grids`, which both paradigms share.
"""

from __future__ import annotations

from typing import Any

from staticgraph.compiler.core.dims import Dim
from staticgraph.compiler.core.errors import OptionError
from staticgraph.compiler.layers.sampling_grids import MODES, PADDINGS, affine_points, sampled
from staticgraph.dynamic.core.errors import AutogradError
from staticgraph.dynamic.core.sizes import differ
from staticgraph.dynamic.tensors.naming import called, keep, labelled


@called("AffineGridGenerator")
def affine_grid(theta: Any, size: Any, align_corners: bool | None = None) -> Any:
    """The points at which `grid_sample` reads an image for an affine map of its output.

    (n, 2, 3) and a size (n, c, h, w) -> (n, h, w, 2); (n, 3, 4) and (n, c, d, h, w) ->
    (n, d, h, w, 3).

    Example:
        >>> theta = dynamic.tensor([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]])
        >>> nn.functional.affine_grid(theta, (1, 1, 1, 2), align_corners=True)[0, 0]
        tensor([[-1.,  0.],
                [ 1.,  0.]])
    """
    axes = [one if isinstance(one, Dim) else int(one) for one in size][2:]
    rank = len(axes)
    if rank not in (2, 3):
        raise MissingRankError(
            "affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, "
            f"respectively. Got size {list(size)}"
        )
    if theta.ndim != 3 or differ(theta.shape[1:], (rank, rank + 1)):
        raise OptionError(
            f"Expected a batch of {rank}D affine matrices of shape Nx{rank}x{rank + 1} for size "
            f"{list(size)}. Got {theta.shape}."
        )
    return affine_points(theta, axes, bool(align_corners))


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

    Example:
        >>> grid = dynamic.tensor([[[[0.0, 0.0], [1.0, 0.0]]]])
        >>> nn.functional.grid_sample(dynamic.tensor([[[[1.0, 3.0]]]]), grid, align_corners=True)
        tensor([[[[2., 3.]]]])
    """
    if mode not in MODES:
        raise OptionError(
            "nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', "
            f"but got: '{mode}'"
        )
    if padding_mode not in PADDINGS:
        raise OptionError(
            "nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or "
            f"'reflection', but got: '{padding_mode}'"
        )
    rank = input.ndim - 2
    if rank not in (2, 3) or grid.ndim != input.ndim or differ(grid.shape[-1:], (rank,)):
        raise AutogradError(
            "grid_sampler(): expected 4D or 5D input and grid with same number of dimensions, but "
            f"got input with sizes {list(input.shape)} and grid with sizes {list(grid.shape)}"
        )
    if differ(input.shape[:1], grid.shape[:1]):
        raise AutogradError(
            "grid_sampler(): expected grid and input to have same batch size, but got input with "
            f"sizes {list(input.shape)} and grid with sizes {list(grid.shape)}"
        )
    if mode == "bicubic" and rank == 3:
        raise AutogradError("grid_sampler(): bicubic interpolation only supports 4D input")
    found = sampled(input, grid, mode, padding_mode, bool(align_corners))
    return labelled(keep(found, input, grid), f"GridSampler{rank}D")
