"""Distances of arrays, in units in the last place."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from staticgraph.differences.distance import SAME, distance


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_neighbours_are_one_apart(dtype: str) -> None:
    for value in (1.0, -1.0, 1e-30, 0.0, -3.5):
        one = np.array([value, 2.0], dtype)
        for towards in (-np.inf, np.inf):
            other = np.nextafter(one, np.array(towards, dtype))
            found = distance(one[:1], other[:1])
            assert (found.equal, found.ulp) == (False, 1.0)
            assert found.where == (0,)
    assert distance(np.array(1.0, dtype), np.array(2.0, dtype)).ulp == 1 / np.finfo(dtype).eps


@given(st.floats(width=32), st.floats(width=32))
def test_it_counts_the_numbers_between(left: float, right: float) -> None:
    one, other = np.float32(left), np.float32(right)
    found = distance(np.asarray(one), np.asarray(other))
    assert found.ulp == distance(np.asarray(other), np.asarray(one)).ulp
    if np.isnan(one) or np.isnan(other):
        assert found.ulp == (0 if np.isnan(one) and np.isnan(other) else np.inf)
        return

    def place(value: Any) -> int:
        bits = int(np.asarray(abs(value)).view(np.uint32))
        return -bits if np.signbit(value) else bits

    assert found.ulp == (abs(place(one) - place(other)) if one != other else 0)


def test_what_is_the_same() -> None:
    values = np.array([[np.nan, np.inf], [-np.inf, 0.0]])
    assert distance(values, values.copy()) is SAME
    assert distance(np.zeros((0, 3)), np.zeros((0, 3))) is SAME
    zeros = distance(np.array([0.0, 1.0]), np.array([-0.0, 1.0]))
    assert (zeros.equal, zeros.ulp, zeros.gap) == (False, 0.0, 0.0)


def test_what_cannot_be_measured_is_infinitely_far() -> None:
    one = np.array([1.0, 2.0, 3.0])
    assert distance(one, one.astype("f4")).gap == np.inf
    assert distance(one, one[:2]).ulp == np.inf
    found = distance(one, np.array([1.0, np.nan, 4.0]))
    assert (found.gap, found.where) == (np.inf, (1,))
    assert distance(one, np.array([1.0, 2.0, np.inf])).gap == np.inf


def test_the_place_is_that_of_the_largest_difference() -> None:
    one = np.zeros((2, 3))
    other = np.array([[0.0, 1e-300, 0.0], [0.0, 0.0, 0.5]])
    found = distance(one, other)
    assert (found.where, found.values, found.gap) == ((1, 2), (0.0, 0.5), 0.5)
    integers = distance(np.array([1, 2]), np.array([1, 5]))
    assert (integers.ulp, integers.gap, integers.values) == (3.0, 3.0, (2, 5))
    assert distance(np.array([True]), np.array([False])).gap == 1.0
    large = np.array([2**63 - 1]), np.array([2**63 - 2])
    assert not distance(*large).equal
