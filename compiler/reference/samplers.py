"""Random numbers of blocks of bits, with NumPy: what kernels compute, in the same steps.

Where numbers are drawn until one is accepted, all that are left are drawn together.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from compiler.reference.inverse_error import erfinv
from compiler.reference.special_functions import digamma, lgamma
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


def _odd(bits: Any) -> Any:
    """Odd integers below 2**53: twice as many halves as there are numbers in [0, 1)."""
    return (bits >> 11 & (1 << 53) - 2 | 1).astype(np.float64)


def _inside(bits: Any) -> Any:
    """Numbers in (0, 1)."""
    return _odd(bits) * 2.0**-53


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


def random_gamma(a: Any, key: Any, counter: Any) -> Any:
    """Gamma numbers with the parameters `a`."""
    a = np.asarray(a)
    shape, (wide, key, counter) = _together(a.astype(np.float64), key, counter)
    with np.errstate(all="ignore"):
        d = np.where(wide < 1, wide + 1, wide) - 1 / 3
        c = 1 / np.sqrt(9 * d)
        result = np.where(wide >= 0, wide, np.nan)
        left, attempt = np.flatnonzero((wide >= 0) & (wide < np.inf)), 0
        while left.size:
            bits, more = (_bits(key, counter, left, one) for one in (attempt, -1 - attempt))
            x = math.sqrt(2) * erfinv(_odd(bits) * 2.0**-52 - 1)
            root = 1 + c[left] * x
            cube = root**3
            u = ((bits & 4095) + 1) * 2.0**-12
            bound = 0.5 * x * x + d[left] - d[left] * cube + d[left] * np.log(cube)
            accepted = (u < 1 - 0.0331 * x**4) | (np.log(u - _odd(more) * 2.0**-65) < bound)
            accepted &= root > 0
            result[left[accepted]] = (d[left] * cube)[accepted]
            left, attempt = left[~accepted], attempt + 1
        small = np.flatnonzero(wide < 1)
        power = _inside(_bits(key, counter, small, 1 << 18))
        result[small] *= np.exp(np.log(power) / wide[small])
    return result.astype(a.dtype).reshape(shape)


def random_poisson(rate: Any, key: Any, counter: Any) -> Any:
    """Poisson numbers with these rates."""
    shape, (rate, key, counter) = _together(np.asarray(rate, np.float64), key, counter)
    result = np.full(rate.shape, -1, np.int64)
    with np.errstate(all="ignore"):
        few = np.flatnonzero((rate >= 0) & (rate < 10))
        result[few] = _by_inversion(rate[few], _inside(_bits(key, counter, few, 0)))
        left, attempt = np.flatnonzero((rate >= 10) & (rate < 1e18)), 0
        while left.size:
            bits = _bits(key, counter, left, attempt)
            u = (bits >> 23 & (1 << 41) - 2 | 1).astype(np.float64) * 2.0**-41 - 0.5
            v = ((bits & (1 << 24) - 1) << 1 | 1).astype(np.float64) * 2.0**-25
            found, accepted = _transformed(rate[left], u, v)
            result[left[accepted]] = found[accepted].astype(np.int64)
            left, attempt = left[~accepted], attempt + 1
    return result.reshape(shape)


def random_order(bits: Any, *, axis: int) -> Any:
    """The positions along an axis in the order of their bits.

    NumPy sorts integers several times faster than it orders positions by them: so up to 2**20 the
    low bits are the position, and 44 others are left to compare.
    """
    count = bits.shape[axis]
    if count > 1 << 20:
        return np.argsort(bits, axis)
    width = max(count - 1, 0).bit_length()
    places = np.expand_dims(np.arange(count), [i for i in range(bits.ndim) if i != axis])
    return np.sort(bits >> width << width | places, axis) & (1 << width) - 1


def _by_inversion(rate: Any, u: Any) -> Any:
    chance, found = np.exp(-rate), np.zeros(rate.shape, np.int64)
    left = u > chance
    while left.any():
        u = np.where(left, u - chance, u)
        found += left
        chance = np.where(left, chance * (rate / np.maximum(found, 1)), chance)
        left &= (u > chance) & (found < 100)
    return found


def _transformed(rate: Any, u: Any, v: Any) -> tuple[Any, Any]:
    """Candidates, and which of them are accepted."""
    b = 0.931 + 2.53 * np.sqrt(rate)
    a = 0.02483 * b - 0.059
    rest = 0.5 - np.abs(u)
    found = np.floor((2 * a / rest + b) * u + rate + 0.43)
    at_once = (rest >= 0.07) & (v <= 0.9277 - 3.6224 / (b - 2))
    never = (found < 0) | (rest < 0.013) & (v > rest)
    height = np.log(v * (1.1239 + 1.1328 / (b - 3.4)) / (a / (rest * rest) + b))
    fits = height <= found * np.log(rate) - rate - lgamma(found + 1)
    return found, at_once | ~never & fits


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
