"""Debug mode: the op, its values and the user's line, for errors, inf and nan, and on request."""

from __future__ import annotations

import inspect
import warnings
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import staticgraph as sg
from staticgraph.compiler.inspect.debug import Step


def here() -> str:
    """The place of the caller's line."""
    frame = inspect.currentframe()
    assert frame is not None
    assert frame.f_back is not None
    return f"{__file__}:{frame.f_back.f_lineno}"


def small() -> tuple[Any, Any, Any, Any, str]:
    x = sg.placeholder("x", (None, 2), "float64")
    w = sg.variable(np.array([1.0, -1.0]), "w")
    line, h = here(), sg.log(x @ w)
    return x, w, h, sg.sum(h * h), line


INPUT = np.array([[3.0, 1.0], [2.0, 0.5]])


def test_values_and_updates_are_those_of_the_kernel() -> None:
    results = []
    for debug in (False, True):
        x, w, h, loss, _ = small()
        updates = sg.optim.SGD(lr=0.1).minimize(loss)
        run = sg.compile([x], {"h": h, "loss": loss}, updates, debug=debug)
        assert isinstance(run, sg.Executable)
        assert run.ready
        results.append([run(INPUT), run(x=INPUT[:1]), w.value])
    for compiled, shown in zip(*results, strict=True):
        for one, other in zip(
            *(part.values() if isinstance(part, dict) else [part] for part in (compiled, shown)),
            strict=True,
        ):
            assert_allclose(other, one, rtol=1e-14)


def test_the_first_value_that_is_not_finite_is_named_with_its_operands_and_line() -> None:
    x, _, _, loss, line = small()
    updates = sg.optim.SGD(lr=0.1).minimize(loss)
    run = sg.compile([x], loss, updates, debug=True)
    bad = np.array([[3.0, 1.0], [2.0, 2.0]])
    message = (
        r"log\(float64\[2\]\): 1 of 2 values are not finite, the first is -inf at \[1\] of 0\.0"
    )
    with pytest.warns(sg.NonFiniteWarning, match=message) as caught:
        assert run(bad) == np.inf
    # what follows from it is not reported again; the place is the user's line
    assert [f"{one.filename}:{one.lineno}" for one in caught] == [line]
    assert f"({line})" in str(caught[0].message)
    run(bad)  # a line warns once


def test_a_gradient_that_is_not_finite_names_the_forward_line() -> None:
    x = sg.placeholder("x", (), "float64")
    line, y = here(), sg.sqrt(x)
    run = sg.compile([x], sg.grad(y, x), debug=True)
    with pytest.warns(
        sg.NonFiniteWarning, match="divide.*the first is inf of .* and 0.0"
    ) as caught:
        run(0.0)
    assert [f"{one.filename}:{one.lineno}" for one in caught] == [line]


def test_inf_that_the_user_wrote_is_no_surprise() -> None:
    x = sg.placeholder("x", (None,))
    masked = sg.softmax(sg.where(x > 0, x, -np.inf))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        value = sg.compile([x], masked, debug=True)([1.0, -1.0])
        assert_array_equal(value, [1, 0])
        assert np.isnan(sg.compile([x], x * 2, debug=True)([np.nan])[0])


def test_as_an_error_it_comes_each_time_and_nothing_is_updated() -> None:
    x, w, _, loss, _ = small()
    run = sg.compile([x], loss, sg.optim.SGD(lr=0.1).minimize(loss), debug=True)
    before = w.value
    with warnings.catch_warnings():
        warnings.simplefilter("error", sg.NonFiniteWarning)
        for _ in range(2):
            with pytest.raises(sg.NonFiniteWarning, match="not finite"):
                run([[1.0, 1.0]])
    assert_array_equal(w.value, before)


def test_an_error_names_the_op_and_the_line() -> None:
    x, i = sg.placeholder("x", (None, 3)), sg.placeholder("i", (None,), "int64")
    line, y = here(), sg.take(x, i, axis=1)
    run = sg.compile([x, i], y * 2, debug=True)
    with pytest.raises(sg.OutOfRangeError, match=r"take: index 5 .*<take: float32\[") as error:
        run(np.zeros((2, 3), "float32"), [0, 5])
    assert line in str(error.value)


def test_a_function_is_called_after_each_op() -> None:
    x, w, _, loss, line = small()
    steps: list[Step] = []
    run = sg.compile([x], loss, debug=steps.append)
    run(INPUT)
    assert [step.op for step in steps] == ["matmul", "log", "multiply", "sum"]
    assert_allclose(steps[0].value, [2.0, 1.5])
    assert steps[0].source == steps[1].source == line
    assert_array_equal(steps[0].operands[1], w.value)
    assert str(steps[3]) == (
        f"sum(float64[2]) = float64[] {np.log(2) ** 2 + np.log(1.5) ** 2:.6f}  ({steps[3].source})"
    )


def test_a_function_may_raise_and_stop_the_run() -> None:
    x, w, _, loss, _ = small()

    def stop(step: Step) -> None:
        raise LookupError(step.op)

    run = sg.compile([x], loss, sg.optim.SGD(lr=0.1).minimize(loss), debug=stop)
    before = w.value
    with pytest.raises(LookupError, match="matmul"):
        run(INPUT)
    assert_array_equal(w.value, before)


@pytest.mark.parametrize("debug", [False, True])
def test_a_trace_has_every_value_with_its_line_and_updates_nothing(debug: bool) -> None:
    x, w, _, loss, line = small()
    run = sg.compile([x], loss, sg.optim.SGD(lr=0.1).minimize(loss), debug=debug)
    before = w.value
    trace = run.trace(x=INPUT)
    assert_array_equal(w.value, before)
    forward = [step for step in trace.at(line) if step.op in ("matmul", "log")]
    assert [step.op for step in forward][:2] == ["matmul", "log"]
    assert_allclose(forward[1].value, np.log([2.0, 1.5]))
    assert len(trace) == len(list(trace))
    shown = [*trace.forward, "gradient:", *trace.gradient]
    assert str(trace).splitlines() == [str(step) for step in shown]
    assert set(map(id, trace)) == set(map(id, [*trace.forward, *trace.gradient]))
    assert trace[0] is next(iter(trace))
    product = next(step for step in trace if step.op == "matmul")
    run(INPUT)  # changes the variable, and not what the trace holds
    assert_array_equal(product.operands[1], before)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (np.array([True, False] * 3), "bool[6], 3 of 6 true"),
        (np.arange(5), "int64[5] from 0 to 4, mean 2"),
        (np.array([1, 2, np.nan, np.inf, 3.0]), "float64[5] from 1 to 3, mean 2, 2 not finite"),
        (np.full(5, np.nan), "float64[5], 5 not finite"),
        (np.zeros((0, 2)), "float64[0, 2] []"),
        ((np.zeros(()), np.ones(2)), "(float64[] 0., float64[2] [1., 1.])"),
    ],
)
def test_values_are_shown_shortly(value: Any, text: str) -> None:
    assert str(Step("op", "name", "a.py:1", (value,), {}, value)).endswith(f"= {text}  (a.py:1)")


def test_there_is_no_kernel() -> None:
    x = sg.placeholder("x", ())
    run = sg.compile([x], x + 1, debug=True, name="one more")
    message = r"one more runs op by op \(debug\), without a kernel: no attribute 'source'"
    with pytest.raises(AttributeError, match=message):
        run.source  # noqa: B018


def test_debug_is_a_flag_or_a_function() -> None:
    x = sg.placeholder("x", ())
    with pytest.raises(sg.OptionError, match="debug is True, False or a function"):
        sg.compile([x], x + 1, debug="all")  # type: ignore[arg-type]
    with pytest.raises(sg.OptionError, match="numerics is one of"):
        sg.compile([x], x + 1, debug=True, numerics="odd")
