"""From what was measured to what is reported: medians, limits, break-even, the better threads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import median

from staticgraph.compare.agreement import TOLERANCE
from staticgraph.compare.figures import Ahead, break_even, median_interval
from staticgraph.compare.kinds import COMPILED
from staticgraph.compare.race import Taken
from staticgraph.compare.records import Measurement, Outcome, Start, Steady, Step
from staticgraph.compare.workloads import Workload
from staticgraph.compiler.inspect.limits import Bound, Limits, bound


def outcome(
    name: str,
    workload: Workload,
    taken: Sequence[Taken],
    missing: Mapping[str, str],
    limits: Limits | None,
) -> Outcome:
    """The record of one workload.

    Args:
        missing: the reason by kind of those that could not be tried.
        limits: the best over the numbers of threads.
    """
    least = (
        None if limits is None else bound(limits, workload.BYTES, workload.FLOPS, workload.DTYPE)
    )
    measured = [_measurement(one, least) for one in taken]
    measured = [replace(one, best=_is_best(one, measured)) for one in measured]
    ours = next((one for one in measured if one.contender == COMPILED), None)
    if ours is not None:
        measured = [_compared(ours, one, measured) for one in measured]
    measured += [Measurement(kind, 0, failure=reason) for kind, reason in missing.items()]
    return Outcome(
        workload=name,
        title=workload.TITLE,
        bytes=workload.BYTES,
        flops=workload.FLOPS,
        limit=None if least is None else least.seconds,
        bound_by=None if least is None else least.by,
        tolerance=TOLERANCE[workload.DTYPE],
        measurements=tuple(measured),
    )


def _measurement(taken: Taken, least: Bound | None) -> Measurement:
    steady = None
    if taken.medians:
        steady = Steady(
            median=median(taken.medians),
            interval=median_interval(taken.medians),
            minimum=taken.minimum,
            rounds=tuple(taken.medians),
            calls=taken.calls,
        )
    return Measurement(
        contender=taken.contender.kind.name,
        threads=taken.contender.threads,
        version=taken.version,
        failure=taken.failure,
        cold=start(taken.cold),
        warm=start(taken.warm),
        steady=steady,
        memory=taken.memory,
        difference=None if taken.agreement is None else taken.agreement.difference,
        agrees=None if taken.agreement is None else taken.agreement.agrees,
        fraction=least.seconds / steady.median if least and steady else None,
        steps=tuple(Step(tuple(ops), seconds) for ops, seconds in taken.steps),
    )


def start(processes: Sequence[Mapping[str, float]]) -> Start | None:
    """The medians of several starts, or None of none."""
    if not processes:
        return None

    def middle(phase: str) -> float | None:
        values = [phases[phase] for phases in processes if phase in phases]
        return median(values) if values else None

    def known(phase: str) -> float:
        return middle(phase) or 0.0

    once = ("build", "passes", "compile", "first_call")
    return Start(
        process=known("process"),
        imports=known("import"),
        build=known("build"),
        passes=middle("passes"),
        compile=middle("compile"),
        first_call=known("first_call"),
        once=median([sum(phases.get(phase, 0.0) for phase in once) for phases in processes]),
        processes=len(processes),
    )


def _is_best(one: Measurement, measured: Sequence[Measurement]) -> bool:
    """Whether no other number of threads of the same kind is faster."""
    if one.steady is None:
        return False
    same = [other for other in measured if other.contender == one.contender and other.steady]
    return one is min(same, key=lambda other: other.steady.median)  # type: ignore[union-attr]


def _compared(ours: Measurement, one: Measurement, measured: Sequence[Measurement]) -> Measurement:
    if one is ours:
        return one
    started = next((other for other in measured if _started(other, one)), one)
    return replace(
        one,
        ahead=_ahead(ours.cold, ours, started.cold, one),
        ahead_warm=_ahead(ours.warm, ours, started.warm or started.cold, one),
    )


def _started(other: Measurement, one: Measurement) -> bool:
    """Starts are measured with one number of threads of each kind."""
    return other.contender == one.contender and other.cold is not None


def _ahead(
    cold: Start | None, ours: Measurement, other_cold: Start | None, other: Measurement
) -> Ahead | None:
    if cold is None or other_cold is None or ours.steady is None or other.steady is None:
        return None
    return break_even(cold.once, ours.steady.median, other_cold.once, other.steady.median)
