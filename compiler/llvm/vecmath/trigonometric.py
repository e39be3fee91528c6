"""sin, cos and tan: polynomials on |r| <= pi/4, after reduction by quarter turns."""

from __future__ import annotations

from staticgraph.compiler.llvm.vecmath import coefficients
from staticgraph.compiler.llvm.vecmath.lane import Bits, Lane, Mask, fma, polynomial, select
from staticgraph.compiler.llvm.vecmath.quarter_turns import (
    MODERATE,
    QuarterTurns,
    reduce_anywhere,
    reduce_moderate,
)
from staticgraph.compiler.llvm.vecmath.rare import rarely


def sine_reduced(turns: QuarterTurns) -> Lane:
    """sin(r + r_low) for |r| <= pi/4; -0 for -0."""
    r, z = turns.r, turns.r * turns.r
    tail = polynomial(z, [-c for c in coefficients.SIN[r.format.bits]])
    return r - fma(r, z * tail, fma(z * 0.5, turns.r_low, -turns.r_low))


def cosine_reduced(turns: QuarterTurns) -> Lane:
    """cos(r + r_low) for |r| <= pi/4."""
    r, z = turns.r, turns.r * turns.r
    tail = polynomial(z, coefficients.COS[r.format.bits])
    leading = fma(z, -0.5, 1.0)
    lost = fma(z, -0.5, 1.0 - leading)
    return leading + fma(z, z * tail, fma(-r, turns.r_low, lost))


def has_bit(n: Bits, bit: int) -> Mask:
    """True where the given bit of n is set."""
    return ~(n & (1 << bit)).equals(0)


def negate_where(n: Bits, value: Lane) -> Lane:
    """`value` with the other sign where bit 1 of n is set."""
    sign = (n & 2) << (value.format.bits - 2)
    return (value.bits() ^ sign).as_float()


def sine_of(turns: QuarterTurns) -> Lane:
    """sin(n pi/2 + r + r_low)."""
    odd = has_bit(turns.n, 0)
    return negate_where(turns.n, select(odd, cosine_reduced(turns), sine_reduced(turns)))


def cosine_of(turns: QuarterTurns) -> Lane:
    """cos(n pi/2 + r + r_low)."""
    odd = has_bit(turns.n, 0)
    return negate_where(turns.n + 1, select(odd, sine_reduced(turns), cosine_reduced(turns)))


def tangent_of(turns: QuarterTurns) -> Lane:
    """tan(n pi/2 + r + r_low)."""
    sine, cosine = sine_reduced(turns), cosine_reduced(turns)
    odd = has_bit(turns.n, 0)
    return select(odd, -cosine, sine) / select(odd, sine, cosine)


def sin_anywhere(x: Lane) -> Lane:
    """Sine of any angle."""
    return sine_of(reduce_anywhere(abs(x))) * x.constant(1.0).with_sign_of(x)


def cos_anywhere(x: Lane) -> Lane:
    """Cosine of any angle."""
    return cosine_of(reduce_anywhere(abs(x)))


def tan_anywhere(x: Lane) -> Lane:
    """Tangent of any angle."""
    return tangent_of(reduce_anywhere(abs(x))) * x.constant(1.0).with_sign_of(x)


def is_huge(x: Lane) -> Mask:
    """Whether an angle is more than `reduce_moderate` takes."""
    return abs(x) > MODERATE[x.format.bits]


def sin(x: Lane) -> Lane:
    """Sine of an angle in radians."""
    return rarely(is_huge(x), sine_of(reduce_moderate(x)), sin_anywhere, x)


def cos(x: Lane) -> Lane:
    """Cosine of an angle in radians."""
    return rarely(is_huge(x), cosine_of(reduce_moderate(x)), cos_anywhere, x)


def tan(x: Lane) -> Lane:
    """Tangent of an angle in radians."""
    return rarely(is_huge(x), tangent_of(reduce_moderate(x)), tan_anywhere, x)
