"""Calls of several threads at once, and of a forked child."""

from __future__ import annotations

import copy
import os
import select
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from staticgraph.fuzz.calls.kinds import flat
from staticgraph.fuzz.calls.world import Call, Group, Step, World, WrongError

PATIENCE = 30.0  # seconds for a child


@dataclass(slots=True)
class Event:
    """A call that a thread has made, and what it gave."""

    call: Call
    step: Step
    result: Any = None
    error: BaseException | None = None


def threaded(world: World, step: Step) -> None:
    """Calls at the same time, whose results must be those of some order."""
    group = world.group(step)
    calls = [[Event(world.prepared(one, group), one) for one in each] for each in step["threads"]]
    start = threading.Barrier(len(calls))

    def run(events: Sequence[Event]) -> None:
        start.wait()
        for event in events:
            try:
                event.result = event.call.run()
            except BaseException as error:
                event.error = error

    threads = [threading.Thread(target=run, args=[events], daemon=True) for events in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for event in [one for events in calls for one in events]:
        if event.error is not None:
            if not isinstance(event.error, Exception):
                raise event.error
            event.call.refused(event.error)
    final = {name: one.value for name, one in group.variables.items()}
    if not _explained(calls, [0] * len(calls), group, dict(group.values), final):
        raise WrongError("no order of calls of threads gives their results")
    group.values.update(final)


def _explained(
    calls: Sequence[Sequence[Event]], done: list[int], group: Group, state: dict[str, Any],
    final: dict[str, Any],
) -> bool:  # fmt: skip
    """Whether some order of the calls that are left gives their results and the final values."""
    if all(len(events) == at for events, at in zip(calls, done, strict=True)):
        return all(np.array_equal(state[name], value) for name, value in final.items())
    for i, events in enumerate(calls):
        if done[i] == len(events):
            continue
        following = _after(events[done[i]], group, state)
        if following is not None:
            rest = [at + (j == i) for j, at in enumerate(done)]
            if _explained(calls, rest, group, following, final):
                return True
    return False


def _after(event: Event, group: Group, state: dict[str, Any]) -> dict[str, Any] | None:
    """The variables after a call; None if it would have given something else."""
    if event.error is not None:
        return state
    call = event.call
    function = group.kind.functions[call.name]
    arrays = {key: one.meaning for key, one in zip(function.inputs, call.fed, strict=True)}
    outputs, updates = function.computed(arrays, state)
    for one, expected in zip(flat(event.result), flat(outputs), strict=True):
        if not np.array_equal(one, expected):
            return None
    return {**state, **updates}


def forked(world: World, step: Step, do: Callable[[World, Step], None]) -> None:
    """Steps in a child, which must end; what they change is the child's own."""
    with _busy(world.group(step)) if step["busy"] else _nothing():
        reader, writer = os.pipe()
        child = os.fork()
        if not child:
            _run_child(world, step["steps"], writer, do)
    os.close(writer)
    try:
        said = _said(reader)
        if said is None:
            raise WrongError("a forked child hangs")
        if said != "done":
            raise WrongError(said or "a forked child dies")
    finally:
        os.close(reader)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def _run_child(
    world: World, steps: Sequence[Step], writer: int, do: Callable[[World, Step], None]
) -> None:
    try:
        for step in steps:
            do(world, step)
            world.check()
        said = "done"
    except WrongError as error:
        said = f"in a forked child, {error}"
    except BaseException as error:
        said = f"in a forked child, {type(error).__name__}: {error}"
    os.write(writer, said.encode()[:4000] or b"?")
    os._exit(0)


def _said(reader: int) -> str | None:
    """What a child says before it ends; None if it says nothing for long."""
    if not select.select([reader], [], [], PATIENCE)[0]:
        return None
    return os.read(reader, 4096).decode(errors="replace")


@contextmanager
def _nothing() -> Iterator[None]:
    yield


@contextmanager
def _busy(group: Group) -> Iterator[None]:
    """A thread that calls executables of its own meanwhile."""
    world = World([Group(group.kind, copy.deepcopy(group.executables), {}, dict(group.values))])
    spec = {"form": "plain", "seed": 1, "sizes": dict.fromkeys("nmk", group.kind.sizes[-1])}
    # not in the thread: a product of NumPy stands still for ever when the process forks
    calls = [
        world.prepared({"group": 0, "function": at, "feeds": [spec], "by": "position"})
        for at in range(len(group.executables))
    ]
    over = threading.Event()
    begun = threading.Event()

    def run() -> None:
        while not over.is_set():
            for call in calls:
                call.run()
                begun.set()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    begun.wait(PATIENCE)
    try:
        yield
    finally:
        over.set()
        thread.join()
