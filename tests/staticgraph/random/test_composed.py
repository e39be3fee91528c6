"""Distributions that are composed of others: their distribution, bits in both paradigms, errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

import staticgraph as sg
from staticgraph import DTypeError, OptionError, OutOfRangeError, ShapeError, dynamic
from staticgraph.compiler import ops

N = 20_000
KEY = sg.random.key(20260102)
CASES: dict[str, tuple[tuple[float, ...], Any]] = {
    "laplace": ((), stats.laplace()), "logistic": ((), stats.logistic()),
    "cauchy": ((), stats.cauchy()), "pareto": ((2.5,), stats.pareto(2.5)),
    "weibull_min": ((2.0, 1.5), stats.weibull_min(1.5, scale=2)),
    "lognormal": ((0.5,), stats.lognorm(0.5)), "rayleigh": ((2.0,), stats.rayleigh(scale=2)),
    "chisquare": ((3.0,), stats.chi2(3)), "t": ((4.0,), stats.t(4)),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_numbers_are_of_their_distribution_and_the_same_in_both(name: str) -> None:
    parameters, distribution = CASES[name]

    def draw(key: Any) -> Any:
        return getattr(sg.random, name)(key, *parameters, (N,), "float64")

    found = draw(KEY)
    assert stats.kstest(found, distribution.cdf).pvalue > 1e-4
    assert_array_equal(draw(dynamic.tensor(KEY)).numpy(), found)
    assert_array_equal(sg.function(draw)(KEY), found)
    narrow = getattr(sg.random, name)(KEY, *parameters, (N,), "float16")
    assert narrow.dtype == "float16"
    assert np.all(np.isfinite(narrow))


def test_gradients_of_parameters_are_those_of_fixed_quantiles() -> None:
    def total(b: Any) -> Any:
        return sg.sum(sg.random.pareto(KEY, b, (9,), "float64"))

    h = 1e-6
    quotient = (total(np.array(2 + h)) - total(np.array(2 - h))) / (2 * h)
    assert_allclose(sg.grad(total)(np.array(2.0)), quotient, rtol=1e-7)
    b = dynamic.tensor(2.0, dtype=dynamic.float64, requires_grad=True)
    total(b).backward()
    assert_allclose(b.grad.numpy(), quotient, rtol=1e-7)  # type: ignore[union-attr]


def test_counts_and_signs() -> None:
    found = sg.random.geometric(KEY, 0.3, (N,))
    assert found.dtype == "int64"
    assert found.min() == 1
    assert abs(found.mean() - 1 / 0.3) < 4 * np.sqrt(0.7 / 0.09 / N)
    assert_array_equal(sg.random.geometric(KEY, 1.0, (3,)), [1, 1, 1])
    signs = sg.random.rademacher(KEY, (N,))
    assert_array_equal(np.unique(signs), [-1, 1])
    assert abs(signs.mean()) < 4 / np.sqrt(N)


@pytest.mark.slow
def test_shares_and_vectors() -> None:
    alpha = np.array([1.0, 2.0, 3.0])
    mean, cov = np.array([1.0, -1.0]), np.array([[2.0, 0.5], [0.5, 1.0]])

    def shares(key: Any) -> Any:
        return sg.random.dirichlet(key, alpha, (N,), "float64")

    def vectors(key: Any) -> Any:
        return sg.random.multivariate_normal(key, mean, cov, (N,), "float64")

    found = shares(KEY)
    assert_allclose(found.sum(axis=1), 1, rtol=1e-12)
    assert_allclose(found.mean(axis=0), alpha / 6, atol=0.01)
    assert_allclose(found.var(axis=0), stats.dirichlet(alpha).var(), rtol=0.05)
    drawn = vectors(KEY)
    assert_allclose(drawn.mean(axis=0), mean, atol=4 * np.sqrt(2 / N))
    assert_allclose(np.cov(drawn.T), cov, atol=0.08)
    for draw, expected in ((shares, found), (vectors, drawn)):
        assert_allclose(draw(dynamic.tensor(KEY)).numpy(), expected, rtol=1e-12)
        assert_allclose(sg.function(draw)(KEY), expected, rtol=1e-12)
    assert sg.random.multivariate_normal(KEY, np.zeros((4, 2)), cov).shape == (4, 2)


@pytest.mark.slow
@pytest.mark.parametrize("replace", [True, False])
@pytest.mark.parametrize("p", [None, np.array([0.1, 0.2, 0.3, 0.4])])
def test_choices_have_their_chances(replace: bool, p: np.ndarray | None) -> None:
    def draw(key: Any) -> Any:
        return sg.random.choice(key, 4, (3,), replace, p)

    found = np.stack([draw(key) for key in sg.random.split(KEY, 1000)])
    chances = np.full(4, 0.25) if p is None else p
    assert_allclose(np.bincount(found[:, 0], minlength=4) / 1000, chances, atol=0.06)
    assert replace or all(len(set(row)) == 3 for row in found.tolist())
    assert_array_equal(draw(dynamic.tensor(KEY)).numpy(), draw(KEY))
    assert_array_equal(sg.function(draw)(KEY), draw(KEY))


def taken(offsets: Any) -> list[int]:
    """The reference: what is left is a list, of which the first one fills the gap."""
    moved: dict[int, int] = {}
    found = []
    for i, offset in enumerate(offsets.tolist()):
        found.append(moved.get(i + offset, i + offset))
        moved[i + offset] = moved.get(i, i)
    return found


def test_choices_without_replacement_are_equally_likely_however_many_there_are() -> None:
    keys = sg.random.split(KEY, 12_000)
    found = sg.vmap(lambda key: sg.random.choice(key, 4, (3,), replace=False))(keys)
    seen = np.unique(found @ [16, 4, 1], return_counts=True)[1]
    assert len(seen) == 24
    assert stats.chisquare(seen).pvalue > 1e-4
    for n in (3000, 10**6, 10**15):
        few = sg.random.choice(KEY, n, (3000,), replace=False)
        assert len(np.unique(few)) == 3000
        assert stats.kstest(few / n, "uniform").pvalue > 1e-4
        offsets = sg.random.randint(KEY, (2, 50), 0, n - np.arange(50))
        assert_array_equal(ops.random_places(offsets), [taken(row) for row in offsets])
        assert_array_equal(ops.random_places(offsets.T, axis=0).T, ops.random_places(offsets))
    key, x = sg.placeholder("key", (), "int64"), sg.placeholder("x", (None,))
    chosen = sg.compile([key, x], sg.random.choice(key, x, (3,), replace=False))
    many = np.arange(10, dtype="float32")
    assert_array_equal(chosen(KEY, many), sg.random.choice(KEY, many, (3,), replace=False))
    with pytest.raises(OutOfRangeError, match="take: index 2 is out of range"):
        chosen(KEY, many[:2])


def test_choices_take_slices_of_an_axis() -> None:
    x = np.arange(12.0).reshape(3, 4)
    assert sg.random.choice(KEY, x, (2, 2), axis=1).shape == (3, 2, 2)
    found = sg.random.choice(KEY, x, (4,), replace=False, axis=1)
    assert_array_equal(np.sort(found, axis=1), x)
    assert sg.random.choice(KEY, x).shape == (4,)


REFUSED: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: sg.random.choice(KEY, 3, (4,), replace=False), OptionError,
     "choice: 4 of 3 without replacement"),
    (lambda: sg.random.choice(KEY, 3, (4,), p=np.ones(2)), ShapeError,
     r"choice: p has the shape \(2,\), not \(3,\)"),
    (lambda: sg.random.choice(KEY, 0, (4,)), ShapeError, "choice: 4 of 0"),
    (lambda: sg.random.choice(KEY, 1 << 63, replace=False), OptionError,
     r"choice: there are 2\*\*63 integers or more below 9223372036854775808"),
    (lambda: sg.random.choice(KEY, 3, p=np.zeros(3)), OptionError,
     "choice: 1 of 3, of which 0 have a chance"),
    (lambda: sg.random.choice(KEY, 3, (2,), replace=False, p=np.array([0, 0, 1.0])), OptionError,
     "choice: 2 of 3, of which 1 have a chance"),
    (lambda: sg.random.choice(KEY, 2, p=np.array([np.nan, 1.0])), OptionError,
     "choice: p nan is not between"),
    (lambda: sg.random.pareto(KEY, 0.0), OptionError, r"pareto: b 0\.0 is not between"),
    (lambda: sg.random.dirichlet(KEY, 1.0), ShapeError, "dirichlet: alpha is a number"),
    (lambda: sg.random.multivariate_normal(KEY, np.ones(2), np.ones((3, 3))), ShapeError,
     r"multivariate_normal: a mean of the shape \(2,\) and covariances of \(3, 3\)"),
    (lambda: sg.random.geometric(KEY, 0.0), OptionError, r"geometric: p 0\.0 is not between"),
    (lambda: sg.random.laplace(KEY, (2,), "int64"), DTypeError, "laplace: int64 is not floating"),
]  # fmt: skip


@pytest.mark.parametrize(("draw", "error", "text"), REFUSED)
def test_parameters_that_do_not_fit_are_refused(
    draw: Callable[[], Any], error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=text):
        draw()
