"""Functions on arrays that write their results where they are told, and memory for what is between.

A value goes to `out`, and cotangents go to the arrays `into`, where these are given: so a block of
a large result is computed in its place.
"""

from __future__ import annotations

import threading
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


KEPT = 1 << 20
"""The bytes of the largest scratch array that a thread keeps."""


class _Scratch(threading.local):
    def __init__(self) -> None:
        self.kept: dict[int, Any] = {}


_scratch = _Scratch()


def scratch(like: Any, number: int) -> Any:
    """An array for intermediate values, as large as another; a large one starts a cache line.

    Each number names an array of the thread, which the next call with this number may hand out
    again. NumPy's own arrays begin at any multiple of 16 bytes; a sum of two rows that is stored
    across the lines of the cache takes twice as long.
    """
    if like.size < LARGE:
        return np.empty(like.shape, like.dtype)
    size = like.nbytes
    raw = _scratch.kept.get(number)
    if raw is None or len(raw) < size:
        raw = np.empty(size + 63, np.uint8)
        raw = raw[-raw.ctypes.data % 64 :][:size]
        if size <= KEPT:
            _scratch.kept[number] = raw
    return raw[:size].view(like.dtype).reshape(like.shape)
