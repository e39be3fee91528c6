"""Random numbers of blocks of bits, with NumPy: what kernels compute, in the same steps.

Where numbers are drawn until one is accepted, all that are left are drawn together.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from compiler.reference.special_functions import digamma
from compiler.reference.threefry import threefry

_WORD = 0xFFFFFFFF
_FEW_TERMS = 1e5
"""From this parameter on `gamma_slope` is an expansion, since series would be long."""


def unit_float32(bits: Any) -> Any:
    """Numbers in [0, 1), multiples of 2**-23."""
    words = (bits ^ bits >> 32) >> 9 & 0x7FFFFF
    return words.astype(np.float32) * np.float32(2.0**-23)


def unit_float64(bits: Any) -> Any:
    """Numbers in [0, 1), multiples of 2**-52."""
    return (bits >> 12 & (1 << 52) - 1).astype(np.float64) * 2.0**-52


def scaled_bits(bits: Any, span: Any) -> Any:
    """The high part of the product of 64 bits and a number of at most 2**31."""
    return ((bits >> 32 & _WORD) * span + ((bits & _WORD) * span >> 32)) >> 32


def _together(*operands: Any) -> tuple[tuple[int, ...], list[Any]]:
    """The shape that operands broadcast to, and their elements in a row."""
    shape = np.broadcast_shapes(*map(np.shape, operands))
    return shape, [np.broadcast_to(one, shape).ravel() for one in operands]


def random_below(span: Any, key: Any, counter: Any) -> Any:
    """Integers from 0 to before `span`."""
    shape, (span, key, counter) = _together(span, key, counter)
    top = (1 << 63) - 1
    result = np.zeros(span.shape, np.int64)
    left, attempt = np.flatnonzero(span > 0), 0
    while left.size:
        bits = _bits(key, counter, left, attempt) & top
        width = span[left]
        accepted = bits < top // width * width
        result[left[accepted]] = (bits % width)[accepted]
        left, attempt = left[~accepted], attempt + 1
    return result.reshape(shape)


def _bits(key: Any, counter: Any, elements: Any, attempt: int) -> Any:
    """The blocks of some elements for an attempt, by bits that counters of elements never have."""
    return threefry(key[elements], counter[elements] ^ attempt << 44)


def gamma_slope(a: Any, x: Any) -> Any:
    """How fast quantiles x of gamma distributions grow with their parameters a."""
    dtype = np.result_type(a, x)
    shape, (a, x) = _together(*(np.asarray(one, np.float64) for one in (a, x)))
    result = np.full(a.shape, np.nan)
    with np.errstate(all="ignore"):
        known = (a > 0) & (x > 0) & (a < np.inf) & (x < np.inf)
        result[(a > 0) & (x == 0)] = 0
        for kind, formula in (
            (known & (a >= _FEW_TERMS), _far_slope),
            (known & (a < _FEW_TERMS) & (x <= a + 1), _series_slope),
            (known & (a < _FEW_TERMS) & (x > a + 1), _fraction_slope),
        ):
            result[kind] = formula(a[kind], x[kind])
    return result.astype(dtype).reshape(shape)


def _far_slope(a: Any, x: Any) -> Any:
    """By the inverse of the Cornish-Fisher expansion (Abramowitz and Stegun 26.2.49 and 51)."""
    root = np.sqrt(a)
    u = (x - a) / root
    w = u - (u * u - 1) / (3 * root) + (7 * u**3 - u) / (36 * a)
    return 1 + w / (2 * root) - (w**3 - 7 * w) / (72 * a * root)


def _series_slope(a: Any, x: Any) -> Any:
    """By the power series of the lower incomplete gamma function (DLMF 8.7.1)."""
    term, harmonic, total, slope, k = np.ones_like(a), 0.0, np.ones_like(a), np.zeros_like(a), 1
    while np.any(term > 1e-18 * total):
        term = term * (x / (a + k))
        harmonic = harmonic + 1 / (a + k)
        total = total + term
        slope = slope - term * harmonic
        k += 1
    return -(x / a) * ((np.log(x) - digamma(a + 1)) * total + slope)


def _fraction_slope(a: Any, x: Any) -> Any:
    """By the continued fraction of the upper one (DLMF 8.9.2), in Lentz's way, with slopes."""
    b = x + 1 - a
    d = 1 / b
    d_slope, c, c_slope, value, relative = d * d, np.full_like(a, 1e300), 0.0 * a, d, d
    for i in range(1, 20_000):
        b = b + 2
        factor = i * (a - i)
        below, below_slope = factor * d + b, i * d + factor * d_slope - 1
        above_slope = (i - factor * c_slope / c) / c - 1
        d, c = 1 / below, b + factor / c
        d_slope, c_slope = -below_slope * d * d, above_slope
        change = d_slope / d + c_slope / c
        value, relative = value * (c * d), relative + change
        if np.all((np.abs(c * d - 1) < 1e-15) & (np.abs(change) < 1e-16 * (1 + np.abs(relative)))):
            break
    return x * value * ((np.log(x) - digamma(a)) + relative)
