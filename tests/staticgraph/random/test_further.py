"""Further distributions: against SciPy's, bits in both paradigms, gradients, errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

import staticgraph as sg
from staticgraph import OptionError, ShapeError, dynamic

N = 20_000
KEY = sg.random.key(20260103)
CASES: dict[str, tuple[tuple[float, ...], Any]] = {
    "maxwell": ((), stats.maxwell()), "wald": ((2.0,), stats.invgauss(2.0)),
    "f": ((5.0, 7.0), stats.f(5, 7)), "loggamma": ((0.5,), stats.loggamma(0.5)),
    "generalized_normal": ((1.5,), stats.gennorm(1.5)),
    "triangular": ((1.0, 2.0, 4.0), stats.triang(1 / 3, 1, 3)),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_numbers_are_of_their_distribution_and_the_same_in_both(name: str) -> None:
    parameters, distribution = CASES[name]

    def draw(key: Any) -> Any:
        return getattr(sg.random, name)(key, *parameters, (N,), "float64")

    found = draw(KEY)
    assert stats.kstest(found, distribution.cdf).pvalue > 1e-4
    assert abs(found.mean() - distribution.mean()) < 5 * distribution.std() / np.sqrt(N)
    assert_array_equal(draw(dynamic.tensor(KEY)).numpy(), found)
    assert_array_equal(sg.function(draw)(KEY), found)


def test_two_sided_numbers_are_of_either_sign() -> None:
    found = sg.random.double_sided_maxwell(KEY, 1.0, 2.0, (N,), "float64")
    assert stats.kstest(np.abs(found - 1) / 2, stats.maxwell.cdf).pvalue > 1e-4
    assert abs(np.mean(found > 1) - 0.5) < 2 / np.sqrt(N)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["loggamma", "generalized_normal"])
def test_gradients_average_to_the_slopes_of_means(name: str) -> None:
    # d E[x^2] / da, of both: by numbers, and by numerical slopes of SciPy's moments
    at = {"loggamma": (2.5, stats.loggamma), "generalized_normal": (1.5, stats.gennorm)}
    a, distribution = at[name]

    def total(a: Any) -> Any:
        return sg.mean(getattr(sg.random, name)(KEY, a, (N,), "float64") ** 2)

    h = 1e-4
    slope = (distribution(a + h).moment(2) - distribution(a - h).moment(2)) / (2 * h)
    assert_allclose(sg.grad(total)(np.array(a)), slope, rtol=0.05)


@pytest.mark.slow
@pytest.mark.parametrize("p", [0.7, 2.0, 5.0])
def test_balls_are_filled_evenly(p: float) -> None:
    found = sg.random.ball(KEY, 3, p, (N,), "float64")
    lengths = (np.abs(found) ** p).sum(axis=1) ** (1 / p)
    assert stats.kstest(lengths**3, "uniform").pvalue > 1e-4
    assert np.all(np.abs(found.mean(axis=0)) < 4 / np.sqrt(N))
    far = np.abs(sg.random.ball(KEY, 3, 1e5, (N,), "float64")).max(axis=1)
    assert stats.kstest(far**3, "uniform").pvalue > 1e-4
    drawn = sg.random.ball(dynamic.tensor(KEY), 3, p, (5,), "float64").numpy()
    assert_array_equal(drawn, found[:5])
    key = sg.placeholder("key", (), "int64")
    graph = sg.random.ball(key, 3, p, (5,), "float64")
    assert_array_equal(sg.compile([key], graph)(KEY), drawn)


def test_orthogonal_matrices_are_turned_evenly() -> None:
    found = sg.random.orthogonal(KEY, 3, (2000,), "float64")
    assert_allclose(found @ np.swapaxes(found, 1, 2), np.tile(np.eye(3), (2000, 1, 1)), atol=1e-12)
    # the first entry of a vector that is equally likely on the sphere is uniform in [-1, 1]
    assert stats.kstest(found[:, 0, 0], stats.uniform(-1, 2).cdf).pvalue > 1e-4
    assert stats.kstest(found[:, 2, 2], stats.uniform(-1, 2).cdf).pvalue > 1e-4
    wide = sg.random.orthogonal(KEY, 2, dtype="float64", m=4)
    assert_allclose(wide @ wide.T, np.eye(2), atol=1e-12)


@pytest.mark.slow
def test_multinomial_counts() -> None:
    p = np.array([0.2, 0.0, 0.5, 0.3])

    def draw(key: Any) -> Any:
        return sg.random.multinomial(key, 12, p, (5000, 4))

    found = draw(KEY)
    assert_array_equal(found.sum(axis=1), 12)
    assert not found[:, 1].any()
    assert_allclose(found.mean(axis=0), 12 * p, atol=0.12)
    covariance = 12 * (np.diag(p) - np.outer(p, p))
    assert_allclose(np.cov(found.T), covariance, atol=0.2)
    assert_array_equal(draw(dynamic.tensor(KEY)).numpy(), found)
    assert_array_equal(sg.function(draw)(KEY), found)
    assert_array_equal(sg.random.multinomial(KEY, np.array([3, 0]), p).sum(axis=1), [3, 0])
    assert_array_equal(sg.random.multinomial(KEY, 7, np.ones(1)), [7])


def test_many_draws_of_one_vector_have_its_chances() -> None:
    p = np.array([0.1, 0.0, 0.6, 0.3])
    with np.errstate(divide="ignore"):
        logits = np.log(p)
    found = sg.random.categorical(KEY, logits, shape=(N,))
    assert stats.chisquare(np.bincount(found, minlength=4)[p > 0], (N * p)[p > 0]).pvalue > 1e-4
    assert_array_equal(sg.random.categorical(dynamic.tensor(KEY), logits, shape=(N,)), found)
    ends = np.array([np.inf, 0.0, -np.inf])
    assert_array_equal(sg.random.categorical(KEY, ends, shape=(3,)), 0)
    unknown = sg.random.categorical(KEY, np.full(3, np.nan), shape=(9,))
    assert np.all((unknown >= 0) & (unknown < 3))
    key = sg.placeholder("key", (), "int64")  # nan is looked for where it is known that it is
    graph = sg.random.categorical(key, np.full(3, np.nan), shape=(9,))
    assert_array_equal(sg.compile([key], graph)(KEY), unknown)


REFUSED: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: sg.random.ball(KEY, 0), OptionError, "ball: d=0 is no positive int"),
    (lambda: sg.random.orthogonal(KEY, 2, m=0), OptionError, "orthogonal: m=0 is no positive int"),
    (lambda: sg.random.multinomial(KEY, 3, 0.5), ShapeError,
     r"multinomial: p of the shape \(\) has no known classes"),
    (lambda: sg.random.multinomial(KEY, 1e16, np.ones(2) / 2), OptionError,
     r"multinomial: n 1e\+16 is not between 0 and 1e\+15"),
    (lambda: sg.random.ball(KEY, 2, np.inf), OptionError, "ball: p inf is not between"),
    (lambda: sg.random.triangular(KEY, 0.0, 2.0, 1.0), OptionError, "triangular: mode"),
    (lambda: sg.random.wald(KEY, 0.0), OptionError, r"wald: mean 0\.0 is not between"),
]  # fmt: skip


@pytest.mark.parametrize(("draw", "error", "text"), REFUSED)
def test_parameters_that_do_not_fit_are_refused(
    draw: Callable[[], Any], error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=text):
        draw()
