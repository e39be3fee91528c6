"""The records of a profile, and the table that `print` shows of them."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from staticgraph.compiler.core.notebook import as_printed
from staticgraph.compiler.core.once import Once
from staticgraph.compiler.core.record import frozen
from staticgraph.compiler.inspect.limits import Bound, Limits, bandwidth_at, measure_limits
from staticgraph.compiler.runtime.threads import get_num_threads

WIDTH = 12  # characters of the longest bar
MOST = 8  # ops of a step that the table lists
LEAST = 0.005  # of all time: the ops that the table lists take as much
PROBED = 0.02  # seconds in which each of the machine's limits is measured
TIME, SHARE, AMOUNT, RATE = 12, 7, 9, 8  # characters of columns


@frozen
class NodeTime:
    """One op inside a step.

    Attributes:
        op, line: its name, or "reading" and the name, else the op, of what the step reads, and the
            user's line.
        seconds, share: an estimate: the part of the step's time that is its part of the work, which
            is statements and accesses of memory, a function such as exp counting as eight.
        bytes: what it moves between memory and the step, each element once.
        flops: its operations on floats, a function being one; None of what NumPy does.
    """

    op: str
    line: str
    seconds: float
    share: float
    bytes: int
    flops: int | None


@frozen
class StepTime:
    """One step: the ops that it computes, their lines, its median time in seconds and its share.

    Attributes:
        runs: how often it runs in a call; times, bytes and flops are those of a whole call.
        bytes, flops: of its nodes together; no step can do with less.
        dtype: the float dtype that it computes in.
        nodes: its ops with an estimate of the time of each.
        inside: the steps in the body of a loop or branch. Each was timed alone in the loop, where
            its operands may be nearer: together they may take less than the loop, or more.
    """

    ops: tuple[str, ...]
    lines: tuple[str, ...]
    seconds: float
    share: float
    runs: int = 1
    bytes: int = 0
    flops: int | None = 0
    dtype: str = "float32"
    nodes: tuple[NodeTime, ...] = ()
    inside: tuple[StepTime, ...] = ()

    def bound(self, limits: Limits) -> Bound:
        """The shortest time that a machine allows for what it moves and computes.

        What fits into the cache is not counted: how fast that is, is not measured.
        """
        size = self.bytes // max(1, self.runs)
        moved = (
            self.runs / bandwidth_at(limits, size) * size if size >= min(limits.bandwidth) else 0.0
        )
        computed = (self.flops or 0) / limits.flops[self.dtype]
        return Bound(max(moved, computed), "memory" if moved > computed else "arithmetic")


@frozen
class Profile:
    """The steps of a kernel in their order; `print` shows a table.

    Attributes:
        seconds: the sum of the medians of all steps.
        runs: how often each was measured.
        overhead: seconds that timing a step takes, which are subtracted everywhere.
        limits: what the machine can do, if it was measured.
    """

    steps: tuple[StepTime, ...]
    seconds: float
    runs: int
    overhead: float = 0.0
    limits: Limits | None = None

    def against_limits(self, limits: Limits | None = None) -> Profile:
        """The same, with the part of the machine's limit that each step reaches.

        Args:
            limits: what the machine can do. Without, it is measured (a few seconds, once in a
                process) with as many threads as calls use; where a step has done more than that,
                since the machine was busy meanwhile, what that step did is the limit.
        """
        if limits is None:
            limits = self._raised(_limits(get_num_threads()))
        return replace(self, limits=limits)

    def _raised(self, limits: Limits) -> Limits:
        """No less than what the steps have reached."""
        found = [step for step in _all(self.steps) if self._is_told(step)]
        flops = dict(limits.flops)
        above = 1.0
        for step in found:
            flops[step.dtype] = max(flops[step.dtype], (step.flops or 0) / step.seconds)
            size = step.bytes // max(1, step.runs)
            if size >= min(limits.bandwidth):
                above = max(above, step.bytes / step.seconds / bandwidth_at(limits, size))
        bandwidth = {size: above * rate for size, rate in limits.bandwidth.items()}
        return replace(limits, flops=flops, bandwidth=bandwidth)

    def _is_told(self, step: StepTime) -> bool:
        """Whether a step is long enough to say how fast it is: timing it takes no more.

        Those inside loops were timed without a clock around each.
        """
        return step.seconds > (self.overhead if step.runs <= 1 else 0.0)

    _repr_html_ = as_printed

    def __str__(self) -> str:
        lines = [
            f"{self.seconds * 1e6:10.1f} µs in all, medians of {self.runs} runs; the "
            f"{self.overhead * 1e6:.1f} µs that timing a step takes are subtracted",
            _row("time", "of all", "", "bytes", "GB/s", "flops", "GFLOP/s", self._limit_heading())
            + "what it computes  <- your lines",
        ]
        longest = max((step.share for step in self.steps), default=1) or 1
        for step in self.steps:
            lines += self._rows(step, longest, "")
        if any(len(step.nodes) > 1 for step in _all(self.steps)):
            lines.append("~ an estimate: the time of a step, divided by the work of each op in it")
        if any(step.inside for step in _all(self.steps)):
            lines.append("steps inside a loop were timed alone in it, so they may not add up to it")
        return "\n".join(lines)

    def _limit_heading(self) -> str:
        return "of limit" if self.limits else ""

    def _rows(self, step: StepTime, longest: float, indent: str) -> Iterator[str]:
        bar = "" if indent else "#" * round(WIDTH * step.share / longest)
        times = f" ({step.runs} times)" if step.runs != 1 else ""
        lines = ", ".join(dict.fromkeys(map(os.path.basename, step.lines)))
        what = f"{', '.join(_counted(step.ops))}{times}"
        text = f"{indent}{what}  <- {lines}" if lines else f"{indent}{what or 'bookkeeping'}"
        cells = _amounts(step.seconds, step.bytes, step.flops, rates=self._is_told(step))
        limit = ""
        if self.limits is not None and self._is_told(step):
            share = step.bound(self.limits).seconds / step.seconds
            limit = f"{share:.0%}" if share else ""
        row = _row(_time(step.seconds), f"{step.share:.1%}", bar, *cells, limit) + text
        yield row.rstrip()
        yield from self._node_rows(step, indent)
        for inner in step.inside:
            if inner.runs:  # not the side of a branch that was not taken
                yield from self._rows(inner, longest, indent + "  ")

    def _node_rows(self, step: StepTime, indent: str) -> Iterator[str]:
        if len(step.nodes) < 2:
            return
        longest = sorted(step.nodes, key=lambda node: -node.seconds)[:MOST]
        shown = [node for node in longest if node.share * step.share >= LEAST]
        for node in shown:
            cells = _amounts(node.seconds, node.bytes, node.flops, rates=False)
            share = f"{node.share * step.share:.1%}"
            text = f"{indent}  {node.op}  <- {os.path.basename(node.line)}"
            yield (_row("~" + _time(node.seconds), share, "", *cells, "") + text).rstrip()
        if shown and len(step.nodes) > len(shown):
            rest = len(step.nodes) - len(shown)
            yield _row("", "", "", "", "", "", "", "") + f"{indent}  and {rest} more"

    __repr__ = __str__


def _all(steps: Sequence[StepTime]) -> Iterator[StepTime]:
    for step in steps:
        yield step
        yield from _all(step.inside)


def _row(
    time: str, share: str, bar: str, moved: str, rate: str, flops: str, speed: str, limit: str
) -> str:
    return (
        f"{time:>{TIME}} {share:>{SHARE}} {bar:<{WIDTH}} {moved:>{AMOUNT}} {rate:>{RATE}} "
        f"{flops:>{AMOUNT}} {speed:>{RATE}} {limit:>8}  "
    )


def _time(seconds: float) -> str:
    return f"{seconds * 1e6:.1f} µs"


def _amounts(
    seconds: float, moved: int, flops: int | None, rates: bool
) -> tuple[str, str, str, str]:
    """Bytes, GB/s, flops and GFLOP/s; `rates`: whether the time is one to divide by."""
    known = rates and seconds > 0
    return (
        _scaled(moved, "B"),
        f"{moved / seconds / 1e9:.1f}" if known and moved else "",
        "-" if flops is None else _scaled(flops, ""),
        f"{flops / seconds / 1e9:.1f}" if known and flops else "",
    )


def _scaled(amount: float, unit: str) -> str:
    """An amount with three digits: `1.23 MB`."""
    for prefix in ("", "k", "M", "G"):
        if amount < 1000:
            return f"{amount:.3g} {prefix}{unit}".rstrip()
        amount /= 1000
    return f"{amount:.3g} T{unit}"


def _counted(ops: Sequence[str]) -> list[str]:
    """Each op once, with how many there are."""
    return [op if count == 1 else f"{op} x {count}" for op, count in Counter(ops).items()]


@Once
def _limits(threads: int) -> Limits:
    return measure_limits(threads, PROBED)
