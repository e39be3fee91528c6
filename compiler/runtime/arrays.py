"""What a user gives as an array of a dtype."""

from __future__ import annotations

from typing import Any

import numpy as np

from compiler.types import DType


def to_array(value: Any, dtype: DType) -> Any:
    """`value` as an array, which has the dtype if `value` may become it without being asked.

    Python numbers and nested lists of them may where the kind (bool, int, float) does not sink;
    of an array, only the byte order is changed.

    Raises:
        OverflowError, TypeError, ValueError: as NumPy, for what is no array or does not fit.
    """
    array = np.asarray(value)
    if hasattr(value, "dtype") or hasattr(value, "__array__"):
        return array.astype(dtype, copy=False) if array.dtype.newbyteorder("=") == dtype else array
    if array.dtype.kind == "O" and all(isinstance(one, int) for one in array.flat):
        return np.asarray(value, dtype)  # does not fit any dtype: NumPy says so
    ranks = {"b": 0, "i": 1, "u": 1, "f": 2}
    if not array.size or ranks.get(array.dtype.kind, 3) <= ranks[dtype.kind]:
        return np.asarray(value, dtype)
    return array
