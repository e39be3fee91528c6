"""Freed memory is kept for the next array, where the C library lets a process ask for that.

glibc maps each large block of memory on its own and returns it to the system when it is freed, so
that every result of some megabytes is made of fresh pages, at one page fault per 4 kB. An eager
process makes and drops such results all the time, and most of its time would go into page faults.
"""

from __future__ import annotations

import ctypes
import os
import sys

from staticgraph.compiler.core.settings import KEEP_FREED_MEMORY

MAPPED_FROM = 32 << 20
"""Blocks of this many bytes are still mapped on their own: glibc's upper limit."""
KEPT = 512 << 20
"""The bytes of freed memory that are kept at most, of those at the end of the heap."""
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3


class _State:
    """Whether malloc has been asked: with the first large array, not when the package is loaded."""

    asked = False


state = _State()


def keep_freed_memory() -> bool:
    """Ask glibc's malloc to keep what is freed; whether it will.

    This holds for the process. It is left alone where the environment sets malloc's options, and
    where DYNAMIC_KEEP_FREED_MEMORY is 0.
    """
    state.asked = True
    names = ("MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_", "GLIBC_TUNABLES")
    if any(name in os.environ for name in names):
        return False
    if KEEP_FREED_MEMORY.is_off:
        return False
    if not sys.platform.startswith("linux"):
        return False
    library = ctypes.CDLL(None)
    if not hasattr(library, "gnu_get_libc_version"):
        return False
    mallopt = library.mallopt
    return bool(mallopt(_MMAP_THRESHOLD, MAPPED_FROM) and mallopt(_TRIM_THRESHOLD, KEPT))
