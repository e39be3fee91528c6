"""Bessel functions, Airy's and orthogonal polynomials in plain NumPy: a part of the reference.

The functions are integrals, whose sums over equal steps converge faster than any power of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.polynomial import Chebyshev, Hermite, HermiteE, Laguerre, Legendre

from staticgraph.compiler.core.values import Array
from staticgraph.fuzz.graphs.undefined import UndefinedError

_MOST = 300.0
_STEPS = 800


def _wide(x: Array, least: float, most: float) -> Array:
    """Finite numbers in a column of float64; UndefinedError for others, and beyond the limits."""
    if not np.all((x >= least) & (x <= most)):
        raise UndefinedError
    return x.astype(np.float64)[..., None]


def first_kind(order: int) -> Callable[[Array], Array]:
    """J of order 0 or 1, as the mean of cos(order t - x sin(t)) over a turn."""
    sines = np.sin(np.arange(_STEPS) * (2 * np.pi / _STEPS))

    def function(x: Array) -> Array:
        at = _wide(x, -_MOST, _MOST)
        waves = np.sin(at * sines) * sines if order else np.cos(at * sines)
        return np.mean(waves, -1).astype(x.dtype)

    return function


def second_kind(order: int) -> Callable[[Array], Array]:
    """Y: Abramowitz and Stegun 9.1.22, by Gauss's rule."""
    places, weights = np.polynomial.legendre.leggauss(_STEPS)
    places, weights = (places + 1) / 2, weights / 2

    def function(x: Array) -> Array:
        at = _wide(x, 1e-3, _MOST)
        turn = places * np.pi
        waves = np.sum(weights * np.sin(at * np.sin(turn) - order * turn), -1)
        end = np.arcsinh(60 / at)
        t = places * end
        grown = np.exp(order * t) + (-1) ** order * np.exp(-order * t)
        rest = np.sum(weights * end * grown * np.exp(-at * np.sinh(t)), -1)
        return (waves - rest / np.pi).astype(x.dtype)

    return function


def decaying(order: int, scaled: bool) -> Callable[[Array], Array]:
    """K: Abramowitz and Stegun 9.6.24; times exp(x)."""

    def function(x: Array) -> Array:
        at = _wide(x, 1e-6, _MOST)
        end = np.arccosh(1 + 60 / at)
        t = np.arange(_STEPS) / _STEPS * end
        weights = np.where(np.arange(_STEPS) == 0, 0.5, 1) * end / _STEPS
        found = np.sum(weights * np.exp(-at * (np.cosh(t) - 1)) * np.cosh(order * t), -1)
        return (found if scaled else found * np.exp(-at[..., 0])).astype(x.dtype)

    return function


def airy(slope: bool) -> Callable[[Array], Array]:
    """Ai as an integral along a line above the real one, where what is added up decays."""

    def function(x: Array) -> Array:
        at = _wide(x, -8, 30)
        above = np.where(at > 0, np.sqrt(np.maximum(at, 1)), 1 / (1 - np.minimum(at, 0)))
        end = np.sqrt(40 / above)
        z = np.linspace(-1, 1, 10 * _STEPS + 1) * end + 1j * above
        values = np.exp(1j * (z**3 / 3 + at * z)) * (1j * z if slope else 1)
        step = end[..., 0] / (5 * _STEPS)
        found: Array = (np.sum(values, -1).real * step / (2 * np.pi)).astype(x.dtype)
        return found

    return function


def spherical_j0(x: Array) -> Array:
    """sin(x) / x."""
    if not np.all(np.isfinite(x)):
        raise UndefinedError
    return np.where(x == 0, x.dtype.type(1), np.sin(x) / np.where(x == 0, x.dtype.type(1), x))


def spherical_j1(x: Array) -> Array:
    """(sin(x) / x - cos(x)) / x; near 0 a series."""
    at = _wide(x, -1e6, 1e6)[..., 0]
    near = abs(at) < 1
    a, b = np.where(near, at, 0), np.where(near, 1, at)
    series = sum(
        (-1) ** k * (2 * k + 2) / math.factorial(2 * k + 3) * a ** (2 * k + 1) for k in range(10)
    )
    return np.where(near, series, (np.sin(b) / b - np.cos(b)) / b).astype(x.dtype)


_CLASSES: dict[str, Any] = {
    "chebyshev_t": Chebyshev, "hermite_h": Hermite, "hermite_he": HermiteE,
    "laguerre_l": Laguerre, "legendre_p": Legendre,
}  # fmt: skip


def _polynomial(family: str, n: int) -> Any:
    if family in _CLASSES:
        return _CLASSES[family].basis(n)
    second = _second_kind(n)
    if family == "chebyshev_u":
        return second
    return second - _second_kind(n - 1) if family == "chebyshev_v" else second + _second_kind(n - 1)


def _second_kind(n: int) -> Any:
    return Chebyshev.basis(n + 1).deriv() / (n + 1) if n >= 0 else Chebyshev([0.0])


def orthogonal_polynomial(x: Array, n: Any, family: str, order: int = 0) -> Array:
    """NumPy's polynomials, degree by degree."""
    x, degrees = np.asarray(x), np.asarray(n)
    if np.any(degrees > 40):
        raise UndefinedError
    found = np.zeros(np.broadcast_shapes(x.shape, degrees.shape))
    for degree in {*degrees.ravel().tolist()} - {*range(-(1 << 9), 0)}:
        values = _polynomial(family, degree).deriv(order)(x.astype(np.float64))
        found = np.where(degrees == degree, values, found)
    return found.astype(x.dtype)
