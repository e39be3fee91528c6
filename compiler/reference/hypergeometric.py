"""Hypergeometric functions of real numbers on plain arrays.

Series are summed in float64. Where their terms cancel, the elements are summed once more in decimal
numbers of as many digits as it takes: NumPy's arrays of objects hold them, so that it is one code.
"""

from __future__ import annotations

import decimal
import math
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np

from staticgraph.compiler.reference.special_functions import lgamma

_EPS = 2.0**-54
_MOST = 20_000
"""Terms of a series; what needs more is nan."""
_CANCELS = 32.0
"""How much larger than their sum terms in float64 may be."""
_DIGITS = (40, 80, 160, 320, 640)

Sum = tuple[Any, Any]
"""A sum, and how many times larger the terms are, all taken positive."""


def _wide(*arrays: object) -> tuple[Any, tuple[int, ...], list[Any]]:
    """The dtype and shape of the result, and the arrays in float64 and of one axis."""
    given = [np.asarray(one) for one in arrays]
    dtype = np.result_type(*given)
    wide = np.broadcast_arrays(*(one.astype(np.float64) for one in given))
    return dtype, wide[0].shape, [one.reshape(-1) for one in wide]


def _ends(a: Any) -> Any:
    """Whether a series with this parameter above has an end: 0, -1, -2, ..."""
    return (a <= 0) & (a == np.floor(a))


def _undefined(b: Any, *above: Any) -> Any:
    """Whether a series with b below divides by zero before it ends."""
    found = _ends(b)
    for a in above:
        found = found & ~(_ends(a) & (a >= b))
    return found


def _lost(total: Any, size: Any) -> Any:
    """size / |total|, and a large number where the sum is 0 and the terms are not."""
    flat = total == 0
    return np.where(flat, np.where(size == 0, 0, 1e300), size / np.where(flat, 1, abs(total)))


def _without_end(total: Any) -> Sum:
    """What has not converged: nan, which more digits do not mend."""
    plain = total.dtype.kind == "f"
    return np.full(total.shape, math.nan if plain else Decimal("nan"), total.dtype), total * 0


def _settled(*parameters: Any) -> int:
    """From which term on no factor changes its sign: before, what became small may grow again."""
    return max(0, *(math.ceil(-one.min()) for one in parameters))


def _summed(above: tuple[Any, ...], below: tuple[Any, ...], x: Any, eps: Any) -> Sum:
    """The sum of prod((a)_n) / prod((b)_n) x**n / n! over n (DLMF 16.2.1)."""
    total = size = term = x * 0 + 1
    settled = _settled(*above, *below)
    for n in range(_MOST):
        ratio = x / (n + 1)
        for a in above:
            ratio = ratio * (a + n)
        for b in below:
            ratio = ratio / np.where(b + n == 0, 1, b + n)
        term = term * ratio
        total, size = total + term, size + abs(term)
        on = term != 0
        if n >= settled:
            on = on & ((abs(term) > eps * abs(total)) | (abs(ratio) * 4 > 3))
        if not (on & (abs(total) < math.inf)).any():
            return total, _lost(total, size)
    missing, none = _without_end(total)
    lost = _lost(total, size)
    return np.where(on, missing, total), np.where(on, none, lost)


def _decimals(x: Any) -> Any:
    found = np.empty(x.shape, object)
    found[:] = [Decimal(one) for one in x.tolist()]
    return found


def _refined(function: Callable[..., Sum], *operands: Any) -> Any:
    """What a function finds of float64, and of decimal numbers where terms cancel."""
    total, lost = function(*operands, _EPS)
    left = np.nonzero(~(lost <= _CANCELS))[0]
    for digits in _DIGITS:
        if not left.size:
            break
        with decimal.localcontext(prec=digits, Emax=10**9, Emin=-(10**9)):
            given = [_decimals(one[left]) for one in operands]
            value, cancelled = function(*given, Decimal(10) ** (5 - digits))
            total[left] = value.astype(np.float64)
            left = left[cancelled >= Decimal(10) ** (digits - 20)]
    return total


# -- one parameter above, and one below ------------------------------------------------------------


def hyp1f1(a: Any, b: Any, x: Any) -> Any:
    """Kummer's function M(a, b, x)."""
    dtype, shape, (a, b, x) = _wide(a, b, x)
    found = np.full(x.shape, np.nan)
    with np.errstate(all="ignore"):
        known = np.isfinite(a) & np.isfinite(b) & np.isfinite(x)
        undefined = _undefined(b, a)
        found[known & undefined] = np.inf
        inside = known & ~undefined
        far, near = _far(a, b, x, inside & (abs(x) > 50) & ~_ends(a))
        found[far] = near[far]
        rest = inside & ~far
        if rest.any():
            found[rest] = _refined(_confluent, a[rest], b[rest], x[rest])
        rising = (a > 0) & (b > 0) & np.isfinite(a) & np.isfinite(b)
        found[rising & (x == np.inf)] = np.inf
        found[rising & (x == -np.inf)] = 0
        found[np.isfinite(b) & ~undefined & (a == 0) & ~np.isnan(x)] = 1
        return found.reshape(shape).astype(dtype)


def _confluent(a: Any, b: Any, x: Any, eps: Any) -> Sum:
    """The series, of x < 0 after Kummer's transformation (DLMF 13.2.39)."""
    turned = (x < 0) & ~_ends(a)
    total, lost = _summed((np.where(turned, b - a, a),), (b,), abs(x) * _sign(x, turned), eps)
    if total.dtype.kind == "f":  # a product of 0 and inf
        lost = np.where(turned & (x < -700), np.inf, lost)
    return np.where(turned, np.exp(np.where(turned, x, 0 * x)) * total, total), lost


def _sign(x: Any, turned: Any) -> Any:
    return np.where((x < 0) & ~turned, -1, 1)


def _far(a: Any, b: Any, x: Any, asked: Any) -> tuple[Any, Any]:
    """Where the expansion for large |x| holds (DLMF 13.7.1 and 13.7.2), and its values."""
    y = np.where(asked, abs(x), 100.0)
    upper, rest = np.where(x > 0, a, b - a), np.where(x > 0, b - a, a)
    most = np.maximum(np.maximum(abs(a), abs(b)), abs(b - a))
    # the other of two solutions, which is left out
    other = y - abs(upper - rest) * np.log(y) - abs(lgamma(upper))
    other = other - np.where(_ends(rest), 0, abs(lgamma(rest)))
    holds = asked & (most < 100) & ~_ends(upper) & (other > 45)
    if not holds.any():
        return holds, y
    upper, rest, low = (np.where(holds, one, 1.5) for one in (upper, rest, b))
    total = size = term = np.ones_like(y)
    for n in range(60):
        term = term * ((1 - upper + n) * (rest + n) / ((n + 1) * y))
        term = np.where(abs(term) > _EPS * abs(total), term, 0)
        total, size = total + term, size + abs(term)
    holds = holds & (term == 0) & (size <= _CANCELS * abs(total))
    gammas = [math.gamma(q) / math.gamma(p) for p, q in zip(upper, low, strict=True)]
    grown = np.exp(np.where(x > 0, y / 2, 0))
    return holds, grown * (gammas * total * y ** (upper - low)) * grown


# -- two parameters above, and one below -----------------------------------------------------------


def hyp2f1(a: Any, b: Any, c: Any, x: Any) -> Any:
    """Gauss's function F(a, b; c; x)."""
    dtype, shape, (a, b, c, x) = _wide(a, b, c, x)
    found = np.full(x.shape, np.nan)
    with np.errstate(all="ignore"):
        a, b = np.minimum(a, b), np.maximum(a, b)
        known = np.isfinite(a) & np.isfinite(b) & np.isfinite(c) & np.isfinite(x)
        undefined = _undefined(c, a, b)
        found[known & undefined] = np.inf
        inside = known & ~undefined
        ends = inside & (_ends(a) | _ends(b))
        if ends.any():
            found[ends] = _refined(_polynomial, a[ends], b[ends], c[ends], x[ends])
        rest = inside & ~ends & (x < 1)
        if rest.any():
            found[rest] = _refined(_below_one, a[rest], b[rest], c[rest], x[rest])
        for place in np.nonzero(inside & ~ends & (x == 1))[0]:
            found[place] = _at_one(float(a[place]), float(b[place]), float(c[place]))
        return found.reshape(shape).astype(dtype)


def _polynomial(a: Any, b: Any, c: Any, x: Any, eps: Any) -> Sum:
    return _summed((a, b), (c,), x, eps)


def _at_one(a: float, b: float, c: float) -> float:
    """Gauss's sum (DLMF 15.4.20), and an infinity where there is none."""
    if c - a - b <= 0:
        return math.inf * float(np.prod([_gamma_sign(one) for one in (a, b, c)]))
    if _ends(c - a) or _ends(c - b):
        return 0.0
    parts = (c, c - a - b, c - a, c - b)
    if max(map(abs, parts)) < 170:
        top, left, *below = map(math.gamma, parts)
        return top / below[0] * (left / below[1])
    logs = math.lgamma(c) - math.lgamma(c - a) + (math.lgamma(c - a - b) - math.lgamma(c - b))
    return math.exp(logs) * float(np.prod([_gamma_sign(one) for one in parts]))


def _gamma_sign(x: float) -> float:
    return -1.0 if x < 0 and math.floor(x) % 2 else 1.0


def _below_one(a: Any, b: Any, c: Any, x: Any, eps: Any) -> Sum:
    """Of x < 1; x < 0 after Pfaff's transformation to between 0 and 1 (DLMF 15.8.1)."""
    turned = x < 0
    left = np.where(turned, 1 / (1 - np.where(turned, x, 0 * x)), 1 - x)
    at = np.where(turned, -x * left, x)
    total, lost = _climbed(a, np.where(turned, c - b, b), c, at, left, eps)
    return np.where(turned, left**a, 1) * total, lost


def _climbed(a: Any, b: Any, c: Any, x: Any, left: Any, eps: Any) -> Sum:
    """The series up to 1 / 2, and beyond Taylor's, each of which halves the distance to 1.

    `left` is that distance. Coefficients follow from the differential equation (DLMF 15.10.1).
    """
    one = x * 0 + 1
    beyond = 2 * x > 1
    start = np.where(beyond, one / 2, x)
    begun, lost = _summed((a, b), (c,), start, eps)
    value = begun
    if not beyond.any():
        return value, lost
    rate, rate_lost = _summed((a + 1, b + 1), (c + 1,), start, eps)
    away = np.where(beyond, one / 2, left)
    slope = rate * a * b / c * away
    lost = np.maximum(lost, np.where(beyond, rate_lost, 0))
    settled = _settled(a, b)
    while (away > left).any():
        goal = np.maximum(away / 2, left)
        part = (away - goal) / away
        before, term = value, slope * part
        total, moment, size = value + term, term, abs(value) + abs(term)
        turn, spread = c - a - b - 1 + (a + b + 1) * away, 2 * away - 1
        for n in range(_MOST):
            rise = (a + n) * (b + n) * (part * part * away)
            fall = (turn + spread * n) * ((n + 1) * part)
            following = (rise * before - fall * term) / ((1 - away) * ((n + 1) * (n + 2)))
            before, term = term, following
            total, moment = total + term, moment + term * (n + 2)
            size = size + abs(term)
            bound = eps * np.maximum(abs(total), abs(moment))
            if n >= settled and not ((abs(before) + abs(term)) * (n + 2) > bound).any():
                break
        else:
            return _without_end(total)
        lost = np.maximum(lost, _lost(total, size))
        moved = part > 0
        slope = np.where(moved, moment * goal / (away * np.where(moved, part, 1)), slope)
        value, away = total, goal
    # what the other solutions grow by at 0 and at 1, whose share in the start is of rounding
    other = np.where(beyond, 2 * x, one) ** np.maximum(1 - c, 0 * c)
    other = other * np.where(beyond, one / (2 * left), one) ** np.maximum(a + b - c, 0 * c)
    return value, np.maximum(lost, _lost(value, other * abs(begun)))
