"""Elements of arrays around captured functions, and arrays around that these return."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dynamic
import staticgraph as sg
from staticgraph.compiler.core.errors import CaptureError
from staticgraph.tracing.functions import KEPT, Function

X = np.arange(3.0)
TABLE = np.arange(300.0)


def _contents(f: Any) -> list[Any]:
    """The reads of what arrays hold."""
    return [one for one in f.explain().guards if one.kind in ("bytes", "memory")]


@pytest.fixture
def again(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Grows by each call of a function for which something has changed."""
    calls: list[int] = []
    run_again = Function._again

    def counted(self: Function, *args: object) -> Any:
        calls.append(1)
        return run_again(self, *args)

    monkeypatch.setattr(Function, "_again", counted)
    return calls


def _row(x: Any, w: Any) -> Any:
    first, *_, last = w[1, :4]
    return x * int(first + last)


@pytest.mark.parametrize(
    "f",
    [
        lambda x, w: x * float(w[0, 1]),
        lambda x, w: x * 2 if w[0, 1] > 1.0 else x * 3,
        lambda x, w: x * sum(float(w[0][i]) for i in range(4)),
        lambda x, w: x * int(w[..., -99][0]) + w[1, :3],
        lambda x, w: x * w[0, 1].item() + w[2, :3] * w[0, 2],
        _row,
    ],
)
@pytest.mark.parametrize("make", [np.array, dynamic.tensor])
def test_single_elements_are_compared_and_the_rest_of_the_array_is_not(
    f: Any, make: Any, again: list[int]
) -> None:
    array = np.arange(300.0).reshape(3, 100)
    held = {"w": array}
    captured, x = sg.function(lambda x: f(x, held["w"]), debug=True), make(X)
    for place, value in (((0, 1), 1.0), ((0, 1), 0.5), ((1, 0), 7.0), ((2, 99), 9.0)):
        array[place] = value
        for _ in range(2):
            np.testing.assert_array_equal(np.asarray(captured(x)), np.asarray(f(x, array)))
    retraced = captured.explain().retraced
    again.clear()
    array[2, 50:] = -1.0  # which nothing reads
    np.testing.assert_array_equal(np.asarray(captured(x)), np.asarray(f(x, array)))
    assert again == []
    held["w"] = array + 1.0
    np.testing.assert_array_equal(np.asarray(captured(x)), np.asarray(f(x, held["w"])))
    assert captured.explain().retraced == retraced + 1
    assert sum(one.owner.nbytes for one in _contents(captured)) <= 8 * 8 * KEPT
    assert any(one.name.startswith("held['w'][") for one in _contents(captured))


def test_many_elements_make_the_array_a_constant() -> None:
    table = np.arange(200.0)
    captured = sg.function(lambda x: x * sum(float(table[i]) for i in range(100)))
    for value in (0.0, 1.0):
        table[99] = value
        np.testing.assert_array_equal(captured(X), X * table[:100].sum())
    assert max(one.owner.size for one in _contents(captured)) == 200


def test_what_is_computed_with_a_small_part_of_an_array_is_computed_in_each_call(
    again: list[int],
) -> None:
    table = np.arange(10_000.0)
    captured = sg.function(lambda x: x * sg.exp(table[:3] / 1e4).sum())
    for value in (0.0, 1.0, 2.0):
        table[0] = value
        np.testing.assert_allclose(captured(X), X * np.exp(table[:3] / 1e4).sum())
    assert again == []
    assert _contents(captured) == []


def test_a_function_that_counts_reads_arrays_at_each_call() -> None:
    table, counts = np.arange(300.0), {"n": 0}

    def f(x: Any) -> Any:
        counts["n"] += 1
        return x + dynamic.tensor(table[:3])

    captured = sg.function(f)
    for value in (1.0, 2.0, 3.0):
        table[0] = value
        np.testing.assert_array_equal(captured(dynamic.tensor(X)).numpy(), X + table[:3])
    assert counts == {"n": 3}
    assert _contents(captured) == []


SMALL = np.arange(3.0)


@pytest.mark.parametrize("make", [np.array, dynamic.tensor])
@pytest.mark.parametrize("array", [SMALL, TABLE], ids=["small", "large"])
def test_an_array_around_that_is_returned_is_that_array(make: Any, array: np.ndarray) -> None:
    held = {"a": array}
    captured = sg.function(lambda x: (x * 2, held["a"], [held["a"][:2]], np.ones(2)))
    for _ in range(2):
        doubled, same, (view,), made = captured(make(X))
        assert type(doubled) is type(make(X))
        assert same is array
        assert np.shares_memory(view, array)
        assert not np.shares_memory(made, captured(make(X))[3])
        for one in (view, made):
            assert type(one) is np.ndarray
    held["a"] = array * 2
    assert captured(make(X))[1] is held["a"]


def test_functions_of_tensors_return_scalars_of_numpy_as_such() -> None:
    captured = sg.function(lambda x: (x * 2, SMALL[2], np.float32(3), SMALL.sum()))
    found = captured(dynamic.tensor(X))[1:]
    assert found == (2.0, 3.0, 3.0)
    assert [type(one) for one in found] == [np.float64, np.float32, np.float64]


def test_one_side_of_a_branch_returns_the_array_around() -> None:
    captured = sg.function(lambda x: x if np.sum(x) > 0 else SMALL)
    for _ in range(2):
        np.testing.assert_array_equal(captured(X), X)
        assert captured(-X) is SMALL
    of_tensors = sg.function(lambda x: x if x.sum() > 0 else SMALL)
    with pytest.raises(CaptureError, match="returns array if it holds, and the array from outside"):
        of_tensors(dynamic.tensor(X))


@pytest.mark.parametrize("make", [np.array, dynamic.tensor])
@pytest.mark.parametrize("size", [5, 500])
@pytest.mark.parametrize(
    "view", [lambda w: w, lambda w: w[1:], lambda w: w.T, lambda w: w.reshape(-1), lambda w: w[1]]
)
def test_views_of_arrays_that_are_views_are_returned_as_such(
    make: Any, size: int, view: Any
) -> None:
    held = {"w": np.arange(4.0 * size).reshape(4, size)}  # NumPy tells of both only the base
    captured = sg.function(lambda x: (x * 2, view(held["w"])))
    for _ in range(2):
        for _ in range(2):
            found = captured(make(X))[1]
            assert np.shares_memory(found, held["w"])
            np.testing.assert_array_equal(found, view(held["w"]))
            found[...] += 1.0
        held["w"] = held["w"].copy()
