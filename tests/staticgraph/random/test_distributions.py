"""Distributions against SciPy's, with fixed keys, and their gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest
from mpmath import mp
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

import dynamic
import staticgraph as sg
from staticgraph.compiler import ops
from staticgraph.compiler.core.errors import DTypeError, OptionError, ShapeError
from tests.combinations import some

N = 50_000
KEY = sg.random.key(20260101)
LEAST = 1e-4
"""The least p-value: a fixed key either passes or does not, and a wrong distribution has 1e-20."""

FLOATS = ("float32", "float64")
CONTINUOUS: dict[str, tuple[Callable[..., Any], Any]] = {
    "uniform": (lambda n, d: sg.random.uniform(KEY, n, d, 2.0, 5.0), stats.uniform(2, 3)),
    "normal": (lambda n, d: sg.random.normal(KEY, n, d, 1.0, 2.0), stats.norm(1, 2)),
    "exponential": (lambda n, d: sg.random.exponential(KEY, n, d, 3.0), stats.expon(scale=3)),
    "gumbel": (lambda n, d: sg.random.gumbel(KEY, n, d), stats.gumbel_r()),
    "truncated_normal": (
        lambda n, d: sg.random.truncated_normal(KEY, -1.0, 2.5, n, d), stats.truncnorm(-1, 2.5),
    ),
    "gamma 0.3": (lambda n, d: sg.random.gamma(KEY, 0.3, n, d), stats.gamma(0.3)),
    "gamma 1": (lambda n, d: sg.random.gamma(KEY, 1.0, n, d), stats.gamma(1)),
    "gamma 2.5": (lambda n, d: sg.random.gamma(KEY, 2.5, n, d), stats.gamma(2.5)),
    "gamma 900": (lambda n, d: sg.random.gamma(KEY, 900.0, n, d), stats.gamma(900)),
    "beta": (lambda n, d: sg.random.beta(KEY, 0.5, 2.0, n, d), stats.beta(0.5, 2)),
    "beta 80 300": (lambda n, d: sg.random.beta(KEY, 80.0, 300.0, n, d), stats.beta(80, 300)),
    "far tail": (
        lambda n, d: sg.random.truncated_normal(KEY, 7.0, np.inf, n, d), stats.truncnorm(7, np.inf),
    ),
    "far interval": (
        lambda n, d: sg.random.truncated_normal(KEY, -9.0, -8.5, n, d), stats.truncnorm(-9, -8.5),
    ),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("case", some([f"{one}, {d}" for one in CONTINUOUS for d in FLOATS], 3))
def test_numbers_are_of_their_distribution(case: str) -> None:
    name, dtype = case.split(", ")
    draw, distribution = CONTINUOUS[name]
    found = draw((N,), dtype)
    assert found.dtype == dtype
    wide = found.astype("float64")
    assert stats.kstest(wide, distribution.cdf).pvalue > LEAST
    error = distribution.std() / np.sqrt(N)
    assert abs(wide.mean() - distribution.mean()) < 4 * error
    fourth = (distribution.stats("k") + 2) / N
    assert abs(wide.var() / distribution.var() - 1) < 4 * np.sqrt(fourth)


def test_normal_numbers_have_the_right_tails() -> None:
    count = 2_000_000
    for dtype in ("float32", "float64"):
        found = np.abs(sg.random.normal(KEY, (count,), dtype))
        for limit in (3.0, 4.0, 4.5):
            expected = 2 * stats.norm.sf(limit) * count
            assert abs(np.sum(found > limit) - expected) < 4 * np.sqrt(expected)
    ends = [0, 1, (1 << 23) - 1]  # of the words of which float32 makes its ends
    words = np.array(ends) << 41
    u = ops.unit_float32(words) * 2 - 1
    assert_array_equal(u, np.array([-1, -1 + 2.0**-22, 1 - 2.0**-22], "float32"))


def test_neighbours_are_not_correlated() -> None:
    u = sg.random.uniform(KEY, (N,), "float64") - 0.5
    for lag in (1, 2, 32):
        assert abs(np.mean(u[lag:] * u[:-lag])) * 12 * np.sqrt(N) < 4
    keys = sg.random.split(KEY, 1000)
    rows = sg.vmap(lambda key: sg.random.uniform(key, (64,), "float64"))(keys) - 0.5
    assert abs(np.mean(rows[1:] * rows[:-1])) * 12 * np.sqrt(rows.size) < 4


@pytest.mark.slow
def test_small_and_large_parameters() -> None:
    # of a = 1e-3 nearly all gamma numbers are 0 in float32, but not their quotients
    shares = sg.random.beta(KEY, 1e-3, 2e-3, (N,))
    assert abs(np.mean(shares > 0.5) - 1 / 3) < 4 * np.sqrt(2 / 9 / N)
    assert np.all((shares >= 0) & (shares <= 1))
    large = sg.random.gamma(KEY, 1e12, (N,), "float64")
    assert stats.kstest((large - 1e12) / 1e6, "norm").pvalue > LEAST
    ends = sg.random.gamma(KEY, np.array([0.0, np.inf, np.nan]))
    assert_array_equal(ends, [0.0, np.inf, np.nan])
    assert_array_equal(sg.random.gamma(KEY, np.array([-0.0])), [0.0])
    assert_array_equal(sg.random.geometric(KEY, 1e-300, (2,)), [(1 << 63) - 1024] * 2)
    for draw in (sg.random.gamma, sg.random.loggamma):  # known when they are drawn
        found = sg.function(lambda a, draw=draw: draw(KEY, a))(np.full(64, -0.3))
        assert np.isnan(found).all()
    rates = sg.random.poisson(KEY, np.array([0.0] * 9 + [1e15]))
    assert not rates[:9].any()
    assert abs(rates[9] - 1e15) < 5 * np.sqrt(1e15)
    trials = sg.random.binomial(KEY, np.array([0, 3, 7, 1e14]), np.array([0.5, 0.0, 1.0, 0.5]))
    assert_array_equal(trials[:3], [0, 0, 7])
    assert abs(trials[3] - 5e13) < 5 * np.sqrt(2.5e13)
    unknown = sg.function(lambda n, p: sg.random.binomial(KEY, n, p))
    no = np.array([-1.0, 3.0, np.nan, 2.0, 1e15])
    assert_array_equal(unknown(no, np.array([0.5, 2.0, 0.3, np.nan, 0.5])), [-1] * 5)
    bounds = sg.random.truncated_normal(KEY, np.array([1e9, -2.0, 5.0]), np.array([2e9, -2.0, 5.0]))
    assert_array_equal(bounds, np.array([1e9, -2.0, 5.0], "float32"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("draw", "mean", "variance"),
    [
        (lambda: sg.random.poisson(KEY, 1e17, (N,)), 1e17, 1e17),
        (lambda: sg.random.poisson(KEY, 2e6, (N,)), 2e6, 2e6),
        (lambda: sg.random.binomial(KEY, 9e14, 0.25, (N,)), 2.25e14, 1.6875e14),
        (lambda: sg.random.binomial(KEY, 9e14, 0.75, (N,)), 6.75e14, 1.6875e14),
        (lambda: sg.random.binomial(KEY, 1e14, 1e-12, (N,)), 100, 100),
    ],
)
def test_counts_of_large_means_are_nearly_normal(
    draw: Callable[[], Any], mean: float, variance: float
) -> None:
    standard = (draw().astype(float) - mean) / np.sqrt(variance)
    assert abs(np.mean(standard)) < 4 / np.sqrt(N)
    assert abs(np.var(standard) - 1) < 4 * np.sqrt(2 / N)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("draw", "distribution"),
    [
        (lambda: sg.random.poisson(KEY, 0.7, (N,)), stats.poisson(0.7)),
        (lambda: sg.random.poisson(KEY, 9.5, (N,)), stats.poisson(9.5)),
        (lambda: sg.random.poisson(KEY, 12.0, (N,)), stats.poisson(12)),
        (lambda: sg.random.poisson(KEY, 300.0, (N,)), stats.poisson(300)),
        (lambda: sg.random.poisson(KEY, 2e6, (N,)), stats.poisson(2e6)),
        (lambda: sg.random.binomial(KEY, 5, 0.3, (N,)), stats.binom(5, 0.3)),
        (lambda: sg.random.binomial(KEY, 17, 0.55, (N,)), stats.binom(17, 0.55)),
        (lambda: sg.random.binomial(KEY, 10**6, 0.3, (N,)), stats.binom(10**6, 0.3)),
        (lambda: sg.random.binomial(KEY, 40, 0.5, (N,)), stats.binom(40, 0.5)),
        (lambda: sg.random.binomial(KEY, 1000, 0.97, (N,)), stats.binom(1000, 0.97)),
        (lambda: sg.random.randint(KEY, (N,), -3, 14), stats.randint(-3, 14)),
        (lambda: sg.random.randint(KEY, (N,), 0, np.array(7)), stats.randint(0, 7)),
        (lambda: sg.random.bernoulli(KEY, 0.2, (N,)).astype(int), stats.bernoulli(0.2)),
    ],
)  # fmt: skip
def test_counts_are_of_their_distribution(draw: Callable[[], Any], distribution: Any) -> None:
    found = draw()
    low, high = int(distribution.ppf(0.001)), int(distribution.ppf(0.999))
    values = np.arange(low, high + 1)
    expected = distribution.pmf(values) * N
    seen = np.array([np.sum(found == value) for value in values])
    expected, seen = (np.append(one, N - one.sum()) for one in (expected, seen))
    frequent = expected > 5
    statistic = np.sum((seen - expected)[frequent] ** 2 / expected[frequent])
    assert stats.chi2.sf(statistic, frequent.sum() - 1) > LEAST
    assert not seen[expected < 1e-6].any()


@pytest.mark.parametrize("power", [1, 8, 31, 32, 62])
def test_of_a_power_of_two_integers_are_the_upper_bits(power: int) -> None:
    """As of bounds that are arrays, which take the way of all other numbers."""
    upper = sg.random.bits(KEY, (1000,)).view(np.uint64) >> np.uint64(64 - power)
    low = -(1 << power - 1)
    found = sg.random.randint(KEY, (1000,), low, -low)
    assert_array_equal(found, upper.astype(np.int64) + low)
    assert_array_equal(found, sg.random.randint(KEY, (1000,), low, np.array([-low])))


def test_integers_fill_their_dtypes() -> None:
    for dtype in ("int8", "uint8", "uint16"):
        info = np.iinfo(dtype)
        found = sg.random.randint(KEY, (1 << 19,), info.min, info.max + 1, dtype)
        counts = np.bincount(found.astype(np.int64) - info.min, minlength=info.max - info.min + 1)
        assert found.dtype == dtype
        assert stats.chisquare(counts).pvalue > LEAST


def test_wide_ranges_of_integers() -> None:
    low, high = -(1 << 62), 3 << 60
    found = sg.random.randint(KEY, (N,), low, high)
    assert found.min() >= low
    assert found.max() < high
    assert stats.kstest((found - float(low)) / (high - float(low)), "uniform").pvalue > LEAST
    for span in (3, 3 << 61, (1 << 63) - 1):  # of 64 bits all are as likely to the last one
        found = sg.random.randint(KEY, (N,), 0, np.full(N, span))
        assert stats.chisquare(np.bincount(found % 3)).pvalue > LEAST
        assert stats.chisquare(np.bincount(found // -(-span // 3))).pvalue > LEAST
    for span in (1 << 59, 1 << 62, 3 << 61, (1 << 63) - 1):  # known ones have further attempts
        known = sg.random.randint(KEY, (1000,), -5, span - 5)
        assert_array_equal(known, sg.random.randint(KEY, (1000,), -5, np.full(1000, span - 5)))
    attempts = ops.wide_attempt(3 << 61, KEY, np.arange(1000))
    assert 0 < np.mean(attempts < 0) < 0.03
    attempts = ops.below_attempt(3 << 61, KEY, np.arange(1000))
    assert 0.2 < np.mean(attempts < 0) < 0.5  # of which a loop draws anew
    most = (1 << 63) - 1
    apart = sg.random.randint(KEY, (2,), np.array([0, most]), np.array([5, -most]))
    assert 0 <= apart[0] < 5  # the difference of the others wraps to 3
    assert apart[1] == most
    wide = sg.random.randint(KEY, (2,), np.array([-most, 0]), np.array([-2, most]))
    assert wide[0] < -2 < 0 <= wide[1]
    top = np.uint64(1 << 63)
    upper = sg.random.randint(KEY, (9,), top, top + np.uint64(5), "uint64")
    assert_array_equal(np.unique(upper // top), [1])
    bytes_ = sg.random.randint(KEY, (1000,), 0, 256, "uint8")
    assert bytes_.dtype == "uint8"
    assert len(np.unique(bytes_)) > 200


def test_categories_have_their_chances_along_any_axis() -> None:
    chances = np.array([[0.1, 0.6, 0.3], [0.0, 0.25, 0.75]])
    with np.errstate(divide="ignore"):
        logits = np.log(chances)
    found = sg.random.categorical(KEY, logits, shape=(50_000, 2))
    turned = sg.random.categorical(KEY, logits.T, axis=0, shape=(50_000, 2))
    for drawn in (found, turned):
        seen = [[np.mean(drawn[:, row] == value) for value in range(3)] for row in range(2)]
        assert_allclose(seen, chances, atol=0.01)
        assert seen[1][0] == 0
    assert sg.random.categorical(KEY, logits).shape == (2,)


@pytest.mark.slow
def test_permutations_are_equally_likely() -> None:
    keys = sg.random.split(KEY, 12_000)
    key = sg.placeholder("key", (), "int64")
    order = sg.compile([key], sg.random.permutation(key, 4))
    orders = [order(one) for one in keys]
    assert_array_equal(np.sort(orders, 1)[::500], np.tile(np.arange(4), (24, 1)))
    seen = np.unique(np.array(orders) @ [64, 16, 4, 1], return_counts=True)[1]
    assert len(seen) == 24
    assert stats.chisquare(seen).pvalue > LEAST
    rows = np.arange(12).reshape(4, 3)
    assert_array_equal(sg.random.permutation(keys[0], rows), rows[orders[0]])
    assert_array_equal(sg.random.permutation(keys[0], rows.T, axis=1), rows.T[:, orders[0]])
    assert_array_equal(np.bincount(sg.random.permutation(KEY, 100_000)), np.ones(100_000))
    words = sg.random.bits(KEY, (3, 9, 2))
    found = ops.random_order(words, axis=1)
    for row, column in np.ndindex(3, 2):
        order: list[int] = []
        for i, word in enumerate(words[row, :, column].tolist()):
            order.append(i)
            other = word % (1 << 64) * (i + 1) >> 64
            order[i], order[other] = order[other], i
        assert_array_equal(found[row, :, column], order)


def test_dropout_divides_what_it_keeps() -> None:
    x = np.ones((400, 500), "float32")
    found = sg.dropout(x, 0.2, key=KEY)
    assert_array_equal(np.unique(found), np.array([0, 1.25], "float32"))
    assert abs(np.mean(found == 0) - 0.2) < 0.004
    assert sg.dropout(x, 0, key=KEY) is x
    assert not sg.dropout(x, 1.0, key=KEY).any()
    assert not sg.dropout(np.array([np.inf, np.nan]), 1, key=KEY).any()


# -- gradients ---------------------------------------------------------------------------------


def slope_of_quantiles(a: float, x: float) -> float:
    """By mpmath: the density and a quotient of differences of the distribution function."""
    with mp.workdps(40):
        h = mp.mpf(a) * mp.mpf(10) ** -13
        ends = [mpmath.gammainc(mp.mpf(a) + s * h, 0, mp.mpf(x), regularized=True) for s in (1, -1)]
        logarithm = (mp.mpf(a) - 1) * mp.log(mp.mpf(x)) - mp.mpf(x) - mp.loggamma(mp.mpf(a))
        return float(-(ends[0] - ends[1]) / (2 * h) / mp.exp(logarithm))


def test_gamma_numbers_have_the_gradient_of_their_quantile() -> None:
    rng = np.random.default_rng(0)
    a = np.concatenate([np.exp(rng.uniform(-5, 8, 40)), [1.0, 2.0, 150_000.0]])
    x = rng.gamma(a)
    expected = [slope_of_quantiles(*one) for one in zip(a.tolist(), x.tolist(), strict=True)]
    given, at = sg.placeholder("a", (None,), "float64"), sg.placeholder("x", (None,), "float64")
    compiled = sg.compile([given, at], ops.gamma_slope(given, at))(a, x)
    for found in (compiled, ops.gamma_slope(a, x)):
        assert_allclose(found, expected, rtol=1e-10)
    ends = ops.gamma_slope(np.array([1.0, 1.0, -1.0]), np.array([0.0, np.nan, 1.0]))
    assert_array_equal(ends, [0.0, np.nan, np.nan])


@pytest.mark.slow
def test_reparameterised_gradients_are_those_of_difference_quotients() -> None:
    key, p = sg.placeholder("key", (), "int64"), sg.placeholder("p", (2,), "float64")
    low, width = p[0], p[1]
    draws = {
        "uniform": sg.random.uniform(key, (50,), "float64", low, low + width),
        "normal": sg.random.normal(key, (50,), "float64", low, width),
        "exponential": sg.random.exponential(key, (50,), "float64", width),
        "truncated": sg.random.truncated_normal(key, low, low + width, (50,), "float64"),
    }
    losses = [sg.sum(sg.sin(one)) for one in draws.values()]
    values = sg.compile([key, p], [*losses, *(sg.grad(loss, p) for loss in losses)])
    at, h = np.array([0.3, 1.7]), 1e-6
    for i, found in enumerate(values(KEY, at)[len(losses) :]):
        quotients = [
            (values(KEY, at + step)[i] - values(KEY, at - step)[i]) / (2 * h)
            for step in h * np.eye(2)
        ]
        assert_allclose(found, quotients, rtol=1e-6, atol=1e-7)


def normal_mass(low: Any, high: Any) -> Any:
    """Twice the normal distribution's between two numbers, none of it lost."""
    if low < 0:
        low, high = -high, -low
    return mp.erfc(low / mp.sqrt(2)) - mp.erfc(high / mp.sqrt(2))


@pytest.mark.slow
def test_truncated_numbers_have_the_gradient_of_their_quantile() -> None:
    low = np.array([-1.0, -3.0, 2.0, 6.0, 20.0, -30.0, -np.inf, 40.0, 1.5])
    high = np.array([2.0, -2.0, 2.5, np.inf, 21.0, -29.9, np.inf, np.inf, 1.6])
    a, b = (sg.placeholder(name, (None,), "float64") for name in "ab")
    drawn = sg.random.truncated_normal(KEY, a, b, dtype="float64")
    slopes = sg.compile([a, b], [drawn, *sg.grad(sg.sum(drawn), [a, b])])
    x, *found = slopes(low, high)
    with mp.workdps(60):
        for i, place in enumerate(zip(low.tolist(), high.tolist(), x.tolist(), strict=True)):
            left, right, at = map(mp.mpf, place)
            share = normal_mass(left, at) / normal_mass(left, right)
            expected = [
                mp.exp((at**2 - left**2) / 2) * (1 - share) if mp.isfinite(left) else 0,
                mp.exp((at**2 - right**2) / 2) * share if mp.isfinite(right) else 0,
            ]
            assert_allclose([one[i] for one in found], list(map(float, expected)), rtol=1e-9)


@pytest.mark.slow
def test_beta_numbers_of_small_parameters_have_gradients() -> None:
    # below exp(-40) the slope of a logarithm is that of the first term of a series
    a = sg.placeholder("a", (None,), "float64")
    numbers = sg.random.gamma(KEY, a, dtype="float64")
    attempt = ops.log_gamma_attempt(a, KEY, sg.arange(a.shape[0]))
    logs = ops.random_log_gamma(attempt, a, KEY, sg.arange(a.shape[0]))
    compiled = sg.compile([a], [numbers, logs, sg.grad(sg.sum(sg.log(numbers)), a),
                                sg.grad(sg.sum(logs), a)])  # fmt: skip
    values, logarithms, slopes, expected = compiled(np.geomspace(0.01, 100.0, 60))
    assert_allclose(logarithms, np.log(values), rtol=1e-12, atol=1e-13)
    assert_allclose(slopes, expected, rtol=1e-10)


@pytest.mark.long
def test_gradients_of_means_of_gamma_and_beta_numbers() -> None:
    # d E[g^2] / da = 2a + 1, and of the mean a / (a + b) of beta numbers by a and b
    key, p = sg.placeholder("key", (), "int64"), sg.placeholder("p", (2,), "float64")
    numbers = sg.random.gamma(key, p[0], (N,), "float64")
    shares = sg.random.beta(key, p[0], p[1], (N,), "float64")
    slopes = sg.compile([key, p], [
        sg.grad(sg.mean(numbers * numbers), p), sg.grad(sg.mean(shares), p),
    ])  # fmt: skip
    square, share = slopes(KEY, np.array([2.0, 3.0]))
    assert_allclose(square, [5.0, 0.0], rtol=0.05)
    assert_allclose(share, [3 / 25, -2 / 25], rtol=0.05)


@pytest.mark.slow
def test_second_derivatives_of_gamma_numbers_are_those_of_their_quantile() -> None:
    a = sg.placeholder("a", (None,), "float64")
    numbers = sg.random.gamma(KEY, a, dtype="float64")
    first = sg.grad(sg.sum(numbers), a)
    second = sg.grad(sg.sum(first), a)
    at = np.array([0.05, 0.4, 0.9, 1.0, 2.5, 7.0, 30.0, 120.0, 600.0])
    drawn, slopes, found = sg.compile([a], [numbers, first, second])(at)
    rank, h = stats.gamma.cdf(drawn, at), 1e-3 * at
    ends = [stats.gamma.ppf(rank, at + side * h) for side in (-1, 0, 1)]
    assert_allclose(slopes, (ends[2] - ends[0]) / (2 * h), rtol=1e-4)
    assert_allclose(found, (ends[2] - 2 * ends[1] + ends[0]) / h**2, rtol=2e-4, atol=1e-6)
    steps = np.array([99_999.0, 100_001.0])  # where the formula changes
    before, after = ops.gamma_curve(steps, np.array([99_700.0, 99_702.0]))
    assert_allclose(before, after, rtol=1e-4)
    x, h = np.array([0.3, 5.0]), 1e-5
    quotient = (ops.gamma_slope(np.array([0.5, 2.0]) + h, x) - ops.gamma_slope(
        np.array([0.5, 2.0]) - h, x)) / (2 * h)  # fmt: skip
    assert_allclose(ops.gamma_curve(np.array([0.5, 2.0]), x), quotient, rtol=1e-8)
    with pytest.raises(sg.GraphError, match="no third derivative of gamma numbers"):
        sg.grad(sg.sum(second), a)


def test_eager_tensors_have_the_same_numbers_and_gradients() -> None:
    key = dynamic.tensor(KEY)
    for name in ("uniform", "normal", "exponential"):
        found = getattr(sg.random, name)(key, (5, 3), "float64")
        assert isinstance(found, dynamic.Tensor)
        assert_array_equal(found.numpy(), getattr(sg.random, name)(KEY, (5, 3), "float64"))
    a = dynamic.tensor([0.5, 2.0, 30.0], dtype=dynamic.float64, requires_grad=True)
    found = sg.random.gamma(key, a, dtype="float64")
    found.sum().backward()
    fixed = sg.random.gamma(KEY, a.detach().numpy(), dtype="float64")
    assert_allclose(found.detach().numpy(), fixed, rtol=1e-12)
    assert a.grad is not None
    assert_allclose(a.grad.numpy(), ops.gamma_slope(a.detach().numpy(), fixed), rtol=1e-9)
    mean = dynamic.tensor([1.0, 2.0], requires_grad=True)
    sg.random.normal(key, (4, 2), loc=mean).sum().backward()
    assert_array_equal(mean.grad.numpy(), [4.0, 4.0])  # type: ignore[union-attr]
    assert_array_equal(sg.dropout(mean, 0.5, key=key).detach().numpy() > 0,
                       sg.dropout(np.ones(2), 0.5, key=KEY) > 0)  # fmt: skip


def test_a_captured_function_takes_its_key_as_an_argument() -> None:
    noisy = sg.function(lambda x, key: x + sg.random.normal(key, tuple(x.shape)))
    x, keys = np.zeros((3, 4), "float32"), sg.random.split(KEY, 2)
    for key in keys:
        expected = sg.random.normal(key, (3, 4))
        assert_array_equal(noisy(x, key), expected)
        assert_array_equal(noisy(dynamic.tensor(x), dynamic.tensor(key)).numpy(), expected)
    one = sg.vmap(lambda key: sg.random.exponential(key, (3,)))
    assert_array_equal(one(keys), [sg.random.exponential(key, (3,)) for key in keys])


REFUSED: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: sg.random.gamma(KEY, np.ones(3), (2, 1)), ShapeError,
     r"gamma: parameters of the shape \(3,\) in \(2, 1\)"),
    (lambda: sg.random.normal(KEY, (2,), loc=np.ones((3, 2))), ShapeError,
     r"normal: parameters of the shape \(3, 2\) in \(2,\)"),
    (lambda: sg.random.uniform(KEY, (2,), minval=np.zeros(3)), ShapeError,
     r"uniform: parameters of the shape \(3,\) in \(2,\)"),
    (lambda: sg.random.randint(KEY, (2,), np.zeros(3, int), 5), ShapeError,
     r"randint: parameters of the shape \(3,\) in \(2,\)"),
    (lambda: sg.random.normal(KEY, (2,), scale=-1.0), OptionError,
     r"normal: scale -1\.0 is not between 0 and inf"),
    (lambda: sg.random.normal(KEY, (2,), loc="a"), DTypeError, "normal: loc is no number: 'a'"),
    (lambda: sg.random.exponential(KEY, (2,), scale=np.array([1.0, -2.0])), OptionError,
     r"exponential: scale -2\.0 is not between 0 and inf"),
    (lambda: sg.random.uniform(KEY, (2,), minval=3.0, maxval=1.0), OptionError,
     r"uniform: minval 3\.0 is more than maxval 1\.0"),
    (lambda: sg.random.truncated_normal(KEY, 2.0, 1.0), OptionError,
     r"truncated_normal: lower 2\.0 is more than upper 1\.0"),
    (lambda: sg.random.gamma(KEY, -1.0), OptionError, r"gamma: a -1\.0 is not between 0 and inf"),
    (lambda: sg.random.beta(KEY, 1.0, -1.0), OptionError, r"beta: b -1\.0 is not between 0 and"),
    (lambda: sg.random.poisson(KEY, np.nan), OptionError, "poisson: the rate nan is not between"),
    (lambda: sg.random.poisson(KEY, 1e18), OptionError, r"poisson: the rate 1e\+18 is not between"),
    (lambda: sg.random.binomial(KEY, -1, 0.5), OptionError, r"binomial: n -1 is not between 0"),
    (lambda: sg.random.binomial(KEY, 3, 1.5), OptionError, r"binomial: p 1\.5 is not between 0"),
    (lambda: sg.random.bernoulli(KEY, np.array([0.5, 1.5])), OptionError,
     r"bernoulli: p 1\.5 is not between 0 and 1"),
    (lambda: sg.random.bernoulli(KEY, np.nan), OptionError, "bernoulli: p nan is not between"),
    (lambda: sg.random.randint(KEY, (2,), 0, 300, "uint8"), OptionError,
     "randint: no uint8 between 0 and 300"),
    (lambda: sg.random.randint(KEY, (2,), np.array([0]), 300, "uint8"), OptionError,
     r"randint: no uint8 between \[0\] and 300"),
    (lambda: sg.random.randint(KEY, (2,), -(1 << 62), 1 << 62), OptionError,
     r"randint: there are 2\*\*63 integers or more between"),
    (lambda: sg.random.randint(KEY, (2,), 0.5, 3), DTypeError, "randint: minval is no integer of"),
    (lambda: sg.random.randint(KEY, (2,), 0, 3, "float32"), DTypeError,
     "randint: float32 is no dtype of integers"),
    (lambda: sg.random.categorical(KEY, np.arange(3)), DTypeError,
     "categorical: the logits are int64, not floating"),
    (lambda: sg.random.categorical(KEY, np.ones((2, 3)), shape=(3,)), ShapeError,
     r"categorical: the shape \(3,\) does not end with \(2,\)"),
    (lambda: sg.random.categorical(KEY, np.ones((2, 0))), ShapeError,
     r"categorical: there are no logits along axis -1 of \(2, 0\)"),
    (lambda: sg.dropout(np.ones(3), 1.5, key=KEY), OptionError,
     r"dropout: the rate 1\.5 is not between 0 and 1"),
    (lambda: sg.dropout(np.ones(3), "a", key=KEY), OptionError, "dropout: the rate is a number"),
    (lambda: sg.dropout(np.ones(3, int), 0.5, key=KEY), DTypeError,
     "dropout: x is int64, not floating point"),
]  # fmt: skip


@pytest.mark.parametrize(("draw", "error", "text"), REFUSED)
def test_parameters_that_do_not_fit_are_refused(
    draw: Callable[[], Any], error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=text):
        draw()
