"""`print` and `check` in every form of a program: each once, in order, and none dropped."""

from __future__ import annotations

import contextlib
import pickle
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dynamic
import staticgraph as sg
from staticgraph.compiler.ops.programs.effects import formatted, user_text

XS = np.array([1.0, 2.0, 3.0])
FORMS: dict[str, dict[str, Any]] = {
    "compiled": {},
    "not fused": {"fuse": False},
    "debug": {"debug": True},
    "background": {"background": True},
}


def told(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return capsys.readouterr().out.splitlines()


@pytest.mark.parametrize("form", FORMS)
def test_a_graph_prints_and_checks(form: str, capsys: pytest.CaptureFixture[str]) -> None:
    x = sg.placeholder("x", (None,), "float64")
    count = sg.variable(0.0, dtype="float64")
    y = sg.print("y", x * 2)
    sg.check(sg.all(x > 0), "x is {}, at least {:.1f}", x, sg.min(x))
    sg.print("{0:.2f} of {0}", sg.sum(y))
    f = sg.compile([x], y + 1, updates={count: count + 1}, **FORMS[form])
    assert f(XS).tolist() == [3.0, 5.0, 7.0]
    f.wait()
    assert told(capsys) == ["y [2. 4. 6.]", "12.00 of 12.0"]
    with pytest.raises(
        sg.CheckError, match=r"check: x is \[ 1. -1.\], at least -1.0.*test_effects"
    ):
        f(np.array([1.0, -1.0]))
    assert told(capsys) == ["y [ 2. -2.]"]
    assert count.value == 1.0  # nothing was updated
    f(XS[:1])
    assert told(capsys) == ["y [2.]", "2.00 of 2.0"]


def test_a_graph_has_the_effects_that_it_can_compute(capsys: pytest.CaptureFixture[str]) -> None:
    x, y = (sg.placeholder(name, (), "float64") for name in "xy")
    sg.print("x", x)
    sg.print("both", x + y)
    sg.print("x", x)  # equal ones are two
    assert sg.compile([x], x * 2)(1.0) == 2.0
    assert told(capsys) == ["x 1.0", "x 1.0"]
    assert sg.compile([x, y], x * y)(1.0, 2.0) == 2.0
    assert told(capsys) == ["x 1.0", "both 3.0", "x 1.0"]
    z = sg.placeholder("z", (), "float64")
    f = sg.compile([z], x * y, givens={x: z, y: z + 1})
    sg.print("z", z)  # f is compiled already
    assert f(1.0) == 2.0
    assert told(capsys) == ["x 1.0", "both 3.0", "x 1.0"]


def test_copies_print_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    x = sg.placeholder("x", (), "float64")
    sg.print("x is {:.1f} {{}}", x)
    f = sg.compile([x], x * 2)
    f.save(tmp_path / "f.sg")
    for g in (f, pickle.loads(pickle.dumps(f)), sg.load(str(tmp_path / "f.sg"))):
        assert g(1.0) == 2.0
        assert told(capsys) == ["x is 1.0 {}"]


def looped(xs: Any) -> Any:
    def step(c: Any, x: Any) -> Any:
        c = sg.print("c", c * x)
        sg.check(c < 7, "c is {}", c)
        return c, c

    return sg.scan(step, 1.0, xs)


def backwards(xs: Any) -> Any:
    return sg.scan(lambda c, x: (sg.print("c", c + x), None), 0.0, xs, reverse=True)[0]


def repeated(xs: Any) -> Any:
    return sg.while_loop(lambda c: c < 20, lambda c: sg.print("c {:.0f}", c * 2), xs[2])


def chosen(xs: Any) -> Any:
    return sg.cond(xs[0] > 0, lambda x: sg.print("yes", x), lambda x: x * 2, xs[1])


def nested(xs: Any) -> Any:
    def row(c: Any, x: Any) -> Any:
        d = sg.scan(lambda d, y: (sg.print("d", d + y), None), x, xs[:2])[0]
        sg.print("row", d)
        return sg.cond(d > 4, lambda e: e + sg.print("high", d), lambda e: e, c), None

    return sg.scan(row, xs[0] * 0, xs[:2])[0]


LOOPS: list[tuple[Callable[..., Any], list[str]]] = [
    (looped, [f"c {v} (iteration {i})" for i, v in enumerate((1.0, 2.0, 6.0))]),
    (backwards, [f"c {v} (iteration {i})" for i, v in enumerate((3.0, 5.0, 6.0))]),
    (repeated, [f"c {v} (iteration {i})" for i, v in enumerate((6, 12, 24))]),
    (chosen, ["yes 2.0"]),
    (
        nested,
        [
            "d 2.0 (iteration 0, 0)", "d 4.0 (iteration 0, 1)", "row 4.0 (iteration 0)",
            "d 3.0 (iteration 1, 0)", "d 5.0 (iteration 1, 1)", "row 5.0 (iteration 1)",
            "high 5.0 (iteration 1)",
        ],
    ),
]  # fmt: skip


@pytest.mark.parametrize("form", ["compiled", "debug"])
@pytest.mark.parametrize(("function", "lines"), LOOPS, ids=lambda one: getattr(one, "__name__", ""))
def test_loops_and_branches_print_each_iteration(
    function: Callable[..., Any], lines: list[str], form: str, capsys: pytest.CaptureFixture[str]
) -> None:
    sg.function(function, **FORMS[form])(XS)
    assert told(capsys) == lines


def test_eager_loops_print(capsys: pytest.CaptureFixture[str]) -> None:
    looped(dynamic.tensor(XS))
    assert told(capsys) == ["c 1.0", "c 2.0", "c 6.0"]


def test_a_check_in_a_loop_names_the_iteration() -> None:
    with pytest.raises(sg.CheckError, match=r"check: c is 8.0 \(iteration 1\) \(.*test_effects.py"):
        sg.function(looped)(np.array([2.0, 4.0, 1.0]))


@pytest.mark.parametrize("function", [looped, chosen])
def test_gradients_pass_and_repeat_nothing(
    function: Callable[..., Any], capsys: pytest.CaptureFixture[str]
) -> None:
    def total(xs: Any) -> Any:
        result = function(xs)
        return sg.sum(result[1]) if function is looped else result * 3

    expected = [9.0, 4.0, 2.0] if function is looped else [0.0, 3.0, 0.0]
    once = 3 if function is looped else 1
    assert sg.grad(total)(XS).tolist() == expected
    assert len(told(capsys)) == once
    x = dynamic.tensor(XS, requires_grad=True)
    sg.function(total)(x).backward()
    assert x.grad.numpy().tolist() == expected
    assert len(told(capsys)) == once


def test_checkpoints_do_not_repeat_effects(capsys: pytest.CaptureFixture[str]) -> None:
    def region(x: Any) -> Any:
        return sg.sin(sg.print("inside", x * 2))

    found = sg.grad(lambda x: sg.sum(sg.checkpoint(region, x)))(XS[:1])
    assert found.tolist() == [2 * np.cos(2.0)]
    assert told(capsys) == ["inside [2.]"]


def test_tensors(capsys: pytest.CaptureFixture[str]) -> None:
    def f(t: Any) -> Any:
        y = sg.print("y", t * 3)
        sg.check((y < 10).all(), "y reaches {}", y.max())
        return y.sum()

    t = dynamic.tensor(XS, requires_grad=True)
    for function in (f, sg.function(f)):
        t.grad = None
        function(t).backward()
        assert t.grad.numpy().tolist() == [3.0] * 3
        assert told(capsys) == ["y [3. 6. 9.]"]
        with pytest.raises(sg.CheckError, match=r"check: y reaches 12.0 \(.*test_effects.py"):
            function(t + 1)
        assert told(capsys) == ["y [ 6.  9. 12.]"]
    assert sg.print("none") is None
    assert sg.print("{} and {}", 1, XS[:2]) == (1, pytest.approx(XS[:2]))
    assert told(capsys) == ["none", "1 and [1. 2.]"]


def test_a_batch_prints_once_and_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    def one(x: Any) -> Any:
        sg.check(x < 3, "too large: {}", x)
        return sg.print("x", x * 2)

    assert sg.vmap(one)(XS[:2]).tolist() == [2.0, 4.0]
    assert told(capsys) == ["x [2. 4.] (all examples of vmap)"]
    with pytest.raises(sg.CheckError, match=r"large: \[1. 2. 3.\] \(all examples of vmap\)"):
        sg.vmap(one)(XS)
    with pytest.raises(sg.GraphError, match="vmap: a loop or a branch with a print or a check"):
        sg.vmap(looped)(np.ones((2, 3)))
    with pytest.raises(sg.GraphError, match="vmap: check inside a loop, a branch or an eager"):
        dynamic.vmap(one)(dynamic.tensor(XS[:2]))


def test_what_is_refused() -> None:
    with pytest.raises(sg.OptionError, match="print: the text is a string, not 3"):
        sg.print(3)  # type: ignore[arg-type]
    for text, says in (
        ("{", "is no format"),
        ("{} {}", "has 2 fields for 1 values"),
        ("{1}", "has 1 fields for 1 values"),
        ("{0} {}", "fields with numbers, and without"),
        ("{0.shape}", r"the field \{0.shape\} of .*: a field is"),
        ("{x}", "a field is"),
        ("{:{}}", "a field is"),
    ):
        with pytest.raises(sg.OptionError, match=f"check: .*{says}"):
            user_text("check", text, 1)
    with pytest.raises(sg.DTypeError, match=r"check: the condition is float64\[3\], not bool"):
        sg.function(lambda x: sg.check(x, "no"))(XS)
    with pytest.raises(sg.GraphError, match="print: reads no placeholder and no variable"):
        sg.print("a", sg.constant(1.0))
    with pytest.raises(sg.GraphError, match="in a graph without outputs and updates"):
        sg.function(lambda x: (sg.print("a", x), ())[1])(XS)
    with pytest.raises(sg.GraphError, match="while_loop: print in the condition"):
        sg.function(lambda x: sg.while_loop(lambda c: sg.print("c", c) < 3, lambda c: c + 1, x))(
            1.0
        )


@pytest.mark.slow
def test_what_runs_often_to_be_measured_prints_nothing(
    capsys: pytest.CaptureFixture[str],
) -> None:
    x = sg.placeholder("x", (None,), "float64")
    f = sg.compile([x], sg.print("x", x * 2))
    assert [step.ops for step in f.profile(XS).steps if "print" in step.ops] == [("print",)]
    assert not told(capsys)


def test_texts() -> None:
    assert formatted("a {:d}", [np.float64(1.5)]) == "a 1.5"  # a format of another kind
    assert formatted("a {:.1f}", [np.array([1.25, 2.0])]) == "a [1.2 2.0]"
    assert formatted("{1}{0} {{}}", [np.array(1), np.array(True)]) == "True1 {}"
    assert formatted("a", [np.float32(0.1)]) == "a 0.1"


@pytest.mark.parametrize("policy", ["raise", "warn", "report"])
def test_a_call_that_is_not_finite_prints_once(
    policy: str, capsys: pytest.CaptureFixture[str]
) -> None:
    x = sg.placeholder("x", (None,), "float64")
    sg.print("x {}", x)
    w = sg.variable(0.0, dtype="float64")
    f = sg.compile([x], sg.log(x), updates={w: w + sg.sum(x)}, on_nonfinite=policy)
    for given in (np.zeros(1), np.zeros(1), np.zeros(4)[::2], np.zeros(3)):
        with contextlib.suppress(sg.NonFiniteError), warnings.catch_warnings():
            warnings.simplefilter("ignore", sg.NonFiniteWarning)
            f(given)
        assert told(capsys) == [f"x {given}"]
        f.replay(given)
        assert told(capsys) == []
    with contextlib.suppress(sg.NonFiniteError):
        f(np.zeros(3), out=np.ones(3))
    assert told(capsys) == ["x [0. 0. 0.]"]


def test_loops_print_once_where_integers_are_checked(capsys: pytest.CaptureFixture[str]) -> None:
    n = sg.placeholder("n", (), "int64")

    def step(c: Any, v: Any) -> Any:
        return sg.print("c", c) * v, None

    scanned, _ = sg.scan(step, n, np.array([2, 3]))
    looped = sg.while_loop(lambda c: c < 9, lambda c: sg.print("w", c) * 3, scanned)
    both = sg.cond(looped > 100, lambda c: c, lambda c: sg.print("no", c) + 1, looped)
    f = sg.compile([n], both, checks="int")
    assert f(1) == 19
    assert told(capsys) == ["c 1 (iteration 0)", "c 2 (iteration 1)", "w 6 (iteration 0)", "no 18"]


@pytest.mark.parametrize("form", FORMS)
def test_a_check_names_its_own_line_alone(form: str) -> None:
    def inner(c: Any, v: Any) -> Any:
        sg.check(c < 3, "c is {}", c)
        return c + v, None

    def outer(c: Any, row: Any) -> Any:
        return sg.scan(inner, c, row)[0], None

    xs = sg.placeholder("xs", (None, 2), "float64")
    f = sg.compile([xs], sg.scan(outer, np.zeros(()), xs)[0], **FORMS[form])
    line = inner.__code__.co_firstlineno + 1
    with pytest.raises(sg.CheckError) as raised:
        f(np.full((3, 2), 2.0))
    said = f"check: c is 4.0 (iteration 1, 0) ({__file__}:{line})"
    assert str(raised.value) == said
    x = sg.placeholder("x", (None,), "float64")
    sg.check(sg.all(x > 0), "x")
    with pytest.raises(sg.CheckError, match=r"^check: x \([^()]*:\d+\)$"):
        sg.compile([x], x, **FORMS[form])(-XS)


def test_conditions_and_values_of_a_wrong_kind() -> None:
    x = sg.placeholder("x", (3,), "float64")
    for condition in (1, None, 0.5, np.ones(2)):
        with pytest.raises(sg.DTypeError, match=r"check: the condition is .*, not bool"):
            sg.check(condition, "")
    for values in ([x, x], {"x": x}, (1, (x,))):
        with pytest.raises(sg.OptionError, match=f"print: a {type(values).__name__} of expr"):
            sg.print("", values)
    sg.check(np.ones(0, bool), "nothing is wrong")


def test_a_page_with_values_prints_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    x = sg.placeholder("x", (None,), "float64")
    sg.print("x", x)
    sg.compile([x], x * 2).view(inputs=(XS,))
    assert told(capsys) == []
