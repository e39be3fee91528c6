"""Which sizes a trace knows: as few as will do, and those that the function needs as numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

from staticgraph.compiler.core.dims import Unknown, atoms

Pattern: TypeAlias = "tuple[tuple[int | str | None, ...], ...]"
"""Per array, per axis: the size, a name that axes of equal size share, or None."""
Axis: TypeAlias = tuple[int, int]
"""The place of an array, and of an axis of it."""


def patterns(shapes: Sequence[Sequence[int]], declared: Sequence[Sequence[Any]]) -> list[Pattern]:
    """The patterns to try for arrays of these shapes: from knowing nothing to knowing all.

    What is declared of an axis (a size or a name) is kept in all of them.
    """
    counts: dict[int, int] = {}
    for shape in shapes:
        for size in shape:
            counts[size] = counts.get(size, 0) + 1
    places = {size: f"n.{place}" for place, size in enumerate(counts)}

    def pattern(rule: Callable[[int], int | str | None]) -> Pattern:
        return tuple(
            tuple(
                rule(size) if known is None else known
                for size, known in zip(shape, axes, strict=True)
            )
            for shape, axes in zip(shapes, declared, strict=True)
        )

    rules: list[Callable[[int], int | str | None]] = [
        lambda size: None,
        lambda size: 1 if size == 1 else None,
        lambda size: 1 if size == 1 else places[size] if counts[size] > 1 else None,
        lambda size: size,
    ]
    return list(dict.fromkeys(map(pattern, rules)))


def axes_of(sizes: frozenset[Unknown], shapes: Sequence[Sequence[Any]]) -> frozenset[Axis]:
    """The axes of which a size is among these, or is made of them."""
    return frozenset(
        (i, axis)
        for i, shape in enumerate(shapes)
        for axis, size in enumerate(shape)
        if sizes & atoms([size])
    )


class Needs:
    """The sizes that a function needs as numbers, as its traces have found.

    They are kept per pattern with which the tracing began: later calls begin where that ended.
    """

    def __init__(self) -> None:
        self._found: dict[Pattern, dict[frozenset[Axis], str]] = {}

    def add(self, base: Pattern, axes: frozenset[Axis], place: str) -> bool:
        """Note that the code at a place needs the sizes of some axes; False if that is none."""
        if axes:
            self._found.setdefault(base, {})[axes] = place
        return bool(axes)

    def tries(
        self, base: Pattern, shapes: Sequence[Sequence[int]], names: Sequence[str]
    ) -> Iterator[tuple[Pattern, str]]:
        """The pattern with what it needs known, and why; again as long as more is found.

        None where axes that are needed together have equal sizes, or the size 1: a pattern that
        knows only that may do (of `n % m` it does).
        """
        before = None
        while True:
            known: set[object] = set()
            why = []
            for axes, place in self._found.get(base, {}).items():
                labels = {_label(base, axis) for axis in axes}
                sizes = {shapes[i][axis] for i, axis in axes}
                if len(sizes | {1}) <= len(labels):
                    return
                known |= labels
                told = [f"{names[i]} axis {axis} is {shapes[i][axis]}" for i, axis in sorted(axes)]
                why.append(f"{', '.join(told)}, needed at {place}")
            pattern = tuple(
                tuple(
                    shapes[i][axis] if _label(base, (i, axis)) in known else one
                    for axis, one in enumerate(row)
                )
                for i, row in enumerate(base)
            )
            if pattern == before:
                return
            before = pattern
            yield pattern, "; ".join(why)


def _label(base: Pattern, axis: Axis) -> object:
    """What axes share that a pattern takes for equal."""
    known = base[axis[0]][axis[1]]
    return axis if known is None else known
