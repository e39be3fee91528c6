"""Profiles: how long each step of a kernel takes, inside loops too, and what it does meanwhile."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from staticgraph.compiler.codegen.bytecode import Instruction
from staticgraph.compiler.core.source import place_of
from staticgraph.compiler.graph.definition import Node
from staticgraph.compiler.graph.state import State, holding, write
from staticgraph.compiler.inspect.costs import Cost, costs
from staticgraph.compiler.inspect.opened import Opened, bodies
from staticgraph.compiler.inspect.profile_table import NodeTime, Profile, StepTime
from staticgraph.compiler.ops.programs.collectives import STEPS, any_rank
from staticgraph.compiler.ops.programs.effects import quiet
from staticgraph.compiler.runtime.arguments import as_inputs, in_order
from staticgraph.compiler.schedule.groups import computed

if TYPE_CHECKING:
    from staticgraph.compiler.codegen.kernel import Kernel
    from staticgraph.compiler.core.dims import Unknown
    from staticgraph.compiler.inspect.kernel_runner import KernelRunner

__all__ = ["NodeTime", "Profile", "StepTime", "profile"]

LEAST = 5  # runs
SECONDS = 0.5
LONGEST_NAME = 40  # characters of what is read, beyond which it is called by its op


def profile(runner: KernelRunner, args: Sequence[object], kwargs: Mapping[str, object]) -> Profile:
    """Measure each step of a call on its own; variables are left as they were."""
    name, feeds = runner.name, runner.feeds
    given = as_inputs(name, feeds, in_order(name, feeds, args, kwargs) if kwargs else args)
    runner, arrays, sizes = runner.suited(given)
    kernel = runner.kernel
    states = runner.states
    workspace = runner.workspace_for(sizes)
    opened = Opened(kernel)
    combined = any(node.op in STEPS for node in kernel.nodes().values())
    with holding(states, changes=True), _restored(states) as restore, quiet():
        results = runner.run_held(workspace, arrays)
        _repeat([restore, partial(opened.run, workspace.table)], combined)
        runs = min(map(len, opened.clocked.values()))
        if opened.nests:
            restore()
            opened.count(workspace.table)
            restore()
            acts = opened.run_untimed, opened.alone().run
            _repeat([restore, *(partial(act, workspace.table) for act in acts)], combined)
    del results  # the steps used their memory until now
    return _Reader(kernel, sizes, opened).profile(runs)


def _repeat(acts: Sequence[Callable[[], object]], combined: bool) -> None:
    """Act for `SECONDS`, and `LEAST` times; as often as the other ranks, if they are `combined`."""
    end = time.perf_counter() + SECONDS
    done, more = 0, True
    while more:
        for act in acts:
            act()
        done += 1
        more = done < LEAST or time.perf_counter() < end
        if combined:
            more = any_rank(more)


@contextmanager
def _restored(states: Sequence[State]) -> Iterator[Callable[[], None]]:
    """A function that gives variables the values that they had before, as the end of it does."""
    restore = partial(write, states, [state.array.copy() for state in states])
    try:
        yield restore
    finally:
        restore()


class _Reader:
    """Makes the records of what was measured."""

    def __init__(
        self,
        kernel: Kernel,
        sizes: Mapping[Unknown, int],
        opened: Opened,
    ) -> None:
        self.program = kernel.program
        self.nodes = kernel.nodes()
        self.opened = opened
        self.costs = {
            tuple([region.first + node for node in computed(group)]): found
            for region in kernel.root.all()
            for group, found in costs(region, sizes)
        }

    def profile(self, runs: int) -> Profile:
        """The records of the steps, and of what is inside them."""
        total = sum(map(self.opened.seconds, self.program))
        steps = tuple(self._steps(self.program, total))
        return Profile(steps, total, runs, self.opened.overhead)

    def _steps(self, program: Sequence[Instruction], total: float) -> Iterator[StepTime]:
        """One record for the neighbours that come from the same nodes."""
        parts: list[list[Instruction]] = []
        for one in program:
            if parts and parts[-1][0].nodes == one.nodes:
                parts[-1].append(one)
            else:
                parts.append([one])
        for part in parts:
            yield self._step(part, total)

    def _step(self, part: Sequence[Instruction], total: float) -> StepTime:
        seconds = sum(map(self.opened.seconds, part))
        below = [found for one in part for found in bodies(one)]
        inside = tuple(self._steps(below, total))
        runs = max(self.opened.runs.get(id(one), 0) for one in part)
        found = [] if below else self.costs.get(part[0].nodes, [])
        nodes = [self.nodes[number] for number in part[0].nodes]
        counted = None if any(one.flops is None for one in found) else found
        flops = None if counted is None else sum(one.flops or 0 for one in counted) * runs
        moved = sum(one.bytes for one in found) * runs
        if inside:
            flops = sum(step.flops or 0 for step in inside)
            moved = sum(step.bytes for step in inside)
        return StepTime(
            tuple([node.op.name for node in nodes]),
            tuple(dict.fromkeys(place_of(node.source) for node in nodes)),
            seconds,
            seconds / (total or 1),
            runs,
            moved,
            flops,
            _dtype(nodes),
            tuple(self._node(one, found, seconds, runs) for one in found),
            inside,
        )

    def _node(self, one: Cost, all: Sequence[Cost], seconds: float, runs: int) -> NodeTime:
        share = one.work / (sum(each.work for each in all) or 1)
        node = self.nodes[one.node]
        flops = None if one.flops is None else one.flops * runs
        op = f"reading {_label(node)}" if one.reads else node.op.name
        line = place_of(node.source)
        return NodeTime(op, line, seconds * share, share, one.bytes * runs, flops)


def _label(node: Node) -> str:
    """The name of what is read, if that stands in a line, else its op's."""
    name = node.name or ""
    return name if name.isprintable() and 0 < len(name) < LONGEST_NAME else node.op.name


def _dtype(nodes: Sequence[Node]) -> str:
    """The float dtype that a step computes in: float64 if anything is."""
    return "float64" if any(str(node.type).startswith("float64") for node in nodes) else "float32"
