"""The arena: one piece of memory for all values that live only within a call."""

from __future__ import annotations

from bisect import insort
from collections.abc import Sequence

ALIGNMENT = 64  # bytes: a cache line, and the widest vector


def arrange(pieces: Sequence[tuple[int, int, int]]) -> tuple[list[int], int]:
    """The offset in bytes of each piece, (bytes, first, last) of its life, and the arena's size.

    The largest piece first, each into the smallest gap between those that live at the same time
    (Pisarchyk, Lee 2020, "Efficient memory management for deep neural net inference", greedy by
    size).
    """
    lengths = [-(-max(length, 1) // ALIGNMENT) * ALIGNMENT for length, _, _ in pieces]
    offsets = [0] * len(pieces)
    placed: list[tuple[int, int, int, int]] = []  # (offset, end, first, last), by offset
    for i in sorted(range(len(pieces)), key=lambda i: (-lengths[i], pieces[i][1], i)):
        _, first, last = pieces[i]
        beside = [(at, end) for at, end, begin, until in placed if begin <= last and first <= until]
        offsets[i] = _smallest_gap(beside, lengths[i])
        insort(placed, (offsets[i], offsets[i] + lengths[i], first, last))
    return offsets, max((end for _, end, _, _ in placed), default=0)


def _smallest_gap(taken: Sequence[tuple[int, int]], length: int) -> int:
    """Where `length` bytes fit best between pieces of memory, which are sorted by offset."""
    found: list[tuple[int, int]] = []
    free = 0
    for at, end in taken:
        if at - free >= length:
            found.append((at - free, free))
        free = max(free, end)
    return min(found)[1] if found else free
