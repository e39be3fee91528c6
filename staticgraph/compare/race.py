"""One workload, all contenders: started cold and warm, compared, then measured in turn."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from staticgraph.compare.agreement import Agreement, compare
from staticgraph.compare.kinds import COMPILED, Contender, thread_variables
from staticgraph.compare.process import ContenderError, Process
from staticgraph.compare.records import Settings
from staticgraph.compare.workloads import Workload, path_of

ROOT = Path(__file__).resolve().parents[2]
DATA_SEED = 0
CALLS_COMPARED = 10
NORMALISED = ("Adam", "AdamW")  # optimizers that divide each gradient by its own size
START_BUDGET = 6.0  # seconds of cold starts per contender, after which no more are made
SETTLE = 0.05  # seconds in which the threads of the one before go to sleep


@dataclass(slots=True)
class Taken:
    """What has been measured of one contender so far."""

    contender: Contender
    version: str = ""
    failure: str | None = None
    cold: list[dict[str, float]] = field(default_factory=list)
    warm: list[dict[str, float]] = field(default_factory=list)
    medians: list[float] = field(default_factory=list)
    minimum: float = float("inf")
    calls: int = 0
    memory: int | None = None
    agreement: Agreement | None = None
    steps: list[tuple[list[str], float]] = field(default_factory=list)


class Race:
    """The contenders on one workload; `taken` grows while it runs and outlives an interruption.

    `watch` is told what is done next, once per step of `steps`; `between` is called after each
    round, for what is to be measured as often as the contenders.
    """

    def __init__(
        self,
        workload: Workload,
        contenders: Iterable[Contender],
        settings: Settings,
        folder: Path,
        watch: Callable[[str], None],
        between: Callable[[], None],
    ) -> None:
        self.workload = workload
        self.settings = settings
        self.folder = folder
        self.watch = watch
        self.between = between
        self.taken = [Taken(contender) for contender in contenders]
        self._running: dict[int, Process] = {}
        self._caches: dict[str, Path] = {}
        self._files: dict[str, str] = {}
        self._made = 0

    @property
    def steps(self) -> int:
        """How many steps are announced, if none fails."""
        profiled = sum(map(_is_profiled, self.taken))
        return len(self.taken) * (self.settings.starts + 1 + self.settings.rounds) + profiled

    def run(self) -> None:
        """Measure everything."""
        arrays = self.workload.data(np.random.default_rng(DATA_SEED))
        for name, array in arrays.items():
            path = self.folder / f"{name}.npy"
            np.save(path, array)
            self._files[name] = str(path)
        try:
            for _ in range(self.settings.starts):
                self._each("start", self._start)
            self._each("set up", self._set_up)
            self._compare([arrays[name] for name in self.workload.PARAMETERS])
            for turn in range(self.settings.rounds):
                self._each(f"round {turn + 1}", self._measure, turn)
                self.between()
            self._each("profile", self._profile, of=_is_profiled)
        finally:
            for process in self._running.values():
                process.close()

    def _each(
        self,
        what: str,
        act: Callable[[Taken], None],
        first: int = 0,
        of: Callable[[Taken], bool] = lambda taken: True,
    ) -> None:
        """Do something with each contender that has not failed; each round another one begins."""
        for i in range(len(self.taken)):
            taken = self.taken[(first + i) % len(self.taken)]
            if not of(taken):
                continue
            self.watch(f"{taken.contender.label}: {what}")
            if taken.failure is None:
                try:
                    act(taken)
                except ContenderError as error:
                    taken.failure = str(error)

    def _start(self, taken: Taken) -> None:
        """A start with empty caches and, if it has a cache, another one with what is in it now."""
        kind = taken.contender.kind
        if taken.contender.threads != self.settings.threads:
            return
        if sum(phases["process"] for phases in taken.cold) > START_BUDGET:
            return
        self._empty_cache(kind.name)
        for starts in (taken.cold, taken.warm) if kind.cache else (taken.cold,):
            process = self._process(taken)
            process.close()
            starts.append({"process": process.seconds, **process.phases})

    def _set_up(self, taken: Taken) -> None:
        process = self._process(taken)
        self._running[id(taken)] = process
        taken.version = process.version
        into = self._results_of(taken)
        into.mkdir()
        answer = process.ask(do="check", calls=CALLS_COMPARED, into=str(into))
        taken.memory = answer["memory"]

    def _compare(self, parameters: Sequence[object]) -> None:
        results = {
            taken.contender.label: _stored(self._results_of(taken))
            for taken in self.taken
            if taken.memory is not None
        }
        optimizer = self.workload.OPTIMIZER
        found = compare(
            results,
            parameters if optimizer else (),
            self.workload.DTYPE,
            CALLS_COMPARED,
            normalised=optimizer is not None and optimizer["name"] in NORMALISED,
        )
        for taken in self.taken:
            taken.agreement = found.get(taken.contender.label)

    def _measure(self, taken: Taken) -> None:
        time.sleep(SETTLE)
        answer = self._running[id(taken)].ask(do="measure", seconds=self.settings.seconds)
        taken.medians.append(answer["median"])
        taken.minimum = min(taken.minimum, answer["minimum"])
        taken.calls += answer["calls"]

    def _profile(self, taken: Taken) -> None:
        taken.steps = self._running[id(taken)].ask(do="profile")["steps"]

    def _process(self, taken: Taken) -> Process:
        """A new process of a contender, with the cache that is there from the start before."""
        contender = taken.contender
        task = {
            "adapter": str(contender.kind.adapter),
            "workload": str(path_of(self.workload)),
            "peer": contender.kind.peer,
            "mode": contender.kind.mode,
            "path": "" if contender.kind.peer else str(ROOT),
            "arrays": self._files,
            "threads": contender.threads,
        }
        variables = thread_variables(contender.threads)
        for name, value in contender.kind.cache.items():
            variables[name] = value.format(self._caches[contender.kind.name])
        self._made += 1
        log = self.folder / f"log{self._made}"
        return Process(contender.interpreter, task, variables, log)

    def _empty_cache(self, kind: str) -> None:
        self._made += 1
        self._caches[kind] = self.folder / f"cache{self._made}"

    def _results_of(self, taken: Taken) -> Path:
        return self.folder / f"results of {taken.contender.label}"


def _is_profiled(taken: Taken) -> bool:
    return taken.contender.kind.name == COMPILED


def _stored(folder: Path) -> list[Any]:
    """The arrays that a contender has left, in their order."""
    return [np.load(folder / f"{i}.npy") for i in range(len(list(folder.iterdir())))]
