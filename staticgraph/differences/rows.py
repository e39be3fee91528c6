"""Rows of two values each: how far they are apart, and inside loops in which iteration."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from compiler.core.types import type_of
from compiler.core.values import Array
from staticgraph.differences.distance import distance
from staticgraph.differences.loops import Inside
from staticgraph.differences.records import At, Row


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
    share = found.gap / explained if explained and found.gap < np.inf else found.gap
    share = share if explained or not found.gap else np.inf
    if found.gap == explained == np.inf:  # rounding decides whether it is finite
        share = 0.0
    types = str(type_of(both.eager)), str(type_of(both.compiled))
    return Row(title, name, source, types, found.equal, found.ulp, share, found.where, found.values)


def row_inside(one: Inside, both: Both, far: Callable[[Row], bool]) -> Iterator[Row]:
    """The row of a value inside loops: of the first iteration that is far apart, else the most.

    None if the loops have no iteration.
    """
    lengths = both.explained.shape
    worst: Row | None = None
    for steps in np.ndindex(*lengths):
        indices = tuple(
            length - 1 - step if loop.reverse else step
            for step, length, loop in zip(steps, lengths, one.loops, strict=True)
        )
        here = Both(*(values[indices] for values in both))
        row = row_of(one.node.op.name, one.node.name, one.node.source, here)
        if worst is None or (row.share, row.ulp) > (worst.share, worst.ulp):
            places = zip(one.loops, indices, steps, strict=True)
            worst = replace(row, inside=tuple(At(str(x), i, step) for x, i, step in places))
        if far(row):
            break
    if worst is not None:
        yield worst
