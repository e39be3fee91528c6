"""What the names of a function stand for as it is traced, line by line: for who steps through it.

Inside `following` each line of the user's that is run gets a number, its tick, which expressions
made there have as the mark of their source, and so have nodes of the kernel. What a name stood for
at a statement of the kernel is what it had been given last before that tick.

A history holds objects of the user's, and is not to outlive the session that it is for.
"""

from __future__ import annotations

import bisect
import inspect
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import field
from types import CodeType, FrameType
from typing import Any

import numpy as np

from staticgraph.compiler.core.deciding import decider
from staticgraph.compiler.core.dims import Dim
from staticgraph.compiler.core.record import frozen, mutable
from staticgraph.compiler.core.source import marked
from staticgraph.compiler.core.whose_code import is_library
from staticgraph.compiler.graph.expression import Expression, Handle, at_line, construct
from staticgraph.compiler.ops import leaves

MOST = 64
"""The items of a tuple, list or dict that is kept, and the elements of an array of NumPy."""

_PLAIN = (bool, int, float, complex, str, type(None))
_follows: ContextVar[bool] = ContextVar("follows", default=False)


@frozen(eq=False)
class Unkept:
    """That a name stands for nothing.

    Attributes:
        why: what a message says of it, behind the name.
    """

    why: str


@frozen(eq=False)
class Object:
    """What a name stands for that is neither an array nor a number, nor made of such."""

    value: object


@frozen(eq=False)
class Moment:
    """A line that is run.

    Attributes:
        frame: the number of the function's call that it belongs to.
        line: the `file:line`.
        back: the tick of the line that called the function; None for the function that is traced.
    """

    frame: int
    line: str
    back: int | None


@frozen(eq=False)
class Bound:
    """What a name was given.

    Attributes:
        tick: that of the first line that is run with it.
        by: the tick of the line that gave it; None if the call did.
        value: the value as it is kept, an `Object`, or an `Unkept`.
    """

    tick: int
    by: int | None
    value: object


@frozen(eq=False)
class Run:
    """One call of the function that is traced: one way through it.

    Attributes:
        first, last: ticks; at the last it has returned.
        decisions: the branches on values that it took.
    """

    first: int
    last: int
    decisions: Sequence[Any]


@mutable(eq=False)
class History:
    """What was run, and what names were given."""

    moments: list[Moment] = field(default_factory=list)
    codes: list[CodeType] = field(default_factory=list)
    bound: dict[tuple[int, str], list[Bound]] = field(default_factory=dict)
    runs: list[Run] = field(default_factory=list)

    def named(self, name: str, tick: int) -> Bound | None:
        """What a name stands for at a tick, where it is no name of a function: None.

        Functions around are asked after the innermost, the caller of each after it.
        """
        at: int | None = tick
        while at is not None:
            moment = self.moments[at]
            every = self.bound.get((moment.frame, name), [])
            before = bisect.bisect_right(every, at, key=lambda one: one.tick)
            if before:
                return every[before - 1]
            code = self.codes[moment.frame]
            if name in (*code.co_varnames, *code.co_cellvars):
                if code.co_name in COMPREHENSIONS:
                    return Bound(
                        at, None, Unkept("is the variable of a comprehension, on one line")
                    )
                later = next((one.by for one in every if one.by is not None), None)
                line = "" if later is None else self.moments[later].line
                first = "this line" if line == moment.line else os.path.basename(line)
                where = f": {first} gives it the first" if line else ", nor later in this call"
                here = os.path.basename(moment.line)
                return Bound(at, None, Unkept(f"has no value yet at {here}{where}"))
            at = moment.back
        return None

    def within(self, tick: int, run: Run) -> int | None:
        """The tick of a run that corresponds to one of any run: that of the line's same turn.

        What several ways through a function have in common is made on the first of them. Up to
        where they part their lines are the same; after it turns are those of a line that the same
        lines have called, and where one way has more of them than the other nothing corresponds.
        """
        if run.first <= tick <= run.last:
            return tick
        of = next(one for one in self.runs if one.first <= tick <= one.last)
        same = run.first + tick - of.first
        before = slice(of.first, tick + 1), slice(run.first, same + 1)
        here, there = ([one.line for one in self.moments[among]] for among in before)
        if here == there:
            return same
        path = self._path(tick)
        turns, found = self._turns(path, of), self._turns(path, run)
        return found[turns.index(tick)] if len(turns) == len(found) else None

    def _path(self, tick: int | None) -> tuple[str, ...]:
        """The line of a tick, and those that have called it."""
        found = []
        while tick is not None:
            found.append(self.moments[tick].line)
            tick = self.moments[tick].back
        return tuple(found)

    def _turns(self, path: tuple[str, ...], run: Run) -> list[int]:
        ticks = range(run.first, run.last + 1)
        near = (tick for tick in ticks if self.moments[tick].line == path[0])
        return [tick for tick in near if self._path(tick) == path]

    def given(self, name: str, tick: int) -> Expression | None:
        """The array that the line of a tick gives a name, or None."""
        every = self.bound.get((self.moments[tick].frame, name), [])
        found = (one.value for one in every if one.by == tick)
        return next((one for one in found if isinstance(one, Expression)), None)


class _Frame:
    """A call of a function of the user's, as it goes on."""

    def __init__(self, number: int, back: int | None, frame: FrameType) -> None:
        self.number, self.back, self.frame = number, back, frame
        self.tick: int | None = None  # of the line that is run
        self.last: int | None = None  # the same, after what it called last
        self.known: dict[str, object] = {}


class _Follower:
    """Is told of each line of the user's; `set_line` says what expressions are attributed to."""

    def __init__(self, set_line: Callable[[str], object]) -> None:
        self.history = History()
        self._set_line = set_line
        self._frames: dict[FrameType, _Frame] = {}
        self._open: list[_Frame] = []
        self._first = 0

    def entered(self, frame: FrameType, event: str, _: object) -> Callable[..., Any] | None:
        """A function is called, or a generator goes on."""
        code = frame.f_code
        if event != "call" or is_library(code.co_filename):
            return None
        if self._open:  # what it has been given on this line, as by a comprehension
            self._note(self._open[-1])
            self._moment(self._open[-1], is_new=False)
        back = self._open[-1].last if self._open else None
        found = self._frames.get(frame)
        if found is None:
            found = _Frame(len(self.history.codes), back, frame)
            self._frames[frame] = found
            self.history.codes.append(code)
        found.back = back  # of a generator, who asks this time
        if not self._open:
            self._first = len(self.history.moments)
        self._open.append(found)
        return self._goes_on

    def _goes_on(self, frame: FrameType, event: str, _: object) -> Callable[..., Any]:
        one = self._frames[frame]
        self._note(one)
        if event == "line":
            self._moment(one)
        elif event == "return":
            self._left(one)
        return self._goes_on

    def _moment(self, one: _Frame, is_new: bool = True) -> None:
        line = f"{one.frame.f_code.co_filename}:{one.frame.f_lineno}"
        one.last = len(self.history.moments)
        if is_new or one.tick is None:
            one.tick = one.last
        self.history.moments.append(Moment(one.number, line, one.back))
        self._set_line(marked(line, one.tick))

    def _left(self, one: _Frame) -> None:
        history = self.history
        self._open.pop()
        if not one.frame.f_code.co_flags & _GOES_ON:
            del self._frames[one.frame]
        if self._open:
            tick = self._open[-1].tick
            self._set_line("" if tick is None else marked(history.moments[tick].line, tick))
            return
        self._moment(one)
        self._set_line("")
        decisions = tuple(getattr(decider(), "made", ()))
        history.runs.append(Run(self._first, len(history.moments) - 1, decisions))

    def _note(self, one: _Frame) -> None:
        """The names that were given something since the line before."""
        now = {name: _kept_or_not(value) for name, value in one.frame.f_locals.items()}
        gone = Unkept("was deleted")
        now |= dict.fromkeys(one.known.keys() - now.keys(), gone)
        for name, value in now.items():
            if name not in one.known or not _is_same(value, one.known[name]):
                key = one.number, name
                bound = Bound(len(self.history.moments), one.tick, value)
                self.history.bound.setdefault(key, []).append(bound)
        one.known = now


COMPREHENSIONS = ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>")
_GOES_ON = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


@contextmanager
def following() -> Iterator[None]:
    """Inside the block traces have the `history` of their function."""
    token = _follows.set(True)
    try:
        yield
    finally:
        _follows.reset(token)


@contextmanager
def followed() -> Iterator[History | None]:
    """The history of what is run in the block; None outside of `following`."""
    if not _follows.get():
        yield None
        return
    before = sys.gettrace()
    with at_line("") as set_line:
        follower = _Follower(set_line)
        sys.settrace(follower.entered)
        try:
            yield follower.history
        finally:
            sys.settrace(before)


class _NotKeptError(Exception):
    """A value is of no kind that is kept."""


class _StaleError(Exception):
    """A tensor has no value at this time."""


def _kept_or_not(value: Any) -> object:
    try:
        return _kept(value)
    except _NotKeptError:
        return Object(value)
    except _StaleError:
        return Unkept("is a view of what was changed, and is made again when it is read next")


def _is_same(one: Any, other: Any) -> bool:
    """Whether a name still stands for what it did."""
    if type(one) is not type(other):
        return False
    if type(one) in (tuple, list):
        return len(one) == len(other) and all(map(_is_same, one, other))
    if type(one) is dict:
        return [*one] == [*other] and all(map(_is_same, one.values(), other.values()))
    if type(one) is Object:
        return one.value is other.value
    if type(one) is Unkept:
        return bool(one.why == other.why)
    if isinstance(one, np.ndarray):
        return np.array_equal(one, other)
    return one is other or (type(one) in _PLAIN and bool(one == other))


def _kept(value: Any) -> object:
    """A value as it is kept: with expressions for what stands for arrays and sizes."""
    kind = type(value)
    if kind in _PLAIN or issubclass(kind, Expression | np.generic):
        return value
    if kind is Dim:
        return construct(leaves.size_of, (), {"size": value})
    if issubclass(kind, Handle):
        latest: Any = getattr(value, "latest", None)  # refuses nothing, unlike `expression`
        if latest is None:
            raise _StaleError
        return latest
    if kind is dict and len(value) <= MOST:
        return {key: _kept(one) for key, one in value.items() if type(key) in _PLAIN}
    if kind is list and len(value) <= MOST:
        return list(map(_kept, value))
    if issubclass(kind, tuple) and len(value) <= MOST:
        return tuple(map(_kept, value))
    if kind is np.ndarray and value.size <= MOST:
        return value.copy()
    raise _NotKeptError
