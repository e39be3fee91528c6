"""Logarithms: x = 2**k m with m in [sqrt(1/2), sqrt(2)), and a series in s = f/(2 + f), f = m - 1.

The arrangement of the last sum follows FDLIBM's e_log.c and s_log1p.c (Sun Microsystems, 1993).
"""

from __future__ import annotations

from staticgraph.compiler.core.record import frozen
from staticgraph.compiler.llvm.vecmath import coefficients
from staticgraph.compiler.llvm.vecmath.exponential import LN2_HIGH, LN2_LOW, LOG2_E, exp
from staticgraph.compiler.llvm.vecmath.lane import (
    BINARY32,
    Lane,
    choose,
    fast_two_sum,
    fma,
    polynomial,
    select,
    two_product,
)

INF = float("inf")
NAN = float("nan")
TWO_THIRDS = (0.6666666666666666, 3.700743415417188e-17)
LOG10_2 = 0.3010299956639812
LOG10_E = (0.4342944819032518, 1.098319650216765e-17)


@frozen
class Decomposed:
    """x = 2**k (1 + f), with 1 + f in [sqrt(1/2), sqrt(2))."""

    k: Lane
    f: Lane


def decompose(x: Lane) -> Decomposed:
    """Split a positive normal number."""
    form = x.format
    one = form.bias << form.fraction
    root_half = x.constant(0.5**0.5).bits()
    shifted = x.bits() - root_half + one
    # The biased exponent is placed under 2**fraction, which makes it an integer-valued float.
    anchor = 2.0**form.fraction
    exponent = (shifted >> form.fraction) | x.constant(anchor).bits()
    mantissa = (shifted & ((1 << form.fraction) - 1)) + root_half
    return Decomposed(exponent.as_float() - (anchor + form.bias), mantissa.as_float() - 1.0)


def decompose_any(x: Lane) -> Decomposed:
    """Split a positive number that may be subnormal."""
    form = x.format
    subnormal = x < form.smallest_normal
    lift = form.fraction + 1
    parts = decompose(select(subnormal, x * 2.0**lift, x))
    return Decomposed(parts.k - choose(subnormal, float(lift), 0.0, x), parts.f)


def log_of_mantissa(f: Lane, extra: Lane) -> Lane:
    """f**2/2 - s (f**2/2 + R) - extra, to be subtracted from f for log(1 + f) + extra."""
    s = f / (f + 2.0)
    z = s * s
    ratio_tail = z * polynomial(z, coefficients.LOG[f.format.bits])
    half_square = f * 0.5 * f
    return half_square - fma(s, half_square + ratio_tail, extra)


def fix_domain(x: Lane, result: Lane) -> Lane:
    """`result` where 0 < x < inf; inf at inf, -inf at 0, nan below 0 and at nan."""
    result = select(x < INF, result, x)
    outside = choose(x.equals(0.0), -INF, NAN, x)
    return select(x > 0.0, result, outside)


def log(x: Lane) -> Lane:
    """Natural logarithm."""
    bits = x.format.bits
    parts = decompose_any(x)
    tail = log_of_mantissa(parts.f, parts.k * LN2_LOW[bits])
    return fix_domain(x, fma(parts.k, LN2_HIGH[bits], parts.f - tail))


def log2(x: Lane) -> Lane:
    """Binary logarithm; exact at powers of two."""
    parts = decompose_any(x)
    natural = parts.f - log_of_mantissa(parts.f, x.constant(0.0))
    return fix_domain(x, fma(natural, LOG2_E, parts.k))


def log_float64(a: Lane) -> tuple[Lane, Lane]:
    """log(a) for finite a > 0, as a sum with a relative error of about 2**-65."""
    parts = decompose_any(a)
    f = parts.f
    denominator = f + 2.0
    denominator_low = f - (denominator - 2.0)
    reciprocal = 1.0 / denominator
    s = f * reciprocal
    s_low = (fma(-s, denominator, f) - s * denominator_low) * reciprocal
    z, z_error = two_product(s, s)
    z_low = fma(s * 2.0, s_low, z_error)
    series = coefficients.LOG_TAIL[64]
    ratio, ratio_low = fast_two_sum(a.constant(TWO_THIRDS[0]), z * polynomial(z, series))
    ratio_low = ratio_low + TWO_THIRDS[1]
    cubic, cubic_error = two_product(z, ratio)
    cubic_low = fma(z, ratio_low, fma(z_low, ratio, cubic_error))
    factor, factor_low = fast_two_sum(a.constant(2.0), cubic)
    factor_low = factor_low + cubic_low
    mantissa, mantissa_error = two_product(s, factor)
    mantissa_low = fma(s, factor_low, fma(s_low, factor, mantissa_error))
    exponent, exponent_error = two_product(parts.k, LN2_HIGH[64])
    high, low = fast_two_sum(exponent, mantissa)
    return high, low + (mantissa_low + fma(parts.k, LN2_LOW[64], exponent_error))


def log10(x: Lane) -> Lane:
    """Decimal logarithm; exact at powers of ten."""
    if x.format is BINARY32:
        parts = decompose(x.to_binary64())
        s = parts.f / (parts.f + 2.0)
        log2 = fma(s, polynomial(s * s, coefficients.LOG2_COARSE[64]), parts.k)
        return fix_domain(x, (log2 * LOG10_2).to_format(BINARY32))
    log, log_low = log_float64(x)
    product, error = two_product(log, LOG10_E[0])
    return fix_domain(x, product + fma(log, LOG10_E[1], fma(log_low, LOG10_E[0], error)))


def log1p_inside(x: Lane) -> Lane:
    """log(1 + x) for finite x > -1 (the sign of -0 is lost)."""
    bits = x.format.bits
    u = x + 1.0
    parts = decompose(u)
    # What rounding took from u: exact, whichever of x and 1 is larger.
    lost = select(abs(x) < 1.0, x - (u - 1.0), 1.0 - (u - x))
    near = parts.k.equals(0.0)
    f = select(near, x, parts.f)
    correction = select(near, x.constant(0.0), lost / u)
    tail = log_of_mantissa(f, fma(parts.k, LN2_LOW[bits], correction))
    return fma(parts.k, LN2_HIGH[bits], f - tail)


def log1p(x: Lane) -> Lane:
    """log(1 + x), accurate near 0."""
    result = fix_domain(x + 1.0, log1p_inside(x))
    return select(abs(x) < x.format.epsilon / 4, x, result)


def logit(x: Lane) -> Lane:
    """log(x/(1 - x)), accurate near 1/2 too; nan outside of [0, 1]."""
    bits = x.format.bits
    odds = x / (1.0 - x)
    parts = decompose_any(odds)
    # near 1/2, where 2x - 1 is exact, odds - 1 is not lost to the rounding of the odds
    f = select(parts.k.equals(0.0), fma(x, 2.0, -1.0) / (1.0 - x), parts.f)
    tail = log_of_mantissa(f, parts.k * LN2_LOW[bits])
    return fix_domain(odds, fma(parts.k, LN2_HIGH[bits], f - tail))


def softplus(x: Lane) -> Lane:
    """log(1 + e**x), as max(x, 0) + log(1 + e) with e = exp(-|x|)."""
    bits = x.format.bits
    e = exp(-abs(x))
    upper = e > 2.0**0.5 - 1.0
    halved = fma(e, 0.5, -0.5)
    f = select(upper, halved, e)
    # What rounding took from `halved`, over 1 + f, which is near enough to 1/1.4 there.
    lost = fma(e, 0.5, -0.5 - halved) * 1.4
    tail = log_of_mantissa(f, select(upper, lost + LN2_LOW[bits], 0.0))
    return select(x > 0.0, x, 0.0) + (choose(upper, LN2_HIGH[bits], 0.0, x) + (f - tail))
