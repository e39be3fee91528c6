"""What scripts that measure have in common: contenders in processes, in turn, and tables.

A script has a function `contender(*arguments)`, which runs in the process of a contender: maybe in
an environment without this project. It gives `(report, steps)`: facts that JSON can hold, and by
name the calls to measure. Everything else of a script runs in the process that asks.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import track
from rich.table import Table

from staticgraph.compare.kinds import thread_variables
from staticgraph.compare.process import LONGEST_START, Process

ROOT = Path(__file__).resolve().parents[2]
WIDTH = 160  # of a table that is not for a terminal


@dataclass(frozen=True, slots=True)
class Entrant:
    """A contender of a script.

    Attributes:
        label: what it is called in the table.
        interpreter: the Python that runs it.
        arguments: what the script's `contender` is called with; JSON can hold them.
        threads: how many the libraries may use; None for what they choose.
        root: the checkout whose packages it imports.
        variables: more of its environment.
    """

    label: str
    arguments: Sequence[Any]
    interpreter: str = sys.executable
    threads: int | None = None
    root: Path = ROOT
    variables: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Times:
    """Seconds of a call: the median of each round, and the least of all."""

    medians: tuple[float, ...]
    minimum: float

    @property
    def median(self) -> float:
        """The median of the rounds' medians."""
        return statistics.median(self.medians)


@contextmanager
def running(
    script: str, entrants: Iterable[Entrant], longest: float = LONGEST_START
) -> Iterator[dict[str, Process]]:
    """The processes of the contenders, by label, set up one after the other.

    Raises:
        ContenderError: one of them fails, or takes longer than `longest` seconds.
    """
    with tempfile.TemporaryDirectory(prefix="staticgraph-script-") as folder, ExitStack() as ends:
        processes = {}
        for i, one in enumerate(entrants):
            task = {
                "script": str(Path(script).resolve()),
                "arguments": list(one.arguments),
                "path": str(one.root),
            }
            variables = {} if one.threads is None else thread_variables(one.threads)
            process = Process(
                one.interpreter,
                task,
                {**variables, **one.variables},
                Path(folder) / f"log{i}",
                longest,
            )
            ends.callback(process.close)
            processes[one.label] = process
        yield processes


def raced(
    processes: Mapping[str, Process],
    names: Sequence[str],
    rounds: int,
    seconds: float,
    pause: float = 0.0,
) -> Iterator[tuple[str, dict[str, Times]]]:
    """Each step by name, with what every contender takes for it: round by round, all in turn.

    With a pause before each turn, for threads of the one before it may wait for work for a while,
    and take the processors meanwhile. An interruption ends it after the last complete step.
    """
    try:
        for name in track(names, "measuring", console=Console(stderr=True), transient=True):
            answers: dict[str, list[Any]] = {label: [] for label in processes}
            for _ in range(rounds):
                for label, process in processes.items():
                    time.sleep(pause)
                    answers[label].append(process.ask(do="measure", step=name, seconds=seconds))
            yield name, {label: _times(found) for label, found in answers.items()}
    except KeyboardInterrupt:
        print("interrupted: this is what was measured", file=sys.stderr)


def _times(answers: Sequence[Mapping[str, float]]) -> Times:
    return Times(tuple(one["median"] for one in answers), min(one["minimum"] for one in answers))


def timed(call: Callable[[], object]) -> float:
    """Seconds of one call."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def called_in_turn(
    calls: Sequence[Callable[[], object]], seconds: float, turn: float = 0.0, pause: float = 0.0
) -> list[Times]:
    """The times of calls in this process, which alternate for `seconds` each.

    Args:
        calls: the contenders.
        seconds: for each of them.
        turn: how long each goes on before it is another's turn; one call if 0.
        pause: before each turn; a call that is not counted then wakes the threads.
    """
    times: list[list[float]] = [[] for _ in calls]
    end = time.perf_counter() + seconds * len(calls)
    while time.perf_counter() < end or not times[-1]:
        for call, taken in zip(calls, times, strict=True):
            if pause:
                time.sleep(pause)
                call()
            stop = time.perf_counter() + turn
            taken.append(timed(call))
            while time.perf_counter() < stop:
                taken.append(timed(call))
    return [Times((statistics.median(taken),), min(taken)) for taken in times]


def apart(values: Sequence[float], others: Sequence[float]) -> float:
    """The largest difference of values from others, relative to these."""
    return max(abs(a - b) / abs(b) for a, b in zip(values, others, strict=True))


def parser(document: str | None, rounds: int | None = None, seconds: float | None = None) -> Any:
    """A command line that is described by the script's text, with the lengths of a race."""
    made = argparse.ArgumentParser(
        description=document, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    if rounds is not None:
        made.add_argument("--rounds", type=int, default=rounds)
    if seconds is not None:
        made.add_argument("--seconds", type=float, default=seconds, help="per contender and round")
    return made


def show(title: str, heads: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a table: texts in the first column, figures in the others."""
    table = Table(title=title)
    for i, head in enumerate(heads):
        table.add_column(head, justify="right" if i else "left", no_wrap=True)
    for row in rows:
        table.add_row(*row)
    Console(width=None if sys.stdout.isatty() else WIDTH).print(table)


def markdown(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """The same table for a page."""
    lines = [heads, ["---"] + ["---:"] * (len(heads) - 1), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def write_json(path: Path, records: object) -> None:
    """Write figures to a file."""
    path.write_text(json.dumps(records, indent=1) + "\n", encoding="utf-8")
