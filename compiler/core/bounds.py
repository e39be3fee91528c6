"""Where the windows of pooling begin and end along each axis."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from math import prod
from typing import TypeAlias

import numpy as np

from staticgraph.compiler.core.record import frozen

Bounds: TypeAlias = Sequence[tuple[int, int, int]]
"""Of each window along an axis its first element, the end, and by how many the sum is divided."""

KEPT = 1024
MOST_WRITTEN = 16
"""The elements of windows that have a loop of their own."""


@frozen
class Even:
    """The size of windows over three axes, and the distance of neighbours along the last one.

    Attributes:
        apart: whether no element is in two windows.
    """

    size: tuple[int, int, int]
    step: int
    apart: bool


class Windows:
    """The windows of an image over up to three axes; equal ones are one object.

    Attributes:
        sizes: the sizes of the image, as they were given.
        counts: the numbers of windows along these axes.
        axes: their bounds, and the distance of neighbours in a window, per axis.
        size: the elements of the image.
        count: its windows.
        rows: those of them that begin a row of windows.
        work: the elements of all windows, if the largest of them were all.
        even: what a loop over windows of one size knows; None if windows have none, or a large one.
        numbers: what a loop is told: the address of the bounds, then of three axes each the sizes,
            the numbers of windows, and the distances; the first window along the last axis that
            has all elements, and the number of such windows.
    """

    __slots__ = (
        "_table", "axes", "count", "counts", "even", "numbers", "rows", "size", "sizes", "work",
    )  # fmt: skip

    def __init__(
        self, sizes: Sequence[int], axes: Sequence[tuple[Bounds, int]], step: int = 0
    ) -> None:
        """`step` is the distance of windows along the last axis if they all have one size."""
        self.sizes, self.axes = tuple(sizes), tuple(axes)
        self.counts = tuple([len(bounds) for bounds, _ in axes])
        self.size, self.count = prod(sizes), prod(self.counts)
        self.rows = prod(self.counts[:-1])
        whole = 3 - len(sizes)
        every = [*[(((0, 1, 1),), 1)] * whole, *axes]
        most = [max(stop - start for start, stop, _ in bounds) for bounds, _ in every]
        volume = prod(most)
        self.work = self.count * volume
        self._table = np.array([one for bounds, _ in every for one in bounds], np.int64)
        ones = (1,) * whole
        self.even: Even | None = None
        begin = number = 0
        if step and volume <= MOST_WRITTEN and all(gap == 1 for _, gap in axes):
            apart = not any(
                one[1] > after[0] for bounds, _ in axes for one, after in pairwise(bounds)
            )
            self.even = Even((most[0], most[1], most[2]), step, apart)
            begin, number = _evenly(axes[-1][0], most[2], step)
        self.numbers = (
            self._table.ctypes.data, *ones, *self.sizes, *ones, *self.counts,
            *[gap for _, gap in every], begin, number,
        )  # fmt: skip


def _evenly(bounds: Bounds, length: int, step: int) -> tuple[int, int]:
    """The first window of a length, and how many from it on begin `step` apart and count alike.

    Of an axis shorter than the windows, several have all its elements and begin where it does.
    """
    begin = next(i for i, one in enumerate(bounds) if one[1] - one[0] == length)
    start, _, counted = bounds[begin]
    number = 1
    for first, stop, divisor in bounds[begin + 1 :]:
        at = start + number * step
        if (first, stop, divisor) != (at, at + length, counted):
            break
        number += 1
    return begin, number


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
    return Windows(sizes, axes, step[-1])


@lru_cache(KEPT)
def adaptive(sizes: Sequence[int], counts: Sequence[int]) -> Windows:
    """As many windows along each axis as wanted, which cover it."""
    axes = []
    for have, count in zip(sizes, counts, strict=True):
        ends = [(i * have // count, -(-(i + 1) * have // count)) for i in range(count)]
        axes.append((tuple([(start, stop, stop - start) for start, stop in ends]), 1))
    return Windows(sizes, axes)
