"""What a function that is traced would have done when objects end: refused, as a graph has none.

An object that a trace makes ends when the trace lets go of it, or when the collector finds it, and
in no call after that.
"""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from types import FrameType, FunctionType
from typing import Any

from staticgraph.compiler.core.errors import EffectError
from staticgraph.compiler.core.refusals import remembered
from staticgraph.compiler.core.whose_code import is_library

CALLBACK = "registers what is called when an object ends"
INSTEAD = "do it outside, and pass what comes out as an argument"
_END = (
    "makes an object with a __del__, which calls of a graph would not end",
    "make it outside, or do there what its __del__ does",
)


class Ends:
    """Looks for such objects among those that the user's code makes.

    Args:
        around: what is outside, by identity.
    """

    def __init__(self, around: Mapping[int, object]) -> None:
        self._around = around
        self._collecting = False

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Tell apart, in the block, what the collector ends: it may have been there before."""

        def collector(phase: str, _: object) -> None:
            self._collecting = phase == "start"

        gc.callbacks.append(collector)
        try:
            yield
        finally:
            gc.callbacks.remove(collector)

    def entered(self, frame: FrameType) -> None:
        """Refuse what the user's function that is called makes, or ends."""
        name = frame.f_code.co_name
        if name == "__init__" and frame.f_back is not None:
            owner = next(iter(frame.f_locals.values()), None)
            if _has_end(owner):
                _refuse(*_END, _place(frame.f_back))
        elif name == "__del__" and not self._collecting:
            _refuse(*_END, f"{frame.f_code.co_filename}:{frame.f_code.co_firstlineno}")

    def returned(self, frame: FrameType) -> None:
        """Refuse what the user's function has made and left, which ends at another time."""
        code, values = frame.f_code, frame.f_locals
        given = code.co_argcount + code.co_kwonlyargcount
        for name in (*code.co_varnames[given:], *code.co_cellvars):
            for one in _with_items(values.get(name)):
                if _has_callback(one) and self._is_new(one):
                    _refuse(f"{CALLBACK} when it is traced", INSTEAD, _place(frame))
                elif _has_end(one) and self._is_new(one):
                    _refuse(*_END, _place(frame))

    def _is_new(self, value: object) -> bool:
        return self._around.get(id(value)) is not value


def _with_items(value: Any) -> Iterable[Any]:
    """A value, and what is in it if it is a list or such; no method of the user's is called."""
    kind = type(value)
    if kind in (list, tuple, set):
        return value, *value
    return (value, *value.values()) if kind is dict else (value,)


def _has_callback(value: Any) -> bool:
    return issubclass(type(value), weakref.ref) and value.__callback__ is not None


def _has_end(value: object) -> bool:
    """Whether it is of a class of the user's with a `__del__`."""
    found = getattr(type(value), "__del__", None)
    return type(found) is FunctionType and not is_library(found.__code__.co_filename)


def _place(frame: FrameType) -> str:
    """`file:line` of the user's code."""
    found: FrameType | None = frame
    while found is not None and is_library(found.f_code.co_filename):
        found = found.f_back
    found = found or frame
    return f"{found.f_code.co_filename}:{found.f_lineno}"


def _refuse(what: str, instead: str, place: str) -> None:
    """Raises nothing, which would be lost where an object ends: the trace ends with it."""
    remembered(EffectError(f"{place}: {what}: {instead}"))
