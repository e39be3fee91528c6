"""Numbers that functions of arrays return: those of Python and NumPy, as the function's own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import dynamic
import staticgraph as sg
from tests.combinations import some


@dataclass
class Named:
    """A result with a number and a text."""

    y: Any
    rows: int
    name: str


def _looped(x):
    count = 0
    for _ in x:
        count += 1
    return count, x.sum(axis=0)


RETURNED = {
    "a size": lambda x: x.shape[0],
    "all sizes": lambda x: x.shape,
    "sums of sizes": lambda x: (x.shape[0] * 2 + 1, x.shape[0] // 2, x.shape[0] / 2, -x.shape[1]),
    "questions": lambda x: (x.shape[0] > 3, x.ndim, len(x), max(x.shape)),
    "sizes and arrays": lambda x: (x * 2, x.shape[0], x, x.T),
    "bytes": lambda x: (x.size, x.itemsize, x.nbytes, x / x.size),
    "constants": lambda x: (3, 2.5, True, None, "text", np.float32(2.0), np.int64(3)),
    "dicts": lambda x: {"y": x + 1, "inside": [x.shape, {"n": x.shape[0], "none": None}]},
    "a dataclass": lambda x: Named(x * 2, x.shape[0], "name"),
    "a number by the value": lambda x: 1 if x.sum() > 20 else 2,
    "a size by the value": lambda x: x.shape[0] if x.sum() > 20 else 0,
    "a view by the value": lambda x: (x.shape[0], x if x.sum() > 20 else x[::-1]),
    "one number twice": lambda x: (x.shape[0], x.shape[0], 3.0, 3.0),
    "a count": _looped,
}


@pytest.mark.parametrize("name", RETURNED)
def test_numbers_are_what_the_function_returns(name):
    f = RETURNED[name]
    captured = sg.function(f, debug=True)
    for rows in (3, 5, 3):
        x = np.arange(2.0 * rows).reshape(rows, 2)
        assert repr(captured(x)) == repr(f(x))
    if name not in ("a count", "sums of sizes", "questions"):  # which ask for the sizes
        assert len(captured.traces) == 1


def test_so_are_numbers_that_are_given():
    def f(n):
        return n, n + 1, n * 2.5, n / 2, n // 2, n % 2, n**2, -n, abs(n), n > 2, np.sqrt(n)

    captured = sg.function(f, debug=True)
    for n in (2, 7, 2.5):
        assert repr(captured(n)) == repr(f(n))


def test_compiled_calls_have_them_too():
    f = sg.function(lambda x: (x.shape[0], x + 1))
    for rows in (2, 3, 3):
        count, y = f(np.zeros(rows))
        assert (type(count), count, y.sum()) == (int, rows, rows)


def test_sizes_of_tensors_do_not_have_it_traced_again():
    f = sg.function(lambda x: (x.shape[0], x.shape, x * 2), debug=True)
    for rows in (3, 5):
        count, shape, _ = f(dynamic.zeros(rows, 2))
        assert (type(count), count, shape) == (int, rows, dynamic.Size([rows, 2]))
    assert len(f.traces) == 1


METHODS = {
    name: eval(f"lambda x: {name}")
    for name in (
        "x.argsort()", "x.argsort(axis=None)", "x.cumprod(1)", "x.cumsum()", "x.copy() * 2",
        "x.diagonal(1)", "x.dot(x.T)", "x.dot(np.ones(3))", "x[0].dot(x[1])", "x.dot(2.0)",
        "x.flatten('F')", "x.ravel()", "x.repeat([1, 2], axis=0)",
        "x[0].searchsorted([1.0, 4.0], side='right')", "x.trace(1)",
    )
}  # fmt: skip
"""Methods of NumPy's arrays that expressions have as functions alone."""


@pytest.mark.parametrize("name", some(METHODS, 5))
def test_methods_are_those_of_arrays(name):
    x, f = np.arange(6.0).reshape(2, 3)[::-1].copy(), METHODS[name]
    found, expected = sg.function(f, debug=True)(x), f(x)
    np.testing.assert_array_equal(found, expected)
    assert found.dtype == expected.dtype
    if "diagonal" not in name:  # which is a view that nobody may write to
        assert np.shares_memory(found, x) == np.shares_memory(expected, x)
