"""Times, sizes and counts as the reader wants them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from staticgraph.compare.figures import Ahead, Interval, geometric_mean
from staticgraph.compare.kinds import COMPILED, KINDS
from staticgraph.compare.records import Measurement, Outcome

PEERS = tuple(kind.name for kind in KINDS if kind.peer)


def duration(seconds: float | None) -> str:
    """A time with three digits in a unit that suits it."""
    if seconds is None:
        return "-"
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= 0.9995 * size:
            return f"{_digits(seconds / size)} {unit}"
    return f"{_digits(seconds * 1e9)} ns"


def _digits(value: float) -> str:
    if value < 9.995:
        return f"{value:.2f}"
    return f"{value:.1f}" if value < 99.95 else f"{value:,.0f}"


def interval(found: Interval) -> str:
    """Both ends of an interval, in the unit of the upper one."""
    low, high = duration(found.low), duration(found.high)
    if low.split()[1] == high.split()[1]:
        low = low.split()[0]
    return f"{low} – {high}"


def megabytes(size: int | None) -> str:
    """A size in MB."""
    return "-" if size is None else f"{size / 1e6:,.1f} MB"


def binary(size: int) -> str:
    """A size that is a multiple of a power of two."""
    return f"{size >> 20} MiB" if size >= 2**20 else f"{size >> 10} KiB"


def share(value: float | None) -> str:
    """A fraction in percent."""
    return "-" if value is None else f"{100 * value:.0f} %"


def calls(ahead: Ahead | None) -> str:
    """A break-even number of calls."""
    if ahead is None:
        return "-"
    if ahead.first is None:
        return "never"
    return f"{ahead.first:,}" if ahead.last is None else f"{ahead.first:,} to {ahead.last:,}"


def difference(one: Measurement) -> str:
    """How far the results are from those of the others, and whether that is too far."""
    if one.agrees is None:
        return "-"
    value = "" if one.difference is None else f"{one.difference:.0e}"
    return value if one.agrees else f"MISMATCH {value}".strip()


def shown(outcome: Outcome) -> list[Measurement]:
    """One measurement per contender: its better number of threads, or its failure."""
    kinds = dict.fromkeys(one.contender for one in outcome.measurements)
    chosen = []
    for kind in kinds:
        same = [one for one in outcome.measurements if one.contender == kind]
        failed = [one for one in same if one.failure]
        wrong = [one for one in same if one.agrees is False]
        best = [one for one in same if one.best]
        chosen.append((wrong or best or failed or same)[0])
    return chosen


def median_of(outcome: Outcome, contender: str) -> float | None:
    """The median of a contender's calls, with its better number of threads."""
    for one in outcome.measurements:
        if one.contender == contender and one.best and one.steady is not None:
            return one.steady.median
    return None


def minimum_of(outcome: Outcome, contender: str) -> float | None:
    """The shortest of a contender's calls, with any number of threads."""
    return min(
        (
            one.steady.minimum
            for one in outcome.measurements
            if one.contender == contender and one.steady is not None
        ),
        default=None,
    )


Time = Callable[[Outcome, str], float | None]


def against_best_peer(outcome: Outcome, time_of: Time = median_of) -> tuple[float, str] | None:
    """The ratio of our compiled time to that of the fastest peer, and which that is."""
    ours = time_of(outcome, COMPILED)
    theirs = {peer: time_of(outcome, peer) for peer in PEERS}
    known = {peer: seconds for peer, seconds in theirs.items() if seconds is not None}
    if ours is None or not known:
        return None
    best = min(known, key=lambda peer: known[peer])
    return ours / known[best], best


def ratio(outcome: Outcome, time_of: Time = median_of) -> str:
    """The ratio to the fastest peer as text, with its name."""
    found = against_best_peer(outcome, time_of)
    return "-" if found is None else f"{found[0]:.2f} ({found[1]})"


def mean_ratio(outcomes: Sequence[Outcome], time_of: Time = median_of) -> float | None:
    """The geometric mean of the ratios to the fastest peers."""
    found = [against_best_peer(outcome, time_of) for outcome in outcomes]
    ratios = [value for value, _ in filter(None, found)]
    return geometric_mean(ratios) if ratios else None


def means(outcomes: Sequence[Outcome]) -> str | None:
    """A line on the geometric means; None without peers."""
    by_median, by_minimum = mean_ratio(outcomes), mean_ratio(outcomes, minimum_of)
    if by_median is None or by_minimum is None:
        return None
    return (
        f"compiled / best peer, geometric mean: {by_median:.2f} by medians, "
        f"{by_minimum:.2f} by minima"
    )


def start_of(outcome: Outcome, contender: str) -> Measurement | None:
    """The measurement that has a contender's starts, which are measured with one thread number."""
    for one in outcome.measurements:
        if one.contender == contender and one.cold is not None:
            return one
    return None
