"""Where the windows of pooling begin and end along each axis."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import prod
from typing import TypeAlias

import numpy as np

Bounds: TypeAlias = Sequence[tuple[int, int, int]]
"""Of each window along an axis its first element, the end, and by how many the sum is divided."""

KEPT = 1024


class Windows:
    """The windows of an image over up to three axes; equal ones are one object.

    Attributes:
        sizes: the sizes of the image, as they were given.
        counts: the numbers of windows along these axes.
        axes: their bounds, and the distance of neighbours in a window, per axis.
        size: the elements of the image.
        count: its windows.
        rows: those of them that begin a row of windows.
        volume: the elements of the largest window.
        numbers: what a loop is told: the address of the bounds, then of three axes each the sizes,
            the numbers of windows, and the distances.
    """

    __slots__ = ("_table", "axes", "count", "counts", "numbers", "rows", "size", "sizes", "volume")

    def __init__(self, sizes: Sequence[int], axes: Sequence[tuple[Bounds, int]]) -> None:
        self.sizes, self.axes = tuple(sizes), tuple(axes)
        self.counts = tuple([len(bounds) for bounds, _ in axes])
        self.size, self.count = prod(sizes), prod(self.counts)
        self.rows = prod(self.counts[:-1])
        self.volume = prod([max(b - a for a, b, _ in bounds) // step + 1 for bounds, step in axes])
        whole = 3 - len(sizes)
        every = [*[(((0, 1, 1),), 1)] * whole, *axes]
        self._table = np.array([one for bounds, _ in every for one in bounds], np.int64)
        ones = (1,) * whole
        self.numbers = (
            self._table.ctypes.data, *ones, *self.sizes, *ones, *self.counts,
            *[step for _, step in every],
        )  # fmt: skip


@lru_cache(KEPT)
def sliding(
    sizes: Sequence[int], size: Sequence[int], step: Sequence[int], edge: Sequence[int],
    spread: Sequence[int], counts: Sequence[int], padded: bool = True, divisor: int | None = None,
) -> Windows | None:  # fmt: skip
    """Windows of one size at equal distances; None if one of them has no element of the image.

    Args:
        sizes: of the image.
        size: of the windows; the other options are those of pooling.
        counts: the numbers of windows.
        padded: whether elements of the padding count in means.
        divisor: what sums are divided by, if not by the numbers of elements.
    """
    axes = []
    for axis, (have, k, s, p, d, count) in enumerate(
        zip(sizes, size, step, edge, spread, counts, strict=True)
    ):
        bounds = []
        for start in range(-p, count * s - p, s):
            first, stop = start % d if start < 0 else start, min(start + d * (k - 1) + 1, have)
            if first >= stop:
                return None
            counted = min(start + k, have + p) - start if padded else stop - first
            if divisor is not None:
                counted = 1 if axis else divisor
            bounds.append((first, stop, counted))
        axes.append((tuple(bounds), d))
    return Windows(sizes, axes)


@lru_cache(KEPT)
def adaptive(sizes: Sequence[int], counts: Sequence[int]) -> Windows:
    """As many windows along each axis as wanted, which cover it."""
    axes = []
    for have, count in zip(sizes, counts, strict=True):
        ends = [(i * have // count, -(-(i + 1) * have // count)) for i in range(count)]
        axes.append((tuple([(start, stop, stop - start) for start, stop in ends]), 1))
    return Windows(sizes, axes)
