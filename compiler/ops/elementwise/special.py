"""Special functions, element by element: gamma and its kin, logarithms of sums and quotients."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np

from staticgraph.compiler.core.errors import OptionError
from staticgraph.compiler.core.op import Op
from staticgraph.compiler.ops.declare import as_operand, composite, elementwise
from staticgraph.compiler.ops.elementwise.arithmetic import (
    absolute,
    astype,
    maximum,
    reciprocal,
    round,
)
from staticgraph.compiler.ops.elementwise.comparison import (
    equal,
    greater,
    isnan,
    less,
    less_equal,
    logical_and,
    logical_not,
    logical_or,
    where,
)
from staticgraph.compiler.ops.elementwise.exponential import (
    cos,
    exp2,
    log,
    log1p,
    sigmoid,
    softplus,
)
from staticgraph.compiler.ops.nn import clip
from staticgraph.compiler.reference import special_functions

__all__ = [
    "deg2rad", "digamma", "lgamma", "logaddexp", "logaddexp2", "logit", "polygamma", "rad2deg",
    "sinc", "xlogy",
]  # fmt: skip

_F64 = np.dtype(np.float64)
_LN2 = math.log(2)
_LOG2_E = 1 / _LN2


# -- sines --------------------------------------------------------------------------------------

_SINC_SLOPE = tuple((-1) ** k * 2 * k / math.factorial(2 * k + 1) for k in range(1, 9))
_NEAR = 0.25


def _sinc_vjp(g: object, o: object, a: Any) -> Any:
    """(cos(pi a) - sinc(a)) / a, whose difference is lost near 0: there it is a series."""
    near = less(absolute(a), _NEAR)
    angle = where(near, a, 0) * math.pi  # of large ones powers overflow
    square, series = angle * angle, 0.0
    for coefficient in reversed(_SINC_SLOPE):
        series = series * square + coefficient
    turn = a - round(a * 0.5) * 2  # exactly, as o is reduced
    far = (cos(turn * math.pi) - o) / where(near, 1, a)
    return g * where(near, angle * math.pi * series, far)


sinc = elementwise(
    "sinc", special_functions.sinc, "sinc({0})", arity=1, floating=True, cost="expensive",
    vjp=(_sinc_vjp,), saves=("ao",),
    doc="sin(pi x) / (pi x), 1 at 0, and 0 at all other integers.",
    example=">>> sg.sinc(np.array([0.0, 0.5, 1e9]))\narray([1.        , 0.63661977, 0.        ])",
)  # fmt: skip


# -- gamma -------------------------------------------------------------------------------------

lgamma = elementwise(
    "lgamma", special_functions.lgamma, "lgamma({0})", arity=1, floating=True, cost="expensive",
    vjp=(lambda g, o, a: g * digamma(a),), saves=("a",),
    domain="positive",
    doc="log|gamma(x)|; inf at 0 and the negative integers.",
    example=">>> sg.lgamma(np.array([5.0, 0.0]))\narray([3.17805383,        inf])",
)  # fmt: skip
digamma: Op = elementwise(
    "digamma", special_functions.digamma, "digamma({0})", arity=1, floating=True, cost="expensive",
    vjp=(lambda g, o, a: g * polygamma(1, a),), saves=("a",),
    domain="positive",
    doc="The derivative of lgamma; -inf at 0, nan at the negative integers.",
    example=">>> sg.digamma(np.array([2.0])) - sg.digamma(np.array([1.0]))\narray([1.])",
)  # fmt: skip


_MOST = 100
"""The highest derivative whose factorials, and what they are multiplied by, float64 holds."""
_TERMS = 10


def _polygamma_bind(
    n: int, x: object = None, *, input: object = None
) -> tuple[tuple[Any], dict[str, Any]]:
    x = input if x is None else x
    if not 0 <= n <= _MOST:
        raise OptionError(f"polygamma: n={n} is not between 0 and {_MOST}")
    return (as_operand(x),), {"n": int(n)}


def _polygamma(x: Any, *, n: int) -> Any:
    """In float64, whose range factorials and powers need."""
    return digamma(x) if n == 0 else astype(_wide_polygamma(astype(x, _F64), n), x.dtype)


def _wide_polygamma(x: Any, n: int) -> Any:
    """By recurrence to numbers of at least 10 + n, an asymptotic series there, and reflection.

    Abramowitz and Stegun 6.4.6, 6.4.7 and 6.4.11.
    """
    negative = less(x, 0)
    a = where(negative, 1 - x, x)
    total: Any = 0
    for k in range(10 + n):
        total = total + _raised(reciprocal(a + k), n + 1)
    inverse = reciprocal(a + (10 + n))
    square, series = inverse * inverse, 0.0
    for coefficient in reversed(_asymptotic(n)):
        series = (series + coefficient) * square
    factorial = float(math.factorial(n))
    far = (series + inverse * (factorial / 2) + factorial / n) * _raised(inverse, n)
    sign = 1 if n % 2 else -1
    positive = (total * factorial + far) * sign
    t = where(negative, x - round(x), 0.25)
    rest = 0.5 - absolute(t)
    cotangent = rest * sinc(rest) / (t * sinc(t))
    slope, *coefficients = reversed(_cotangent_slope(n))
    for coefficient in coefficients:
        slope = slope * cotangent + coefficient
    return where(negative, -sign * positive - slope * math.pi ** (n + 1), positive)


def _raised(x: object, n: int) -> Any:
    if n == 1:
        return x
    half = _raised(x, n // 2)
    return half * half * x if n % 2 else half * half


@cache
def _asymptotic(n: int) -> tuple[float, ...]:
    """B(2k) (2k + n - 1)! / (2k)! for k from 1 on, B the numbers of Bernoulli."""
    from fractions import Fraction  # a start without it is earlier

    numbers = [Fraction(1)]
    for m in range(1, 2 * _TERMS + 1):
        terms = (math.comb(m + 1, k) * number for k, number in enumerate(numbers))
        numbers.append(-sum(terms, Fraction()) / (m + 1))
    return tuple(
        float(numbers[k] * math.factorial(k + n - 1) / math.factorial(k))
        for k in range(2, 2 * _TERMS + 1, 2)
    )


@cache
def _cotangent_slope(n: int) -> tuple[Any, ...]:
    """The coefficients of the n-th derivative of cot, a polynomial in cot."""
    found = [0, 1]
    for _ in range(n):
        slope = [k * c for k, c in enumerate(found)][1:]
        found = [0] * (len(slope) + 2)
        for k, c in enumerate(slope):
            found[k] -= c
            found[k + 2] -= c
    return tuple(map(float, found))


def _polygamma_vjp(g: object, o: object, a: object, *, n: int) -> Any:
    return g * polygamma(n + 1, a)


polygamma: Any = composite(
    "polygamma", _polygamma, bind=_polygamma_bind, vjp=(_polygamma_vjp,), saves=("a",),
    elementwise=True, floating=True,
    doc="polygamma(n, x): the n-th derivative of digamma, n a number; inf at poles if n is odd.",
    example=">>> sg.polygamma(1, np.array([1.0])) - np.pi**2 / 6\narray([0.])",
)  # fmt: skip


# -- logarithms of sums, quotients and products -------------------------------------------------


def _logaddexp(a: Any, b: object) -> Any:
    # infinities of one sign have no difference
    return where(equal(a, b), a + _LN2, maximum(a, b) + softplus(-absolute(a - b)))


def _logaddexp2(a: Any, b: object) -> Any:
    rest = log1p(exp2(-absolute(a - b))) * _LOG2_E
    return where(equal(a, b), a + 1, maximum(a, b) + rest)


logaddexp = composite(
    "logaddexp", _logaddexp, evaluate=np.logaddexp,
    vjp=(lambda g, o, a, b: g * sigmoid(a - b), lambda g, o, a, b: g * sigmoid(b - a)),
    saves=("ab", "ab"), elementwise=True, promotes=slice(None), floating=True,
    doc="log(exp(a) + exp(b)), without overflow.",
    example=">>> sg.logaddexp(np.array([1000.0]), 1000.0) - 1000\narray([0.69314718])",
)  # fmt: skip
logaddexp2 = composite(
    "logaddexp2", _logaddexp2, evaluate=np.logaddexp2,
    vjp=(
        lambda g, o, a, b: g * sigmoid((a - b) * _LN2),
        lambda g, o, a, b: g * sigmoid((b - a) * _LN2),
    ),
    saves=("ab", "ab"), elementwise=True, promotes=slice(None), floating=True,
    doc="log2(2**a + 2**b), without overflow.",
    example=">>> sg.logaddexp2(np.array([2000.0]), 2000.0)\narray([2001.])",
)  # fmt: skip


def _xlogy(a: object, b: object) -> Any:
    flat = logical_and(equal(a, 0), logical_not(isnan(b)))
    return where(flat, 0, a * log(where(flat, 1, b)))


def _xlogy_by_a(g: object, o: object, a: object, b: object) -> Any:
    flat = logical_and(equal(a, 0), less_equal(b, 0))
    return where(flat, 0, xlogy(g, where(flat, 1, b)))


xlogy: Any = composite(
    "xlogy", _xlogy, vjp=(_xlogy_by_a, lambda g, o, a, b: g * (a / b)), saves=("ab", "ab"),
    elementwise=True, promotes=slice(None), floating=True,
    smooth=False,
    domain="positive",
    doc="a log(b), 0 where a is 0 unless b is nan.",
    example=">>> sg.xlogy(np.array([0.0, 2.0]), np.array([0.0, 1.0]))\narray([0., 0.])",
)  # fmt: skip
log_odds = elementwise(
    "log_odds", special_functions.log_odds, "logit({0})", arity=1, floating=True, cost="expensive",
    vjp=(lambda g, o, a: _logit_vjp(g, o, a, eps=None),), saves=("a",),
    domain="share",
    doc="log(x / (1 - x)): see logit.",
)  # fmt: skip


def _logit_bind(x: object, eps: float | None = None) -> tuple[tuple[Any], dict[str, Any]]:
    return (as_operand(x),), {"eps": None if eps is None else float(eps)}


def _logit(x: object, *, eps: float | None) -> Any:
    return log_odds(x if eps is None else clip(x, eps, 1 - eps))


def _logit_vjp(g: object, o: object, a: object, *, eps: float | None) -> Any:
    low, beyond = (0.0, math.nan) if eps is None else (eps, 0.0)
    outside = logical_or(less(a, low), greater(a, 1 - low))
    inside = where(outside, 0.5, a)
    # a factor of g, so that tangents are nan too where the value is
    return g * where(outside, beyond, 1 / absolute(inside * (1 - inside)))


logit = composite(
    "logit", _logit, bind=_logit_bind, vjp=(_logit_vjp,), saves=("a",), elementwise=True,
    floating=True,
    smooth=False,
    doc="log(x / (1 - x)), nan outside of [0, 1]; with `eps` of x limited to [eps, 1 - eps].",
    example=">>> sg.logit(np.array([0.5, 0.75]))\narray([0.        , 1.09861229])",
)  # fmt: skip


# -- angles ------------------------------------------------------------------------------------


def _degrees(name: str, factor: float, *, doc: str, example: str) -> Any:
    return composite(
        name, lambda x: x * factor, vjp=(lambda g, o, a: g * factor,), saves=("",),
        elementwise=True, floating=True, doc=doc, example=example,
    )  # fmt: skip


deg2rad = _degrees(
    "deg2rad", math.pi / 180,
    doc="Degrees as radians.",
    example=">>> sg.deg2rad(np.array([180.0])) - np.pi\narray([0.])",
)  # fmt: skip
rad2deg = _degrees(
    "rad2deg", 180 / math.pi,
    doc="Radians as degrees.",
    example=">>> sg.rad2deg(np.array([np.pi]))\narray([180.])",
)  # fmt: skip
