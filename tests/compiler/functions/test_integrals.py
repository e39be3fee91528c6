"""Integrals, Owen's T, Bessel functions and spherical harmonics of any order, against mpmath."""

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
from staticgraph.compiler.core.errors import OptionError

rng = np.random.default_rng(5)
SIZES = np.concatenate([
    np.exp(rng.uniform(math.log(1e-4), math.log(50), 10)), [1e-9, 0.375, 0.6, 1.0, 1.5, 2, 3, 6, 8],
])  # fmt: skip
BOTH = np.concatenate([-SIZES, SIZES])
Function = Callable[[Any], Any]


def _dawsn(x: Any) -> Any:
    return mp.sqrt(mp.pi) / 2 * mp.exp(-x * x) * mp.erfi(x)


def _nothing(x: Any) -> Any:
    return 0 * x


CASES: dict[str, tuple[np.ndarray, Function, Function, Function, float]] = {
    "dawsn": (BOTH, _dawsn, lambda x: 1 - 2 * x * _dawsn(x), _nothing, 5),
    "exp1": (SIZES, mp.e1, lambda x: -mp.exp(-x) / x, _nothing, 3),
    "expi": (BOTH, mp.ei, lambda x: mp.exp(x) / x, _nothing, 5),
    "sine_integral": (BOTH, mp.si, mp.sinc, _nothing, 3),
    "cosine_integral": (SIZES, mp.ci, lambda x: mp.cos(x) / x, lambda x: 1 / x, 8),
    "fresnel_sine": (BOTH, mp.fresnels, lambda x: mp.sin(mp.pi * x * x / 2), _nothing, 4),
    "fresnel_cosine": (BOTH, mp.fresnelc, lambda x: mp.cos(mp.pi * x * x / 2), _nothing, 4),
    "spence": (
        SIZES, lambda x: mp.re(mp.polylog(2, 1 - x)),
        lambda x: mp.log(x) / (1 - x) if x != 1 else mp.mpf(-1), _nothing, 4,
    ),
}  # fmt: skip
"""Where, the function, its slope, its envelope, and units in the last place of the larger."""


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_errors_are_units_in_the_last_place(name: str, dtype: str) -> None:
    places, exact, _, envelope, units = CASES[name]
    x = places.astype(dtype)
    with mp.workdps(40):
        expected = [exact(mp.mpf(float(one))) for one in x]
        size = [max(abs(e), abs(envelope(float(one)))) for e, one in zip(expected, x, strict=True)]
    for compute in (getattr(sg.special, name), sg.function(getattr(sg.special, name))):
        found = compute(x)
        assert found.dtype == dtype
        errors = [
            float(abs(mp.mpf(float(one)) - e) / s)
            for one, e, s in zip(found, expected, size, strict=True)
            if abs(e) > 1e-37
        ]
        assert max(errors) <= units * np.finfo(dtype).eps


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_first_and_second_derivatives_are_mpmaths(name: str) -> None:
    x, _, slope, _, _ = CASES[name]
    x = x[np.abs(x) > 1e-4]
    with mp.workdps(60):
        first = np.array([float(slope(mp.mpf(float(one)))) for one in x])
        second = np.array([float(mp.diff(slope, mp.mpf(float(one)), h=1e-15)) for one in x])
    tensor = dynamic.tensor(x, requires_grad=True)
    (once,) = dynamic.autograd.grad(
        getattr(dynamic.special, name)(tensor).sum(), tensor, create_graph=True
    )
    (twice,) = dynamic.autograd.grad(once.sum(), tensor)
    gradient = sg.grad(lambda x: sg.sum(getattr(sg.special, name)(x)))
    bend = sg.function(sg.grad(lambda x: sg.sum(gradient(x))))
    assert_allclose(once.detach().numpy(), first, rtol=1e-9, atol=1e-14)
    assert_allclose(gradient(x), first, rtol=1e-9, atol=1e-14)
    assert_allclose(twice.numpy(), second, rtol=1e-7, atol=1e-13)
    assert_allclose(bend(x), second, rtol=1e-7, atol=1e-13)


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_edges() -> None:
    s, inf, nan = sg.special, math.inf, math.nan
    at = np.array([0.0, inf, -inf, nan])
    half = math.pi / 2
    ends = {
        "dawsn": [0, 0, 0, nan], "exp1": [inf, 0, nan, nan], "expi": [-inf, inf, 0, nan],
        "sine_integral": [0, half, -half, nan], "cosine_integral": [-inf, 0, 0, nan],
        "fresnel_sine": [0, 0.5, -0.5, nan], "fresnel_cosine": [0, 0.5, -0.5, nan],
        "spence": [math.pi**2 / 6, -inf, nan, nan],
    }  # fmt: skip
    compiled = sg.function(lambda x: [getattr(s, name)(x) for name in ends])(at)
    for (name, expected), found in zip(ends.items(), compiled, strict=True):
        assert_allclose(found, expected, rtol=1e-15, err_msg=name)
        assert_allclose(getattr(s, name)(at), expected, rtol=1e-15, err_msg=name)
        assert_allclose(sg.vmap(getattr(s, name))(at), expected, rtol=1e-15, err_msg=name)
    odd = [s.dawsn, s.sine_integral, s.fresnel_sine, s.fresnel_cosine]
    assert all(np.signbit(one(np.array([-0.0])))[0] for one in odd)
    assert not np.signbit(s.spence(np.array([1.0])))[0]
    assert s.expi(np.array([712.0])) < inf  # exp(712) is not
    slopes = [
        (s.spence, 0.0, -inf), (s.spence, 1.0, -1), (s.expi, 0.0, inf), (s.exp1, 0.0, -inf),
        (s.dawsn, inf, 0), (s.dawsn, 0.0, 1), (s.sine_integral, 0.0, 1),
        (s.cosine_integral, 0.0, inf), (s.cosine_integral, inf, 0), (s.expi, inf, inf),
        (s.spence, inf, 0),
    ]  # fmt: skip
    assert np.isfinite(sg.grad(s.expi)(np.array(712.0)))
    assert np.isnan(sg.grad(s.fresnel_sine)(np.array(inf)))
    for function, place, slope in slopes:
        assert sg.grad(function)(np.array(place)) == slope


@pytest.mark.slow
def test_far_turns_and_slopes_keep_their_phase_and_size() -> None:
    x = np.array([1e3, 12345.678, 1e8])
    with mp.workdps(60):
        waves = [[float(f(mp.pi * mp.mpf(one) ** 2 / 2)) for one in x] for f in (mp.sin, mp.cos)]
    assert_allclose(sg.grad(lambda x: sg.sum(sg.special.fresnel_sine(x)))(x), waves[0], atol=1e-15)
    assert_allclose(
        sg.grad(lambda x: sg.sum(sg.special.fresnel_cosine(x)))(x), waves[1], atol=1e-15
    )
    slope = sg.grad(lambda x: sg.sum(sg.special.dawsn(x)))
    assert_allclose(slope(x), -0.5 / x**2 - 0.75 / x**4 - 1.875 / x**6, rtol=1e-14)
    bend = sg.grad(lambda x: sg.sum(slope(x)))
    assert_allclose(bend(x), 1 / x**3 + 3 / x**5 + 11.25 / x**7, rtol=1e-14)


def _owens_t(h: Any, a: Any) -> Any:
    def integrand(x: Any) -> Any:
        return mp.exp(-h * h * x * x / 2) / (1 + x * x)

    places = [a * k / 8 for k in range(9)]
    return mp.exp(-h * h / 2) * mp.quad(integrand, places) / (2 * mp.pi)


@pytest.mark.long
def test_owens_t_and_its_derivatives_are_mpmaths() -> None:
    h = np.concatenate([rng.normal(size=12) * 2, [0.0, 0.0, 0.67, 0.66, 6.0, -9.0]])
    a = np.concatenate([np.exp(rng.normal(size=12)), [1.0, -3.0, 1.0, -2.0, 0.5, 0.3]])
    with mp.workdps(40):
        exact = np.array([float(_owens_t(mp.mpf(x), mp.mpf(y))) for x, y in zip(h, a, strict=True)])
        by_both = [
            float(
                -mp.erf(y * mp.mpf(x) / mp.sqrt(2)) * mp.npdf(x) / 2
                + mp.npdf(x) * mp.npdf(x * mp.mpf(y)) / (1 + mp.mpf(y) ** 2)
            )
            for x, y in zip(h, a, strict=True)
        ]  # fmt: skip
    for dtype in ("float64", "float32"):
        for compute in (sg.special.owens_t, sg.function(sg.special.owens_t)):
            wide = exact if dtype == "float64" else np.array([
                float(_owens_t(mp.mpf(float(x)), mp.mpf(float(y))))
                for x, y in zip(h.astype(dtype), a.astype(dtype), strict=True)
            ])  # fmt: skip
            found = compute(h.astype(dtype), a.astype(dtype))
            assert found.dtype == dtype
            bound = (8 + h * h * (abs(a) > 1)) * np.finfo(dtype).eps
            assert np.all(abs(found - wide) <= bound * abs(wide))
    first = sg.grad(lambda h, a: sg.sum(sg.special.owens_t(h, a)), argnums=(0, 1))
    assert_allclose(sum(first(h, a)), by_both, rtol=1e-9, atol=1e-16)
    second = sg.grad(sg.grad(sg.special.owens_t))(0.0, 1.5)
    assert_allclose(second, -1.5 / (2 * np.pi), rtol=1e-14)  # -a exp(0) / (2 pi) at h = 0


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_owens_t_at_its_ends() -> None:
    inf, t = math.inf, sg.special.owens_t
    h, a = np.array([0, 0, inf, 1, 1, math.nan, 0]), np.array([1, inf, 2, inf, -0.0, 1, -inf])
    normal = 0.25 * math.erfc(math.sqrt(0.5))
    expected = [0.125, 0.25, 0, normal, -0.0, math.nan, -0.25]
    for found in (t(h, a), sg.function(t)(h, a), sg.vmap(t)(h, a)):
        assert_allclose(found, expected, rtol=1e-15)
    assert np.signbit(t(h, a))[4]
    h, a = np.append(h[:5], inf), np.append(a[:5], 0)
    for argnum in (0, 1):
        slopes = sg.grad(lambda h, a: sg.sum(t(h, a)), argnums=argnum)(h, a)
        assert np.isfinite(slopes).all()


@pytest.mark.slow
def test_exponential_integrals_of_any_order_are_mpmaths() -> None:
    n, x = np.array([[0], [1], [2], [5], [30]]), np.array([1e-6, 0.3, 0.99, 1.0, 2.5, 60.0])
    with mp.workdps(30):
        exact, first, second = (
            np.array([[float(mp.expint(int(k[0]) - less, one)) for one in x] for k in n])
            for less in range(3)
        )
    assert_allclose(sg.special.expn(n, x), exact, rtol=5e-15)
    gradient = sg.grad(lambda x: sg.sum(sg.special.expn(n, x)))
    rows = np.broadcast_to(x, exact.shape).copy()
    assert_allclose(gradient(rows), -first, rtol=1e-12)
    assert_allclose(sg.grad(lambda x: sg.sum(gradient(x)))(rows), second, rtol=1e-12)
    at = sg.placeholder("x", (None,), "float64")
    assert_array_equal(sg.compile([at], sg.special.expn(n, at))(x), sg.special.expn(n, x))
    tensor = dynamic.tensor(rows, requires_grad=True)
    dynamic.special.expn(n, tensor).sum().backward()
    assert_allclose(tensor.grad.numpy(), -first, rtol=1e-12)


def test_exponential_integrals_at_their_ends() -> None:
    inf, nan = math.inf, math.nan
    found = sg.special.expn(
        np.array([0, 1, 2, 3, 2, -1, 1.5, 2, nan]), np.array([0, 0, 0, 0, inf, 1, 1, -1, 1])
    )
    assert_array_equal(found, [inf, inf, 1, 0.5, 0, nan, nan, nan, nan])
    slope = sg.grad(lambda x: sg.sum(sg.special.expn(0, x)))(np.array([0.0, inf]))
    assert_array_equal(slope, [-inf, 0])
    assert sg.special.expn(2, np.array([1.0], "float32")).dtype == "float32"
    assert sg.special.expn(2, np.array([])).shape == (0,)


def test_pairs_are_their_parts_in_both_paradigms() -> None:
    x = np.array([0.25, 2.0, 7.0])
    for function, parts in (
        (sg.special.fresnel, (sg.special.fresnel_sine, sg.special.fresnel_cosine)),
        (sg.special.sici, (sg.special.sine_integral, sg.special.cosine_integral)),
    ):
        tensors = function(dynamic.tensor(x))
        for found, tensor, part in zip(function(x), tensors, parts, strict=True):
            assert_array_equal(found, part(x))
            assert_array_equal(tensor.numpy(), part(x))


@pytest.mark.slow
def test_bessel_functions_of_many_orders_are_mpmaths() -> None:
    x = np.concatenate([BOTH, [0.0, 12.0, 29.999, 30.0]])
    orders = np.arange(31)[:, None]
    with mp.workdps(30):
        exact, above, below = (
            np.array([[float(mp.besselj(int(n[0]) + more, one)) for one in x] for n in orders])
            for more in (0, 1, -1)
        )
    waves = np.sqrt(2 / np.pi / np.maximum(abs(x), 1e-9)) * (abs(x) > orders)
    size = np.maximum(abs(exact), waves)
    found = sg.special.bessel_jn(x, v=30)
    assert np.all(abs(found - exact) <= 20 * np.finfo(float).eps * size)
    at = sg.placeholder("x", (None,), "float64")
    assert_allclose(sg.compile([at], sg.special.bessel_jn(at, v=30))(x), found, atol=1e-15)
    tensor = dynamic.tensor(x, requires_grad=True)
    sg.special.bessel_jn(tensor, v=12)[12].sum().backward()
    assert_allclose(tensor.grad.numpy(), ((below - above) / 2)[12], rtol=1e-9, atol=1e-16)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_bessel_functions_of_many_orders_at_their_ends() -> None:
    x = np.array([0.0, math.inf, math.nan])
    found = sg.special.bessel_jn(x, v=3)
    assert_array_equal(found, [[1, 0, math.nan], *[[0, 0, math.nan]] * 3])
    assert sg.special.bessel_jn(np.zeros((0, 2), "float32"), v=0).shape == (1, 0, 2)
    assert sg.special.bessel_jn(np.array([1, 2]), v=1).dtype == "float64"
    half = sg.special.bessel_jn(np.array([1.5], "float16"), v=9)
    assert half.dtype == "float16"
    assert half[9] == sg.special.bessel_jn(np.array([1.5]), v=9)[9].astype("float16")
    for v in (-1, 2.5):
        with pytest.raises(OptionError, match=f"bessel_jn: v={v} is no whole number from 0 on"):
            sg.special.bessel_jn(x, v=v)  # type: ignore[arg-type]


@pytest.mark.slow
def test_spherical_harmonics_are_mpmaths() -> None:
    n, m = (one[..., None] for one in np.meshgrid(np.arange(7), np.arange(-6, 7)))
    theta, phi = np.array([0, 0.3, 1.2, np.pi]), np.array([0.1, 2.0, -1.0, 6.0])
    with mp.workdps(30):
        exact = np.array([
            [
                [complex(mp.spherharm(int(k), int(j), t, p)) if abs(j) <= k else 0
                 for t, p in zip(theta, phi, strict=True)]
                for k, j in zip(*rows, strict=True)
            ]
            for rows in zip(n[..., 0], m[..., 0], strict=True)
        ])  # fmt: skip
    harmonics = sg.special.sph_harm_y
    assert_allclose(harmonics(n, m, theta, phi), exact, atol=3e-15)
    tensors = harmonics(n, m, dynamic.tensor(theta), dynamic.tensor(phi))
    assert_allclose(tensors.numpy(), exact, atol=3e-15)
    degrees, orders = (sg.placeholder(name, (None, None, 1), "int64") for name in "nm")
    at, around = (sg.placeholder(name, (None,), "float64") for name in "tp")
    program = sg.compile(
        [degrees, orders, at, around], harmonics(degrees, orders, at, around, n_max=6)
    )
    assert_allclose(program(n, m, theta, phi), exact, atol=3e-15)

    def part(t: Any, p: Any) -> Any:
        value = harmonics(4, -3, t, p)
        return sg.real(value) + 2 * sg.imag(value)

    def exact_part(t: Any, p: Any) -> Any:
        value = mp.spherharm(4, -3, t, p)
        return mp.re(value) + 2 * mp.im(value)

    for t, p in ((0.3, 2.0), (2.5, -1.0)):
        with mp.workdps(40):
            first = [float(mp.diff(exact_part, (t, p), one)) for one in ((1, 0), (0, 1))]
            second = float(mp.diff(exact_part, (t, p), (2, 0)))
        assert_allclose(sg.grad(part, argnums=(0, 1))(t, p), first, rtol=1e-9)
        assert_allclose(sg.grad(sg.grad(part))(t, p), second, rtol=1e-7)


def test_spherical_harmonics_of_what_there_is_not() -> None:
    harmonics, x = sg.special.sph_harm_y, np.array([0.5])
    assert harmonics(1, 2, x, 0.0) == 0
    assert np.isnan(harmonics(-1, 0, x, 0.0)).all()
    assert np.isnan(harmonics(2, 0, x, 0.0, n_max=1)).all()
    assert harmonics(2, 1, x.astype("float32"), 1).dtype == "complex64"
    assert harmonics(2, 1, x.astype("float16"), 1).dtype == "complex64"
    assert harmonics(np.zeros(0, int), 0, 0.5, 0.5).shape == (0,)
    with pytest.raises(OptionError, match=r"sph_harm_y: n is an integer, got 1\.5"):
        harmonics(1.5, 0, x, x)
    degrees = sg.placeholder("n", (1,), "int64")
    with pytest.raises(OptionError, match="sph_harm_y: n_max= is needed"):
        harmonics(degrees, 0, x, x)
