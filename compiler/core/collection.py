"""The garbage collector, which waits while a graph is compiled."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from staticgraph.compiler.core import fork

_lock = threading.Lock()
fork.hold(fork.Rank.COLLECTION, _lock)
_pauses: list[bool] = []  # one for each pause that goes on: whether the collector was on before all


@contextmanager
def paused() -> Iterator[None]:
    """Without garbage collection: it would look at all that was just made.

    Pauses of several threads are one, which ends with the last of them.
    """
    with _lock:
        _pauses.append(is_enabled())
        gc.disable()
    try:
        yield
    finally:
        with _lock:
            before = _pauses.pop()
            if before and not _pauses:
                gc.enable()


def _end_in_child() -> None:
    """In a forked child nobody ends the pauses of other threads."""
    if _pauses:
        before = _pauses[0]
        _pauses.clear()
        if before:
            gc.enable()


fork.after_in_child(_end_in_child)


def is_enabled() -> bool:
    """Whether it is on, but for pauses: what `gc.isenabled` says is theirs meanwhile."""
    return _pauses[0] if _pauses else gc.isenabled()
