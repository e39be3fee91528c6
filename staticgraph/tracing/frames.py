"""The function whose call a frame is, which no attribute of frames tells.

CPython keeps it in the frame; where that is known for a version, and a first test finds it there,
it is read. Elsewhere everything that refers to the code is looked through.
"""

from __future__ import annotations

import ctypes
import gc
import platform
import sys
from types import CodeType, FrameType, FunctionType
from typing import Any

_POINTER = ctypes.sizeof(ctypes.c_void_p)
_INSIDE = object.__basicsize__ + _POINTER
"""Where a frame object has the address of what is inside, behind its header and `f_back`."""
_FUNCTION = {(3, 11): 0, (3, 12): 2 * _POINTER, (3, 13): 2 * _POINTER}
"""Where the function is in that, by version."""


def functions_of(frame: FrameType) -> list[Any]:
    """The function that a frame runs, or all that have its code; of code without any a stand-in."""
    code = frame.f_code
    if code.co_name == "<module>":  # given to exec or eval: no function has it
        return [FunctionType(code, frame.f_globals)]
    if KNOWN:
        return [_function(frame)]
    found: list[Any] = [one for one in gc.get_referrers(code) if type(one) is FunctionType]
    if found or code.co_freevars:
        return found
    return [FunctionType(code, frame.f_globals)]


def _address(frame: FrameType) -> int:
    inside = ctypes.c_void_p.from_address(id(frame) + _INSIDE).value or 0
    offset = _FUNCTION[sys.version_info[:2]]
    return ctypes.c_void_p.from_address(inside + offset).value or 0


def _function(frame: FrameType) -> Any:
    return ctypes.cast(_address(frame), ctypes.py_object).value


def _is_found() -> bool:
    """Whether this very function is found where it should be."""
    version = platform.python_implementation() == "CPython" and sys.version_info[:2] in _FUNCTION
    return version and _address(sys._getframe()) == id(_is_found)


KNOWN: bool = _is_found()
"""Whether a frame tells its function."""


class Seen:
    """The functions that were called, where frames tell them: several may have one code."""

    def __init__(self) -> None:
        self._known: dict[CodeType, set[int]] = {}

    def add(self, code: CodeType, functions: list[Any]) -> None:
        """Note functions of a code."""
        if KNOWN and (code.co_freevars or any(one.__defaults__ for one in functions)):
            self._known.setdefault(code, set()).update(map(id, functions))

    def more(self, frame: FrameType) -> list[Any]:
        """The function of a frame, if others of its code were seen and it was not."""
        known = self._known.get(frame.f_code)
        if known is None or _address(frame) in known:
            return []
        known.add(_address(frame))
        return [_function(frame)]
