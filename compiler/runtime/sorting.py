"""Sorting in place, which threads share: the same bits for any number of them."""

from __future__ import annotations

import numpy as np

from staticgraph.compiler.core.values import Array
from staticgraph.compiler.runtime import threads
from staticgraph.compiler.runtime.sharing import share


def sort(x: Array, axis: int) -> None:
    """Put the elements along an axis in order, zeros of both signs mixed, nan last.

    Those of a vector become the usual nan.
    """
    if x.ndim > 1:
        _sort_rows(np.moveaxis(x, axis, -1))
        return
    if x.dtype.kind not in "iuf":
        x.sort()
        return
    parts = _parts(x, threads.of_step())
    share(lambda number: parts[number].sort(), len(parts), multiplies=False)
    if len(x) and np.isnan(x[-1]):  # else their order would tell where the parts begin
        x[x.searchsorted(x.dtype.type(np.nan)) :] = np.nan


def _sort_rows(rows: Array) -> None:
    """Sort along the last axis; what of the longest other axis a thread has are neighbours."""
    longest = int(np.argmax(rows.shape[:-1]))
    parts = np.array_split(rows, min(threads.of_step(), rows.shape[longest]), longest)
    share(lambda number: parts[number].sort(-1), len(parts), multiplies=False)


def _parts(x: Array, count: int) -> list[Array]:
    """A vector in parts, none of whose elements is less than one of a part before."""
    left = [(x, count)]
    while max(several for _, several in left) > 1:
        cuts = [len(part) * (several // 2) // several for part, several in left]

        def divide(
            number: int, left: list[tuple[Array, int]] = left, cuts: list[int] = cuts
        ) -> None:
            if cuts[number]:
                left[number][0].partition(cuts[number])

        share(divide, len(left), multiplies=False)
        left = [
            half
            for (part, several), cut in zip(left, cuts, strict=True)
            for half in ((part[:cut], several // 2), (part[cut:], several - several // 2))
            if half[1]
        ]
    return [part for part, _ in left]
