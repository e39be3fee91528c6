"""The short ways of functions of several tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core.op import Attrs, Op
from staticgraph.dynamic.core import eager_ops
from staticgraph.dynamic.core.dtypes import F32, F64
from staticgraph.dynamic.kernels.dispatch import LARGE
from staticgraph.dynamic.tensors.recorders import MOST, Recorder, new_value_of_several
from staticgraph.dynamic.tensors.tensor import PLAIN

_AXES: list[Attrs] = [{"axis": axis} for axis in range(9)]
"""The attributes of an op along one axis."""
_NEW_AXIS = [(*(slice(None),) * axis, None) for axis in range(9)]
"""The index that makes an axis."""
_NO_ATTRS: Attrs = {}
_recorders = {
    op: [Recorder(op, count) for count in range(MOST + 1)]
    for op in (ops.concatenate, eager_ops.stack)
}
"""By an op that joins and the number of tensors."""
_of_stacks = Recorder(eager_ops.bmm, 2)


def small_arrays(tensors: Sequence[Any]) -> list[Any] | None:
    """The arrays of plain tensors that are small and of one floating dtype; None of others."""
    arrays: list[Any] = []
    dtype = None
    for one in tensors:
        if type(one) not in PLAIN:
            return None
        array = one._array
        if array.dtype is not dtype:
            if dtype is not None or (array.dtype is not F32 and array.dtype is not F64):
                return None
            dtype = array.dtype
        if array.size >= LARGE:
            return None
        arrays.append(array)
    return arrays or None


def joined(op: Op, tensors: Any, dim: object) -> Any:
    """Small tensors along an axis that they have; None where the long way has to look."""
    kind = type(tensors)
    if type(dim) is not int or (kind is not tuple and kind is not list):
        return None
    arrays = small_arrays(tensors)
    if arrays is None:
        return None
    try:
        value = np.concatenate(arrays, dim)
        attrs = _AXES[dim if dim >= 0 else dim + value.ndim]
    except (ValueError, IndexError):  # sizes that do not go together, or no such axis
        return None
    return _joined(op, tensors, np.ascontiguousarray(value), attrs)


def _joined(op: Op, tensors: Sequence[Any], array: object, attrs: Attrs) -> Any:
    if len(tensors) <= MOST:
        return _recorders[op][len(tensors)].function(array, attrs, *tensors)
    return new_value_of_several(op, tensors, array, attrs)


def stacked(op: Op, tensors: Any, dim: object) -> Any:
    """Small tensors along a new axis; None where the long way has to look."""
    kind = type(tensors)
    if type(dim) is not int or (kind is not tuple and kind is not list):
        return None
    arrays = small_arrays(tensors)
    if arrays is None:
        return None
    axis = dim if dim >= 0 else dim + arrays[0].ndim + 1
    try:
        key = _NEW_AXIS[axis]
        value = np.concatenate([array[key] for array in arrays], axis)
    except (ValueError, IndexError):
        return None
    return _joined(op, tensors, np.ascontiguousarray(value), _AXES[axis])


def product_of_stacks(general: Callable[..., Any], left: Any, right: Any) -> Any:
    """`left @ right` of small tensors with three axes each, which `general` refuses or computes."""
    arrays = small_arrays((left, right))
    if arrays is None or arrays[0].ndim != 3 or arrays[1].ndim != 3:
        return general(left, right)
    try:
        value = np.matmul(*arrays)
    except ValueError:
        return general(left, right)
    return _of_stacks.function(value, _NO_ATTRS, left, right)
