"""Who answers when a function that is traced asks for the truth of a value."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol

from staticgraph.compiler.core.values import Value
from staticgraph.compiler.core.whose_code import is_own


class Decider(Protocol):
    """What tells an outcome, for this time."""

    def truth(self, predicate: Value) -> bool:
        """The outcome for an expression that is a bool scalar."""

    def knows(self, leaf: Value) -> bool:
        """Whether a placeholder is one of the function that is traced, or of one around it."""

    def restart(self) -> None:
        """Tell the same once more: the function is called again, to look at it."""


_current: ContextVar[Decider | None] = ContextVar("decider", default=None)


def decider() -> Decider | None:
    """Who answers in the trace that is running, or None if there is none."""
    return _current.get()


def decider_of_user() -> Decider | None:
    """The same for the caller's caller, unless that is the project's own code.

    What that decides by values has no side of a branch that anybody wrote.
    """
    return None if is_own(sys._getframe(2).f_code.co_filename) else _current.get()


@contextmanager
def deciding(current: Decider | None) -> Iterator[None]:
    """Inside the block this one answers."""
    token = _current.set(current)
    try:
        yield
    finally:
        _current.reset(token)
