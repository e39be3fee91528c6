"""Steps of a program that call NumPy: what they are given and may raise, and who waits for them."""

from __future__ import annotations

import copy
import inspect
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import dynamic
import staticgraph as sg
from staticgraph.compiler.codegen.bytecode import Change, HostCall
from staticgraph.compiler.core import op as op_module
from staticgraph.compiler.core.errors import GraphError, OutOfRangeError
from staticgraph.compiler.core.lowering import Host
from staticgraph.compiler.core.op import Op, register
from staticgraph.compiler.runtime.cache import loader
from tests.combinations import some
from tests.paths import ROOT

pytestmark = pytest.mark.slow

BACKENDS = pytest.mark.parametrize("backend", ["llvm", "numba"])
IN_A_PROCESS = pytest.mark.parametrize("backend", some(["llvm", "numba"], 1))
X = np.arange(12.0).reshape(3, 4)

Function = Callable[..., Any]


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Function], Op]]:
    """Makes an op that only a host step computes: `host(function)`, of the operand's type."""
    monkeypatch.setattr(op_module, "_registry", dict(op_module._registry))
    made = 0

    def make(function: Function) -> Op:
        nonlocal made
        made += 1
        return register(
            Op(
                name=f"hosted{made}",
                infer_type=lambda x, *others: x,
                evaluate=function,
                vjp=(lambda g, o, a: g,),
                lowering=Host(),
            )
        )

    yield make


def line() -> str:
    """`file:line` of the caller."""
    frame = inspect.currentframe()
    assert frame is not None
    assert frame.f_back is not None
    return f"{__file__}:{frame.f_back.f_lineno}"


def matrix(name: str = "x", dtype: str = "float64") -> Any:
    return sg.placeholder(name, (None, None), dtype)


@BACKENDS
def test_it_gets_its_operands_where_they_lie_and_cannot_write_them(host: Any, backend: str) -> None:
    seen: list[Any] = []

    def look(a: Any, b: Any) -> Any:
        seen.append((a.shape, a.dtype, a.flags.c_contiguous, a.flags.writeable, a.tolist(), b.T))
        return a - 1

    op = host(look)
    x = matrix(dtype="float32")
    f = sg.compile([x], op(x.T * 2, x), backend=backend)
    given = X.astype("float32")
    assert_array_equal(f(given), given.T * 2 - 1)
    shape, dtype, contiguous, writeable, values, _ = seen[0]
    assert (shape, dtype, contiguous, writeable) == ((4, 3), np.float32, True, False)
    assert values == (given.T * 2).tolist()
    with pytest.raises(ValueError, match="read-only"):
        sg.compile([x], host(lambda a: np.add(a, 1, out=a))(x), backend=backend)(given)


@BACKENDS
@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (1, 1), (5, 2)])
def test_any_size_is_one_program(backend: str, shape: tuple[int, int]) -> None:
    x = matrix()
    f = sg.compile([x], [sg.sort(x, axis=0) + 1, sg.cumsum(x, axis=1)], backend=backend)
    a = np.random.default_rng(0).normal(size=shape)
    for given in (a, X, a):
        ordered, total = f(given)
        assert_array_equal(ordered, np.sort(given, 0) + 1)
        assert_array_equal(total, np.cumsum(given, 1))


@BACKENDS
def test_what_it_raises_is_what_the_call_raises_with_op_and_line(host: Any, backend: str) -> None:
    def fail(a: Any) -> Any:
        if a.sum() > 100:
            raise np.linalg.LinAlgError("too large")
        return a * 2

    op = host(fail)
    x, w = matrix(), sg.variable(np.zeros(2), "w")
    result, where = op(x + 1), line()
    f = sg.compile([x], result, updates={w: w + 1}, backend=backend)
    for _ in range(2):
        with pytest.raises(np.linalg.LinAlgError, match=r"^too large") as raised:
            f(X + 100)
        assert raised.value.__notes__ == [f"in {op.name} ({where})"]
    assert w.value.tolist() == [0, 0]
    assert_array_equal(f(X), (X + 1) * 2)
    assert w.value.tolist() == [1, 1]
    out = np.empty_like(X)
    with pytest.raises(np.linalg.LinAlgError):
        f(X + 100, out=out)
    assert f(X, out=out) is out
    assert w.value.tolist() == [2, 2]


@BACKENDS
def test_an_error_of_the_library_has_the_line_in_its_message(host: Any, backend: str) -> None:
    def fail(a: Any) -> Any:
        raise OutOfRangeError("hosted: index 7 is out of range")

    x = matrix()
    result, where = host(fail)(x), line()
    with pytest.raises(OutOfRangeError, match=rf"^hosted: index 7 is out of range \({where}\)$"):
        sg.compile([x], result, backend=backend)(X)


@pytest.mark.parametrize(
    "wrong",
    [lambda a: a[:1], lambda a: a.astype("float32"), lambda a: None],
    ids=["shape", "dtype", "nothing"],
)
def test_a_value_of_another_type_is_an_error(host: Any, wrong: Function) -> None:
    op, x = host(wrong), matrix()
    with pytest.raises(GraphError, match=rf"{op.name} evaluates to .*, inferred float64\[3, 4\]"):
        sg.compile([x], op(x))(X)


def test_no_variable_changes_before_the_last_step_that_may_fail(host: Any) -> None:
    op, x, w = host(lambda a: a), matrix(), sg.variable(np.zeros(4), "w")
    f = sg.compile([x], op(x), updates={w: w * 2 + 1})
    program = f.kernel.program
    steps = [i for i, one in enumerate(program) if isinstance(one, HostCall)]
    assert max(steps) < program.index(Change())


def in_a_scan(op: Op, x: Any) -> Any:
    return sg.scan(lambda c, row: (op(c + row), sg.sum(op(row * 2))), x[0] * 0, x)


def expected_scan(x: Any) -> Any:
    return [(x.cumsum(0)[-1] if len(x) else 0) * 1.0, (2 * x).sum(1)]


@BACKENDS
def test_it_runs_inside_loops_and_branches(host: Any, backend: str) -> None:
    calls: list[int] = []
    op = host(lambda a: (calls.append(1), a.copy())[1])
    x = matrix()
    f = sg.compile([x], in_a_scan(op, x), backend=backend)
    for given in (X, X[:1], np.tile(X, (7, 1))):
        calls.clear()
        for found, expected in zip(f(given), expected_scan(given), strict=True):
            assert_allclose(found, expected)
        assert len(calls) == 2 * len(given)
    while_loop = sg.while_loop(lambda v: sg.sum(v) < 1000, lambda v: op(v) * 2, x + 1)
    g = sg.compile([x], while_loop, backend=backend)
    assert_array_equal(g(X), (X + 1) * 16)
    branch = sg.cond(sg.sum(x) > 0, lambda: op(x), lambda: x * 3)
    h = sg.compile([x], branch, backend=backend)
    calls.clear()
    assert_array_equal(h(-X), -X * 3)
    assert not calls
    assert_array_equal(h(X), X)


@BACKENDS
def test_an_exception_in_the_middle_of_a_scan(host: Any, backend: str) -> None:
    def fail(a: Any) -> Any:
        if a[0] > 5:
            raise ZeroDivisionError
        return a

    op, x, w = host(fail), matrix(), sg.variable(np.ones(4), "w")
    last, total = sg.scan(lambda c, row: (op(c + row), sg.sum(c)), w, x)
    f = sg.compile([x], total, updates={w: last}, backend=backend)
    with pytest.raises(ZeroDivisionError) as raised:
        f(X)
    assert raised.value.__notes__[0].startswith(f"in {op.name} ({__file__}:")
    assert w.value.tolist() == [1] * 4
    f(X[:1])
    assert w.value.tolist() == [1, 2, 3, 4]


def test_what_is_the_same_in_each_step_is_not_computed_for_a_loop_of_none(host: Any) -> None:
    def fail(a: Any) -> Any:
        raise ZeroDivisionError

    op, x, y = host(fail), matrix(), sg.placeholder("y", (4,), "float64")
    last, _ = sg.scan(lambda c, row: (c + row * op(y), None), sg.constant(np.zeros(4)), x)
    f = sg.compile([x, y], last)
    assert_array_equal(f(X[:0], X[0]), np.zeros(4))
    with pytest.raises(ZeroDivisionError):
        f(X, X[0])


def test_other_ways_to_run(host: Any) -> None:
    op, x = host(np.negative), matrix()
    result = op(x * 2) + 1
    for options in ({"debug": True}, {"background": True}, {"fuse": False}, {"threads": 1}):
        f = sg.compile([x], result, **options)
        f.wait()
        assert_array_equal(f(X), X * -2 + 1)
    assert_array_equal(sg.run(result, {x: X}), X * -2 + 1)
    assert_array_equal(sg.function(lambda a: op(a) + 1)(X), 1 - X)


def test_copies_and_pickles_run_on_their_own() -> None:
    x, w = matrix(), sg.variable(np.zeros((3, 4)), "w")
    f = sg.compile([x], sg.sort(x + w, axis=0), updates={w: sg.cumsum(x + w, axis=1)})
    first = f(X)
    for other in (copy.copy(f), copy.deepcopy(f), pickle.loads(pickle.dumps(f))):
        assert_array_equal(other(X), np.sort(X + np.cumsum(X, 1), 0))
    assert_array_equal(w.value, np.cumsum(X, 1))
    assert_array_equal(first, X)


def test_profile_and_plan_name_it() -> None:
    x = matrix()
    result, where = sg.cumsum(x * 2, axis=0), line()
    f = sg.compile([x], result * 3)
    step = next(one for one in f.profile(X).steps if "cumsum" in one.ops)
    assert step.lines == (where,)
    assert step.seconds > 0
    assert "= cumsum(t[" in f.source
    assert f.plan.peak(f.plan.sizes and dict.fromkeys(f.plan.sizes, 3)) is not None


def test_a_profile_raises_what_a_step_raises(host: Any) -> None:
    calls: list[int] = []

    def fail(a: Any) -> Any:
        calls.append(1)
        if len(calls) > 3:
            raise ZeroDivisionError
        return a

    x = matrix()
    f = sg.compile([x], host(fail)(x))
    with pytest.raises(ZeroDivisionError):
        f.profile(X)


def test_an_output_may_be_what_it_writes_and_out_too() -> None:
    x = matrix()
    f = sg.compile([x], [sg.sort(x, axis=1), x, sg.argsort(x, axis=1)])
    out = [np.empty_like(X), np.empty_like(X), np.empty(X.shape, np.int64)]
    given = X[:, ::-1]
    f(given, out=out)
    assert_array_equal(out[0], X)
    assert_array_equal(out[1], given)
    assert_array_equal(out[2], np.tile([3, 2, 1, 0], (3, 1)))
    with pytest.raises(sg.FeedError, match="shares memory"):
        f(out[0], out=out)


def test_large_inputs_in_another_order_are_read_where_they_lie() -> None:
    x = matrix(dtype="float32")
    f = sg.compile([x], [sg.sort(x, axis=0), sg.cumsum(x + 1, axis=1)])
    big = np.random.default_rng(0).normal(size=(700, 800)).astype("float32")
    for given in (big.T, big[:, ::2], big[::2]):
        ordered, total = f(given)
        assert_array_equal(ordered, np.sort(given, 0))
        assert_allclose(total, np.cumsum(given + 1, 1, dtype="float64"), rtol=1e-6)


def test_the_slower_way_to_enter_a_kernel_too(monkeypatch: pytest.MonkeyPatch, host: Any) -> None:
    monkeypatch.setattr(loader, "fields_are_right", lambda: False)

    def fail(a: Any) -> Any:
        if a.sum() < 0:
            raise ZeroDivisionError
        return a + 1

    x = matrix()
    f = sg.compile([x], host(fail)(x) * 2)
    assert_array_equal(f(X), (X + 1) * 2)
    with pytest.raises(ZeroDivisionError):
        f(-X)
    assert_array_equal(f(X), (X + 1) * 2)


@BACKENDS
def test_calls_in_two_threads_are_in_their_steps_at_once(host: Any, backend: str) -> None:
    meeting = threading.Barrier(2, timeout=60)
    op = host(lambda a: (meeting.wait(), a + 1)[1])
    x = matrix()
    f = sg.compile([x], op(x * 2), backend=backend)
    found: dict[int, Any] = {}
    threads = [threading.Thread(target=lambda i=i: found.update({i: f(X * i)})) for i in range(2)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    for i in range(2):
        assert_array_equal(found[i], X * i * 2 + 1)


@BACKENDS
def test_nobody_changes_its_variables_meanwhile(host: Any, backend: str) -> None:
    inside, go_on = threading.Event(), threading.Event()

    def wait(a: Any) -> Any:
        inside.set()
        assert go_on.wait(60)
        return a

    op, w = host(wait), sg.variable(np.zeros(4), "w")
    x = sg.placeholder("x", (4,), "float64")
    f = sg.compile([x], op(x) + w, updates={w: w + 1}, backend=backend)
    found: list[Any] = []
    calling = threading.Thread(target=lambda: found.append(f(X[0])))
    assigning = threading.Thread(target=w.state.assign, args=(np.full(4, 7.0),))
    calling.start()
    assert inside.wait(60)
    assigning.start()
    assigning.join(0.2)
    assert assigning.is_alive()
    go_on.set()
    for one in (calling, assigning):
        one.join(60)
    assert_array_equal(found[0], X[0])
    assert w.value.tolist() == [7] * 4


def test_a_step_may_call_the_executable_that_it_is_in(host: Any) -> None:
    x = matrix()
    functions: list[Any] = []

    def again(a: Any) -> Any:
        return functions[0](a[1:]) if len(a) > 1 else a

    op = host(lambda a: a + len(again(a)))
    f = sg.compile([x], op(x))
    functions.append(f)
    assert_array_equal(f(X), X + 2)


SCRIPT = """
import os, signal, sys, threading, time
import numpy as np
import staticgraph as sg
from staticgraph.compiler.core.lowering import Host
from staticgraph.compiler.core.op import Op, register

signal.signal(signal.SIGINT, signal.default_int_handler)


def hosted(function):
    op = Op(name="hosted", infer_type=lambda x: x, evaluate=function, lowering=Host())
    return register(op)


x = sg.placeholder("x", (None,), "float64")
w = sg.variable(np.zeros(3), "w")
ONES = np.ones(3)
"""


def printed(script: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT + script],
        check=False, capture_output=True, text=True, cwd=ROOT, timeout=120,
        env=os.environ | environment,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@IN_A_PROCESS
def test_a_signal_in_the_middle_of_a_step_ends_the_call(backend: str) -> None:
    script = f"""
slow = []
op = hosted(lambda a: (time.sleep(60 if slow else 0), a + 1)[1])
f = sg.compile([x], op(x) * w, updates={{w: w + 1}}, backend={backend!r})
f(ONES)
slow.append(1)
timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
timer.start()
try:
    f(ONES)
except KeyboardInterrupt:
    print("interrupted", w.value.tolist())
slow.clear()
print(f(ONES).tolist(), w.value.tolist())
"""
    after = "[2.0, 2.0, 2.0] [2.0, 2.0, 2.0]"
    assert printed(script) == f"interrupted [1.0, 1.0, 1.0]\n{after}\n"


@IN_A_PROCESS
def test_a_fork_in_the_middle_of_a_step_of_another_thread(backend: str) -> None:
    script = f"""
inside, go_on = threading.Event(), threading.Event()
op = hosted(lambda a: (inside.set(), go_on.wait(60), a + 1)[2])
f = sg.compile([x], op(x) + w, updates={{w: w + 1}}, backend={backend!r})
calling = threading.Thread(target=f, args=(ONES,))
calling.start()
inside.wait(60)
pid = os.fork()
if pid == 0:
    go_on.set()
    os._exit(0 if f(ONES).tolist() == [2.0] * 3 and w.value.tolist() == [1.0] * 3 else 1)
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
go_on.set()
calling.join()
print(w.value.tolist())
"""
    assert printed(script) == "0\n[1.0, 1.0, 1.0]\n"


WARM = """
from staticgraph.compiler.runtime.cache.loader import counts
m = sg.placeholder("m", (None, 3), "float64")
f = sg.compile([m], [sg.sort(m, axis=0), sg.cumsum(m, 1), sg.cumprod(m, 0) * 2])
print(counts["compiled"], "staticgraph.compiler.driver" in sys.modules)
print([one.tolist() for one in f(np.arange(6.0)[::-1].reshape(2, 3))])
print("cumsum" in f.source)
"""


def test_a_process_starts_from_the_cache(tmp_path: Path) -> None:
    cold, warm = (printed(WARM, STATICGRAPH_CACHE_DIR=str(tmp_path / "c")) for _ in range(2))
    assert cold.splitlines()[1:] == warm.splitlines()[1:]
    assert warm.splitlines()[0] == "0 False"
    assert cold.splitlines()[0] == "1 True"


def test_the_error_after_a_start_from_the_cache_has_its_line(tmp_path: Path) -> None:
    script = """
m = sg.placeholder("m", (None, 3), "float64")
f = sg.compile([m], sg.linalg.inv(sg.reshape(m, (3, 3))))
try:
    f(np.zeros((3, 3)))
except np.linalg.LinAlgError as error:
    print(error)
"""
    place = str(tmp_path / "c")
    cold, warm = (printed(script, STATICGRAPH_CACHE_DIR=place) for _ in range(2))
    assert cold == warm
    assert "inv" in cold
    assert "<string>:" in cold


def test_a_captured_function_of_tensors_has_it() -> None:
    x = dynamic.tensor(X, requires_grad=True)
    f = sg.function(lambda a: (a.cumsum(1) * a.sort(0).values).sum())
    f(x).backward()
    found, x.grad = x.grad, None
    (x.cumsum(1) * x.sort(0).values).sum().backward()
    assert_allclose(found.numpy(), x.grad.numpy())
