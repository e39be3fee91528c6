"""Refusals: errors that a function which is traced cannot swallow.

Code that cannot be traced is refused by an exception. If it catches that, it goes on and means
something else than it does on values; so the trace remembers the first refusal, and ends with it.
"""

from __future__ import annotations

import linecache
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import FrameType
from typing import NoReturn, TypeVar

from staticgraph.compiler.core.errors import CaptureError, EffectError, StaticGraphError
from staticgraph.compiler.core.whose_code import is_library

Refusal = TypeVar("Refusal", bound=StaticGraphError)

_found: ContextVar[list[StaticGraphError] | None] = ContextVar("found", default=None)


@contextmanager
def ending_with_refusals() -> Iterator[None]:
    """Raise the first refusal of the block at its end, whatever the block made of it.

    Any error of the project's whose text does not name the user's line gets a note that does.
    """
    found: list[StaticGraphError] = []
    token = _found.set(found)
    try:
        yield
    except Exception as error:
        first = found[0] if found and not _is_reworded(error, found[0]) else error
        _add_place(first)
        if error is not first:
            raise first from error
        raise
    finally:
        _found.reset(token)
    if found:
        _add_place(found[0])
        raise found[0]


def _is_reworded(error: Exception, first: Exception) -> bool:
    """Whether an error is a refusal in other words, as PyTorch's, and not the user's own."""
    ours = isinstance(error, StaticGraphError) and not raised_by_user(error)
    return ours and error.__context__ is first


def _add_place(error: Exception) -> None:
    named = isinstance(error, CaptureError) or hasattr(error, "__notes__")
    if isinstance(error, StaticGraphError) and not named:
        error.add_note(f"in a captured function, at {place_of(error)}")


def remembered(error: Refusal) -> Refusal:
    """The error, which ends the trace that is running, if one is."""
    found = _found.get()
    if found is not None:
        found.append(error)
    return error


def is_traced() -> bool:
    """Whether a trace is running, which a refusal ends."""
    return _found.get() is not None


def has_refused() -> bool:
    """Whether the trace that is running ends with a refusal."""
    return bool(_found.get())


@contextmanager
def forgetting_refusals() -> Iterator[None]:
    """Inside the block what is refused ends no trace: the function is called to look at it."""
    token = _found.set(None)
    try:
        yield
    finally:
        _found.reset(token)


def refuse(what: str, instead: str, place: str | None = None) -> NoReturn:
    """Raise a CaptureError at the user's line: what the code there needs, and what to write."""
    raise remembered(CaptureError(f"{place or user_place()}: {what}: {instead}"))


def refuse_effect(what: str, instead: str, place: str | None = None) -> NoReturn:
    """Raise an EffectError at the user's line: what is done there, and what to write."""
    raise remembered(EffectError(f"{place or user_place()}: {what}: {instead}"))


def raised_by_user(error: Exception) -> bool:
    """Whether code of the user's raised it, and no library on its behalf."""
    step = error.__traceback__
    while step is not None and step.tb_next is not None:
        step = step.tb_next
    return step is not None and not _is_between(step.tb_frame)


def place_of(error: Exception) -> str:
    """The user's line that was last on the way to an error, or on the way here."""
    place = ""
    step = error.__traceback__
    while step is not None:
        if not _is_between(step.tb_frame):
            place = _written(step.tb_frame.f_code.co_filename, step.tb_lineno)
        step = step.tb_next
    return place or user_place()


def user_place() -> str:
    """`file:line` of the user's code, and its text if it is there."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_back is not None and _is_between(frame):
        frame = frame.f_back
    assert frame is not None
    return _written(frame.f_code.co_filename, frame.f_lineno)


def _written(file: str, line: int) -> str:
    text = linecache.getline(file, line).strip()
    return f"{file}:{line}: `{text}`" if text else f"{file}:{line}"


def _is_between(frame: FrameType) -> bool:
    file = frame.f_code.co_filename
    return file == "<string>" or is_library(file)
