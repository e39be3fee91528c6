"""From what was measured to what is reported: the record of a comparison."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from statistics import median
from typing import Any

from staticgraph.compare.figures import Ahead, break_even
from staticgraph.compare.kinds import COMPILED
from staticgraph.compare.machine import this_machine
from staticgraph.compare.own.comparison import Comparison
from staticgraph.compare.own.contest import EAGER, AtSize, Contest, Taken, Task
from staticgraph.compare.own.records import Entry, OpTime, Point, StepTime
from staticgraph.compare.own.specs import as_text
from staticgraph.compare.own.verdict import verdict


def comparison(task: Task, contest: Contest, missing: Sequence[Entry], date: str) -> Comparison:
    """The record; `missing` are the entries of those that could not be tried.

    A contest that was interrupted has rounds that are missing; `complete` is False then.
    """
    cold, warm = contest.started_cold()
    points = [_point(contest, at, missing, cold, warm) for at in contest.points]
    looks = [at.looks.get(COMPILED, {}) for at in contest.points]
    last: dict[str, Any] = next((look for look in reversed(looks) if look), {})
    made = Comparison(
        function=task.subject.name,
        file=task.subject.file.name,
        line=task.subject.line,
        text=task.subject.source,
        inputs=as_text(task.inputs),
        gradient=task.gradient,
        date=date,
        complete=_complete(task, contest),
        machine=this_machine(),
        settings=task.settings,
        limits=tuple(contest.meter.limits()),
        compile_cold=cold,
        compile_warm=warm,
        points=tuple(points),
        static=static_form(task, not last.get("needs")),
        graph=last.get("graph", ""),
        kernel=last.get("source", ""),
        traces=last.get("traces", 0),
        needs=last.get("needs", ""),
        versions=contest.versions,
    )
    return replace(made, verdict=tuple(verdict(made)))


def static_form(task: Task, shapes_unknown: bool = True) -> str:
    """How the function is captured, as a user would write it."""
    subject, arrays = task.subject, task.inputs.arrays
    places = tuple(i for i, one in enumerate(arrays) if one.name in task.gradient)
    inner = subject.name
    if places:
        inner = f"sg.value_and_grad({subject.name}, argnums={places})"
    shapes = ",\n".join(f'    "{one.name}": {one.shape!r}' for one in arrays)
    declared = f", shapes={{\n{shapes},\n}}" if shapes_unknown else ""
    often = "once" if shapes_unknown else "once for each size"
    names = ", ".join(one.name for one in arrays)
    result = "value, gradients" if places else "value"
    return (
        f"import staticgraph as sg\nfrom {subject.file.stem} import {subject.name}\n\n"
        f"fast = sg.function({inner}{declared})\n"
        f"{result} = fast({names})   # captured and compiled {often}, then only run\n"
    )


def _complete(task: Task, contest: Contest) -> bool:
    if len(contest.points) < len(task.sweep):
        return False
    return all(
        one.failure is not None or len(one.medians) == task.settings.rounds
        for at in contest.points
        for one in at.taken
    )


def _point(
    contest: Contest,
    at: AtSize,
    missing: Sequence[Entry],
    cold: float | None,
    warm: float | None,
) -> Point:
    least = contest.least(at)
    entries = [_entry(one, None if least is None else least.seconds) for one in at.taken]
    entries = [replace(one, best=_is_best(one, entries)) for one in entries]
    ours = next((one for one in entries if one.contender == COMPILED), None)
    if ours is not None:
        earlier = contest.points[: contest.points.index(at) + 1]
        entries = [
            one
            if one is ours
            else replace(
                one,
                ahead=_ahead(cold, ours, one, earlier),
                ahead_warm=_ahead(warm, ours, one, earlier),
            )
            for one in entries
        ]
    return Point(
        sizes=at.sizes,
        inputs=at.inputs,
        bytes=at.moved,
        flops=at.flops,
        limit=None if least is None else least.seconds,
        bound_by=None if least is None else least.by,
        entries=(*entries, *missing),
        ops=tuple(OpTime(*found) for found in at.looks.get(EAGER, {}).get("ops", ())),
        steps=tuple(
            StepTime(tuple(ops), tuple(lines), seconds, tuple(inside))
            for ops, lines, seconds, inside in at.looks.get(COMPILED, {}).get("steps", ())
        ),
        not_finite=at.not_finite,
    )


def _entry(taken: Taken, least: float | None) -> Entry:
    middle = median(taken.medians) if taken.medians else None
    return Entry(
        contender=taken.contender.kind.name,
        threads=taken.contender.threads,
        failure=taken.failure,
        once=taken.once,
        median=middle,
        minimum=taken.minimum,
        rounds=tuple(taken.medians),
        memory=max((size for _, size in taken.resident), default=None),
        resident=tuple(taken.resident),
        difference=None if taken.agreement is None else taken.agreement.difference,
        agrees=None if taken.agreement is None else taken.agreement.agrees,
        fraction=least / middle if least and middle else None,
    )


def _is_best(one: Entry, entries: Sequence[Entry]) -> bool:
    if one.median is None:
        return False
    same = [x.median for x in entries if x.contender == one.contender and x.median is not None]
    return one.median == min(same)


def _ahead(
    once: float | None, ours: Entry, other: Entry, earlier: Sequence[AtSize]
) -> Ahead | None:
    """What is done once is, of the other, the most that it has taken for a size so far."""
    if once is None or ours.median is None or other.median is None:
        return None
    others = [
        one.once or 0.0
        for at in earlier
        for one in at.taken
        if (one.contender.kind.name, one.contender.threads) == (other.contender, other.threads)
    ]
    return break_even(once, ours.median, max(others, default=0.0), other.median)
