"""Random numbers of blocks of bits, with NumPy: what kernels compute, in the same steps.

Where numbers are drawn until one is accepted, all that are left are drawn together.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from staticgraph.compiler.reference.threefry import threefry

_WORD = 0xFFFFFFFF


def unit_float32(bits: Any) -> Any:
    """Numbers in [0, 1), multiples of 2**-23."""
    words = (bits ^ bits >> 32) >> 9 & 0x7FFFFF
    return words.astype(np.float32) * np.float32(2.0**-23)


def unit_float64(bits: Any) -> Any:
    """Numbers in [0, 1), multiples of 2**-52."""
    return (bits >> 12 & (1 << 52) - 1).astype(np.float64) * 2.0**-52


def scaled_bits(bits: Any, span: Any) -> Any:
    """The high part of the product of 64 bits and a number of at most 2**31."""
    return ((bits >> 32 & _WORD) * span + ((bits & _WORD) * span >> 32)) >> 32


def upper_product(bits: Any, span: Any) -> Any:
    """The upper half of the product of 64 bits and a number from 0 to before 2**63."""
    lower, upper = bits & _WORD, bits >> 32 & _WORD
    middle = upper * (span & _WORD) + (lower * (span & _WORD) >> 32 & _WORD)
    other = lower * (span >> 32) + (middle & _WORD)
    return upper * (span >> 32) + (middle >> 32 & _WORD) + (other >> 32)


def below_attempt(span: Any, key: Any, counter: Any) -> Any:
    """Integers from 0 to before `span`, -1 where the lower half of the product is below it."""
    width = np.maximum(span, 0)
    bits = threefry(key, counter)
    with np.errstate(over="ignore"):  # NumPy warns of scalars that wrap, and not of arrays
        low = np.asarray(bits * width).view(np.uint64)
    return np.where(low >= width.astype(np.uint64), upper_product(bits, width), -1)


def wide_attempt(span: Any, key: Any, counter: Any) -> Any:
    """The integers that one of the first three blocks gives, -1 where all are too many."""
    width = np.maximum(span, 1)
    wide = width.astype(np.uint64)
    found: Any = np.int64(-1)
    with np.errstate(over="ignore"):
        many = (np.uint64(0) - wide) % wide
        for number in reversed(range(3)):
            bits = threefry(key, counter ^ number << 44)
            accepted = np.asarray(bits).view(np.uint64) * wide >= many
            found = np.where(accepted, upper_product(bits, width), found)
    return found


def random_below(attempt: Any, span: Any, key: Any, counter: Any) -> Any:
    """The integers of which there were attempts: without the lower halves that are too many."""
    operands = np.broadcast_arrays(attempt, span, key, counter)
    result, width, keys, counters = (one.ravel() for one in operands)
    result, left, number = result.copy(), np.flatnonzero(result < 0), 0
    wide = np.maximum(width, 1).astype(np.uint64)
    many = (np.uint64(0) - wide) % wide
    while left.size:
        bits = threefry(keys[left], counters[left] ^ number << 44)
        found = upper_product(bits, np.maximum(width[left], 1))
        accepted = bits.view(np.uint64) * wide[left] >= many[left]
        result[left[accepted]] = found[accepted]
        left, number = left[~accepted], number + 1
    return result.reshape(operands[0].shape)
