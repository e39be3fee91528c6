"""`executable(..., out=...)`: results in memory that the caller has."""

from __future__ import annotations

import subprocess
import sys
import tracemalloc
from typing import Any

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.core.errors import DTypeError, FeedError, ShapeError
from tests.paths import ROOT

X = np.arange(12, dtype="float32").reshape(3, 4)


def both() -> Any:
    x = sg.placeholder("x", (None, 4))
    return sg.compile([x], {"twice": x * 2, "sum": x.sum(0)})


def test_results_are_written_into_the_given_arrays() -> None:
    out = [np.full((3, 4), np.nan, "float32"), np.full(4, np.nan, "float32")]
    found = both()(X, out=out)
    assert found["twice"] is out[0]
    assert found["sum"] is out[1]
    np.testing.assert_array_equal(out[0], X * 2)
    np.testing.assert_array_equal(out[1], X.sum(0))
    both()(x=X[:1].copy(), out=(out[0][:1], out[1]))
    np.testing.assert_array_equal(out[1], X[0])


def test_one_output_takes_one_array() -> None:
    x = sg.placeholder("x", (None,), "int64")
    out = np.empty(3, np.int64)
    assert sg.compile([x], x + 1)(np.arange(3), out=out) is out
    assert out.tolist() == [1, 2, 3]


def test_variables_are_updated_and_calls_alternate() -> None:
    w = sg.variable(np.zeros(3, "float32"))
    x = sg.placeholder("x", (3,))
    step = sg.compile([x], w * 2, updates={w: w + x})
    one, out = np.ones(3, "float32"), np.empty(3, "float32")
    for k in range(4):
        found = step(one, out=out) if k % 2 else step(one)
        assert found.tolist() == [2 * k] * 3
    assert w.value.tolist() == [4] * 3


def test_a_placeholder_named_out_is_fed() -> None:
    out = sg.placeholder("out", ())
    assert sg.compile([out], out + 1)(out=np.float32(2)) == 3


def test_nothing_large_is_allocated() -> None:
    x = sg.placeholder("x", (None,))
    f = sg.compile([x], sg.exp(x) * 2)
    values, out = np.zeros(1_000_000, "float32"), np.empty(1_000_000, "float32")
    f(values, out=out)
    tracemalloc.start()
    f(values, out=out)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 20_000


LOCKED = np.zeros((3, 4), "float32")
LOCKED.flags.writeable = False


@pytest.mark.parametrize(
    ("out", "error", "message"),
    [
        ([np.zeros((3, 4), "float32")], FeedError, r"out: 1 arrays given, 2 expected"),
        ([np.zeros((3, 4)), None], DTypeError, r"out\[0\]: float64 given, float32 expected"),
        ([np.zeros((4, 3), "f"), None], ShapeError, r"out\[0\]: shape \(4, 3\) given, \(3, 4\)"),
        ([LOCKED, None], FeedError, r"out\[0\]: an array that is row-major, aligned and writable"),
        ([np.zeros((4, 3), "f").T, None], FeedError, r"out\[0\]: an array that is row-major"),
        ([[1], None], FeedError, r"out\[0\]: a list given, a NumPy array expected"),
        ([X, None], FeedError, r"out\[0\]: shares memory with an input"),
    ],
)
def test_arrays_that_do_not_fit(out: Any, error: type[Exception], message: str) -> None:
    if len(out) == 2:
        out[1] = np.zeros(4, "float32")
    with pytest.raises(error, match=message):
        both()(X, out=out)


def test_outputs_that_share_memory() -> None:
    x = sg.placeholder("x", (2,))
    f = sg.compile([x], [x + 1, x - 1])
    memory = np.zeros(3, "float32")
    with pytest.raises(FeedError, match=r"out\[1\]: shares memory"):
        f(X[0, :2].copy(), out=[memory[:2], memory[1:]])


# -- what is no output ---------------------------------------------------------------------------


def difference(**options: Any) -> Any:
    x, y = sg.placeholder("x", (None,)), sg.placeholder("y", (None,))
    return sg.compile([x, y], x - y, **options)


OPTIONS: dict[str, dict[str, Any]] = {
    "compiled": {}, "debug": {"debug": True}, "background": {"background": True},
    "one thread": {"threads": 1},
}  # fmt: skip
every = pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)


@every
def test_inputs_and_outputs_are_counted_apart(options: Any) -> None:
    f = difference(**options)
    for _ in range(2):  # before and after the kernel is there
        a, b, c = (np.full(3, value, "float32") for value in (5, 2, 7))
        for args, out, message in (
            ((a,), [b, c], "missing feed 'y'"),
            ((), [a, b, c], "missing feed 'x'"),
            ((a, b, c), [], "3 inputs given, 2 expected"),
            ((a, b), [], "out: 0 arrays given, 1 expected"),
            ((a, b), [c, c], "out: 2 arrays given, 1 expected"),
            ((a, b), 5, "out: a int given, an array or a list or tuple of arrays expected"),
            ((a, b), {"x": c}, "out: a dict given"),
        ):
            with pytest.raises(FeedError, match=message):
                f(*args, out=out)
        assert [one.tolist() for one in (a, b, c)] == [[5] * 3, [2] * 3, [7] * 3]
        assert f(a, b, out=c) is c
        assert c.tolist() == [3] * 3
        assert f(a, b, out=None).tolist() == [3] * 3
        f.wait()


@every
def test_nothing_that_is_read_is_written(options: Any) -> None:
    x = sg.placeholder("x", (None,))
    w, k = sg.variable(np.ones(3, "float32")), sg.constant(np.full(3, 2, "float32"))
    f = sg.compile([x], x * w + k, **options)
    f.wait()
    a = np.ones(3, "float32")
    literal = k.attrs["value"].array
    literal.flags.writeable = True
    for out in (a, w.state.array, literal):
        before = out.copy()
        with pytest.raises(FeedError, match=r"shares memory with an input, a variable, a constant"):
            f(a, out=out)
        np.testing.assert_array_equal(out, before)


@every
def test_memory_between_the_elements_of_an_input_may_be_written(options: Any) -> None:
    f = difference(**options)
    f.wait()
    matrix = np.zeros((2, 8), "float32")
    matrix[:, 0] = 5, 9
    column, out = matrix[:, 0], matrix[0, 4:6]
    assert f(column, np.ones(2, "float32"), out=out) is out
    np.testing.assert_array_equal(matrix, [[5, 0, 0, 0, 4, 8, 0, 0], [9, 0, 0, 0, 0, 0, 0, 0]])


@every
@pytest.mark.parametrize("size", [3, 300])
def test_inputs_that_are_copied_are_not_written_either(options: Any, size: int) -> None:
    x = sg.placeholder("x", (None, None))
    f = sg.compile([x], x * 2, **options)
    f.wait()
    memory = np.arange(size * size, dtype="float32").reshape(size, size)
    swapped = memory.view(">f4")
    for given in (memory.T, memory[::-1], memory[:, ::-1], swapped):
        before = memory.copy()
        with pytest.raises(FeedError, match=r"out\[0\]: shares memory with an input"):
            f(given, out=memory)
        np.testing.assert_array_equal(memory.view("int32"), before.view("int32"))


UNFIT = """
import faulthandler, sys, tempfile
import numpy as np
import staticgraph as sg

x, y = sg.placeholder("x", (None,)), sg.placeholder("y", (None,))
f = sg.compile([x, y], x - y)
ones = lambda: np.ones(1000, "float32")
f(ones(), ones())
with tempfile.NamedTemporaryFile() as file:
    ones().tofile(file.name)
    locked = np.memmap(file.name, "float32", "r")
    unaligned = np.zeros(4001, np.uint8)[1:].view("float32")
    arrays = [
        locked, unaligned, ones()[::-1], np.ones(2000, "float32")[::2], np.ones(999, "float32"),
        np.ones(1000), np.ones(1000, ">f4"), np.ones((1000, 1), "float32"), np.float32(1), None,
        np.ma.ones(1000, "float32"), np.broadcast_to(np.float32(1), (1000,)), [1.0] * 1000,
    ]
    for out in arrays:
        for args in ((ones(), ones()), (ones(),), (ones(), ones(), ones()), (locked, locked)):
            for given in ([out], [], [out, out]):
                try:
                    f(*args, out=given)
                except (sg.FeedError, sg.DTypeError, sg.ShapeError):
                    continue
                raise AssertionError((out, len(args), len(given)))
    print((locked == 1).all())
"""


@pytest.mark.slow
def test_nothing_unfit_is_written() -> None:
    done = subprocess.run(
        [sys.executable, "-c", UNFIT],
        check=False, capture_output=True, text=True, cwd=ROOT, timeout=120,
    )  # fmt: skip
    assert done.stdout == "True\n", done.stderr
