"""Interpolation: the last axes at another size, with PyTorch's refusals.

What is computed is `staticgraph.compiler.layers.interpolation`, which both paradigms share.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from staticgraph.compiler.core.dims import Dim
from staticgraph.compiler.core.errors import OptionError
from staticgraph.compiler.layers.interpolation import CHOSEN, RANKS, resized, scaled
from staticgraph.dynamic.core.errors import AutogradError
from staticgraph.dynamic.core.required_ints import require_int
from staticgraph.dynamic.core.user_warnings import warn
from staticgraph.dynamic.nn.errors import UnsupportedError
from staticgraph.dynamic.nn.functional.antialiasing import MODES, antialiased
from staticgraph.dynamic.tensors.naming import labelled

__all__ = ["interpolate", "upsample"]


def interpolate(
    input: Any,
    size: object = None,
    scale_factor: object = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Any:
    """The last axes of (n, c, ...) at another size, or at a multiple of theirs.

    `mode` is nearest, nearest-exact, linear (one axis), bilinear or bicubic (two; a = -0.75),
    trilinear (three) or area. With `antialias` (bilinear and bicubic) each element is a mean of all
    that it stands for. With `align_corners` the outer elements stay where they are.

    Example:
        >>> nn.functional.interpolate(
        ...     dynamic.tensor([[[0.0, 2.0]]]), 3, mode="linear", align_corners=True
        ... )
        tensor([[[0., 1., 2.]]])
    """
    axes = input.ndim - 2
    if antialias and mode not in MODES:
        raise OptionError("Anti-alias option is restricted to bilinear and bicubic modes")
    if mode in CHOSEN and align_corners is not None:
        raise OptionError(
            "align_corners option can only be set with the interpolating modes: linear | bilinear "
            "| bicubic | trilinear"
        )
    if mode not in (*CHOSEN, *RANKS):
        raise UnsupportedError(
            f"interpolate: there is no mode {mode!r}: {' | '.join((*CHOSEN, *RANKS))}"
        )
    if mode in RANKS and input.ndim != RANKS[mode]:
        raise UnsupportedError(
            f"Got {input.ndim}D input, but {mode} mode needs {RANKS[mode]}D input"
        )
    sizes, scales = _sizes(input, size, scale_factor, recompute_scale_factor, axes)
    found = input
    if not antialias:
        found = resized(input, sizes, scales, mode, bool(align_corners))
    else:
        for axis, (wanted, scale) in enumerate(zip(sizes, scales, strict=True), 2):
            found = antialiased(found, axis, wanted, scale, mode, bool(align_corners))
    if found is input or mode == "area":
        return found
    kind = "".join(part.capitalize() for part in mode.split("-"))
    return labelled(found, f"Upsample{kind}{axes}D{'Aa' if antialias else ''}")


def _sizes(
    input: Any, size: Any, scale_factor: Any, recompute: bool | None, axes: int
) -> tuple[list[Any], list[float | None]]:
    """The wanted sizes, and the scales by which coordinates are computed; None: from the sizes."""
    if size is not None and scale_factor is not None:
        raise OptionError("only one of size or scale_factor should be defined")
    have = input.shape[2:]
    if size is not None:
        if recompute:
            raise OptionError("recompute_scale_factor is not meaningful with an explicit size.")
        listed = (size,) * axes if hasattr(size, "__index__") else tuple(size)
        _require_count("size", listed, axes, "Input and output must have the same number of "
                       "spatial dimensions, but got input with spatial dimensions of "
                       f"{list(have)} and output size of {size}. ")  # fmt: skip
        for one in listed:
            require_int("interpolate", "size", 2, one)
            if not isinstance(one, Dim) and int(one) <= 0:
                raise AutogradError(
                    "Input and output sizes should be greater than 0, but got input "
                    f"{list(have)} output {list(listed)}"
                )
        return [one if isinstance(one, Dim) else int(one) for one in listed], [None] * axes
    if scale_factor is None:
        raise OptionError("either size or scale_factor should be defined")
    single = isinstance(scale_factor, int | float | np.number)
    scales = (scale_factor,) * axes if single else tuple(scale_factor)
    _require_count("scale", scales, axes, "Input and scale_factor must have the same number of "
                   f"spatial dimensions, but got input with spatial dimensions of {list(have)} and "
                   f"scale_factor of shape {scale_factor}. ")  # fmt: skip
    wanted = [scaled(n, float(s)) for n, s in zip(have, scales, strict=True)]
    return wanted, [None] * axes if recompute else [float(one) for one in scales]


def _require_count(what: str, listed: tuple[object, ...], axes: int, text: str) -> None:
    if len(listed) != axes:
        raise OptionError(
            f"{text}Please provide input tensor in (N, C, d1, d2, ...,dK) format and "
            f"{'output size' if what == 'size' else 'scale_factor'} in "
            f"{'(o1, o2, ...,oK)' if what == 'size' else '(s1, s2, ...,sK)'} format."
        )


def upsample(
    input: object,
    size: object = None,
    scale_factor: object = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
) -> Any:
    """The old name of `interpolate`.

    Example:
        >>> nn.functional.upsample(dynamic.tensor([[[1.0, 2.0]]]), scale_factor=2)
        tensor([[[1., 1., 2., 2.]]])
    """
    warn("`nn.functional.upsample` is deprecated. Use `nn.functional.interpolate` instead.")
    return interpolate(input, size, scale_factor, mode, align_corners)
