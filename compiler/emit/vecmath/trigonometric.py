"""sin, cos and tan: polynomials on |r| <= pi/4, after reduction by quarter turns."""

from __future__ import annotations

from compiler.emit.vecmath import coefficients
from compiler.emit.vecmath.lane import Bits, Lane, Mask, fma, polynomial, select
from compiler.emit.vecmath.quarter_turns import QuarterTurns, reduce_quarter_turns


def sine_reduced(turns: QuarterTurns) -> Lane:
    """sin(r + r_low) for |r| <= pi/4."""
    r, z = turns.r, turns.r * turns.r
    tail = polynomial(z, coefficients.SIN[r.format.bits])
    return r + fma(r * z, tail, fma(z * -0.5, turns.r_low, turns.r_low))


def cosine_reduced(turns: QuarterTurns) -> Lane:
    """cos(r + r_low) for |r| <= pi/4."""
    r, z = turns.r, turns.r * turns.r
    tail = polynomial(z, coefficients.COS[r.format.bits])
    leading = fma(z, -0.5, 1.0)
    lost = fma(z, -0.5, 1.0 - leading)
    return leading + fma(z * z, tail, fma(-r, turns.r_low, lost))


def has_bit(n: Bits, bit: int) -> Mask:
    """True where the given bit of n is set."""
    return ~(n & (1 << bit)).equals(0)


def sin(x: Lane) -> Lane:
    """Sine of an angle in radians."""
    a = abs(x)
    turns = reduce_quarter_turns(a)
    result = select(has_bit(turns.n, 0), cosine_reduced(turns), sine_reduced(turns))
    result = select(has_bit(turns.n, 1), -result, result)
    result = result * x.constant(1.0).with_sign_of(x)
    return select(a < x.format.epsilon / 4, x, result)


def cos(x: Lane) -> Lane:
    """Cosine of an angle in radians."""
    turns = reduce_quarter_turns(abs(x))
    result = select(has_bit(turns.n, 0), sine_reduced(turns), cosine_reduced(turns))
    return select(has_bit(turns.n + 1, 1), -result, result)


def tan(x: Lane) -> Lane:
    """Tangent of an angle in radians."""
    a = abs(x)
    turns = reduce_quarter_turns(a)
    sine, cosine = sine_reduced(turns), cosine_reduced(turns)
    odd = has_bit(turns.n, 0)
    result = select(odd, -cosine, sine) / select(odd, sine, cosine)
    result = result * x.constant(1.0).with_sign_of(x)
    return select(a < x.format.epsilon / 4, x, result)
