"""Texts of values that are not known yet, in messages of errors: `raise ValueError(f"{x}")`.

While a function is traced, a marker stands for such a text if it goes nowhere but into an error
that is raised at once: the code between is straight, and calls nothing with it but the class of the
error. What the function raised tells whether the marker has arrived; the graph fills it in.
"""

from __future__ import annotations

import dis
import functools
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from types import CodeType, FrameType
from typing import Any, TypeAlias

from staticgraph.compiler.core.raised import Raised
from staticgraph.compiler.core.record import frozen
from staticgraph.compiler.core.refusals import refuse, user_place
from staticgraph.compiler.core.user_text import UserText

Fields: TypeAlias = "tuple[tuple[UserText, UserText, bool], ...]"
"""Per value in a message the marker, the format, and whether it is written as a Python number."""


@frozen(eq=False)
class Field:
    """A text in a message.

    Attributes:
        value: what it is the text of.
        marker: what stands for it.
        spec: its format.
        is_number: whether it is written as a number of Python is, or as one of NumPy.
        place: the user's line.
    """

    value: object
    marker: str
    spec: str
    is_number: bool
    place: str


_current: ContextVar[list[Field] | None] = ContextVar("fields", default=None)


@contextmanager
def collecting_fields() -> Iterator[list[Field]]:
    """Collect the texts that are asked for in the block."""
    found: list[Field] = []
    token = _current.set(found)
    try:
        yield found
    finally:
        _current.reset(token)


def deferred_text(value: object, spec: str, is_number: bool) -> str | None:
    """What stands for the text of a value that the caller's caller formats; None if nothing can."""
    fields = _current.get()
    if fields is None or not _is_raised(sys._getframe(2)):
        return None
    marker = f"\u27e8value {len(fields)}\u27e9"
    fields.append(Field(value, marker, spec, is_number, user_place()))
    return marker


def require_arrived(fields: Sequence[Field], error: Exception | None) -> None:
    """CaptureError unless each marker is in the arguments of an error once, and it was not seen."""
    texts = [one for one in (error.args if error is not None else ()) if isinstance(one, str)]
    for one in fields:
        if sum(text.count(one.marker) for text in texts) != 1 or _may_be_seen(error):
            refuse(
                "needs the text of a value before the captured function runs",
                "use sg.check(condition, 'the loss is {}', loss), or return the value and make the "
                "text outside",
                one.place,
            )


def filled(error: Raised, fields: Fields, values: Sequence[Any]) -> Raised:
    """An error with texts of values for the markers."""
    module, name, args = error
    for (marker, spec, is_number), value in zip(fields, values, strict=True):
        number = value.item() if is_number else value[()]
        shown = format(number, spec.text)
        args = tuple([
            UserText(one.text.replace(marker.text, shown)) if isinstance(one, UserText) else one
            for one in args
        ])  # fmt: skip
    return module, name, args


def _may_be_seen(error: Exception | None) -> bool:
    """Whether code of a function that an error has left may have caught it, and read it."""
    step = None if error is None else error.__traceback__
    while step is not None:
        if step.tb_next is None:
            return False
        step = step.tb_next
        if _catches(step.tb_frame.f_code):
            return True
    return False


@functools.lru_cache(4096)
def _catches(code: CodeType) -> bool:
    return any(one.opname == "CHECK_EXC_MATCH" for one in dis.get_instructions(code))


_LOADS = ("LOAD_", "PUSH_NULL")
_NOTHING = ("PRECALL", "KW_NAMES", "NOP")
_MAKING = ("FORMAT_", "CONVERT_VALUE", "CALL", "BUILD_STRING", "BINARY_")
"""What takes values and leaves one."""
_SKIPPED = ("CACHE", "EXTENDED_ARG", "RESUME")
_FORMATS = ("FORMAT_VALUE", "FORMAT_SIMPLE", "FORMAT_WITH_SPEC")


@functools.lru_cache(4096)
def _steps(code: CodeType) -> list[dis.Instruction]:
    return [one for one in dis.get_instructions(code) if one.opname not in _SKIPPED]


def _is_raised(frame: FrameType) -> bool:
    """Whether what the running instruction formats goes into an error that is raised at once."""
    steps = _steps(frame.f_code)
    at = next((i for i, one in enumerate(steps) if one.offset == frame.f_lasti), len(steps))
    if at == len(steps) or steps[at].opname not in _FORMATS:
        return False
    call = _call_with(steps, at)
    return call is not None and _is_error(_called(steps, call), frame)


def _effect(one: dis.Instruction) -> int:
    """How many values more an instruction leaves on the stack."""
    if one.opname == "PRECALL":  # Python 3.11 counts the arguments here
        return 0
    count = one.arg or 0
    return -1 - count if one.opname == "CALL" else dis.stack_effect(one.opcode, one.arg)


def _call_with(steps: Sequence[dis.Instruction], at: int) -> int | None:
    """The call that takes a text and whose result is raised; None if something else happens."""
    depth = 0  # the values above the text
    for i in range(at + 1, len(steps) - 1):
        one = steps[i]
        if one.opname.startswith(_LOADS) or one.opname in _NOTHING:
            depth += _effect(one)
        elif one.opname.startswith(_MAKING):
            taken = 1 - _effect(one)
            if taken <= depth:
                depth += 1 - taken
            elif one.opname == "BUILD_STRING":
                depth = 0
            else:
                ends = steps[i + 1].opname == "RAISE_VARARGS" and steps[i + 1].arg == 1
                return i if ends and one.opname.startswith("CALL") else None
        else:
            return None
        if depth < 0:
            return None
    return None


def _called(steps: Sequence[dis.Instruction], call: int) -> dis.Instruction | None:
    """What loads the callable of a call, if all between is straight."""
    height = 0
    for i in range(call, -1, -1):
        one = steps[i]
        if one.is_jump_target and i != call:
            return None
        height += _effect(one)
        if height == 1:
            return steps[i + 1] if one.opname == "PUSH_NULL" else one
    return None


def _is_error(step: dis.Instruction | None, frame: FrameType) -> bool:
    """Whether an instruction loads a class of errors that nothing of the user's makes."""
    if step is None:
        return False
    if step.opname in ("LOAD_ASSERTION_ERROR", "LOAD_COMMON_CONSTANT"):
        return True
    name = step.argval
    if step.opname == "LOAD_DEREF":
        found = frame.f_locals.get(name)
    elif step.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
        found = frame.f_globals.get(name, frame.f_builtins.get(name))
    else:
        return False
    is_class = isinstance(found, type) and issubclass(found, Exception)
    return is_class and not any(_is_of_user(getattr(found, key)) for key in ("__init__", "__new__"))


def _is_of_user(method: object) -> bool:
    return hasattr(method, "__code__")
