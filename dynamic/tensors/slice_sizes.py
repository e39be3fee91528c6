"""Whether slices go where an index puts them: none is repeated along an axis that it lacks."""

from __future__ import annotations

from typing import Any

from staticgraph.compiler.core.errors import OutOfRangeError
from staticgraph.dynamic.core.errors import AutogradError


def check_copied(input: Any, axis: int, index: Any, source: Any) -> None:
    """IndexError unless `source` has a slice per place, RuntimeError unless these have the size."""
    if index.ndim > 1:
        raise OutOfRangeError(
            f"index_copy_(): Index should have dimension 1 or 0 (got {index.ndim})"
        )
    count = _count(index)
    if not source.ndim and count != 1:
        raise OutOfRangeError(
            f"index_copy_(): When source is scalar, index should have one element (got {count})"
        )
    if source.ndim and input.ndim and source.ndim != input.ndim:
        raise OutOfRangeError(
            "index_copy_(): When source and destination are not scalars, their dimensionality must "
            f"match. Source dimensionality ({source.ndim}), destination dimensionality "
            f"({input.ndim})"
        )
    wanted, given = _off(input, axis), _off(source, axis)
    if wanted != given:
        raise AutogradError(
            "index_copy_(): Source/destination tensor must have same slice shapes. Destination "
            f"slice shape: {wanted} at dimension {axis} and source slice shape: {given} at "
            f"dimension {axis if source.ndim else 0}."
        )
    if source.ndim and count != source.shape[axis]:
        raise OutOfRangeError(
            f"index_copy_(): Number of indices ({count}) should be equal to source.size(dim) "
            f"({source.shape[axis]})"
        )


def check_added(input: Any, axis: int, index: Any, source: Any) -> None:
    """IndexError for an index of several axes, RuntimeError unless a slice of the size is added
    at each place.
    """
    if index.ndim > 1:
        raise OutOfRangeError(
            f"index_add_(): Index is supposed to be a vector, but got dim: {index.ndim} and size: "
            f"{list(index.shape)}"
        )
    if axis and axis >= source.ndim:
        raise AutogradError(
            f"index_add_(): Indexing dim {axis} is out of bounds of the source tensor with dim "
            f"{source.ndim}"
        )
    count = _count(index)
    if source.ndim and count != source.shape[axis]:
        raise AutogradError(
            f"index_add_(): Number of indices ({count}) should be equal to "
            f"source.size(dim): ({source.shape[axis]}), for dim: {axis}"
        )
    if source.ndim != input.ndim or _off(input, axis) != _off(source, axis):
        raise AutogradError(
            "source tensor shape must match self tensor shape, excluding the specified dimension. "
            f"Got self.shape = {list(input.shape)} source.shape = {list(source.shape)}"
        )


def _count(index: Any) -> Any:
    return index.shape[0] if index.ndim else 1


def _off(x: Any, axis: int) -> list[Any]:
    """The sizes of a slice."""
    return [size for i, size in enumerate(x.shape) if i != axis]
