"""Places in the user's code, noted without looking up their lines."""

from __future__ import annotations

import sys
from types import CodeType

from staticgraph.compiler.core.whose_code import is_own

Place = tuple[CodeType, int]
"""A place in the user's code: an instruction, since to look up its line takes longer than the op
that notes it."""
_own: dict[str, bool] = {}


def user_place() -> Place:
    """The instruction of the innermost frame outside the project's own packages."""
    frame = sys._getframe(1)
    while True:
        code = frame.f_code
        own = _own.get(code.co_filename)
        if own is None:
            own = _own[code.co_filename] = is_own(code.co_filename)
        if not own or frame.f_back is None:
            return code, frame.f_lasti
        frame = frame.f_back


def line_of(place: Place | None) -> str:
    """`file:line` of a place; None is that of the reverse pass, which accumulates gradients."""
    if place is None:
        return "a reverse pass"
    code, instruction = place
    for start, end, line in code.co_lines():
        if start <= instruction < end:
            return f"{code.co_filename}:{line}"
    return code.co_filename
