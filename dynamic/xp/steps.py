"""Keys that tensors do not take: slices that go backwards, and masks of no elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from staticgraph.dynamic.tensors.tensor import Tensor


def filled(key: Any, shape: Sequence[int]) -> Any:
    """The key; for a mask with sizes of 0, which may stand at any axis, one that fits the axes."""
    if not isinstance(key, Tensor | np.ndarray) or 0 not in key.shape:
        return key
    axes = shape[: len(key.shape)]
    fits = all(size in (0, axis) for size, axis in zip(key.shape, axes, strict=False))
    if np.asarray(key).dtype.kind != "b" or len(axes) != len(key.shape) or not fits:
        return key
    return np.zeros(axes, bool)


def forwards(key: Any, shape: Sequence[int]) -> tuple[Any, tuple[int, ...]]:
    """The key with all slices forwards, and the axes of its result that are to be turned round.

    Keys without such slices, and those with arrays in them, are left as they are.
    """
    parts = key if isinstance(key, tuple) else (key,)
    if not any(isinstance(one, slice) and _is_backwards(one) for one in parts):
        return key, ()
    if not all(one is None or one is ... or isinstance(one, slice | int) for one in parts):
        return key, ()
    left_out = len(shape) - sum(one is not None and one is not ... for one in parts)
    made: list[Any] = []
    turned = []
    axis = place = 0  # of the operand, and of the result
    for one in parts:
        if one is ...:
            made.append(one)
            axis, place = axis + left_out, place + left_out
            continue
        if isinstance(one, slice) and _is_backwards(one):
            turned.append(place)
            one = _forwards(one, shape[axis])
        made.append(one)
        axis += one is not None
        place += not isinstance(one, int)
    return tuple(made), tuple(turned)


def _is_backwards(part: slice) -> bool:
    return part.step is not None and part.step < 0


def _forwards(part: slice, size: int) -> slice:
    """The same places in the opposite order."""
    places = range(*part.indices(size))
    if not places:
        return slice(0, 0, 1)
    return slice(places[-1], places[0] + 1, -places.step)
