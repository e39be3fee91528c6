"""A run of a campaign: workers, failures made small, progress, a summary."""

from __future__ import annotations

import shutil
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from staticgraph.fuzz.campaign import Campaign, Program, load
from staticgraph.fuzz.coverage import add
from staticgraph.fuzz.failures import Failure, kind_of, load_failure
from staticgraph.fuzz.process import Limits, Worker
from staticgraph.fuzz.progress import Progress, progress
from staticgraph.fuzz.shrink import Shrinker
from staticgraph.fuzz.state import State, open_state

FAILED, INTERRUPTED = 1, 130
SAVE_EVERY = 2.0
SHRUNK_PER_KIND = 3  # more of a kind are only counted: most are the same defect


@dataclass(frozen=True, slots=True)
class Plan:
    """What the command line asks for.

    Attributes:
        module: that of the campaign.
        jobs: how many workers.
        directory: where the state and the failures are kept.
        shrink: whether failing programs are made small.
    """

    name: str
    module: str
    seeds: range
    mode: str
    jobs: int
    limits: Limits
    directory: Path
    shrink: bool = True


@dataclass(slots=True)
class Session:
    """The workers of a run, each driven by a thread, and what they have found."""

    plan: Plan
    campaign: Campaign
    state: State
    progress: Progress
    left: Iterator[int]
    workers: Sequence[Worker]
    done: int = 0
    failed: int = 0
    stopped: bool = False
    error: BaseException | None = None
    shrunk: Counter[str] = field(default_factory=Counter)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def run(self) -> None:
        """Until every seed is done, or ctrl-C; the state is saved every few seconds."""
        threads = [threading.Thread(target=self._drive, args=[one]) for one in self.workers]
        try:
            for thread in threads:
                thread.start()
            for thread in threads:
                while thread.is_alive():
                    thread.join(SAVE_EVERY)
                    self._save()
        except KeyboardInterrupt:
            self.stopped = True
            for worker in self.workers:
                worker.kill()
        for thread in threads:
            thread.join()
        self._save()
        if self.error is not None:
            raise self.error

    def _save(self) -> None:
        with self.lock:
            self.state.save()

    def _drive(self, worker: Worker) -> None:
        try:
            while not self.stopped:
                with self.lock:
                    seed = next(self.left, None)
                if seed is None:
                    break
                self._try(worker, seed)
        except BaseException as error:
            self.error, self.stopped = error, True
        finally:
            worker.close()

    def _try(self, worker: Worker, seed: int) -> None:
        text = worker.ask({"seed": seed, "mode": self.plan.mode})
        reached = worker.reached
        if self.stopped:
            return  # what ended the worker is ctrl-C
        failure = None if text is None else self._failure(worker, seed, text)
        with self.lock:
            self.state.done.add(seed)
            add(self.state.reached, reached)
            self.done += 1
            if failure is not None and not self.stopped:
                self._record(failure)
            self.progress.show(self.done, self.failed)

    def _failure(self, worker: Worker, seed: int, text: str) -> Failure:
        """The failure of a seed, with a smaller program if few of its kind are known."""
        try:
            program = {**self.campaign.generate(seed), "mode": self.plan.mode}
        except Exception:
            return Failure(self.plan.name, seed, text, {"seed": seed, "steps": []})
        kind = kind_of(text)
        with self.lock:
            self.shrunk[kind] += 1
            wanted = self.plan.shrink and self.shrunk[kind] <= SHRUNK_PER_KIND
        if wanted:

            def ask(one: Program) -> str | None:
                return None if self.stopped else worker.ask({"program": one})

            shrinker = Shrinker(self.campaign, ask, text)
            program = shrinker.shrink(program)
            text = shrinker.text
        return Failure(self.plan.name, seed, text, program)

    def _record(self, failure: Failure) -> None:
        self.failed += 1
        alike = [key for key, one in self.state.failures.items() if one.kind == failure.kind]
        if len(alike) >= SHRUNK_PER_KIND and failure.key not in self.state.failures:
            self.state.count(alike[0], failure.seed)
            return
        if failure.key not in self.state.failures:
            self.progress.say(f"seed {failure.seed}: {failure.kind}")
        self.state.add(failure, script_of(self.campaign, failure))


def script_of(campaign: Campaign, failure: Failure) -> str:
    """The failing program as Python, under what is wrong with it."""
    said = "".join(f"# {line}\n" for line in failure.text.splitlines())
    try:
        return said + campaign.script(failure.program)
    except Exception as error:  # a program that could not even be made
        return said + f"# seed {failure.seed}: no script: {type(error).__name__}: {error}\n"


def run(plan: Plan) -> int:
    """Run a campaign, print a summary; the exit status."""
    campaign = load(plan.module)
    state = open_state(plan.directory, plan.name, plan.mode)
    left = state.left(plan.seeds)
    folder = plan.directory / "workers"
    workers = [Worker(plan.module, plan.limits, folder / str(i)) for i in range(plan.jobs)]
    shown = progress(len(left))
    session = Session(plan, campaign, state, shown, iter(left), workers)
    start = time.monotonic()
    try:
        session.run()
    finally:
        shown.close()
        shutil.rmtree(folder, ignore_errors=True)
    _summarise(session, time.monotonic() - start)
    if session.stopped:
        return INTERRUPTED
    return FAILED if state.failures else 0


def _summarise(session: Session, seconds: float) -> None:
    state = session.state
    for key, failure in state.failures.items():
        seeds = state.seeds[key]
        print(f"{'-' * 80}\n{state.directory / key}.json: {len(seeds)} seeds, {seeds[:5]} ...")
        print(script_of(session.campaign, failure))
    if session.campaign.coverage is not None:
        print(session.campaign.coverage(state.reached))
    for i, worker in enumerate(session.workers):
        used = worker.memory
        per_thousand = used.grown / max(1, used.programs) * 1000
        print(
            f"worker {i}: {used.programs} programs in {used.processes} processes, at most "
            f"{used.peak / 1e6:.0f} MB, growth {per_thousand / 1e6:.1f} MB per 1,000 programs"
        )
    print(
        f"{session.done} programs in {seconds:.0f} s, {session.done / max(seconds, 1e-9):.1f} per "
        f"second, {session.failed} failed; in all {len(state.done)} done, "
        f"{len(state.failures)} failures are kept in {state.directory}"
    )


def replay(paths: Sequence[Path], name: str, module: str, limits: Limits, folder: Path) -> int:
    """Run the programs of failures again; the exit status."""
    failures = [load_failure(path) for path in paths]
    campaign = load(module)
    worker = Worker(module, limits, folder)
    failed = 0
    try:
        for path, failure in zip(paths, failures, strict=True):
            text = worker.ask({"program": failure.program})
            failed += text is not None
            if text is None:
                print(f"{path}: nothing is wrong")
            else:
                now = Failure(name, failure.seed, text, failure.program)
                print(f"{path}:\n{script_of(campaign, now)}")
    finally:
        worker.close()
    return FAILED if failed else 0
