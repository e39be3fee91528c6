"""What running programs know of the process: the interpreter's lock, signals, forks.

`compiler.llvm.watch` says what they do with it. The words are made once, and never move.
"""

from __future__ import annotations

import ctypes
import os
import threading
import time
from typing import Any

import numpy as np

from staticgraph.compiler.core import fork
from staticgraph.compiler.core.once import Once
from staticgraph.compiler.core.values import Array
from staticgraph.compiler.llvm import watch

_FUNCTIONS = {
    watch.SAVE: "PyEval_SaveThread",
    watch.RESTORE: "PyEval_RestoreThread",
    watch.CHECK: "PyErr_CheckSignals",
    watch.IDENT: "PyThread_get_thread_ident",
    watch.ENSURE: "PyGILState_Ensure",
    watch.RELEASE: "PyGILState_Release",
    watch.CALL_OBJECT: "PyObject_CallNoArgs",
    watch.DROP: "Py_DecRef",
}
_PAUSE = 0.0002  # seconds


def process_address() -> int:
    """The address of the words of the process."""
    return int(_words().ctypes.data)


def words_of_a_call(unlocks: int = 0, guards: int = 0, process: int = 0) -> Array:
    """The words that a call watches; without those of the process it looks at nothing."""
    words = np.zeros(watch.LENGTH, np.int64)
    words[watch.LEFT] = watch.EVERY
    words[watch.SIGNALS], words[watch.GUARDS] = process, guards
    words[watch.UNLOCKS] = unlocks
    return words


@Once
def _words() -> Any:
    words = np.zeros(watch.PROCESS_LENGTH, np.int64)
    for place, name in _FUNCTIONS.items():
        words[place] = _address(ctypes.pythonapi, name)
    library = ctypes.CDLL(None) if os.name == "posix" else None
    if library is not None and hasattr(library, "clock_gettime"):
        words[watch.CLOCK] = _address(library, "clock_gettime")
        words[watch.CLOCK_ID] = time.CLOCK_MONOTONIC
        words[watch.YIELD] = _address(library, "sched_yield")
    words[watch.MAIN] = threading.main_thread().ident or 0
    fork.hold(fork.Rank.CHANGES, _Changes())
    fork.after_in_child(_forget_threads)
    return words


def _address(library: object, name: str) -> int:
    return ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0


class _Changes:
    """What a fork holds so that no program is in the middle of changing variables."""

    def __enter__(self) -> None:
        words = _words()
        words[watch.FORKING] = 1
        while words[watch.CHANGING]:
            time.sleep(_PAUSE)

    def __exit__(self, *_: object) -> None:
        _words()[watch.FORKING] = 0


def _forget_threads() -> None:
    """In a forked child: programs that other threads ran are not there."""
    words = _words()
    words[watch.CHANGING] = 0
    words[watch.MAIN] = threading.get_ident()
