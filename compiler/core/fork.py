"""Forks: the one handler of the project.

A forked child has the memory of its parent, but of its threads only the one that forked. A lock
that another one holds would never be opened, and what it was in the middle of stays as it is. So a
fork takes these locks first, in the order in which code takes them, and lets go of them in both
processes. It waits for a compilation that has begun and for calls that run op by op, but for no
native loop.
"""

from __future__ import annotations

import enum
import logging  # noqa: F401 - registers first, so a fork takes its lock after ours, as threads do
import os
import sys
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from importlib import import_module
from types import FrameType, ModuleType
from typing import Any


class Rank(enum.IntEnum):
    """The order in which locks are taken: who holds one waits for none before it."""

    TRACING = enum.auto()
    INTERPRETING = enum.auto()
    COMPILING = enum.auto()
    THREADS = enum.auto()
    IMPORTS = enum.auto()
    NUMBA = enum.auto()
    LLVM_OPTIONS = enum.auto()
    LLVM = enum.auto()
    EMISSIONS = enum.auto()
    PASSING = enum.auto()
    OBSERVERS = enum.auto()
    VARIABLES = enum.auto()
    ASSIGNING = enum.auto()
    CHANGES = enum.auto()
    COLLECTION = enum.auto()


_locks: dict[Rank, AbstractContextManager[Any]] = {}
_in_child: list[Callable[[], object]] = []
_forking = threading.RLock()
_held: list[AbstractContextManager[Any]] = []


def hold(rank: Rank, lock: AbstractContextManager[object]) -> None:
    """Take a lock before each fork, and let go of it in both processes."""
    _locks[rank] = lock


def after_in_child(function: Callable[[], object]) -> None:
    """Call a function in each forked child, when all locks are open again."""
    _in_child.append(function)


IMPORT_SYSTEM = "<frozen importlib._bootstrap>"
"""The file that Python names for the code that imports."""
_import_lock = threading.RLock()
hold(Rank.IMPORTS, _import_lock)


def importing() -> AbstractContextManager[object]:
    """Held while something is imported late: the import's own locks would stay locked in a child.

    A thread in the middle of an import takes no lock: it holds those of modules, for which the one
    that has this lock may wait.
    """
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename != IMPORT_SYSTEM:
        frame = frame.f_back
    return _import_lock if frame is None else nullcontext()


def imported(name: str) -> ModuleType:
    """A module that is imported late: the lock is not waited for if it is there."""
    found = sys.modules.get(name)
    if found is None or getattr(found.__spec__, "_initializing", False):
        with importing():
            found = import_module(name)
    return found


def _before() -> None:
    _forking.acquire()
    known: dict[Rank, AbstractContextManager[Any]] = {}
    while known != _locks:  # the import that was waited for may have brought a lock of its own
        _release()
        known = dict(_locks)
        for _, lock in sorted(known.items()):
            lock.__enter__()
            _held.append(lock)


def _release() -> None:
    while _held:
        _held.pop().__exit__(None, None, None)


def _in_parent() -> None:
    _release()
    _forking.release()


def _after_in_child() -> None:
    _in_parent()
    for function in _in_child:
        function()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_in_parent, after_in_child=_after_in_child)
