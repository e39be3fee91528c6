"""Padding of the last axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core.annotated import as_float
from staticgraph.compiler.core.errors import StaticGraphError
from staticgraph.dynamic.core import eager_ops
from staticgraph.dynamic.core.errors import AutogradError
from staticgraph.dynamic.nn.functional.windows import listed
from staticgraph.dynamic.tensors.tensor import PLAIN

__all__ = ["pad"]


class PaddingError(StaticGraphError, NotImplementedError):
    """A mode of padding that does not exist, or not for this number of axes."""


def pad(input: Any, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> Any:
    """The input with elements added around it.

    Args:
        input: (..., w).
        pad: (before, after) of the last axis, then of the one before it, ...; negative numbers
            take elements away (mode constant).
        mode: what is added: "constant", "reflect" (mirrored at the edge element), "replicate" (the
            edge element) or "circular" (the elements of the other side).
        value: the constant, 0 if None.

    Raises:
        AutogradError: more or larger widths than the mode allows.
        PaddingError: another mode.
    """
    widths = [int(one) for one in pad]
    if len(widths) % 2:
        raise AutogradError("Padding length must be divisible by 2")
    if len(widths) > 2 * input.ndim:
        raise AutogradError(
            "Padding length should be less than or equal to two times the input dimension but got "
            f"padding length {len(widths)} and input of dimension {input.ndim}"
        )
    if mode == "constant":
        return _constant(input, widths, 0.0 if value is None else as_float("pad", "value", value))
    if mode not in _INDICES:
        raise PaddingError(f"Unrecognised padding mode {mode}")
    if value is not None and value != 0:
        raise AutogradError(f'Padding mode "{mode}" doesn\'t take in value argument')
    axes = len(widths) // 2
    if axes > 3 or input.ndim not in (axes + 1, axes + 2):
        raise PaddingError(
            f"Padding size {len(widths)} is not supported for {input.ndim}D input tensor.\n"
            "Supported combinations for non-constant padding:\n"
            "  - 2D or 3D input: padding size = 2 (pads last dimension)\n"
            "  - 3D or 4D input: padding size = 4 (pads last 2 dimensions)\n"
            "  - 4D or 5D input: padding size = 6 (pads last 3 dimensions)"
        )
    shape = tuple(input.shape)
    mirrored = mode != "circular" and type(input) in PLAIN
    take = eager_ops.mirrored if mirrored else ops.take
    for i in range(axes):
        axis, before, after = input.ndim - 1 - i, widths[2 * i], widths[2 * i + 1]
        if before or after:
            places = _INDICES[mode](shape, axis, before, after)
            input = take(input, places, axis)
    return input


def _constant(input: Any, widths: Sequence[int], value: float) -> Any:
    pairs = [(0, 0)] * (input.ndim - len(widths) // 2)
    pairs += [(widths[i], widths[i + 1]) for i in range(len(widths) - 2, -1, -2)]
    sizes = [
        size + min(before, 0) + min(after, 0)
        for size, (before, after) in zip(input.shape, pairs, strict=True)
    ]
    if any(size < 0 for size in sizes):
        raise AutogradError("narrow(): length must be non-negative.")
    starts = tuple(max(0, -before) for before, _ in pairs)
    if tuple(sizes) != tuple(input.shape):
        input = ops.strided_slice(input, starts, tuple(sizes), (1,) * input.ndim)
    return ops.pad(input, [(max(0, before), max(0, after)) for before, after in pairs], value)


def _reflected(shape: Sequence[int], axis: int, before: int, after: int) -> Any:
    size = shape[axis]
    if before >= size or after >= size:
        raise AutogradError(
            "Argument #4: Padding size should be less than the corresponding input dimension, but "
            f"got: padding ({before}, {after}) at dimension {axis} of input {listed(shape)}"
        )
    place = np.abs(np.arange(-before, size + after))
    return np.where(place >= size, 2 * (size - 1) - place, place)


def _replicated(shape: Sequence[int], axis: int, before: int, after: int) -> Any:
    return np.clip(np.arange(-before, shape[axis] + after), 0, shape[axis] - 1)


def _circular(shape: Sequence[int], axis: int, before: int, after: int) -> Any:
    if before > shape[axis] or after > shape[axis]:
        raise AutogradError("Padding value causes wrapping around more than once.")
    return np.arange(-before, shape[axis] + after) % shape[axis]


_INDICES = {"reflect": _reflected, "replicate": _replicated, "circular": _circular}
"""Per mode the places whose elements a padded axis has."""
