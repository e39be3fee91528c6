"""Functions that a trace only hands to steps of its graph, which call them when it runs.

What they read is read then, so that no call has to compare it. They are known once they are handed
over; one that the trace calls as well is followed as any other.
"""

from __future__ import annotations

import functools
from types import CodeType, FunctionType, MethodType
from typing import Any

_NONE: frozenset[CodeType] = frozenset()


class Deferred:
    """The functions that were handed over, and what was called of the user's.

    Attributes:
        codes: those of the functions.
    """

    def __init__(self) -> None:
        self.codes = _NONE
        self._given: dict[int, object] = {}
        self._called: set[CodeType] = set()

    def __contains__(self, value: object) -> bool:
        return id(value) in self._given

    def new(self, given: Any) -> list[Any]:
        """What is called when that is which was handed over; nothing if that changes nothing."""
        values = _within(given)
        function = values[-1]
        if not isinstance(function, FunctionType) or function.__code__ in self._called:
            return []
        if all(one in self for one in values) and function.__code__ in self.codes:
            return []
        return values

    def add(self, values: list[Any]) -> None:
        """Take what is called, of which the last is a function."""
        self._given |= {id(one): one for one in values}
        self.codes |= {values[-1].__code__}

    def call(self, code: CodeType) -> bool:
        """Note that the trace calls a code; whether that was deferred, and is no longer."""
        self._called.add(code)
        if code not in self.codes:
            return False
        self.codes -= {code}
        kept = [one for one in self._given.values() if _within(one)[-1].__code__ != code]
        self._given = {id(one): one for one in kept}
        return True


def _within(given: Any) -> list[Any]:
    """What is called when a value is: partial calls, and at last a function, if it is Python's."""
    if isinstance(given, functools.partial):
        return [given, *_within(given.func)]
    if isinstance(given, FunctionType):
        return [given]
    if isinstance(given, MethodType):
        return _within(given.__func__)
    wrapped = getattr(given, "__wrapped__", None)
    return [wrapped if wrapped is not None else type(given).__call__]


def without(code: CodeType, inner: frozenset[CodeType]) -> CodeType:
    """Code without some of the functions that are defined in it."""
    kept = [
        None if one in inner else without(one, inner) if isinstance(one, CodeType) else one
        for one in code.co_consts
    ]
    if not inner or all(one is now for one, now in zip(code.co_consts, kept, strict=True)):
        return code
    return code.replace(co_consts=tuple(kept))
