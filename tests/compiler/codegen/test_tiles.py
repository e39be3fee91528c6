"""Rows in tiles: what is expensive and computed once per row is computed for many rows at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import staticgraph as sg
from tests.combinations import some


def compiled(function: Callable[[Any], Any], columns: int | None, **options: Any) -> sg.Executable:
    x = sg.placeholder("x", (None, columns), "float64")
    return sg.compile([x], function(x), **options)


def units(function: Callable[[Any], Any], columns: int | None) -> str:
    return "".join(compiled(function, columns).kernel.texts)


def per_row(x: Any) -> Any:
    """Expensive between two passes over a row."""
    return x / sg.sigmoid(x.sum(axis=1, keepdims=True))


def twice(x: Any) -> Any:
    """Expensive before, between and behind passes that accumulate."""
    first = sg.exp(-x.max(axis=1, keepdims=True))
    second = (x * first).sum(axis=1, keepdims=True)
    third = sg.tanh(second) * sg.exp(x - sg.log1p(second * second)).sum(axis=1, keepdims=True)
    return [x * third, sg.log(third * third), third.sum(), (x * third).sum(axis=0)]


def gathered(x: Any) -> Any:
    """An index that is computed per row reads what the row has in memory of its own."""
    p = sg.softmax(x, axis=1)
    at = sg.astype(sg.floor(sg.sigmoid(x.sum(axis=1, keepdims=True)) * 2.99), "int64")
    return [sg.log(sg.take_along_axis(p, at, axis=1)), p * p]


def loss(x: Any) -> Any:
    value = sg.softplus((x * x).sum(axis=1)).mean()
    return [value, sg.grad(value, x)]


def position(x: Any) -> Any:
    """A position found in the pass of one loop, and a bool, are read in the next one."""
    at = x.argmax(axis=1)
    positive = x.sum(axis=1) > 0
    value = sg.where(positive, sg.exp(sg.astype(at, "float64")), sg.log1p(x.min(axis=1) ** 2))
    return (
        x * value[:, None]
        + sg.astype(at, "float64")[:, None] * sg.astype(positive, "float64")[:, None]
    )


FUNCTIONS = [per_row, twice, gathered, loss, position]


@pytest.mark.slow
@pytest.mark.parametrize("rows", some([0, 1, 7, 65, 64, 1000], 2))
@pytest.mark.parametrize("columns", [3, 10, 50])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_tiles_are_numpy(function: Callable[[Any], Any], columns: int, rows: int) -> None:
    if rows == 0 and function is loss:
        rows = 2  # the mean of nothing is nan
    x = np.random.default_rng(rows).standard_normal((rows, columns))
    tiled, interpreted = compiled(function, columns), compiled(function, columns, debug=True)
    np.testing.assert_equal(
        [np.shape(one) for one in tiled(x)], [np.shape(one) for one in interpreted(x)]
    )
    for found, expected in zip(tiled(x), interpreted(x), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("function", FUNCTIONS)
def test_the_number_of_columns_may_be_unknown(function: Callable[[Any], Any]) -> None:
    tiled, interpreted = compiled(function, None), compiled(function, None, debug=True)
    rng = np.random.default_rng(0)
    for rows, columns in ((5, 3), (64, 10), (1000, 4), (9, 95), (17, 96), (16, 97), (33, 600)):
        x = rng.standard_normal((rows, columns)) / columns**0.5
        before = x.copy()
        for found, expected in zip(tiled(x), interpreted(x), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)
        np.testing.assert_array_equal(x, before)


@pytest.mark.slow
@pytest.mark.parametrize("columns", [20, None])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_these_have_tiles(function: Callable[[Any], Any], columns: int | None) -> None:
    assert "for tile in range(" in units(function, columns)


def test_what_is_cheap_or_long_has_none() -> None:
    assert "for tile in" not in units(lambda x: x / x.sum(axis=1, keepdims=True), 10)
    assert "for tile in" not in units(per_row, 3000)


def test_a_tile_fits_into_the_cache() -> None:
    assert ", 64):" in units(per_row, 16)
    assert ", 8):" in units(per_row, 180)


@pytest.mark.parametrize("columns", [20, None])
def test_threads_do_not_change_bits(columns: int | None) -> None:
    x = np.random.default_rng(0).standard_normal((30_000, 20))
    one, two = (compiled(twice, columns, threads=n)(x) for n in (1, 2))
    for a, b in zip(one, two, strict=True):
        np.testing.assert_array_equal(a, b)
