"""NumPy's keyword arguments of reductions: where=, initial=, dtype=, ddof=."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

import dynamic
import staticgraph as sg
from staticgraph.compiler.core.errors import OptionError, ShapeError

X = np.random.default_rng(2).uniform(-2, 2, (3, 4))
MASK = np.random.default_rng(3).uniform(size=(3, 4)) > 0.4

CALLS: list[tuple[str, dict[str, Any]]] = [
    ("sum", {"where": MASK}),
    ("sum", {"axis": 1, "where": MASK, "initial": 2.5}),
    ("sum", {"axis": (0, 1), "initial": -1.0, "keepdims": True}),
    ("sum", {"dtype": "float32", "axis": 0}),
    ("prod", {"axis": 0, "where": MASK}),
    ("prod", {"axis": (0, 1), "initial": 3.0}),
    ("max", {"axis": 1, "where": MASK, "initial": 0.25}),
    ("min", {"axis": (0, 1), "initial": -3.0}),
    ("min", {"where": MASK, "initial": 9.0}),
    ("var", {"axis": 1, "ddof": 1}),
    ("std", {"ddof": 1}),
]


@pytest.mark.parametrize(("name", "options"), CALLS)
def test_keyword_arguments_are_numpys(name: str, options: dict[str, Any]) -> None:
    expected = getattr(np, name)(X, **options)
    found = getattr(sg, name)(X, **options)
    tolerance = 1e-6 if "dtype" in options else 1e-14
    assert_allclose(found, expected, rtol=tolerance)
    assert found.dtype == expected.dtype
    x = sg.placeholder("x", (None, 4), "float64")
    if "where" not in options:
        assert_allclose(sg.run(getattr(sg, name)(x, **options), {x: X}), expected, rtol=tolerance)
    eager = getattr(sg, name)(dynamic.tensor(X), **options)
    assert_allclose(eager.numpy(), expected, rtol=tolerance)


def test_their_gradient_is_that_of_what_counts() -> None:
    slope = sg.grad(lambda x: sg.sum(x * x, where=MASK, initial=5.0))(X)
    assert_allclose(slope, np.where(MASK, 2 * X, 0))
    peak = sg.grad(lambda x: sg.max(x, where=MASK, initial=-9.0))(X)
    assert_allclose(peak, np.where(MASK, X, -9).max() == X)


def test_of_integers_and_bools() -> None:
    n = np.arange(6).reshape(2, 3)
    assert sg.sum(n, where=n > 2, initial=10) == np.sum(n, where=n > 2, initial=10)
    assert sg.sum(n > 2, axis=0, initial=1).tolist() == np.sum(n > 2, axis=0, initial=1).tolist()
    assert sg.max(n, initial=9) == 9
    assert sg.any(n > 2, axis=1, where=n != 4).tolist() == [False, True]
    assert sg.all(n > 2, axis=0, where=n != 1).tolist() == [False, True, False]
    assert sg.max(np.zeros((0, 2)), axis=0, initial=7.0).tolist() == [7.0, 7.0]
    assert sg.max(n > 2, initial=False).dtype == bool


@pytest.mark.parametrize("shape", [(), (0, 3), (2, 0, 3), (2, 3)])
@pytest.mark.parametrize("name", ["sum", "prod", "max", "min"])
def test_an_initial_value_counts_where_nothing_else_does(name: str, shape: tuple[int, ...]) -> None:
    x = np.full(shape, 0.5)
    for axis in (None, 0) if shape else (None,):
        expected = getattr(np, name)(x, axis=axis, initial=3.0)
        assert np.array_equal(getattr(sg, name)(x, axis=axis, initial=3.0), expected)
    s = sg.placeholder("s", (None,) * len(shape), "float64")
    assert sg.run(getattr(sg, name)(s, initial=3.0), {s: x}) == getattr(np, name)(x, initial=3.0)


def test_ddof_may_be_a_fraction() -> None:
    x = np.array([1.0, 4.0])
    assert_allclose(sg.var(x, ddof=1.5), np.var(x, ddof=1.5))
    s = sg.placeholder("s", (None,), "float64")
    var = sg.compile([s], sg.var(s, ddof=0.5))
    assert_allclose([var(x), var(x[:1])], [np.var(x, ddof=0.5), 0])


def test_what_has_no_meaning_is_refused() -> None:
    with pytest.raises(OptionError, match="max: where= needs initial="):
        sg.max(X, where=MASK)
    with pytest.raises(ShapeError, match=r"sum: where= broadcasts \(3,\) to \(2, 3\)"):
        sg.sum(np.ones(3), where=np.ones((2, 3), bool))
    with pytest.raises(OptionError, match="var: correction=1 and ddof=2 are one argument"):
        sg.var(X, correction=1, ddof=2)
