"""Compiling in the background: calls never wait, and are the same function before and after."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import staticgraph as sg
import staticgraph.executables.interpreted
from staticgraph.compiler.runners.background import BackgroundRunner
from staticgraph.compiler.runners.compiled import CompiledRunner

pytestmark = pytest.mark.slow

compile_graph = staticgraph.executables.interpreted.compile_graph


@pytest.fixture(autouse=True)
def without_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is in the cache, from which an executable is ready at once."""
    monkeypatch.setenv("STATICGRAPH_CACHE", "0")


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """An event without which no compilation in the background gets on."""
    opened = threading.Event()

    def held(*args: Any, **options: Any) -> Any:
        assert opened.wait(60)
        return compile_graph(*args, **options)

    monkeypatch.setattr(staticgraph.executables.interpreted, "compile_graph", held)
    yield opened
    opened.set()


def step(name: str, **options: Any) -> tuple[sg.Executable, sg.Variable]:
    """Least squares: one step of gradient descent, which returns a nested structure."""
    x, y = sg.placeholder("x", (None, 3)), sg.placeholder("y", (None,))
    w = sg.variable(np.array([0.5, -1, 2], "float32"), name)
    error = x @ w - y
    loss = sg.mean(error * error)
    updates = {w: w - 0.1 * sg.grad(loss, w)}
    return sg.compile([x, y], {"loss": loss, "w": w}, updates, name="step", **options), w


def batch(n: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(n)
    return rng.normal(size=(n, 3)).astype("float32"), rng.normal(size=n).astype("float32")


def test_what_is_in_the_cache_is_ready_at_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("STATICGRAPH_CACHE", "1")
    monkeypatch.setenv("STATICGRAPH_CACHE_DIR", str(tmp_path / "kernels"))
    first, _ = step("w", background=True)
    assert first.wait(60)
    again, _ = step("w", background=True)
    assert isinstance(again.runner, CompiledRunner)
    assert again.ready
    with pytest.raises(sg.OptionError, match="backend is one of"):
        step("w", background=True, backend="none")


def test_calls_run_before_the_kernel_is_there_and_go_on_with_it(gate: threading.Event) -> None:
    compiled, v = step("v")
    background, w = step("w", background=True)
    assert isinstance(background, sg.Executable)
    for n in (4, 1, 9):
        expected = compiled(*batch(n))
        found = background(*batch(n)) if n > 1 else background(y=batch(n)[1], x=batch(n)[0])
        assert list(found) == list(expected)
        for name, value in expected.items():
            assert_allclose(found[name], value, rtol=1e-6)
            assert (found[name].dtype, found[name].shape) == (value.dtype, value.shape)
        # the output is the old value of the variable, and nobody else's memory
        assert not np.shares_memory(found["w"], w.state.array)
        assert not background.ready
        assert not background.wait(0.001)
    gate.set()
    assert background.wait()
    assert background.ready
    assert_allclose(background(*batch(5))["loss"], compiled(*batch(5))["loss"], rtol=1e-6)
    assert_allclose(w.value, v.value, rtol=1e-6)


def test_what_needs_the_kernel_waits_for_it_and_the_graph_does_not(gate: threading.Event) -> None:
    background, _ = step("w", background=True)
    compiled, _ = step("w")
    assert len(background.graph) == len(compiled.graph)
    assert repr(background) == repr(compiled)
    opener = threading.Timer(0.05, gate.set)
    opener.start()
    assert background.source == compiled.source
    assert background.ready
    assert background.plan.peak_bytes({"x.0": 7}) == compiled.plan.peak_bytes({"x.0": 7})
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        background.nothing  # type: ignore[attr-defined]  # noqa: B018
    opener.join()


def test_an_executable_that_is_compiled_at_once_is_ready() -> None:
    compiled, _ = step("v")
    assert compiled.ready
    assert compiled.wait()
    assert compiled.wait(timeout=0)


def test_the_call_that_finds_the_kernel_uses_it(
    gate: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    background, _ = step("w", background=True)
    assert isinstance(background.runner, BackgroundRunner)
    background(*batch(2))
    gate.set()
    background.wait()

    def refuse(*args: Any) -> Any:
        raise AssertionError("interpreted")

    monkeypatch.setattr("staticgraph.compiler.inspect.interpreted.interpret", refuse)
    background(*batch(2))
    assert isinstance(background.runner, CompiledRunner)
    background(*batch(3))


def test_inputs_are_checked_as_by_a_kernel(gate: threading.Event) -> None:
    background, w = step("w", background=True)
    x, y = batch(4)
    before = w.value
    for call, error, message in [
        (lambda: background(x), sg.FeedError, "step: missing feed 'y'"),
        (lambda: background(x, y, y), sg.FeedError, "step: 3 inputs given, 2 expected"),
        (lambda: background(x, z=y), sg.FeedError, "step: unknown feed 'z'"),
        (lambda: background(x.astype("float64"), y), sg.DTypeError, "feed 'x': float64"),
        (lambda: background(x, y[:3]), sg.ShapeError, "subtract: .* do not broadcast"),
    ]:
        with pytest.raises(error, match=message) as interpreted:
            call()
        gate.set()
        background.wait()
        with pytest.raises(error, match=message) as compiled:
            call()
        assert str(interpreted.value) == str(compiled.value)
    assert_array_equal(w.value, before)


def test_a_failure_is_told_once_with_its_cause(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: Any, **options: Any) -> Any:
        raise ZeroDivisionError("no kernel today")

    monkeypatch.setattr(staticgraph.executables.interpreted, "compile_graph", fail)
    background, w = step("w", background=True)
    message = "step: compiling in the background failed, so calls run op by op: ZeroDivisionError"
    for _ in range(2):
        with pytest.raises(sg.CompileError, match=message) as told:
            background.wait(60)
        assert isinstance(told.value.__cause__, ZeroDivisionError)
    before = w.value
    with pytest.raises(sg.CompileError, match="no kernel today") as told:
        background(*batch(3))
    assert isinstance(told.value.__cause__, ZeroDivisionError)
    assert_array_equal(w.value, before)
    background(*batch(3))
    assert not np.array_equal(w.value, before)
    assert not background.ready
    with pytest.raises(sg.CompileError, match=message):
        background.source  # noqa: B018


def test_options_are_checked_at_once() -> None:
    x = sg.placeholder("x", ())
    with pytest.raises(sg.OptionError, match="no rewrite is named"):
        sg.compile([x], x + 1, background=True, disable=["nothing"])
    with pytest.raises(sg.OptionError, match="compiles nothing that could be left"):
        sg.compile([x], x + 1, background=True, debug=True)


def test_threads_lose_no_update_while_the_kernel_comes(gate: threading.Event) -> None:
    count = sg.variable(np.zeros(1000), "count")
    by = sg.placeholder("by", (), "float64")
    add = sg.compile([by], count[0], {count: count + by}, background=True)

    def run() -> None:
        for i in range(300):
            if i == 100:
                gate.set()
            add(1.0)

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert_array_equal(count.value, np.full(1000, 1200.0))


SCRIPT = """
import os, sys
import staticgraph as sg
x = sg.placeholder("x", (None,))
makes = [sg.sin, sg.cos, sg.exp, sg.tanh]
found = [sg.compile([x], make(x) * sg.log(x) + i, background=True) for i, make in enumerate(makes)]
print(float(found[0]([1.0])[0]), flush=True)
"""

FORK = """
child = os.fork()
for one in found:
    assert one.wait(60)
values = [float(one([2.0])[0]) for one in found]
if not child:
    os._exit(0 if len(set(values)) == 4 else 1)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def run_script(text: str, tmp_path: Any) -> list[str]:
    # a fork beside other threads is what is tested here: Python warns of it
    done = subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", text],
        env={**os.environ, "STATICGRAPH_CACHE_DIR": str(tmp_path)},
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.split()


def test_a_process_may_end_while_it_compiles(tmp_path: Any) -> None:
    assert run_script(SCRIPT, tmp_path) == ["0.0"]


def test_what_waits_for_its_turn_when_the_process_ends_is_not_begun(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ended = threading.Thread()
    monkeypatch.setattr(threading, "main_thread", lambda: ended)
    background, _ = step("w", background=True)
    with pytest.raises(sg.CompileError, match="CompileError: step: the interpreter ends"):
        background.wait(60)


def test_a_child_compiles_what_its_parent_had_not(tmp_path: Any) -> None:
    assert run_script(SCRIPT + FORK, tmp_path) == ["0.0", "0"]
