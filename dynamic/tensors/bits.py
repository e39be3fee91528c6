"""The operators that combine the bits of integers, and the truth of bools."""

from __future__ import annotations

from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core.op import Op, Operand
from staticgraph.dynamic.core.dtypes import DTYPES, result_type
from staticgraph.dynamic.core.errors import ArgumentError, MissingMethodError
from staticgraph.dynamic.tape.grad_mode import mode, paused
from staticgraph.dynamic.tensors.values import values_of


def bitwise(op: Op, function: Any) -> Any:
    """A method: `op` on bools, NumPy's bitwise function on integers."""

    def method(self: Any, *others: object) -> Any:
        if paused and mode.capture is not None:
            return _traced(op, function, self, others)
        arrays = [values_of(self), *(bits(function.__name__, self, other) for other in others)]
        if all(_is_bool(array) for array in arrays):
            return op(self, *others)
        if arrays[-1].dtype is not arrays[0].dtype:
            dtype = result_type(arrays)
            arrays = [array.astype(dtype) for array in arrays]
        try:
            return self._constant(function(*arrays))
        except TypeError:
            name = DTYPES[arrays[0].dtype].legacy
            if function is np.invert:
                raise ArgumentError(
                    "~ (operator.invert) is only implemented on integer and Boolean-type tensors, "
                    f"not on {name} ones"
                ) from None
            raise MissingMethodError(
                f"\"{function.__name__}_cpu\" not implemented for '{name}'"
            ) from None

    method.__doc__ = f"{op.doc} Bit by bit of integers."
    return method


_TRACED = {
    "bitwise_and": ops.bitwise_and, "bitwise_or": ops.bitwise_or, "bitwise_xor": ops.bitwise_xor,
    "invert": ops.bitwise_not,
}  # fmt: skip


def _traced(op: Op, function: Any, tensor: Any, others: tuple[Any, ...]) -> Any:
    """The same in a function that is captured."""
    every = [mode.capture.lifted(one) for one in (tensor, *others)]
    if all(type(one) is bool or (hasattr(one, "dtype") and _is_bool(one)) for one in every):
        return op(*every)
    for one in every:
        if not isinstance(one, Operand | int | np.ndarray | np.integer | np.bool_):
            kind = type(one).__name__
            raise ArgumentError(f"{function.__name__}: takes a tensor or an int, not {kind}")
    return _TRACED[function.__name__](*every)


def bits(name: str, tensor: Any, other: object) -> Any:
    """The array of the other operand of a bitwise function; TypeError for what has no bits."""
    if isinstance(other, Operand):
        return values_of(other)
    if isinstance(other, np.generic):
        other = other.item()
    if isinstance(other, int):
        return np.asarray(other).astype(result_type((tensor._array, other)))
    if isinstance(other, np.ndarray):
        return other
    raise ArgumentError(f"{name}: takes a tensor or an int, not {type(other).__name__}")


def _is_bool(array: object) -> bool:
    dtype = array.dtype if hasattr(array, "dtype") else np.asarray(array).dtype
    return bool(dtype.kind == "b")
