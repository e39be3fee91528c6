"""exp and the functions built on it: x = n ln2 + r with |r| <= ln2/2, and a polynomial in r.

The reduction is Cody and Waite's (Software Manual for the Elementary Functions, 1980, ch. 6), with
n * LN2_HIGH exact under fma.
"""

from __future__ import annotations

from staticgraph.compiler.core.record import frozen
from staticgraph.compiler.llvm.vecmath import coefficients
from staticgraph.compiler.llvm.vecmath.lane import Bits, Lane, fast_two_sum, fma, polynomial, select

LOG2_E = 1.4426950408889634
LN2_HIGH = {32: 0.6931471824645996, 64: 0.6931471805599453}
LN2_LOW = {32: -1.9046542121259336e-9, 64: 2.3190468138462996e-17}
# Beyond these arguments exp overflows, or is less than half the smallest subnormal number.
EXP_RANGE = {32: (-104.0, 89.0), 64: (-746.0, 710.0)}
EXP2_RANGE = {32: (-151.0, 129.0), 64: (-1076.0, 1025.0)}
# Beyond these arguments sinh and cosh overflow.
HALF_EXP_LIMIT = {32: 89.5, 64: 710.6}
# Beyond these arguments exp(-x) is lost in 1 - exp(-x).
SATURATION = {32: 20.0, 64: 44.0}


@frozen
class Reduced:
    """x = n ln2 + r + r_low, with n in the low bits of `shifted`."""

    n: Lane
    shifted: Bits
    r: Lane
    r_low: Lane


def clamp(x: Lane, low: float, high: float) -> Lane:
    """x limited to [low, high]; nan stays nan."""
    x = select(x < low, x.constant(low), x)
    return select(x > high, x.constant(high), x)


def reduce_by_ln2(x: Lane) -> Reduced:
    """Split |x| < 2**20 into a multiple of ln2 and a remainder."""
    shift = x.format.round_shift
    shifted = fma(x, LOG2_E, shift)
    n = shifted - shift
    low = LN2_LOW[x.format.bits]
    exact = fma(-n, LN2_HIGH[x.format.bits], x)
    r = fma(-n, low, exact)
    return Reduced(n, shifted.bits(), r, fma(-n, low, exact - r))


def power_of_two(shifted: Bits, offset: int = 0) -> Lane:
    """2**(n + offset) for n in the low bits of `shifted`; the result must be a normal number."""
    form = shifted.format
    bias = form.bias + offset - form.round_shift_bits
    return ((shifted + bias) << form.fraction).as_float()


def scale(value: Lane, shifted: Bits) -> Lane:
    """value * 2**n, rounded once, where the result may be subnormal or overflow."""
    form = value.format
    doubled_bias = shifted + (2 * form.bias - form.round_shift_bits)
    half = doubled_bias >> 1
    first = (half << form.fraction).as_float()
    second = ((doubled_bias - half) << form.fraction).as_float()
    return value * first * second


def exp_reduced(r: Lane) -> Lane:
    """e**r for |r| <= ln2/2."""
    tail = polynomial(r, coefficients.EXP[r.format.bits])
    return fma(fma(r, tail, 1.0), r, 1.0)


def exp_sum(r: Lane, low: Lane) -> Lane:
    """e**(r + low) for |r| <= ln2/2 and a tiny `low`, almost correctly rounded."""
    leading, lost = fast_two_sum(r.constant(1.0), r)
    tail = fma(r * r, polynomial(r, coefficients.EXP[r.format.bits]), lost)
    return leading + fma(leading + tail, low, tail)


def exp(x: Lane) -> Lane:
    """e**x."""
    reduced = reduce_by_ln2(clamp(x, *EXP_RANGE[x.format.bits]))
    return scale(exp_reduced(reduced.r), reduced.shifted)


def exp2(x: Lane) -> Lane:
    """2**x; exact at integers."""
    x = clamp(x, *EXP2_RANGE[x.format.bits])
    shifted = x + x.format.round_shift
    r = (x - (shifted - x.format.round_shift)) * LN2_HIGH[x.format.bits]
    return scale(exp_reduced(r), shifted.bits())


def half_exp(x: Lane) -> Lane:
    """e**x / 2 for x >= 0: overflows only where sinh and cosh do."""
    high = HALF_EXP_LIMIT[x.format.bits]
    reduced = reduce_by_ln2(select(x > high, x.constant(high), x))
    return exp_reduced(reduced.r) * 2.0 * power_of_two(reduced.shifted, -2)


def sinh(x: Lane) -> Lane:
    """Hyperbolic sine."""
    a = abs(x)
    e = half_exp(a)
    z = x * x
    near = fma(x * z, polynomial(z, coefficients.SINH[x.format.bits]), x)
    return select(a < 1.0, near, (e - 0.25 / e).with_sign_of(x))


def cosh(x: Lane) -> Lane:
    """Hyperbolic cosine."""
    e = half_exp(abs(x))
    return e + 0.25 / e


def half_expm1(x: Lane) -> Lane:
    """(e**x - 1) / 2 for x between minus the saturation bound and the overflow bound."""
    reduced = reduce_by_ln2(x)
    r = reduced.r
    half_power = power_of_two(reduced.shifted, -1)
    tail = polynomial(r, coefficients.EXP[r.format.bits])
    small = fma(r * r, tail, reduced.r_low)
    base = half_power - 0.5
    leading = fma(half_power, r, base)
    lost = fma(half_power, r, base - leading)
    return leading + fma(half_power, small, lost)


def expm1(x: Lane) -> Lane:
    """e**x - 1, accurate near 0."""
    bits = x.format.bits
    result = half_expm1(clamp(x, -SATURATION[bits], EXP_RANGE[bits][1])) * 2.0
    return select(abs(x) < x.format.epsilon / 4, x, result)


def sigmoid(x: Lane) -> Lane:
    """1 / (1 + e**-x), without overflow and with subnormal results."""
    e = exp(-abs(x))
    quotient = e / (e + 1.0)
    # e - e q is the quotient again, with its two roundings scaled down by e.
    return select(x < 0.0, fma(-e, quotient, e), 1.0 - quotient)


def tanh(x: Lane) -> Lane:
    """Hyperbolic tangent: with h = (e**(2|x|) - 1)/2 it is h/(h + 1), or 1 - 1/(h + 1) if large."""
    a = abs(x)
    bound = SATURATION[x.format.bits]
    h = half_expm1(select(a > bound / 2, a.constant(bound), a * 2.0))
    large = a > 0.55
    top = select(large, h.constant(1.0), h)
    quotient = top / (h + 1.0)
    # h - h q is the quotient h/(h + 1) again, with its two roundings scaled down by h.
    result = fma(-top, quotient, top)
    return select(a < x.format.epsilon / 4, x, result.with_sign_of(x))
