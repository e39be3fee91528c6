"""Forks in the middle of what other threads do: neither process waits for ever."""

from __future__ import annotations

import ast
import os
import subprocess
import sys

import pytest

from tests.paths import ROOT

BEGIN = """
import os, sys, threading, time, traceback, warnings
import faulthandler
import numpy as np
import staticgraph as sg

warnings.simplefilter("ignore", DeprecationWarning)  # a fork of a process with threads
x = sg.placeholder("x", (None,))
ONES = np.ones(3, "float32")


def forked(times, child):
    for i in range(times):
        pid = os.fork()
        if pid == 0:
            faulthandler.dump_traceback_later(60, exit=True)
            try:
                child(i)
                os._exit(0)
            except BaseException:
                traceback.print_exc()
                os._exit(1)
        if os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) != 0:
            print("a child failed")
            os._exit(1)


def in_threads(count, work):
    for _ in range(count):
        threading.Thread(target=work, daemon=True).start()


def ended(text):
    print(text, flush=True)
    os._exit(0)  # threads still compile
"""


def printed(script: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", BEGIN + script],
        check=False, capture_output=True, text=True, cwd=ROOT, timeout=300,
        env=os.environ | environment,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


COMPILING = """
OPTIONS = {options}


def compiling():
    first = time.monotonic_ns()
    while True:
        first += 1
        y = x
        for i in range(15):
            y = sg.sin(y * (1.0 + (first + i) % 1_000_003))
        sg.compile([x], y, **OPTIONS)


def child(i):
    f = sg.compile([x], x * 2 + float(i), **OPTIONS)
    assert f(ONES).tolist() == [2 + i] * 3
    assert sg.compile([x], x + 1, background=True)(ONES).tolist() == [2] * 3


in_threads(2, compiling)
forked({times}, child)
ended("forked")
"""


@pytest.mark.slow
def test_while_threads_compile() -> None:
    script = COMPILING.format(options={}, times=3)
    assert printed(script, STATICGRAPH_CACHE="0") == "forked\n"


@pytest.mark.long
def test_while_threads_compile_with_numba() -> None:
    script = COMPILING.format(options={"backend": "numba"}, times=2)
    assert printed(script, STATICGRAPH_CACHE="0") == "forked\n"


@pytest.mark.slow
def test_while_a_thread_imports_numba() -> None:
    """A fork takes logging's lock too, which whatever a thread imports late waits for."""
    script = """
import importlib.abc, logging

forking = threading.Event()


class Late(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == "numba":
            forking.set()
            time.sleep(0.5)
            logging.getLogger("late")


def child(i):
    assert sg.compile([x], x + 1)(ONES).tolist() == [2] * 3


sys.meta_path.insert(0, Late())
in_threads(1, lambda: sg.compile([x], x + 1, backend="numba"))
assert forking.wait(60)
forked(1, child)
ended("forked")
"""
    assert printed(script, STATICGRAPH_CACHE="0") == "forked\n"


@pytest.mark.slow
def test_while_threads_load_and_drop_kernels() -> None:
    script = """
graphs = [sg.sin(x * float(i)) for i in range(5)]
for y in graphs:
    sg.compile([x], y)


def loading():
    while True:
        for y in graphs:
            sg.compile([x], y)(ONES)


def child(i):
    assert np.allclose(sg.compile([x], graphs[1])(ONES), np.sin(1.0))
    assert sg.compile([x], x * 2 + float(i))(ONES).tolist() == [2 + i] * 3


in_threads(2, loading)
forked(5, child)
ended("forked")
"""
    assert printed(script) == "forked\n"


@pytest.mark.slow
def test_while_threads_change_variables() -> None:
    script = """
w = sg.variable(np.zeros((1500, 1500), "float32"))
total = sg.placeholder("total", (None,))
step = sg.compile([total], sg.tanh(sg.exp(total)).sum(), updates={w: w + 1})
read = sg.compile([], w + 0)
values = np.ones(500_000, "float32")
step(values)
read()


def stepping():
    while True:
        step(values)


def child(i):
    found = read()
    assert (found == found[0, 0]).all(), found
    step(values)
    assert (w.value == found[0, 0] + 1).all()
    w.value = np.zeros((1500, 1500), "float32")


in_threads(2, stepping)
forked(5, child)
before = w.value[0, 0]
step(values)
ended(str(w.value[0, 0] > before))
"""
    assert printed(script) == "True\n"


@pytest.mark.slow
def test_while_threads_run_op_by_op() -> None:
    script = """
w = sg.variable(np.zeros((300, 300), "float32"))
f = sg.compile([x], x.sum(), updates={w: w + 1}, debug=True)


def running():
    while True:
        f(ONES)
        # no overflow: a warning on stderr holds its lock, which a child never gets
        w.value = w.value * 0.5


def child(i):
    found = w.value
    assert (found == found[0, 0]).all()
    f(ONES)


in_threads(2, running)
forked(10, child)
ended("forked")
"""
    assert printed(script) == "forked\n"


@pytest.mark.slow
def test_an_endless_loop_in_a_thread_holds_up_no_fork() -> None:
    script = """
n = sg.placeholder("n", (), "float64")
w = sg.variable(np.float64(1))
zero = sg.constant(np.float64(0))
loop = sg.while_loop(lambda v: v < n, lambda v: v + 1.0, zero)
f = sg.compile([n], loop, updates={w: w + loop})
f(np.array(1.0))
threading.Thread(target=f, args=(np.array(np.inf),), daemon=True).start()
time.sleep(0.2)


def child(i):
    assert w.value == 2
    assert f(np.array(3.0)) == 3
    assert w.value == 5


forked(5, child)
ended("forked")
"""
    assert printed(script) == "forked\n"


@pytest.mark.slow
def test_there_is_one_handler_of_forks() -> None:
    found = []
    for package in ("compiler", "staticgraph", "dynamic"):
        for path in (ROOT / package).rglob("*.py"):
            text = path.read_text()
            if "register_at_fork" not in text:
                continue
            names = {
                node.attr for node in ast.walk(ast.parse(text))
                if isinstance(node, ast.Attribute)
            }  # fmt: skip
            if "register_at_fork" in names:
                found.append(path.relative_to(ROOT).as_posix())
    assert found == ["compiler/core/fork.py"]
