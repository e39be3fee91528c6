"""`executable.profile(...)`: the time of each step, and what it comes from."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.core.errors import FeedError, ShapeError
from staticgraph.compiler.inspect import profile, profile_table
from staticgraph.compiler.inspect.limits import Limits
from staticgraph.compiler.inspect.profile_table import StepTime


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(profile, "SECONDS", 0.01)


def training_step() -> Any:
    x = sg.placeholder("x", (None, 20))
    w = sg.variable(np.full((20, 30), 0.1, "float32"), name="w")
    loss = (sg.tanh(x @ w) ** 2).mean()
    return w, sg.compile([x], loss, updates={w: w - 0.1 * sg.grad(loss, w)})


X = np.ones((7, 20), "float32")


def test_each_step_says_what_it_computes_and_where_it_was_written() -> None:
    _, step = training_step()
    found = step.profile(X)
    assert {op for one in found.steps for op in one.ops} >= {"matmul", "tanh", "gemm"}
    assert all("test_profile.py:" in line for one in found.steps for line in one.lines)
    assert sum(one.share for one in found.steps) == pytest.approx(1)
    assert sum(one.seconds for one in found.steps) == pytest.approx(found.seconds)
    assert all(one.seconds >= 0 for one in found.steps)
    assert found.overhead > 0
    assert found.runs >= profile.LEAST


def test_nothing_is_updated() -> None:
    w, step = training_step()
    before = w.value
    step.profile(x=X)
    np.testing.assert_array_equal(w.value, before)
    step(X)
    assert np.any(w.value != before)


def named(steps: Any, op: str) -> Any:
    """The first step that computes an op."""
    return next(one for one in steps if op in one.ops)


def scanned() -> Any:
    xs = sg.placeholder("xs", (None, 8, 16))
    w = sg.variable(np.full((16, 16), 0.1, "float32"), name="w")
    last, _ = sg.scan(lambda h, x: (sg.tanh(h @ w + x), None), sg.zeros((8, 16)), xs)
    return sg.compile([xs], last)


def test_a_loop_is_a_step_that_has_steps_inside() -> None:
    run, xs = scanned(), np.ones((50, 8, 16), "float32")
    before = run(xs)
    found = run.profile(xs)
    scan = named(found.steps, "scan")
    assert not any("tanh" in one.ops for one in found.steps)
    assert [one.runs for one in scan.inside] == [50] * len(scan.inside)
    assert {op for one in scan.inside for op in one.ops} >= {"matmul", "tanh"}
    assert named(scan.inside, "matmul").flops == 50 * 2 * 8 * 16 * 16
    assert scan.flops == sum(one.flops for one in scan.inside)
    assert scan.bytes == sum(one.bytes for one in scan.inside)
    assert sum(one.seconds for one in scan.inside) > 0
    assert "(50 times)" in str(found)
    assert "alone" in str(found)
    np.testing.assert_array_equal(run(xs), before)


def test_loops_in_loops() -> None:
    xs = sg.placeholder("xs", (6, 7, 5), "float64")

    def outer(h: Any, rows: Any) -> Any:
        inner, _ = sg.scan(lambda a, row: (sg.sin(a) + row, None), h, rows)
        return inner, None

    last, _ = sg.scan(outer, sg.zeros((5,), "float64"), xs)
    found = sg.compile([xs], last).profile(np.ones((6, 7, 5)))
    inner = named(named(found.steps, "scan").inside, "scan")
    assert inner.runs == 6
    assert named(inner.inside, "add").runs == 42
    assert inner.seconds == pytest.approx(sum(one.seconds for one in inner.inside), rel=0.9)


def test_iterations_that_depend_on_values() -> None:
    x = sg.placeholder("x", (1000,), "float64")
    grown = sg.while_loop(lambda v: sg.max(v) < 100.0, lambda v: v * 2.0, x)
    f = sg.compile([x], sg.cond(sg.sum(grown) > 0, sg.sin, sg.cos, grown))
    given = np.ones(1000)
    before = f(given)
    found = f.profile(given)
    loop, branch = named(found.steps, "while_loop"), named(found.steps, "cond")
    assert named(loop.inside, "multiply").runs == 7
    assert named(loop.inside, "max").runs == 8
    assert named(branch.inside, "sin").runs == 1
    assert named(branch.inside, "cos").runs == 0
    assert named(branch.inside, "cos").seconds == 0
    assert "(0 times)" not in str(found)
    np.testing.assert_array_equal(f(given), before)


def test_calls_of_numpy_and_indices_in_loops() -> None:
    xs, table = sg.placeholder("xs", (9, 4), "float64"), sg.placeholder("table", (5,), "float64")

    def body(at: Any, x: Any) -> Any:
        after = sg.sum(sg.argsort(x + at)) + sg.astype(sg.take(table, at), "int64")
        return sg.minimum(after, 4), None

    last, _ = sg.scan(body, sg.constant(np.int64(3)), xs)
    found = sg.compile([xs, table], last).profile(np.zeros((9, 4)), np.arange(5.0))
    inside = named(found.steps, "scan").inside
    assert named(inside, "argsort").runs == 9
    assert named(inside, "argsort").flops is None
    assert named(inside, "argsort").seconds > 0
    assert named(inside, "argsort").bytes == 9 * 2 * 4 * 8


def test_bytes_and_flops_are_the_least_there_is_to_do() -> None:
    x = sg.placeholder("x", (None,), "float64")
    (step,) = sg.compile([x], sg.exp(x) * 2.0 + x).profile(np.ones(1000)).steps
    assert (step.bytes, step.flops, step.dtype) == (2 * 8000, 3000, "float64")
    a, b = sg.placeholder("a", (30, 40)), sg.placeholder("b", (40, 50))
    found = sg.compile([a, b], a @ b).profile(np.ones((30, 40), "f4"), np.ones((40, 50), "f4"))
    (step,) = found.steps
    assert step.flops == 2 * 30 * 40 * 50
    assert step.bytes == 4 * (30 * 40 + 40 * 50 + 30 * 50)


def test_a_step_is_divided_among_its_ops() -> None:
    x = sg.placeholder("x", (None,), "float64")
    found = sg.compile([x], sg.exp(x) * 2.0 + x).profile(np.ones(100_000))
    (step,) = found.steps
    assert {one.op for one in step.nodes} == {"reading x", "exp", "multiply", "add"}
    assert sum(one.seconds for one in step.nodes) == pytest.approx(step.seconds)
    assert sum(one.share for one in step.nodes) == pytest.approx(1)
    assert sum(one.flops or 0 for one in step.nodes) == step.flops
    assert max(step.nodes, key=lambda one: one.seconds).op == "exp"
    assert "~ an estimate" in str(found)


def test_rows_count_once_each() -> None:
    x = sg.placeholder("x", (20, 30), "float64")
    (step,) = sg.compile([x], sg.softmax(x)).profile(np.ones((20, 30))).steps
    flops = {one.op: one.flops for one in step.nodes}
    assert flops["exp"] == 600
    assert flops["subtract"] == 600
    assert step.bytes == 2 * 8 * 600


def test_a_step_against_the_limits_of_the_machine() -> None:
    limits = Limits(1, {2**20: 1e9}, {"float32": 1e9, "float64": 1e9}, 1.0)
    x = sg.placeholder("x", (None,), "float64")
    found = sg.compile([x], x * 2.0).profile(np.ones(100_000)).against_limits(limits)
    (step,) = found.steps
    assert step.bound(limits).seconds == pytest.approx(1.6e-3)
    assert step.bound(limits).by == "memory"
    assert "of limit" in str(found)
    assert f"{1.6e-3 / step.seconds:.0%}" in str(found)


def test_what_fits_into_the_cache_is_not_limited_by_memory() -> None:
    limits = Limits(1, {2**20: 1e9}, {"float32": 1e9, "float64": 1e8}, 1.0)
    step = StepTime(("add",), ("a.py:1",), 1e-3, 1.0, 10, 10 * 2**19, 1000, "float64")
    assert step.bound(limits).by == "arithmetic"
    assert step.bound(limits).seconds == pytest.approx(1e-5)
    step = replace(step, bytes=10 * 2**20)
    assert step.bound(limits).by == "memory"
    assert step.bound(limits).seconds == pytest.approx(10 * 2**20 / 1e9)


def test_no_step_exceeds_limits_that_were_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    limits = Limits(1, {2**20: 1e3}, {"float32": 1e3, "float64": 1e3}, 1.0)
    monkeypatch.setattr(profile_table, "measure_limits", lambda threads, seconds: limits)
    monkeypatch.setattr(profile_table._limits, "values", {})
    x, w = sg.placeholder("x", (300, 200)), sg.placeholder("w", (200, 100))
    given = np.ones((300, 200), "f4"), np.ones((200, 100), "f4")
    found = sg.compile([x, w], sg.tanh(x @ w)).profile(*given).against_limits()
    assert found.limits is not None
    for step in found.steps:
        assert step.bound(found.limits).seconds <= step.seconds * (1 + 1e-9)
    assert "100%" in str(found)


def test_the_limits_are_measured_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    limits = Limits(1, {2**20: 1e9}, {"float32": 1e9, "float64": 1e9}, 1.0)

    def measured(threads: int, seconds: float) -> Limits:
        asked.append(threads)
        return limits

    monkeypatch.setattr(profile_table, "measure_limits", measured)
    monkeypatch.setattr(profile_table._limits, "values", {})
    x = sg.placeholder("x", (None,), "float64")
    found = sg.compile([x], x * 2.0).profile(np.ones(1000))
    assert "of limit" not in str(found)
    assert found.against_limits().limits == found.against_limits().limits
    assert found.against_limits().limits is not None
    assert asked == [sg.get_num_threads()]


def test_the_table_has_headings_and_a_line_for_each_step() -> None:
    _, step = training_step()
    found = step.profile(X)
    first, headings, *lines = str(found).splitlines()
    assert f"µs in all, medians of {found.runs} runs; the " in first
    assert f"{found.overhead * 1e6:.1f} µs that timing a step takes" in first
    assert headings.split()[:6] == ["time", "of", "all", "bytes", "GB/s", "flops"]
    assert len([line for line in lines if "µs" in line and "~" not in line]) == len(found.steps)
    assert any("#" * profile_table.WIDTH in line and "test_profile.py:" in line for line in lines)


def test_a_kernel_without_steps() -> None:
    found = sg.compile([], []).profile()
    assert found.steps == ()
    assert "in all" in str(found)


def test_inputs_are_checked() -> None:
    _, step = training_step()
    with pytest.raises(FeedError, match="missing feed 'x'"):
        step.profile()
    with pytest.raises(ShapeError, match="feed 'x'"):
        step.profile(np.ones((7, 19), "float32"))


def test_no_rate_is_told_of_a_step_that_is_shorter_than_timing_it() -> None:
    short = StepTime(("add",), ("a.py:1",), 1e-9, 0.5, 1, 10_000, 2500)
    long = replace(short, ops=("exp",), seconds=1e-3)
    never = replace(short, ops=("sqrt",), runs=0, seconds=0.0)
    text = str(profile_table.Profile((short, long, never), 1e-3, 10, 2e-6))
    add, exp, sqrt = (
        next(line for line in text.splitlines() if f"{op}  <-" in line or f"{op} (" in line)
        for op in ("add", "exp", "sqrt")
    )
    assert add.split()[-6:-3] == ["kB", "2.5", "k"]  # no GB/s between, no GFLOP/s behind
    assert exp.split()[-8:-3] == ["kB", "0.0", "2.5", "k", "0.0"]
    assert "sqrt (0 times)" in sqrt
