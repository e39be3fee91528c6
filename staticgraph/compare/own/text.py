"""A comparison as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from staticgraph.compare.kinds import COMPILED
from staticgraph.compare.own.specs import shown
from staticgraph.compare.report import numbers
from staticgraph.compare.report.numbers import duration

if TYPE_CHECKING:
    from staticgraph.compare.own.records import Entry, Measured, Point

MOST_OPS = 6
LEGEND = (
    "ahead after: calls until compiled, compiling included, has taken less time in all than this "
    "one; when warm: the same once the kernel cache has it\nof limit: what of a call's time the "
    "machine needs at least; once: to the first result at that size, with compiling; difference: "
    "from eager,\nof the largest element, where it is finite"
)
HEADS = ("", "threads", "median", "minimum", "of limit", "once", "memory", "ahead after",
         "when warm", "difference")  # fmt: skip


def as_text(found: Measured) -> str:
    """Tables, size by size, then the verdict."""
    threads = found.settings.threads
    lines = [
        f"{found.file}:{found.function}({found.inputs})",
        f"{computed(found)}; "
        f"{threads} thread{'s' if threads > 1 else ''}, medians of {found.settings.rounds} rounds "
        f"of {found.settings.seconds:g} s, in turn; {found.machine.processor}",
    ]
    for point in found.points:
        limit = ""
        if point.limit is not None:
            limit = f"the machine needs {duration(point.limit)} (by {point.bound_by})"
        lines += ["", "  ".join(part for part in (shown(point.sizes), limit) if part)]
        lines += table(HEADS, [row(one) for one in shown_entries(point)])
    lines += [LEGEND] * bool(found.points)
    for point in found.points if len(found.points) < 2 else (found.points[0], found.points[-1]):
        lines += _where(point)
    lines += ["", *(f"- {sentence}" for sentence in found.verdict)]
    return "\n".join(lines)


def computed(found: Measured) -> str:
    """What a call computes."""
    if not found.gradient:
        return "value"
    return f"value and gradients by {', '.join(found.gradient)}"


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines with columns, the first of text, the others to the right."""
    widths = [max(len(line[i]) for line in (heads, *rows)) for i in range(len(heads))]
    return [
        "  ".join(
            cell.rjust(width) if i else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in (heads, *rows)
        if any(line)
    ]


def shown_entries(point: Point) -> list[Entry]:
    """One entry per contender that has times: its better number of threads."""
    return [one for one in point.entries if one.best]


def row(one: Entry) -> list[str]:
    """The cells of a contender."""
    ours = one.contender == COMPILED
    difference = "-"
    if one.agrees is not None:
        value = "" if one.difference is None else f"{one.difference:.0e}"
        difference = value if one.agrees else f"MISMATCH {value}".strip()
    return [
        one.contender,
        str(one.threads),
        duration(one.median),
        duration(one.minimum),
        numbers.share(one.fraction),
        duration(one.once),
        numbers.megabytes(one.memory),
        "" if ours else numbers.calls(one.ahead),
        "" if ours else numbers.calls(one.ahead_warm),
        difference,
    ]


def _where(point: Point) -> list[str]:
    """Where the time goes, in both paradigms."""
    at = f" at {shown(point.sizes)}" if point.sizes else ""
    lines = []
    ops = sorted(point.ops, key=lambda op: -op.seconds)
    whole = sum(op.seconds for op in ops) or 1.0
    if ops:
        lines += ["", f"eager{at}, by op:"]
        rows = [
            [f"  {op.op}", op.direction, f"line {op.line}" if op.line else "", f"x {op.calls}",
             duration(op.seconds), numbers.share(op.seconds / whole)]
            for op in ops[:MOST_OPS]
        ]  # fmt: skip
        lines += table([""] * 6, rows)
    steps = sorted(point.steps, key=lambda step: -step.seconds)
    whole = sum(step.seconds for step in steps) or 1.0
    if steps:
        lines += ["", f"compiled{at}, by step:"]
        rows = [
            [f"  {', '.join(dict.fromkeys(step.ops))}", duration(step.seconds),
             numbers.share(step.seconds / whole)]
            for step in steps[:MOST_OPS]
        ]  # fmt: skip
        lines += table([""] * 3, rows)
    return lines
