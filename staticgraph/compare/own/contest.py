"""A function, all contenders, size by size: set up, compared with eager, measured in turn."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any, Protocol, TypeAlias

import numpy as np

from staticgraph.compare.agreement import Agreement, against
from staticgraph.compare.given import Given, given
from staticgraph.compare.kinds import COMPILED, Contender, Kind, thread_variables
from staticgraph.compare.meter import Meter, Need
from staticgraph.compare.own.memory import Resident
from staticgraph.compare.own.records import NotFinite
from staticgraph.compare.own.specs import Inputs, Sizes, shown
from staticgraph.compare.own.subject import Subject
from staticgraph.compare.process import ContenderError, Process
from staticgraph.compare.records import Settings
from staticgraph.compiler.core.dtypes import is_inexact
from staticgraph.compiler.core.values import Array
from staticgraph.compiler.inspect.limits import Bound

ROOT = Path(__file__).resolve().parents[3]
HERE = Path(__file__).resolve().parent
CONTENDER, WAYS = HERE / "contender.py", HERE / "ways"
SETTLE = 0.02  # seconds in which the threads of the one before go to sleep
LIMIT_SECONDS, TURN_SECONDS = 0.03, 0.01  # of each quantity of the machine: at first, in a round
EAGER, FUNCTION, LOSS = "eager", "sg.function", "loss"

KINDS = (
    Kind(COMPILED, WAYS / "compiled.py", cache={"STATICGRAPH_CACHE_DIR": "{}"}),
    Kind(FUNCTION, WAYS / "function.py", cache={"STATICGRAPH_CACHE_DIR": "{}"}),
    Kind(EAGER, WAYS / "eager.py"),
    Kind("torch", WAYS / "torch.py", "torch", "eager"),
    Kind(
        "torch.compile", WAYS / "torch.py", "torch", "compile",
        cache={"TORCHINDUCTOR_CACHE_DIR": "{}"},
    ),
    Kind("jax", WAYS / "jax.py", "jax"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Task:
    """What is to be compared, and how.

    Attributes:
        sweep: the sizes, one after the other.
        gradient: the names of the inputs to differentiate by.
        make: the arrays for sizes.
        workload: whether it is the loss of a workload's file, which takes its framework first and
            has a version for each.
    """

    subject: Subject
    inputs: Inputs
    sweep: tuple[Sizes, ...]
    gradient: tuple[str, ...]
    make: Callable[[Mapping[str, int]], dict[str, Any]]
    settings: Settings
    workload: bool = False


class Running(Protocol):
    """A contender that has been started: `process.Process`, or one in this process."""

    report: Any

    @property
    def pid(self) -> int: ...  # noqa: D102
    def ask(self, **order: Any) -> dict[str, Any]: ...  # noqa: D102
    def close(self) -> None: ...  # noqa: D102


Start: TypeAlias = "Callable[[Contender, Mapping[str, str]], Running]"
"""What starts a contender, in an environment with these variables."""


@dataclass(slots=True)
class Taken:
    """What has been measured of one contender at one size."""

    contender: Contender
    failure: str | None = None
    once: float | None = None
    medians: list[float] = field(default_factory=list)
    minimum: float | None = None
    resident: list[tuple[float, int]] = field(default_factory=list)
    agreement: Agreement | None = None
    results: list[Any] = field(default_factory=list)


@dataclass(slots=True)
class AtSize:
    """What has been measured at one size so far."""

    sizes: Sizes
    taken: list[Taken]
    inputs: tuple[Given, ...] = ()
    looks: dict[str, Any] = field(default_factory=dict)
    exact: list[Any] | None = None
    not_finite: tuple[NotFinite, ...] = ()

    @property
    def moved(self) -> int:
        """The bytes that a call moves at least; 0 if unknown."""
        return int(self.looks.get(COMPILED, {}).get("bytes", 0))

    @property
    def flops(self) -> dict[str, int]:
        """The operations of a call at least, by dtype."""
        return dict(self.looks.get(COMPILED, {}).get("flops", {}))


class Contest:
    """The contenders on one function; what was measured outlives an interruption.

    Attributes:
        points: per size what was measured.
        cold, warm: seconds from the function to the first result of `compiled`, in processes with
            an empty cache and with what they had left there.
        versions: of the frameworks.
    """

    def __init__(
        self,
        task: Task,
        contenders: Sequence[Contender],
        folder: Path,
        meter: Meter,
        watch: Callable[[str], None],
        start: Start | None = None,
    ) -> None:
        """`watch` is told what is done next, `steps` times; `start` starts a contender."""
        self.task, self.folder, self.meter, self.watch = task, folder, meter, watch
        self.contenders = contenders
        self.points: list[AtSize] = []
        self.cold: list[float] = []
        self.warm: list[float] = []
        self.versions: dict[str, str] = {}
        self._starter = start or self._start
        self._separate = start is None
        self._running: dict[str, Running] = {}
        self._failures: dict[str, str] = {}
        self._made = 0

    @property
    def steps(self) -> int:
        """How many steps are announced."""
        count, settings = len(self.contenders), self.task.settings
        starts = settings.starts if self._separate else 0
        return starts + len(self.task.sweep) * (count * (1 + settings.rounds) + 1)

    def run(self) -> None:
        """Measure everything."""
        settings = self.task.settings
        with ExitStack() as ends:
            for i in range(settings.starts if self._separate else 0):
                self.watch(f"compiled: start {i + 1}")
                self._start_cold_and_warm()
            for sizes in self.task.sweep:
                point = AtSize(sizes, [Taken(one) for one in self.contenders])
                self.points.append(point)
                self._measure(point, ends)

    def _measure(self, point: AtSize, ends: ExitStack) -> None:
        settings = self.task.settings
        arrays = self.task.make(point.sizes)
        point.inputs = given(arrays)
        files = self._stored(arrays)
        for taken in point.taken:
            self._each(point, taken, "set up", lambda one: self._set_up(one, files, point, ends))
        self._compare(point)
        need = Need(point.moved, point.flops) if point.moved else None
        self.watch(f"{shown(point.sizes)}: the machine's limits")
        if need is not None:
            self.meter.measure(min(LIMIT_SECONDS, settings.seconds), need, new=True)
        for turn in range(settings.rounds):
            for i in range(len(point.taken)):
                taken = point.taken[(turn + i) % len(point.taken)]
                self._each(point, taken, f"round {turn + 1}", self._time)
            if need is not None:
                self.meter.follow(min(TURN_SECONDS, settings.seconds), need)
        if need is not None:
            times = [one.minimum for one in point.taken if one.minimum is not None]
            self.meter.until(lambda: min(times, default=math.inf), need)

    def least(self, point: AtSize) -> Bound | None:
        """The shortest time that the limits allow, as far as they are known."""
        return self.meter.least(Need(point.moved, point.flops)) if point.moved else None

    def _each(self, point: AtSize, taken: Taken, what: str, act: Callable[[Taken], None]) -> None:
        label = taken.contender.label
        where = shown(point.sizes)
        self.watch(f"{where + ': ' if where else ''}{label}: {what}")
        taken.failure = self._failures.get(label)
        if taken.failure is None:
            try:
                act(taken)
            except ContenderError as error:
                taken.failure = self._failures[label] = str(error)

    def _stored(self, arrays: Mapping[str, Array]) -> dict[str, str]:
        """The files of the arrays; NumPy reads them in every environment."""
        files = {}
        for name, array in arrays.items():
            path = self.folder / f"{name}.npy"
            np.save(path, array)
            files[name] = str(path)
        return files

    def _set_up(
        self, taken: Taken, files: Mapping[str, str], point: AtSize, ends: ExitStack
    ) -> None:
        kind, label = taken.contender.kind, taken.contender.label
        running = self._running.get(label)
        if running is None:
            running = self._starter(taken.contender, self._folders(taken.contender))
            ends.callback(running.close)
            self._running[label] = running
            self.versions[kind.peer or "staticgraph"] = running.report["version"]
        with Resident(running.pid) as resident:
            answer, taken.results = self._asked(running, "begin", files)
        taken.resident = resident.growth()
        taken.once = sum(answer["phases"].values())
        if kind.name not in point.looks:
            look = running.ask(do="run", step="look", arguments=[])["answer"]
            point.looks[kind.name] = look
        if kind.name == EAGER:
            point.exact = self._asked(running, "exact", files)[1] or None

    def _asked(
        self, running: Running, step: str, files: Mapping[str, str]
    ) -> tuple[dict[str, Any], list[Any]]:
        """The answer to a step, and the results that it has stored."""
        into = self._new("results")
        into.mkdir()
        answer = running.ask(do="run", step=step, arguments=[files, str(into)])["answer"]
        return answer, [np.load(into / f"{i}.npy") for i in range(answer["arrays"])]

    def _compare(self, point: AtSize) -> None:
        """With eager: what the function means."""
        eager = next((x for x in point.taken if x.contender.kind.name == EAGER), None)
        if eager is None or eager.failure is not None:
            return
        point.not_finite = not_finite(eager.results, self.task.gradient)
        for taken in point.taken:
            if taken.failure is None:
                taken.agreement = against(eager.results, taken.results, point.exact)
        for taken in point.taken:
            taken.results = []

    def _time(self, taken: Taken) -> None:
        time.sleep(SETTLE)
        running = self._running[taken.contender.label]
        answer = running.ask(do="measure", step="call", seconds=self.task.settings.seconds)
        taken.medians.append(answer["median"])
        taken.minimum = min(answer["minimum"], taken.minimum or answer["minimum"])

    def _start_cold_and_warm(self) -> None:
        contender = next((x for x in self.contenders if x.kind.name == COMPILED), None)
        if contender is None or contender.label in self._failures:
            return
        files = self._stored(self.task.make(self.task.sweep[0]))
        folders = self._folders(contender)
        try:
            for found in (self.cold, self.warm):
                process = self._starter(contender, folders)
                try:
                    answer, _ = self._asked(process, "begin", files)
                finally:
                    process.close()
                found.append(sum(answer["phases"].values()))
        except ContenderError as error:
            self._failures[contender.label] = str(error)

    def _folders(self, contender: Contender) -> dict[str, str]:
        """The variables that name a new empty cache."""
        return {
            name: value.format(self._new("cache")) for name, value in contender.kind.cache.items()
        }

    def _new(self, name: str) -> Path:
        self._made += 1
        return self.folder / f"{name}{self._made}"

    def _start(self, contender: Contender, variables: Mapping[str, str]) -> Running:
        kind = contender.kind
        task = {
            "script": str(CONTENDER),
            "arguments": [task_of(self.task, contender)],
            "path": "" if kind.peer else str(ROOT),
        }
        environment = {**thread_variables(contender.threads), **variables}
        return Process(contender.interpreter, task, environment, self._new("log"))

    def started_cold(self) -> tuple[float | None, float | None]:
        """Seconds of `compiled` from the function to its first result: cold, and warm."""
        found = self.cold
        if not found and self.points:
            once = (x.once for x in self.points[0].taken if x.contender.kind.name == COMPILED)
            found = [seconds for seconds in once if seconds is not None]
        return (median(found) if found else None), (median(self.warm) if self.warm else None)


def not_finite(results: Sequence[Array], gradient: Sequence[str]) -> tuple[NotFinite, ...]:
    """Which results have inf or nan: values, then the gradients by these inputs."""
    values = len(results) - len(gradient)
    names = [f"value {i}" for i in range(values)] if values > 1 else ["the value"]
    names += [f"the gradient by {name}" for name in gradient]
    found = []
    for name, one in zip(names, results, strict=True):
        if is_inexact(one.dtype) and (lost := one.size - int(np.count_nonzero(np.isfinite(one)))):
            found.append(NotFinite(name, lost, one.size))
    return tuple(found)


def task_of(task: Task, contender: Contender) -> dict[str, Any]:
    """What `contender.py` is told."""
    kind = contender.kind
    return {
        "way": str(kind.adapter),
        "mode": kind.mode,
        "threads": contender.threads,
        "substitute": bool(kind.peer) and not task.workload,
        "substitutes": str(WAYS / "substitutes.py"),
        "file": os.path.abspath(task.subject.file),
        "line": task.subject.line,
        "name": _version(kind) if task.workload else task.subject.name,
        "framework": task.workload,
        "names": [one.name for one in task.inputs.arrays],
        "shapes": {one.name: list(one.shape) for one in task.inputs.arrays},
        "gradient": list(task.gradient),
        "constants": dict(task.inputs.constants),
    }


def _version(kind: Kind) -> str:
    """What a workload's file calls the loss for a framework."""
    return f"{kind.peer}_{LOSS}" if kind.peer else LOSS
