"""Functions that move elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from staticgraph.compiler import ops
from staticgraph.compiler.array_api.promotion import named, together
from staticgraph.compiler.core.errors import ShapeError

__all__ = [
    "broadcast_arrays", "broadcast_shapes", "broadcast_to", "concat", "expand_dims", "flip",
    "meshgrid", "moveaxis", "permute_dims", "repeat", "reshape", "roll", "squeeze", "stack", "tile",
    "tril", "triu", "unstack",
]  # fmt: skip


def broadcast_arrays(*arrays: Any) -> tuple[Any, ...]:
    """The arrays in the shape that they broadcast to."""
    return tuple(named("broadcast_arrays")(*arrays))


def broadcast_shapes(*shapes: tuple[Any, ...]) -> tuple[Any, ...]:
    """The shape that shapes broadcast to."""
    return tuple(named("broadcast_shapes")(*shapes))


def broadcast_to(x: Any, /, shape: tuple[Any, ...]) -> Any:
    """The elements repeated to a shape."""
    return ops.broadcast_to(x, tuple(shape))


def concat(arrays: Sequence[Any], /, *, axis: int | None = 0) -> Any:
    """Arrays one after the other along an axis; with None flattened before."""
    return named("concat")(together(*arrays), axis=axis)


def expand_dims(x: Any, /, axis: int | tuple[int, ...]) -> Any:
    """New axes of size 1."""
    return ops.expand_dims(x, axis)


def flip(x: Any, /, *, axis: int | tuple[int, ...] | None = None) -> Any:
    """The elements in reverse order along the axes."""
    return ops.flip(x, axis)


def meshgrid(*arrays: Any, indexing: str = "xy") -> tuple[Any, ...]:
    """The coordinates of the grid that vectors span."""
    return tuple(named("meshgrid")(*arrays, indexing=indexing)) if arrays else ()


def moveaxis(x: Any, source: Any, destination: Any, /) -> Any:
    """Axes at other places, the rest in their order."""
    return named("moveaxis")(x, source, destination)


def permute_dims(x: Any, /, axes: tuple[int, ...]) -> Any:
    """The axes in another order."""
    return named("permute_dims")(x, tuple(axes))


def repeat(x: Any, repeats: Any, /, *, axis: int | None = None) -> Any:
    """Each element as often as is said."""
    return named("repeat")(x, repeats, axis)


def reshape(x: Any, /, shape: tuple[Any, ...], *, copy: bool | None = None) -> Any:
    """The elements in another shape."""
    result = ops.reshape(x, tuple(shape))
    return named("copy")(result) if copy else result


def roll(x: Any, /, shift: Any, *, axis: Any = None) -> Any:
    """The elements moved along axes, and round their ends."""
    return named("roll")(x, shift, axis)


def squeeze(x: Any, /, axis: int | tuple[int, ...]) -> Any:
    """Without axes, which have size 1."""
    axes = axis if isinstance(axis, tuple) else (axis,)
    for one in axes:
        if -x.ndim <= one < x.ndim and x.shape[one] != 1:
            raise ShapeError(f"squeeze: axis {one} has size {x.shape[one]}, not 1")
    return ops.squeeze(x, axes)


def stack(arrays: Sequence[Any], /, *, axis: int = 0) -> Any:
    """Arrays of one shape along a new axis."""
    return ops.stack(together(*arrays), axis=axis)


def tile(x: Any, repetitions: tuple[int, ...], /) -> Any:
    """The whole repeated along the axes."""
    return named("tile")(x, tuple(repetitions))


def tril(x: Any, /, *, k: int = 0) -> Any:
    """The lower triangle of matrices."""
    return named("tril")(x, k)


def triu(x: Any, /, *, k: int = 0) -> Any:
    """The upper triangle of matrices."""
    return named("triu")(x, k)


def unstack(x: Any, /, *, axis: int = 0) -> tuple[Any, ...]:
    """The parts along an axis."""
    return tuple(named("unstack")(x, axis=axis))
