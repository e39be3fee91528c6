"""Work of host steps, shared among threads: Python's, as NumPy releases its lock."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextvars import copy_context

from staticgraph.compiler.core.once import Once
from staticgraph.compiler.runtime import blas, threads

POOL = "staticgraph-host"
"""What the names of the threads begin with, which are idle unless a graph runs."""


def share(task: Callable[[int], None], count: int, *, multiplies: bool = True) -> None:
    """Call a function with each number below `count`, in threads.

    If it multiplies matrices and the BLAS has threads of its own, these share the work instead.
    The calls must not depend on each other. What one raises is raised when none runs any more:
    they write to memory of the caller's.
    """
    if count == 1:
        task(0)
        return
    alone = multiplies and blas.get_threads() > 1
    helpers = 0 if alone else min(threads.of_step(), count) - 1
    numbers = iter(range(count))

    def work() -> None:
        try:
            for number in numbers:
                task(number)
        except BaseException:
            list(numbers)  # nobody begins another
            raise

    started: list[Future[None]] = []
    try:
        for _ in range(helpers):
            # a context of its own has the caller's np.errstate
            started.append(_helpers(os.getpid()).submit(copy_context().run, work))
    except RuntimeError:  # no more threads, or the process ends: those there are do it
        pass
    try:
        work()
    finally:
        _end(started)
    for one in started:
        one.result()


def _end(started: Iterable[Future[None]]) -> None:
    """Return when all have ended, interrupted or not."""
    interrupt: BaseException | None = None
    while True:
        try:
            wait(started)
            break
        except BaseException as error:
            interrupt = error
    if interrupt is not None:
        raise interrupt


@Once
def _helpers(process: int) -> ThreadPoolExecutor:
    """The threads of a process: a forked child has none of its parent's."""
    return ThreadPoolExecutor(os.cpu_count(), POOL)
