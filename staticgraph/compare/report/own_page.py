"""The report on a function of the user's: one page with its code, charts and verdict."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from staticgraph.compare.given import HEADS
from staticgraph.compare.kinds import COMPILED
from staticgraph.compare.own import text
from staticgraph.compare.own.specs import shown
from staticgraph.compare.own.verdict import LOST
from staticgraph.compare.report import html, numbers
from staticgraph.compare.report.charts import Axis, Line, bars, colour_of, lines
from staticgraph.compare.report.numbers import duration, megabytes, share

if TYPE_CHECKING:
    from staticgraph.compare.own.records import Entry, Measured, Point

TIME = Axis("seconds of a call", lambda value: duration(value))
MOST_ROWS = 10
CURVE = 40  # points of a line of total time
SHORTEST = 1e-3  # seconds, at which the axis of memory over time begins


def page(found: Measured) -> str:
    """The whole file."""
    return html.document(f"{found.function}: static or dynamic?", body(found))


def body(found: Measured) -> str:
    """The page without its frame: what a notebook shows."""
    return html.framed("".join(_parts(found)))


def _parts(found: Measured) -> list[str]:
    ends = _ends(found.points)
    threads = found.settings.threads
    versions = ", ".join(f"{name} {version}" for name, version in found.versions.items())
    return [
        f"<h1>{escape(found.function)}: static or dynamic?</h1>",
        f"<p class='sub'>{escape(found.file)}:{found.line}, {escape(found.inputs)}; "
        f"{escape(text.computed(found))}. {escape(found.machine.processor)}, {threads} "
        f"thread{'s' if threads > 1 else ''}; medians of {found.settings.rounds} rounds of "
        f"{found.settings.seconds:g} s, all in turn; {escape(versions)}; {found.date}</p>",
        f"<ul class='verdict'>{''.join(_sentence(one) for one in found.verdict)}</ul>",
        html.section(
            "The same function, both ways",
            "What was written, which eager runs line by line; below it how it becomes a static "
            "graph. Beside it the kernel that was compiled of that: every statement with its op "
            "and the line that it comes from.",
            _code(found),
        ),
        html.section(
            "The inputs",
            "What every contender was given.",
            html.side_by_side(*(_inputs(point) for point in ends)),
        ),
        html.section("Time of a call", "", _times(found)),
        html.section(
            "When compiling has paid",
            "Total time against the number of calls: compiled begins with the time to compile, and "
            "grows more slowly. Where the lines cross (ring) it has paid.",
            html.side_by_side(*(_totals(found, point) for point in ends)),
        ),
        html.section(
            "Where the time goes",
            "Eager: each op with the Python before it, forward and backward (noted as nodes of the "
            "tape are made and run). Compiled: the steps of the kernel, each measured by itself.",
            "".join(_where(point) for point in ends),
        ),
        html.section(
            "Memory over time",
            "Growth of the resident memory while a contender is set up and called, sampled from "
            "outside of its process. At the first size compiling is in it, at the last it is not.",
            html.side_by_side(*(_memory(point) for point in ends)),
        ),
        html.section("Every figure", "", "".join(_details(point) for point in found.points)),
        html.section("The machine", "", _machine(found)),
    ]


def _ends(points: Sequence[Point]) -> Sequence[Point]:
    return points if len(points) < 2 else (points[0], points[-1])


def _sentence(one: str) -> str:
    bad = " class='bad'" if one.startswith(("MISMATCH", LOST)) else ""
    return f"<li{bad}>{_with_code(one)}</li>"


def _with_code(text: str) -> str:
    """A text in which what stands between backticks is code."""
    return re.sub("`([^`]+)`", r"<code>\1</code>", escape(text))


def _at(point: Point) -> str:
    return shown(point.sizes) or "the given arrays"


def _code(found: Measured) -> str:
    left = f"<h3>Dynamic: the function</h3>{html.code(found.text)}"
    left += f"<h3>Static: how it is captured</h3>{html.code(found.static)}"
    if found.graph:
        left += html.details("the nodes that were captured", html.code(found.graph))
    kernel = f"<h3>Static: the kernel</h3>{html.code(found.kernel)}" if found.kernel else ""
    return html.side_by_side(left, kernel)


def _inputs(point: Point) -> str:
    rows = [one.cells() for one in point.inputs]
    return f"<h3>{escape(_at(point))}</h3>" + html.table(HEADS, rows)


def _contenders(points: Sequence[Point]) -> list[str]:
    return list(dict.fromkeys(one.contender for x in points for one in x.entries if one.best))


def _swept(points: Sequence[Point]) -> str | None:
    """The name of the size that changes."""
    names = points[0].sizes if points else {}
    return next((name for name in names if len({x.sizes[name] for x in points}) > 1), None)


def _times(found: Measured) -> str:
    """Time against size as a chart, if there are sizes, and as a table."""
    kinds, points = _contenders(found.points), found.points
    rows = [
        [
            _at(point),
            *(duration(one.median if (one := point.entry(kind)) else None) for kind in kinds),
            duration(point.limit),
            point.bound_by or "-",
            numbers.calls(eager.ahead if (eager := point.entry("eager")) else None),
        ]
        for point in points
    ]
    table = html.table(["", *kinds, "limit", "by", "pays after"], rows)
    name = _swept(points)
    if name is None:
        return table
    series = [
        Line(
            kind,
            tuple(
                (point.sizes[name], one.median)
                for point in points
                if (one := point.entry(kind)) and one.median is not None
            ),
        )
        for kind in kinds
    ]
    limits = tuple((point.sizes[name], point.limit) for point in points if point.limit)
    series.append(Line("limit", limits, dashed=True))
    size = Axis(name, lambda value: f"{value:,.0f}")
    return html.side_by_side(lines(series, size, TIME), _break_even(points, name)) + table


def _break_even(points: Sequence[Point], name: str) -> str:
    """The number of calls after which compiled has paid, against size."""
    series = []
    for kind in _contenders(points):
        if kind in (COMPILED, "sg.function"):
            continue
        for label, warm in ((kind, False), (f"{kind}, cached", True)):
            found = [
                (float(point.sizes[name]), float(ahead.first))
                for point in points
                if (one := point.entry(kind))
                and (ahead := one.ahead_warm if warm else one.ahead)
                and ahead.first
            ]
            if not found or (warm and kind != "eager"):
                continue
            series.append(Line(label, tuple(found), dashed=warm))
    if not series:
        return ""
    return lines(
        series,
        Axis(name, lambda value: f"{value:,.0f}"),
        Axis("calls until compiled has paid against", lambda value: f"{value:,.0f}"),
    )


def _totals(found: Measured, point: Point) -> str:
    """Total time against calls at one size, with the crossing of eager and compiled."""
    ours, eager = point.entry(COMPILED), point.entry("eager")
    if ours is None or eager is None or found.compile_cold is None:
        return ""
    crossing = eager.ahead.first if eager.ahead else None
    most = max(1000.0, 30.0 * (crossing or 1))
    series = [_total(COMPILED, found.compile_cold, ours, most)]
    if found.compile_warm is not None:
        series.append(_total("compiled, cached", found.compile_warm, ours, most, dashed=True))
    for kind in _contenders([point]):
        one = point.entry(kind)
        if kind not in (COMPILED, "sg.function") and one is not None:
            series.append(_total(kind, _once(found, point, one), one, most))
    marked = {}
    if crossing is not None and crossing > 1 and ours.median is not None:
        total = found.compile_cold + (crossing - 1) * ours.median
        marked = {f"{crossing:,} calls": (float(crossing), total)}
    calls = Axis("calls", lambda value: f"{value:,.0f}")
    total_time = Axis("seconds in all", lambda value: duration(value))
    return f"<h3>{escape(_at(point))}</h3>" + lines(series, calls, total_time, marked)


def _once(found: Measured, point: Point, one: Entry) -> float:
    """What a contender did once, for this size or one before it, whichever took longest."""
    before = found.points[: found.points.index(point) + 1]
    same = (
        other.once or 0.0
        for x in before
        for other in x.entries
        if (other.contender, other.threads) == (one.contender, one.threads)
    )
    return max(same, default=0.0)


def _total(label: str, once: float, one: Entry, most: float, dashed: bool = False) -> Line:
    assert one.median is not None
    steps = [most ** (i / CURVE) for i in range(CURVE + 1)]
    return Line(
        label, tuple((n, once + (n - 1) * one.median) for n in steps), dashed=dashed, marks=False
    )


def _where(point: Point) -> str:
    ops = sorted(point.ops, key=lambda op: -op.seconds)
    steps = sorted(point.steps, key=lambda step: -step.seconds)
    eager = [
        (f"{op.op} x {op.calls}, {op.direction}" + (f", line {op.line}" if op.line else ""),
         op.seconds)
        for op in ops
    ]  # fmt: skip
    compiled = [
        (f"{', '.join(dict.fromkeys(step.ops))}  ({', '.join(map(_place, step.lines))})",
         step.seconds)
        for step in steps
    ]  # fmt: skip
    return f"<h3>{escape(_at(point))}</h3>" + html.side_by_side(
        _shares("eager", eager), _shares(COMPILED, compiled)
    )


def _place(line: str) -> str:
    return "line " + line.rpartition(":")[2]


def _shares(kind: str, rows: Sequence[tuple[str, float]]) -> str:
    """Bars of what takes longest; the rest together."""
    whole = sum(seconds for _, seconds in rows)
    if not whole:
        return ""
    shown_rows = list(rows[:MOST_ROWS])
    if len(rows) > MOST_ROWS:
        rest = sum(seconds for _, seconds in rows[MOST_ROWS:])
        shown_rows.append((f"{len(rows) - MOST_ROWS} others", rest))
    drawn = bars(
        [(label, one, f"{duration(one)}  {share(one / whole)}") for label, one in shown_rows],
        colour_of(kind),
    )
    return f"<h3>{kind}: {duration(whole)}</h3>{drawn}"


def _memory(point: Point) -> str:
    series = [
        Line(
            one.contender,
            tuple((max(t, SHORTEST), size / 1e6) for t, size in one.resident),
            marks=False,
        )
        for one in point.entries
        if one.best and len(one.resident) > 1
    ]
    if not series:
        return ""
    chart = lines(
        series,
        Axis("time since its beginning", lambda value: duration(value)),
        Axis("growth in MB", lambda value: f"{value:,.4g}", False),
    )
    peaks = ", ".join(
        f"{one.contender} {megabytes(one.memory)}" for one in point.entries if one.best
    )
    return f"<h3>{escape(_at(point))}</h3>{chart}<p class='sub'>peaks: {escape(peaks)}</p>"


def _details(point: Point) -> str:
    rows = [text.row(one) for one in text.shown_entries(point)]
    failed = dict.fromkeys(
        f"{one.contender}: {one.failure}" for one in point.entries if one.failure
    )
    content = html.table(text.HEADS, rows, COMPILED)
    content += f"<p class='sub'>{escape(text.LEGEND)}</p>"
    content += "".join(f"<p class='bad'>{_with_code(line)}</p>" for line in failed)
    return html.details(f"{_at(point)}: {_work(point)}", content)


def _work(point: Point) -> str:
    flops = ", ".join(f"{count:,} operations in {name}" for name, count in point.flops.items())
    moved = f"{point.bytes:,} bytes moved at least"
    return ", ".join(part for part in (moved, flops) if part)


def _machine(found: Measured) -> str:
    machine = found.machine
    rows = [
        ["processor", f"{machine.processor}, {machine.cores} cores"],
        ["caches", ", ".join(f"{name} {size}" for name, size in machine.caches.items()) or "-"],
        ["memory", megabytes(machine.memory)],
        ["system", machine.system],
        ["versions", ", ".join(f"{name} {one}" for name, one in machine.versions.items())],
        ["threads set by", ", ".join(found.settings.variables)],
    ]
    for limits in found.limits:
        rates = ", ".join(
            f"{rate / 1e9:.0f} GB/s over {numbers.binary(size)}"
            for size, rate in sorted(limits.bandwidth.items())
        )
        flops = ", ".join(f"{rate / 1e9:.0f} GFLOP/s {name}" for name, rate in limits.flops.items())
        rows.append([
            f"limits, {limits.threads} thread{'s' if limits.threads > 1 else ''}",
            "; ".join(filter(None, (rates, flops, f"native call {duration(limits.call)}"))),
        ])  # fmt: skip
    lines_of = "".join(
        f"<tr><td>{escape(name)}</td><td style='text-align:left;white-space:normal'>"
        f"{escape(value)}</td></tr>"
        for name, value in rows
    )
    return f"<table>{lines_of}</table>"
