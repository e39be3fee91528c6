"""`step`: the kernel as plain Python under pdb, with the user's names and lines."""

from __future__ import annotations

import ast
import contextlib
import gc
import inspect
import io
import linecache
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dynamic
import staticgraph as sg
from staticgraph.compiler.export.plain import plain
from staticgraph.compiler.export.stepping import Session, step
from staticgraph.compiler.graph.expression import at_line
from staticgraph.compiler.runtime.sizes import sizes_of
from tests.workloads import compiled

pytestmark = pytest.mark.slow

SEED = 5


def _line() -> int:
    frame = inspect.currentframe()
    assert frame is not None
    assert frame.f_back is not None
    return frame.f_back.f_lineno


def _close(found: Any, expected: Any) -> None:
    assert found.dtype == expected.dtype
    units = 64 * np.finfo(expected.dtype).eps if expected.dtype.kind == "f" else 0
    np.testing.assert_allclose(found, expected, 0, units * np.abs(expected).max(initial=0))


def _everything() -> tuple[sg.Executable, list[Any]]:
    """Loops, branches, host steps, indices, bools, products, large constants, shared units."""
    x = sg.placeholder("x", (None, 4), "float64")
    i = sg.placeholder("i", (None,), "int64")
    last, states = sg.scan(lambda h, row: (h * 0.5 + row, h.sum()), sg.constant(np.zeros(4)), x)
    doubled = sg.while_loop(lambda v: v < 100.0, lambda v: v * 2.0, sg.abs(x[0, 0]) + 1.0)
    either = sg.cond(doubled > 150.0, lambda v: v + 1.0, lambda v: v - 1.0, doubled)
    gradient = sg.grad(states.sum() + last.sum(), [x])
    table = sg.constant(np.arange(80.0).reshape(4, 20))
    singular = sg.linalg.svdvals(x)
    outputs = [
        last, states, doubled, either, *gradient, sg.cumsum(x, 1), sg.sort(x, axis=0), x > 0,
        sg.take(x, i, axis=0), x @ table, sg.softmax(x), sg.softmax(x * 2.0), sg.lgamma(x),
        sg.linalg.inv(sg.swapaxes(x, 0, 1) @ x), singular,
    ]  # fmt: skip
    rng = np.random.default_rng(SEED)
    return sg.compile([x, i], outputs), [rng.normal(size=(6, 4)), np.array([5, 0, -6])]


def test_it_computes_what_the_executable_computes() -> None:
    executable, inputs = _everything()
    results = executable.step(*inputs, commands=[], stdout=io.StringIO())
    for found, expected in zip(results, executable(*inputs), strict=True):
        _close(found, expected)
    empty = [inputs[0][:0], inputs[1][:0]]
    with pytest.raises(sg.ShapeError, match=r"strided_slice: axis 0 of float64\[0, 4\]"):
        executable.step(*empty, commands=[], stdout=io.StringIO())


@pytest.mark.parametrize("name", ["seed", "mlp_small"])
def test_workloads_and_their_updates(name: str) -> None:
    executable, inputs = compiled(name)
    before = {key: one.value.copy() for key, one in executable.variables.items()}
    results = executable.step(*inputs, commands=[], stdout=io.StringIO())
    for key, one in executable.variables.items():
        np.testing.assert_array_equal(one.value, before[key])  # unless it is asked for
    again = executable.step(*inputs, commands=[], stdout=io.StringIO(), update=True)
    after = {key: one.value.copy() for key, one in executable.variables.items()}
    for key, variable in executable.variables.items():
        variable.value = before[key]
    for found, same, expected in zip(results, again, executable(*inputs), strict=True):
        np.testing.assert_array_equal(found, same)
        _close(found, expected)
    for key, one in executable.variables.items():
        _close(after[key], one.value)


def _logistic() -> tuple[sg.Executable, list[Any], dict[str, int]]:
    x, y = sg.placeholder("x", (None, 3), "float64"), sg.placeholder("y", (None,), "float64")
    w = sg.variable(np.array([0.5, -1.0, 2.0]), "w")
    p = sg.sigmoid(x @ w)
    lines = {"p": _line() - 1}
    loss = sg.mean(sg.square(p - y))
    lines["loss"] = _line() - 1
    updates = sg.optim.SGD(lr=0.1).minimize(loss)
    train = sg.compile([x, y], loss, updates=updates, name="train")
    rng = np.random.default_rng(SEED)
    return train, [rng.normal(size=(4, 3)), np.array([0.0, 1.0, 1.0, 0.0])], lines


def _session(executable: Any, inputs: list[Any], commands: list[str], **options: Any) -> str:
    shown = io.StringIO()
    executable.step(*inputs, commands=commands, stdout=shown, **options)
    return shown.getvalue()


def test_it_stops_where_the_users_line_is_computed() -> None:
    train, inputs, lines = _logistic()
    place = f"{Path(__file__).name}:{lines['p']}"
    text = _session(train, inputs, ["p i0", "up", "p n0", "down", "c", "c"], break_at=place)
    stops = [line for line in text.splitlines() if line.startswith("-> ")]
    assert stops
    assert all(f"<- {place}" in line for line in stops if "unit_" not in line), stops
    assert "(Pdb) p i0\n0\n(Pdb) up\n" in text
    assert "(Pdb) p n0\n4\n" in text


def test_values_have_the_users_names() -> None:
    train, inputs, _ = _logistic()
    x, w = inputs[0], np.array([0.5, -1.0, 2.0])
    named = "p [float(v) for k, v in locals().items() if k[:2] == 'p_'][0]"
    commands = ["n", named, "p w", "p x[i0 * 3 + 1]"]
    text = _session(train, inputs, commands, break_at="p")
    assert " = sigmoid(" in text
    shown = text.split("(Pdb) ")
    assert abs(float(shown[2].splitlines()[1]) - 1 / (1 + np.exp(-(x[0] @ w)))) < 1e-15
    assert "array([ 0.5, -1. ,  2. ])" in shown[3]
    assert repr(x[0, 1]) in shown[4]


def test_values_have_the_users_names_without_numbers() -> None:
    train, inputs, _ = _logistic()
    text = _session(train, inputs, ["n", "p float(p)", "p y", "p missing"], break_at="p")
    found = float(text.split("(Pdb) ")[2].splitlines()[1])
    assert abs(found - 1 / (1 + np.exp(-(inputs[0][0] @ np.array([0.5, -1.0, 2.0]))))) < 1e-15
    assert repr(inputs[1]) in text  # an input keeps its name
    assert "NameError: name 'missing' is not defined" in text


def test_an_op_a_composite_and_several_places() -> None:
    x = sg.placeholder("x", (None, 3), "float64")
    f = sg.compile([x], sg.log(sg.softmax(sg.exp(x))), name="f")
    given = [np.ones((1, 3))]
    assert "-> v2 = exp(x_1)" in _session(f, given, [], break_at="exp")
    line = _line() - 3
    for place in ("softmax", f"test_step.py:{line}", ["exp", "softmax"]):
        text = _session(f, given, [], break_at=place)
        assert f"test_step.py:{line}\n" in text


def test_host_steps_and_products_are_stops() -> None:
    executable, inputs = _everything()
    for op in ("sort", "inv", "svdvals", "matmul", "scan"):
        text = _session(executable, inputs, ["p 1 + 1", *["n"] * 12], break_at=op)
        assert "(Pdb) p 1 + 1\n2\n" in text, op
        assert op != "matmul" or "gemm_f64(" in text


def test_loops_are_stepped_through() -> None:
    x = sg.placeholder("x", (None,), "float64")
    h, _ = sg.scan(lambda h, v: (sg.tanh(h + v), h), sg.constant(np.zeros(())), x)
    f = sg.compile([x], h)
    text = _session(f, [np.arange(3.0)], ["c", "c", "c"], break_at="tanh")
    assert text.count("= tanh(") == 3


def test_without_a_place_it_stops_at_the_first_statement() -> None:
    train, inputs, _ = _logistic()
    text = _session(train, inputs, ["n", "s"])
    assert text.startswith("> <kernel train>(")
    assert '-> n0, _ = sizes("x", x, 2)\n(Pdb) n\n' in text
    assert text.count("-> ") == 3


def test_quit_leaves_everything_as_it_was() -> None:
    train, inputs, _ = _logistic()
    before = train.variables["w"].value.copy()
    tracing = sys.gettrace()
    for commands in (["q"], ["n", "n", "quit"]):
        found = train.step(*inputs, commands=commands, stdout=io.StringIO(), update=True)
        assert found is None
    assert sys.gettrace() is tracing
    np.testing.assert_array_equal(train.variables["w"].value, before)
    assert train.step(*inputs, stdin=io.StringIO(""), stdout=io.StringIO()) is None  # as in pdb
    shown = io.StringIO()
    found = train.step(*inputs, stdin=io.StringIO("n\nc\n"), stdout=shown)
    _close(found, train(*inputs))
    assert shown.getvalue().count("(Pdb) ") == 2


def test_what_goes_wrong_has_the_error_of_a_call_and_the_line() -> None:
    x, i = sg.placeholder("x", (None,)), sg.placeholder("i", (None,), "int64")
    take = sg.compile([x, i], sg.take(x, i))
    with pytest.raises(sg.OutOfRangeError, match=r"take  <- .*test_step.py:\d+: no index 7"):
        take.step(np.zeros(3, "f4"), np.array([0, 7]), commands=[], stdout=io.StringIO())
    m = sg.placeholder("m", (2, 2), "float64")
    invert = sg.compile([m], sg.linalg.inv(m))
    with pytest.raises(sg.LinAlgError, match=r"test_step.py:\d+\)"):
        invert.step(np.zeros((2, 2)), commands=[], stdout=io.StringIO())
    with pytest.raises(sg.DTypeError):
        take.step(np.zeros(3), np.array([0]), commands=[])


def test_places_that_are_not_there_are_refused() -> None:
    train, inputs, lines = _logistic()
    here = Path(__file__).name
    for wanted in (f"{here}:99999", f"other_{here}:{lines['p']}"):
        with pytest.raises(sg.OptionError, match=rf"from '{wanted}'.*lines are {here}:\d+, "):
            train.step(*inputs, break_at=wanted, commands=[])
    with pytest.raises(sg.OptionError, match=r"from 'conv2d'.*The ops and names are .*, p, "):
        train.step(*inputs, break_at="conv2d", commands=[])
    with pytest.raises(sg.OptionError, match=r"break_at is 'file.py:12'.*not 12"):
        train.step(*inputs, break_at=12, commands=[])
    with pytest.raises(sg.OptionError, match="commands is a list of lines"):
        train.step(*inputs, commands="n")
    with pytest.raises(AttributeError, match="without a kernel"):
        x = sg.placeholder("x", (3,))
        sg.compile([x], x + 1, debug=True).step(np.zeros(3, "f4"), commands=[])


HOSTILE = [
    'x"""\nimport os\nos.abort()\n', "w = 1\r\nraise SystemExit", "a\u2028raise", "\\", "exp",
    "select", "OutOfRangeError", "np", "run", "first", "b0", "v1", "unit_0", "host_sort_3",
]  # fmt: skip


def test_names_and_files_of_any_text_change_nothing() -> None:
    found = []
    for names in ([f"name{i}" for i in range(len(HOSTILE))], HOSTILE):
        leaves = []
        for name in names:
            with at_line(f"{name}:1"):
                leaves.append(sg.placeholder(name, (None, 2), "float64"))
        with at_line(f"{names[0]}{names[2]}:7"):
            total: Any = sum((sg.exp(leaf * 0.5) for leaf in leaves[1:]), leaves[0])
            total.name = names[0]
            result = sg.sort(total @ sg.constant(np.eye(2)))
        f = sg.compile(leaves, result, name=names[0])
        inputs = [np.random.default_rng(k).normal(size=(2, 2)) for k in range(len(names))]
        made = plain(f.runner.compiled("step"), sizes_of(f.feeds, inputs))
        assert made.text.isascii()
        assert made.file.isascii()
        assert "\n" not in made.file
        found.append(f.step(*inputs, commands=[], stdout=io.StringIO()))
    np.testing.assert_array_equal(*found)


def test_the_text_is_found_as_long_as_it_is_used() -> None:
    x = sg.placeholder("x", (2,), "float64")
    f = sg.compile([x], x + 1.0, name="forgotten")
    runner = f.runner.compiled("step")
    made = plain(runner, {})
    assert linecache.getline(made.file, 1).startswith('"""The kernel')
    file = made.file
    again = plain(runner, {})
    assert again.file != file
    again.forget()
    assert again.file not in linecache.cache
    del made
    gc.collect()
    assert file not in linecache.cache
    session = Session(commands=[], stdout=io.StringIO())
    assert step(runner, [np.ones(2)], {}, session, runner) is not None
    assert file not in linecache.cache


def test_units_are_not_shared_so_that_each_line_is_one_of_the_users() -> None:
    x, y = sg.placeholder("x", (None, 5)), sg.placeholder("y", (None, 5))
    f = sg.compile([x, y], [sg.softmax(x), sg.softmax(y)], fuse=False)
    made = plain(f.runner.compiled("step"), {})
    assert len(f.kernel.units) < made.text.count("\ndef unit_")
    assert "x_1 = x[" in made.text
    assert "y_1 = y[" in made.text


def test_a_function_is_stepped_through() -> None:
    @sg.function
    def energy(x: Any, scale: Any) -> Any:
        return {"energy": (sg.tanh(x * scale) ** 2).sum(), "same": x}

    given = np.array([1.0, 2.0])
    shown = io.StringIO()
    found = energy.step(given, 3.0, break_at="tanh", commands=["p x"], stdout=shown)
    assert "array([1., 2.])" in shown.getvalue()
    expected = energy(given, 3.0)
    assert found.keys() == expected.keys()
    for key, value in found.items():
        _close(value, expected[key])
    tensor = dynamic.tensor(given, requires_grad=True)
    on_tensors = energy.step(tensor, 3.0, commands=[], stdout=io.StringIO())
    assert isinstance(on_tensors["energy"], dynamic.Tensor)
    assert not on_tensors["energy"].requires_grad
    assert energy.step(given, 3.0, commands=["q"], stdout=io.StringIO()) is None
    layer = dynamic.nn.Linear(2, 3)
    fast = sg.function(layer)
    value = fast.step(tensor.detach().float(), commands=[], stdout=io.StringIO())
    _close(value.numpy(), layer(tensor.detach().float()).detach().numpy())


def test_tensors_that_are_no_arguments_are_read() -> None:
    layer = dynamic.nn.Linear(2, 2)
    fast, given = sg.function(lambda x: layer(x)), dynamic.ones(3, 2)
    found = fast.step(given, commands=[], stdout=io.StringIO())
    _close(found.numpy(), layer(given).detach().numpy())


def test_a_kernel_with_checks_is_stepped_without_them() -> None:
    x = sg.placeholder("x", (2,), "float64")
    w = sg.variable(np.ones(2), "w")
    f = sg.compile([x], sg.log(x * w).sum(), updates={w: w * x}, on_nonfinite="raise")
    given = np.array([0.0, 1.0])
    assert f.step(given, commands=[], stdout=io.StringIO()) == -np.inf


@pytest.mark.parametrize("policy", ["raise", "warn", None])
def test_a_run_that_is_not_finite_updates_as_a_call_does(policy: str | None) -> None:
    x = sg.placeholder("x", (None,), "float64")
    w, read = sg.variable(np.zeros(()), "w"), sg.variable(np.ones(()), "read")
    f = sg.compile([x], sg.sum(sg.log(x)) * read, updates={w: w + 1}, on_nonfinite=policy)
    kinds = {"raise": pytest.raises(sg.NonFiniteError, match="log"),
             "warn": pytest.warns(sg.NonFiniteWarning, match="log")}  # fmt: skip
    with kinds.get(policy or "", contextlib.nullcontext()):
        f.step(np.zeros(2), commands=["c"], stdout=io.StringIO(), update=True)
    assert (w.value, read.value) == (policy != "raise", 1)


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
    assert re.fullmatch(r".*NameError: energy: 'count' has no value yet at test_step.py:\d+: "
                        r"test_step.py:\d+ gives it the first", found[5])  # fmt: skip
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
    train, inputs, _ = _logistic()
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
    return [rng.normal(size=(2, 3, 4)), rng.normal(size=4) * 0.1, rng.normal(size=4) * scale]


def test_a_name_is_of_the_round_of_a_python_loop_that_is_stopped_in() -> None:
    inputs, first = _of_pooled(), _pooled.__code__.co_firstlineno
    fast = sg.function(_pooled)
    fast(*inputs)  # it has been traced before
    asked = [_SHOWN, "p pooled.shape", "c"] * 80
    found = _answers(fast, inputs, asked, break_at=f"test_step.py:{first + 5}")
    pairs = [(found[at], found[at + 1]) for at in range(0, len(found) - 1, 3)]
    stops = [(*ast.literal_eval(one), then) for one, then in pairs]
    assert {i for i, *_ in stops} == {0, 1, 2}
    firsts = {i: (values, then) for i, values, then in reversed(stops)}
    rounds, _ = _rounds(*inputs)
    assert {i: values for i, (values, _) in firsts.items()} == rounds
    assert "'pooled' has no value yet at test_step.py" in firsts[0][1]
    assert firsts[1][1] == "(2, 4)"  # that of the round before


@pytest.mark.parametrize("scale", [0.1, 50.0])
def test_a_name_that_a_branch_gives_another_value(scale: float) -> None:
    inputs, first = _of_pooled(scale), _pooled.__code__.co_firstlineno
    _, r = _rounds(*inputs)
    fast = sg.function(_pooled)
    places = [f"test_step.py:{first + line}" for line in (8, 10)]
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
