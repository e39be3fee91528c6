"""Profiles: how long each step of a kernel takes, and which lines of the user it comes from."""

from __future__ import annotations

import statistics
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from compiler.core.source import place_of
from compiler.graph.state import State, holding, write
from compiler.ops.effects import quiet
from compiler.runtime.arguments import as_inputs, in_order
from compiler.runtime.cache.loader import load_steps

if TYPE_CHECKING:
    from compiler.codegen.kernel import Kernel
    from compiler.runners.compiled import CompiledRunner

LEAST = 5  # runs
SECONDS = 0.5
WIDTH = 20  # characters of the longest bar


@dataclass(frozen=True, slots=True)
class StepTime:
    """One step: the ops that it computes, their lines, its median time in seconds and its share."""

    ops: tuple[str, ...]
    lines: tuple[str, ...]
    seconds: float
    share: float


@dataclass(frozen=True, slots=True)
class Profile:
    """The steps of a kernel in their order; `print` shows a table.

    Attributes:
        seconds: the sum of the medians of all steps.
        runs: how often each was measured.
    """

    steps: tuple[StepTime, ...]
    seconds: float
    runs: int

    def __str__(self) -> str:
        lines = [f"{self.seconds * 1e6:10.1f} µs in all, medians of {self.runs} runs"]
        longest = max((step.share for step in self.steps), default=1) or 1
        for step in self.steps:
            bar = "#" * round(WIDTH * step.share / longest)
            text = f"{', '.join(_counted(step.ops))}  <- {', '.join(step.lines)}"
            lines.append(
                f"{step.seconds * 1e6:10.1f} µs {step.share:6.1%} {bar:<{WIDTH}} {text}".rstrip()
            )
        return "\n".join(lines)


def profile(
    runner: CompiledRunner, args: Sequence[object], kwargs: Mapping[str, object]
) -> Profile:
    """Measure each step of a call on its own; variables are left as they were."""
    name, feeds = runner.name, runner.feeds
    given = as_inputs(name, feeds, in_order(name, feeds, args, kwargs) if kwargs else args)
    runner, arrays, sizes = runner.suited(given)
    kernel = runner.kernel
    states = runner.states
    workspace = runner.workspace_for(sizes)
    steps, owner = load_steps(kernel)
    table = workspace.table.ctypes.data
    times: list[list[float]] = [[] for _ in steps]
    with holding(states, changes=True), _restored(states) as restore, quiet():
        results = runner.run_held(workspace, arrays)
        end = time.perf_counter() + SECONDS
        while steps and (len(times[0]) < LEAST or time.perf_counter() < end):
            restore()
            for step, found in zip(steps, times, strict=True):
                start = time.perf_counter()
                step(table)
                found.append(time.perf_counter() - start)
    del results, owner  # the steps used their memory until now
    return _profile(kernel, times)


@contextmanager
def _restored(states: Sequence[State]) -> Iterator[Callable[[], None]]:
    """A function that gives variables the values that they had before, as the end of it does."""
    restore = partial(write, states, [state.array.copy() for state in states])
    try:
        yield restore
    finally:
        restore()


def _profile(kernel: Kernel, times: Sequence[Sequence[float]]) -> Profile:
    """One entry for the neighbours that come from the same nodes."""
    medians = [statistics.median(found) for found in times]
    total = sum(medians)
    merged: list[tuple[tuple[int, ...], float]] = []
    for one, seconds in zip(kernel.program, medians, strict=True):
        if merged and merged[-1][0] == one.nodes:
            merged[-1] = one.nodes, merged[-1][1] + seconds
        else:
            merged.append((one.nodes, seconds))
    known = kernel.nodes()
    steps = []
    for numbers, seconds in merged:
        nodes = [known[number] for number in numbers]
        ops = tuple(node.op.name for node in nodes)
        lines = tuple(dict.fromkeys(place_of(node.source) for node in nodes))
        steps.append(StepTime(ops, lines, seconds, seconds / (total or 1)))
    return Profile(tuple(steps), total, len(times[0]) if times else 0)


def _counted(ops: Sequence[str]) -> list[str]:
    """Each op once, with how many there are."""
    return [op if count == 1 else f"{op} x {count}" for op, count in Counter(ops).items()]
