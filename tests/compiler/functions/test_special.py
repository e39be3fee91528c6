"""Special functions against mpmath: values, first and second derivatives at 100 points, edges."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import mpmath as mp
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import dynamic
import staticgraph as sg
from staticgraph.compiler.core.errors import GraphError, OptionError
from staticgraph.compiler.functions import special
from staticgraph.compiler.inspect.interpret import interpret
from staticgraph.compiler.transforms.autodiff import gradients
from tests.combinations import some
from tests.trace import symbolic

rng = np.random.default_rng(11)
WIDE = rng.uniform(-20, 20, 100)
POSITIVE, OTHER = rng.uniform(0.05, 40, 100), rng.uniform(0.05, 40, 100)
SHARE = rng.uniform(0.01, 0.99, 100)

Function = Callable[..., Any]


def power_less(x: Any, power: Any) -> Any:
    return (x**power - 1) / power


CASES: dict[str, tuple[tuple[np.ndarray, ...], Function, Function]] = {
    "i0": ((WIDE,), lambda x: mp.besseli(0, x), lambda x: mp.besseli(1, x)),
    "i1": ((WIDE,), lambda x: mp.besseli(1, x), lambda x: mp.besseli(0, x) - mp.besseli(1, x) / x),
    "i0e": ((POSITIVE,), lambda x: mp.exp(-x) * mp.besseli(0, x),
            lambda x: mp.exp(-x) * (mp.besseli(1, x) - mp.besseli(0, x))),
    "i1e": ((POSITIVE,), lambda x: mp.exp(-x) * mp.besseli(1, x),
            lambda x: mp.exp(-x) * (mp.besseli(0, x) - mp.besseli(1, x) * (1 + 1 / x))),
    "bessel_j0": ((WIDE,), lambda x: mp.besselj(0, x), lambda x: -mp.besselj(1, x)),
    "bessel_j1": ((WIDE,), lambda x: mp.besselj(1, x),
                  lambda x: mp.besselj(0, x) - mp.besselj(1, x) / x),
    "bessel_y0": ((POSITIVE,), lambda x: mp.bessely(0, x), lambda x: -mp.bessely(1, x)),
    "bessel_y1": ((POSITIVE,), lambda x: mp.bessely(1, x),
                  lambda x: mp.bessely(0, x) - mp.bessely(1, x) / x),
    "modified_bessel_k0": ((POSITIVE,), lambda x: mp.besselk(0, x), lambda x: -mp.besselk(1, x)),
    "modified_bessel_k1": ((POSITIVE,), lambda x: mp.besselk(1, x),
                           lambda x: -mp.besselk(0, x) - mp.besselk(1, x) / x),
    "scaled_modified_bessel_k0": (
        (POSITIVE,), lambda x: mp.exp(x) * mp.besselk(0, x),
        lambda x: mp.exp(x) * (mp.besselk(0, x) - mp.besselk(1, x))),
    "scaled_modified_bessel_k1": (
        (POSITIVE,), lambda x: mp.exp(x) * mp.besselk(1, x),
        lambda x: mp.exp(x) * (mp.besselk(1, x) * (1 - 1 / x) - mp.besselk(0, x))),
    "airy_ai": ((WIDE,), mp.airyai, lambda x: mp.airyai(x, derivative=1)),
    "spherical_bessel_j0": ((WIDE,), mp.sinc, lambda x: (mp.cos(x) - mp.sinc(x)) / x),
    "erfinv": ((2 * SHARE - 1,), mp.erfinv,
               lambda x: mp.sqrt(mp.pi) / 2 * mp.exp(mp.erfinv(x) ** 2)),
    "ndtri": ((SHARE,), lambda x: mp.sqrt(2) * mp.erfinv(2 * x - 1),
              lambda x: mp.sqrt(2 * mp.pi) * mp.exp(mp.erfinv(2 * x - 1) ** 2)),
    "ndtr": ((WIDE,), mp.ncdf, mp.npdf),
    # 90 digits of 1 - ndtr(-x) are few where that is 1e-80
    "log_ndtr": ((WIDE,), lambda x: mp.log(mp.ncdf(x)) if x < 0 else mp.log1p(-mp.ncdf(-x)),
                 lambda x: mp.npdf(x) / mp.ncdf(x)),
    "erfcx": ((POSITIVE,), lambda x: mp.exp(x * x) * mp.erfc(x),
              lambda x: 2 * x * mp.exp(x * x) * mp.erfc(x) - 2 / mp.sqrt(mp.pi)),
    "gammainc": ((POSITIVE, OTHER), lambda a, x: mp.gammainc(a, 0, x, regularized=True),
                 lambda a, x: x ** (a - 1) * mp.exp(-x) / mp.gamma(a)),
    "gammaincc": ((POSITIVE, OTHER), lambda a, x: mp.gammainc(a, x, regularized=True),
                  lambda a, x: -(x ** (a - 1)) * mp.exp(-x) / mp.gamma(a)),
    "betainc": ((POSITIVE, OTHER, SHARE),
                lambda a, b, x: mp.betainc(a, b, 0, x, regularized=True),
                lambda a, b, x: x ** (a - 1) * (1 - x) ** (b - 1) / mp.beta(a, b)),
    "betaln": ((POSITIVE, OTHER), lambda a, b: mp.log(mp.beta(a, b)),
               lambda a, b: mp.digamma(b) - mp.digamma(a + b)),
    "beta": ((POSITIVE, OTHER), mp.beta,
             lambda a, b: mp.beta(a, b) * (mp.digamma(b) - mp.digamma(a + b))),
    "gamma": ((WIDE,), mp.gamma, lambda x: mp.gamma(x) * mp.digamma(x)),
    "zeta": ((1.05 + POSITIVE, OTHER), mp.zeta, lambda x, q: -x * mp.zeta(x + 1, q)),
    "exp1": ((POSITIVE,), mp.e1, lambda x: -mp.exp(-x) / x),
    "entr": ((POSITIVE,), lambda x: -x * mp.log(x), lambda x: -mp.log(x) - 1),
    "xlog1py": ((POSITIVE, OTHER), lambda x, y: x * mp.log1p(y), lambda x, y: x / (1 + y)),
    "rel_entr": ((POSITIVE, OTHER), lambda x, y: x * mp.log(x / y), lambda x, y: -x / y),
    "kl_div": ((POSITIVE, POSITIVE + 1 + SHARE), lambda x, y: x * mp.log(x / y) - x + y,
               lambda x, y: 1 - x / y),
    "boxcox": ((POSITIVE, SHARE), power_less,
               lambda x, p: (p * x**p * mp.log(x) - x**p + 1) / p**2),
    "boxcox1p": ((POSITIVE, SHARE / 1e3), lambda x, p: power_less(1 + x, p),
                 lambda x, p: (p * (1 + x) ** p * mp.log1p(x) - (1 + x) ** p + 1) / p**2),
    "poch": ((POSITIVE, SHARE), mp.rf, lambda z, m: mp.rf(z, m) * mp.digamma(z + m)),
    "comb": ((POSITIVE + OTHER, OTHER), mp.binomial,
             lambda n, k: mp.binomial(n, k) * (mp.digamma(n - k + 1) - mp.digamma(k + 1))),
    "log_expit": ((WIDE,), lambda x: -mp.log1p(mp.exp(-x)), lambda x: 1 / (1 + mp.exp(x))),
}  # fmt: skip


def _exact(function: Function, at: tuple[np.ndarray, ...]) -> np.ndarray:
    with mp.workdps(90):
        return np.array([float(function(*map(mp.mpf, one))) for one in zip(*at, strict=True)])


def _derivative(name: str, at: tuple[np.ndarray, ...], times: int) -> Any:
    """By the last argument."""
    *rest, last = at
    x = symbolic(last)
    found = sg.sum(getattr(sg.special, name)(*rest, x))
    for _ in range(times):
        (slope,) = gradients(found, [x])
        found = sg.sum(slope)
    return interpret([slope], {x: last})[0]


@pytest.mark.slow
@pytest.mark.parametrize("name", some(CASES, 6))
def test_values_and_slopes_are_mpmaths(name: str) -> None:
    _check(name, 8)


@pytest.mark.long
@pytest.mark.parametrize("name", CASES)
def test_values_and_slopes_are_mpmaths_at_100_points(name: str) -> None:
    _check(name, 100)


def _check(name: str, count: int) -> None:
    at, value, slope = CASES[name]
    at = tuple(one[:count] for one in at)
    assert_allclose(getattr(sg.special, name)(*at), _exact(value, at), rtol=2e-12)
    assert_allclose(_derivative(name, at, 1), _exact(slope, at), rtol=1e-9)


@pytest.mark.long
@pytest.mark.parametrize("name", some(CASES, 7))
def test_second_derivatives_are_mpmaths(name: str) -> None:
    at, _, slope = CASES[name]
    some = tuple(one[:3] for one in at)

    def bend(*numbers: Any) -> Any:
        return mp.diff(lambda x: slope(*numbers[:-1], x), numbers[-1], h=mp.mpf(10) ** -20)

    assert_allclose(_derivative(name, some, 2), _exact(bend, some), rtol=1e-7)


@pytest.mark.slow
def test_what_is_composed_is_the_same_in_both_paradigms_and_compiled() -> None:
    at = np.array([0.2, 0.7])
    x = sg.placeholder("x", (None,), "float64")
    names = sorted({*special.__all__} - {"bernoulli", "multigammaln"})

    def called(x: Any) -> list[Any]:
        counts = (len(CASES[one][0]) if one in CASES else 1 for one in names)
        return [
            getattr(sg.special, one)(*[x] * count) for one, count in zip(names, counts, strict=True)
        ]

    expected = called(at)
    compiled = sg.compile([x], called(x))(at)
    for found in (compiled, [one.numpy() for one in called(dynamic.tensor(at))]):
        for name, one, other in zip(names, found, expected, strict=True):
            assert_allclose(one, other, rtol=1e-13, atol=1e-15, err_msg=name)


def test_edges() -> None:
    s, inf, nan = sg.special, math.inf, math.nan
    with np.errstate(all="ignore"):
        for found, expected in (
            (s.erfinv(np.array([-1.0, 1.0, 1.5, nan])), [-inf, inf, nan, nan]),
            (s.ndtri(np.array([0.0, 1.0, -0.1, nan, 1e-300])), [-inf, inf, nan, nan, -37.0471]),
            (s.gammainc(1.0, np.array([0.0, inf, -1.0])), [0, 1, nan]),
            (s.gammaincc(np.array([1.0, -1.0]), np.array([0.0, 1.0])), [1, nan]),
            (s.betainc(1.0, 2.0, np.array([0.0, 1.0, 1.5])), [0, 1, nan]),
            (s.zeta(np.array([1.0, 0.5, 2.0])), [inf, nan, math.pi**2 / 6]),
            (s.entr(np.array([0.0, -1.0, nan])), [0, -inf, nan]),
            (s.rel_entr(np.array([0.0, 1.0, -1.0]), np.array([0.0, 0.0, 1.0])), [0, inf, inf]),
            (s.gammasgn(np.array([-1.0, -0.5, -1.5, 0.0, -0.0, 3.0])), [nan, -1, 1, 1, -1, 1]),
            (s.factorial(np.array([-1.0, 0.0, 5.0])), [0, 1, 120]),
            (s.comb(np.array([3.0, -1.0, 4.0]), np.array([5.0, 1.0, 2.0])), [0, 0, 6]),
            (s.exp1(np.array([0.0, -1.0])), [inf, nan]),
            (s.xlog1py(np.array([0.0, 0.0]), np.array([-1.0, nan])), [0, nan]),
            (s.i0e(np.array([0.0, inf])), [1, 0]),
            (
                sg.cbrt(np.array([-8.0, 0.0, inf, -inf, 1e-320])),
                np.cbrt([-8, 0, inf, -inf, 1e-320]),
            ),
        ):
            assert_allclose(found, expected, rtol=1e-5)
    x = np.linspace(-1e3, 1e3, 1001) ** 3
    compiled = sg.function(lambda x: sg.cbrt(x) * 1)(x)
    assert_allclose(compiled, np.cbrt(x), rtol=4e-16)
    assert_array_equal(
        sg.special.bernoulli(4).round(12), np.array([1, -0.5, 1 / 6, 0, -1 / 30]).round(12)
    )


def test_what_there_is_not_is_refused() -> None:
    x = np.array([1.0])
    with pytest.raises(GraphError, match="gammainc: has a derivative by its last argument alone"):
        sg.grad(lambda a: sg.sum(sg.special.gammainc(a, x)))(x)
    with pytest.raises(OptionError, match="comb: exact=True gives integers of any size"):
        sg.special.comb(x, x, exact=True)
    with pytest.raises(OptionError, match="factorial: exact=True gives integers of any size"):
        sg.special.factorial(x, exact=True)
    with pytest.raises(OptionError, match="multigammaln: dimension 0"):
        sg.special.multigammaln(x, 0)
    with pytest.raises(OptionError, match="bernoulli: n=-1 is negative"):
        sg.special.bernoulli(-1)


@pytest.mark.slow
@pytest.mark.parametrize("name", [
    "beta", "betaln", "boxcox", "boxcox1p", "comb", "gammainc", "gammaincc", "kl_div", "rel_entr",
    "poch", "xlog1py", "xlogy", "zeta",
])  # fmt: skip
def test_a_number_takes_the_dtype_of_what_it_meets(name: str) -> None:
    function = getattr(sg.special, name)
    x = np.array([0.5, 2.0], "float32")
    found = function(x, 2.0)
    assert found.dtype == np.float32
    assert function(2.0, x).dtype == np.float32
    assert sg.function(lambda x: function(x, 2.0))(x).dtype == np.float32


@pytest.mark.parametrize("name", ["entr", "factorial", "gamma", "gammasgn"])
def test_float32_stays_float32(name: str) -> None:
    function = getattr(sg.special, name)
    x = np.array([0.5, 2.0], "float32")
    assert function(x).dtype == sg.function(function)(x).dtype == np.float32


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_at_the_ends_they_are_what_they_tend_to() -> None:
    zero = np.zeros(1)
    assert sg.special.boxcox(zero, 0.0) == -np.inf
    assert sg.special.boxcox(zero + np.inf, 0.0) == np.inf
    assert sg.special.boxcox1p(zero - 1, 0.0) == -np.inf
    assert sg.special.xlog1py(zero, np.inf) == 0
    assert sg.special.poch(zero, 0.0) == 1
    assert sg.special.poch(zero - 2, 0.0) == 1


@pytest.mark.slow
def test_floats_of_16_bits_are_computed_in_float32():
    half, share = np.array([1.5, 2.0, 9.0], "float16"), np.array([0.3, 0.7, 20.0], "float16")
    cases = [
        lambda x, q: sg.special.zeta(x, q), lambda x, q: sg.special.zeta(x, q=2.0),
        lambda x, q: sg.special.erfcx(q), lambda x, q: sg.special.log_ndtr(-q),
    ]  # fmt: skip
    symbols = [sg.placeholder(name, (None,), "float16") for name in "xq"]
    for case in cases:
        exact = case(half.astype("float64"), share.astype("float64"))
        found = case(half, share)
        assert found.dtype == "float16"
        assert_allclose(found, exact, rtol=2e-3, atol=6e-8)  # the least that there is
        compiled = sg.compile(symbols, case(*symbols), on_unused_input="ignore")(half, share)
        assert_array_equal(compiled, found)
