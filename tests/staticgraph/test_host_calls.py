"""`host_call`: Python functions on arrays as steps of programs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dynamic
import staticgraph as sg

X = sg.placeholder("x", ("n",), "float64")
Y = sg.placeholder("y", ("n", "m"), "float64")
N = sg.TensorType(("n",), "float64")


def _both(a: Any, b: Any) -> Any:
    return a + 1, b.sum(0)


def test_functions_of_arrays_are_steps_for_any_sizes() -> None:
    one = sg.host_call(np.argsort, sg.TensorType(("n",), "int64"), X)
    two = sg.host_call(_both, [N, sg.TensorType((Y.shape[1],), "float64")], X, Y)
    f = sg.compile([X, Y], [one, *two])
    for x, y in ((np.array([3.0, 1.0, 2.0]), np.ones((3, 2))), (np.ones(1), np.zeros((1, 4)))):
        for found, expected in zip(f(x, y), [np.argsort(x), *_both(x, y)], strict=True):
            np.testing.assert_array_equal(found, expected, strict=True)


def test_they_run_in_both_paradigms_batches_loops_and_captured_functions() -> None:
    def ordered(x: Any) -> Any:
        return sg.host_call(np.sort, sg.TensorType((3,), "float64"), x)

    array = np.array([3.0, 1.0, 2.0])
    np.testing.assert_array_equal(ordered(array), np.sort(array))
    assert ordered(dynamic.tensor(array)).tolist() == [1.0, 2.0, 3.0]
    assert sg.host_call(np.sort, N, dynamic.tensor(array)).tolist() == [1.0, 2.0, 3.0]
    np.testing.assert_array_equal(sg.function(lambda x: ordered(x) + 1)(array), [2.0, 3.0, 4.0])
    batch = np.stack([array, -array])
    np.testing.assert_array_equal(sg.vmap(ordered)(batch), np.sort(batch))
    start = sg.placeholder("start", (3,), "float64")
    last, firsts = sg.scan(lambda c, t: (ordered(c)[::-1] - t, c[0]), start, np.arange(3.0))
    found = sg.compile([start], [last, firsts])(array)
    expected = []
    for t in range(3):
        expected.append(array[0])
        array = np.sort(array)[::-1] - t
    np.testing.assert_array_equal(found[0], array)
    np.testing.assert_array_equal(found[1], expected)


WRONG: dict[str, tuple[Callable[[], Any], str]] = {
    "a shape": (
        lambda: sg.compile([X], sg.host_call(lambda x: x[1:], N, X))(np.ones(3)),
        r"it returns float64\[2\], declared float64\[3\] \(.*test_host_calls.py:\d+\)",
    ),
    "a dtype": (
        lambda: sg.compile([X], sg.host_call(lambda x: x > 0, N, X))(np.ones(3)),
        r"it returns bool\[3\], declared float64\[3\]",
    ),
    "no tuple": (
        lambda: sg.compile([X], list(sg.host_call(lambda x: x, [N, N], X)))(np.ones(3)),
        r"it returns float64\[3\], not 2 results",
    ),
    "a gradient": (
        lambda: sg.grad(sg.sum(sg.host_call(np.sort, N, X)), X),
        r"host_call.numpy.sort has no gradient: declare the function with sg.op",
    ),
    "no type": (lambda: sg.host_call(np.sort, 3, X), "the result is a TensorType or several, not"),
    "no operand": (lambda: sg.host_call(np.sort, N), "takes the operands of the function"),
    "no function": (lambda: sg.host_call("sort", N, X), "host_call: 'sort' is no function"),
    "no size": (lambda: sg.TensorType((1.5,)), "TensorType: 1.5 is no size"),
    "a size of nothing": (
        lambda: sg.compile([X], sg.host_call(np.sort, sg.TensorType(("q",), "float64"), X)),
        "the size q of .* is not the size of an axis of any input",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_does_not_fit_is_refused(name: str) -> None:
    call, text = WRONG[name]
    with pytest.raises(sg.StaticGraphError, match=text):
        call()


def test_files_do_not_hold_them(tmp_path: Path) -> None:
    f = sg.compile([X], sg.host_call(np.sort, N, X))
    with pytest.raises(sg.FormatError, match="has no name in files: declare the function with sg"):
        sg.save(f, tmp_path / "f.sg")
