"""Loops in chunks: the same bits for any number of threads, callers, and after a fork."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

import dynamic
import staticgraph as sg
from staticgraph.compiler.codegen import chunks
from staticgraph.compiler.codegen.bytecode import Share
from staticgraph.compiler.core.errors import OptionError
from staticgraph.compiler.core.once import Once
from staticgraph.compiler.inspect.interpret import interpret
from staticgraph.compiler.runtime import blas, threads, trampoline
from staticgraph.compiler.runtime.blas import find_blas
from staticgraph.compiler.runtime.cache import common
from tests.combinations import some
from tests.paths import ROOT
from tests.samples import SAMPLES
from tests.trace import with_gradients

RNG = np.random.default_rng(0)


@pytest.fixture(autouse=True)
def own_number() -> Iterator[None]:
    """Leave the number of threads as it was."""
    before = threads.get_num_threads()
    yield
    threads.set_num_threads(before)


@pytest.fixture
def tiny_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut every loop that can be cut into as many chunks as possible."""
    monkeypatch.setattr(chunks, "GRAIN", 1)
    # the grain is part of the compiler's text: kernels of another one are not to be found
    monkeypatch.setenv("STATICGRAPH_CACHE", "0")


def shared(executable: Any) -> int:
    return sum(isinstance(one, Share) for one in executable.kernel.program)


@pytest.mark.slow
@pytest.mark.parametrize("name", some(SAMPLES, 12))
def test_chunks_compute_what_numpy_does(name: str, tiny_chunks: None) -> None:
    outputs, feeds = with_gradients(name, 4)
    inputs = list(feeds)
    arrays = [feeds[leaf] for leaf in inputs]
    found = []
    # gradients of sign and the like are zero everywhere, which the lint tells
    executable = sg.compile(inputs, outputs, lint="off")
    wanted = interpret(outputs, feeds)
    for count in (1, 3):
        threads.set_num_threads(count)
        found.append([value.tobytes() for value in executable(*arrays)])
        for value, expected in zip(executable(*arrays), wanted, strict=True):
            if value.dtype.kind == "f":
                assert_allclose(value, expected, rtol=1e-13, atol=1e-14)
            else:
                np.testing.assert_array_equal(value, expected)
    assert found[0] == found[1]


@pytest.mark.slow
@pytest.mark.parametrize("transposed", list(itertools.product((False, True), repeat=2)))
@pytest.mark.parametrize(
    "shape",
    some(
        [
            (700, 40, 300),
            (33, 500, 600),
            (9, 70, 64, 90),
            (None, 90, 401),
            (20, 9001, 33),
            (1, 700, 40, 300),
        ],
        2,
    ),
)
def test_products_in_chunks(shape: Any, transposed: tuple[bool, bool]) -> None:
    *batch, m, k, n = shape
    rows = 500 if m is None else m
    for dtype, rtol in (("float32", 1e-5), ("float64", 1e-13)):
        first = (k, rows) if transposed[0] else (rows, k)
        second = (n, k) if transposed[1] else (k, n)
        left = RNG.normal(size=(*batch, *first)).astype(dtype)
        right = RNG.normal(size=(*batch, *second)).astype(dtype)
        shape_of_a = [None if m is None and size == rows else size for size in left.shape]
        a, b = sg.placeholder("a", shape_of_a, dtype), sg.placeholder("b", right.shape, dtype)
        product = (a.swapaxes(-1, -2) if transposed[0] else a) @ (
            b.swapaxes(-1, -2) if transposed[1] else b
        )
        executable = sg.compile([a, b], product)
        assert shared(executable) == 1
        found = set()
        for count in (1, 2, 5):
            threads.set_num_threads(count)
            value = executable(left, right)
            found.add(value.tobytes())
        expected = np.matmul(
            left.swapaxes(-1, -2) if transposed[0] else left,
            right.swapaxes(-1, -2) if transposed[1] else right,
            dtype="float64",
        )
        assert_allclose(value, expected, rtol=rtol, atol=rtol * np.sqrt(k) * 10)
        assert len(found) == 1


def test_the_blas_has_its_threads_again() -> None:
    threads.set_num_threads(2)
    x = sg.placeholder("x", (64, 64))
    executable = sg.compile([x], x @ x)
    executable(np.ones((64, 64), "float32"))
    assert find_blas().get_threads() in (0, 2)


def _graphs() -> dict[str, Callable[[], Any]]:
    def rows() -> Any:
        x = sg.placeholder("x", (None, 300))
        g = sg.variable(RNG.normal(size=300).astype("float32"))
        loss = (sg.softmax(sg.layer_norm(x, (300,), g, g * 2), -1) ** 2).sum()
        return [x], [loss, *sg.grad(loss, [x, g])], [RNG.normal(size=(1000, 300)).astype("float32")]

    def elements() -> Any:
        x = sg.placeholder("x", (None,))
        loss = (sg.tanh(x) * sg.exp(-x * x)).sum()
        outputs = [loss / 3, sg.grad(loss, x), sg.max(x), sg.all(x > -9), sg.prod(x * 0 + 1)]
        return [x], outputs, [RNG.normal(size=200_001).astype("float32")]

    def columns() -> Any:
        x = sg.placeholder("x", (None, 64), "float64")
        outputs = [sg.sum(x, 0), sg.max(x, 0), sg.any(x > 4, 0), sg.exp(x).sum(0), sg.argmax(x)]
        return [x], outputs, [RNG.normal(size=(20_000, 64))]

    def images() -> Any:
        x = sg.placeholder("x", (None, 3, 32, 32))
        w = sg.variable(RNG.normal(size=(8, 3, 3, 3)).astype("float32"))
        loss = (sg.max_pool2d(sg.relu(sg.conv2d(x, w, padding=1)), 2) ** 2).sum()
        return [x], [loss, *sg.grad(loss, [x, w])], [RNG.normal(size=(16, 3, 32, 32)).astype("f")]

    return {one.__name__: one for one in (rows, elements, columns, images)}


@pytest.mark.slow
@pytest.mark.parametrize("name", some(_graphs(), 2))
def test_the_bits_do_not_depend_on_threads(name: str) -> None:
    inputs, outputs, arrays = _graphs()[name]()
    executable = sg.compile(inputs, outputs)
    assert shared(executable)
    found = set()
    for count in (1, 2, 5):
        threads.set_num_threads(count)
        for _ in range(100):
            found.add(b"".join(value.tobytes() for value in executable(*arrays)))
    limited = sg.compile(inputs, outputs, threads=1)
    found.add(b"".join(value.tobytes() for value in limited(*arrays)))
    assert len(found) == 1


def test_several_callers_at_once() -> None:
    inputs, outputs, arrays = _graphs()["rows"]()
    executable = sg.compile(inputs, outputs)
    expected = [value.tobytes() for value in executable(*arrays)]
    wrong: list[Any] = []

    def call() -> None:
        for _ in range(10):
            found = [value.tobytes() for value in executable(*arrays)]
            if found != expected:
                wrong.append(found)

    callers = [threading.Thread(target=call) for _ in range(4)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert not wrong


def test_the_interpreter_is_unlocked_for_long_kernels() -> None:
    x = sg.placeholder("x", (None,))
    w = sg.variable(np.float32(0))
    total = sg.tanh(sg.exp(x)).sum()
    pure, updating = sg.compile([x], total), sg.compile([x], total, updates={w: w + total})
    for executable, count, expected in (
        (pure, 1_000_000, 1), (pure, 10, 0), (pure, 1_000_000, 1), (updating, 1_000_000, 1),
    ):  # fmt: skip
        values = np.ones(count, "float32")
        found = executable(values)
        (workspace,) = executable.runner.idle
        assert workspace.table[executable.kernel.table.unlocks] == expected
        callers = [threading.Thread(target=executable, args=(values,)) for _ in range(4)]
        for caller in callers:
            caller.start()
        for caller in callers:
            caller.join()
        assert executable(values) == found
        del executable.runner.idle[1:]


FORK = """
import os, warnings
import numpy as np
import staticgraph as sg
from staticgraph.compiler.runtime import threads

warnings.simplefilter("ignore", DeprecationWarning)  # a fork of a process with threads
threads.set_num_threads(3)
x = sg.placeholder("x", (None,))
f = sg.compile([x], (sg.tanh(x) * sg.exp(-x * x)).sum())
values = np.random.default_rng(0).normal(size=500_000).astype("float32")
before = f(values)
for _ in range(5):
    child = os.fork()
    if child == 0:
        same = f(values) == before and f(values[:400_000]) == f(values[:400_000])
        g = sg.compile([x], sg.exp(x).sum())
        os._exit(0 if same and np.isfinite(g(values)) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
assert f(values) == before
print("same")
"""


@pytest.mark.slow
def test_a_forked_child_computes_the_same() -> None:
    command = [sys.executable, "-c", FORK]
    done = subprocess.run(
        command, check=False, capture_output=True, text=True, cwd=ROOT, timeout=120
    )
    assert done.stdout == "same\n", done.stderr


FEW = """
import threading
import numpy as np
import staticgraph as sg
x = sg.placeholder("x", (None,), "float64")
f = sg.compile([x], sg.tanh(x).sum())
values = np.linspace(0, 1, 2_000_000)
sg.set_num_threads(1)
expected = f(values)
start, started = threading.Thread.start, []

def starting(thread):
    if len(started) == 2:
        raise RuntimeError("can't start new thread")
    started.append(thread)
    start(thread)

threading.Thread.start = starting
sg.set_num_threads(50)
g = sg.compile([x], sg.tanh(x).sum())
print(all(g(values) == expected for _ in range(3)), len(started))
"""


@pytest.mark.slow
def test_those_threads_share_that_the_system_starts() -> None:
    done = subprocess.run(
        [sys.executable, "-c", FEW], check=False, capture_output=True, text=True, cwd=ROOT,
        timeout=120,
    )  # fmt: skip
    assert done.stdout == "True 2\n", done.stderr


LATE = """
import numpy as np
from staticgraph.compiler.llvm import pool

WAIT = "    waited = i64(0)\\n    while waited < 30:\\n"
WAIT += f"        yielded = call(pool[{pool.YIELD}])\\n        waited += 1\\n"
# who sets a loop up is slow, and so is who reads what it is, with the ticket of the loop before
setup = f"    atomic_store(pool, {pool.DONE}, 0)\\n"
read = "    chunks = "
source = pool.SOURCE.replace(setup, WAIT + setup)
start, end = source.index("def take_chunks"), source.index("def work")
late = source[start:end].replace("take_chunks", "take_late").replace(read, WAIT + read, 1)
rest = source[end:].replace("taken = take_chunks", "taken = take_late", 1)
assert setup in pool.SOURCE and "take_late(pool, " in rest and WAIT in late
pool.SOURCE = source[:end] + late + rest

import staticgraph as sg
from staticgraph.compiler.runtime import threads

threads.set_num_threads(4)
x, y = (sg.placeholder(name, (None,), "float64") for name in "xy")
value = x.sum() * 0 + 1
for _ in range(4):  # loops of few and of many chunks in turn, each needed by the next
    value = sg.tanh(y * sg.exp(x * value * 0.001).mean()).mean()
executable = sg.compile([x, y], value)
rng = np.random.default_rng(0)
arrays = rng.standard_normal(150_000), rng.standard_normal(1_000_000)
print(len({executable(*arrays).tobytes() for _ in range(40)}))
"""


@pytest.mark.slow
def test_a_late_thread_takes_nothing_of_a_loop_that_is_being_set_up() -> None:
    done = subprocess.run(
        [sys.executable, "-c", LATE],
        check=False, capture_output=True, text=True, cwd=ROOT, timeout=120,
        env={**os.environ, "STATICGRAPH_CACHE": "0"},
    )  # fmt: skip
    assert done.stdout == "1\n", done.stderr


def test_an_index_out_of_range_is_the_same_for_any_number(tiny_chunks: None) -> None:
    x, i = sg.placeholder("x", (None,)), sg.placeholder("i", (None,), "int64")
    pick = sg.compile([x, i], sg.take(x, i) * 2)
    indices = np.zeros(100, np.int64)
    indices[[17, 60, 90]] = 1000, 2000, 3000
    for count in (1, 4):
        threads.set_num_threads(count)
        for _ in range(20):
            with pytest.raises(sg.OutOfRangeError, match="1000"):
                pick(np.zeros(3, "float32"), indices)


def test_little_work_is_not_cut() -> None:
    x = sg.placeholder("x", (100, 100))
    assert not shared(sg.compile([x], sg.exp(x).sum()))


@pytest.mark.parametrize("count", [0, -1, 1.5, True, "2"])
def test_numbers_that_make_no_sense(count: Any) -> None:
    with pytest.raises(OptionError, match="is an int from 1, not"):
        sg.set_num_threads(count)
    x = sg.placeholder("x", ())
    with pytest.raises(OptionError, match="is an int from 1, not"):
        sg.compile([x], x + 1, threads=count)


# -- the first calls -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "function",
    [
        blas._load, blas._matmul_callback, trampoline._method, common.trampoline_code,
        threads._pool, threads._work,
    ],
    ids=lambda function: function.make.__name__,
)  # fmt: skip
def test_threads_that_ask_first_get_the_same_object(
    function: Once[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A kernel keeps an address in it: of two objects, the one that is forgotten would be freed."""
    together = threading.Barrier(2, timeout=30)

    def make() -> object:
        together.wait()  # now both are making one
        return object()

    monkeypatch.setattr(function, "make", make)
    monkeypatch.setattr(function, "values", {})
    found: list[Any] = []
    callers = [threading.Thread(target=lambda: found.append(function())) for _ in range(2)]
    for one in callers:
        one.start()
    for one in callers:
        one.join()
    assert found[0] is found[1] is function()


FIRST_CALLS = """
import sys, threading
import numpy as np
import staticgraph as sg

sys.setswitchinterval(1e-6)
x = sg.placeholder("x", (None, 8))
f = sg.compile([x], [x @ np.eye(8, dtype="float32"), sg.exp(x).sum()], threads=2)
together, right = threading.Barrier(6), []

def work():
    values = np.ones((40_000, 8), "float32")
    together.wait()
    for _ in range(20):
        product, total = f(values)
        right.append(bool((product == 1).all()) and abs(total / values.size - np.e) < 1e-5)

callers = [threading.Thread(target=work) for _ in range(6)]
for one in callers:
    one.start()
for one in callers:
    one.join()
print(len(right), all(right))
"""


@pytest.mark.slow
def test_threads_bring_more_sizes_than_are_remembered() -> None:
    x = sg.placeholder("x", (None,))
    executable = sg.compile([x], x + 1)
    found: list[int] = []

    def call(first: int) -> None:
        for size in range(first, first + 3000, 3):
            found.append(executable(np.zeros(size, "float32")).size - size)

    callers = [threading.Thread(target=call, args=(i % 3,)) for i in range(6)]
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for one in callers:
            one.start()
        for one in callers:
            one.join()
    finally:
        sys.setswitchinterval(before)
    assert found == [0] * 6000


@pytest.mark.slow
def test_the_first_calls_come_from_several_threads() -> None:
    command = [sys.executable, "-c", FIRST_CALLS]
    done = subprocess.run(
        command, check=False, capture_output=True, text=True, cwd=ROOT, timeout=120
    )
    assert done.stdout == "120 True\n", done.stderr


# -- how many, from the environment ----------------------------------------------------------------

COUNTS = """
import dynamic, staticgraph as sg
x = sg.placeholder("x", (None,))
sg.compile([x], x + 1)
print(sg.get_num_threads(), dynamic.get_num_threads())
"""


def counted(**environment: str) -> Any:
    inherited = {name: value for name, value in os.environ.items() if "NUM_THREADS" not in name}
    return subprocess.run(
        [sys.executable, "-c", COUNTS],
        check=False, capture_output=True, text=True, cwd=ROOT, timeout=120,
        env=inherited | environment,
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(
    "case",
    some(
        [
            (" 3 ", "x", 3), ("3", "5", 3), ("", "5,2", 5), ("3", "", 3), ("", "none", None),
            ("", "5", 5), ("", "", None), ("", "0", None),
        ],
        2,
    ),
    ids=str,
)  # fmt: skip
def test_both_engines_read_the_same_variables(case: tuple[str, str, int | None]) -> None:
    own, openmp, expected = case
    done = counted(STATICGRAPH_NUM_THREADS=own, OMP_NUM_THREADS=openmp)
    count = len(os.sched_getaffinity(0)) if expected is None else expected
    assert done.stdout == f"{count} {count}\n", done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("own", some(["0", "-1", "two", "1.5", "2,1", "\u0663"], 1))
def test_a_number_of_threads_that_makes_no_sense_is_refused(own: str) -> None:
    done = counted(STATICGRAPH_NUM_THREADS=own, OMP_NUM_THREADS="2")
    assert done.returncode == 1
    message = "OptionError: STATICGRAPH_NUM_THREADS: the number of threads is an int from 1, not"
    assert message in done.stderr


@pytest.mark.parametrize("count", [1.5, "2", None, True])
def test_numbers_of_eager_threads_that_are_no_ints(count: Any) -> None:
    with pytest.raises(TypeError, match="set_num_threads expects an int, but got"):
        dynamic.set_num_threads(count)
    with pytest.raises(OptionError, match="set_num_threads expects a positive integer, got 0"):
        dynamic.set_num_threads(0)
