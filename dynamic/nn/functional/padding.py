"""Padding of the last axes, with PyTorch's refusals.

What is computed is `staticgraph.compiler.layers.padding`, which both paradigms share.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from staticgraph.compiler import ops
from staticgraph.compiler.core.annotated import as_float
from staticgraph.compiler.core.dims import Dim
from staticgraph.compiler.core.errors import StaticGraphError
from staticgraph.compiler.layers.padding import INDICES, constant, pairs_of
from staticgraph.dynamic.core import eager_ops
from staticgraph.dynamic.core.errors import ArgumentError, AutogradError
from staticgraph.dynamic.core.required_ints import require_int
from staticgraph.dynamic.core.results import sizes_of
from staticgraph.dynamic.nn.functional.windows import listed
from staticgraph.dynamic.tensors.naming import labelled
from staticgraph.dynamic.tensors.narrowing import widening
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

    Example:
        >>> nn.functional.pad(dynamic.tensor([1.0, 2.0]), (1, 2))
        tensor([0., 1., 2., 0., 0.])
    """
    if hasattr(pad, "__index__"):
        raise ArgumentError(
            f"pad(): argument 'pad' (position 2) must be tuple of ints, not {type(pad).__name__}"
        )
    given = pad if isinstance(pad, tuple) else sizes_of((pad,), "pad", "pad")
    for one in given:
        if type(one) is not int:
            require_int("pad", "pad", 2, one)
    widths = [int(one) for one in given]
    if len(widths) % 2:
        raise AutogradError("Padding length must be divisible by 2")
    if len(widths) > 2 * input.ndim:
        raise AutogradError(
            "Padding length should be less than or equal to two times the input dimension but got "
            f"padding length {len(widths)} and input of dimension {input.ndim}"
        )
    if mode == "constant":
        return _constant(input, widths, 0.0 if value is None else as_float("pad", "value", value))
    if mode not in INDICES:
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
    narrow = mode == "circular" or (mode == "reflect" and axes == 3)  # PyTorch's list for CPUs
    padded = _padded if narrow else _widely_padded
    found = padded(input, widths, mode)
    if found is input or mode == "circular":
        return found
    return labelled(found, f"{'Reflection' if mode == 'reflect' else 'Replication'}Pad{axes}D")


def _padded(input: Any, widths: Sequence[int], mode: str) -> Any:
    """The input with elements of its own added."""
    mirrored = mode != "circular" and type(input) in PLAIN
    for i in range(len(widths) // 2):
        axis, before, after = input.ndim - 1 - i, widths[2 * i], widths[2 * i + 1]
        if before or after:
            _check_width(input, axis, before, after, mode)
            take = ops.take
            if mirrored:
                take = eager_ops.mirrored if i else eager_ops.mirrored_lines
            input = take(input, INDICES[mode](input, axis, before, after), axis)
    return input


_widely_padded = widening(_padded)


def _constant(input: Any, widths: Sequence[int], value: float) -> Any:
    pairs = pairs_of(input, widths)
    for size, (before, after) in zip(input.shape, pairs, strict=True):
        rest = size + min(before, 0) + min(after, 0)
        if not isinstance(rest, Dim) and rest < 0:
            raise AutogradError("narrow(): length must be non-negative.")
    return constant(input, pairs, value)


def _check_width(input: Any, axis: int, before: int, after: int, mode: str) -> None:
    size = input.shape[axis]
    if isinstance(size, Dim):
        return
    if mode == "reflect" and (before >= size or after >= size):
        raise AutogradError(
            "Argument #4: Padding size should be less than the corresponding input dimension, but "
            f"got: padding ({before}, {after}) at dimension {axis} of input {listed(input.shape)}"
        )
    if mode == "circular" and (before > size or after > size):
        raise AutogradError("Padding value causes wrapping around more than once.")
