"""What cannot become a tensor: PyTorch's errors for data, sizes and bounds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from staticgraph.compiler.core.errors import OptionError, ShapeError
from staticgraph.dynamic.core.errors import ArgumentError, AutogradError
from staticgraph.dynamic.tensors.tensor import Tensor
from staticgraph.dynamic.tensors.values import values_of


def number_in(tensor: Any) -> Any:
    """The only element of a tensor among data, an array without axes; ValueError if it has more."""
    array = values_of(tensor)
    if array.size != 1:
        raise OptionError(
            "only one element tensors can be converted to Python scalars: torch.tensor of a list "
            f"with a tensor of shape {list(array.shape)}: stack joins tensors"
        )
    return array.reshape(())


def refused_rows(data: Any) -> ShapeError:
    """The error for nested sequences of different lengths."""
    shape, first = [], data
    while isinstance(first, list | tuple | range) and len(first):
        shape.append(len(first))
        first = first[0]
    found = _unlike(data, shape, 0)
    return ShapeError(f"tensor: {found}" if found else "tensor: rows of different lengths")


def _unlike(data: Any, shape: list[int], dim: int) -> str:
    if dim == len(shape):
        return ""
    if not isinstance(data, list | tuple | range | np.ndarray | Tensor):
        return f"expected a sequence of length {shape[dim]} at dim {dim}, got {data!r}"
    if len(data) != shape[dim]:
        return f"expected sequence of length {shape[dim]} at dim {dim} (got {len(data)})"
    return next(filter(None, (_unlike(one, shape, dim + 1) for one in data)), "")


def refused_elements(data: Any) -> Exception:
    """The error for data that are no numbers."""
    if isinstance(data, str | bytes):
        return ArgumentError(f"tensor: cannot make a tensor of {type(data).__name__}: {data!r}")
    strange = (one for one in _elements(data) if not isinstance(one, int | float | complex))
    found = next(strange, data)
    name = type(found).__name__
    if isinstance(found, str):
        return ShapeError(f"too many dimensions 'str': {found!r} is no number")
    return AutogradError(f"Could not infer dtype of {name}: tensor cannot hold {found!r}")


def refuse_nothing(data: Any) -> None:
    """TypeError for None or a text among data, of which NumPy makes nan, or the number it says."""
    for one in _elements(data):
        if one is None or isinstance(one, str | bytes):
            raise ArgumentError(f"tensor: must be a number, not {type(one).__name__}: {one!r}")


def _elements(data: Any) -> Any:
    for one in data if isinstance(data, list | tuple) else [data]:
        if isinstance(one, list | tuple):
            yield from _elements(one)
        else:
            yield one


def refuse_sizes(function: str, sizes: Sequence[object]) -> None:
    """TypeError for a size that is no integer, RuntimeError for one below 0."""
    for size in sizes:
        if type(size) is int and size >= 0:
            continue
        if isinstance(size, float | str | type(None)):
            raise ArgumentError(
                f"{function}(): argument 'size' (position 1) must be tuple of ints, not "
                f"{type(size).__name__}"
            )
        if isinstance(size, int | np.integer) and size < 0:
            raise AutogradError(
                f"Trying to create tensor with negative dimension {size}: {list(sizes)}"
            )
