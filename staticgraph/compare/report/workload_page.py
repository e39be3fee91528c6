"""The report on workloads: one page with charts, code and every figure."""

from __future__ import annotations

import inspect
import textwrap
from html import escape

import numpy as np

from staticgraph.compare.adapters import compiled
from staticgraph.compare.given import HEADS as GIVEN_HEADS, given
from staticgraph.compare.kinds import COMPILED
from staticgraph.compare.race import DATA_SEED
from staticgraph.compare.records import Measurement, Outcome, Report
from staticgraph.compare.report import html, numbers
from staticgraph.compare.report.charts import Axis, Line, bars, colour_of, lines
from staticgraph.compare.report.numbers import duration, megabytes, share
from staticgraph.compare.server import Phases
from staticgraph.compare.workloads import WORKLOADS, Workload

CURVE = 40  # points of a line of total time
HEADS = (
    "", "threads", "median", "minimum", "of limit", "memory", "start cold", "warm", "ahead after",
    "when warm", "difference",
)  # fmt: skip


def page(report: Report) -> str:
    """The whole file."""
    settings = report.settings
    threads = f"{settings.threads} thread{'s' if settings.threads > 1 else ''}"
    part = "" if report.complete else " The run was interrupted: this is a part."
    head = (
        "<h1>Static or dynamic, workload by workload</h1><p class='sub'>"
        f"{escape(report.machine.processor)}, {threads}; medians of {settings.rounds} rounds of "
        f"{settings.seconds:g} s, all contenders in turn; {report.date}.{part}</p>"
    )
    body = head + _summary(report) + "".join(map(_outcome, report.outcomes))
    return html.document("Static or dynamic", html.framed(body))


def _summary(report: Report) -> str:
    kinds = list(dict.fromkeys(
        one.contender for outcome in report.outcomes for one in outcome.measurements
    ))  # fmt: skip
    rows = [
        [
            outcome.workload,
            *(duration(numbers.median_of(outcome, kind)) for kind in kinds),
            duration(outcome.limit),
            numbers.ratio(outcome),
        ]
        for outcome in report.outcomes
    ]
    means = numbers.means(report.outcomes)
    heads = ["", *kinds, "limit", "compiled / best peer"]
    return html.table(heads, rows) + (f"<p class='sub'>{escape(means)}</p>" if means else "")


def _outcome(outcome: Outcome) -> str:
    shown = [one for one in numbers.shown(outcome) if one.steady is not None]
    failed = [one for one in numbers.shown(outcome) if one.failure is not None]
    times = [
        (one.contender, one.steady.median, duration(one.steady.median))
        for one in shown
        if one.steady is not None
    ]
    content = html.side_by_side(
        f"<h3>Time of a call (limit {duration(outcome.limit)}, {outcome.bound_by or '-'})</h3>"
        + bars(times),
        "<h3>Total time against calls</h3>" + _totals(outcome),
        _steps(outcome),
    )
    content += html.table(HEADS, [_row(outcome, one) for one in shown], COMPILED)
    content += "".join(
        f"<p class='bad'>{escape(f'{one.contender}: {one.failure}')}</p>" for one in failed
    )
    if outcome.workload in WORKLOADS:
        content += html.details("inputs", _inputs(outcome.workload))
        content += html.details("code: the loss, and the kernel", _code(outcome.workload))
    return html.section(outcome.workload, outcome.title, content)


def _row(outcome: Outcome, one: Measurement) -> list[str]:
    started = numbers.start_of(outcome, one.contender)
    cold = started.cold if started else None
    warm = started.warm if started else None
    ours = one.contender == COMPILED
    assert one.steady is not None
    return [
        one.contender,
        str(one.threads),
        duration(one.steady.median),
        duration(one.steady.minimum),
        share(one.fraction),
        megabytes(one.memory),
        duration(cold.process if cold else None),
        duration(warm.process if warm else None),
        "" if ours else numbers.calls(one.ahead),
        "" if ours else numbers.calls(one.ahead_warm),
        numbers.difference(one),
    ]


def _totals(outcome: Outcome) -> str:
    """Imports left out on all sides; the ring is where compiled overtakes eager."""
    begun = []
    for one in numbers.shown(outcome):
        started = numbers.start_of(outcome, one.contender)
        if one.steady is not None and started is not None and started.cold is not None:
            begun.append((one, started.cold.once, one.steady.median))
    eager = next((one for one, _, _ in begun if one.contender == "eager"), None)
    crossing = eager.ahead.first if eager is not None and eager.ahead else None
    most = max(1000.0, 30.0 * (crossing or 1))
    steps = [most ** (i / CURVE) for i in range(CURVE + 1)]
    series = [
        Line(one.contender, tuple((n, once + (n - 1) * call) for n in steps), marks=False)
        for one, once, call in begun
    ]
    if not series:
        return ""
    marked = {}
    for one, once, call in begun:
        if one.contender == COMPILED and crossing is not None and crossing > 1:
            total = once + (crossing - 1) * call
            marked = {f"{crossing:,} calls": (float(crossing), total)}
    return lines(
        series,
        Axis("calls", lambda value: f"{value:,.0f}"),
        Axis("seconds in all", lambda value: duration(value)),
        marked,
    )


def _steps(outcome: Outcome) -> str:
    for one in outcome.measurements:
        whole = sum(step.seconds for step in one.steps)
        if one.contender == COMPILED and one.best and whole:
            rows = sorted(one.steps, key=lambda step: -step.seconds)[:8]
            drawn = [
                (", ".join(dict.fromkeys(step.ops)), step.seconds,
                 f"{duration(step.seconds)}  {share(step.seconds / whole)}")
                for step in rows
            ]  # fmt: skip
            return "<h3>Where compiled time goes</h3>" + bars(drawn, colour_of(COMPILED))
    return ""


def _code(name: str) -> str:
    workload = WORKLOADS[name]
    loss = textwrap.dedent(inspect.getsource(workload.loss))
    return html.side_by_side(
        f"<h3>The loss, in both paradigms</h3>{html.code(loss)}",
        f"<h3>Static: the kernel of a call</h3>{html.code(kernel_of(workload))}",
    )


def _inputs(name: str) -> str:
    """What every contender was given: parameters, and the arrays of a batch."""
    arrays = WORKLOADS[name].data(np.random.default_rng(DATA_SEED))
    return html.table(GIVEN_HEADS, [one.cells() for one in given(arrays)])


def kernel_of(workload: Workload) -> str:
    """The text of what is compiled of a workload."""
    import staticgraph as sg

    arrays = workload.data(np.random.default_rng(DATA_SEED))
    run, _ = compiled.prepare(sg, {}, workload, arrays, Phases())
    return str(run.func.source)  # type: ignore[attr-defined]
