"""Sines of multiples of pi: the multiple is reduced exactly, so no argument is too large."""

from __future__ import annotations

import math

from staticgraph.compiler.llvm.vecmath import coefficients
from staticgraph.compiler.llvm.vecmath.lane import Lane, polynomial, select


def from_integer(x: Lane) -> tuple[Lane, Lane]:
    """The nearest integer, and what x exceeds it by; nan for inf."""
    whole = x.call("llvm.roundeven")
    return whole, x - whole


def cardinal_sine(t: Lane) -> Lane:
    """sin(pi t) / (pi t) for |t| <= 1/2."""
    return polynomial(t * t, coefficients.SINC[t.format.bits])


def sine_of_half_turns(t: Lane) -> Lane:
    """sin(pi t) for |t| <= 1/2."""
    return t * math.pi * cardinal_sine(t)


def sinc(x: Lane) -> Lane:
    """sin(pi x) / (pi x), 1 at 0."""
    whole, t = from_integer(x)
    half = whole * 0.5
    even = half.equals(half.call("llvm.trunc"))
    quotient = select(whole.equals(0.0), x.constant(1.0), t / x)
    value = quotient * cardinal_sine(t)
    return select(even, value, -value)
