"""The threads of NumPy's BLAS, which share our loops while they are awake (`compiler.llvm.pool`).

OpenBLAS's threads wait for its next product for a tenth of a second before they sleep. What has
them call any function is `gotoblas_pthread`, in OpenBLAS since its beginnings. Where there is none,
or it was built with other threads than its own, nothing is borrowed.
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from typing import Any

import numpy as np

from staticgraph.compiler.core.once import Once
from staticgraph.compiler.llvm import pool
from staticgraph.compiler.reference.blas_library import EXTENSION, address_of, find_symbol
from staticgraph.compiler.schedule.chunks import PROCESSORS

_CALLER = "gotoblas_pthread"
_SETTER, _GETTER = "openblas_setaffinity", "openblas_getaffinity"
_RUNNING, _COUNT, _USED = "blas_server_avail", "blas_num_threads", "blas_cpu_number"
_TASKS = "/proc/self/task"
_WAITING = "OPENBLAS_THREAD_TIMEOUT"  # who sets how long they wait may want them to sleep sooner
_MASK = 128  # bytes of a set of processors
_SCHEDULED = 6  # in a clock's number: the processor time of one thread


def borrow_threads(words: Any, borrowed: int) -> None:
    """Have the pool borrow the threads, if there are any now and it does not do so yet.

    `borrowed` is the address of what they are to call.
    """
    library = _library()
    if library is None or words[pool.BORROW] or not _value(library, _RUNNING):
        return
    count = min(_value(library, _COUNT), _value(library, _USED))  # it may have had more before
    thread = _number_of(library, count - 2) if count > 1 else None
    if thread is None:
        return
    records = _records(words.ctypes.data, count)
    words[pool.BORROWED], words[pool.LENT] = borrowed, count
    words[pool.RECORDS] = records.ctypes.data
    words[pool.CLOCK] = address_of(ctypes.CDLL(None).clock_gettime)
    words[pool.THEIRS] = ~thread << 3 | _SCHEDULED
    words[pool.CHECKED], words[pool.SPENT] = 0, 0
    words[pool.AWAKE], words[pool.UNTIL] = 0, 0
    words[pool.BORROW] = find_symbol(library, _CALLER)


@Once
def _library() -> ctypes.CDLL | None:
    """NumPy's BLAS, if it is an OpenBLAS with threads of its own."""
    if sys.platform != "linux" or os.environ.get(_WAITING):
        return None
    library = ctypes.CDLL(str(EXTENSION))
    names = (_CALLER, _SETTER, _GETTER, _RUNNING, _COUNT, _USED)
    return library if all(find_symbol(library, name) for name in names) else None


def _value(library: ctypes.CDLL, name: str) -> int:
    return ctypes.c_int.in_dll(library, name).value


_kept: dict[int, Any] = {}


def _records(address: int, count: int) -> Any:
    """What each thread is given; they are kept, as threads may read them at any time."""
    if count not in _kept:
        made = np.empty((count, pool.RECORD), np.int64)
        made[:, 0], made[:, 1] = address, np.arange(count)
        _kept[count] = made
    return _kept[count]


def _number_of(library: ctypes.CDLL, place: int) -> int | None:
    """The system's number of one of the BLAS's threads; None if it cannot be told.

    The library does not tell, but lets us set where the thread may run: for a moment it is the only
    one that has just been bound to a processor.
    """
    usual = (ctypes.c_ubyte * _MASK)()
    size = ctypes.c_size_t(_MASK)
    if getattr(library, _GETTER)(place, size, usual):
        return None
    allowed = [at for at in range(8 * _MASK) if usual[at // 8] >> at % 8 & 1]
    others = (at for at in range(PROCESSORS) if at not in allowed)
    first = allowed[0] if len(allowed) > 1 else next(others, 0)
    only = (ctypes.c_ubyte * _MASK)()
    only[first // 8] = 1 << first % 8
    before = _confined(first)
    try:
        if getattr(library, _SETTER)(place, size, only):
            return None
        # of a BLAS that was told to use fewer threads, one of these is the caller
        found = _confined(first) - before - {threading.get_native_id()}
    finally:
        getattr(library, _SETTER)(place, size, usual)
    return found.pop() if len(found) == 1 else None


def _confined(processor: int) -> set[int]:
    """The threads of this process that may run on this processor only."""
    found = set()
    for name in os.listdir(_TASKS):
        try:
            allowed = os.sched_getaffinity(int(name))
        except OSError:  # it has ended
            continue
        if allowed == {processor}:
            found.add(int(name))
    return found
