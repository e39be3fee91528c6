"""Arrays that end, or begin, where memory does: code that goes on is killed."""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

PAGE = mmap.PAGESIZE
_protect = ctypes.CDLL(None, use_errno=True).mprotect


@contextmanager
def fenced(size: int) -> Iterator[Any]:
    """Bytes, whole pages and at least `size`, before and behind which nothing may be touched."""
    pages = -(-max(size, 1) // PAGE) * PAGE
    memory = mmap.mmap(-1, pages + 2 * PAGE)
    whole = np.frombuffer(memory, np.uint8)
    fences = whole.ctypes.data, whole.ctypes.data + PAGE + pages
    for fence in fences:
        assert _protect(ctypes.c_void_p(fence), PAGE, 0) == 0
    try:
        yield whole[PAGE:-PAGE]
    finally:
        for fence in fences:
            _protect(ctypes.c_void_p(fence), PAGE, mmap.PROT_READ | mmap.PROT_WRITE)


def placed(memory: Any, array: np.ndarray, at_end: bool) -> np.ndarray:
    """The array, with the same strides, in the last or the first bytes of `memory`."""
    low, high = np.lib.array_utils.byte_bounds(array)
    place = memory[len(memory) - (high - low) :] if at_end else memory[: high - low]
    offset = array.ctypes.data - low
    found: np.ndarray = np.ndarray(array.shape, array.dtype, place, offset, array.strides)
    found[...] = array
    return found
