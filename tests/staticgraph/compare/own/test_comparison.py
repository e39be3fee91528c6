"""A function compared in this process, in processes of its own, and what is said of it."""

from __future__ import annotations

import json
import re
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dynamic
import staticgraph as sg
from staticgraph.__main__ import main
from staticgraph.compare import compare_functions
from staticgraph.compare.agreement import against
from staticgraph.compare.figures import Ahead
from staticgraph.compare.given import given
from staticgraph.compare.own import run
from staticgraph.compare.own.comparison import Comparison
from staticgraph.compare.own.records import SCHEMA, Entry, StepTime
from staticgraph.compare.own.verdict import verdict
from staticgraph.compare.own.work import least_work
from staticgraph.compare.process import SERVER
from staticgraph.compare.report.own_page import page
from staticgraph.compiler.core.errors import OptionError
from staticgraph.compiler.inspect.limits import Limits
from tests.staticgraph.compare.found_limits import FoundLimits

pytestmark = pytest.mark.slow

LIMITS = Limits(1, {2**20: 1e12}, {"float32": 1e13, "float64": 1e13}, 1e-9)
QUICK = {"seconds": 0.002, "rounds": 2, "threads": 1}


def _loss(x: Any, w: Any, y: Any, scale: float = 1.0) -> Any:
    hidden = sg.tanh(x @ w)
    return ((hidden - y) ** 2).mean() * scale


@pytest.fixture(scope="module")
def found() -> Comparison:
    """A local function over two sizes, which is measured in this process."""

    def loss(x: Any, w: Any, y: Any, scale: float = 1.0) -> Any:
        return _loss(x, w, y, scale)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run, "Meter", lambda numbers: FoundLimits(LIMITS))
        return compare_functions(
            loss, "x=f32[n,8],w=f32[8],y=i64[0..1][n],scale=3", sweep="n=2,64", **QUICK
        )


def test_all_ours_are_measured_at_all_sizes(found: Comparison) -> None:
    assert found.schema == SCHEMA
    assert found.complete
    assert found.gradient == ("x", "w")
    assert [point.sizes for point in found.points] == [{"n": 2}, {"n": 64}]
    for point in found.points:
        assert [one.contender for one in point.entries] == ["compiled", "sg.function", "eager"]
        for one in point.entries:
            assert one.failure is None
            assert one.agrees
            assert one.median is not None
            assert one.minimum is not None
            assert 0 < one.minimum <= one.median
            assert len(one.rounds) == 2
            assert one.fraction is not None
            assert one.fraction < 1
    assert found.traces == 1
    assert found.compile_cold is not None
    assert "@ w" not in found.kernel.partition("def kernel")[2]
    assert "argnums=(0, 1)" in found.static


def test_where_the_time_goes_is_told_with_lines(found: Comparison) -> None:
    for point in found.points:
        forward = [op for op in point.ops if op.direction == "forward"]
        backward = [op for op in point.ops if op.direction == "backward"]
        assert {"matmul", "tanh", "sub", "pow", "mean", "mul"} <= {op.op for op in forward}
        assert {"matmul", "tanh", "sub", "pow", "mean", "mul"} <= {op.op for op in backward}
        assert all(op.seconds > 0 for op in point.ops)
        (tanh,) = (op for op in forward if op.op == "tanh")
        line = _loss.__code__.co_firstlineno + 1
        assert tanh.line == str(line)
        assert point.steps
        assert any(f"test_comparison.py:{line}" in x for step in point.steps for x in step.lines)


def test_the_record_is_shown(found: Comparison) -> None:
    text = str(found)
    for part in ("n = 64", "compiled at", "sg.function", "eager at", "tanh"):
        assert part in text
    assert all(sentence in text for sentence in found.verdict)
    shown = found._repr_html_()
    assert shown.startswith("<div")
    whole = page(found)
    assert whole.startswith("<!DOCTYPE html>")
    assert "http" not in whole.replace("http-equiv", "")  # nothing is loaded
    charts = [part.partition("</svg>")[0] for part in whole.split("<svg")[1:]]
    assert len(charts) >= 4
    for chart in charts:
        ElementTree.fromstring(f"<svg{chart}</svg>")
        assert "nan" not in chart


def _with(found: Comparison, change: Callable[[Entry], Entry]) -> Comparison:
    points = tuple(
        replace(point, entries=tuple(map(change, point.entries))) for point in found.points
    )
    return replace(found, points=points)


def test_the_verdict_says_when_static_pays(found: Comparison) -> None:
    times = {"compiled": 1e-6, "sg.function": 5e-6, "eager": 1e-4}

    def change(one: Entry) -> Entry:
        ahead = None if one.contender == "compiled" else Ahead(1234)
        seconds = times[one.contender]
        return replace(one, median=seconds, minimum=seconds, ahead=ahead)

    said = " ".join(verdict(_with(found, change)))
    assert "A compiled call is 100 times as fast as eager at n = 2" in said
    assert "paid back after 1,234 calls at n = 2" in said
    assert "All agree with eager in values and gradients" in said


def test_the_verdict_says_when_the_machine_was_busy(found: Comparison) -> None:
    def change(one: Entry, busy: float) -> Entry:
        eager = one.contender == "eager"
        return replace(one, minimum=3e-6 if eager else 1e-6, median=3e-6 * busy if eager else 1e-6)

    said = " ".join(verdict(_with(found, lambda one: change(one, 29.0))))
    assert "medians at n = 2 are up to 29.0 times the minima" in said
    assert "3.0 times as fast as eager at n = 2 by the minima (1.00 µs against 3.00 µs)" in said
    assert "29 times as fast" not in said
    assert "did something else" not in " ".join(verdict(_with(found, lambda x: change(x, 1.5))))


def test_the_report_says_what_was_given(found: Comparison) -> None:
    first, last = (point.inputs for point in found.points)
    assert [(one.name, one.dtype, one.shape) for one in first] == [
        ("x", "float32", (2, 8)), ("w", "float32", (8,)), ("y", "int64", (2,)),
    ]  # fmt: skip
    assert last[0].shape == (64, 8)
    assert last[0].least is not None
    assert last[0].largest is not None
    assert last[0].least < 0 < last[0].largest
    whole = page(found)
    assert "The inputs" in whole
    assert "[64, 8]" in whole
    empty = given({"k": np.array([np.nan])})
    assert empty[0].cells() == ["k", "float64", "[1]", "-", "-", "-"]


def test_the_verdict_says_when_it_does_not(found: Comparison) -> None:
    def change(one: Entry) -> Entry:
        slow = one.contender == "compiled"
        seconds = 2e-4 if slow else 1e-4
        return replace(
            one, median=seconds, minimum=seconds, ahead=None if slow else Ahead(None),
            agrees=slow or one.contender == "eager", fraction=1.5,
        )  # fmt: skip

    said = " ".join(verdict(_with(found, change)))
    assert "slower than eager, by a factor of 2.0" in said
    assert "It never pays at n = 2; at n = 64" in said
    assert "MISMATCH: sg.function and eager differ" in said
    assert "faster than the limit that could be measured" in said


def test_failures_are_said(found: Comparison) -> None:
    lost = Entry("jax", 0, failure="TypeError: no")
    points = tuple(replace(point, entries=(*point.entries, lost)) for point in found.points)
    said = " ".join(verdict(replace(found, points=points, complete=False)))
    assert "jax did not run it: TypeError: no" in said
    assert "interrupted" in said
    assert "jax: TypeError: no" in page(replace(found, points=points))


def test_arrays_may_be_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "Meter", lambda numbers: FoundLimits(LIMITS))
    seen: list[str] = []
    found = compare_functions(
        lambda x: {"twice": x + x, "sum": sg.sum(x)}, {"x": np.arange(4.0)}, gradient=(),
        watch=seen.append, **QUICK,
    )  # fmt: skip
    (point,) = found.points
    assert point.sizes == {}
    assert all(one.agrees for one in point.entries)
    assert found.inputs == "x=f64[4]"
    assert seen
    assert str(found)
    assert page(found)


@pytest.mark.parametrize(
    ("f", "given", "message"),
    [(3, {}, "3 is no function"),
     (lambda x: x, {"inputs": {}}, "there are no inputs"),
     (lambda x: x, {"inputs": "y=f32"}, "takes no 'y'"),
     (lambda x: x, {"peers": ["torch"]}, "is no function of a file, which peers could run")],
)  # fmt: skip
def test_what_cannot_be_compared(f: Any, given: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        compare_functions(f, **{"inputs": "x=f32[3]", **given})


def test_a_failure_of_the_function_is_that_of_its_contenders(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(run, "Meter", lambda numbers: FoundLimits(LIMITS))

    def broken(x: Any) -> Any:
        raise ValueError("not today")

    found = compare_functions(broken, "x=f32[3]", **QUICK)
    for one in found.points[0].entries:
        assert one.failure == "ValueError: not today"
    assert run.status(found) == run.FAILED
    assert found.verdict == (
        "compiled, sg.function, eager could not run it: ValueError: not today",
    )


def test_a_function_that_has_to_know_its_sizes_is_compiled_for_each(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(run, "Meter", lambda numbers: FoundLimits(LIMITS))

    def regularised(x: Any) -> Any:
        return (x @ x.mT + dynamic.linspace(0, 1, x.shape[0])).sum()

    found = compare_functions(regularised, "x=f32[n,2]", sweep="n=3,5", **QUICK)
    assert all(one.agrees for point in found.points for one in point.entries)
    assert found.traces == 2
    said = " ".join(found.verdict)
    assert "once, for each size" in said
    assert "the size n is unknown until run time" in found.needs
    assert "`return (x @ x.mT + dynamic.linspace(0, 1, x.shape[0])).sum()`" in found.needs
    assert "shapes" not in found.static


def test_nothing_agrees_where_eager_is_alone(found: Comparison) -> None:
    def change(one: Entry) -> Entry:
        lost = one.contender != "eager"
        return replace(one, agrees=None, failure="Error: no") if lost else one

    said = " ".join(verdict(_with(found, change)))
    assert "compiled, sg.function could not run it: Error: no" in said
    assert "agree" not in said


def test_what_is_not_finite_is_said_and_a_branch_is_no_result(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(run, "Meter", lambda numbers: FoundLimits(LIMITS))

    def loss(x: Any, q: Any) -> Any:
        y = sg.log(x) @ q
        if q.sum() > 0:
            return (sg.tanh(y) ** 2).sum()
        return y.sum()

    x = -np.ones((4, 3, 2), "float32")
    x[0] = 1.0
    found = compare_functions(loss, {"x": x, "q": np.ones(2, "float32")}, **QUICK)
    (point,) = found.points
    assert [(one.result, one.count, one.size) for one in point.not_finite] == [
        ("the value", 1, 1), ("the gradient by x", 18, 24), ("the gradient by q", 2, 2),
    ]  # fmt: skip
    assert all(one.agrees for one in point.entries)
    said = [one for one in found.verdict if "finite" in one.lower()]
    assert said[0].startswith(
        "NOT FINITE: here eager gives inf or nan: 1 of 1 in the value, 18 of 24 in the gradient by"
    )
    assert said[1].startswith(
        "All agree with eager in values and gradients, where these are finite"
    )
    assert said[0] in str(found)
    assert f"<li class='bad'>{said[0]}" in page(found)
    products = {op.op for op in point.ops if op.line == str(loss.__code__.co_firstlineno + 1)}
    assert products == {"log", "matmul"}  # not PyTorch's last step, a view


def test_of_a_branch_the_longest_step_inside_is_named(found: Comparison) -> None:
    branch = StepTime(("cond",), (), 1.0, ("multiply", "tanh"))
    points = tuple(replace(point, steps=(branch,)) for point in found.points)
    said = " ".join(verdict(replace(found, points=points)))
    assert "100 % of the compiled time at n = 64 is cond, inside which multiply, tanh takes" in said


def test_what_rounding_explains_agrees() -> None:
    expected = np.array([1.0, 1e-7], "float32")
    assert against([expected], [expected]).agrees
    assert not against([expected], [expected * np.float32(1.01)]).agrees
    tiny, other = np.array([1e-7], "float32"), np.array([2e-7], "float32")
    assert not against([tiny], [other]).agrees
    assert against([tiny], [other], [np.array([1.5e-7])]).agrees  # eager itself is as far off
    assert not against([tiny], [other], [np.array([1.0000001e-7])]).agrees
    assert not against([np.arange(3)], [np.array([0, 1, 3])]).agrees
    assert against([np.array([np.nan, np.inf])], [np.array([np.nan, np.inf])]).agrees
    assert not against([np.array([np.nan])], [np.array([1.0])]).agrees
    assert not against([np.array([1.0])], [np.array([np.nan])]).agrees
    lost, value = np.array([np.inf, 1.0]), np.array([2.0, 1.0])  # finite in higher precision
    assert against([lost], [value], [value]).agrees
    assert against([lost], [lost], [value]).agrees
    for wrong in (5.0, np.nan, -np.inf):
        assert not against([lost], [np.array([wrong, 1.0])], [value]).agrees
    assert not against([lost], [value], [lost]).agrees
    assert not against([expected], [expected[:1]]).agrees
    assert not against([expected], []).agrees


def test_the_least_work_is_that_of_products_and_elements() -> None:
    x, w = sg.placeholder("x", (None, 8)), sg.placeholder("w", (8, 16))
    f = sg.compile([x, w], sg.tanh(x @ w) + 1)
    moved, flops = least_work(f, [np.ones((4, 8), "float32"), np.ones((8, 16), "float32")])
    assert moved == 4 * (4 * 8 + 8 * 16 + 4 * 16)
    assert flops == {"float32": 2 * 4 * 16 * 8 + 2 * 4 * 16}
    s = sg.compile([x], sg.sum(x * x, axis=1))
    assert least_work(s, [np.ones((4, 8), "float32")])[1] == {"float32": 2 * 4 * 8}


def test_a_run_from_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(run, "Meter", lambda numbers: FoundLimits(LIMITS))
    file, report, record = (tmp_path / name for name in ("mine.py", "r.html", "r.json"))
    file.write_text("import staticgraph as sg\n\ndef f(x):\n    return sg.sum(sg.exp(x))\n")
    status = main([
        "compare", f"{file}:f", "--inputs", "x=f64[n]", "--sweep", "n=2,8", "--peers", "none",
        "--seconds", "0.002", "--rounds", "2", "--starts", "1", "--threads", "1",
        "--html", str(report), "--json", str(record),
    ])  # fmt: skip
    assert status == 0
    written = json.loads(record.read_text())
    assert written["schema"] == SCHEMA
    assert min(written["compile_cold"], written["compile_warm"]) > 0
    assert re.search(r"# x  <- mine\.py:3\n", written["kernel"])  # not a line of the process
    assert "server.py" not in written["kernel"]
    printed = capsys.readouterr().out
    assert "mine.py:f(x=f64[n])" in printed
    assert "A compiled call is" in report.read_text()


@pytest.mark.long
def test_a_workload_over_batches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(run, "Meter", lambda numbers: FoundLimits(LIMITS))
    status = main([
        "compare", "mlp_small", "--sweep", "n=1,100", "--peers", "none", "--seconds", "0.002",
        "--rounds", "2", "--starts", "1", "--threads", "1",
    ])  # fmt: skip
    printed = capsys.readouterr().out
    assert status == 0, printed
    assert "n = 100" in printed


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(["seed", "--sweep", "n=1..4"], "compare: seed has no sizes to sweep"),
     (["lost", "--sweep", "n=1..4"], "compare: unknown workload 'lost'"),
     (["seed", "rnn", "--sweep", "n=1..4"], "compare: one function, or one workload, at a time"),
     (["seed", "--inputs", "x=f32"], "compare: --inputs is for a function of your own: my.py:loss"),
     (["seed", "--gradient", "x"], "compare: --gradient is for a function of your own"),
     (["mlp_small", "--sweep", "n=1", "--no-gradient"], "compare: --no-gradient is for a function"),
     (["nothing.py:f"], "nothing.py: No such file or directory"),
     (["{file}"], "mine.py: which function? mine.py:f"),
     (["{file}:f"], "compare: what are the arguments of f(x, k)? --inputs 'x=f32[n,64]'"),
     (["{file}:f", "--inputs", "x=f33"], "compare: --inputs, character 3: 'f33' is no dtype"),
     (["{file}:f", "--inputs", "x=f32[n]"], "the size 'n' of the inputs has no value"),
     (["{file}:f", "--inputs", "x=i64[4]", "--gradient", "x"], "--gradient 'x': floating-point"),
     (["{file}:f", "--markdown", "m.md"], "compare: --markdown is for workloads in one size"),
     (["{file}:f", "--inputs", "x=f32", "--html", "/nowhere/r.html"], "cannot be written")],
)  # fmt: skip
def test_what_cannot_be_done_is_said_at_once(
    arguments: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "mine.py"
    file.write_text("def f(x, k=2):\n    return x\n")
    assert main(["compare", *(one.format(file=file) for one in arguments)]) == 2
    assert message in capsys.readouterr().err


def test_an_interruption_keeps_what_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "Meter", lambda numbers: FoundLimits(LIMITS))
    seen: list[str] = []

    def watch(what: str) -> None:
        seen.append(what)
        if what == "n = 9: eager, 1 thread: round 1":
            raise KeyboardInterrupt

    found = compare_functions(lambda x: sg.sum(x), "x=f64[n]", sweep="n=4,9,20",
                              watch=watch, **QUICK)  # fmt: skip
    assert not found.complete
    assert [point.sizes["n"] for point in found.points] == [4, 9]
    assert all(one.median is not None for one in found.points[0].entries)
    assert found.points[1].entries[-1].median is None
    assert "The run was interrupted: this is a part." in found.verdict
    assert seen[-1] == "interrupted"
    assert page(found)
    assert str(found)


def test_a_file_that_compares_while_it_is_loaded_is_told_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """In the process of a contender it would start contenders, and these again."""
    monkeypatch.setattr(sys.modules["__main__"], "__file__", str(SERVER), raising=False)
    with pytest.raises(OptionError, match="put the call under if __name__ == '__main__'"):
        compare_functions(lambda x: x, "x=f32[3]", **QUICK)
