"""Functions on arrays that write their results where they are told, and memory for what is between.

A value goes to `out`, and cotangents go to the arrays `into`, where these are given: so a block of
a large result is computed in its place.
"""

from __future__ import annotations

import itertools
import math
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


BLOCK = 1 << 17
"""The elements of a block of a large array at most: a few such arrays stay in the cache of a core.

Twice as many take 20% more time in one thread; half as many take 50% more in two, since calls
are so short that threads meet at the GIL."""
KEPT = 8 * BLOCK
"""The bytes of the largest scratch array that a thread keeps."""


def slices(length: int, row: int) -> tuple[slice, ...]:
    """Slices of `length` rows of `row` elements: one, or an even number of equal blocks.

    They depend on nothing else, and so do results that are computed in blocks.
    """
    size = length * row
    count = 1 if 2 * size < BLOCK else min(length, 2 * math.ceil(size / (2 * BLOCK)))
    ends = [length * i // count for i in range(count + 1)]
    return tuple([slice(start, stop) for start, stop in itertools.pairwise(ends)])


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
