"""What is told of every new node: nothing unless somebody asks, so that recording stays as fast."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from staticgraph.compiler.core import fork

Observer = Callable[[Any], None]

observers: dict[Observer, int] = {}
"""Who wants to be told, each with how often `observe` counted it; who makes a node looks here."""
_lock = threading.Lock()
fork.hold(fork.Rank.OBSERVERS, _lock)


def announce(node: object) -> None:
    """Tell the observers of a new node."""
    for observer in tuple(observers):
        observer(node)


def observe(observer: Observer, change: int) -> None:
    """Count one more (1) or one less (-1) who wants `observer` called with each new node."""
    with _lock:
        observers[observer] = observers.get(observer, 0) + change
        if not observers[observer]:
            del observers[observer]
