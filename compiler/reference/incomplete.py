"""Incomplete gamma and beta functions on plain arrays, which iterate until they have converged."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from staticgraph.compiler.reference.special_functions import digamma, lgamma

_TINY = 1e-300
_EPS = 2.0**-53
_MOST = 20_000
"""More terms than arguments of which float64 gives a value need."""


def _wide(*arrays: object) -> tuple[Any, list[Any]]:
    """The dtype of the result, and the arrays in float64 and one shape."""
    given = [np.asarray(one) for one in arrays]
    dtype = np.result_type(*given)
    return dtype, list(np.broadcast_arrays(*(one.astype(np.float64) for one in given)))


def _factor(a: Any, x: Any) -> Any:
    """x**a exp(-x) / gamma(a), by the distance of x from a where both are large.

    There the logarithms nearly cancel: a log(x / a) - (x - a) is a (log1p(t) - t) of t = x / a - 1.
    """
    plain = a * np.log(x) - x - lgamma(a)
    t = (x - a) / a
    stirling = 1 / (12 * a) - 1 / (360 * a**3) + 1 / (1260 * a**5) - 1 / (1680 * a**7)
    near = a * _log1p_less(t) + 0.5 * np.log(a / (2 * math.pi)) - stirling
    return np.exp(np.where((a > 20) & (np.abs(t) < 0.5), near, plain))


def _log1p_less(t: Any) -> Any:
    """log(1 + t) - t, as a series near 0."""
    small = np.abs(t) < 0.1
    s = np.where(small, t, 0.0)
    total = np.zeros_like(s)
    for k in range(22, 1, -1):
        total = total * s + (-1) ** (k + 1) / k
    return np.where(small, total * s * s, np.log1p(t) - t)


def _series(a: Any, x: Any) -> Any:
    """The lower one, without its factor: 1 / a + x / (a (a + 1)) + ... (A&S 6.5.29)."""
    term = 1 / a
    total = term.copy()
    for n in range(1, _MOST):
        term = term * (x / (a + n))
        total = total + term
        if not (term > total * _EPS).any():
            break
    return total


def _fraction(a: Any, x: Any) -> Any:
    """The upper one, without its factor: Legendre's continued fraction by Lentz (A&S 6.5.31)."""
    b = x + 1 - a
    c = np.full_like(b, 1 / _TINY)
    d = 1 / np.where(b == 0, _TINY, b)
    h = d.copy()
    for n in range(1, _MOST):
        an = -n * (n - a)
        b = b + 2
        d = an * d + b
        d = 1 / np.where(np.abs(d) < _TINY, _TINY, d)
        c = b + an / c
        c = np.where(np.abs(c) < _TINY, _TINY, c)
        step = d * c
        h = h * step
        if not (np.abs(step - 1) > 2 * _EPS).any():
            break
    return h


def _gamma_parts(a: Any, x: Any, upper: bool) -> Any:
    dtype, (a, x) = _wide(a, x)
    with np.errstate(all="ignore"):
        inside = (a > 0) & (x > 0) & np.isfinite(a) & np.isfinite(x)
        low = inside & (x < a + 1)
        high = inside & ~low
        found = np.full(x.shape, np.nan)
        if low.any():
            part = _factor(a[low], x[low]) * _series(a[low], x[low])
            found[low] = 1 - part if upper else part
        if high.any():
            part = _factor(a[high], x[high]) * _fraction(a[high], x[high])
            found[high] = part if upper else 1 - part
        edge = (a > 0) & ((x == 0) | ((x == np.inf) & np.isfinite(a)))
        found[edge & (x == 0)] = float(upper)
        found[edge & (x == np.inf)] = float(not upper)
        return found.astype(dtype)


def gammainc(a: object, x: object) -> Any:
    """The regularised lower incomplete gamma function."""
    return _gamma_parts(a, x, False)


def gammaincc(a: object, x: object) -> Any:
    """The regularised upper incomplete gamma function."""
    return _gamma_parts(a, x, True)


def betainc(a: Any, b: Any, x: Any) -> Any:
    """The regularised incomplete beta function."""
    dtype, (a, b, x) = _wide(a, b, x)
    with np.errstate(all="ignore"):
        found = np.full(x.shape, np.nan)
        known = (a > 0) & (b > 0) & np.isfinite(a) & np.isfinite(b)
        found[known & (x == 0)] = 0
        found[known & (x == 1)] = 1
        inside = known & (x > 0) & (x < 1)
        swap = inside & (x > (a + 1) / (a + b + 2))
        p, q = np.where(swap, b, a)[inside], np.where(swap, a, b)[inside]
        y = np.where(swap, 1 - x, x)[inside]
        if y.size:
            logs = p * np.log(y) + q * np.log1p(-y) + lgamma(p + q) - lgamma(p) - lgamma(q)
            part = np.exp(logs) * _beta_fraction(p, q, y) / p
            found[inside] = np.where(swap[inside], 1 - part, part)
        return found.astype(dtype)


def _beta_fraction(a: Any, b: Any, x: Any) -> Any:
    """The continued fraction of the incomplete beta function by Lentz (A&S 26.5.8)."""
    c = np.ones_like(x)
    d = 1 - (a + b) * x / (a + 1)
    d = 1 / np.where(np.abs(d) < _TINY, _TINY, d)
    h = d.copy()
    for m in range(1, _MOST):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for factor in (even, odd):
            d = 1 + factor * d
            d = 1 / np.where(np.abs(d) < _TINY, _TINY, d)
            c = 1 + factor / c
            c = np.where(np.abs(c) < _TINY, _TINY, c)
            h = h * (d * c)
        if not (np.abs(d * c - 1) > 2 * _EPS).any():
            break
    return h


_PSI_TERMS = 24


def expn(n: Any, x: Any) -> Any:
    """The integral of exp(-x t) / t**n from 1 on."""
    dtype, (n, x) = _wide(n, x)
    with np.errstate(all="ignore"):
        found = np.full(x.shape, np.nan)
        known = (n >= 0) & (n == np.floor(n)) & np.isfinite(n) & (x >= 0)
        found[known & (x == 0)] = np.inf
        pole = known & (x == 0) & (n > 1)
        found[pole] = 1 / (n[pole] - 1)
        found[known & (x == np.inf)] = 0
        inside = known & (x > 0) & np.isfinite(x)
        plain = inside & (n == 0)
        found[plain] = np.exp(-x[plain]) / x[plain]
        low = inside & (n > 0) & (x < 1)
        if low.any():
            found[low] = _expn_series(n[low], x[low])
        high = inside & (n > 0) & (x >= 1)
        if high.any():
            found[high] = np.exp(-x[high]) * _expn_fraction(n[high], x[high])
        return found.astype(dtype)


def _expn_series(n: Any, x: Any) -> Any:
    """Below 1: Abramowitz and Stegun 5.1.12."""
    term = np.ones_like(x)
    total = np.zeros_like(x)
    for m in range(_PSI_TERMS):
        step = m + 1 - n
        total = total + np.where(step == 0, 0, term / np.where(step == 0, 1, step))
        term = term * (-x / (m + 1))
    sign = np.where(n % 2 == 1, 1, -1)
    power = np.exp((n - 1) * np.log(x) - lgamma(n))
    return sign * power * (digamma(n) - np.log(x)) - total


def _expn_fraction(n: Any, x: Any) -> Any:
    """From 1 on, without its factor: the even part of Abramowitz and Stegun 5.1.22, backwards."""
    rest = np.zeros_like(x)
    for k in range(10 + int(100 / x.min()), 0, -1):
        rest = k * (n - 1 + k) / (x + n + 2 * k - rest)
    return 1 / (x + n - rest)
