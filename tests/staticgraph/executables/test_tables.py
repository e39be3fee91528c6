"""DataFrames as inputs of executables: whole, and by column."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import staticgraph as sg

A, B = (sg.placeholder(name, (None,), "float64") for name in "ab")
SCALE = sg.placeholder("scale", (), "float64")
TABLE = pd.DataFrame({"b": [4.0, 5.0, 6.0], "a": [1, 2, 3], "text": list("xyz")})
EXPECTED = [4, 10, 18]


@pytest.mark.parametrize("options", [{}, {"debug": True}, {"background": True}], ids=str)
def test_columns_go_to_the_placeholders_of_their_names(options: dict[str, Any]) -> None:
    f = sg.compile([A, B], A * B, **options)
    assert f(TABLE).tolist() == EXPECTED
    assert f(TABLE, out=np.empty(3)).tolist() == EXPECTED
    assert f(TABLE[:0]).tolist() == []
    assert f(**TABLE[["a", "b"]]).tolist() == f(TABLE["a"], TABLE.b).tolist() == EXPECTED
    assert sg.compile([A], A + 1, **options)(TABLE).tolist() == [2, 3, 4]


def test_other_inputs_come_by_name() -> None:
    f = sg.compile([A, B, SCALE], A * B * SCALE)
    assert f(TABLE, scale=2.0).tolist() == [8, 20, 36]
    assert f(TABLE, scale=2.0, b=TABLE["a"]).tolist() == [2, 8, 18]
    with pytest.raises(sg.FeedError, match="missing feed 'scale'"):
        f(TABLE)
    with pytest.raises(sg.FeedError, match="missing feed 'a'"):
        f(TABLE[["b"]], scale=1.0)


def test_a_matrix_takes_a_whole_table() -> None:
    x = sg.placeholder("x", (None, 2), "float64")
    f = sg.compile([x], sg.sum(x, axis=1))
    assert f(TABLE[["a", "b"]]).tolist() == f(x=TABLE[["a", "b"]]).tolist() == [5, 7, 9]


def test_columns_with_masks() -> None:
    x = sg.placeholder("x", (None, 2), "float64")
    f = sg.compile([x], sg.sum(x, axis=1))
    numbers = TABLE[["a", "b"]]
    assert f(numbers.convert_dtypes()).tolist() == f(numbers).tolist()
    missing = numbers.assign(a=pd.array([1, None, 3], "Int64"))
    np.testing.assert_array_equal(f(missing), [5, np.nan, 9])
    k = sg.placeholder("k", (None, 2), "int64")
    with pytest.raises(sg.DTypeError, match=r"feed 'k': float64\[3, 2\] given"):
        sg.compile([k], k * 1)(missing)
    with pytest.raises(sg.DTypeError, match=r"feed 'x': object\[3, 2\] given"):
        f(TABLE[["a", "text"]].convert_dtypes())


def test_what_is_no_column_of_numbers() -> None:
    f = sg.compile([A, B], A * B)
    with pytest.raises(sg.DTypeError, match=r"feed 'a': object\[3\] given"):
        f(TABLE.assign(a=TABLE["text"]))
    twice = pd.DataFrame([[1.0, 2.0, 3.0]], columns=["a", "a", "b"])
    with pytest.raises(sg.ShapeError, match=r"feed 'a': float64\[1, 2\] has 2 axes"):
        f(twice)
    with pytest.raises(sg.FeedError, match="1 inputs given, 0 expected"):
        sg.compile([], sg.constant(1.0) * 2)(TABLE)
    nullable = pd.DataFrame({"a": pd.array([1, None], "Int64"), "b": [1.0, 2.0]})
    assert np.isnan(f(nullable)).tolist() == [False, True]


def test_a_step_is_trained_on_a_table() -> None:
    w = sg.variable(np.zeros(()), name="w")
    loss = sg.mean((w * A - B) ** 2)
    train = sg.compile([A, B], loss, updates=sg.optim.SGD(lr=0.05).minimize(loss))
    for _ in range(100):
        train(TABLE)
    assert float(w.value) == pytest.approx(32 / 14, rel=1e-6)
