"""What names mean at the prompt of `step`: the user's, as they are at the line that is run."""

from __future__ import annotations

import ast
import io
import re
from typing import Any

import numpy as np
import pytest

import dynamic
import staticgraph as sg
from tests.compiler.export.test_step import logistic

pytestmark = pytest.mark.slow

SEED = 5


def _answers(function: Any, inputs: list[Any], asked: list[str], **options: Any) -> list[str]:
    """What is shown after each line for pdb, with the results as the last."""
    shown = io.StringIO()
    found = function.step(*inputs, commands=[*asked, "cl 1", "c"], stdout=shown, **options)
    texts = shown.getvalue().split("(Pdb) ")[1:]
    return [*(text.partition("\n")[2].strip() for text in texts[: len(asked)]), repr(found)]


RATE = 3.0


def test_the_names_of_a_function_have_values_where_the_kernel_has_none() -> None:
    table = np.array([0.5, 1.5])

    @sg.function
    def energy(x: Any, bias: Any, twice: bool = False) -> Any:
        h = x @ np.ones((2, 2))
        both = sg.tanh(h * table) * RATE, x.shape[0]
        count, label = 5, "energy"
        total = (both[0] + bias).sum()
        if total > 0:
            total = total * 2
        else:
            total = total * 3
        unused = {"h": h + 1.0}
        assert count
        assert label
        assert unused
        return total / count

    x, bias = np.ones((3, 2)), np.zeros(2)
    asked = ["h", "table", "RATE", "twice", "x.shape", "count", "missing"]
    *found, result = _answers(energy, [x, bias], [f"p {one}" for one in asked], break_at="tanh")
    expected = ["np.float64(2.0)", "array([0.5, 1.5])", "3.0", "False", "(3, 2)"]
    assert found[:5] == expected
    assert re.fullmatch(r".*NameError: energy: 'count' has no value yet at test_step_names.py:\d+: "
                        r"test_step_names.py:\d+ gives it the first", found[5])  # fmt: skip
    assert found[6] == "*** NameError: name 'missing' is not defined"
    assert np.allclose(energy(x, bias), float(result.partition("(")[2].rstrip(")")))
    # the value that it has on the side that this call takes
    asked = ["p count, label", "p both[1]", "p unused['h'][0]", "p round(float(total), 3)"]
    for scale in (1.0, -1.0):
        found = _answers(energy, [x * scale, bias], asked, break_at="divide")
        total = np.tanh(2.0 * scale * table).sum() * 9.0 * (2 if scale > 0 else 3)
        expected = ["(5, 'energy')", "array(3)", str(np.full(2, 1 + 2 * scale).__repr__())]
        assert found[:4] == [*expected, str(round(total, 3))]


def test_the_names_of_a_module_have_values() -> None:
    class Net(dynamic.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.gain = 2.0

        def forward(self, x: Any) -> Any:
            y = x * self.gain
            z = y[1]
            y += 1
            w = y.clone()
            w[0] = 7
            return (w + z).sum()

    asked = [f"p {one}" for one in ("self.gain", "y", "z", "w[:, 0]")]
    found = _answers(sg.function(Net()), [dynamic.ones(2, 2)], ["r", *asked])[1:]
    assert found[:4] == [
        "2.0",
        "array([[3., 3.],\n       [3., 3.]], dtype=float32)",
        "array([3., 3.], dtype=float32)",
        "array([7., 3.], dtype=float32)",
    ]


def test_a_view_of_what_was_changed_has_no_value_until_it_is_read() -> None:
    def f(x: Any) -> Any:
        y = x.clone()
        z = y[0]
        y += 1
        w = z * 2.0
        return w.exp() + z

    first = f.__code__.co_firstlineno
    fast, given = sg.function(f), [dynamic.ones(2, 2)]
    place = f"test_step_names.py:{first + 4}"
    found = _answers(fast, given, ["up", "p [*map(float, y[1])]", "p z"], break_at=place)
    assert found[1] == "[2.0, 2.0]"
    assert "'z' is a view of what was changed" in found[2]
    assert _answers(fast, given, ["up", "p [*map(float, z)]"], break_at="exp")[1] == "[2.0, 2.0]"


def test_names_can_be_set_where_something_reads_them() -> None:
    @sg.function
    def f(x: Any, half: Any) -> Any:
        h = x * 2.0
        double = half + half
        return h.sum(), double

    given = [np.array([1.0, 2.0]), np.ones(2, "float16")]
    asked = ["n", "!h = 100.0", "p h", "p half", "p double", "!double = 3", "!x = [1, 2, 3]"]
    found = _answers(f, given, asked, break_at="h")
    assert found[2:5] == [
        "np.float64(100.0)", "array([1., 1.], dtype=float16)", "array([2., 2.], dtype=float16)",
    ]  # fmt: skip
    assert "nothing reads 'double' here" in found[5]
    assert "'x' has 2 elements, and 3 are given" in found[6]
    assert "array(104.)" in found[-1]
    asked = ["!x = [5, 6]", "p x", "!kept = 3", "p kept + 1", "!h = 5"]
    found = _answers(f, given, asked)
    assert found[1:4] == ["array([5., 6.])", "", "4"]
    assert "nothing reads 'h' here" in found[4]
    assert "array(22.)" in found[-1]
    np.testing.assert_array_equal(given[0], [1.0, 2.0])  # the caller's own


def test_a_name_is_of_the_iteration_that_is_stopped_in() -> None:
    x = sg.placeholder("x", (None,), "float64")
    h = x * 2.0
    f = sg.compile([x], sg.sum(h * sg.exp(h)), name="f")
    shown = io.StringIO()
    f.step(np.array([1.0, 2.0]), break_at="exp", commands=["p h", "c", "p h"], stdout=shown)
    assert "np.float64(2.0)" in shown.getvalue()
    assert "np.float64(4.0)" in shown.getvalue()


def test_the_names_of_a_graph_have_values_in_all_frames() -> None:
    train, inputs, _ = logistic()
    asked = ["p x.shape", "p w", "p loss", "r", "p round(float(loss), 3)", "p p.shape"]
    found = _answers(train, inputs, asked)
    assert found[:2] == ["(4, 3)", "array([ 0.5, -1. ,  2. ])"]
    assert "'loss' has no value yet at this statement: " in found[2]
    found = found[2:]
    p = 1 / (1 + np.exp(-inputs[0] @ np.array([0.5, -1.0, 2.0])))
    assert found[2] == str(round(float(np.mean((p - inputs[1]) ** 2)), 3))
    assert found[3] == "(4,)"


def test_the_result_of_a_loop_is_a_place_to_stop_by_its_name() -> None:
    @sg.function
    def f(x: Any) -> Any:
        n = sg.while_loop(lambda v: v < 9.0, lambda v: v * 2.0, x)
        return n + 1.0

    found = _answers(f, [np.array(1.0)], ["p n"], break_at="n")
    assert "'n' has no value yet" in found[0]
    assert _answers(f, [np.array(1.0)], ["p n"], break_at="add") == ["array(16.)", "array(17.)"]


def _pooled(x: Any, q: Any, w: Any) -> Any:
    for i in range(3):
        scores = x @ q
        e = sg.exp(scores - sg.max(scores, axis=1, keepdims=True))
        a = e / sg.sum(e, axis=1, keepdims=True)
        pooled = sg.sum(x * a[:, :, None], axis=1)
        q = q + pooled.mean(0) * (w + i)
    r = pooled @ w
    if (r * r).mean() > 1.0:
        r = r / (1 + abs(r))
    return sg.log(1 + r * r).mean()


def _rounds(x: Any, q: Any, w: Any) -> tuple[dict[int, list[int]], Any]:
    """What names of `_pooled` stand for in the rounds of its loop, as `_SHOWN`; and `r`."""
    found = {}
    for i in range(3):
        scores = x @ q
        e = np.exp(scores - scores.max(1, keepdims=True))
        a = e / e.sum(1, keepdims=True)
        found[i] = [round(1000 * float(one.ravel()[0])) for one in (scores, e, a, q)]
        pooled = (x * a[:, :, None]).sum(1)
        q = q + pooled.mean(0) * (w + i)
    return found, pooled @ w


_SHOWN = "p i, [round(1000 * float(one.ravel()[0])) for one in (scores, e, a, q)]"


def _of_pooled(scale: float = 1.0) -> list[Any]:
    rng = np.random.default_rng(SEED)
    return [rng.normal(size=(1, 2, 2)), rng.normal(size=2) * 0.1, rng.normal(size=2) * scale]


def test_a_name_is_of_the_round_of_a_python_loop_that_is_stopped_in() -> None:
    inputs, first = _of_pooled(), _pooled.__code__.co_firstlineno
    fast = sg.function(_pooled)
    fast(*inputs)  # it has been traced before
    asked = [_SHOWN, "p pooled.shape", "c"] * 24
    found = _answers(fast, inputs, asked, break_at=f"test_step_names.py:{first + 5}")
    pairs = [(found[at], found[at + 1]) for at in range(0, len(found) - 1, 3)]
    stops = [(*ast.literal_eval(one), then) for one, then in pairs]
    assert {i for i, *_ in stops} == {0, 1, 2}
    firsts = {i: (values, then) for i, values, then in reversed(stops)}
    rounds, _ = _rounds(*inputs)
    assert {i: values for i, (values, _) in firsts.items()} == rounds
    assert "'pooled' has no value yet at test_step_names.py" in firsts[0][1]
    assert firsts[1][1] == "(1, 2)"  # that of the round before


@pytest.mark.parametrize("scale", [0.1, 50.0])
def test_a_name_that_a_branch_gives_another_value(scale: float) -> None:
    inputs, first = _of_pooled(scale), _pooled.__code__.co_firstlineno
    _, r = _rounds(*inputs)
    fast = sg.function(_pooled)
    places = [f"test_step_names.py:{first + line}" for line in (8, 10)]
    shown = "p round(1000 * float(r.ravel()[0]))"
    before, after = [_answers(fast, inputs, ["up", shown], break_at=one)[1] for one in places]
    assert int(before) == round(1000 * r[0])
    assert (r * r).mean() > 1.0 or scale < 1
    assert int(after) == round(1000 * (r[0] / (1 + abs(r[0])) if scale > 1 else r[0]))


def test_values_of_one_kernel_are_of_the_round_that_is_stopped_in() -> None:
    @sg.function
    def f(x: Any) -> Any:
        a, b = x, 2.0 * x
        for first in range(2):
            a, b = sg.sin(b), sg.cos(a)
            both = [one * 3.0 for one in (a, b)]
            h = sg.tanh(both[0] + both[1])
            a = a * (h + first)
        del both
        return a + h

    asked = ["p first, float(h)", "p float(a)", "p type(both[0]).__name__", "p last"]
    found = _answers(f, [np.array(0.5)], [*asked, "c"] * 3, break_at="tanh")
    assert "'h' has no value yet" in found[0]
    assert found[2] == "'ndarray'"
    a, b = np.sin(1.0), np.cos(0.5)
    h = np.tanh(3.0 * a + 3.0 * b)
    assert np.isclose(float(found[1]), a)
    round_of, value = ast.literal_eval(found[5])
    assert round_of == 1
    assert np.isclose(value, h)
    assert np.isclose(float(found[6]), np.sin(b))
    assert "'both' was deleted" in _answers(f, [np.array(0.5)], ["r", "p both"])[1]


def test_a_line_that_gives_a_name_something_else_than_it_computes_last() -> None:
    @sg.function
    def f(x: Any) -> Any:
        y = x + 1.0; z = sg.exp(y)  # fmt: skip  # noqa: E702
        count = sg.tanh(z).ndim
        return sg.sin(z) * count * sg.cos(y)

    found = _answers(f, [np.array(0.5)], ["p float(y), float(z), count"], break_at="sin")
    y, z, count = ast.literal_eval(found[0])
    assert np.allclose([y, z, count], [1.5, np.exp(1.5), 0])


def test_a_loops_body_has_its_own_names() -> None:
    @sg.function
    def f(h: Any, x: Any) -> Any:
        def body(h: Any, row: Any) -> tuple[Any, Any]:
            g = sg.tanh(h + row)
            h = g * 0.5
            return h, h * g

        return sg.scan(body, h, x)

    asked = ["p float(h), float(row)", "p g", "c"] * 2
    found = _answers(f, [np.array(7.0), np.array([1.0, 2.0])], asked, break_at="add")
    assert ast.literal_eval(found[0]) == (7.0, 1.0)
    assert "'g' has no value yet" in found[1]
    h, row = ast.literal_eval(found[3])
    assert row == 2.0
    assert np.isclose(h, 0.5 * np.tanh(8.0))


def test_names_of_a_graph_are_of_the_round_that_is_stopped_in() -> None:
    x = sg.placeholder("x", (), "float64")
    h = x * 1.0
    for _ in range(2):
        u = sg.sin(h)
        h = u * u + h
    f = sg.compile([x], h + 1.0, name="f")
    found = _answers(f, [np.array(0.5)], ["p u", "p float(h)", "c"] * 2, break_at="sin")
    assert "'u' has no value yet at this statement" in found[0]
    assert np.isclose(float(found[1]), 0.5)
    assert np.isclose(float(found[4]), np.sin(0.5) ** 2 + 0.5)
    table = sg.placeholder("table", (2,), "float64")
    last, _ = sg.scan(lambda h, row: (sg.tanh(h + row), h), h, table)
    looped = sg.compile([x, table], last, name="looped")
    given = [np.array(0.5), np.array([1.0, 2.0])]
    found = _answers(looped, given, ["p float(h)", "p float(row)", "c"] * 2, break_at="tanh")
    value = float(sg.run(h, {x: np.array(0.5)}))
    assert np.allclose([float(one) for one in found[:2]], [value, 1.0])
    assert np.allclose([float(one) for one in found[3:5]], [np.tanh(value + 1.0), 2.0])
    for _ in range(2):
        h = sg.exp(sg.exp(h * 0.1))
    f = sg.compile([x], h + 1.0, name="f")
    found = _answers(f, [np.array(0.5)], ["p h"], break_at="exp")
    assert "the graph does not say how often that was run" in found[0]


def _squared(v: Any) -> Any:
    q = v + 1.0
    return q * q


def test_names_are_those_of_the_way_that_is_taken() -> None:
    @sg.function
    def f(x: Any, y: Any) -> Any:
        a = y if x.sum() > 0.0 else x
        c = sg.sin(a)
        return c + sg.cosh(sg.sin(y))

    x, y = np.array([1.0, 2.0]), np.array([0.1, 0.2])
    f(x, y)  # on this way c is the sine that is computed on the other for what is returned
    found = _answers(f, [-x, y], ["p c.tolist()"], break_at="cosh")
    assert np.allclose(ast.literal_eval(found[0]), np.sin(-x))

    @sg.function
    def g(x: Any, y: Any) -> Any:
        a = y * 3.0 if x.sum() > 0.0 else _squared(x)
        c = _squared(y)
        return c.sum() + a.sum()

    g(x, y)  # calls it once, the other way twice
    found = _answers(g, [-x, y], ["p v.tolist()", "p a.tolist()"], break_at="add")
    assert np.allclose(ast.literal_eval(found[0]), y)
    assert np.allclose(ast.literal_eval(found[1]), (1.0 - x) ** 2)


def test_what_a_branch_reads_is_no_run_of_the_line_that_computed_it() -> None:
    @sg.function
    def f(x: Any, y: Any) -> Any:
        s = sg.sin(y)
        c = y * 2.0
        c = s + x if x.sum() > 0.0 else c * s
        return c * sg.cosh(s)

    x, y = np.array([1.0, 2.0]), np.array([0.1, 0.2])
    line = f.__wrapped__.__code__.co_firstlineno + 2
    found = _answers(f, [x, y], ["p s", "c"] * 4, break_at=f"test_step_names.py:{line}")
    assert "'s' has no value yet" in found[0]
    assert "placeholder" not in "".join(found)


def test_a_part_of_a_line_that_a_branch_computes_is_not_what_it_assigns() -> None:
    @sg.function
    def f(x: Any, y: Any) -> Any:
        if y.sum() > 0.0:
            d = x - _squared(x)
        else:
            d = x - 1.17 * x
        return d * 2.0

    x, y = np.array([1.0, 2.0]), np.array([-0.1, -0.2])
    wrong = set((1.17 * x).tolist())
    found = _answers(f, [x, y], ["p float(d)", "n"] * 4, break_at="multiply")
    shown = [float(one) for one in found if re.fullmatch(r"[-0-9.e]+", one)]
    assert not wrong & set(shown)
