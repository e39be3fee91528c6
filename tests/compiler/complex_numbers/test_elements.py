"""Kernels of complex numbers against NumPy: at infinities, signed zeros, branch cuts, overflow."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

import staticgraph as sg

DTYPES = ("complex64", "complex128")
SAME = ("exp", "log", "sqrt", "cosh", "abs", "sign", "sin", "cos", "sinh", "tan", "asin", "acosh")
TRUE_OR_FALSE = ("isnan", "isinf", "isfinite")


def edges(dtype: str) -> np.ndarray:
    """Every pair of parts that C99's annex G says something of, and some numbers of size 1."""
    limits = np.finfo(dtype)
    big, tiny = float(limits.max), float(limits.smallest_subnormal)
    grows = 710.0 if dtype == "complex128" else 89.0
    parts = [
        0.0, -0.0, 1.0, -1.0, 0.5, -2.5, np.inf, -np.inf, np.nan, big, -big, tiny, -tiny, 3e-5,
        grows, -grows - 35, grows * 1.4, 1e8, 0.6, 0.8,
    ]  # fmt: skip
    z = np.empty((len(parts), len(parts)), dtype)
    z.real, z.imag = np.meshgrid(parts, parts)
    turns = np.exp(1j * np.random.default_rng(0).uniform(0, 2 * np.pi, 100)).astype(dtype)
    return np.concatenate([z.ravel(), turns, turns * 1e20, turns * 1e-20])


def assert_parts(name: str, found: np.ndarray, expected: np.ndarray) -> None:
    """Each part by itself, to 8 ulp, and with the sign of its zero."""
    for part in ("real", "imag"):
        one, other = getattr(found, part), getattr(expected, part)
        with np.errstate(all="ignore"):
            near = np.abs(one - other) <= 8 * np.abs(np.spacing(other))
        same = (np.isnan(one) & np.isnan(other)) | (one == other)
        right = (same | near) & (np.isnan(other) | (np.signbit(one) == np.signbit(other)))
        wrong = np.nonzero(~right)[0]
        assert not len(wrong), (name, part, found[wrong[:3]], expected[wrong[:3]])


@pytest.mark.slow
@pytest.mark.parametrize("dtype", DTYPES)
def test_functions_are_numpys_at_the_edges(dtype: str) -> None:
    values = edges(dtype)
    z = sg.placeholder("z", (None,), dtype)
    names = (*(SAME if dtype == "complex128" else SAME[:6]), *TRUE_OR_FALSE)
    made = [getattr(sg, name)(z) for name in names]
    found = sg.compile([z], made)(values)
    # NumPy loses |z| to overflow before it divides
    huge = (np.abs(values.real) > 1e30) & (np.abs(values.imag) > 1e30) & np.isfinite(values)
    for name, got in zip(names, found, strict=True):
        numpy = {"asin": "arcsin", "acosh": "arccosh"}.get(name, name)
        with np.errstate(all="ignore"):
            expected = getattr(np, numpy)(values)
        if name in TRUE_OR_FALSE:
            np.testing.assert_array_equal(got, expected)
            continue
        kept = ~huge if name == "sign" else np.ones(len(values), bool)
        assert_parts(name, got[kept], expected[kept])


@pytest.mark.parametrize("dtype", DTYPES)
def test_arithmetic_is_numpys(dtype: str) -> None:
    rng = np.random.default_rng(1)
    a, b = (
        (rng.normal(size=300) * 10.0 ** rng.integers(-8, 9, 300)).astype(dtype)
        + (1j * rng.normal(size=300)).astype(dtype)
        for _ in range(2)
    )
    x, y = sg.placeholder("x", (None,), dtype), sg.placeholder("y", (None,), dtype)
    made = [
        x + y,
        x - y,
        x * y,
        x / y,
        -x,
        1 / x,
        x**2,
        x * 2,
        2j - x,
        sg.square(x),
        x == y,
        x != x,
    ]
    found = sg.compile([x, y], made)(a, b)
    expected = [a + b, a - b, a * b, a / b, -a, 1 / a, a**2, a * 2, 2j - a, a * a, a == b, a != a]
    for got, want in zip(found, expected, strict=True):
        assert got.dtype == want.dtype
        if got.dtype == bool:
            np.testing.assert_array_equal(got, want)
            continue
        rounding = 8 * float(np.finfo(dtype).eps)
        assert (np.abs(got - want) <= rounding * np.maximum(np.abs(want), np.abs(a * b))).all()
    infinite = sg.compile([x, y], [x / y, x == y])
    zero, nan = np.zeros(1, dtype), np.full(1, np.nan, dtype)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(infinite(zero + 1, zero)[0], (zero + 1) / zero)
        np.testing.assert_array_equal(infinite(zero, nan)[0], zero / nan)
    assert not infinite(nan, nan)[1].any()


def test_logarithms_near_size_1_keep_their_digits() -> None:
    angles = np.linspace(0.1, 6.2, 50)
    values = np.cos(angles) + 1j * np.sin(angles)
    z = sg.placeholder("z", (None,), "complex128")
    found = sg.compile([z], sg.log(z))(values)
    with mpmath.workdps(60):
        for got, one in zip(found, values, strict=True):
            exact = float(mpmath.log(mpmath.mpf(one.real) ** 2 + mpmath.mpf(one.imag) ** 2) / 2)
            assert abs(got.real - exact) <= 1e-13 * abs(exact)


def test_division_does_not_overflow_on_the_way() -> None:
    z = sg.placeholder("z", (None,), "complex128")
    found = sg.compile([z], [1 / z, sg.abs(z), sg.sqrt(z)])(np.array([1e300 + 1e300j, 1e-300j]))
    np.testing.assert_allclose(found[0], [5e-301 - 5e-301j, -1e300j], rtol=1e-15)
    np.testing.assert_allclose(found[1], [np.sqrt(2) * 1e300, 1e-300], rtol=1e-15)
    assert np.isfinite(found[2]).all()


def test_parts_and_what_is_made_of_them() -> None:
    rng = np.random.default_rng(2)
    a = rng.normal(size=(2, 3)) + 1j * rng.normal(size=(2, 3))
    z = sg.placeholder("z", (None, 3), "complex128")
    x = sg.placeholder("x", (None, 3))
    made = [
        sg.real(z), sg.imag(z), sg.conj(z), sg.angle(z), sg.angle(z, deg=True),
        sg.view_as_real(z), sg.view_as_complex(sg.view_as_real(z)), sg.iscomplex(z), sg.isreal(z),
        sg.astype(z, "complex64"), sg.astype(z, "bool"), sg.where(sg.abs(z) > 1, z, 2),
    ]  # fmt: skip
    expected = [
        a.real, a.imag, a.conj(), np.angle(a), np.angle(a, deg=True),
        np.stack([a.real, a.imag], -1), a, np.iscomplex(a), np.isreal(a), a.astype("complex64"),
        a.astype(bool),
        np.where(np.abs(a) > 1, a, 2),
    ]  # fmt: skip
    for got, want in zip(sg.compile([z], made)(a), expected, strict=True):
        assert got.dtype == want.dtype
        np.testing.assert_allclose(got, want, rtol=1e-6 if got.dtype == "complex64" else 1e-15)
    polar = sg.compile([x], [sg.complex(x, 1.0), sg.polar(x, x)])
    b = rng.normal(size=(2, 3)).astype("float32")
    found = polar(b)
    assert {one.dtype.name for one in found} == {"complex64"}
    np.testing.assert_array_equal(found[0], b + 1j)
    np.testing.assert_allclose(found[1], b * np.exp(1j * b), rtol=3e-7)
    for one in (sg.real(a), sg.conj(a), sg.complex(a.real, a.imag)):
        assert isinstance(one, np.ndarray)
