"""Comparing a function from the command line: plan, progress, what is printed and written."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from staticgraph.compare.kinds import Contender
from staticgraph.compare.meter import Meter
from staticgraph.compare.own.comparison import Comparison
from staticgraph.compare.own.contest import KINDS, Contest, Start, Task
from staticgraph.compare.own.outcome import comparison
from staticgraph.compare.own.records import Entry
from staticgraph.compare.records import INTERRUPTED

OURS = tuple(kind.name for kind in KINDS if not kind.peer)
FAILED = 1


@dataclass(frozen=True, slots=True)
class Output:
    """Where a comparison is written."""

    json: Path | None = None
    html: Path | None = None


def contenders(
    threads: int, peers: Mapping[str, str | None]
) -> tuple[list[Contender], list[Entry]]:
    """Who takes part, and entries of those that cannot: a peer with one and with all threads."""
    made, missing = [], []
    for kind in KINDS:
        interpreter = peers.get(kind.peer) if kind.peer else sys.executable
        if interpreter is not None:
            tried = {1, threads} if kind.peer else {threads}
            made += [Contender(kind, interpreter, n) for n in sorted(tried, reverse=True)]
        elif kind.peer in peers:
            reason = f"not installed: staticgraph peers install {kind.peer}"
            missing.append(Entry(kind.name, 0, failure=reason))
    for peer in peers.keys() - {kind.peer for kind in KINDS}:
        reason = "a function of tensors has no form for it: it takes symbolic variables"
        missing.append(Entry(peer, 0, failure=reason))
    return made, missing


def measured(
    task: Task,
    peers: Mapping[str, str | None],
    watch: Callable[[str], None],
    announce: Callable[[int], None] = lambda steps: None,
    start: Start | None = None,
) -> Comparison:
    """The comparison; Ctrl-C ends it early, and it is not complete then.

    `start` starts contenders that do not run in processes of their own.
    """
    date = datetime.now(UTC).isoformat(timespec="seconds")
    found, missing = contenders(task.settings.threads, peers)
    with (
        tempfile.TemporaryDirectory(prefix="staticgraph-compare-") as folder,
        Meter({1, task.settings.threads}) as meter,
    ):
        contest = Contest(task, found, Path(folder), meter, watch, start)
        announce(contest.steps)
        try:
            contest.run()
        except KeyboardInterrupt:
            watch("interrupted")
        return comparison(task, contest, missing, date)


def run(task: Task, peers: Mapping[str, str | None], output: Output) -> int:
    """Measure with progress, print, write; the exit status."""
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
    )

    with Progress(
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
        console=Console(stderr=True), transient=True,
    ) as progress:  # fmt: skip
        bar = progress.add_task(task.subject.name)

        def watch(what: str) -> None:
            progress.update(bar, description=escape(what), advance=1)

        found = measured(task, peers, watch, lambda steps: progress.update(bar, total=steps))
    print(found)
    write(found, output)
    if not found.complete:
        return INTERRUPTED
    return status(found)


def write(found: Comparison, output: Output) -> None:
    """The files that were asked for."""
    if output.json is not None:
        text = json.dumps(asdict(found), indent=1, allow_nan=False)
        output.json.write_text(text + "\n", encoding="utf-8")
    if output.html is not None:
        from staticgraph.compare.report.own_page import page

        output.html.write_text(page(found), encoding="utf-8")
    for path in (output.json, output.html):
        if path is not None:
            print(f"written: {path}")


def status(found: Comparison) -> int:
    """0, or 1 if a result is not that of eager, or one of ours has failed."""
    for point in found.points:
        for one in point.entries:
            if one.agrees is False or (one.failure is not None and one.contender in OURS):
                return FAILED
    return 0
