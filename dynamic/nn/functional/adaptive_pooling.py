"""Adaptive pooling: the last axes in a wanted number of parts, and a number for each of them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.dynamic.core.errors import AutogradError
from staticgraph.dynamic.nn.functional.windows import flattened, listed
from staticgraph.dynamic.tensors.tensor import has_values, wrap

__all__ = [
    "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "adaptive_max_pool1d",
    "adaptive_max_pool2d", "adaptive_max_pool3d",
]  # fmt: skip


def adaptive_avg_pool1d(input: object, output_size: object) -> Any:
    """The means of `output_size` parts of the last axis: (n, c, l) -> (n, c, output_size)."""
    return _means(1, input, output_size)


def adaptive_avg_pool2d(input: object, output_size: object) -> Any:
    """The means of parts of the last two axes: (n, c, h, w) -> (n, c, *output_size).

    Part i of m of an axis of size s goes from floor(i s / m) to ceil((i + 1) s / m); None keeps
    the size of an axis, one number is that of both.
    """
    return _means(2, input, output_size)


def adaptive_avg_pool3d(input: object, output_size: object) -> Any:
    """The means of parts of the last three axes: see `adaptive_avg_pool2d`."""
    return _means(3, input, output_size)


def _counts(name: str, axes: int, input: Any, wanted: Any, but: str) -> tuple[Any, ...]:
    """The wanted number of parts of each axis, None for all its elements."""
    counts = (wanted,) * axes if wanted is None or hasattr(wanted, "__index__") else tuple(wanted)
    if len(counts) != axes:
        raise AutogradError(f"{name}: output_size must be {axes}")
    if input.ndim not in (axes + 1, axes + 2):
        raise AutogradError(
            f"{name}(): Expected {axes + 1}D or {axes + 2}D tensor, but got{but} "
            f"{listed(input.shape)}"
        )
    return counts


def _part(i: int, size: int, count: int) -> slice:
    return slice(i * size // count, -(-(i + 1) * size // count))


def _means(axes: int, input: Any, wanted: object) -> Any:
    sizes = _counts(f"adaptive_avg_pool{axes}d", axes, input, wanted, "")
    for axis, parts in enumerate(sizes, input.ndim - axes):
        if parts is not None:
            input = _means_along(input, axis, int(parts))
    return input


def _means_along(x: Any, axis: int, parts: int) -> Any:
    """The means of the parts of one axis."""
    size = x.shape[axis]
    if parts and size % parts == 0:
        shape = (*x.shape[:axis], parts, size // parts, *x.shape[axis + 1 :])
        return ops.mean(ops.reshape(x, shape), axis + 1)
    lead = (slice(None),) * axis
    return ops.concatenate(
        [ops.mean(x[(*lead, _part(i, size, parts))], axis, True) for i in range(parts)],
        axis,
    )


def _maxima(axes: int, input: Any, wanted: object, return_indices: bool) -> Any:
    sizes = _counts(f"adaptive_max_pool{axes}d", axes, input, wanted, ":")
    spatial = tuple(input.shape[input.ndim - axes :])
    parts = tuple(
        have if one is None else int(one) for one, have in zip(sizes, spatial, strict=True)
    )
    flat = flattened(input, input.ndim - axes)
    places = np.arange(math.prod(spatial)).reshape(spatial)
    chosen = []
    for index in np.ndindex(parts):
        part = tuple(
            _part(i, size, count) for i, size, count in zip(index, spatial, parts, strict=True)
        )
        inside = places[part].reshape(-1)
        if has_values(flat):
            chosen.append(inside[np.argmax(flat._array[..., inside], -1)])
        else:
            chosen.append(ops.take(flat.constant(inside), ops.argmax(flat[..., inside], -1), 0))
    indices = wrap(np.stack(chosen, -1)) if has_values(flat) else ops.stack(chosen, -1)
    shape = (*input.shape[: input.ndim - axes], *parts)
    values = ops.reshape(ops.take_along_axis(flat, indices, -1), shape)
    return (values, ops.reshape(indices, shape)) if return_indices else values


def adaptive_max_pool1d(input: object, output_size: object, return_indices: bool = False) -> Any:
    """The largest elements of parts of the last axis: see `adaptive_avg_pool2d` for the parts."""
    return _maxima(1, input, output_size, return_indices)


def adaptive_max_pool2d(input: object, output_size: object, return_indices: bool = False) -> Any:
    """The largest elements of parts of the last two axes; with `return_indices` also where."""
    return _maxima(2, input, output_size, return_indices)


def adaptive_max_pool3d(input: object, output_size: object, return_indices: bool = False) -> Any:
    """The largest elements of parts of the last three axes; with `return_indices` also where."""
    return _maxima(3, input, output_size, return_indices)
