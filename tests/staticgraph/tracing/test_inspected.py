"""What a captured function shows of its calls: replay, trace, profile."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dynamic
import staticgraph as sg
from staticgraph.dynamic import nn


def _logs(x: Any) -> Any:
    return dynamic.log(x).sum() if isinstance(x, dynamic.Tensor) else sg.sum(sg.log(x))


def test_replay_refuses_a_function_that_was_not_called() -> None:
    f = sg.function(_logs, name="logs")
    with pytest.raises(sg.OptionError, match="logs: it has not been called: give replay"):
        f.replay()


def test_replay_refuses_calls_that_nobody_was_told_of() -> None:
    f = sg.function(_logs, name="logs")
    f(np.array([0.0]))
    with pytest.raises(sg.OptionError, match=r"logs: no call was inf or nan that function\("):
        f.replay()
    assert f.replay(np.array([0.0])).first.op == "log"  # type: ignore[union-attr]


def test_replay_is_of_the_last_call_that_was_told_of() -> None:
    f = sg.function(_logs, name="logs", on_nonfinite="raise")
    with pytest.raises(sg.NonFiniteError):
        f(np.array([1.0, 0.0]))
    with pytest.raises(sg.NonFiniteError):
        f(np.array([[1.0, 2.0], [3.0, 0.0]]))
    f(np.array([1.0, 2.0]))
    assert f.replay().first.place == (1, 1)  # type: ignore[union-attr]
    with pytest.raises(sg.NonFiniteError):
        f(np.array([0.0, 1.0]))
    assert f.replay().first.place == (0,)  # type: ignore[union-attr]


def test_replay_finds_what_the_reverse_pass_gave() -> None:
    f = sg.function(lambda x: dynamic.sqrt(x).sum(), name="roots", on_nonfinite="report")
    x = dynamic.tensor([4.0, 0.0], requires_grad=True)
    f(x).backward()
    first = f.replay().first
    assert first is not None
    assert first.gradient_of == "sqrt"
    assert "test_inspected.py" in first.line


@pytest.mark.slow
def test_a_function_of_a_module_is_inspected_with_its_own_arguments() -> None:
    layer = nn.Linear(3, 2)
    f = sg.function(lambda rows: layer(rows).relu(), name="f")
    rows = dynamic.randn(4, 3)
    expected = f(rows).detach().numpy()
    trace = f.trace(rows, rewrites=True)
    assert np.allclose(trace.steps[-1].value, expected, rtol=1e-5, atol=1e-6)
    assert "relu" in [op for step in f.profile(rows).steps for op in step.ops]
    assert "rows" in f.executable(rows).source
    assert f.replay(rows).lost == ()
