"""In-place arithmetic of which nothing is recorded: NumPy writes into the tensor's own array."""

from __future__ import annotations

from typing import Any

import numpy as np

from staticgraph.compiler.core.dtypes import is_narrow
from staticgraph.dynamic.core.dtypes import BOOL, F32, F64, INT64, MOST_F32
from staticgraph.dynamic.kernels.dispatch import LARGE
from staticgraph.dynamic.kernels.sharing import add_scaled, put
from staticgraph.dynamic.tape.grad_mode import copying, paused, recording
from staticgraph.dynamic.tape.versions import UNTRACKED
from staticgraph.dynamic.tensors.inplace import touch
from staticgraph.dynamic.tensors.tensor import PLAIN, Tensor


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

    One of int64 too, by a whole number, if the result is of int64. Sums and differences of large
    tensors take `alpha`.

    `general` is the method for every other call: what is recorded, cast or refused.
    """
    whole = ufunc is not np.true_divide
    scales = ufunc is np.add or ufunc is np.subtract

    def method(self: Any, other: Any, *rest: Any, **options: Any) -> Any:
        if rest:
            return general(self, other, *rest, **options)
        x = self._array
        if options and scales and x.size >= LARGE and _is_scaled(self, other, options):
            add_scaled(ufunc, x, other._array, options["alpha"])
            touch(self)
            return self
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
        elif (
            x.dtype is INT64 and whole and type(other) is int and not options and _is_free(self, 0)
        ):
            try:  # such as what counts batches
                ufunc(x, other, x)
            except (OverflowError, ValueError):
                return general(self, other)
            touch(self)
            return self
        return general(self, other, **options)

    method.__doc__ = general.__doc__
    return method


def _is_scaled(tensor: Any, other: Any, options: dict[str, Any]) -> bool:
    """Whether a tensor is free for a multiple by `alpha` alone of one of its dtype and shape."""
    x = tensor._array
    if len(options) > 1 or "alpha" not in options or type(other) not in PLAIN:
        return False
    y = other._array
    if (x.dtype is not F32 and x.dtype is not F64) or y.dtype is not x.dtype or y.shape != x.shape:
        return False
    return x.flags.writeable and _is_small(options["alpha"]) and _is_free(tensor, other)


_NAMES = {
    np.add: ("__iadd__", "add_"),
    np.subtract: ("__isub__", "sub_", "subtract_"),
    np.multiply: ("__imul__", "mul_", "multiply_"),
    np.true_divide: ("__itruediv__", "div_", "divide_", "true_divide_"),
}


def _fill(self: Any, value: object) -> Any:
    """Fill with one number or a 0-d tensor; RuntimeError for a tensor with axes."""
    if _is_free(self, None) and _is_small(value) and not is_narrow(self._array.dtype):
        try:
            self._array.fill(value)
        except (OverflowError, TypeError, ValueError):
            return _general_fill(self, value)
        touch(self)
        return self
    return _general_fill(self, value)


def _zero(self: object) -> Any:
    """Fill with zeros."""
    return _general_zero(self) if not _is_free(self, None) else _fill(self, 0)


def _copy(self: Any, src: Any, non_blocking: bool = False) -> Any:
    """Copy from `src`, which broadcasts to the shape and is cast to the dtype."""
    if type(src) in PLAIN:
        x, y = self._array, src._array
        same = x.dtype is y.dtype and x.shape == y.shape
        if same and x.size < LARGE and x.flags.c_contiguous and _is_free(self, src):
            try:
                np.copyto(x, y)
            except ValueError:  # read-only
                return _general_copy(self, src, non_blocking)
            touch(self)
            return self
    return _general_copy(self, src, non_blocking)


def _is_small(value: object) -> bool:
    """Whether a value is a number that every floating dtype has a place for."""
    return (type(value) is float or type(value) is int) and -MOST_F32 <= value <= MOST_F32


def _setitem(self: Any, key: Any, value: Any) -> None:
    """`self[key] = value`; where a mask of the tensor's shape holds, a number at once.

    So are the rows that a tensor of indices names, a number or a tensor of the same dtype.
    """
    x = self._array
    if type(key) in PLAIN and (x.dtype is F32 or x.dtype is F64):
        index, flags = key._array, x.flags
        number = _is_small(value)
        if index.dtype is BOOL:
            fits = number and index.shape == x.shape and flags.writeable
        elif index.dtype is INT64 and index.ndim:
            # of several for one place the last one stays, in the order of the elements
            other = (
                type(value) in PLAIN and value._array.dtype is x.dtype and index.flags.c_contiguous
            )
            fits = (number or other) and flags.c_contiguous and flags.writeable
        else:
            fits = False
        if fits and _is_free(self, value):
            try:
                if index.dtype is BOOL and x.size >= LARGE:
                    put(x, index, value)
                else:
                    x[index] = value if number else value._array
            except (IndexError, ValueError):  # of which PyTorch says something else
                pass
            else:
                touch(self)
                return
    _general_setitem(self, key, value)


_general_setitem: Any = Tensor.__setitem__
_general_fill: Any = Tensor.fill_
_general_zero: Any = Tensor.zero_
_general_copy: Any = Tensor.copy_


METHODS: dict[str, Any] = {
    **{
        name: in_place(ufunc, getattr(Tensor, name))
        for ufunc, names in _NAMES.items()
        for name in names
    },
    "__setitem__": _setitem,
    "zero_": _zero,
    "fill_": _fill,
    "copy_": _copy,
}
"""Operators and methods of Tensor."""
