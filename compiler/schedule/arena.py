"""The arena: one piece of memory for all values that live only within a call."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Sequence
from heapq import heappop, heappush

MOST_COMPARED = 2000  # pieces: half a second
ALIGNMENT = 64  # bytes: a cache line, and the widest vector


def arrange(pieces: Sequence[tuple[int, int, int]]) -> tuple[list[int], int]:
    """The offset in bytes of each piece, (bytes, first, last) of its life, and the arena's size.

    The largest piece first, each into the smallest gap between those that live at the same time
    (Pisarchyk, Lee 2020, "Efficient memory management for deep neural net inference", greedy by
    size). That compares each with each: very many are laid out in the order in which they begin.
    """
    lengths = [-(-max(length, 1) // ALIGNMENT) * ALIGNMENT for length, _, _ in pieces]
    if len(pieces) > MOST_COMPARED:
        return _in_turn(lengths, [(first, last) for _, first, last in pieces])
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


def _in_turn(lengths: Sequence[int], lives: Sequence[tuple[int, int]]) -> tuple[list[int], int]:
    """Each piece, in the order in which they begin, into the smallest gap that is free by then.

    As an allocator does: gaps are kept by length, and by both of their ends, to be merged.
    """
    offsets = [0] * len(lengths)
    gaps, top = _Gaps(), 0
    ends: list[tuple[int, int]] = []
    for i in sorted(range(len(lengths)), key=lambda i: (lives[i][0], -lengths[i], i)):
        first, last = lives[i]
        while ends and ends[0][0] < first:
            _, done = heappop(ends)
            gaps.add(offsets[done], offsets[done] + lengths[done])
        found = gaps.take(lengths[i])
        if found is None:
            found = gaps.take_last(top)
            top = found + lengths[i]
        offsets[i] = found
        heappush(ends, (last, i))
    return offsets, top


class _Gaps:
    """What is free below the top."""

    def __init__(self) -> None:
        self.by_length: list[tuple[int, int]] = []
        self.end_of: dict[int, int] = {}
        self.start_of: dict[int, int] = {}

    def add(self, start: int, end: int) -> None:
        """Free memory, merged with what is free beside it."""
        if start in self.start_of:
            start = self._remove(self.start_of[start])
        if end in self.end_of:
            beyond = self.end_of[end]
            self._remove(end)
            end = beyond
        self.end_of[start], self.start_of[end] = end, start
        insort(self.by_length, (end - start, start))

    def take(self, length: int) -> int | None:
        """Where so many bytes are free, in the smallest gap that has them."""
        at = bisect_left(self.by_length, (length, 0))
        if at == len(self.by_length):
            return None
        start = self.by_length[at][1]
        end = self.end_of[start]
        self._remove(start)
        if end - start > length:
            self.add(start + length, end)
        return start

    def take_last(self, top: int) -> int:
        """Where what is free below the top begins: a piece that is longer goes beyond the top."""
        return self._remove(self.start_of[top]) if top in self.start_of else top

    def _remove(self, start: int) -> int:
        end = self.end_of.pop(start)
        del self.start_of[end]
        del self.by_length[bisect_left(self.by_length, (end - start, start))]
        return start
