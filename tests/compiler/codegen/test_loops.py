"""Which loop of a gather is the innermost, and which loops are written out."""

from __future__ import annotations

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.codegen.listing import listing
from tests.graphs import kernel


def loops_of(inputs: list[sg.Expression], output: sg.Expression) -> list[str]:
    """The heads of the loops of a kernel's first unit, and where elements are read and written."""
    source = listing(kernel((inputs, [output], {}))).partition("def kernel")[0]
    lines = (line.partition("#")[0].strip() for line in source.splitlines())
    return [line for line in lines if line.startswith("for ") or "] = " in line or "= x[" in line]


@pytest.mark.parametrize("width", [3, 4, 8, 16])
def test_rows_that_indices_point_at_are_copied_row_by_row(width: int) -> None:
    x, i = sg.placeholder("x", (None, width)), sg.placeholder("i", (None,), "int64")
    heads = [line for line in loops_of([x, i], sg.take(x, i, axis=0)) if line.startswith("for")]
    assert heads[0].startswith("for i0")
    assert heads[1] == f"for i1 in range({width}):"


def test_pairs_are_written_out() -> None:
    x, i = sg.placeholder("x", (None, 2)), sg.placeholder("i", (None,), "int64")
    heads = [line for line in loops_of([x, i], sg.take(x, i, axis=0)) if line.startswith("for")]
    assert len(heads) == 1


def test_what_is_expensive_is_vectorised_over_the_rows() -> None:
    x, i = sg.placeholder("x", (None, 3)), sg.placeholder("i", (None,), "int64")
    lines = loops_of([x, i], sg.exp(sg.take(x, i, axis=0)))
    assert sum(line.startswith("for") for line in lines) == 1


@pytest.mark.slow
@pytest.mark.parametrize("width", [1, 2, 3, 5, 8, 9])
@pytest.mark.parametrize("axis", [0, 1])
def test_values_and_gradients_of_short_rows(width: int, axis: int) -> None:
    rng = np.random.default_rng(width)
    x, i = sg.placeholder("x", (None, None)), sg.placeholder("i", (None,), "int64")
    known = sg.placeholder("k", (None, width) if axis == 0 else (width, None))
    given = rng.integers(-4, 9, (20, width) if axis == 0 else (width, 20)).astype("float32")
    index = rng.integers(-20, 20, 50)
    expected = np.zeros_like(given)
    rows = expected if axis == 0 else expected.T
    np.add.at(rows, index, np.take(given if axis == 0 else given.T, index, 0) * 2)
    for table in (x, known):
        taken = sg.take(table, i, axis=axis)
        gradient = sg.grad(sg.sum(taken * taken), table)
        for threads in (1, 3):
            f = sg.compile([table, i], [taken, gradient], threads=threads)
            found, slope = f(given, index)
            np.testing.assert_array_equal(found, np.take(given, index, axis))
            np.testing.assert_array_equal(slope, expected)


@pytest.mark.parametrize(("width", "loops"), [(7, 1), (8, 2), (9, 2)])
def test_rows_of_whole_vectors_are_loops(width: int, loops: int) -> None:
    x, y = sg.placeholder("x", (None, 5), "float64"), sg.placeholder("y", (None, 5, width))
    taken = sg.expand_dims(x, 2) * sg.astype(y, "float64")
    heads = [line for line in loops_of([x, y], taken) if line.startswith("for")]
    assert len(heads) == loops
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((4, 5)), rng.standard_normal((4, 5, width)).astype("float32")
    np.testing.assert_array_equal(sg.compile([x, y], taken)(a, b), a[:, :, None] * b)
    summed = sg.compile([x, y], sg.sum(taken, 0))(a, b)
    np.testing.assert_allclose(summed, np.einsum("nk,nkd->kd", a, b), rtol=1e-12)


def test_loops_that_gather_are_shared_among_threads_sooner() -> None:
    x, i = sg.placeholder("x", (5000, 4), "float64"), sg.placeholder("i", (25_000,), "int64")
    read = sg.placeholder("y", (25_000, 4), "float64")
    heads = [
        line
        for inputs, output in (([x, i], -sg.take(x, i, axis=0)), ([read], -read))
        for line in listing(kernel((inputs, [output], {}))).splitlines()
        if line.startswith("def unit_0")
    ]
    assert ["chunk: i64" in head for head in heads] == [True, False]
