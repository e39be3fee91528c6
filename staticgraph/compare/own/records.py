"""What was found of a function: the records that become the JSON file and the report.

The file is `Measured`, field by field, times in seconds and sizes in bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from staticgraph.compare.figures import Ahead
from staticgraph.compare.given import Given
from staticgraph.compare.records import Machine, Settings
from staticgraph.compiler.inspect.limits import Limits

SCHEMA = "staticgraph-compare-function/1"


@dataclass(frozen=True, slots=True)
class OpTime:
    """Where eager time goes: an op, in calls of a line.

    Attributes:
        op: as the node of the tape is called.
        direction: forward or backward.
        line: of the user's file; "" if unknown.
        calls: in one call of the function.
        seconds: of all these, with what was done since the op before.
    """

    op: str
    direction: str
    line: str
    calls: int
    seconds: float


@dataclass(frozen=True, slots=True)
class StepTime:
    """A step of the compiled call: its ops, their lines, its seconds when run by itself.

    `inside`: of a loop or a branch the ops of the longest step in it, forward or reverse.
    """

    ops: tuple[str, ...]
    lines: tuple[str, ...]
    seconds: float
    inside: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Entry:
    """One contender at one size.

    Attributes:
        contender: compiled, sg.function, eager, torch, torch.compile or jax.
        threads: the number that its libraries were told.
        failure: why there is nothing more; None if all went well.
        once: seconds of what is done once: capturing, compiling, the first call. A contender that
            serves this size with what it compiled for another one has less here than at the first.
        median: of the rounds' medians.
        minimum: the shortest call.
        rounds: the median of each round.
        memory: by how much the resident memory grew at its peak while it was set up and called.
        resident: the same in time: seconds since the beginning, and bytes.
        difference: the largest, of values and gradients, from those of eager, relative to the
            largest element of each; None where shapes differ or only one is finite.
        agrees: whether that is within the tolerance of the dtype.
        fraction: the limit's time / the median.
        ahead: when `compiled`, which had to compile for the first size, has taken no more time in
            all than this contender.
        ahead_warm: the same, started from the kernel cache.
        best: whether it is the number of threads with which this kind is fastest.
    """

    contender: str
    threads: int
    failure: str | None = None
    once: float | None = None
    median: float | None = None
    minimum: float | None = None
    rounds: tuple[float, ...] = ()
    memory: int | None = None
    resident: tuple[tuple[float, int], ...] = ()
    difference: float | None = None
    agrees: bool | None = None
    fraction: float | None = None
    ahead: Ahead | None = None
    ahead_warm: Ahead | None = None
    best: bool = False


@dataclass(frozen=True, slots=True)
class NotFinite:
    """How many elements of one of eager's results are inf or nan.

    Attributes:
        result: `the value`, or `the gradient by x`.
        count: of so many elements, `size`.
    """

    result: str
    count: int
    size: int


@dataclass(frozen=True, slots=True)
class Point:
    """All contenders at one size.

    Attributes:
        sizes: by name.
        inputs: the arrays that all were given.
        bytes, flops: what a call moves and computes at least; flops by dtype.
        limit: the shortest time that the machine allows for them, by what `bound_by` says.
        entries: one per contender and number of threads.
        ops: where eager time goes.
        steps: where compiled time goes.
        not_finite: the results that have inf or nan, eagerly.
    """

    sizes: Mapping[str, int]
    inputs: tuple[Given, ...] = ()
    bytes: int = 0
    flops: Mapping[str, int] = field(default_factory=dict)
    limit: float | None = None
    bound_by: str | None = None
    entries: tuple[Entry, ...] = ()
    ops: tuple[OpTime, ...] = ()
    steps: tuple[StepTime, ...] = ()
    not_finite: tuple[NotFinite, ...] = ()

    def entry(self, contender: str) -> Entry | None:
        """The measurement of a contender, with its better number of threads."""
        return next((x for x in self.entries if x.contender == contender and x.best), None)


@dataclass(frozen=True, slots=True)
class Measured:
    """What was measured of a function in both paradigms, and of peers.

    Attributes:
        function: its name.
        file: where it is.
        line: of its text.
        text: its text.
        inputs: what they are, as `--inputs` takes it.
        gradient: the inputs that are differentiated by; values alone if empty.
        date: of the start, ISO 8601 in UTC.
        complete: False if it was interrupted.
        compile_cold: seconds from the function to the first result, compiled with an empty cache;
            None if that failed.
        compile_warm: the same from the kernel cache.
        points: one per size.
        static: how it was captured, as Python.
        graph: the graph, a node a line.
        kernel: what was compiled, as Python.
        traces: how many graphs the sizes needed.
        needs: why the function has to know its sizes, and where; empty if it need not.
        versions: of the frameworks.
        verdict: what the figures mean.
    """

    function: str
    file: str
    line: int
    text: str
    inputs: str
    gradient: tuple[str, ...]
    date: str
    complete: bool
    machine: Machine
    settings: Settings
    limits: tuple[Limits, ...]
    compile_cold: float | None
    compile_warm: float | None
    points: tuple[Point, ...]
    static: str
    graph: str = ""
    kernel: str = ""
    traces: int = 0
    needs: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)
    verdict: tuple[str, ...] = ()
    schema: str = SCHEMA
