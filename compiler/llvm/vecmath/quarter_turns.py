"""Argument reduction of the trigonometric functions: x = n pi/2 + r, for every finite x.

Moderate arguments take Cody and Waite's way (Software Manual for the Elementary Functions, 1980,
ch. 8), with exact products. For all others the idea is Payne and Hanek's (Radian reduction for
trigonometric functions, SIGNUM Newsletter 18(1), 1983): if |x| is a multiple of 2**k, the part of
2/pi above 2**(2 - k) contributes whole turns only and is dropped before it costs precision.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache

from staticgraph.compiler.core.record import frozen
from staticgraph.compiler.llvm.vecmath.coefficients import TWO_OVER_PI, TWO_OVER_PI_BITS
from staticgraph.compiler.llvm.vecmath.lane import (
    BINARY32,
    Bits,
    Lane,
    fast_two_sum,
    fma,
    select,
    two_product,
    two_sum,
)

# Multiples of a part with 8 or 33 digits are exact below 2**16 or 2**20 quarter turns.
HALF_PI_DIGITS = {32: (24, 8, 8, 24), 64: (53, 33, 53)}
MODERATE = {32: 1e5, 64: 1.6e6}
HALF_PI = (1.5707963267948966, 6.123233995736766e-17)
# float32: from each 2**t on (up to the next) x is a multiple of 2**(t - 23).
FLOAT32_THRESHOLDS = (44, 65, 86, 107)
# float64: one row per 2**ROW_SHIFT binades.
ROW_SHIFT = 3
# Products with 2/pi would overflow or lose bits above this argument: both factors are rescaled.
RESCALE_EXPONENT = 513
RESCALE = 256


@frozen
class QuarterTurns:
    """x = n pi/2 + r + r_low; `n` holds the integer in its low bits."""

    n: Bits
    r: Lane
    r_low: Lane


def two_over_pi_words(lowest_bit: int, count: int, exponent: int = 0) -> list[float]:
    """What multiples of 2**lowest_bit need of 2/pi times 2**exponent, as a sum of float64 numbers,
    largest first.
    """
    lost, turn, unit = max(lowest_bit, 0), 4 << TWO_OVER_PI_BITS, 1 << TWO_OVER_PI_BITS
    remainder = (TWO_OVER_PI << lost) % turn
    rest = remainder - turn if remainder > turn // 2 else remainder
    words = []
    for _ in range(count):
        word = rest / unit  # rounded once, as ints are divided
        words.append(math.ldexp(word, exponent - lost))
        numerator, denominator = word.as_integer_ratio()
        rest -= numerator * unit // denominator
    return words


@cache
def float64_tables() -> tuple[tuple[float, ...], ...]:
    """Three words of 2/pi for each row of exponents."""
    rows = []
    for row in range(1 << (11 - ROW_SHIFT)):
        lowest_exponent = (row << ROW_SHIFT) - 1023
        scale = RESCALE if lowest_exponent >= RESCALE_EXPONENT else 0
        rows.append(two_over_pi_words(lowest_exponent - 52, 3, scale))
    return tuple(zip(*rows, strict=True))


def reduce_float32(a: Lane) -> QuarterTurns:
    """Reduce a >= 0 in float64 arithmetic, to 2**-58 quarter turns."""
    wide = a.to_binary64()
    high, low = map(wide.constant, two_over_pi_words(0, 2))
    for exponent in FLOAT32_THRESHOLDS:
        beyond = a >= 2.0**exponent
        high_word, low_word = two_over_pi_words(exponent - 23, 2)
        high = select(beyond, wide.constant(high_word), high)
        low = select(beyond, wide.constant(low_word), low)
    turns, error = two_product(wide, high)
    shifted = turns + wide.format.round_shift
    fraction = (turns - (shifted - wide.format.round_shift)) + fma(wide, low, error)
    angle = fraction * HALF_PI[0]
    r = angle.to_format(BINARY32)
    n = shifted.bits().narrowed(BINARY32)
    return QuarterTurns(n, r, (angle - r.to_binary64()).to_format(BINARY32))


def reduce_float64(a: Lane) -> QuarterTurns:
    """Reduce a >= 0, to 2**-98 quarter turns."""
    row = a.bits() >> (52 + ROW_SHIFT)
    first, second, third = (
        row.lookup(f"vecmath.two_over_pi.{i}", table) for i, table in enumerate(float64_tables())
    )
    a = select(a >= 2.0**RESCALE_EXPONENT, a * 2.0**-RESCALE, a)
    leading, leading_error = two_product(a, first)
    middle, middle_error = two_product(a, second)
    whole_turns_dropped = fma((leading * 0.25).call("llvm.roundeven"), -4.0, leading)
    small, small_error = two_sum(leading_error, middle)
    turns, error = two_sum(whole_turns_dropped, small)
    shifted = turns + a.format.round_shift
    fraction = turns - (shifted - a.format.round_shift)
    rest = error + (small_error + fma(a, third, middle_error))
    fraction, fraction_low = fast_two_sum(fraction, rest)
    r, r_error = two_product(fraction, HALF_PI[0])
    r_low = fma(fraction, HALF_PI[1], fma(fraction_low, HALF_PI[0], r_error))
    return QuarterTurns(shifted.bits(), r, r_low)


def reduce_anywhere(a: Lane) -> QuarterTurns:
    """Reduce a >= 0 to its quadrant and the rest; nan for inf and nan."""
    return reduce_float32(a) if a.format is BINARY32 else reduce_float64(a)


@cache
def half_pi_parts(bits: int) -> tuple[float, ...]:
    """pi/2 as a sum of positive numbers with as many digits as HALF_PI_DIGITS says."""
    rest, parts = Fraction(1 << TWO_OVER_PI_BITS, TWO_OVER_PI), []
    for digits in HALF_PI_DIGITS[bits]:
        unit = Fraction(2) ** (math.frexp(rest)[1] - digits)
        parts.append(float(rest // unit * unit))
        rest %= unit
    return tuple(parts)


def reduce_moderate(x: Lane) -> QuarterTurns:
    """Reduce |x| < MODERATE in either sign by subtracting n times the parts of pi/2; -0 is kept.

    Everything is exact up to the last part, however close x is to a multiple of pi/2: x less n
    times the first part is a float, n times a short part is one too, and so is the rest of a
    difference, a multiple of the last digit of such a product.
    """
    first, second, *others, last = half_pi_parts(x.format.bits)
    shift = x.format.round_shift
    shifted = fma(x, 2.0 / math.pi, shift)
    n = shifted - shift
    exact = fma(-n, first, x)
    r = fma(-n, second, exact)
    taken = fma(n, second, r - exact)
    for part in others:
        taken = fma(n, part, taken)
        less = r - taken
        taken = taken - (r - less)
        r = less
    return QuarterTurns(shifted.bits(), r, -fma(n, last, taken))
