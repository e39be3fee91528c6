"""Calls of public functions that somebody sees first: function modes, and profiles.

Off by default: then a function looks whether a list is empty, and methods and short ways of ops do
not even that, as they are exchanged when the first begins (`dynamic/fast_paths/passed.py`).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from types import MethodType
from typing import Any

from staticgraph.compiler.core import fork
from staticgraph.compiler.core.values import Value

passing: list[None] = []
"""Not empty while a thread has a mode or measures; whoever is called looks here first."""

Function = Callable[..., Any]
Measure = Callable[[Function, Sequence[Any], Callable[[], Value]], Value]


class _Seeing(threading.local):
    """Who sees the calls of this thread.

    Attributes:
        modes: asks a mode what a function of arguments is; the innermost is the last.
        measure: makes the call of a function of arguments, or None.
        entered: the function whose call has been seen, until it begins.
    """

    def __init__(self) -> None:
        self.modes: list[Callable[[Function, Sequence[Any], Mapping[str, Any]], Value]] = []
        self.measure: Measure | None = None
        self.entered: object = None


seeing = _Seeing()


def asked(function: Function, args: Sequence[object], options: Mapping[str, object]) -> Value:
    """What the innermost mode says that a call is; it sees nothing of what it calls itself."""
    mode = seeing.modes.pop()
    try:
        return mode(function, args, options)
    finally:
        seeing.modes.append(mode)


def passed(
    function: Function, args: Sequence[object], options: Mapping[str, object]
) -> tuple[Value] | None:
    """What a call gives that somebody sees, in a tuple; None: it is to go on by itself."""
    if seeing.entered is function:
        seeing.entered = None
        return None
    if seeing.modes:
        return (asked(function, args, options),)
    if seeing.measure is None:
        return None

    def call() -> Value:
        seeing.entered = function
        try:
            return function(*args, **options)
        finally:
            seeing.entered = None

    return (seeing.measure(function, args, call),)


def passed_with_tensors(
    function: Function, args: Sequence[object], options: Mapping[str, object]
) -> tuple[Value] | None:
    """`passed` of a call with tensors, or with what stands for them; None of another one."""
    seen = any(hasattr(type(one), "__torch_function__") for one in args)
    return passed(function, args, options) if seen else None


class Passed:
    """A function whose calls are seen, in its place; it is equal to it.

    Attributes:
        function: the function.
        shown: as what it is seen: another function where this one is an operator.
        turns: whether the two operands are seen the other way round.
    """

    def __init__(self, function: Function, name: str) -> None:
        self.function = function
        self.shown: Function = self
        self.turns = False
        self.__name__ = name
        for key in ("__qualname__", "__doc__", "__module__"):
            setattr(self, key, getattr(function, key, None))

    def __call__(self, *args: object, **options: object) -> Value:
        """What the function gives, or a mode says that it does."""
        given = args[::-1] if self.turns else args
        if seeing.modes:
            return asked(self.shown, given, options)
        if seeing.measure is None:
            return self.function(*args, **options)
        return seeing.measure(self.shown, given, lambda: self.function(*args, **options))

    def __get__(self, instance: object, owner: object = None) -> Any:
        return self if instance is None else MethodType(self, instance)

    def __eq__(self, other: object) -> bool:
        return bool(self.function == (other.function if isinstance(other, Passed) else other))

    def __hash__(self) -> int:
        return hash(self.function)

    def __repr__(self) -> str:
        return repr(self.function)


_lock = threading.Lock()
fork.hold(fork.Rank.PASSING, _lock)


def see(begins: bool, exchange: Callable[[bool], None]) -> None:
    """Count one more, or one less, who sees calls; the first has functions exchanged."""
    with _lock:
        if begins:
            passing.append(None)
        else:
            passing.pop()
        if len(passing) == begins:
            exchange(begins)
