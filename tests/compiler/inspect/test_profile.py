"""`executable.profile(...)`: the time of each step, and what it comes from."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import staticgraph as sg
from compiler.core.errors import FeedError, ShapeError
from compiler.inspect import profile


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
    assert all(one.seconds > 0 for one in found.steps)
    assert found.runs >= profile.LEAST


def test_nothing_is_updated() -> None:
    w, step = training_step()
    before = w.value
    step.profile(x=X)
    np.testing.assert_array_equal(w.value, before)
    step(X)
    assert np.any(w.value != before)


def test_a_loop_is_one_step() -> None:
    xs = sg.placeholder("xs", (None, 3))
    last, _ = sg.scan(lambda h, x: (sg.tanh(h + x), None), sg.zeros((3,)), xs)
    found = sg.compile([xs], last).profile(np.ones((50, 3), "float32"))
    assert sum("scan" in one.ops for one in found.steps) == 1
    assert not any("tanh" in one.ops for one in found.steps)


def test_the_table_has_a_line_for_each_step() -> None:
    _, step = training_step()
    found = step.profile(X)
    first, *lines = str(found).splitlines()
    assert first.endswith(f"µs in all, medians of {found.runs} runs")
    assert len(lines) == len(found.steps)
    assert any("#" * profile.WIDTH in line and "test_profile.py:" in line for line in lines)


def test_inputs_are_checked() -> None:
    _, step = training_step()
    with pytest.raises(FeedError, match="missing feed 'x'"):
        step.profile()
    with pytest.raises(ShapeError, match="feed 'x'"):
        step.profile(np.ones((7, 19), "float32"))
