"""Integrals in plain NumPy, by Gauss's rule: a part of the reference."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from staticgraph.compiler.core.values import Array
from staticgraph.fuzz.graphs.undefined import UndefinedError

_STEPS = 400
_PLACES, _WEIGHTS = np.polynomial.legendre.leggauss(_STEPS)
_SHARES, _WEIGHTS = (_PLACES + 1) / 2, _WEIGHTS / 2
"""Places between 0 and 1."""


def _integral(
    integrand: Callable[[Array, Array], Array], least: float, most: float
) -> Callable[[Array], Array]:
    """Of a function of x and of a share of it, times x; UndefinedError beyond the limits."""

    def function(x: Array) -> Array:
        if not np.all((x >= least) & (x <= most)):
            raise UndefinedError
        at = x.astype(np.float64)[..., None]
        found = np.sum(_WEIGHTS * integrand(at, at * _SHARES), -1) * at[..., 0]
        return np.asarray(found.astype(x.dtype))

    return function


def _plus_log(part: Callable[[Array], Array]) -> Callable[[Array], Array]:
    """Euler's number and the logarithm of |x| added."""

    def function(x: Array) -> Array:
        wide = x.astype(np.float64)
        return np.asarray((part(wide) + np.euler_gamma + np.log(abs(wide))).astype(x.dtype))

    return function


dawsn = _integral(lambda x, t: np.exp((t - x) * (t + x)), -60, 60)
expi = _plus_log(_integral(lambda x, t: np.expm1(t) / t, -8, 60))
sine_integral = _integral(lambda x, t: np.sin(t) / t, -300, 300)
cosine_integral = _plus_log(_integral(lambda x, t: (np.cos(t) - 1) / t, -300, 300))
fresnel_sine = _integral(lambda x, t: np.sin(t * t * (np.pi / 2)), -12, 12)
fresnel_cosine = _integral(lambda x, t: np.cos(t * t * (np.pi / 2)), -12, 12)
spence = _integral(lambda x, t: -np.log1p(-t) / t, -60, 0.8)


def dawsn_slope(x: Array) -> Array:
    """Of Dawson's function, where the difference is not lost."""
    if not np.all(abs(x) <= 60):
        raise UndefinedError
    wide = x.astype(np.float64)
    return np.asarray((1 - 2 * wide * dawsn(wide)).astype(x.dtype))


def fresnel_slope(function: Any) -> Callable[[Array], Array]:
    """Sine or cosine of pi x**2 / 2."""

    def slope(x: Array) -> Array:
        if not np.all(abs(x) <= 300):
            raise UndefinedError
        return np.asarray(function(x.astype(np.float64) ** 2 * (np.pi / 2)).astype(x.dtype))

    return slope


def expn(n: float, x: Array) -> Array:
    """Over the inverses of what is integrated over."""
    if n != int(n) or n < 1 or not np.all((x >= 0.05) & (x <= 60)):
        raise UndefinedError
    at = x.astype(np.float64)[..., None]
    whole = np.exp(-at / _SHARES) * _SHARES ** (int(n) - 2)
    return np.asarray(np.sum(_WEIGHTS * whole, -1).astype(x.dtype))


def owens_t(h: Any, a: Any) -> Array:
    """The integral over x from 0 to a."""
    dtype = np.result_type(h, a)
    h, a = (np.asarray(one, np.float64)[..., None] for one in (h, a))
    if not np.all((abs(h) <= 20) & (abs(a) <= 3)):
        raise UndefinedError
    square = (a * _SHARES) ** 2 + 1
    found = np.sum(_WEIGHTS * np.exp(h * h * square * -0.5) / square, -1) * a[..., 0]
    return np.asarray((found / (2 * math.pi)).astype(dtype))


def hyp1f1(a: Array, b: Array, x: Array) -> Array:
    """Euler's integral, of whole numbers 0 < a < b."""
    shares, weights = _beta_weights(a, b)
    return np.asarray(np.sum(weights * np.exp(_wide(x) * shares), -1).astype(x.dtype))


def hyp2f1(a: Array, b: Array, c: Array, x: Array) -> Array:
    """Euler's integral, of whole numbers 0 < b < c."""
    if not np.all(x <= 0.95) or np.size(a) != 1:
        raise UndefinedError
    shares, weights = _beta_weights(b, c)
    powers = (1 - _wide(x) * shares) ** -float(a)
    return np.asarray(np.sum(weights * powers, -1).astype(x.dtype))


def _wide(x: Array) -> Array:
    return np.asarray(x.astype(np.float64)[..., None])


def _beta_weights(a: Array, b: Array) -> tuple[Array, Array]:
    """Places, and weights of the beta distribution of a and b - a."""
    if np.size(a) != 1 or np.size(b) != 1:
        raise UndefinedError
    low, high = float(a), float(b) - float(a)
    if low != int(low) or high != int(high) or low < 1 or high < 1:
        raise UndefinedError
    scale = math.gamma(low + high) / (math.gamma(low) * math.gamma(high))
    return _SHARES, scale * _WEIGHTS * _SHARES ** (low - 1) * (1 - _SHARES) ** (high - 1)
