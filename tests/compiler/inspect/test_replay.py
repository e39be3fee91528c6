"""Replay: which op made inf or nan, where in loops, for whose gradient, and by which rewrite."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import staticgraph as sg
from staticgraph.compiler.inspect.origins import Origin


def here() -> str:
    """The place of the caller's line."""
    frame = inspect.currentframe()
    assert frame is not None
    assert frame.f_back is not None
    return f"{__file__}:{frame.f_back.f_lineno}"


def first_of(run: sg.Executable, *args: object) -> Origin:
    found = run.replay(*args).first
    assert found is not None
    return found


def test_the_report_names_op_shape_ranges_place_and_line() -> None:
    x = sg.placeholder("x", (None, 2), "float64")
    w = sg.variable(np.array([1.0, -1.0]), "w")
    line, h = here(), sg.log(x @ w)
    run = sg.compile([x], {"loss": sg.sum(h * h)}, {w: w - sg.mean(h)}, name="f")
    before = w.value
    report = run.replay(x=np.array([[3.0, 1.0], [2.0, 2.0]]))
    assert_array_equal(w.value, before)
    assert report.lost == ("output", "the update of 'w'")
    (found,) = report.causes
    assert (found.op, found.source, found.line, found.gradient_of) == ("log", line, line, "")
    assert (found.place, found.first) == ((1,), (-np.inf, 0.0))
    assert (found.value.inf, found.value.nan, found.value.high) == (1, 0, np.log(2))
    assert [(one.low, one.high) for one in found.operands] == [(0, 2)]
    assert str(report) == (
        "f: not finite: output, the update of 'w'\n"
        f"  log = float64[2]: 1 not finite, the first is -inf at [1], of 0  ({line})\n"
        "    operand 0: float64[2] from 0 to 2"
    )
    fine = run.replay(np.array([[3.0, 1.0]]))
    assert (fine.lost, fine.causes, fine.intermediate) == ((), (), ())
    assert str(fine) == "f: all outputs and updates are finite"


def test_what_comes_to_nothing_is_not_among_the_causes() -> None:
    x = sg.placeholder("x", (None,), "float64")
    line, logs = here(), sg.log(x)
    masked = sg.softmax(sg.where(x > 0, logs, -np.inf))
    report = sg.compile([x], masked).replay(np.array([0.0, 1.0]))
    assert not report.causes
    assert [(one.op, one.source) for one in report.intermediate] == [("log", line)]
    assert "on the way, in nothing that came out" in str(report)
    nan_line, nan = here(), sg.sqrt(x - 1)
    report = sg.compile([x], masked * nan).replay(np.array([0.0, 1.0]))
    assert [(one.op, one.source) for one in report.causes] == [("sqrt", nan_line)]


def test_an_input_and_a_variable_are_named_themselves() -> None:
    x = sg.placeholder("x", (None,), "float64")
    w = sg.variable(np.array([1.0, np.nan]), "w")
    run = sg.compile([x], [sg.exp(x), w * 2])
    report = run.replay(np.array([np.inf]))
    assert report.lost == ("output 0", "output 1")
    assert {(one.op, one.name) for one in report.causes} == {
        ("placeholder", "x"),
        ("variable", "w"),
    }
    assert all(one.is_leaf for one in report.causes)
    passed_on = sg.compile([x], {"x": x}).replay(np.array([np.nan]))
    assert [one.name for one in passed_on.causes] == ["x"]


def test_of_a_gradient_the_forward_op_and_line_are_named() -> None:
    x = sg.placeholder("x", (), "float64")
    line, y = here(), sg.sqrt(x)
    found = first_of(sg.compile([x], sg.grad(y, x)), 0.0)
    assert found.source == f"gradient of sqrt at {line}"
    assert (found.gradient_of, found.line) == ("sqrt", line)


def loop() -> tuple[Any, Any, str]:
    xs = sg.placeholder("xs", (None,), "float64")
    lines = []

    def body(total: Any, x: Any) -> Any:
        lines.append(here())
        return total + sg.cond(x > 2, lambda a: sg.log(a - 3), lambda a: a, x), x * 2

    total, ys = sg.scan(body, sg.constant(np.array(0.0)), xs)
    return xs, [total, ys], str(lines[0].rpartition(":")[2])


@pytest.mark.parametrize("policy", ["raise", None])
def test_inside_loops_and_branches_the_iteration_is_named(policy: str | None) -> None:
    xs, outputs, number = loop()
    gradient = sg.grad(outputs[0], xs)
    run = sg.compile([xs], [outputs[0], gradient], on_nonfinite=policy)
    given = np.array([1.0, 5.0, 2.0, 3.0, 1.0, 3.0])
    if policy:
        with pytest.raises(sg.NonFiniteError, match="in iteration 3 of scan"):
            run(given)
        found = run.replay().first
        assert found is not None
    else:
        found = first_of(run, given)
    scan, cond = found.iterations
    assert (found.op, found.line) == ("log", f"{__file__}:{int(number) + 1}")
    assert (scan.op, scan.index, cond.op, cond.part) == ("scan", 3, "cond", "on_true")
    assert "in iteration 3 of scan" in str(found)
    assert "in the true branch of cond" in str(found)


def test_a_while_loop_names_body_and_condition() -> None:
    x = sg.placeholder("x", (), "float64")
    steps, grown = sg.while_loop(
        lambda c: c[0] < 8, lambda c: (c[0] + 1, c[1] * 1e100), (sg.constant(np.array(0)), x)
    )
    (iteration,) = first_of(sg.compile([x], [steps, grown]), 1.0).iterations
    assert (iteration.op, iteration.index, iteration.part) == ("while_loop", 3, "body")
    found = sg.while_loop(lambda c: sg.log(c) < -1e30, lambda c: c + 1, x)
    report = sg.compile([x], found).replay(0.0)
    (iteration,) = report.intermediate[0].iterations
    assert str(iteration).startswith("in the condition of iteration 0 of while_loop")


def test_in_a_reverse_scan_the_iteration_is_that_of_the_slice() -> None:
    xs = sg.placeholder("xs", (4,), "float64")
    last, _ = sg.scan(
        lambda c, x: (c + sg.log(x), None), sg.constant(np.array(0.0)), xs, reverse=True
    )
    (iteration,) = first_of(sg.compile([xs], last), np.array([1.0, 0.0, 1.0, 1.0])).iterations
    assert (iteration.index, iteration.step) == (1, 2)


def test_a_rewrite_that_stands_between_is_named() -> None:
    x, y = sg.placeholder("x", (None, 2)), sg.placeholder("y", (None, 1))
    run = sg.compile([x, y], x / y, numerics="fast", on_nonfinite="raise")
    with pytest.raises(sg.NonFiniteError, match="rewrite does not: divide_by_broadcast"):
        run(np.full((1, 2), 1e-30, "float32"), np.full((1, 1), 1e-40, "float32"))
    report = run.replay()
    assert (report.causes, report.rewrites) == ((), ("divide_by_broadcast",))
    assert report.first is report.ran[0]


def test_a_rewrite_that_mends_it_is_told() -> None:
    x = sg.placeholder("x", (None,), "float32")
    run = sg.compile([x], sg.log(sg.sum(sg.exp(x))), on_nonfinite="raise", name="lse")
    assert run([200.0]) == 200
    report = run.replay([200.0])
    assert report.is_finite
    assert [one.op for one in report.causes] == ["exp"]
    assert str(report).startswith("lse: as it was defined, not finite: output")
    assert str(report).endswith("after rewrites, gives finite values op by op with NumPy")


def test_where_the_rewritten_graph_begins_elsewhere_both_are_named() -> None:
    x = sg.placeholder("x", (None,), "float32")
    report = sg.compile([x], sg.softmax(sg.log(x) * np.inf)).replay([0.0, 1.0])
    assert report.causes
    assert report.ran


def test_without_a_kernel_the_graph_as_defined_is_run() -> None:
    x = sg.placeholder("x", (None,), "float64")
    run = sg.compile([x], sg.sqrt(x), debug=True)
    report = run.replay([-1.0])
    assert (report.compiled, report.first is not None) == (False, True)


def test_there_must_be_a_call_to_replay() -> None:
    x = sg.placeholder("x", (None,), "float64")
    for policy in (None, "raise"):
        run = sg.compile([x], sg.sqrt(x), name="root", on_nonfinite=policy)
        run([1.0])
        with pytest.raises(sg.OptionError, match=r"root: no call was inf or nan .*give replay the"):
            run.replay()
    count = sg.variable(np.array(-1.0), "count")
    assert first_of(sg.compile([], sg.sqrt(count))).op == "sqrt"


def test_a_trace_goes_into_loops_and_shows_gradients_apart() -> None:
    xs, (total, _), _ = loop()
    run = sg.compile([xs], [total, sg.grad(total, xs)])
    given = np.array([1.0, 5.0, 4.5, 1.0])
    trace = run.trace(given, iterations=2)
    logs = [step for step in trace.forward if step.op == "log"]
    assert [[one.index for one in step.iterations] for step in logs] == [[1, 0]]
    assert len(trace.forward) + len(trace.gradient) == len(trace)
    assert all(step.is_gradient for step in trace.gradient)
    text = str(trace).splitlines()
    assert any(line.startswith("in iteration 1 of scan") for line in text)
    assert any(line.startswith("    log(float64[]) =") for line in text)
    assert "gradient:" in text
    whole = run.trace(given, iterations=None)
    assert len([step for step in whole.forward if step.op == "log"]) == 2
    assert not any(step.iterations for step in run.trace(given, iterations=0))


def test_a_trace_of_what_runs_has_the_rewritten_ops() -> None:
    x = sg.placeholder("x", (None,), "float64")
    run = sg.compile([x], sg.log(1 + x))
    assert [step.op for step in run.trace([0.5])][-1] == "log"
    rewritten = run.trace([0.5], rewrites=True)
    assert [step.op for step in rewritten] == ["log1p"]
    assert_array_equal(rewritten[0].value, np.log1p([0.5]))


def test_names_of_placeholders_come_before_options_of_trace() -> None:
    x, y = (sg.placeholder(name, (), "float64") for name in ("rewrites", "iterations"))
    run = sg.compile([x, y], x + y)
    assert_array_equal(run.trace(rewrites=1.0, iterations=2.0)[0].value, 3)
    other = sg.compile([x], x + 1)
    with pytest.raises(sg.OptionError, match="iterations is a number or None for all, not -1"):
        other.trace(1.0, iterations=-1)
    plain = sg.placeholder("x", (), "float64")
    with pytest.raises(sg.OptionError, match="rewrites is True or False, not 'all'"):
        sg.compile([plain], plain + 1).trace(1.0, rewrites="all")


def test_debug_mode_names_the_iteration_and_warns_once() -> None:
    xs, (total, _), _ = loop()
    steps: list[Any] = []
    run = sg.compile([xs], total, debug=steps.append)
    with pytest.warns(sg.NonFiniteWarning) as caught:
        run(np.array([1.0, 3.0]))
    assert len(caught) == 1
    message = str(caught[0].message)
    assert "in iteration 1 of scan" in message
    assert "in the true branch of cond" in message
    assert [one.index for one in steps[-3].iterations] or any(step.iterations for step in steps)


def test_report_keeps_the_inputs_of_the_last_call() -> None:
    x = sg.placeholder("x", (None,), "float64")
    w = sg.variable(np.array(1.0), "w")
    run = sg.compile([x], sg.sum(sg.sqrt(x) * w), {w: w / 0.5}, on_nonfinite="report")
    run([4.0])
    assert not run.replay().causes
    run(x=[-1.0], out=np.zeros(()))
    assert [one.op for one in run.replay().causes] == ["sqrt"]
    run([1.0])
    assert not run.replay().causes
    hidden = sg.compile([x], sg.exp(-sg.reciprocal(x)), on_nonfinite="report")
    assert hidden([0.0]) == 0
    report = hidden.replay()
    assert (report.lost, [one.op for one in report.intermediate]) == ((), ["reciprocal"])


def test_loops_are_not_told_of_beside_the_op_in_them() -> None:
    x = sg.placeholder("x", (3, 4), "float64")

    def outer(c: Any, row: Any) -> Any:
        return sg.scan(lambda d, v: (d + sg.log(v), None), c, row)[0], None

    f = sg.compile([x], sg.scan(outer, np.zeros(()), x)[0])
    given = np.ones((3, 4))
    given[1, 2] = -1
    report = f.replay(given)
    assert [one.op for one in report.causes] == ["log"]
    assert report.intermediate == ()


def test_a_trace_of_what_runs_in_debug_mode_is_of_the_graph_itself() -> None:
    x = sg.placeholder("x", (None,), "float64")
    f = sg.compile([x], sg.log1p(sg.exp(x)), debug=True)
    steps = f.trace(np.ones(2), rewrites=True)
    assert [one.op for one in steps] == ["exp", "log1p"]


def test_what_only_the_kernel_rounds_to_inf_is_told_so() -> None:
    x = sg.placeholder("x", (None,), "float64")
    f = sg.compile([x], sg.sum(x * 1e308), name="f", on_nonfinite="raise")
    given = np.array([1.0, 1.0, -1.0, -1.0])
    plain = sg.compile([x], sg.sum(x * 1e308))
    given = next(one for one in (given, given[[0, 2, 1, 3]]) if not np.isfinite(plain(one)))
    with pytest.raises(sg.NonFiniteError) as raised:
        f(given)
    report = f.replay()
    assert (report.rounded, report.is_finite, report.first) == (True, False, None)
    assert "a kernel adds and rounds in another order" in str(raised.value)


def test_nan_out_of_inf_is_placed_where_it_is() -> None:
    x = sg.placeholder("x", (None,), "float64")
    f = sg.compile([x], sg.cumsum(x))
    causes = f.replay(np.array([1.0, np.inf, -np.inf])).causes
    assert [(one.op, one.place) for one in causes] == [("placeholder", (1,)), ("cumsum", (2,))]


def test_steps_of_a_line_are_not_those_of_a_longer_name() -> None:
    x = sg.placeholder("x", (None,), "float64")
    steps = sg.compile([x], sg.exp(x)).trace(np.ones(2))
    (place,) = {one.source for one in steps}
    file, _, line = place.rpartition("/")[2].partition(":")
    assert len(steps.at(f"{file}:{line}")) == len(steps.at(place)) == 1
    assert steps.at(line[-1]) == steps.at(file[1:] + f":{line}") == steps.at("") == []


def test_what_rewrites_keep_finite_is_not_said_to_be_lost() -> None:
    """log(sigmoid(x)) is -softplus(-x) in what runs; its gradient was made before that."""
    x, w = sg.placeholder("x", (2,), "float64"), sg.variable(np.ones(2), "w")
    loss = sg.sum(sg.log(sg.sigmoid(x * w)))
    train = sg.compile(
        [x],
        loss,
        updates=sg.optim.SGD(lr=0.1).minimize(loss),
        on_nonfinite="raise",
    )
    with pytest.raises(sg.NonFiniteError) as caught:
        train(np.array([1.0, -4000.0]))
    found = train.replay()
    assert found.lost == ("the update of 'w'",) and found.saved == ("output",)
    assert found.first is not None and found.first.op == "log"
    first, *others = str(caught.value).splitlines()
    assert first.endswith(": not finite: the update of 'w'")
    assert "finite after rewrites alone: output" in others
    np.testing.assert_array_equal(w.value, np.ones(2))
