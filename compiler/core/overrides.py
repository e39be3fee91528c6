"""Objects that say what functions of them are: `__torch_function__`, PyTorch's protocol.

Nothing asks before a function fails or meets what it does not know, so that calls with tensors are
as fast as without. The function that the user called is asked for, not one that it is made of.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import CodeType
from typing import Any, Protocol, TypeVar

from staticgraph.compiler.core.errors import StaticGraphError
from staticgraph.compiler.core.passing import asked as asked_first, seeing
from staticgraph.compiler.core.values import Value
from staticgraph.compiler.core.whose_code import is_own

_Function = TypeVar("_Function", bound=Callable[..., Any])
_ASKING: set[CodeType] = set()
"""The code of the functions that ask."""


class _State(threading.local):
    """What computes with such objects where their classes are not asked, or None: they are."""

    unasked: Callable[..., tuple[Value] | None] | None = None


state = _State()


class OverriddenError(StaticGraphError, TypeError):
    """A function met an object that says itself what the function is that the user called."""


def asking(function: _Function) -> _Function:
    """Note that a function asks its arguments where it fails: those it calls leave it to it."""
    _ASKING.add(function.__code__)
    return function


def overrides(value: object) -> bool:
    """Whether an object's class says what functions of it are."""
    kind = type(value)
    own = getattr(kind, "__torch_function__", None)
    return own is not None and getattr(kind, "_overrides", True)


def refuse_overriding(name: str, operands: Sequence[object]) -> None:
    """OverriddenError where an operand's class says what functions of it are."""
    if any(map(overrides, operands)):
        raise OverriddenError(f"{name}(): an operand has a __torch_function__")


def _classes(values: Sequence[object]) -> list[Any]:
    """The classes that say what a function of these is, those derived from others first."""
    found: list[Any] = []
    for one in _each(values):
        kind = type(one)
        if kind not in found and overrides(one):
            place = next((i for i, other in enumerate(found) if issubclass(kind, other)), None)
            found.insert(len(found) if place is None else place, kind)
    return found


def _each(values: Sequence[object]) -> Iterator[object]:
    for one in values:
        if isinstance(one, list | tuple):
            yield from one
        else:
            yield one


def answer(
    function: Callable[..., Value],
    args: Sequence[object],
    options: Mapping[str, object],
    depth: int = 2,
) -> tuple[Value] | None:
    """What an argument's class says that a function of these is, in a tuple.

    None where no class does, or where a function that asks too has called this one. TypeError where
    all that were asked said NotImplemented. Where classes are not asked it is what the function is
    of the objects without them, if there is such a thing.
    """
    given = (*args, *options.values())
    if not any(map(overrides, _each(given))) or is_within(depth):
        return None
    if state.unasked is not None:
        return state.unasked(function, args, options)
    return (said_of(function, given, args, options),)


def answered(
    op: Callable[..., Value],
    args: Sequence[object],
    options: Mapping[str, object],
    error: Exception,
) -> tuple[Value] | None:
    """What an argument's class says that an op is of these arguments, where a call has failed.

    None where none says it: who caught the error raises it again, as the frame of a function that
    raises its own argument is kept by it. Or an error in the words of an operand that has
    some, of what was wrong with the user's own call.
    """
    if (said := answer(op, args, options, 3)) is not None:
        return said
    if not is_within(2):
        for one in args:
            mistaken = getattr(type(one), "_mistaken", None)
            if mistaken is not None:
                mistaken(op, args, options, error)
    return None


def said_of(
    function: Callable[..., Value],
    asked: Sequence[object],
    args: Sequence[object],
    options: Mapping[str, object],
) -> Value:
    """What the first class that knows, of those of `asked`, says a function of arguments is.

    A mode is asked before. TypeError where none knows it.
    """
    if seeing.modes:
        return asked_first(function, args, options)
    classes = _classes(asked)
    for kind in classes:
        found = kind.__torch_function__(function, tuple(classes), tuple(args), dict(options))
        if found is not NotImplemented:
            return found
    name = getattr(function, "__name__", function)
    raise OverriddenError(
        f"no implementation found for 'torch.{name}' on types that implement __torch_function__: "
        f"{classes}"
    )


def is_within(depth: int) -> bool:
    """Whether a function that asks lies between who calls this, `depth` calls up, and the user."""
    frame = sys._getframe(depth).f_back  # that of the function which asks is the first
    while frame is not None and is_own(frame.f_code.co_filename):
        if frame.f_code in _ASKING:
            return True
        frame = frame.f_back
    return False


class Mode(Protocol):
    """What is asked before classes are."""

    def __torch_function__(
        self,
        func: Callable[..., Value],
        types: Sequence[type],
        args: Sequence[Value] = (),
        kwargs: Mapping[str, Value] | None = None,
    ) -> Value:
        """What a function of arguments is; NotImplemented where it does not know."""


def said_by(
    mode: Mode,
    function: Callable[..., Value],
    args: Sequence[object],
    options: Mapping[str, object],
) -> Value:
    """What a mode says a function of arguments is, or where it does not know, their classes."""
    given = (*args, *options.values())
    classes = tuple(_classes(given))
    found = mode.__torch_function__(function, classes, tuple(args), dict(options))
    if found is not NotImplemented:
        return found
    if classes and state.unasked is None:
        return said_of(function, given, args, options)
    name = getattr(function, "__name__", function)
    raise OverriddenError(
        f"no implementation found for 'torch.{name}': the mode {mode!r} returned NotImplemented"
    )
