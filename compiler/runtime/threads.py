"""The threads that share loops: how many, their memory, what happens at a fork.

`compiler.llvm.pool` is what they run. Results never depend on their number. A forked child has none
and works alone until it compiles, or calls with new sizes, which starts them again.
"""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

import numpy as np

from staticgraph.compiler.core import fork
from staticgraph.compiler.core.errors import OptionError
from staticgraph.compiler.core.once import Once
from staticgraph.compiler.core.settings import NUM_THREADS
from staticgraph.compiler.llvm import pool
from staticgraph.compiler.runtime.borrowing import borrow_threads

_FUNCTIONS = {
    pool.LOCK: "pthread_mutex_lock",
    pool.UNLOCK: "pthread_mutex_unlock",
    pool.WAIT: "pthread_cond_wait",
    pool.BROADCAST: "pthread_cond_broadcast",
    pool.YIELD: "sched_yield",
}
_limit: ContextVar[int | None] = ContextVar("limit", default=None)
_starting = threading.RLock()  # one at a time
fork.hold(fork.Rank.THREADS, _starting)


def get_num_threads() -> int:
    """How many threads share large loops, the caller's included.

    Example:
        >>> sg.set_num_threads(1)
        >>> sg.get_num_threads()
        1
    """
    words = _pool()
    return int(words[pool.LIMIT]) if words is not None else 1


def limit() -> int | None:
    """How many threads the call that runs a host step may use, None for as many as are set."""
    return _limit.get()


def limit_step(step: Callable[[], None], count: int) -> Callable[[], None]:
    """A host step whose work at most so many threads share."""

    def limited() -> None:
        token = _limit.set(count)
        try:
            step()
        finally:
            _limit.reset(token)

    return limited


def of_step() -> int:
    """How many threads share the work of the host step that runs."""
    return _limit.get() or get_num_threads()


def set_num_threads(count: int) -> None:
    """Let `count` threads share large loops, and the BLAS use as many, in this process.

    The default is STATICGRAPH_NUM_THREADS, or else OMP_NUM_THREADS, or else the number of
    processors that the process may use. Results are bitwise the same for any number.
    `dynamic.set_num_threads` sets the threads alone, and leaves the BLAS as it is.

    Raises:
        OptionError: `count` is no int from 1.

    Example:
        >>> sg.set_num_threads(2)
        >>> sg.get_num_threads()
        2
    """
    from staticgraph.compiler.runtime import blas

    check_count("set_num_threads", count)
    blas.set_threads(count)
    share_among(count)


def share_among(count: int) -> None:
    """Let `count` threads share large loops, whatever the BLAS uses."""
    words = _pool()
    if words is not None:
        words[pool.LIMIT] = count
        if words[pool.WANTED]:
            start()


def check_count(name: str, count: object) -> None:
    """OptionError unless `count` is an int from 1."""
    if isinstance(count, bool) or not isinstance(count, int) or count < 1:
        raise OptionError(f"{name}: the number of threads is an int from 1, not {count!r}")


def pool_address() -> int:
    """The address of the pool; 0 where there are no POSIX threads, and all work is done alone."""
    words = _pool()
    return 0 if words is None else int(words.ctypes.data)


def start(count: int | None = None) -> None:
    """Have enough threads wait for work for `count` to share it, or as many as are set.

    Where the system starts no more, those that there are share it.
    """
    words = _pool()
    if words is None:
        return
    with _starting:
        words[pool.WANTED] = 1
        for number in range(words[pool.WORKERS] + 1, count or words[pool.LIMIT]):
            name = f"staticgraph-{number}"
            arguments = (words.ctypes.data, number)
            thread = threading.Thread(target=_work(), args=arguments, name=name, daemon=True)
            try:
                thread.start()
            except RuntimeError:
                return
            words[pool.WORKERS] = number
        if words[pool.WORKERS]:
            from staticgraph.compiler.runtime.cache.common import borrowed_address

            borrow_threads(words, borrowed_address())


def share_products(control: tuple[int, int]) -> None:
    """Let kernels have the BLAS to themselves: the addresses of its functions that set and get how
    many threads it uses, 0 where it has none.
    """
    words = _pool()
    if words is not None and all(control):
        words[pool.BLAS_SET], words[pool.BLAS_GET] = control


def hold_products() -> bool:
    """Whether kernels themselves see to it that the BLAS uses one thread while they run."""
    words = _pool()
    return words is not None and bool(words[pool.BLAS_SET])


@Once
def _pool() -> Any:
    """The words of the pool, in cache lines of their own; None without POSIX threads."""
    library = ctypes.CDLL(None) if os.name == "posix" else None
    if library is None or not all(hasattr(library, name) for name in _FUNCTIONS.values()):
        return None
    memory = np.zeros(pool.LENGTH + 8, np.int64)
    skipped = -memory.ctypes.data % 64 // 8
    words = memory[skipped : skipped + pool.LENGTH]
    for place, name in _FUNCTIONS.items():
        words[place] = ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0
    _make_locks(words)
    words[pool.LIMIT] = default_count()
    fork.after_in_child(_forget_threads)
    return words


def _make_locks(words: Any) -> None:
    library = ctypes.CDLL(None)
    for place, name in (
        (pool.MUTEX, "pthread_mutex_init"),
        (pool.CONDITION, "pthread_cond_init"),
    ):
        words[place : place + 16] = 0
        getattr(library, name)(ctypes.c_void_p(words[place:].ctypes.data), None)


def _forget_threads() -> None:
    """In a forked child: the threads are not there, and their locks may be held by them."""
    words = _pool()
    if words[pool.BLAS_USERS]:
        from staticgraph.compiler.runtime import blas

        blas.set_threads(int(words[pool.BLAS_THREADS]))
    for place in (pool.WORKERS, pool.SLEEPERS, pool.BUSY, pool.BLAS_USERS, pool.BORROW):
        words[place] = 0
    _make_locks(words)


def default_count() -> int:
    """How many threads share large work, in both engines, until somebody sets another number.

    STATICGRAPH_NUM_THREADS, or else OMP_NUM_THREADS (the first of a list; what is no number from 1
    is left to others to refuse), or else the number of processors that the process may use.

    Raises:
        OptionError: STATICGRAPH_NUM_THREADS is no number from 1.
    """
    given = (NUM_THREADS.given or "").strip()
    if given:
        if not (given.isascii() and given.isdecimal() and int(given) > 0):
            raise OptionError(
                f"{NUM_THREADS.name}: the number of threads is an int from 1, not {given!r}"
            )
        return int(given)
    shared = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    if shared.isascii() and shared.isdecimal() and int(shared) > 0:
        return int(shared)
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


@Once
def _work() -> Any:
    from staticgraph.compiler.runtime.cache.common import work_address

    return ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64)(work_address())
