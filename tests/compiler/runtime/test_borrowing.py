"""Loops are shared with the BLAS's threads while they are awake, with the same bits."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.llvm import pool
from staticgraph.compiler.runtime import borrowing, threads
from staticgraph.compiler.schedule.chunks import PROCESSORS
from tests.paths import ROOT

RNG = np.random.default_rng(0)
ALWAYS = 2**62  # as if the threads had just been looked at, for ever


@pytest.fixture
def words() -> Iterator[Any]:
    """Those of the pool, of two threads, that borrows or would if it could."""
    before = threads.get_num_threads()
    threads.set_num_threads(2)
    threads.start()
    found = threads._pool()
    library = borrowing._library()
    if library is None or not borrowing._value(library, "blas_num_threads") > 1 < PROCESSORS:
        pytest.skip("NumPy's BLAS has no threads of its own here")
    assert found[pool.BORROW]
    yield found
    found[pool.CHECKED] = found[pool.AWAKE] = 0
    threads.set_num_threads(before)


def _graphs() -> tuple[Any, list[Any], Any]:
    x = sg.placeholder("x", (None, 300))
    outputs = [sg.tanh(x @ x.T), sg.softmax(x, 1), (sg.exp(x) * x).sum()]
    return sg.compile([x], outputs), outputs, RNG.normal(size=(700, 300)).astype("float32")


def test_borrowed_threads_compute_the_same_bits(words: Any) -> None:
    executable, _, array = _graphs()
    own = [value.tobytes() for value in executable(array)]
    first = int(words[pool.GENERATION])
    words[pool.CHECKED], words[pool.AWAKE] = ALWAYS, 1
    for _ in range(20):
        assert [value.tobytes() for value in executable(array)] == own
    assert words[pool.GENERATION] > first
    assert words[pool.BUSY] == 0


def test_borrowed_threads_do_part_of_the_work(words: Any) -> None:
    executable, _, array = _graphs()
    executable(array)
    clock = int(words[pool.THEIRS])
    words[pool.CHECKED], words[pool.AWAKE] = ALWAYS, 1
    time.sleep(0.3)  # they sleep, and are woken
    before = time.clock_gettime(clock)
    executable(array)
    assert time.clock_gettime(clock) > before


def test_they_are_seen_to_be_awake_after_a_product_and_not_later(words: Any) -> None:
    executable, _, array = _graphs()
    large = RNG.normal(size=(600, 600))
    words[pool.UNTIL] = words[pool.CHECKED] = 0
    for _ in range(300):  # where others run, the thread may have to wait for a processor
        large @ large
        executable(array)
        if words[pool.AWAKE]:
            break
    assert words[pool.AWAKE] == 1
    for _ in range(50):
        time.sleep(0.3)
        executable(array)
        if not words[pool.AWAKE]:
            break
    assert words[pool.AWAKE] == 0


def test_the_thread_that_is_looked_at_is_none_of_pythons(words: Any) -> None:
    number = ~(int(words[pool.THEIRS]) >> 3)
    assert number not in {thread.native_id for thread in threading.enumerate()}
    assert words[pool.LENT] > 1


def test_threads_that_have_ended_are_borrowed_no_more(words: Any) -> None:
    executable, _, array = _graphs()
    own = [value.tobytes() for value in executable(array)]
    real = int(words[pool.THEIRS])
    words[pool.THEIRS], words[pool.CHECKED], words[pool.AWAKE] = ~(1 << 22) << 3 | 6, 0, 1
    assert [value.tobytes() for value in executable(array)] == own
    assert words[pool.BORROW] == 0
    threads.start()
    assert words[pool.BORROW] != 0
    assert words[pool.THEIRS] == real


def test_threads_that_the_blas_had_before_do_not_count(words: Any) -> None:
    threads.set_num_threads(4)
    np.ones((600, 600)) @ np.ones((600, 600))
    threads.set_num_threads(2)
    words[pool.BORROW] = 0
    threads.start()
    assert words[pool.BORROW] != 0
    assert words[pool.LENT] == 2


def test_callers_take_turns_with_products_of_numpy(words: Any) -> None:
    executable, _, array = _graphs()
    own = [value.tobytes() for value in executable(array)]
    words[pool.CHECKED], words[pool.AWAKE] = ALWAYS, 1
    found = []

    def call() -> None:
        for _ in range(10):
            np.matmul(array, array.T)
            found.append([value.tobytes() for value in executable(array)])

    callers = [threading.Thread(target=call) for _ in range(3)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join(100)
    assert len(found) == 30
    assert all(one == own for one in found)


FORKED = """
import os
import numpy as np
import staticgraph as sg
from staticgraph.compiler.llvm import pool
from staticgraph.compiler.runtime import threads

sg.set_num_threads(2)
x = sg.placeholder("x", (None, 200))
f = sg.compile([x], x @ x.T)
array = np.ones((400, 200), "float32")
f(array)
words = threads._pool()
words[pool.CHECKED], words[pool.AWAKE] = 2**62, 1
child = os.fork()
if child == 0:
    alone = f(array), words[pool.BORROW] == 0
    array @ array.T  # the BLAS starts its threads again
    os._exit(not (alone[1] and (alone[0] == 200).all() and (f(array[:300]) == 200).all()))
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), (f(array) == 200).all())
"""


@pytest.mark.slow
def test_a_forked_child_and_its_parent_go_on() -> None:
    done = subprocess.run(
        [sys.executable, "-c", FORKED], check=False, capture_output=True, text=True, cwd=ROOT,
        timeout=120,
    )  # fmt: skip
    assert done.stdout == "0 True\n", done.stderr


WAITING = """
import numpy as np
import staticgraph as sg
from staticgraph.compiler.llvm import pool
from staticgraph.compiler.runtime import threads

sg.set_num_threads(2)
x = sg.placeholder("x", (None, 200))
sg.compile([x], x @ x.T)(np.ones((400, 200), "float32"))
print(threads._pool()[pool.BORROW])
"""


def test_who_sets_how_long_they_wait_lends_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENBLAS_THREAD_TIMEOUT", "10")
    done = subprocess.run(
        [sys.executable, "-c", WAITING], check=False, capture_output=True, text=True, cwd=ROOT,
        timeout=120,
    )  # fmt: skip
    assert done.stdout == "0\n", done.stderr


BOUND = """
import os
import sys
import numpy as np

for thread in map(int, os.listdir("/proc/self/task")):
    os.sched_setaffinity(thread, {min(os.sched_getaffinity(thread))})
usual = {thread: os.sched_getaffinity(int(thread)) for thread in os.listdir("/proc/self/task")}
import staticgraph as sg
from staticgraph.compiler.llvm import pool
from staticgraph.compiler.runtime import threads

sg.set_num_threads(2)
threads.start()
words = threads._pool()
after = {thread: os.sched_getaffinity(int(thread)) for thread in usual}
print(words[pool.BORROW] != 0, ~(int(words[pool.THEIRS]) >> 3) != os.getpid(), after == usual)
"""


def test_threads_that_are_bound_to_a_processor_stay_there(words: Any) -> None:
    done = subprocess.run(
        [sys.executable, "-c", BOUND], check=False, capture_output=True, text=True, cwd=ROOT,
        timeout=120,
    )  # fmt: skip
    assert done.stdout == "True True True\n", done.stderr
