"""The short way of functions of several tensors: `new_value_of_two` for any number of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from staticgraph.compiler.core.op import Attrs, Op
from staticgraph.dynamic.core.dtypes import F32, F64
from staticgraph.dynamic.kernels.dispatch import LARGE
from staticgraph.dynamic.tape.grad_mode import copying, mode, paused, recording
from staticgraph.dynamic.tape.recipes import recipe
from staticgraph.dynamic.tape.tape import record_by
from staticgraph.dynamic.tape.watching import told, watching
from staticgraph.dynamic.tensors.tensor import PLAIN, fresh

_AXES: list[Attrs] = [{"axis": axis} for axis in range(9)]
"""The attributes of an op along one axis."""
_NEW_AXIS = [(*(slice(None),) * axis, None) for axis in range(9)]
"""The index that makes an axis."""


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


def new_value_of_several(op: Op, operands: Sequence[Any], array: object, attrs: Attrs) -> Any:
    """The tensor of `array`, which an op makes of plain tensors, recorded if need be.

    `array` has memory of its own.
    """
    result = fresh(array)
    if paused:
        if copying and mode.capture is not None:
            return mode.capture.apply(op, operands, attrs)
        if watching:
            told(op, operands, attrs, result)
        if not recording():
            return result
    for one in operands:
        if one._maker is not None or one._note is not None:
            break
    else:
        return result
    edges = tuple([one._maker if one._note is None else one._node for one in operands])
    needs = tuple([edge is not None for edge in edges])
    if True in needs:
        plan = recipe(op, needs)
        if plan.steps:
            result._maker = record_by(plan, edges, attrs, operands, result)
    return result


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
    return new_value_of_several(op, tensors, np.ascontiguousarray(value), attrs)


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
    return new_value_of_several(op, tensors, np.ascontiguousarray(value), _AXES[axis])


def product_of_stacks(op: Op, general: Callable[..., Any], left: Any, right: Any) -> Any:
    """`left @ right` of small tensors with three axes each, which `general` refuses or computes."""
    arrays = small_arrays((left, right))
    if arrays is None or arrays[0].ndim != 3 or arrays[1].ndim != 3:
        return general(left, right)
    try:
        value = np.matmul(*arrays)
    except ValueError:
        return general(left, right)
    return new_value_of_several(op, (left, right), value, {})
