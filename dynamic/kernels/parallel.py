"""Threads that share the steps of optimizers: NumPy lets go of the GIL while it computes.

All else that is large is computed by compiled kernels, whose threads run no Python.

Which thread computes a block is left to chance; what is computed is not, so results do not depend
on the number of threads. The threads are started when first needed, and anew in a forked child.
"""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable
from itertools import count
from queue import SimpleQueue

from staticgraph.compiler.core import fork
from staticgraph.compiler.runtime import threads as kernels

Task = Callable[[int], None]


class _Job:
    """Blocks that are handed out one by one to whichever thread asks next."""

    def __init__(self, task: Task, blocks: int) -> None:
        self.task = task
        self.blocks = blocks
        self.next = count().__next__
        self.finished: SimpleQueue[int] = SimpleQueue()
        self.error: BaseException | None = None

    def work(self) -> int:
        """Compute blocks until none is left; how many they were."""
        done = 0
        while (block := self.next()) < self.blocks:
            done += 1
            if self.error is None:
                try:
                    self.task(block)
                except BaseException as error:  # raised again in the thread that waits
                    self.error = error
        return done

    def help(self) -> None:
        """Compute blocks in a thread that does not wait for the others."""
        if done := self.work():
            self.finished.put(done)


class _Pool:
    """Threads that wait for jobs."""

    def __init__(self) -> None:
        self.jobs: SimpleQueue[tuple[contextvars.Context, _Job]] = SimpleQueue()
        self.started = 0
        self.lock = threading.Lock()

    def start(self, threads: int) -> None:
        """See to it that as many threads wait for jobs."""
        with self.lock:
            while self.started < threads:
                self.started += 1
                threading.Thread(
                    target=_serve, args=(self.jobs,), name="dynamic", daemon=True
                ).start()

    def forget(self) -> None:
        """Start anew: a forked child has none of the threads, and locks that nobody opens."""
        self.jobs, self.started, self.lock = SimpleQueue(), 0, threading.Lock()


def _serve(jobs: SimpleQueue[tuple[contextvars.Context, _Job]]) -> None:
    while True:
        context, job = jobs.get()
        context.run(job.help)
        del context, job  # else the arrays of the job live until the next one


_pool = _Pool()
fork.after_in_child(_pool.forget)


def run(task: Task, blocks: int) -> None:
    """`task(i)` for each i < blocks, on several threads, in any order; the first error is raised.

    Each thread runs in a copy of the caller's context, in which NumPy keeps its `errstate`.
    """
    job = _Job(task, blocks)
    helpers = min(kernels.get_num_threads(), blocks) - 1
    if helpers > 0:
        _pool.start(helpers)
        for _ in range(helpers):
            _pool.jobs.put((contextvars.copy_context(), job))
    done = job.work()
    while done < blocks:
        done += job.finished.get()
    if job.error is not None:
        raise job.error
