"""Rows of two values each: how far they are apart, and inside loops in which iteration."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple, TypeAlias

import numpy as np

from staticgraph.compiler.core.types import type_of
from staticgraph.compiler.core.values import Array
from staticgraph.differences.distance import distance, gaps, other_signs
from staticgraph.differences.loops import Inside
from staticgraph.differences.records import At, Row

Far: TypeAlias = "Callable[[Row], bool]"
"""Whether a value is too far apart."""


class Both(NamedTuple):
    """A value in both paradigms; `explained` is how far apart rounding may take it.

    Inside loops that has an element per iteration.
    """

    eager: Array
    compiled: Array
    explained: Array


def row_of(title: str, name: str | None, source: str, both: Both) -> Row:
    """What is said of a value."""
    found, explained = distance(both.eager, both.compiled), float(both.explained)
    share = float(_shares(np.asarray(found.gap), np.asarray(explained)))
    types = str(type_of(both.eager)), str(type_of(both.compiled))
    return Row(title, name, source, types, found.equal, found.ulp, share, found.where, found.values)


def numbered(rows: Iterable[Row]) -> tuple[Row, ...]:
    """Those of the same op, name and line, such as of an unrolled loop, with which each is."""
    found = list(rows)
    alike = [(row.op, row.name, row.source, tuple([at.loop for at in row.inside])) for row in found]
    counts, seen = Counter(alike), Counter[object]()
    for i, key in enumerate(alike):
        if counts[key] > 1:
            seen[key] += 1
            found[i] = replace(found[i], nth=f"{_ordinal(seen[key])} of {counts[key]}")
    return tuple(found)


def _ordinal(number: int) -> str:
    teen = number // 10 % 10 == 1
    ending = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{'th' if teen else ending}"


def _shares(apart: Array, explained: Array) -> Array:
    """Distances as shares of what rounding explains."""
    with np.errstate(all="ignore"):
        found = np.where(apart == np.inf, np.inf, apart / explained)
    found = np.where(explained == 0, np.where(apart == 0, 0.0, np.inf), found)
    # rounding decides whether it is finite
    return np.where((apart == np.inf) & (explained == np.inf), 0.0, found)


class Within:
    """The row of a value inside loops, found a few iterations of the outermost loop at a time.

    Attributes:
        row: of the first iteration that is too far apart, else of the one that is most apart; None
            before any.
    """

    def __init__(self, inside: Inside, far: Far) -> None:
        self.row: Row | None = None
        self._inside, self._far = inside, far
        self._is_done = False

    def add(self, both: Both, taken: Array, before: int = 0, length: int | None = None) -> None:
        """Look at more iterations.

        Args:
            both: the values in them, with an axis for each loop.
            taken: in which of them the value is computed.
            before, length: of the outermost loop, how many steps were looked at before, and how
                many there are; None if these are all.
        """
        axes = len(self._inside.loops)
        lengths = both.explained.shape[:axes]
        chosen = np.broadcast_to(taken.reshape((*taken.shape, *[1] * (axes - taken.ndim))), lengths)
        if self._is_done or not chosen.any():
            return
        reverse = [loop.reverse for loop in self._inside.loops]
        for steps in _candidates(both, chosen, reverse):
            here = _indices(steps, lengths, reverse)
            row = self._row_of(Both(*(one[here] for one in both)))
            if self.row is not None and (row.share, row.ulp) <= (self.row.share, self.row.ulp):
                continue
            if steps and length is not None:
                steps = (steps[0] + before, *steps[1:])
                here = _indices(steps, (length, *lengths[1:]), reverse)
            places = zip(self._inside.loops, here, steps, strict=True)
            self.row = replace(row, inside=tuple(At(str(x), i, step) for x, i, step in places))
            if self._far(row):
                self._is_done = True
                return

    def _row_of(self, both: Both) -> Row:
        node = self._inside.node
        return row_of(node.op.name, node.name, node.source, both)


def _indices(
    steps: Sequence[int], lengths: Sequence[int], reverse: Sequence[bool]
) -> tuple[int, ...]:
    """Which slices of loops belong to steps."""
    each = zip(steps, lengths, reverse, strict=True)
    return tuple(length - 1 - step if last else step for step, length, last in each)


def _candidates(both: Both, chosen: Array, reverse: Sequence[bool]) -> list[tuple[int, ...]]:
    """The steps, in order, in which a value is farther apart than in all before."""
    axes = chosen.ndim
    if both.eager.dtype != both.compiled.dtype or both.eager.shape != both.compiled.shape:
        shares = np.full(chosen.shape, np.inf)
    else:
        rest = tuple(range(axes, both.eager.ndim))
        apart = np.asarray(np.max(gaps(both.eager, both.compiled), axis=rest, initial=0.0))
        differ = (apart > 0) | np.any(other_signs(both.eager, both.compiled), axis=rest)
        shares = _shares(apart, both.explained)
        # what is not equal, though by nothing, comes before what is
        shares = np.where((shares == 0) & differ, np.finfo(float).tiny, shares)
    shares = np.where(chosen, shares, -1.0)
    ordered = np.flip(shares, tuple(np.flatnonzero(reverse))).reshape(-1)
    highest = np.concatenate([[-1.0], np.maximum.accumulate(ordered)[:-1]])
    rises = np.flatnonzero(ordered > highest)
    return [tuple(map(int, np.unravel_index(i, chosen.shape))) for i in rises]
