"""The short ways of functions of several tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core.op import Attrs, Op
from staticgraph.compiler.llvm.small_products_words import STACKS
from staticgraph.dynamic.core import eager_ops
from staticgraph.dynamic.core.dtypes import F32, F64
from staticgraph.dynamic.kernels.dispatch import LARGE
from staticgraph.dynamic.tensors import recorders
from staticgraph.dynamic.tensors.recorders import (
    Recorder,
    joined_by,
    multiplied_by,
    new_value_of_several,
)
from staticgraph.dynamic.tensors.tensor import PLAIN

_AXES: list[Attrs] = [{"axis": axis} for axis in range(9)]
"""The attributes of an op along one axis."""
_NEW_AXIS = [(*(slice(None),) * axis, None) for axis in range(9)]
"""The index that makes an axis."""
_NO_ATTRS: Attrs = {}
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


class Joining:
    """What joins small tensors: NumPy, and one day machine code.

    Attributes:
        function: `(tensors, dim) -> tensor`.
    """

    __slots__ = ("_calls", "_general", "_op", "_value", "function")

    def __init__(self, op: Op, general: Callable[..., Any], value: Callable[..., Any]) -> None:
        self._op, self._general, self._value = op, general, value
        self._calls = 0
        self.function: Callable[..., Any] = self._counted

    def _counted(self, tensors: Any, dim: Any) -> Any:
        self._calls += 1
        if self._calls >= recorders.OFTEN:
            adds = self._value is _stacked
            self.function = joined_by(self._op, self._short, _AXES, adds) or self._short
        return self._short(tensors, dim)

    def _short(self, tensors: Any, dim: Any) -> Any:
        kind = type(tensors)
        if type(dim) is not int or (kind is not tuple and kind is not list):
            return self._general(tensors, dim)
        arrays = small_arrays(tensors)
        if arrays is None:
            return self._general(tensors, dim)
        try:
            value, attrs = self._value(arrays, dim)
        except (ValueError, IndexError):  # sizes that do not go together, or no such axis
            return self._general(tensors, dim)
        return new_value_of_several(self._op, tensors, np.ascontiguousarray(value), attrs)


def _joined(arrays: Sequence[Any], dim: int) -> tuple[Any, Attrs]:
    value = np.concatenate(arrays, dim)
    return value, _AXES[dim if dim >= 0 else dim + value.ndim]


def _stacked(arrays: Sequence[Any], dim: int) -> tuple[Any, Attrs]:
    axis = dim if dim >= 0 else dim + arrays[0].ndim + 1
    key = _NEW_AXIS[axis]
    return np.concatenate([array[key] for array in arrays], axis), _AXES[axis]


def joining(general: Callable[..., Any]) -> Joining:
    """What joins tensors along an axis that they have; `general` where it cannot."""
    return Joining(ops.concatenate, general, _joined)


def stacking(general: Callable[..., Any]) -> Joining:
    """What joins tensors along a new axis; `general` where it cannot."""
    return Joining(eager_ops.stack, general, _stacked)


class Products:
    """What multiplies small tensors: a short way, and one day machine code.

    Attributes:
        function: the short way, or the builtin function that hands it what is not small.
    """

    __slots__ = ("_calls", "_finish", "_kind", "_short", "function")

    def __init__(
        self, short: Callable[..., Any], finish: Callable[..., Any], kind: int = STACKS
    ) -> None:
        """`finish(array, *operands)` makes the tensor; see `multiplied_by`."""
        self._short, self._finish, self._kind = short, finish, kind
        self._calls = 0
        self.function: Callable[..., Any] = self._counted

    def _counted(self, *operands: Any) -> Any:
        self._calls += 1
        if self._calls >= recorders.OFTEN:
            made = multiplied_by(self._short, self._finish, self._kind)
            self.function = made or self._short
        return self._short(*operands)


def stack_products(general: Callable[..., Any]) -> Products:
    """What multiplies tensors with three axes each; `general` computes or refuses all others."""

    def short(left: Any, right: Any) -> Any:
        arrays = small_arrays((left, right))
        if arrays is None or arrays[0].ndim != 3 or arrays[1].ndim != 3:
            return general(left, right)
        try:
            value = np.matmul(*arrays)
        except ValueError:
            return general(left, right)
        return _of_stacks.function(value, _NO_ATTRS, left, right)

    def finish(array: object, left: Any, right: Any) -> Any:
        return _of_stacks.function(array, _NO_ATTRS, left, right)

    return Products(short, finish)
