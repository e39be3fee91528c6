"""Argument reduction of the trigonometric functions: |x| = n pi/2 + r, for every finite x.

The idea is Payne and Hanek's (Radian reduction for trigonometric functions, SIGNUM Newsletter
18(1), 1983): if x is a multiple of 2**k, the part of 2/pi above 2**(2 - k) contributes whole turns
only and is dropped before it costs precision.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cache

from compiler.emit.vecmath.coefficients import TWO_OVER_PI, TWO_OVER_PI_BITS
from compiler.emit.vecmath.lane import (
    BINARY32,
    Bits,
    Lane,
    fast_two_sum,
    fma,
    select,
    two_product,
    two_sum,
)

HALF_PI = (1.5707963267948966, 6.123233995736766e-17)
# float32: from each 2**t on (up to the next) x is a multiple of 2**(t - 23).
FLOAT32_THRESHOLDS = (44, 65, 86, 107)
# float64: one row per 2**ROW_SHIFT binades.
ROW_SHIFT = 3
# Products with 2/pi would overflow or lose bits above this argument: both factors are rescaled.
RESCALE_EXPONENT = 513
RESCALE = 256


@dataclass(frozen=True)
class QuarterTurns:
    """|x| = n pi/2 + r + r_low; `n` holds the integer in its low bits."""

    n: Bits
    r: Lane
    r_low: Lane


def two_over_pi_words(lowest_bit: int, count: int) -> list[Fraction]:
    """What multiples of 2**lowest_bit need of 2/pi, as a sum of float64 numbers, largest first."""
    lost = max(lowest_bit, 0)
    turn = 4 << TWO_OVER_PI_BITS
    remainder = (TWO_OVER_PI << lost) % turn
    centred = remainder - turn if remainder > turn // 2 else remainder
    rest = Fraction(centred, 1 << TWO_OVER_PI_BITS)
    words = []
    for _ in range(count):
        words.append(Fraction(float(rest)) / (1 << lost))
        rest -= Fraction(float(rest))
    return words


@cache
def float64_tables() -> tuple[tuple[float, ...], ...]:
    """Three words of 2/pi for each row of exponents."""
    rows = []
    for row in range(1 << (11 - ROW_SHIFT)):
        lowest_exponent = (row << ROW_SHIFT) - 1023
        words = two_over_pi_words(lowest_exponent - 52, 3)
        factor = 1 << (RESCALE if lowest_exponent >= RESCALE_EXPONENT else 0)
        rows.append([float(word * factor) for word in words])
    return tuple(zip(*rows, strict=True))


def reduce_float32(a: Lane) -> QuarterTurns:
    """Reduce a >= 0 in float64 arithmetic, to 2**-58 quarter turns."""
    wide = a.to_binary64()
    high, low = (wide.constant(float(word)) for word in two_over_pi_words(0, 2))
    for exponent in FLOAT32_THRESHOLDS:
        beyond = a >= 2.0**exponent
        high_word, low_word = two_over_pi_words(exponent - 23, 2)
        high = select(beyond, wide.constant(float(high_word)), high)
        low = select(beyond, wide.constant(float(low_word)), low)
    turns, error = two_product(wide, high)
    shifted = turns + wide.format.round_shift
    fraction = (turns - (shifted - wide.format.round_shift)) + fma(wide, low, error)
    angle = fraction * HALF_PI[0]
    r = angle.to_format(BINARY32)
    return QuarterTurns(shifted.bits(), r, (angle - r.to_binary64()).to_format(BINARY32))


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


def reduce_quarter_turns(a: Lane) -> QuarterTurns:
    """Reduce a >= 0 to its quadrant and the rest; nan for inf and nan."""
    return reduce_float32(a) if a.format is BINARY32 else reduce_float64(a)
