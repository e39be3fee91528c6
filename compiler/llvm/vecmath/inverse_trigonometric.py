"""asin, acos, atan and atan2: polynomials in the square of a reduced argument."""

from __future__ import annotations

from staticgraph.compiler.llvm.vecmath import coefficients
from staticgraph.compiler.llvm.vecmath.lane import Lane, Mask, choose, fma, polynomial, select

HALF_PI_HIGH = {32: 1.5707963705062866, 64: 1.5707963267948966}
HALF_PI_LOW = {32: -4.371139000186241e-08, 64: 6.123233995736766e-17}
INF = float("inf")


def arcsine_parts(a: Lane) -> tuple[Mask, Lane, Lane]:
    """Whether a > 1/2, and t + tail = asin(a), or asin(sqrt((1 - a)/2)) if it is; 0 <= a <= 1."""
    far = a > 0.5
    z = select(far, fma(a, -0.5, 0.5), a * a)
    t = select(far, z.sqrt(), a)
    return far, t, t * z * polynomial(z, coefficients.ASIN[a.format.bits])


def asin(x: Lane) -> Lane:
    """Arcsine in [-pi/2, pi/2]; nan beyond [-1, 1]."""
    bits = x.format.bits
    far, t, tail = arcsine_parts(abs(x))
    leading = fma(t, -2.0, HALF_PI_HIGH[bits])
    lost = fma(t, -2.0, HALF_PI_HIGH[bits] - leading)
    from_half_pi = leading + (lost - fma(tail, 2.0, -HALF_PI_LOW[bits]))
    return select(far, from_half_pi, t + tail).with_sign_of(x)


def acos(x: Lane) -> Lane:
    """Arccosine in [0, pi]; nan beyond [-1, 1]."""
    bits = x.format.bits
    far, t, tail = arcsine_parts(abs(x))
    negative = x < 0.0
    angle = t + tail
    near_pi = (HALF_PI_HIGH[bits] - (angle - HALF_PI_LOW[bits])) * 2.0
    signed_tail = select(negative, -tail, tail)
    near_half_pi = HALF_PI_HIGH[bits] - (x - (HALF_PI_LOW[bits] - signed_tail))
    return select(far, select(negative, near_pi, angle * 2.0), near_half_pi)


def polar_angle(y: Lane, x: Lane, left: Mask) -> Lane:
    """Angle in [0, pi] of the point (x, y) with x, y >= 0, mirrored where `left`.

    The angle is s atan(t) + q pi/4 with |t| <= 1/2, so that one sum remains.
    """
    bits = y.format.bits
    steep = y > x
    longer, shorter = select(steep, y, x), select(steep, x, y)
    middle = shorter > longer * 0.5
    t = select(middle, shorter - longer, shorter) / select(middle, shorter + longer, longer)
    eighths = choose(middle, 1.0, 0.0, y)
    eighths = select(steep, 2.0 - eighths, eighths)
    eighths = select(left, 4.0 - eighths, eighths)
    t = select(steep ^ left, -t, t)
    z = t * t
    leading = fma(eighths, HALF_PI_HIGH[bits] / 2, t)
    lost = fma(eighths, HALF_PI_HIGH[bits] / 2, -leading) + t
    tail = fma(t * z, polynomial(z, coefficients.ATAN[bits]), eighths * (HALF_PI_LOW[bits] / 2))
    return leading + (lost + tail)


def atan(x: Lane) -> Lane:
    """Arctangent in [-pi/2, pi/2]."""
    one = x.constant(1.0)
    return polar_angle(abs(x), one, one < 0.0).with_sign_of(x)


def atan2(y: Lane, x: Lane) -> Lane:
    """Angle of the point (x, y) in [-pi, pi]; signed zeros and infinities as in C."""
    form = x.format
    a, b = abs(y), abs(x)
    # The longer side is kept below the overflow of a sum, and no quotient is 0/0 or inf/inf.
    huge = (a > form.largest / 4) | (b > form.largest / 4)
    infinite = a.equals(INF) | b.equals(INF)
    a, b = (select(huge, side * form.epsilon, side) for side in (a, b))
    a, b = (select(infinite, choose(side.equals(INF), 1.0, 0.0, side), side) for side in (a, b))
    b = select(a.equals(0.0) & b.equals(0.0), b.constant(1.0), b)
    angle = polar_angle(a, b, x.constant(1.0).with_sign_of(x) < 0.0).with_sign_of(y)
    return select(x.unordered_with(y), x + y, angle)
