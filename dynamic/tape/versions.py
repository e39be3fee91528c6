"""The version counters of tensors: lists `[version, place that changed it last]`, shared by views.

A tensor made in inference mode has none; what stands in for it refuses to be saved.
"""

from __future__ import annotations

import sys
from types import CodeType
from typing import Any, NoReturn

from compiler.graph.expression import is_own
from dynamic.core.errors import AutogradError

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


class _Untracked:
    """Final; there is one, `UNTRACKED`."""

    __slots__ = ()

    def __getitem__(self, index: int) -> NoReturn:
        raise AutogradError(
            "Inference tensors cannot be saved for backward. Please do not use Tensors created in "
            "inference mode in computation tracked by autograd. To work around this, you can make "
            "a clone to get a normal tensor and use it in autograd, or use `torch.no_grad()` "
            "instead of `torch.inference_mode()`."
        )

    def __setitem__(self, index: int, value: object) -> NoReturn:
        raise AutogradError(
            "Inplace update to inference tensor outside InferenceMode is not allowed."
        )


class TrackedInference(list[Any]):
    """The version of what `detach` and `data` make of an inference tensor outside of that mode.

    It still is one, but may be overwritten.
    """

    __slots__ = ()


UNTRACKED: Any = _Untracked()
