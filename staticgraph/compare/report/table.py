"""The tables in the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from staticgraph.compare.kinds import COMPILED
from staticgraph.compare.records import Measurement, Outcome, Report, Start
from staticgraph.compare.report import numbers
from staticgraph.compare.report.numbers import duration
from staticgraph.compiler.inspect.limits import Limits

CALLS = (
    "", "threads", "median", "interval", "minimum", "of limit", "memory", "ahead after",
    "when warm", "difference",
)  # fmt: skip
STARTS = ("", "start cold", "warm", "imports", "build", "passes", "compile", "first call")


def print_limits(console: Console, limits: Limits) -> None:
    """A line on what the machine can do."""
    rates = ", ".join(
        f"{rate / 1e9:.0f} GB/s at {numbers.binary(size)}"
        for size, rate in limits.bandwidth.items()
    )
    flops = ", ".join(f"{rate / 1e9:.0f} GFLOP/s {name}" for name, rate in limits.flops.items())
    threads = f"{limits.threads} thread{'s' if limits.threads > 1 else ''}"
    console.print(f"limits, {threads}: {rates}; {flops}; a native call {duration(limits.call)}")


def print_outcome(console: Console, outcome: Outcome) -> None:
    """One workload: calls, then starts, a row per contender; then the reasons of failures."""
    title = f"{outcome.workload}: {outcome.title}"
    if outcome.limit is not None:
        title += f" (limit {duration(outcome.limit)}, by {outcome.bound_by})"
    chosen = numbers.shown(outcome)
    table = _table(title, CALLS)
    for one in chosen:
        if one.steady is not None:
            table.add_row(*_calls(one), style="bold red" if one.agrees is False else None)
    console.print(table)
    table = _table("", STARTS)
    for one in chosen:
        started = numbers.start_of(outcome, one.contender)
        if started is not None and started.cold is not None:
            table.add_row(one.contender, *_starts(started.cold, started.warm))
    console.print(table)
    for one in chosen:
        if one.failure is not None:
            console.print(f"{one.contender}: {one.failure}", style="yellow", markup=False)
    console.print()


def _table(title: str, columns: Sequence[str]) -> Table:
    table = Table(
        title=escape(title) or None, title_justify="left", title_style="bold", box=None,
        pad_edge=False,
    )  # fmt: skip
    for i, column in enumerate(columns):
        table.add_column(column, justify="right" if i else "left", header_style="dim")
    return table


def _calls(one: Measurement) -> list[str]:
    assert one.steady is not None
    ours = one.contender == COMPILED
    return [
        one.contender,
        str(one.threads),
        duration(one.steady.median),
        numbers.interval(one.steady.interval),
        duration(one.steady.minimum),
        numbers.share(one.fraction),
        numbers.megabytes(one.memory),
        "" if ours else numbers.calls(one.ahead),
        "" if ours else numbers.calls(one.ahead_warm),
        numbers.difference(one),
    ]


def _starts(cold: Start, warm: Start | None) -> list[str]:
    return [
        duration(cold.process),
        duration(warm.process if warm else None),
        duration(cold.imports),
        duration(cold.build),
        duration(cold.passes),
        duration(cold.compile),
        duration(cold.first_call),
    ]


def print_summary(console: Console, report: Report) -> None:
    """All workloads: the medians side by side, and compiled against the best peer."""
    kinds = list(dict.fromkeys(
        one.contender for outcome in report.outcomes for one in outcome.measurements
    ))  # fmt: skip
    table = _table("medians", ["", *kinds, "limit", "compiled / best peer", "by minima"])
    for outcome in report.outcomes:
        table.add_row(
            outcome.workload,
            *(duration(numbers.median_of(outcome, kind)) for kind in kinds),
            duration(outcome.limit),
            numbers.ratio(outcome),
            numbers.ratio(outcome, numbers.minimum_of),
        )
    console.print(table)
    means = numbers.means(report.outcomes)
    if means is not None:
        console.print(means)
