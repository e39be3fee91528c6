"""`executable(..., out=...)`: results in memory that the caller has."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest

import staticgraph as sg
from compiler.errors import DTypeError, FeedError, ShapeError

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
