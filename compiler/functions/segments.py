"""Reductions over segments: what has one number is reduced to one slice of the result."""

from __future__ import annotations

from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core.dims import Dim, Size
from staticgraph.compiler.core.errors import DTypeError, OptionError, ShapeError
from staticgraph.compiler.core.op import Operand
from staticgraph.compiler.core.types import TensorType, unify
from staticgraph.compiler.core.values import Value
from staticgraph.compiler.ops.declare import as_operand
from staticgraph.compiler.ops.indexing.scatter_reductions import along_extremum, along_prod
from staticgraph.compiler.ops.indexing.take import take_add

__all__ = ["segment_max", "segment_min", "segment_prod", "segment_sum"]


def segment_sum(data: Value, segment_ids: Value, num_segments: Size) -> Value:
    """The sums of the slices of `data` along axis 0 that have the same number in `segment_ids`.

    (n, ...) and integers (n,) give (num_segments, ...), 0 where a number does not occur; the
    numbers need not be in order. As in JAX, but a number out of range raises.

    Raises:
        OutOfRangeError: a number is not in [0, num_segments).
        ShapeError: there is not one number for each slice.
        DTypeError: the numbers are no integers.

    Example:
        >>> sg.segment_sum(np.array([1.0, 2.0, 4.0]), np.array([0, 2, 0]), 3)
        array([5., 0., 2.])
    """
    data, ids, count = _arguments("segment_sum", data, segment_ids, num_segments)
    return take_add.bound((data, ids), {"axis": 0, "size": count, "wrap": False})


def segment_prod(data: Value, segment_ids: Value, num_segments: Size) -> Value:
    """The products of the slices of `data` that have the same number: see `segment_sum`.

    1 where a number does not occur.

    Example:
        >>> sg.segment_prod(np.array([3.0, 2.0, 4.0]), np.array([0, 2, 0]), 3)
        array([12.,  1.,  2.])
    """
    data, ids, count = _arguments("segment_prod", data, segment_ids, num_segments)
    return along_prod(data, _of_elements(ids, data), 0, count, False)


def segment_max(data: Value, segment_ids: Value, num_segments: Size) -> Value:
    """The largest of the slices of `data` that have the same number: see `segment_sum`.

    -inf, or the least of an integer dtype, where a number does not occur; ties share the gradient.

    Example:
        >>> sg.segment_max(np.array([3, 2, 4]), np.array([0, 1, 0]), 2)
        array([4, 2])
    """
    data, ids, count = _arguments("segment_max", data, segment_ids, num_segments)
    return along_extremum(data, _of_elements(ids, data), 0, count, True, False)


def segment_min(data: Value, segment_ids: Value, num_segments: Size) -> Value:
    """The smallest of the slices of `data` that have the same number: see `segment_max`.

    Example:
        >>> sg.segment_min(np.array([3, 2, 4]), np.array([0, 1, 0]), 2)
        array([3, 2])
    """
    data, ids, count = _arguments("segment_min", data, segment_ids, num_segments)
    return along_extremum(data, _of_elements(ids, data), 0, count, False, False)


def _arguments(name: str, data: Any, ids: Any, count: Any) -> tuple[Any, Any, Any]:
    data, ids = as_operand(data), as_operand(ids)
    if np.dtype(ids.dtype).kind not in "iu":
        raise DTypeError(f"{name}: segment_ids are integers, not {ids.dtype}")
    if ids.ndim != 1 or not data.ndim or unify(data.shape[0], ids.shape[0]) is None:
        numbers = TensorType(tuple(ids.shape), np.dtype(ids.dtype))
        raise ShapeError(
            f"{name}: segment_ids {numbers} have not one number for each slice of "
            f"{TensorType(tuple(data.shape), np.dtype(data.dtype))}"
        )
    if not isinstance(count, Dim):
        try:
            count = int(np.asarray(count)[()].__index__())
        except (AttributeError, TypeError):
            raise OptionError(f"{name}: num_segments={count!r} is no integer") from None
        if count < 0:
            raise OptionError(f"{name}: num_segments={count} is negative")
    return data, ids, count


def _of_elements(ids: Any, data: Any) -> Any:
    """The number of each element of the data."""
    if isinstance(data, Operand) and not isinstance(ids, Operand):
        ids = data._constant(np.asarray(ids))  # which may have sizes that are not known
    if data.ndim > 1:
        ids = ops.expand_dims(ids, tuple(range(1, data.ndim)))
    return ops.broadcast_to(ids, tuple(data.shape))
