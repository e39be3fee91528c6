"""Work of host steps that threads share: all of it, once, and over when the call returns."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import numpy as np
import pytest

from staticgraph.compiler.runtime import threads
from staticgraph.compiler.runtime.blas import limit_threads
from staticgraph.compiler.runtime.sharing import share


@pytest.fixture(autouse=True)
def three_threads() -> Iterator[None]:
    before = threads.get_num_threads()
    threads.share_among(3)
    try:
        with limit_threads(1):
            yield
    finally:
        threads.share_among(before)


@pytest.mark.parametrize("count", [0, 1, 2, 40])
def test_each_is_done_once(count: int) -> None:
    done: list[int] = []
    share(done.append, count)
    assert sorted(done) == list(range(count))


def test_threads_work_at_the_same_time_under_the_callers_settings() -> None:
    together = threading.Barrier(3, timeout=30)
    with np.errstate(all="ignore"):

        def task(number: int) -> None:
            together.wait()
            assert np.geterr()["divide"] == "ignore"

        share(task, 3)


def test_the_blas_shares_itself_where_it_has_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("staticgraph.compiler.runtime.blas.get_threads", lambda: 2)
    workers: set[int] = set()
    share(lambda number: workers.add(threading.get_ident()), 5)
    assert workers == {threading.get_ident()}


@pytest.mark.parametrize("failing", [0, 1, 2])
def test_an_error_ends_it_when_nobody_works_any_more(failing: int) -> None:
    together = threading.Barrier(3, timeout=30)
    begun: list[int] = []
    ended: list[int] = []

    def task(number: int) -> None:
        begun.append(number)
        if number < 3:
            together.wait()
        if number == failing:
            raise ValueError(f"task {number}")
        time.sleep(0.05)
        ended.append(number)

    with pytest.raises(ValueError, match=f"task {failing}"):
        share(task, 1000)
    assert len(ended) == len(begun) - 1
    assert len(begun) < 1000


def test_an_interrupt_waits_for_those_that_work(monkeypatch: pytest.MonkeyPatch) -> None:
    from staticgraph.compiler.runtime import sharing

    waited: list[int] = []
    wait = sharing.wait

    def interrupted_once(futures: object) -> object:
        waited.append(1)
        if len(waited) == 1:
            raise KeyboardInterrupt
        return wait(futures)  # type: ignore[arg-type]

    monkeypatch.setattr(sharing, "wait", interrupted_once)
    done: list[int] = []
    with pytest.raises(KeyboardInterrupt):
        share(done.append, 5)
    assert sorted(done) == [0, 1, 2, 3, 4]
    assert len(waited) == 2


def test_where_no_thread_starts_the_caller_does_it(monkeypatch: pytest.MonkeyPatch) -> None:
    class Closed:
        def submit(self, *task: object) -> None:
            raise RuntimeError("cannot schedule new futures after interpreter shutdown")

    monkeypatch.setattr("staticgraph.compiler.runtime.sharing._helpers", lambda process: Closed())
    done: list[int] = []
    share(done.append, 4)
    assert done == [0, 1, 2, 3]


def test_a_forked_child_has_threads_of_its_own() -> None:
    share(lambda number: None, 4)
    child = os.fork()
    if not child:
        together = threading.Barrier(3, timeout=30)
        share(lambda number: together.wait() and None, 3)
        os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


def test_a_number_that_is_raised_later_starts_threads() -> None:
    script = """
import threading, numpy as np, staticgraph as sg
sg.set_num_threads(1)
x = sg.placeholder("x", (None,))
f, given = sg.compile([x], sg.exp(x)), np.ones(2_000_000, "float32")
f(given)
names = lambda: [one.name for one in threading.enumerate() if "staticgraph" in one.name]
assert names() == []
sg.set_num_threads(3)
assert len(names()) == 2
"""
    subprocess.run([sys.executable, "-c", script], check=True)
