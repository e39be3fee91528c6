"""What `Function.explain` returns: traces, what each call checks, and why traces were made."""

from __future__ import annotations

import timeit
import warnings
from collections import Counter, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from staticgraph.compiler.core.errors import LintWarning
from staticgraph.compiler.core.notebook import as_printed
from staticgraph.compiler.core.record import frozen
from staticgraph.tracing.checks import check_of
from staticgraph.tracing.described import change_of, is_large, line_of, named, values_of
from staticgraph.tracing.guards import Read
from staticgraph.tracing.modules import is_module
from staticgraph.tracing.reads import Surroundings
from staticgraph.tracing.tracing import Trace
from staticgraph.tracing.words import Versions, with_words


@frozen
class Retrace:
    """Why a function was traced again.

    Attributes:
        changes: what had been read, and what it was when that was found to be another.
    """

    changes: Sequence[tuple[Read, Any]]

    def __str__(self) -> str:
        return "; ".join([change_of(read, now) for read, now in self.changes])


OFTEN = 16
"""Times that one thing was another, and a function traced again, after which that is told."""
PLAIN_OFTEN = 8
"""The same of a number or text, which never becomes an operand of its own, as an array may."""


class Retraces:
    """Why a function was traced again; where it is again and again, a warning says so once.

    Args:
        name: of the function.
        kept: how many are kept, for they hold what was read.
        tells: whether to warn.

    Attributes:
        last: the last ones.
        count: how many there were.
    """

    def __init__(self, name: str, kept: int, tells: bool) -> None:
        self.last: deque[Retrace] = deque(maxlen=kept)
        self.count = 0
        self._name, self._tells = name, tells
        self._often: Counter[tuple[str, str]] = Counter()

    def add(self, changes: Sequence[tuple[Read, object]]) -> None:
        """Note that it is traced again because of these changes."""
        self.last.append(Retrace(changes))
        self.count += 1
        for read, now in changes:
            key = read.name, read.place
            self._often[key] += 1
            most = PLAIN_OFTEN if isinstance(read.value, bool | int | float | str) else OFTEN
            if self._often[key] == most and self._tells:
                self._tell(read, now, most)

    def _tell(self, read: Read, now: object, times: int) -> None:
        file, _, line = read.place.rpartition(":")
        text = (
            f"{self._name}: traced again {times} times because {named(read)} was another each "
            f"time{values_of(read, now)}, which takes as long as the first trace: "
            f"{_instead(read)}; explain() says what it was [traced_often]"
        )
        warnings.warn_explicit(text, LintWarning, file or "?", int(line or 0))


def _instead(read: Read) -> str:
    """What to write where something that a function reads changes from call to call."""
    if is_large(read):
        return (
            "its elements are needed before the function runs: leave out float(), int() and the "
            "like, so that each call computes it, or compute it outside and pass it as an argument"
        )
    return (
        "pass it as an argument, or keep it in an sg.variable, a tensor or an array, which each "
        "call reads"
    )


def _counted(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def guard_cost(surroundings: Iterable[Surroundings]) -> float:
    """The seconds that checking takes in a call, measured now; of several traces the most."""
    checks = [check_of(with_words(around.guards.reads, Versions())) for around in surroundings]
    times = [min(timeit.repeat(check, number=1000, repeat=5)) / 1000 for check in checks]
    return max(times, default=0.0)


MANY = 60
"""Guards that are listed one by one; of more, those of a module's parts are counted."""


def _by_module(guards: Sequence[Read]) -> dict[str, list[Read]]:
    """By the name of each module that is no part of another, what is read of it and its parts."""
    names = {id(one.value): one.name for one in guards if is_module(one.value)}
    modules = {id(one.value): one.value for one in guards if is_module(one.value)}
    inside = {id(part) for one in modules.values() for part in one.modules() if part is not one}
    found: dict[str, list[Read]] = {}
    for key, module in modules.items():
        if key not in inside:
            held = _held_by(module)
            found[names[key]] = [one for one in guards if id(one.owner) in held]
    return found


def _held_by(module: Any) -> set[int]:
    """The identities of a module, of its parts, and of what is in their tables."""
    held: set[int] = set()
    for part in module.modules():
        table = vars(part)
        held |= {id(part), id(table), *map(id, table.values()), *map(id, part.parameters(False))}
    return held


@dataclass(frozen=True, slots=True, repr=False)
class Explanation:
    """What is known of a captured function; printed, it is readable.

    Attributes:
        name: of the function.
        traces: per surroundings and kind of arguments the traces that are kept.
        retraces: why it was traced again, in order; the last times, for they hold what was read.
        retraced: how many times it was.
        cost: the seconds that checking takes in a call, as `guard_cost` measured.
    """

    name: str
    traces: tuple[tuple[Surroundings, tuple[Trace, ...]], ...]
    retraces: tuple[Retrace, ...]
    retraced: int
    cost: float

    @property
    def guards(self) -> list[Read]:
        """What is checked at each call, each once: where traces differ, as the newest has it."""
        found = {one.where(): one for around, _ in self.traces for one in around.guards.reads}
        return list(found.values())

    def __repr__(self) -> str:
        return str(self)  # as a console shows it: a trace has no text while it stands for values

    _repr_html_ = as_printed

    def __str__(self) -> str:
        lines = [f"{self.name}: {_counted(sum(len(traces) for _, traces in self.traces), 'trace')}"]
        for _, traces in self.traces:
            for trace in traces:
                lines.append(f"  {trace}")
                lines += [f"    {one}" for one in trace.branches]
                if trace.needed:
                    lines.append(f"    with sizes known: {trace.needed}")

        guards = self.guards
        lines.append(f"{_counted(len(guards), 'guard')}, {self.cost * 1e6:.2f} us a call")
        of_modules = _by_module(guards) if len(guards) > MANY else {}
        told_apart = {id(one) for found in of_modules.values() for one in found}
        lines += [f"  {line_of(one)}" for one in guards if id(one) not in told_apart]
        lines += [
            f"  {name}: {len(found)} guards of its parts, parameters, buffers, hooks, modes and "
            "attributes, which .guards of this lists"
            for name, found in of_modules.items()
        ]
        lines += [
            f"  {one.name} is compared at each call, {one.owner.nbytes:,} bytes: its elements are "
            "needed before the function runs, or something dear is computed with it alone, once: "
            "to have each call read it, leave out float() and the like"
            for one in guards
            if is_large(one)
        ]
        live = {name: None for around, _ in self.traces for name in around.live.names}
        lines += [f"  {name} is an operand: each call reads what it holds" for name in live]
        kept = {name: None for around, _ in self.traces for name in around.kept.changed}
        lines += [f"  {name} is changed by each call, when its results are there" for name in kept]
        lines.append(f"traced again {_counted(self.retraced, 'time')}")
        if self.retraced > len(self.retraces):
            lines.append(f"  the last {len(self.retraces)}:")
        lines += [f"  {one}" for one in self.retraces]
        return "\n".join(lines)
