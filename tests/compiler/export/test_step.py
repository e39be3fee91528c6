"""`step`: the kernel as plain Python under pdb, with the user's names and lines."""

from __future__ import annotations

import contextlib
import gc
import inspect
import io
import linecache
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


def logistic() -> tuple[sg.Executable, list[Any], dict[str, int]]:
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
    train, inputs, lines = logistic()
    place = f"{Path(__file__).name}:{lines['p']}"
    text = _session(train, inputs, ["p i0", "up", "p n0", "down", "c", "c"], break_at=place)
    stops = [line for line in text.splitlines() if line.startswith("-> ")]
    assert stops
    assert all(f"<- {place}" in line for line in stops if "unit_" not in line), stops
    assert "(Pdb) p i0\n0\n(Pdb) up\n" in text
    assert "(Pdb) p n0\n4\n" in text


def test_values_have_the_users_names() -> None:
    train, inputs, _ = logistic()
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
    train, inputs, _ = logistic()
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
    train, inputs, _ = logistic()
    text = _session(train, inputs, ["n", "s"])
    assert text.startswith("> <kernel train>(")
    assert '-> n0, _ = sizes("x", x, 2)\n(Pdb) n\n' in text
    assert text.count("-> ") == 3


def test_quit_leaves_everything_as_it_was() -> None:
    train, inputs, _ = logistic()
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
    train, inputs, lines = logistic()
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
