"""Threads that share the blocks of one computation: NumPy lets go of the GIL while it computes.

Which thread computes a block is left to chance; what is computed is not, so results do not depend
on the number of threads. The threads are started when first needed, and anew in a forked child.
"""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable
from itertools import count
from queue import SimpleQueue

from compiler.core import fork
from compiler.core.errors import OptionError
from compiler.runtime import threads as kernels

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
        self.threads = kernels.default_count()
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


def get_num_threads() -> int:
    """The number of threads that a large computation is shared among."""
    return _pool.threads


def set_num_threads(threads: int) -> None:
    """Share large computations among this many threads; 1 switches sharing off.

    The default is STATICGRAPH_NUM_THREADS, or else OMP_NUM_THREADS, or else the number of
    processors that the process may use.

    Raises:
        TypeError: it is no int.
        OptionError: it is less than 1.
    """
    if isinstance(threads, bool) or not hasattr(threads, "__index__"):
        raise TypeError(f"set_num_threads expects an int, but got {type(threads).__name__}")
    count = threads.__index__()
    if count < 1:
        raise OptionError(f"set_num_threads expects a positive integer, got {count}")
    _pool.threads = count
    kernels.share_among(count)


def run(task: Task, blocks: int) -> None:
    """`task(i)` for each i < blocks, on several threads, in any order; the first error is raised.

    Each thread runs in a copy of the caller's context, in which NumPy keeps its `errstate`.
    """
    job = _Job(task, blocks)
    helpers = min(_pool.threads, blocks) - 1
    if helpers > 0:
        _pool.start(helpers)
        for _ in range(helpers):
            _pool.jobs.put((contextvars.copy_context(), job))
    done = job.work()
    while done < blocks:
        done += job.finished.get()
    if job.error is not None:
        raise job.error
