"""Special functions that NumPy lacks, or has with less precision, on plain arrays."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from staticgraph.compiler.reference.scratch import floats

_LARGE = 20.0
_TINY = 2.0**-60
# beyond these Stirling's formula, and its derivative, are exact to float64
_STIRLING = (math.log(2 * math.pi) - 1) / 2
_LGAMMA = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188)
_DIGAMMA = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 5 / 660, -691 / 32760, 1 / 12)
_FAR = 10.0


def lgamma(x: Any) -> Any:
    """log|gamma(x)|; inf at 0, the negative integers, inf and -inf."""
    x = floats(np.asarray(x))
    wide = np.asarray(x, np.float64)
    with np.errstate(all="ignore"):
        a = np.abs(wide)
        result = np.where(a < _TINY, -np.log(a), _far(a))
        t = wide - np.rint(wide)
        reflected = np.log(np.pi / (a * np.abs(np.sin(np.pi * t)))) - result
        result = np.where((wide <= -_LARGE) & np.isfinite(wide), reflected, result)
        result = np.where((wide <= 0) & (t == 0), np.inf, result)
        between = (a >= _TINY) & (a < _LARGE) & ((wide > 0) | (t != 0))
        result[between] = [math.lgamma(one) for one in wide[between].tolist()]
        return result.astype(x.dtype)


def _far(a: Any) -> Any:
    inverse = 1 / a
    square = inverse * inverse
    return (a - 0.5) * (np.log(a) - 1) + (_STIRLING + inverse * np.polyval(_LGAMMA[::-1], square))


def digamma(x: Any) -> Any:
    """The derivative of log|gamma(x)|: -inf at 0, inf at -0, nan at the negative integers.

    By recurrence to 10 and more, and an asymptotic series (Abramowitz and Stegun 6.3.18).
    """
    x = floats(np.asarray(x))
    wide = np.asarray(x, np.float64)
    with np.errstate(all="ignore"):
        negative = wide < 0
        t = wide - np.rint(wide)
        cotangent = np.pi / np.tan(np.pi * np.where(negative, t, 0.5))
        cotangent = np.where(t == 0, np.nan, cotangent)
        shifted = np.where(negative, 1 - wide, wide)
        total = np.where(negative, -cotangent, 0.0)
        while (small := shifted < _FAR).any():
            total = np.where(small, total - 1 / shifted, total)
            shifted = np.where(small, shifted + 1, shifted)
        inverse = 1 / shifted
        square = inverse * inverse
        series = square * np.polyval(_DIGAMMA[::-1], square)
        result = total + (np.log(shifted) - 0.5 * inverse - series)
        return result.astype(x.dtype)


def sinc(x: Any) -> Any:
    """sin(pi x) / (pi x), 1 at 0, with pi x reduced exactly."""
    x = floats(np.asarray(x))
    with np.errstate(all="ignore"):
        whole = np.rint(x)
        t = x - whole
        odd = np.remainder(whole, 2) != 0
        value = np.sin(x.dtype.type(np.pi) * t) / (x.dtype.type(np.pi) * x)
        return np.where(x == 0, x.dtype.type(1), np.where(odd, -value, value))


def log_odds(x: Any) -> Any:
    """log(x / (1 - x)), accurate near 1/2 too."""
    x = floats(np.asarray(x))
    with np.errstate(all="ignore"):
        near = np.abs(x - 0.5) < 0.1
        return np.where(near, np.log1p((2 * x - 1) / (1 - x)), np.log(x / (1 - x)))
