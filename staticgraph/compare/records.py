"""What a run of the comparison has found: the records that become the JSON file.

The file is the `Report` below, field by field, times in seconds and sizes in bytes; None is null.
`SCHEMA` changes when a field changes its meaning or goes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from staticgraph.compare.figures import Ahead, Interval
from staticgraph.compiler.inspect.limits import Limits

SCHEMA = "staticgraph-compare/1"

INTERRUPTED = 130
"""What a command returns that Ctrl-C ended."""


@dataclass(frozen=True, slots=True)
class Start:
    """From nothing to the first result: medians of several processes.

    Attributes:
        process: from the start of the process to its first result, imports included.
        imports: of the framework and NumPy.
        build: defining the graph, or making the tensors.
        passes: rewriting the graph and writing the kernel's source (ours alone; measured by doing
            it once more).
        compile: making a function of it, where that is a step of its own: with torch.compile and
            JAX it is a part of the first call, with PyTensor partly.
        first_call: the first call.
        once: build, passes, compile and first call together: what a result costs once the
            framework is imported.
        processes: how many were measured.
    """

    process: float
    imports: float
    build: float
    passes: float | None
    compile: float | None
    first_call: float
    once: float
    processes: int


@dataclass(frozen=True, slots=True)
class Steady:
    """Calls after the first ones, in several rounds.

    Attributes:
        median: the median of the rounds' medians.
        interval: where that median lies, from the order statistics of the rounds' medians.
        minimum: the shortest; calls below 0.1 ms are timed in batches.
        rounds: the median of each round.
        calls: how many in all.
    """

    median: float
    interval: Interval
    minimum: float
    rounds: tuple[float, ...]
    calls: int


@dataclass(frozen=True, slots=True)
class Step:
    """A step of a compiled call: the ops that it computes, and its seconds when run by itself."""

    ops: tuple[str, ...]
    seconds: float


@dataclass(frozen=True, slots=True)
class Measurement:
    """One contender on one workload.

    Attributes:
        contender: the kind: compiled, eager, torch, torch.compile, jax, pytensor.
        threads: the number that its libraries were told.
        version: of its framework.
        failure: why there is nothing more; None if all went well.
        cold: a start with empty caches.
        warm: a start in which its own cache has what it compiled; None if it has no cache.
        steady: the calls after the first ones.
        memory: by how much the resident memory grew at its peak, from before the graph was
            defined to after the calls whose results were compared, with a warm cache.
        difference: from the other contenders' results: `agreement.Agreement`.
        agrees: whether that is within the tolerance.
        fraction: the limit's time / the median.
        ahead: when `compiled`, started cold, has taken no more time in all than this contender.
        ahead_warm: the same, started from the kernel cache.
        best: whether it is the number of threads with which this kind is fastest.
        steps: where the time of a call goes; only of ours, compiled.
    """

    contender: str
    threads: int
    version: str = ""
    failure: str | None = None
    cold: Start | None = None
    warm: Start | None = None
    steady: Steady | None = None
    memory: int | None = None
    difference: float | None = None
    agrees: bool | None = None
    fraction: float | None = None
    ahead: Ahead | None = None
    ahead_warm: Ahead | None = None
    best: bool = False
    steps: tuple[Step, ...] = ()


@dataclass(frozen=True, slots=True)
class Outcome:
    """All contenders on one workload.

    Attributes:
        workload: its name.
        title: what it is.
        bytes: what a call reads and writes at least.
        flops: the floating-point operations of a call, at least.
        limit: the shortest time that the machine allows for them, by what `bound_by` says:
            "memory", "arithmetic" or "call"; None if the limits were not measured.
        tolerance: for `Measurement.agrees`.
        measurements: one per contender and number of threads.
    """

    workload: str
    title: str
    bytes: int
    flops: int
    limit: float | None
    bound_by: str | None
    tolerance: float
    measurements: tuple[Measurement, ...]


@dataclass(frozen=True, slots=True)
class Machine:
    """Where it was measured.

    Attributes:
        processor: its name.
        cores: how many this process may use.
        caches: by level and kind, the size as the system states it.
        memory: bytes; None if unknown.
        system: the operating system.
        versions: of Python and of what `staticgraph` stands on.
    """

    processor: str
    cores: int
    caches: Mapping[str, str]
    memory: int | None
    system: str
    versions: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Settings:
    """How it was measured.

    Attributes:
        threads: of ours; each peer runs with one and with so many.
        seconds: per contender and round.
        rounds: how many.
        starts: how many processes are started cold, unless they take too long.
        variables: the environment's variables that were set to the number of threads.
    """

    threads: int
    seconds: float
    rounds: int
    starts: int
    variables: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Report:
    """A run.

    Attributes:
        date: its start, ISO 8601 in UTC.
        complete: False if it was interrupted.
        limits: one per number of threads.
        outcomes: one per workload.
    """

    date: str
    complete: bool
    machine: Machine
    settings: Settings
    limits: tuple[Limits, ...]
    outcomes: tuple[Outcome, ...]
    schema: str = field(default=SCHEMA)
