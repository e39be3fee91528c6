"""Threefry 2x32-20 with NumPy: 64 random bits of a key and a counter, both int64.

Salmon, Moraes, Dror and Shaw, Parallel random numbers: as easy as 1, 2, 3, SC 2011. The high halves
of key, counter and result are the first of the two words.
"""

from __future__ import annotations

from typing import Any

import numpy as np

ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
"""By how many bits the rounds rotate, in groups of four after which the key is added."""
PARITY = 0x1BD11BDA
"""The third word of the key is this and both others, exclusively or'd."""

_WORD = 0xFFFFFFFF
_BLOCK = 1 << 14  # elements at a time, so that the temporaries stay in the cache
_FEW = 8  # up to so many Python's integers are faster


def threefry(key: Any, counter: Any) -> Any:
    """The random bits of keys and counters that broadcast: int64."""
    key, counter = np.asarray(key, np.int64), np.asarray(counter, np.int64)
    shape = np.broadcast_shapes(key.shape, counter.shape)
    keys, counters = (np.broadcast_to(one, shape).ravel() for one in (key, counter))
    if keys.size <= _FEW:
        pairs = zip(keys.tolist(), counters.tolist(), strict=True)
        blocks = [_block(*one) for one in pairs]
        return np.array(blocks, np.uint64).view(np.int64).reshape(shape)
    result = np.empty(keys.size, np.int64)
    for start in range(0, keys.size, _BLOCK):
        part = slice(start, start + _BLOCK)
        result[part] = _blocks(keys[part], counters[part])
    return result.reshape(shape)


def _block(key: int, counter: int) -> int:
    """One block, by Python's integers."""
    keys = [key >> 32 & _WORD, key & _WORD]
    keys.append(keys[0] ^ keys[1] ^ PARITY)
    left, right = (counter >> 32) + keys[0] & _WORD, counter + keys[1] & _WORD
    for group in range(5):
        for count in ROTATIONS[group % 2]:
            left = left + right & _WORD
            right = (right << count & _WORD | right >> 32 - count) ^ left
        left = left + keys[(group + 1) % 3] & _WORD
        right = right + keys[(group + 2) % 3] + group + 1 & _WORD
    return left << 32 | right


def _blocks(key: Any, counter: Any) -> Any:
    """Blocks, by arrays of words."""
    keys = [(key >> 32).astype(np.uint32), key.astype(np.uint32)]
    keys.append(keys[0] ^ keys[1] ^ np.uint32(PARITY))
    left = (counter >> 32).astype(np.uint32) + keys[0]
    right = counter.astype(np.uint32) + keys[1]
    for group in range(5):
        for count in ROTATIONS[group % 2]:
            left += right
            right = (right << np.uint32(count) | right >> np.uint32(32 - count)) ^ left
        left += keys[(group + 1) % 3]
        right += keys[(group + 2) % 3] + np.uint32(group + 1)
    return left.astype(np.int64) << 32 | right
