"""Calls into which an exception comes: of a signal's handler, or at some line of the library."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

import staticgraph
from staticgraph.fuzz.calls.world import Step, World, WrongError

LIBRARY = str(Path(staticgraph.__file__ or "").parent) + "/"
OWN = str(Path(__file__).parent.parent)


class AlarmError(KeyboardInterrupt):
    """What comes into a call."""


def interrupted(world: World, step: Step) -> None:
    """A call after which variables are as before, or as after it; nothing else has changed."""
    call = world.prepared(step["call"])
    group = call.group
    before = dict(group.values)
    after = before | (call.expected[1] if call.expected else {})
    seen: list[Any] = []

    def read() -> None:
        seen.append({name: one.value for name, one in group.variables.items()})

    arm = _at_line(step["line"]) if "line" in step else _after(step, read)
    result = None
    try:
        with arm:
            result = call.run()
    except AlarmError:
        call.untouched(finished=True)
        if call.out is not None:
            world.forget(call.out.arrays)
    except Exception as error:
        call.refused(error)
    else:
        world.answered(call, result)
    for state in [*seen, {name: one.value for name, one in group.variables.items()}]:
        if not (_equal(state, before) or _equal(state, after)):
            raise WrongError(f"variables are half updated\n{before}\n{state}\n{after}")
    group.values.update({name: one.value for name, one in group.variables.items()})


def _equal(state: dict[str, Any], other: dict[str, Any]) -> bool:
    return all(np.array_equal(value, other[name]) for name, value in state.items())


@contextmanager
def _after(step: Step, read: Callable[[], None]) -> Iterator[None]:
    """A signal after so many seconds, and again until its handler has run."""

    def handler(number: int, frame: object) -> None:
        if step["handler"] == "raise":
            raise AlarmError
        if step["handler"] == "read":
            read()

    before = signal.signal(signal.SIGALRM, handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, step["after"])
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@contextmanager
def _at_line(count: int) -> Iterator[None]:
    """An exception before the library's Python has run so many lines more."""
    left = count

    def line(frame: object, event: str, value: object) -> Any:
        nonlocal left
        if event == "line":
            if left <= 0:
                sys.settrace(None)
                raise AlarmError
            left -= 1
        return line

    def begin(frame: Any, event: str, value: object) -> Any:
        name = frame.f_code.co_filename
        return line if name.startswith(LIBRARY) and not name.startswith(OWN) else None

    before = sys.gettrace()
    sys.settrace(begin)
    try:
        yield
    finally:
        sys.settrace(before)
