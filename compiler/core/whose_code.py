"""Whose code a file or a frame is: the project's, a library's, or the user's."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from types import CodeType

OWN = os.path.dirname(os.path.dirname(os.path.dirname(__file__))) + os.sep
"""The folder of the project's own packages."""
_SHARED = OWN + "compiler" + os.sep
_EAGER = OWN + "dynamic" + os.sep
_LIBRARIES = (os.path.dirname(os.__file__) + os.sep, "<frozen", "<__array_function__")
_INSTALLED = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")
_CALLED_WITHIN = (
    "__hash__", "__eq__", "__str__", "__repr__", "__format__", "wrapper",
    "named",
)  # fmt: skip
"""Functions that only go on to others: the last ones make texts of dataclasses and of tuples."""


caller: ContextVar[str | None] = ContextVar("caller", default=None)
"""The `file:line` that stands for the user's where no frame of the user's is."""


@contextmanager
def called_at(source: str) -> Iterator[None]:
    """Inside the block, what no frame of a user's is behind is attributed to this `file:line`."""
    token = caller.set(source)
    try:
        yield
    finally:
        caller.reset(token)


def is_own(file: str) -> bool:
    """Whether a file belongs to the project's own packages."""
    return file.startswith(OWN)


def is_of_library(file: str) -> bool:
    """Whether a file is of the library that both paradigms share."""
    return file.startswith(_SHARED)


@functools.lru_cache(4096)
def is_library(file: str) -> bool:
    """Whether code of a file is Python's, of an installed package, or the project's."""
    return file.startswith((*_LIBRARIES, OWN)) or any(part in file for part in _INSTALLED)


def is_library_code(code: CodeType, table: Mapping[str, object]) -> bool:
    """Whether code with these globals is a library's, or was made by one.

    That of dataclasses has the globals of their module; that of named tuples has a name alone.
    """
    if code.co_filename != "<string>":
        return is_library(code.co_filename)
    if str(table.get("__name__", "")).startswith("namedtuple_"):
        return True
    return is_library(str(table.get("__file__", "")))


def by_user(depth: int = 1) -> bool:
    """Whether the caller of who asks, or one so much further out, is code of the user's."""
    return not is_library(sys._getframe(depth + 1).f_code.co_filename)


def is_called_by_own(but_eager: bool = False) -> bool:
    """Whether the caller of who asks, or of the dataclass or tuple that calls it, is the project's.

    What compiles compares sizes without meaning anything by it; the eager engine decides by them.
    """
    frame = sys._getframe(2)
    while frame.f_code.co_name in _CALLED_WITHIN and frame.f_back is not None:
        frame = frame.f_back
    file = frame.f_code.co_filename
    return file.startswith(OWN) and not (but_eager and file.startswith(_EAGER))
