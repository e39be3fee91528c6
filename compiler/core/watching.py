"""The profile function of a trace, and code of the project's that it need not see.

While a function is traced a profile function sees each call (`sys.setprofile`), to find effects in
the user's code. Most calls are those of the project's own code, between one operation of the user's
and the next: there it is switched off, which halves the time of a trace.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from types import CodeType
from typing import Any, ParamSpec, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])
Given = ParamSpec("Given")
Result = TypeVar("Result")


class Watch:
    """What a trace is watched by; its bound methods are the profile functions.

    Attributes:
        noted: what was changed and is no effect, since each call changes it too: the identity of
            what has it, and under which key.
        ends: what is called when the function that is traced has returned, before anything is
            compared.
    """

    def __init__(self) -> None:
        self.noted: set[tuple[int, object]] = set()
        self.ends: list[Callable[[], None]] = []


CHANGES: dict[CodeType, str] = {}
"""Functions of an eager engine that change what is outside: what they do. See `changing`."""


def changing(what: str) -> Callable[[Function], Function]:
    """Decorates a function of an eager engine that changes what is outside, beside its results.

    A capture of tensors takes it as done at each call. A function that is traced on arrays alone,
    or on nothing, would do it once: there it is refused.
    """

    def decorate(f: Function) -> Function:
        CHANGES[f.__code__] = what
        return f

    return decorate


def note(owner: object, key: object) -> None:
    """Say that a change is repeated at each call, if a trace is watched."""
    watch: Any = getattr(sys.getprofile(), "__self__", None)
    if isinstance(watch, Watch):
        watch.noted.add((id(owner), key))


def at_end(function: Callable[[], None]) -> bool:
    """Call a function when the one that is traced has returned; whether a trace is watched."""
    watch: Any = getattr(sys.getprofile(), "__self__", None)
    if isinstance(watch, Watch):
        watch.ends.append(function)
        return True
    return False


def unwatched(f: Callable[Given, Result]) -> Callable[Given, Result]:
    """The same function, inside of which no trace is watched: it calls no code of the user's."""

    @functools.wraps(f)
    def alone(*args: Given.args, **kwargs: Given.kwargs) -> Result:
        watch: Any = sys.getprofile()
        if watch is None or not isinstance(getattr(watch, "__self__", None), Watch):
            return f(*args, **kwargs)
        sys.setprofile(None)
        try:
            return f(*args, **kwargs)
        finally:
            sys.setprofile(watch)

    return alone
