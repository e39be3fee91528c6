"""What is told of every new node: nothing unless somebody asks, so that recording stays as fast.

`Node.__init__` itself is exchanged while there is an observer.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from dynamic.tape import Node

Observer = Callable[[Any], None]

_plain: Any = Node.__init__
_counts: dict[Observer, int] = {}
_lock = threading.Lock()


def _observed(self: Any, *args: Any) -> None:
    _plain(self, *args)
    announce(self)


def announce(node: Any) -> None:
    """Tell the observers of a node that is no `Node`, which would do so itself."""
    for observer in tuple(_counts):
        observer(node)


def observe(observer: Observer, change: int) -> None:
    """Count one more (1) or one less (-1) who wants `observer` called with each new node."""
    with _lock:
        _counts[observer] = _counts.get(observer, 0) + change
        if not _counts[observer]:
            del _counts[observer]
        Node.__init__ = _observed if _counts else _plain  # type: ignore[assignment, method-assign]
