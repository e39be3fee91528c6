"""Branches on values in captured functions of arrays: they become `cond`, or are refused."""

from __future__ import annotations

import collections
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import staticgraph as sg
from staticgraph.compiler.graph.definition import Definition
from staticgraph.compiler.transforms.decisions import DECISIONS, WAYS, ways_through

HERE = r"test_branches\.py:\d+: "
X = np.array([1.0, -2.0, 3.0])


def _counts(definition: Definition) -> collections.Counter[str]:
    """How often each op is in a graph and the bodies in it."""
    found: collections.Counter[str] = collections.Counter()
    for node in definition.nodes:
        found[node.op.name] += 1
        for value in node.attrs.values():
            if hasattr(value, "definition"):
                found += _counts(value.definition)
    return found


def thirds(x: Any) -> Any:
    if x.sum() > 3:
        y = np.exp(x)
    elif not x.sum() > -1 or (x[0] > 0 and x[1] > 0):
        y = x * x
    else:
        y = np.sin(x) if 0 < x[0] < 1 else np.cos(x)
    return {"sum": y.sum(), "all": (y, x)}


def clipped(x: Any) -> Any:
    norm = np.sqrt((x * x).sum())
    if norm > 1:
        x = x / norm
    return x + norm


def by_python(x: Any) -> Any:
    a, b, c = x
    return max(a, b) - min(b, c), sorted([a, b])[1], x * 2 if 1.0 in (a, b) else x


def searched(x: Any) -> Any:
    step = 1.0
    for _ in range(4):
        if ((x - step) ** 2).sum() < (x * x).sum():
            break
        step = step / 2
    return x - step


def numbers(x: Any) -> Any:
    return (2.0, True, None) if x.sum() > 0 else (3.0, False, None)


PROGRAMS = [thirds, clipped, by_python, searched, numbers]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda one: one.__name__)
def test_a_branch_on_a_value_means_what_it_means_eagerly(program: Callable[..., Any]) -> None:
    fast = sg.function(program, debug=True)
    rng = np.random.default_rng(0)
    for x in [X, -X, np.ones(3), *rng.normal(size=(8, 3)), np.full(3, np.nan)]:
        expected, found = _flat(program(x)), _flat(fast(x))
        assert len(expected) == len(found)
        for one, other in zip(expected, found, strict=True):
            np.testing.assert_allclose(other, one, rtol=1e-12)


def _flat(value: Any) -> list[Any]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, tuple | list):
        return [leaf for one in value for leaf in _flat(one)]
    return [] if value is None else [value]


def test_it_is_compiled_and_differentiated() -> None:
    f = sg.function(clipped)
    gradient = sg.grad(lambda x: (clipped(x) * np.array([1.0, 2.0, 3.0])).sum())
    for x in (X, X / 10):
        np.testing.assert_allclose(f(x), clipped(x), rtol=1e-12)
        ends = [clipped(x + e) @ [1, 2, 3] for e in 1e-6 * np.eye(3)]
        starts = [clipped(x - e) @ [1, 2, 3] for e in 1e-6 * np.eye(3)]
        np.testing.assert_allclose(gradient(x), np.subtract(ends, starts) / 2e-6, rtol=1e-6)


def test_the_truth_of_a_number_is_whether_it_is_not_0() -> None:
    f = sg.function(lambda x: x * 2 if x else x - 1, debug=True)
    for value in (0.0, -0.0, 3.0, np.nan, [[5.0]], [0.0], np.int32(0), np.int64(7), True):
        x = np.array(value)
        np.testing.assert_array_equal(f(x), x * 2 if x else x - 1)
    for shape, text in ((2, "more than one element"), (0, "empty array")):
        with pytest.raises(ValueError, match=f"truth value of an {text}|with {text}"):
            f(np.zeros(shape))


def test_a_number_by_position_decides_at_each_call() -> None:
    f = sg.function(lambda x, n: x * n if n > 2 else x, debug=True)
    for n in (1, 3):
        np.testing.assert_array_equal(f(X, n), X * n if n > 2 else X)
    assert len(f.traces) == 1


def test_one_trace_serves_all_sizes() -> None:
    f = sg.function(lambda x, y: x if x.sum() > 0 else y, debug=True)
    for size in (2, 3, 4):
        x = np.ones(size)
        np.testing.assert_array_equal(f(x, 2 * x), x)
        np.testing.assert_array_equal(f(-x, 2 * x), 2 * x)
    assert len(f.traces) == 1
    with pytest.raises(sg.CaptureError, match=r"float64\[2\] if it holds, and float64\[3\] if not"):
        f(np.ones(2), np.ones(3))


def test_only_the_side_that_is_taken_has_effects(capsys: pytest.CaptureFixture[str]) -> None:
    def program(x: Any) -> Any:
        sg.print("begin {}", x[0])
        if x[0] > 0:
            sg.print("above")
            sg.check(x[1] > 0, "the second is {}", x[1])
            x = x * 2
        sg.print("end {}", x[0])
        sg.print("end {}", x[0])
        return x

    f = sg.function(program, debug=True)
    f(np.array([1.0, 1.0]))
    f(np.array([-1.0, -1.0]))
    expected = ["begin 1.0", "above", "end 2.0", "end 2.0", "begin -1.0", "end -1.0", "end -1.0"]
    assert capsys.readouterr().out.split("\n")[:-1] == expected
    with pytest.raises(sg.CheckError, match=r"the second is -3\.0"):
        f(np.array([1.0, -3.0]))


def test_effects_that_both_sides_have_are_outside(capsys: pytest.CaptureFixture[str]) -> None:
    def program(x: Any) -> Any:
        y = x * 2 if x[0] > 0 else x
        sg.print("seen {}", x[0])
        return y

    f = sg.function(program, debug=True)
    f(X), f(-X)
    assert capsys.readouterr().out == "seen 1.0\nseen -1.0\n"


def _steps(x: Any) -> Any:
    for i in range(4):
        x = x * 1.5 if x[i] > 0 else np.exp(x) + 1
    return x


def test_what_both_sides_go_on_with_is_computed_once() -> None:
    f = sg.function(_steps, debug=True)
    x = np.array([0.1, -0.2, -3.0, 0.5])
    np.testing.assert_allclose(f(x), _steps(x))
    counts = _counts(f.traces[0].definition)
    assert (counts["cond"], counts["multiply"], counts["exp"]) == (4, 4, 4)


def test_what_a_side_needs_of_what_follows_is_not_computed_twice() -> None:
    def program(x: Any) -> Any:
        is_large = x.sum() > 1
        h = np.exp(x if is_large else -x)
        return h, (h * 2 if is_large else h + 1)

    f = sg.function(program, debug=True)
    for x in (X, -X):
        for one, other in zip(f(x), program(x), strict=True):
            np.testing.assert_allclose(one, other)
    (top,) = f.traces
    assert not [node for node in top.definition.nodes if node.op.name == "exp"]


def test_both_sides_may_be_the_same() -> None:
    def program(x: Any) -> Any:
        y = np.exp(x)
        return y if x[0] > 0 else np.exp(x)

    f = sg.function(program, debug=True)
    np.testing.assert_allclose(f(X), np.exp(X))
    assert _counts(f.traces[0].definition)["cond"] == 0
    assert "decides nothing: both sides are the same" in str(f.explain())


def test_what_became_of_a_branch_is_explained() -> None:
    f = sg.function(clipped, debug=True)
    f(X)
    line = clipped.__code__.co_firstlineno + 2
    assert f"{__file__}:{line}: `if norm > 1:` became cond" in str(f.explain())
    assert len(f.traces[0].branches) == 1


def test_the_same_question_is_asked_once() -> None:
    def program(x: Any) -> Any:
        y = x
        for _ in range(3 * DECISIONS):
            y = y + 1 if x.sum() > 0 else y - 1
        return y

    f = sg.function(program, debug=True)
    np.testing.assert_allclose(f(X), program(X))
    assert len(f.traces[0].branches) == 1


# what is refused


def _loop(x: Any) -> Any:
    while x.sum() < 100:
        x = x * 2
    return x


def _many(x: Any) -> Any:
    total = 0.0
    for i in range(6):
        total = total + (x[i] if x[i] > 0 else -x[i])
    return total


def _raising(x: Any) -> Any:
    if x.sum() < 0:
        raise ValueError(["negative"])
    return x


def _swallowing(x: Any) -> Any:
    try:
        return x if x.sum() > 0 else x[:1]
    except Exception:
        return x * 100


def _shown(x: Any) -> Any:
    if x.sum() > 0:
        print("positive")
    return x


def _kept(x: Any) -> Any:
    if x.sum() > 0:
        KEPT.append(1)
    return x


KEPT: list[int] = []
AGREE = "let both sides give the same, or use sg.where, or sg.cond around what differs"
REFUSED: dict[str, tuple[Callable[..., Any], str]] = {
    "shapes": (lambda x: x if x.sum() > 0 else x[:2],
        rf"a branch on a value, which depends on x: a result is .*if it holds, and .*: {AGREE}"),
    "dtypes": (lambda x: x if x.sum() > 0 else x > 0, r"float64\[6\] if it holds, and bool\[6\]"),
    "numbers": (lambda x: 1 if x.sum() > 0 else 2.0, r"int64\[\] if it holds, and float64\[\] if"),
    "structures": (lambda x: (x, None) if x.sum() > 0 else [x],
        rf"which depends on x: returns \(array, None\) if it holds, and \[array\] if not: {AGREE}"),
    "a loop": (_loop, rf"`while x.sum\(\) < 100:`: asks for more than {DECISIONS} truth values in "
        "one call, the last one of a value, which depends on x: write sg.while_loop"),
    "too many ways": (_many, f"has more than {WAYS} ways through its branches on values"),
    "an error that a graph cannot raise": (_raising, r"`raise ValueError\(.*raises ValueError"
        r"\(\['negative'\]\) on one side of a branch on a value \(.*`if x.sum\(\) < 0:`\): use "
        r"sg.check"),
    "swallowed": (_swallowing, "a branch on a value, which depends on x: a result is"),
    "a print on a side": (_shown, "prints when it is traced"),
    "a change on a side": (_kept, "changes .*KEPT"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_a_branch_is_refused_at_its_line(name: str) -> None:
    program, text = REFUSED[name]
    with pytest.raises(sg.CaptureError, match=HERE + ".*" + text):
        sg.function(program)(np.arange(6.0) + 1)
    assert not KEPT


def test_an_error_on_all_sides_is_that_error() -> None:
    def program(x: Any) -> Any:
        if x.sum() > 0:
            x = x * 2
        raise KeyError("always")

    with pytest.raises(KeyError, match="always"):
        sg.function(program)(X)


def test_a_function_that_does_not_repeat_itself_is_refused() -> None:
    x, y = sg.placeholder("x", (3,)), sg.placeholder("y", (3,))
    turns: Iterator[Any] = itertools.cycle([x, y])

    def program() -> int:
        return 1 if sg.sum(next(turns)) > 0 else 2

    with pytest.raises(sg.CaptureError, match=HERE + ".*is on another one than when .* was traced"):
        ways_through(program, lambda: [x, y])
    assert [way.made for way in ways_through(lambda: 1 if sg.sum(x) > 0 else 2, lambda: [x])] == [
        1,
        2,
    ]


def test_an_expression_outside_of_a_trace_has_no_truth_value() -> None:
    kept = []
    with pytest.raises(sg.EffectError):
        sg.function(lambda x: kept.append(x) or x)(X)  # type: ignore[func-returns-value]
    with pytest.raises(sg.GraphError, match="has no truth value before it runs"):
        bool(sg.sum(sg.placeholder("x", (3,))) > 0)


# random programs

_EXPRESSIONS = st.recursive(
    st.sampled_from(["x", "y", "x * 2", "y - 1", "x * y", "np.sin(x)"]),
    lambda inner: st.builds(
        "({} if {} > {} else {})".format,
        inner, st.sampled_from(["x[0]", "y[1]", "(x * y).sum()", "x.sum()"]),
        st.sampled_from(["0", "0.5", "y[0]"]), inner,
    ) | st.builds("({} + {})".format, inner, inner),
    max_leaves=5,
)  # fmt: skip


@given(st.lists(st.tuples(st.sampled_from("xy"), _EXPRESSIONS), min_size=1, max_size=3))
@settings(max_examples=12)
def test_random_programs_mean_what_they_mean_eagerly(lines: list[tuple[str, str]]) -> None:
    body = "\n".join(f"    {name} = {text}" for name, text in lines)
    scope: dict[str, Any] = {"np": np}
    exec(f"def program(x, y):\n{body}\n    return x, y + x", scope)
    program = scope["program"]
    captured = sg.function(program, debug=True)
    rng = np.random.default_rng(0)
    for x, y in rng.normal(size=(3, 2, 3)):
        try:
            found = captured(x, y)
        except sg.CaptureError as error:
            assert "more than" in str(error)
            return
        for one, other in zip(found, program(x, y), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)
