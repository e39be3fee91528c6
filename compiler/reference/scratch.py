"""Memory for what is between, which a thread uses again: a fresh array costs page faults."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from staticgraph.compiler.core.dtypes import is_float
from staticgraph.compiler.core.values import Value

LARGE = 1 << 14
"""The elements from which a faster loop is worth a slower call."""
KEPT = 1 << 20
"""The bytes of the largest scratch array that a thread keeps."""


_F32 = np.dtype(np.float32)


def floats(x: Any) -> Any:
    """x, with integers cast to float64."""
    dtype = x.dtype
    return x if dtype is _F32 or is_float(dtype) else x.astype(np.float64)


_EXPONENT = 88.0
"""Below it exp is finite in float32, and in float64."""


def stays_finite(x: Any) -> bool:
    """Whether few elements have finite exponentials: then nobody has to silence NumPy.

    It says so too of an array that notes what is done with it: the machine code that runs the same
    loops (`compiler.runtime.loops`) sees an overflow itself.
    """
    if getattr(x, "notes_calls", False):
        return True
    return 0 < x.size < LARGE and bool(x.item(x.argmax()) < _EXPONENT)


class _Scratch(threading.local):
    def __init__(self) -> None:
        self.kept: dict[int, Any] = {}


_scratch = _Scratch()


def scratch(like: Value, number: int) -> Value:
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
