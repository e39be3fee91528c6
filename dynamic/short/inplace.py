"""In-place arithmetic of which nothing is recorded: NumPy writes into the tensor's own array."""

from __future__ import annotations

from typing import Any

import numpy as np

from dynamic.dtypes import F32, F64
from dynamic.grad_mode import copying, paused, recording
from dynamic.inplace import touch
from dynamic.tensor import PLAIN, Tensor
from dynamic.versions import UNTRACKED


def _is_free(tensor: Any, other: Any) -> bool:
    """Whether a tensor may be overwritten without a look at the tape; `other` is an operand."""
    if copying or tensor._cell is UNTRACKED:
        return False
    if paused and not recording():
        return True
    if tensor._maker is not None or tensor._note is not None:
        return False
    return type(other) not in PLAIN or (other._maker is None and other._note is None)


def in_place(ufunc: Any, general: Any) -> Any:
    """The method that overwrites a floating tensor by `ufunc` of it and a tensor or number.

    `general` is the method for every other call: what is recorded, cast or refused.
    """

    def method(self: Any, other: Any, **options: Any) -> Any:
        x = self._array
        if (x.dtype is F32 or x.dtype is F64) and not options:
            if type(other) in PLAIN:
                y = other._array
                fits = y.dtype is x.dtype and (y.shape == x.shape or y.ndim < x.ndim)
            else:
                y = other
                fits = type(y) is float or type(y) is int
            if fits and _is_free(self, other):
                try:
                    ufunc(x, y, x)
                except ValueError:  # read-only, or not of one shape
                    return general(self, other)
                touch(self)
                return self
        return general(self, other, **options)

    method.__doc__ = general.__doc__
    return method


_NAMES = {
    np.add: ("__iadd__", "add_"),
    np.subtract: ("__isub__", "sub_", "subtract_"),
    np.multiply: ("__imul__", "mul_", "multiply_"),
    np.true_divide: ("__itruediv__", "div_", "divide_", "true_divide_"),
}


def filling(general: Any) -> Any:
    """The method that sets all elements to one number, 0 unless it is given."""

    def method(self: Any, *value: Any) -> Any:
        if _is_free(self, None) and (not value or type(value[0]) in (float, int)):
            try:
                self._array.fill(*value or (0,))
            except (OverflowError, TypeError, ValueError):
                return general(self, *value)
            touch(self)
            return self
        return general(self, *value)

    method.__doc__ = general.__doc__
    return method


METHODS: dict[str, Any] = {
    **{
        name: in_place(ufunc, getattr(Tensor, name))
        for ufunc, names in _NAMES.items()
        for name in names
    },
    "zero_": filling(Tensor.zero_),
    "fill_": filling(Tensor.fill_),
}
"""Operators and methods of Tensor."""
