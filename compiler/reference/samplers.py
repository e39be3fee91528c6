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


def _together(*operands: Any) -> tuple[tuple[int, ...], list[Any]]:
    """The shape that operands broadcast to, and their elements in a row."""
    shape = np.broadcast_shapes(*map(np.shape, operands))
    return shape, [np.broadcast_to(one, shape).ravel() for one in operands]


def random_below(span: Any, key: Any, counter: Any) -> Any:
    """Integers from 0 to before `span`."""
    shape, (span, key, counter) = _together(span, key, counter)
    top = (1 << 63) - 1
    result = np.zeros(span.shape, np.int64)
    left, attempt = np.flatnonzero(span > 0), 0
    while left.size:
        bits = _bits(key, counter, left, attempt) & top
        width = span[left]
        accepted = bits < top // width * width
        result[left[accepted]] = (bits % width)[accepted]
        left, attempt = left[~accepted], attempt + 1
    return result.reshape(shape)


def _bits(key: Any, counter: Any, elements: Any, attempt: int) -> Any:
    """The blocks of some elements for an attempt, by bits that counters of elements never have."""
    return threefry(key[elements], counter[elements] ^ attempt << 44)
