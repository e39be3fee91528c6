"""The results page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from staticgraph.compare.kinds import COMPILED
from staticgraph.compare.records import Outcome, Report
from staticgraph.compare.report import numbers
from staticgraph.compare.report.numbers import duration

INTRODUCTION = """\
# Measured results

Made by one command, which anyone can run again:

    staticgraph peers install
    staticgraph compare --json docs/results.json --markdown docs/results.md --plot docs/results.svg

Every contender runs in a process of its own; on each workload they are measured in turn, so that
noise hits all. Ours have {threads}; each peer runs with one and with {threads}, and its better
median is given (in brackets the threads). Medians are those of {rounds} rounds of {seconds} s;
[results.json](results.json) has their intervals and everything else, field by field as
[records.py](../staticgraph/compare/records.py) says.
"""
LIMIT = """\
The limit is the time that the machine needs at least: bytes / bandwidth, operations / peak, or one
native call, whichever is longest. It counts what a workload must move and compute at least;
elementary functions count 16 operations. Where several of them add up, 100 % is out of reach.
Minima are given beside medians because two threads suffer most from whatever else runs.
"""
MOST_STEPS = 5
STEPS = """\
Where the time of a compiled call goes: the steps that take longest, each measured by itself, and
those of the same ops together. "matmul" and "gemm" are [products](products.md) of matrices, which
pack operands that are not small; other steps are loops over everything that is named.
"""
STARTS = """\
From the start of the process to the first result, imports included; in brackets with what was
compiled before in the contender's own cache, where it has one.
"""
ONCE = """\
Where the time of the first result goes, `staticgraph` compiled with an empty cache; "import" is
`staticgraph` and NumPy, "compile" includes that of LLVM.
"""
BREAK_EVEN = """\
After how many calls `compiled`, which had to compile first, has taken no more time in all than the
other (imports left out on both sides); in brackets from the kernel cache. "1 to n": it is ahead
from the first call, as the other compiles for longer, until the other's faster calls have made up
for it.
"""
MEMORY = """\
By how much the resident memory grew at its peak, from before the graph was defined until it had run
ten times, from warm caches.
"""


def markdown(report: Report, plot: str | None) -> str:
    """The page; `plot` is the address of the picture."""
    settings = report.settings
    threads = f"{settings.threads} thread{'s' if settings.threads > 1 else ''}"
    kinds = list(dict.fromkeys(
        one.contender for outcome in report.outcomes for one in outcome.measurements
    ))  # fmt: skip
    parts = [
        INTRODUCTION.format(threads=threads, rounds=settings.rounds, seconds=settings.seconds),
        "" if report.complete else "**The run was interrupted: this is a part.**\n",
        _machine(report),
        f"![time against the limit]({plot})\n" if plot else "",
        "## Time of a call\n",
        LIMIT,
        _calls(report, kinds),
        STEPS,
        _steps(report),
        "## Process start to first result\n\n" + STARTS,
        _starts(report, kinds),
        ONCE,
        _stages(report),
        "## Break-even\n\n" + BREAK_EVEN,
        _break_even(report, [kind for kind in kinds if kind != COMPILED]),
        "## Memory\n\n" + MEMORY,
        _memory(report, kinds),
        _failures(report),
    ]
    return "\n".join(part for part in parts if part)


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [header, ["---"] + ["--:"] * (len(header) - 1), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _machine(report: Report) -> str:
    machine = report.machine
    versions = dict(machine.versions)
    for outcome in report.outcomes:
        for one in outcome.measurements:
            if one.version:
                versions[one.contender.partition(".")[0]] = one.version
    versions.pop(COMPILED, None)
    caches = ", ".join(f"{name} {size}" for name, size in machine.caches.items())
    rows = [
        ["date", report.date],
        ["processor", f"{machine.processor}, {machine.cores} cores"],
        ["caches", caches or "unknown"],
        ["memory", numbers.megabytes(machine.memory)],
        ["system", machine.system],
        ["versions", ", ".join(f"{name} {version}" for name, version in versions.items())],
        ["threads set by", ", ".join(report.settings.variables)],
    ]
    for limits in report.limits:
        rates = ", ".join(
            f"{rate / 1e9:.0f} GB/s over {numbers.binary(size)}"
            for size, rate in limits.bandwidth.items()
        )
        flops = ", ".join(f"{rate / 1e9:.0f} GFLOP/s {name}" for name, rate in limits.flops.items())
        rows.append([
            f"limits, {limits.threads} thread{'s' if limits.threads > 1 else ''}",
            f"{rates}; {flops}; native call {duration(limits.call)}",
        ])  # fmt: skip
    return _table(["", ""], rows).replace("--:", "---")


def _median(outcome: Outcome, kind: str) -> str:
    for one in outcome.measurements:
        if one.contender == kind and one.best and one.steady:
            wrong = " **wrong result**" if one.agrees is False else ""
            return f"{duration(one.steady.median)} ({one.threads}){wrong}"
    return "-"


def _calls(report: Report, kinds: Sequence[str]) -> str:
    rows = []
    for outcome in report.outcomes:
        best = [one for one in outcome.measurements if one.contender == COMPILED and one.best]
        limit = "-"
        if outcome.limit is not None:
            limit = f"{duration(outcome.limit)} ({outcome.bound_by})"
        rows.append([
            f"**{outcome.workload}**: {outcome.title}",
            *(_median(outcome, kind) for kind in kinds),
            limit,
            numbers.share(best[0].fraction) if best else "-",
            numbers.ratio(outcome),
            numbers.ratio(outcome, numbers.minimum_of),
        ])  # fmt: skip
    header = ["", *kinds, "limit", "compiled reaches", "compiled / best peer", "by minima"]
    means = numbers.means(report.outcomes)
    return _table(header, rows) + (f"\n{means}\n" if means else "")


def _steps(report: Report) -> str:
    """Per workload the steps that take longest, those of the same ops together."""
    rows = []
    for outcome in report.outcomes:
        for one in outcome.measurements:
            if one.contender != COMPILED or not one.best or not one.steps:
                continue
            whole = sum(step.seconds for step in one.steps) or 1.0
            shares: dict[str, float] = {}
            for step in one.steps:
                ops = ", ".join(dict.fromkeys(step.ops))
                shares[ops] = shares.get(ops, 0.0) + step.seconds / whole
            longest = sorted(shares.items(), key=lambda pair: -pair[1])[:MOST_STEPS]
            rows.append([
                outcome.workload,
                "; ".join(f"{numbers.share(share)} {ops}" for ops, share in longest),
            ])  # fmt: skip
    return _table(["", "steps"], rows).replace("--:", "---") if rows else ""


def _starts(report: Report, kinds: Sequence[str]) -> str:
    def cell(outcome: Outcome, kind: str) -> str:
        started = numbers.start_of(outcome, kind)
        if started is None or started.cold is None:
            return "-"
        warm = f" ({duration(started.warm.process)})" if started.warm else ""
        return duration(started.cold.process) + warm

    rows = [[outcome.workload, *(cell(outcome, kind) for kind in kinds)]
            for outcome in report.outcomes]  # fmt: skip
    return _table(["", *kinds], rows)


def _stages(report: Report) -> str:
    rows = []
    for outcome in report.outcomes:
        started = numbers.start_of(outcome, COMPILED)
        if started is not None and started.cold is not None:
            cold = started.cold
            phases = (cold.imports, cold.build, cold.passes, cold.compile, cold.first_call)
            rows.append([outcome.workload, *map(duration, phases)])
    return _table(["", "import", "build", "passes", "compile", "first call"], rows)


def _break_even(report: Report, kinds: Sequence[str]) -> str:
    def cell(outcome: Outcome, kind: str) -> str:
        for one in outcome.measurements:
            if one.contender == kind and one.best:
                return f"{numbers.calls(one.ahead)} ({numbers.calls(one.ahead_warm)})"
        return "-"

    rows = [[outcome.workload, *(cell(outcome, kind) for kind in kinds)]
            for outcome in report.outcomes]  # fmt: skip
    return _table(["", *kinds], rows)


def _memory(report: Report, kinds: Sequence[str]) -> str:
    def cell(outcome: Outcome, kind: str) -> str:
        for one in outcome.measurements:
            if one.contender == kind and one.best:
                return numbers.megabytes(one.memory)
        return "-"

    rows = [[outcome.workload, *(cell(outcome, kind) for kind in kinds)]
            for outcome in report.outcomes]  # fmt: skip
    return _table(["", *kinds], rows)


def _failures(report: Report) -> str:
    lines = [
        f"- {outcome.workload}, {one.contender}: {one.failure}\n"
        for outcome in report.outcomes
        for one in numbers.shown(outcome)
        if one.failure is not None
    ]
    return "## Not measured\n\n" + "".join(lines) if lines else ""
