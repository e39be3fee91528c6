"""lgamma and digamma of positive numbers, and by reflection of negative ones.

Up to 5 a polynomial over [1, 3], from which the zeros are split off, and the recurrences, which
take one logarithm or one quotient; from there on Stirling's formula with a polynomial in 1/x^2 in
place of its asymptotic series. float32 numbers are computed in float64, with shorter polynomials;
negative ones, which have a zero per unit that is not split off, with those of float64.
"""

from __future__ import annotations

import math

from staticgraph.compiler.llvm.vecmath import special_coefficients as coefficients
from staticgraph.compiler.llvm.vecmath.half_turns import from_integer, sine_of_half_turns
from staticgraph.compiler.llvm.vecmath.lane import (
    BINARY32,
    Lane,
    Mask,
    fma,
    select,
    split_polynomial,
)
from staticgraph.compiler.llvm.vecmath.logarithm import log
from staticgraph.compiler.llvm.vecmath.rare import rarely

# log(gamma(x)) is (x - 1/2) (log(x) - 1) plus this, and what goes to 0 as 1/x.
STIRLING = 0.4189385332046727
LOG_PI = 1.1447298858494002
# The zero of digamma, less 1, as a sum.
ZERO = (0.46163214496836236, -1.5522348162858677e-17)
# Below this log(gamma(x)) is -log|x| for either sign.
TINY = 2.0**-60
INF = float("inf")
NAN = float("nan")


def reduce_to_zeros(a: Lane) -> tuple[Lane, Mask, Mask, Mask]:
    """For 0 <= a < 5: what is left above 1 of a, in [0, 2], and whether a is <1, >=3 and >=4."""
    small, third, fourth = a < 1.0, a >= 3.0, a >= 4.0
    above = select(small, a, select(fourth, a - 3.0, select(third, a - 2.0, a - 1.0)))
    return above, small, third, fourth


def lgamma_positive(a: Lane, coarse: bool) -> Lane:
    """log(gamma(a)) for a >= 0."""
    series = coefficients.LGAMMA_COARSE if coarse else coefficients.LGAMMA
    far_series = coefficients.LGAMMA_FAR_COARSE if coarse else coefficients.LGAMMA_FAR
    far = a >= 5.0
    above, small, third, fourth = reduce_to_zeros(a)
    # gamma(a) = (a - 1) (a - 2) gamma(a - 2), and gamma(a + 1) / a
    product = select(third, select(fourth, (a - 1.0) * (a - 2.0), a - 1.0), a.constant(1.0))
    logarithm = log(select(far | small, a, product))
    y = above - 1.0
    near = above * y * split_polynomial(y, series[64])
    near = near + select(small, -logarithm, logarithm)
    inverse = 1.0 / a
    rest = fma(inverse, split_polynomial(inverse * inverse, far_series[64]), STIRLING)
    return select(far, fma(a - 0.5, logarithm - 1.0, rest), near)


def lgamma_negative(x: Lane) -> Lane:
    """log|gamma(x)| for x < 0, as log(pi / |x sin(pi x)|) - log(gamma(-x)); inf at integers."""
    a = abs(x.to_binary64())
    _, t = from_integer(a)
    sine = abs(sine_of_half_turns(t))
    reflected = LOG_PI - log(a * sine) - lgamma_positive(a, coarse=False)
    # a pole, as all numbers are whose lgamma overflows: there is no difference to take
    infinite = a.equals(INF) | sine.equals(0.0)
    result = select(a < TINY, -log(a), select(infinite, a.constant(INF), reflected))
    return result.to_format(x.format)


def lgamma(x: Lane) -> Lane:
    """log|gamma(x)|; inf at 0 and the negative integers."""
    positive = lgamma_positive(abs(x.to_binary64()), x.format is BINARY32)
    return rarely(x < 0.0, positive.to_format(x.format), lgamma_negative, x)


def digamma_positive(x: Lane, coarse: bool) -> Lane:
    """digamma(x) for x >= 0, -inf at 0; inf at -0."""
    series = coefficients.DIGAMMA_COARSE if coarse else coefficients.DIGAMMA
    far_series = coefficients.DIGAMMA_FAR_COARSE if coarse else coefficients.DIGAMMA_FAR
    far = x >= 5.0
    above, small, third, fourth = reduce_to_zeros(x)
    # digamma(x) = digamma(x - 2) + 1/(x - 2) + 1/(x - 1), and digamma(x + 1) - 1/x
    one = x.constant(1.0)
    top = select(fourth & ~far, fma(x, 2.0, -3.0), select(small, -one, one))
    bottom = select(fourth, (x - 1.0) * (x - 2.0), x - 1.0)
    bottom = select(small | far, x, bottom)
    quotient = top / bottom
    distance = (above - ZERO[0]) - ZERO[1]
    near = distance * split_polynomial(above - 1.0, series[64])
    near = select(small | third, near + quotient, near)
    square = quotient * quotient
    tail = fma(square, split_polynomial(square, far_series[64]), quotient * 0.5)
    return select(far, log(x) - tail, near)


def digamma_negative(x: Lane) -> Lane:
    """digamma(x) for x < 0, as digamma(1 - x) - pi cot(pi x); nan at integers."""
    wide = x.to_binary64()
    _, t = from_integer(wide)
    a = abs(t)
    # the cosine as a sine of what is left to a quarter turn, which is exact where it is small
    cotangent = sine_of_half_turns(0.5 - a) / sine_of_half_turns(a)
    positive = digamma_positive(1.0 - wide, coarse=False)
    result = fma(cotangent.with_sign_of(t), -math.pi, positive)
    return select(a.equals(0.0), wide.constant(NAN), result).to_format(x.format)


def digamma(x: Lane) -> Lane:
    """The derivative of lgamma: -inf at 0, inf at -0, nan at the negative integers."""
    positive = digamma_positive(x.to_binary64(), x.format is BINARY32)
    return rarely(x < 0.0, positive.to_format(x.format), digamma_negative, x)
