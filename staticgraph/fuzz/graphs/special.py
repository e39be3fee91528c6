"""Special functions in plain NumPy, from their definitions: a part of the reference."""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import NormalDist
from typing import Any

import numpy as np

from staticgraph.compiler.core.values import Array
from staticgraph.fuzz.graphs.undefined import UndefinedError

_SHIFT = 20


def by_number(function: Callable[[float], float]) -> Callable[[Array], Array]:
    """A function of a number, as one of arrays."""
    each = np.vectorize(lambda x: function(float(x)), otypes=[np.float64])
    return lambda x: np.asarray(each(x), x.dtype) if x.size else np.zeros_like(x)


def _lgamma(x: float) -> float:
    pole = x <= 0 and (math.isinf(x) or x == math.floor(x))
    try:
        return math.inf if pole else math.lgamma(x)
    except OverflowError:
        return math.inf


erfc = by_number(math.erfc)
lgamma = by_number(_lgamma)


def _pi_times(function: Any, x: Array) -> Array:
    """`function` of pi times what x is beyond an even number."""
    return function(x.dtype.type(np.pi) * (x - 2 * np.rint(x / 2)))


def sinc(x: Array) -> Array:
    """sin(pi x) / (pi x)."""
    found = _pi_times(np.sin, x) / (x.dtype.type(np.pi) * x)
    whole = np.isfinite(x) & (x == np.rint(x))
    return np.where(x == 0, x.dtype.type(1), np.where(whole, x.dtype.type(0), found))


def digamma(x: Array) -> Array:
    """By recurrence, an asymptotic series, and reflection."""
    y = np.where(x < 0, 1 - x, x)
    shifted = y + _SHIFT
    found = np.log(shifted) - 1 / (2 * shifted)
    for k, number in enumerate((1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132), 1):
        found = found - number / shifted ** (2 * k)
    for k in range(_SHIFT):
        found = found - 1 / (y + k)
    cotangent = _pi_times(np.cos, x) / _pi_times(np.sin, x)
    reflected = found - x.dtype.type(np.pi) * cotangent
    whole = (x < 0) & (x == np.rint(x))
    return np.where(whole, x.dtype.type(np.nan), np.where(x < 0, reflected, found))


def polygamma(n: int, x: Array) -> Array:
    """For n = 1 and 2, by recurrence, an asymptotic series, and reflection."""
    y = np.where(x < 0, 1 - x, x)
    z = y + _SHIFT
    if n == 1:
        found = 1 / z + 1 / (2 * z**2) + 1 / (6 * z**3) - 1 / (30 * z**5) + 1 / (42 * z**7)
        found = found - 1 / (30 * z**9) + 5 / (66 * z**11)
    else:
        found = -1 / z**2 - 1 / z**3 - 1 / (2 * z**4) + 1 / (6 * z**6) - 1 / (6 * z**8)
        found = found + 3 / (10 * z**10) - 5 / (6 * z**12)
    for k in range(_SHIFT):
        found = found + (1 / (y + k) ** 2 if n == 1 else -2 / (y + k) ** 3)
    pi, sine = x.dtype.type(np.pi), _pi_times(np.sin, x)
    sine = np.where(x == np.rint(x), x.dtype.type(0), sine)
    if n == 1:
        return np.where(x < 0, pi**2 / sine**2 - found, found)
    return np.where(x < 0, found - 2 * pi**3 * _pi_times(np.cos, x) / sine**3, found)


def xlogy(x: Array, y: Array) -> Array:
    """x log(y), 0 where x is 0 and y is a number."""
    found = x * np.log(np.asarray(y, np.result_type(x, y)))  # a number takes the dtype of x
    return np.where((x == 0) & ~np.isnan(y), found.dtype.type(0), found)


def heaviside(x: Array, y: Array) -> Array:
    """0, y or 1; nan for nan."""
    return np.asarray(np.where(x == 0, y, np.maximum(np.sign(x), 0)), np.result_type(x, y))


def logit(x: Array, eps: float | None = None) -> Array:
    """log(x / (1 - x)), without cancellation near 1/2."""
    x = x if eps is None else np.minimum(np.maximum(x, eps), 1 - eps)
    near = np.log1p((2 * x - 1) / (1 - x))
    return np.where(abs(x - 0.5) < 0.1, near, np.log(x / (1 - x)))


def binary_cross_entropy(x: Array, y: Array) -> Array:
    """-(y log(x) + (1 - y) log(1 - x)), with logarithms of at least -100."""
    logs = [np.where(one < -100, x.dtype.type(-100), one) for one in (np.log(x), np.log1p(-x))]
    return -(y * logs[0] + (1 - y) * logs[1])


# -- Bessel, the normal distribution, incomplete functions -----------------------------------------

_TERMS = 200


def bessel(order: int, scaled: bool) -> Callable[[Array], Array]:
    """I of order 0 or 1 by its power series, whose terms have one sign; times exp(-|x|)."""

    def function(x: Array) -> Array:
        _require_converging(x)
        if not scaled and np.any(np.isinf(x)):
            raise UndefinedError  # they tend to inf, for which cephes and all after it have nan
        half = np.where(np.isinf(x), x.dtype.type(0), x) / 2
        term = half if order else half * 0 + 1
        total = term
        for k in range(1, _TERMS):
            term = term * (half * half) / (k * (k + order))
            total = total + term
        found = total * np.exp(-abs(x)) if scaled else total
        return np.where(np.isinf(x), x.dtype.type(0), found)

    return function


def _require_converging(x: Array) -> None:
    """UndefinedError where the terms of a series of exp(x) are still large when it ends."""
    if np.any(np.abs(np.where(np.isfinite(x), x, 0)) > _TERMS / 2):
        raise UndefinedError


def _normal_quantile(x: float) -> float:
    if x in (0, 1):
        return math.copysign(math.inf, x - 0.5)
    return NormalDist().inv_cdf(x) if 0 < x < 1 else math.nan


def _erfinv(x: float) -> float:
    if not -1 < x < 1:
        return math.copysign(math.inf, x) if abs(x) == 1 else math.nan
    y = NormalDist().inv_cdf((1 + x) / 2) * math.sqrt(0.5)
    for _ in range(3):
        y -= (math.erf(y) - x) * math.exp(y * y) * math.sqrt(math.pi) / 2
    return y


ndtri, erfinv = by_number(_normal_quantile), by_number(_erfinv)


def gammainc(a: Array, x: Array, upper: bool = False) -> Array:
    """By the series of the lower one, whose terms have one sign."""
    a = np.asarray(a, np.result_type(a, x))
    _require_converging(x)
    inside = np.where(np.isinf(x), x.dtype.type(1), x)
    term = 1 / a + inside * 0
    total = term
    for n in range(1, _TERMS):
        term = term * inside / (a + n)
        total = total + term
    share = total * np.exp(a * np.log(inside) - inside - lgamma(a))
    share = np.where(x == 0, 0, np.where(x == np.inf, 1, share))
    return np.where(x < 0, np.nan, 1 - share if upper else share).astype(total.dtype)


def betainc(a: float, b: float, x: Array) -> Array:
    """By the series of the smaller of both sides, whose terms have one sign."""
    swap = x > 0.5
    y = np.where(swap, 1 - x, x)
    p, q = np.where(swap, b, a), np.where(swap, a, b)
    term = y * 0 + 1
    total = term
    for n in range(_TERMS):
        term = term * y * (p + q + n) / (p + 1 + n)
        total = total + term
    logs = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    share = total * np.exp(p * np.log(y) + q * np.log1p(-y) + logs) / p
    return np.where((x < 0) | (x > 1), np.nan, np.where(swap, 1 - share, share)).astype(x.dtype)
