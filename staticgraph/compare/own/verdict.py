"""What the figures of a comparison mean: when static pays here, and when not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

from staticgraph.compare.kinds import COMPILED
from staticgraph.compare.own.records import Entry, Measured, Point
from staticgraph.compare.own.specs import shown
from staticgraph.compare.report.numbers import calls, duration, share

EVEN = 1.1
"""Below this ratio two times are called the same: runs differ by as much."""
BUSY = 2.0
"""How many times the minimum a median is when the machine was busy."""
NOTABLE = 1e-4
"""The relative difference above which it is said why it is rounding."""
DOMINANT = 0.5
"""The share from which one op is said to be where the time goes."""


def verdict(found: Measured) -> Iterator[str]:
    """The sentences, the answer first."""
    yield from _failures(found)
    pairs = [
        (point, ours, eager)
        for point in found.points
        if (ours := point.entry(COMPILED)) and (eager := point.entry("eager"))
    ]
    if pairs:
        yield from _speed(pairs)
        yield from _busy(pairs, found.points)
        yield from _paying(found, pairs)
        yield from _why(pairs)
        yield from _limit(pairs)
        yield from _decorator(pairs)
        yield from _memory(pairs)
    yield from _peers(found)
    yield from _not_finite(found.points)
    yield from _agreement(found)
    if not found.complete:
        yield "The run was interrupted: this is a part."


Item = TypeVar("Item")


def _ends(items: Sequence[Item]) -> Sequence[Item]:
    """The first and the last."""
    return items if len(items) < 2 else [items[0], items[-1]]


def _is_busy(*entries: Entry) -> bool:
    """Whether the machine did something else, so that medians say little."""
    return any(one.median and one.minimum and one.median > BUSY * one.minimum for one in entries)


def _seconds(*entries: Entry) -> list[float]:
    """The medians of contenders, or the minima of all if the machine was busy meanwhile."""
    busy = _is_busy(*entries)
    found = [one.minimum if busy else one.median for one in entries]
    assert all(seconds is not None for seconds in found)
    return [seconds for seconds in found if seconds is not None]


def _by(*entries: Entry) -> str:
    return " by the minima" if _is_busy(*entries) else ""


def _at(point: Point) -> str:
    return f"at {shown(point.sizes)}" if point.sizes else "here"


def _times(ratio: float) -> str:
    """How the first of two is against the second."""
    if ratio >= EVEN:
        return f"{ratio:.{0 if ratio >= 10 else 1}f} times as fast as eager"
    if ratio > 1 / EVEN:
        return "as fast as eager"
    return f"slower than eager, by a factor of {1 / ratio:.1f},"


def _failures(found: Measured) -> Iterator[str]:
    """Why one of ours has nothing: the first failure of each, of one reason once."""
    reasons: dict[str, list[str]] = {}
    for name in (COMPILED, "sg.function", "eager"):
        failed = [
            one.failure
            for point in found.points
            for one in point.entries
            if one.contender == name and one.failure
        ]
        if failed:
            reasons.setdefault(failed[0], []).append(name)
    for reason, names in reasons.items():
        yield f"{', '.join(names)} could not run it: {reason}"


def _speed(pairs: Sequence[tuple[Point, Entry, Entry]]) -> Iterator[str]:
    parts = []
    for point, ours, eager in _ends(pairs):
        mine, other = _seconds(ours, eager)
        parts.append(
            f"{_times(other / mine)} {_at(point)}{_by(ours, eager)} ({duration(mine)} against "
            f"{duration(other)})"
        )
    yield f"A compiled call is {', and '.join(parts)}."


def _busy(pairs: Sequence[tuple[Point, Entry, Entry]], points: Sequence[Point]) -> Iterator[str]:
    """Whether the machine did something else: where it did most."""
    shown = _ends(points)
    found = [
        (one.median / one.minimum, point)
        for point in (*shown, *(point for point, _, _ in pairs))
        for one in point.entries
        if one.best and one.median and one.minimum
    ]
    worst, point = max(found, key=lambda one: one[0], default=(0.0, pairs[0][0]))
    if worst > BUSY:
        yield (
            f"The machine did something else meanwhile: medians {_at(point)} are up to {worst:.1f} "
            "times the minima, and after how many calls compiling has paid is by the medians. "
            "Measure again when it is idle."
        )


def _paying(found: Measured, pairs: Sequence[tuple[Point, Entry, Entry]]) -> Iterator[str]:
    """After how many calls, and for whom."""
    if found.compile_cold is None:
        return
    warm = ""
    if found.compile_warm is not None:
        warm = f", {duration(found.compile_warm)} where the kernel cache has it"
    often = "for each size" if found.needs else "for all sizes"
    yield f"Compiling takes {duration(found.compile_cold)} once, {often}{warm}."
    if found.needs:
        yield f"It is compiled anew for each size, since it asks for one: {found.needs}."
    paid = [(point, eager) for point, _, eager in pairs if eager.ahead and eager.ahead.first]
    if paid:
        parts = []
        for point, eager in _ends(paid):
            cached = "" if eager.ahead_warm is None else f" (cached: {calls(eager.ahead_warm)})"
            parts.append(f"{calls(eager.ahead)} calls {_at(point)}{cached}")
        yield (
            f"It is paid back after {', and after '.join(parts)}: static pays for whoever calls "
            "the function more often than that, and eager takes less time in all for whoever does "
            "not."
        )
    never = [point for point, _, eager in pairs if eager.ahead and eager.ahead.first is None]
    if never:
        where = "; ".join(_at(point) for point in never)
        yield f"It never pays {where}: a compiled call is not faster there."


def _why(pairs: Sequence[tuple[Point, Entry, Entry]]) -> Iterator[str]:
    """What eager spends its time on at both ends."""
    first, last = pairs[0], pairs[-1]
    small, large = _seconds(first[2], last[2])
    if first is not last:
        count = sum(op.calls for op in first[0].ops)
        part = small / large
        if part > DOMINANT:
            yield (
                f"Eager takes {share(part)} of its time {_at(last[0])} already {_at(first[0])}: "
                f"what it pays for is each of its {count} ops (Python, the tape, a new array), not "
                "their arithmetic, and that is what compiling saves."
            )
        elif count:
            yield (
                f"{_at(first[0]).capitalize()} eager pays for each of {count} ops (Python, the "
                f"tape, a new array): {duration(small / count)} an op. {_at(last[0]).capitalize()} "
                f"that is {share(part)} of its time; the rest is their arithmetic."
            )
    steps = last[0].steps
    whole = sum(step.seconds for step in steps)
    longest = max(steps, key=lambda step: step.seconds, default=None)
    if longest is not None and whole and longest.seconds / whole >= DOMINANT:
        ops = ", ".join(dict.fromkeys(longest.ops))
        inside = ", ".join(dict.fromkeys(longest.inside))
        most = f", inside which {inside} takes longest" if inside else ""
        percent = share(longest.seconds / whole)
        yield f"{percent} of the compiled time {_at(last[0])} is {ops}{most}."


def _limit(pairs: Sequence[tuple[Point, Entry, Entry]]) -> Iterator[str]:
    point, ours, _ = pairs[-1]
    if ours.fraction is None or point.limit is None:
        return
    if any(one.fraction is not None and one.fraction > 1 for one in point.entries):
        yield (
            f"A call {_at(point)} was faster than the limit that could be measured: the machine "
            "did something else whenever its limits were measured. Measure again when it is idle."
        )
        return
    yield (
        f"The machine needs at least {duration(point.limit)} for it {_at(point)} (by "
        f"{point.bound_by}); compiled reaches {share(ours.fraction)} of that."
    )


def _decorator(pairs: Sequence[tuple[Point, Entry, Entry]]) -> Iterator[str]:
    point, _, eager = pairs[-1]
    function = point.entry("sg.function")
    if function is not None and function.median and eager.median:
        mine, other = _seconds(function, eager)
        yield (
            f"One decorator, `sg.function` in the eager script as it stands, makes it "
            f"{_times(other / mine)} {_at(point)}{_by(function, eager)}."
        )


def _memory(pairs: Sequence[tuple[Point, Entry, Entry]]) -> Iterator[str]:
    point, ours, eager = pairs[-1]
    if len(pairs) < 2 or ours.memory is None or eager.memory is None:
        return  # at the first size the memory of compiling is in it
    yield (
        f"Memory grew by {ours.memory / 1e6:,.1f} MB compiled and by {eager.memory / 1e6:,.1f} MB "
        f"eager {_at(point)}."
    )


def _peers(found: Measured) -> Iterator[str]:
    names = ("torch", "torch.compile", "jax")
    for point in _ends(found.points):
        ours = point.entry(COMPILED)
        peers = [one for name in names if (one := point.entry(name))]
        if ours is None or not peers:
            continue
        mine, *others = _seconds(ours, *peers)
        theirs, best = min(zip(others, peers, strict=True), key=lambda one: one[0])
        ratio = mine / theirs
        said = f"compiled takes {ratio:.2g} of its time"
        if 1 / EVEN < ratio < EVEN:
            said = "compiled takes as long"
        yield (
            f"The fastest peer {_at(point)}{_by(ours, *peers)} is {best.contender} with "
            f"{duration(theirs)}; {said}."
        )
    failed = {
        one.contender: one.failure
        for point in found.points
        for one in point.entries
        if one.contender in names and one.failure
    }
    for name, failure in failed.items():
        yield f"{name} did not run it: {failure}"


LOST = "NOT FINITE"
"""How the sentence begins that says that results are inf or nan."""


def _not_finite(points: Sequence[Point]) -> Iterator[str]:
    """At the sizes with which eager gives inf or nan: how many, and of what."""
    lost = [point for point in points if point.not_finite]
    for point in _ends(lost):
        parts = ", ".join(f"{x.count:,} of {x.size:,} in {x.result}" for x in point.not_finite)
        yield (
            f"{LOST}: {_at(point)} eager gives inf or nan: {parts}. There it is compared only that "
            "the others have inf and nan at the same places."
        )


def _agreement(found: Measured) -> Iterator[str]:
    compared = [
        one
        for point in found.points
        for one in point.entries
        if one.agrees is not None and one.contender != "eager"
    ]
    wrong = list(dict.fromkeys(one.contender for one in compared if not one.agrees))
    what = "values and gradients" if found.gradient else "values"
    if wrong:
        yield f"MISMATCH: {', '.join(wrong)} and eager differ in {what} by more than rounding."
    elif compared:
        largest = max((one.difference or 0.0 for one in compared), default=0.0)
        note = f", to {largest:.0e} of the largest element"
        if largest > NOTABLE:
            note = (
                f": they differ by up to {largest:.0e} of the largest element where eager itself "
                "is as far from its value in float64"
            )
        where = ", where these are finite" if any(x.not_finite for x in found.points) else ""
        yield f"All agree with eager in {what}{where}{note}."
