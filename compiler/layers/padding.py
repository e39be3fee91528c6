"""Padding of the last axes, by a constant or by elements of theirs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from staticgraph.compiler import ops
from staticgraph.compiler.core.dims import Dim, Size
from staticgraph.compiler.core.errors import OptionError, ShapeError
from staticgraph.compiler.core.values import Value
from staticgraph.compiler.layers.axes import number, numbers, shown
from staticgraph.compiler.layers.interpolation import library
from staticgraph.compiler.ops.declare import as_operand
from staticgraph.compiler.ops.shapes.slicing import strided_slice

__all__ = ["pad"]


def pad(x: Value, pad: Sequence[int], mode: str = "constant", value: float = 0.0) -> Value:
    """The operand with elements added around it, or taken away.

    Args:
        x: (..., w).
        pad: (before, after) of the last axis, then of the one before it, ...; negative numbers
            take elements away (mode constant).
        mode: what is added: "constant", "reflect" (mirrored at the edge element), "replicate" (the
            edge element) or "circular" (the elements of the other side).
        value: the constant.

    Raises:
        OptionError: another mode, or no pairs of widths, or a negative one.
        ShapeError: more axes than there are, or not as many elements as are added.

    Example:
        >>> sg.nn.pad(np.array([1.0, 2.0, 3.0]), (2, 1), mode="reflect")
        array([3., 2., 1., 2., 3., 2.])
    """
    x, widths = as_operand(x), [int(one) for one in pad]
    if mode != "constant" and mode not in INDICES:
        raise OptionError(f"pad: mode is one of {('constant', *INDICES)}, not {mode!r}")
    if len(widths) % 2 or (mode != "constant" and any(one < 0 for one in widths)):
        raise OptionError(f"pad: {tuple(widths)} are no pairs of widths in mode {mode!r}")
    if len(widths) > 2 * x.ndim:
        raise ShapeError(f"pad: {len(widths) // 2} pairs of widths for {shown(x)}")
    pairs = pairs_of(x, widths)
    for size, (before, after) in zip(x.shape, pairs, strict=True):
        if before == after == 0:
            continue
        most = {"reflect": size - 1, "circular": size}.get(mode, max(before, after))
        rest = size + min(before, 0) + min(after, 0)
        few = not isinstance(most, Dim) and max(before, after) > most
        if few or (not isinstance(rest, Dim) and rest < 0) or (mode == "replicate" and size == 0):
            raise ShapeError(f"pad: {(before, after)} elements more of {size}, mode {mode!r}")
    if mode == "constant":
        return constant(x, pairs, value)
    for axis, (before, after) in enumerate(pairs):
        if before or after:
            x = ops.take(x, INDICES[mode](x, axis, before, after), axis)
    return x


def pairs_of(x: Value, widths: Sequence[int]) -> list[tuple[int, int]]:
    """The widths of each axis."""
    pairs = [(0, 0)] * (x.ndim - len(widths) // 2)
    return pairs + [(widths[i], widths[i + 1]) for i in range(len(widths) - 2, -1, -2)]


def constant(x: Value, pairs: Sequence[tuple[int, int]], value: float) -> Value:
    """x with a constant around it, and without elements where a width is negative."""
    if any(one < 0 for pair in pairs for one in pair):
        starts = tuple(max(0, -before) for before, _ in pairs)
        sizes = tuple(
            size + min(before, 0) + min(after, 0)
            for size, (before, after) in zip(x.shape, pairs, strict=True)
        )
        x = strided_slice(x, starts, sizes, (1,) * x.ndim)
    return ops.pad(x, [(max(0, before), max(0, after)) for before, after in pairs], value)


def _places(x: Any, axis: int, before: int, after: int) -> tuple[Any, Any, Any]:
    """The numbers from -before to the size and what comes after, the size, and what computes."""
    size: Size = x.shape[axis]
    return numbers(size + (before + after), x) - before, number(size, x), library(size)


def _reflected(x: Any, axis: int, before: int, after: int) -> Any:
    place, size, of = _places(x, axis, before, after)
    place = of.absolute(place)
    place = of.where(of.greater_equal(place, size), 2 * (size - 1) - place, place)
    # more than is there is out of range, where that is not known before the program runs
    return place if isinstance(size, int) else ops.where(ops.less(place, 0), size, place)


def _replicated(x: Any, axis: int, before: int, after: int) -> Any:
    place, size, of = _places(x, axis, before, after)
    return of.minimum(of.maximum(place, 0), size - 1)


def _circular(x: Any, axis: int, before: int, after: int) -> Any:
    place, size, of = _places(x, axis, before, after)
    return of.remainder(place, size)


INDICES: Mapping[str, Callable[[Any, int, int, int], Any]] = {
    "reflect": _reflected, "replicate": _replicated, "circular": _circular,
}  # fmt: skip
"""Per mode the places whose elements a padded axis has."""
