"""What a user gives as an array of a dtype."""

from __future__ import annotations

from typing import Any

import numpy as np

from staticgraph.compiler.core.dtypes import is_float, is_inexact, limits
from staticgraph.compiler.core.errors import DTypeError
from staticgraph.compiler.core.types import DType
from staticgraph.compiler.core.values import Array

_RANKS = {"b": 0, "i": 1, "u": 1, "f": 2, "V": 2, "c": 3}  # V is bfloat16


def refuse_masked(value: object) -> None:
    """DTypeError for masked elements, of which an array would keep what lies below the mask."""
    if isinstance(value, np.ndarray) and type(value) is not np.ndarray and np.ma.is_masked(value):
        raise DTypeError(
            "a masked array has elements without a value: fill them, or feed data and mask"
        )


def refuse_matrix(name: str, value: object) -> None:
    """DTypeError for masked elements, and a matrix of NumPy, beside which `*` is another op."""
    refuse_masked(value)
    if type(value) is np.matrix:
        raise DTypeError(
            f"{name}: a matrix of NumPy, of which * is a product of matrices and each part has two "
            "axes, meets an expression: give np.asarray(m)"
        )


def as_array(value: object) -> Array:
    """`value` as an array that means the same.

    Raises:
        DTypeError: elements of it are masked.
        TypeError, ValueError: as NumPy, for what is no array.
    """
    refuse_masked(value)
    return np.asarray(value)


_FITS = 2.0**127  # numbers below it are in range of float32 and float64
_WIDE = (np.dtype(np.float32), np.dtype(np.float64))


def to_array(value: object, dtype: DType) -> Array:
    """`value` as an array, which has the dtype if `value` may become it without being asked.

    Python numbers and nested lists of them may where the kind (bool, int, float) does not fall and
    the dtype's range holds them, lists of ints too where floats hold each exactly; of an array,
    only the byte order is changed.

    Raises:
        OverflowError, TypeError, ValueError: for what is no array, has masked elements or does not
            fit.
    """
    if type(value) is float and dtype in _WIDE and abs(value) < _FITS:
        return np.array(value, dtype)  # as what follows, in a twentieth of the time
    array = as_array(value)
    if hasattr(value, "dtype") or hasattr(value, "__array__"):
        return array.astype(dtype, copy=False) if array.dtype.newbyteorder("=") == dtype else array
    whole = array.dtype.kind == "O" and all(type(one) is int for one in array.flat)
    if array.size and not whole and _RANKS.get(array.dtype.kind, 3) > _RANKS[dtype.kind]:
        return array
    with np.errstate(over="ignore"):
        made = np.asarray(value, dtype)
    if not _holds(made, array):
        raise OverflowError(f"{value!r:.80} is out of bounds for {dtype.name}")
    if is_float(dtype) and array.ndim and (whole or array.dtype.kind in "iu"):
        _refuse_rounded(array, made)
    return made


def _refuse_rounded(numbers: Array, made: Array) -> None:
    """OverflowError for an int that is none of the floats that were made of all."""
    highest = 2 ** (int(limits(made.dtype).nmant) + 1)
    if not numbers.size or -highest <= numbers.min() <= numbers.max() <= highest:
        return
    for one, number in zip(numbers.flat, made.flat, strict=True):
        if int(number) != int(one):
            raise OverflowError(f"{one} is not a number of {made.dtype.name}, which rounds it")


def converted(value: object, array: Array, dtype: DType) -> Array:
    """`value`, which is `array` in NumPy's dtype, in one that was asked for.

    Raises:
        DTypeError: the dtype cannot hold the values, but for the rounding of floats.
    """
    if array.dtype.kind == "c" and dtype.kind != "c":
        raise DTypeError(f"{value!r:.80} is complex, and {dtype.name} is not")
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            made = np.asarray(value, dtype)
    except OverflowError as error:
        raise DTypeError(f"{value!r:.80} as {dtype.name}: {error}") from None
    if array.dtype.kind in _RANKS and not _holds(made, array):
        raise DTypeError(f"{value!r:.80} does not fit {dtype.name}: cast it with astype")
    return made


def upcast(array: Array, dtype: DType) -> Array | None:
    """An array in a dtype that NumPy casts it to safely; None if there is none, or it would lose.

    Of int64 NumPy calls float64 safe, which holds no int of more than 53 bits exactly.
    """
    if array.dtype.kind not in _RANKS or not np.can_cast(array.dtype, dtype, "safe"):
        return None
    made = array.astype(dtype)
    if array.dtype.itemsize == 8 and array.dtype.kind in "iu" and is_inexact(dtype):
        with np.errstate(invalid="ignore"):
            if not np.array_equal(made.astype(array.dtype), array):
                return None
    return made


def _holds(made: Any, array: Any) -> bool:
    """Whether numbers are what they were, up to the rounding of floats."""
    if not is_inexact(made.dtype):
        return bool(np.array_equal(made, array))
    infinite = np.isinf(made)
    if not infinite.any():
        return True
    return is_inexact(array.dtype) and bool(np.array_equal(infinite, np.isinf(array)))


def row_major(array: object) -> Array:
    """An array, copied unless it is row-major and aligned."""
    return np.require(array, requirements=["C", "A"])
