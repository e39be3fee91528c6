"""`diff` opens loops: values inside them, iteration by iteration."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.differences.rows import Within

diff_module = importlib.import_module("staticgraph.differences.diff")
X = np.random.default_rng(3).normal(size=(5, 3)).astype("f4")


def _forward(xs: Any) -> Any:
    return sg.scan(lambda h, x: (sg.tanh(h + x), sg.exp(h)), xs[0] * 0, xs)


def _backward(xs: Any) -> Any:
    return sg.scan(lambda h, x: (sg.tanh(h + x), sg.exp(h)), xs[0] * 0, xs, reverse=True)


@pytest.fixture
def wrong(monkeypatch: pytest.MonkeyPatch) -> Callable[[np.ndarray], None]:
    """Makes kernels wrong: of what is in scans, by a factor for each slice."""
    compiled = sg.compile

    def make_wrong(factors: np.ndarray) -> None:
        def wrongly(inputs: Any, outputs: Any, **options: Any) -> Any:
            if isinstance(outputs, list):
                for i, one in enumerate(outputs):
                    if one.op.name == "item" and one.ndim == 2 and len(outputs) > 2:
                        outputs[i] = one * factors.reshape(-1, *[1] * (one.ndim - 1))
            return compiled(inputs, outputs, **options)

        monkeypatch.setattr("staticgraph.tracing.parts.compile", wrongly)

    return make_wrong


def test_every_value_inside_has_a_row_before_what_the_loop_gives() -> None:
    found = sg.diff(_forward, X)
    assert found.agrees, str(found)
    names = [row.op for row in found.values]
    assert names[-5:] == ["add", "tanh", "exp", "item", "item"]
    add = found.values[-5]
    assert add.types == ("float32[3]", "float32[3]")
    assert add.line == f"{__file__}:{_forward.__code__.co_firstlineno + 1}"
    assert add.inside[0].loop.startswith("scan (")
    exact = sg.diff(_forward, X, exact=True)
    assert all(row.equal for row in exact.values)
    assert exact.values[-5].title == "add, each iteration"


@pytest.mark.parametrize(("f", "first"), [(_forward, 2), (_backward, 3)])
def test_the_first_iteration_that_is_far_apart_is_named(
    f: Callable[[Any], Any], first: int, wrong: Callable[[np.ndarray], None]
) -> None:
    wrong(np.array([1, 1, 1.01, 1.01, 1], "f4"))
    found = sg.diff(f, X)
    row = found.divergence
    assert row is not None
    assert row.op == "add"
    line = f"{__file__}:{f.__code__.co_firstlineno + 1}"
    assert f"add ({line}), in iteration {first} of scan ({line}): " in found.verdict
    assert f"add, iteration {first}" in str(found)


def test_in_a_loop_the_earliest_iteration_comes_before_the_earliest_line(
    wrong: Callable[[np.ndarray], None],
) -> None:
    wrong(np.array([1, 1, 1, 1, 1.01], "f4"))
    found = sg.diff(_forward, X, bound=0.0)
    assert found.divergence is not None
    steps = [row.inside[0].step for row in found.values if found.is_far(row) and row.inside]
    assert found.divergence.inside[0].step == min(steps)


def test_loops_in_loops_have_an_iteration_of_each() -> None:
    def f(xs: Any) -> Any:
        def row(h: Any, x: Any) -> Any:
            return sg.scan(lambda a, y: (sg.tanh(a * y), sg.exp(a)), h, x)

        return sg.scan(row, xs[0, 0] * 0 + 0.5, xs)

    found = sg.diff(f, X, bound=0.0)
    inner = [row for row in found.values if len(row.inside) == 2]
    assert {row.op for row in inner} == {"multiply", "tanh", "exp"}
    assert all(at.index < 5 for row in inner for at in row.inside)


def test_a_while_loop_is_opened_with_its_test() -> None:
    def f(x: Any) -> Any:
        return sg.while_loop(lambda v: sg.sum(v) < 100.0, lambda v: v * 1.5 + 1.0, x)

    for exact in (False, True):
        found = sg.diff(f, X[0] * 0, exact=exact)
        assert found.agrees, str(found)
        inside = {row.op for row in found.values if row.inside}
        assert inside == {"sum", "less", "multiply", "add"}
    never = sg.diff(f, X[0] * 0 + 1000)
    assert never.agrees
    assert {row.op for row in never.values if row.inside} == {"sum", "less"}


def _nested(xs: Any) -> Any:
    """A while loop, and a branch with a loop on one side, inside a scan."""

    def step(h: Any, x: Any) -> Any:
        v = sg.while_loop(lambda v: sg.sum(v) < 10, lambda v: v * 1.5 + 1, sg.abs(x))
        h = sg.cond(sg.sum(x) > 0, lambda a: sg.exp(a) + v, lambda a: _forward(xs)[0] - a, h)
        return sg.tanh(h), v

    return sg.scan(step, xs[0] * 0, xs)


def _steps(x: np.ndarray) -> int:
    v, count = np.abs(x), 0
    while v.sum() < 10:
        v, count = v * 1.5 + 1, count + 1
    return count


def test_loops_and_branches_in_loops_are_opened() -> None:
    found = sg.diff(_nested, X, exact=True)
    assert found.agrees, str(found)
    inside = [row.op for row in found.values if row.inside]
    assert inside == [
        "abs", "sum", "less", "multiply", "add", "item", "sum", "greater", "exp", "add",
        "strided_slice", "squeeze", "multiply", "add", "tanh", "exp", "item", "subtract", "item",
        "tanh",
    ]  # fmt: skip
    assert all(row.equal for row in found.values)


@pytest.mark.slow
def test_values_of_a_side_are_compared_where_it_is_taken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: dict[str, Any] = {}
    add = Within.add

    def noted(self: Any, both: Any, taken: Any, *place: Any) -> None:
        line, op = self._inside.node.source.rpartition(":")[2], self._inside.node.op.name
        seen[f"{op} {int(line) - _nested.__code__.co_firstlineno}"] = taken
        add(self, both, taken, *place)

    monkeypatch.setattr(Within, "add", noted)
    sg.diff(_nested, X)
    positive = X.sum(1) > 0
    assert np.array_equal(seen["exp 5"], positive)
    assert np.array_equal(seen["subtract 5"], ~positive)
    counts = np.array([_steps(x) for x in X])
    tested = np.arange(counts.max() + 1)
    assert np.array_equal(seen["less 4"], tested <= counts[:, None])
    assert np.array_equal(seen["multiply 4"], tested < counts[:, None])


def test_a_branch_of_a_graph_is_opened_on_the_side_that_is_taken() -> None:
    def f(x: Any) -> Any:
        return sg.cond(sg.sum(x) > 0, sg.exp, lambda a: sg.sqrt(-a) + 1, x)

    for sign, ops in ((1, ["exp"]), (-1, ["negative", "sqrt", "add"])):
        found = sg.diff(f, sign * np.abs(X))
        assert [row.op for row in found.values] == ["sum", "greater", *ops, "item"]
        assert found.agrees


@pytest.mark.parametrize("f", [_forward, _backward, pytest.param(_nested, marks=pytest.mark.slow)])
def test_a_loop_with_much_inside_is_looked_at_a_few_iterations_at_a_time(
    f: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = sg.diff(f, X, bound=0.0)
    monkeypatch.setattr(diff_module, "MOST", 100 if f is not _nested else 2000)
    pieces = sg.diff(f, X, bound=0.0)
    assert not pieces.closed
    assert [row.title for row in pieces.values] == [row.title for row in whole.values]
    assert str(pieces.divergence).split(";")[1:] == str(whole.divergence).split(";")[1:]


def test_a_piece_of_a_loop_has_the_iterations_of_the_loop(
    wrong: Callable[[np.ndarray], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(diff_module, "MOST", 100)  # two iterations
    wrong(np.array([1, 1.01], "f4")[-1:])
    for f, first in ((_forward, 0), (_backward, 4)):
        found = sg.diff(f, X)
        assert found.divergence is not None
        assert found.divergence.inside[0].index == first


def test_an_iteration_with_too_much_inside_stays_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(diff_module, "MOST", 30)
    found = sg.diff(_forward, X)
    assert not any(row.inside for row in found.values)
    line = f"{Path(__file__)}:{_forward.__code__.co_firstlineno + 1}"
    assert found.closed == (f"scan ({line})",)
    assert f"not opened, for its values take too much memory: scan ({line})" in str(found)
