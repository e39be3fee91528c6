"""Indices in blocks: those of a block are checked in a loop of their own, before they are used."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.core.errors import OutOfRangeError

PLACES = 700
AT = {
    "add": np.add, "multiply": np.multiply, "min": np.minimum, "max": np.maximum,
}  # fmt: skip


def given(count: int, dtype: str, columns: tuple[int, ...] = ()) -> tuple[Any, Any, Any]:
    """What is there, indices from both ends, and values."""
    rng = np.random.default_rng(count)
    x, values = ((rng.standard_normal((n, *columns)) * 9).astype(dtype) for n in (PLACES, count))
    return x, rng.integers(-PLACES, PLACES, count), values


def symbols(arrays: tuple[Any, ...], known: bool) -> list[Any]:
    """Placeholders for x, indices and values; of rows, as many as there are or any number."""
    x, i, values = arrays
    there = sg.placeholder("x", (len(x) if known else None, *x.shape[1:]), x.dtype)
    at = sg.placeholder("i", (len(i) if known else None,), i.dtype)
    return [there, at, sg.placeholder("v", (at.shape[0], *values.shape[1:]), values.dtype)]


def units(made: sg.Executable) -> str:
    return "".join(made.kernel.texts)


@pytest.mark.slow
@pytest.mark.parametrize("known", [True, False])
def test_every_scatter_is_numpys_in_the_order_of_the_index(known: bool) -> None:
    for count in (513, 1100):
        for dtype in ("float32", "int64"):
            arrays = x, i, values = given(count, dtype)
            there, at, new = symbols(arrays, known)
            out = [*(getattr(there.at[at], name)(new) for name in AT), there.at[at].set(new)]
            made = sg.compile([there, at, new], out)
            assert "for block in range(" in units(made)
            found = made(*arrays)
            for name, one in zip(AT, found, strict=False):
                start = np.zeros_like(x) if name == "add" else x.copy()
                AT[name].at(start, i, values)
                expected = x + start if name == "add" else start
                if name == "multiply" and dtype != "int64":
                    np.testing.assert_allclose(one, expected, rtol=1e-5)
                else:
                    np.testing.assert_array_equal(one, expected)
            last = x.copy()
            for place, value in zip(i, values, strict=True):
                last[place] = value
            np.testing.assert_array_equal(found[-1], last)


@pytest.mark.parametrize("columns", [(3,), (8,)])
def test_rows_move_in_blocks_if_they_are_short(columns: tuple[int, ...]) -> None:
    arrays = x, i, values = given(1100, "float64", columns)
    there, at, new = symbols(arrays, known=True)
    made = sg.compile([there, at, new], there.at[at].add(new))
    assert "for block in range(" in units(made)
    expected = np.zeros_like(x)
    np.add.at(expected, i, values)
    np.testing.assert_array_equal(made(*arrays), x + expected)


@pytest.mark.parametrize(("count", "columns"), [(10, ()), (1000, (64,))])
def test_few_indices_and_long_rows_are_not_worth_it(count: int, columns: tuple[int, ...]) -> None:
    arrays = given(count, "float32", columns)
    there, at, new = symbols(arrays, known=True)
    assert "block" not in units(sg.compile([there, at, new], there.at[at].add(new)))


def test_what_both_loops_need_is_computed_in_both() -> None:
    """A histogram weighted by what it counts; indices that are read by way of others."""
    x = np.random.default_rng(0).uniform(0, 20, 3000)
    order = np.random.default_rng(1).permutation(3000)
    value, at = sg.placeholder("x", (None,), "float64"), sg.placeholder("i", (None,), "int64")
    bins = sg.astype(sg.floor(value), "int64")
    ordered = sg.take(bins, at)
    start = sg.zeros((20,), "float64")
    made = sg.compile([value, at], [start.at[bins].add(value), start.at[ordered].add(1.0)])
    sums, counts = made(x, order)
    expected = np.zeros(20)
    np.add.at(expected, x.astype("int64"), x)
    np.testing.assert_array_equal(sums, expected)
    np.testing.assert_array_equal(counts, np.bincount(x.astype("int64"), minlength=20))
    with pytest.raises(OutOfRangeError, match="index 20 is out of range"):
        made(np.where(x == x[2900], 20.5, x), order)


def test_every_way_to_run_it_gives_the_same_bits() -> None:
    arrays = given(530, "float32")
    inputs = symbols(arrays, known=True)
    out = inputs[0].at[inputs[1]].add(inputs[2])
    made = sg.compile(inputs, out)
    expected = made(*arrays)
    stepped = made.step(*arrays, commands=[], stdout=io.StringIO())
    for found in (stepped, sg.compile(inputs, out, backend="numba")(*arrays)):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("count", [3, 600])
def test_the_index_that_an_error_names_depends_on_no_size_that_is_known(
    count: int, known: bool
) -> None:
    """Of several the largest, counted from the front and without its sign."""
    arrays = x, i, _ = given(count, "float32")
    there, at, new = symbols(arrays, known)
    made = {
        name: sg.compile([there, at, new], getattr(there.at[at], name)(new))
        for name in ("add", "set", "max")
    }
    for bad, named in (([-900, -800, 700], -800), ([701, 703, 702], 703)):
        i[[0, count // 2, -1]] = bad
        for one in made.values():
            before = x.copy()
            with pytest.raises(OutOfRangeError, match=f"index {named} is out of range"):
                one(*arrays)
            np.testing.assert_array_equal(x, before)


def test_a_variable_keeps_its_values_when_the_last_index_is_outside() -> None:
    state = sg.variable(np.zeros(PLACES), "state")
    at = sg.placeholder("i", (None,), "int64")
    made = sg.compile([at], [], updates=[(state, state.at[at].add(1.0))])
    indices = np.arange(1025) % PLACES
    indices[-1] = PLACES
    with pytest.raises(OutOfRangeError, match="index 700 is out of range"):
        made(indices)
    np.testing.assert_array_equal(state.value, np.zeros(PLACES))
