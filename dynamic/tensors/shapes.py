"""Shapes that a call asks for, refused in PyTorch's words where they do not fit the tensor."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core.errors import ShapeError
from staticgraph.compiler.core.types import is_static
from staticgraph.dynamic.core.errors import ArgumentError, SizeError
from staticgraph.dynamic.core.results import sizes_of
from staticgraph.dynamic.core.shape_texts import pair


def reshaped(function: str, input: Any, shape: tuple[object, ...]) -> Any:
    """The tensor in another shape; RuntimeError in the name of a function if it has none."""
    try:
        return ops.reshape.general(input, *shape)
    except TypeError:
        wrong = next((one for one in sizes_of(shape, function) if not hasattr(one, "__index__")), 0)
        raise ArgumentError(
            f"{function}(): argument 'shape' must be tuple of ints, not {type(wrong).__name__}"
        ) from None
    except ShapeError as error:
        text = str(error).partition(": ")[2]
        sizes = list(sizes_of(shape))
        if sizes.count(-1) > 1:
            raise SizeError(f"only one dimension can be inferred: {function}: {text}") from None
        if not is_static((*input.shape, *sizes)) or any(int(one) < -1 for one in sizes):
            raise SizeError(f"{function}: {text}") from None
        raise SizeError(
            f"shape '{sizes}' is invalid for input of size {math.prod(input.shape)}: "
            f"{function} of a tensor of shape {list(input.shape)}"
        ) from None


def refuse_expanding(input: Any, wanted: Sequence[Any]) -> None:
    """RuntimeError if an axis has neither the size that `expand` wants nor 1."""
    shape = tuple(input.shape)
    if not is_static((*shape, *wanted)):
        return
    lead = len(wanted) - len(shape)
    for axis, size in enumerate(wanted[:lead]):
        if size < 0:
            raise SizeError(
                f"The expanded size of the tensor ({size}) isn't allowed in a leading, "
                f"non-existing dimension {axis}"
            )
    for axis, have in enumerate(shape):
        size = wanted[lead + axis]
        if have not in (1, size) and size != -1:
            raise SizeError(
                f"The expanded size of the tensor ({size}) must match the existing size ({have}) "
                f"at non-singleton dimension {lead + axis}.  Target sizes: {list(wanted)}.  Tensor "
                f"sizes: {list(shape)}"
            )


def common_shape(*shapes: Sequence[Any]) -> tuple[Any, ...]:
    """The shape that these broadcast to; RuntimeError in PyTorch's words if there is none."""
    found: tuple[Any, ...] = ()
    for shape in shapes:
        try:
            found = np.broadcast_shapes(found, tuple(shape))
        except ValueError as error:
            raise SizeError(pair(found, tuple(shape)) or str(error)) from None
    return found
