"""Totals and histories that a captured step keeps: changed at each call, after its results."""

from __future__ import annotations

from typing import Any

import pytest

import dynamic
import staticgraph as sg

X = [1.0, 2.0]


def _x(k: float = 1.0) -> Any:
    return dynamic.tensor(X) * k


def test_a_step_counts_and_collects_without_another_trace() -> None:
    state, losses = {"n": 0, "total": 0.0}, []

    def step(x: Any) -> Any:
        loss = (x * x).sum()
        state["n"] += 1
        state["total"] += loss.item()
        losses.append((state["n"], loss.item()))
        return x / state["n"]

    captured = sg.function(step, debug=True)
    for k in range(1, 5):
        assert captured(_x(k)).tolist() == [1.0, 2.0]
    assert state == {"n": 4, "total": 150.0}
    assert losses == [(1, 5.0), (2, 20.0), (3, 45.0), (4, 80.0)]
    assert (len(captured.traces), captured.explain().retraced) == (1, 0)
    shown = str(captured.explain())
    assert shown.count("is changed by each call, when its results are there") == 3
    state["n"] = 1.5  # type: ignore[assignment]
    captured(_x())
    assert state["n"] == 2.5
    state["n"] = "none"  # type: ignore[assignment]
    with pytest.raises(TypeError, match="str"):
        captured(_x())


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (
            lambda seen, x: seen.append(x),
            "keeps a tensor that is on the memory of one from outside",
        ),
        (lambda seen, x: seen.insert(0, 1), "reads seen, to which it appends"),
        (lambda seen, x: seen.append(object()), "keeps a value of type object"),
        (lambda seen, x: (seen.append(1), seen[-1]), "reads seen, to which it appends"),
    ],
)
def test_what_cannot_be_kept_is_refused_and_put_back(change: Any, why: str) -> None:
    seen = [0]

    def step(x: Any) -> Any:
        change(seen, x)
        return x * 2

    with pytest.raises(sg.EffectError, match=r"test_kept\.py:\d+: changes len\(seen\)") as refused:
        sg.function(step)(_x())
    assert why in str(refused.value.__cause__)
    assert seen == [0]


def test_a_tensor_that_is_kept_and_returned_or_an_error_after_a_change_is_refused() -> None:
    kept: list[Any] = []
    state = {"n": 0}

    def both(x: Any) -> Any:
        y = x * 2
        kept.append(y)
        return y

    def late(x: Any) -> Any:
        state["n"] += 1
        raise ValueError("late")

    with pytest.raises(sg.EffectError, match="changes len") as refused:
        sg.function(both)(_x())
    assert "keeps a tensor that it also returns" in str(refused.value.__cause__)
    with pytest.raises(sg.EffectError, match=r"changes state\['n'\]") as refused:
        sg.function(late)(_x())
    assert "raises ValueError after it has changed state['n']" in str(refused.value.__cause__)
    assert (kept, state) == ([], {"n": 0})


def test_a_number_that_a_call_computes_is_no_tensor_that_is_written() -> None:
    def f(x: Any, k: float) -> Any:
        before, total = k, x.sum().item()
        k += 1
        also = total
        also *= 3
        return x * before + total, k

    found, k = sg.function(f, debug=True)(_x(), 2.0)
    assert (found.tolist(), float(k)) == ([5.0, 7.0], 3.0)


def test_a_container_that_is_handed_back_is_the_one_that_was_given() -> None:
    held = {"a": _x()}
    captured = sg.function(lambda batch, x: ((batch, x * 2), held), debug=True)
    for _ in range(2):
        batch = [_x(), {"b": _x()}]
        (given, _), own = captured(batch, _x())
        assert given is batch
        assert own is held


def test_a_budget_of_memory_is_that_of_each_graph() -> None:
    captured = sg.function(lambda x: sg.sum(sg.exp(x @ x)), memory=2**16)
    x = dynamic.ones(16, 16).numpy()
    assert float(captured(x)) == pytest.approx(float(256 * 2.718281828**16), rel=1e-5)
    assert "16, 16" in str(captured.traces[0])
    with pytest.raises(sg.OptionError, match="memory=10 is 10 bytes"):
        sg.function(lambda x: sg.sum(sg.exp(x @ x)), memory=10)(x)
