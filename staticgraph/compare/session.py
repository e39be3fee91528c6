"""A run of the comparison: limits, then workload by workload, with progress and tables."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from staticgraph.compare.kinds import KINDS, THREAD_VARIABLES, Contender
from staticgraph.compare.machine import this_machine
from staticgraph.compare.meter import Meter, Need
from staticgraph.compare.outcome import outcome
from staticgraph.compare.race import Race, Taken
from staticgraph.compare.records import INTERRUPTED, Machine, Outcome, Report, Settings
from staticgraph.compare.report.markdown import markdown
from staticgraph.compare.report.table import print_limits, print_outcome, print_summary
from staticgraph.compare.workloads import WORKLOADS, Workload, scaled
from staticgraph.compiler.inspect.limits import Limits, strongest

FAILED = 1
LIMIT_SECONDS = 0.05  # for each of some twenty quantities, before a workload
TURN_SECONDS = 0.02  # for those that a workload needs, in each round


@dataclass(frozen=True, slots=True)
class Plan:
    """What the command line asks for.

    Attributes:
        peers: the interpreter of each peer that is wanted; None if it is not installed.
        scales: by what the size of a workload that can grow is multiplied.
    """

    workloads: tuple[str, ...]
    peers: dict[str, str | None]
    threads: int
    seconds: float
    rounds: int
    starts: int
    json: Path | None = None
    markdown: Path | None = None
    plot: Path | None = None
    html: Path | None = None
    scales: tuple[float, ...] = (1.0,)

    def chosen(self) -> dict[str, Workload]:
        """The workloads at each scale, by what they are called then."""
        return {
            name if scale == 1 else f"{name} x{scale:g}": scaled(name, WORKLOADS[name], scale)
            for name in self.workloads
            for scale in self.scales
        }

    @property
    def settings(self) -> Settings:
        """What of it is recorded."""
        return Settings(self.threads, self.seconds, self.rounds, self.starts, THREAD_VARIABLES)

    def contenders(self) -> list[Contender]:
        """Ours with all threads; each peer with one and with all, since either may be faster."""
        made = []
        for kind in KINDS:
            interpreter = self.peers.get(kind.peer) if kind.peer else sys.executable
            if interpreter is not None:
                tried = {1, self.threads} if kind.peer else {self.threads}
                made += [Contender(kind, interpreter, n) for n in sorted(tried, reverse=True)]
        return made

    def missing(self) -> dict[str, str]:
        """The reason by kind of what is wanted and cannot be tried."""
        return {
            kind.name: f"not installed: staticgraph peers install {kind.peer}"
            for kind in KINDS
            if kind.peer in self.peers and self.peers[kind.peer] is None
        }


@dataclass(slots=True)
class Session:
    """What has been found so far; it outlives an interruption."""

    plan: Plan
    console: Console
    machine: Machine = field(default_factory=this_machine)
    date: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))
    limits: dict[int, Limits] = field(default_factory=dict)
    taken: dict[str, list[Taken]] = field(default_factory=dict)
    complete: bool = False
    workloads: dict[str, Workload] = field(init=False)

    def __post_init__(self) -> None:
        self.workloads = self.plan.chosen()

    def measure(self) -> None:
        """Measure everything; an interruption ends it, and `complete` stays False."""
        try:
            with Meter({1, self.plan.threads}) as meter:
                for name in self.workloads:
                    self._measure_limits(meter)
                    with tempfile.TemporaryDirectory(prefix="staticgraph-compare-") as folder:
                        self._measure_workload(name, Path(folder), meter)
                    print_outcome(self.console, self.outcome(name))
            self.complete = True
        except KeyboardInterrupt:
            self.console.print("interrupted: this is what was measured", style="yellow")

    def report(self) -> Report:
        """What is written."""
        return Report(
            date=self.date,
            complete=self.complete,
            machine=self.machine,
            settings=self.plan.settings,
            limits=tuple(self.limits.values()),
            outcomes=tuple(map(self.outcome, self.taken)),
        )

    def outcome(self, name: str) -> Outcome:
        """One workload, against the limits as far as they are known."""
        limits = strongest(list(self.limits.values()))
        return outcome(name, self.workloads[name], self.taken[name], self.plan.missing(), limits)

    def _measure_limits(self, meter: Meter) -> None:
        """Measure all of them before each workload; what it needs, in each of its rounds too."""
        with _progress() as progress:
            progress.add_task("the machine's limits", total=None)
            meter.measure(min(LIMIT_SECONDS, self.plan.seconds))
        self._note(meter)

    def _note(self, meter: Meter) -> None:
        self.limits = {found.threads: found for found in meter.limits()}

    def _measure_workload(self, name: str, folder: Path, meter: Meter) -> None:
        place = f"[{list(self.workloads).index(name) + 1}/{len(self.workloads)}] {name}"
        workload = self.workloads[name]
        with _progress() as progress:
            task = progress.add_task(escape(place))
            announced = 0

            def watch(what: str) -> None:
                nonlocal announced
                progress.update(task, completed=announced, description=escape(f"{place}: {what}"))
                announced += 1

            need = Need(workload.BYTES, {workload.DTYPE: workload.FLOPS})

            def between() -> None:
                meter.follow(min(TURN_SECONDS, self.plan.seconds), need)

            race = Race(
                workload, self.plan.contenders(), self.plan.settings, folder, watch, between
            )
            progress.update(task, total=race.steps)
            self.taken[name] = race.taken
            try:
                race.run()
                progress.update(task, description=escape(f"{place}: the machine's limits"))
                meter.until(lambda: min(one.minimum for one in race.taken), need)
            finally:
                self._note(meter)


def _progress() -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
    )


def run(plan: Plan) -> int:
    """Measure, print, write; the exit status."""
    console = Console()
    if not console.is_terminal:
        console.width = 160
    session = Session(plan, console)
    session.measure()
    report = session.report()
    if not session.complete and report.outcomes:
        print_outcome(console, report.outcomes[-1])
    for limits in report.limits:
        print_limits(console, limits)
    print_summary(console, report)
    _write(plan, report)
    for path in (plan.json, plan.markdown, plan.plot, plan.html):
        if path is not None:
            console.print(f"written: {path}", markup=False)
    if not session.complete:
        return INTERRUPTED
    return status(report)


def _write(plan: Plan, report: Report) -> None:
    if plan.json is not None:
        plan.json.write_text(json.dumps(asdict(report), indent=1, allow_nan=False) + "\n")
    if plan.plot is not None:
        from staticgraph.compare.report.plot import save_plot

        save_plot(report, plan.plot)
    if plan.html is not None:
        from staticgraph.compare.report.workload_page import page

        plan.html.write_text(page(report), encoding="utf-8")
    if plan.markdown is not None:
        picture = None
        if plan.plot is not None:
            picture = os.path.relpath(plan.plot, plan.markdown.absolute().parent)
        plan.markdown.write_text(markdown(report, picture))


def status(report: Report) -> int:
    """0, or 1 if a result is not that of the others, or one of ours has failed."""
    ours = {kind.name for kind in KINDS if not kind.peer}
    for found in report.outcomes:
        for one in found.measurements:
            if one.agrees is False or (one.failure is not None and one.contender in ours):
                return FAILED
    return 0
