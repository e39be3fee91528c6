"""asinh, acosh and atanh, by log(1 + u) with a u that has no cancellation."""

from __future__ import annotations

from staticgraph.compiler.llvm.vecmath.exponential import LN2_HIGH
from staticgraph.compiler.llvm.vecmath.lane import Lane, choose, fma, select
from staticgraph.compiler.llvm.vecmath.logarithm import log1p

# From these arguments on, whose squares do not overflow, u is 2x - 1 up to rounding.
LARGE = {32: 2.0**30, 64: 2.0**60}


def asinh(x: Lane) -> Lane:
    """Inverse hyperbolic sine: u = a + a^2/(1 + sqrt(1 + a^2))."""
    a = abs(x)
    square = a * a
    u = a + square / ((square + 1.0).sqrt() + 1.0)
    return halved_where_large(a, u).with_sign_of(x)


def acosh(x: Lane) -> Lane:
    """Inverse hyperbolic cosine: u = t + sqrt(t (t + 2)) with t = x - 1; nan below 1."""
    t = x - 1.0
    u = t + fma(t, t, t * 2.0).sqrt()
    return select(x < 1.0, x.constant(float("nan")), halved_where_large(x, u))


def halved_where_large(a: Lane, u: Lane) -> Lane:
    """log(1 + u), or log(2a) where a is large."""
    large = a > LARGE[a.format.bits]
    return log1p(select(large, a, u)) + choose(large, LN2_HIGH[a.format.bits], 0.0, a)


def atanh(x: Lane) -> Lane:
    """Inverse hyperbolic tangent: half of log(1 + u) with u = 2a/(1 - a); nan beyond [-1, 1]."""
    a = abs(x)
    return (log1p(a * 2.0 / (1.0 - a)) * 0.5).with_sign_of(x)
