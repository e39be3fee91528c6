"""The machine's limits, measured in turn with the contenders.

A limit is the best that was seen, and contenders are measured for minutes. On a machine that does
something else as well, one measurement before them sees a slower machine than the best of their
calls do. So a `Meter` stays in the race: it has its turn in every round, and more until no call was
faster than what it found.
"""

from __future__ import annotations

import math
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from staticgraph.compare.kinds import thread_variables
from staticgraph.compare.process import ContenderError, Process
from staticgraph.compiler.core.errors import StaticGraphError
from staticgraph.compiler.inspect.limits import PROBE, Bound, Limits, bound_of, strongest
from staticgraph.compiler.inspect.probe import SIZES

RETRIES = 3
RETRY_SECONDS = 0.1  # of the first retry for each quantity; each takes twice as long as the last


KINDS = {"memory": "bandwidth", "arithmetic": "flops", "call": "call"}
"""What the probe calls the quantities that bound."""


@dataclass(frozen=True, slots=True)
class Need:
    """What a call moves, in bytes, and computes, in operations by dtype, at least."""

    moved: int
    flops: Mapping[str, int]


class Meter:
    """Measures the limits with several numbers of threads, as often as it is asked to.

    Raises:
        StaticGraphError: a process that measures has failed.
    """

    def __init__(self, numbers: Iterable[int]) -> None:
        self.numbers = sorted(set(numbers))
        self._ends = ExitStack()
        self._running: dict[int, Process] = {}
        self._best: dict[int, dict[tuple[str, str], float]] = {n: {} for n in self.numbers}

    def __enter__(self) -> Meter:
        folder = Path(self._ends.enter_context(tempfile.TemporaryDirectory(prefix="limits-")))
        try:
            for threads in self.numbers:
                task = {"script": str(PROBE), "arguments": [threads], "path": ""}
                process = Process(
                    sys.executable, task, thread_variables(threads), folder / f"log{threads}"
                )
                self._ends.callback(process.close)
                self._running[threads] = process
        except BaseException as error:
            self._ends.close()
            raise _failed(error) from None
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._running.clear()
        self._ends.close()

    def measure(
        self,
        seconds: float,
        need: Need | None = None,
        by: str | None = None,
        new: bool = False,
    ) -> None:
        """Measure again, each quantity for so many seconds; the best of all times counts.

        Nothing of a measurement that is interrupted counts: half of the limits are none.

        Args:
            need: what is needed of the machine; None: everything.
            by: only what bounds by this: "memory", "arithmetic" or "call".
            new: only what was not measured yet.
        """
        rates: dict[int, dict[tuple[str, str], float]] = {}
        try:
            for threads, process in self._running.items():
                rates[threads] = {}
                for name, kind, key, amount in process.report:
                    if (by is not None and kind != KINDS[by]) or not _needed(kind, key, need):
                        continue
                    if new and (kind, key) in self._best[threads]:
                        continue
                    found = process.ask(do="measure", step=name, seconds=seconds)
                    rates[threads][kind, key] = amount / found["minimum"]
        except ContenderError as error:
            raise _failed(error) from None
        for threads, found_rates in rates.items():
            best = self._best[threads]
            for what, rate in found_rates.items():
                best[what] = max(rate, best.get(what, 0.0))

    def limits(self) -> list[Limits]:
        """What was found so far: one record for each number of threads."""
        return [
            Limits(
                threads,
                {int(key): rate for (kind, key), rate in best.items() if kind == "bandwidth"},
                {key: rate for (kind, key), rate in best.items() if kind == "flops"},
                1 / best["call", ""],
            )
            for threads, best in self._best.items()
            if best
        ]

    def least(self, need: Need) -> Bound | None:
        """The shortest time for what is needed, by what was found; None if that is not all."""
        found = strongest(self.limits())
        if found is None or not need.flops.keys() <= found.flops.keys():
            return None
        return bound_of(found, need.moved, need.flops)

    def follow(self, seconds: float, need: Need) -> None:
        """Measure what sets the limit, as often as a contender is measured."""
        least = self.least(need)
        self.measure(seconds, need, None if least is None else least.by)

    def until(self, shortest: Callable[[], float], need: Need) -> bool:
        """Measure again, longer each time, until no call was faster; whether that is so."""

        def holds() -> bool:
            least = self.least(need)
            return least is None or least.seconds <= shortest()

        for retry in range(RETRIES):
            if holds():
                return True
            self.follow(RETRY_SECONDS * 2**retry, need)
        return holds()


def _failed(error: BaseException) -> BaseException:
    if not isinstance(error, ContenderError):
        return error
    return StaticGraphError(f"compare: the machine's limits: {error}")


def _needed(kind: str, key: str, need: Need | None) -> bool:
    if need is None or kind == "call":
        return True
    return key in need.flops if kind == "flops" else _beside(int(key), need.moved)


def _beside(size: int, near: int) -> bool:
    """Whether a size is within a factor of four, so that it has a part in `bandwidth_at`."""
    return near / 4 < size < near * 4 or size == _closest(near)


def _closest(near: int) -> int:
    """The size that stands for those beyond the smallest and the largest."""
    return min(SIZES, key=lambda size: abs(math.log(size / max(near, 1))))
