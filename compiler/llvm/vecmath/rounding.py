"""Functions that LLVM has as intrinsics or as a few instructions: exact, or almost so."""

from __future__ import annotations

from staticgraph.compiler.llvm.vecmath.lane import BINARY32, Lane, choose, fma, select

INF = float("inf")


def floor(x: Lane) -> Lane:
    """The largest integer not above x."""
    return x.call("llvm.floor")


def ceil(x: Lane) -> Lane:
    """The smallest integer not below x."""
    return x.call("llvm.ceil")


def trunc(x: Lane) -> Lane:
    """x without its fraction."""
    return x.call("llvm.trunc")


def rint(x: Lane) -> Lane:
    """The nearest integer, ties to even."""
    return x.call("llvm.roundeven")


def sqrt(x: Lane) -> Lane:
    """The square root; nan below 0."""
    return x.sqrt()


def rsqrt(x: Lane) -> Lane:
    """1 / sqrt(x)."""
    return 1.0 / x.sqrt()


def hypot(x: Lane, y: Lane) -> Lane:
    """sqrt(x^2 + y^2), which overflows only if the result does; inf if either is infinite."""
    a, b = x.to_binary64(), y.to_binary64()
    if x.format is BINARY32:
        length = fma(a, a, b * b).sqrt().to_format(BINARY32)
    else:
        a, b = abs(a), abs(b)
        longer, shorter = select(a > b, a, b), select(a > b, b, a)
        small, large = longer < 2.0**-400, longer > 2.0**500
        factor = select(large, a.constant(2.0**-600), choose(small, 2.0**600, 1.0, a))
        longer, shorter = longer * factor, shorter * factor
        length = fma(longer, longer, shorter * shorter).sqrt()
        length = length * select(large, a.constant(2.0**600), choose(small, 2.0**-600, 1.0, a))
    infinite = abs(x).equals(INF) | abs(y).equals(INF)
    return select(infinite, x.constant(INF), length)


def fabs(x: Lane) -> Lane:
    """|x|."""
    return abs(x)


def copysign(x: Lane, y: Lane) -> Lane:
    """|x| with the sign bit of y."""
    return x.with_sign_of(y)


def maximum(x: Lane, y: Lane) -> Lane:
    """The larger operand; nan if either is nan; 0 is above -0, so any order gives the same."""
    return x.call("llvm.maximum", y)


def minimum(x: Lane, y: Lane) -> Lane:
    """The smaller operand; nan if either is nan; -0 is below 0, so any order gives the same."""
    return x.call("llvm.minimum", y)


def fmod(x: Lane, y: Lane) -> Lane:
    """x - trunc(x/y) y, exact, with the sign of x: see `remainder`."""
    return x.truncated_remainder(y)


def remainder(x: Lane, y: Lane) -> Lane:
    """x - floor(x/y) y, exact, with the sign of y.

    Not vectorised by itself: the quotient may have 2000 bits, so each lane calls the C library's
    fmod; the rest of the loop is still vectorised.
    """
    rest = x.truncated_remainder(y)
    zero = x.constant(0.0)
    wrapped = select((rest < 0.0) ^ (y < 0.0), rest + y, rest)
    return select(rest.equals(0.0), zero.with_sign_of(y), wrapped)
