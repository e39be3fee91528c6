"""Functions on arrays that write their results where they are told, and memory for what is between.

A value goes to `out`, and cotangents go to the arrays `into`, where these are given: so a block of
a large result is computed in its place.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

LARGE = 1 << 14
"""The elements from which a faster loop is worth a slower call."""

Function = TypeVar("Function", bound=Callable[..., Any])

_writing: set[Any] = set()


def writes(function: Function) -> Function:
    """Declare that a function takes `out`, or one for cotangents takes `into`."""
    _writing.add(function)
    return function


def is_writing(function: Any) -> bool:
    """Whether a function takes `out`, or `into`."""
    return isinstance(function, np.ufunc) or function in _writing


def floats(x: Any) -> Any:
    """x, with integers cast to float64."""
    return x if x.dtype.kind == "f" else x.astype(np.float64)


def scratch(like: Any) -> Any:
    """An array for intermediate values; a large one at a multiple of 64 bytes.

    NumPy's own begin at any multiple of 16, and a sum of two rows that is stored across the lines
    of the cache takes twice as long.
    """
    if like.size < LARGE:
        return np.empty(like.shape, like.dtype)
    raw = np.empty(like.nbytes + 63, np.uint8)
    start = -raw.ctypes.data % 64
    return raw[start : start + like.nbytes].view(like.dtype).reshape(like.shape)
