"""Indices in blocks: those of a block are checked in a loop of their own, before they are used.

A loop that adds to the places that indices name is not vectorised, for two may be the same place.
A loop that checks indices, and counts them from the front, is; it leaves them in a row of memory
that stays in the first level of the cache. Measured on adding 1e6 numbers to 1e5 places: 0.6 of the
time that one loop takes.
"""

from __future__ import annotations

from collections.abc import Sequence

from staticgraph.compiler.codegen.loops import Nest
from staticgraph.compiler.codegen.scalar import expensive_calls
from staticgraph.compiler.codegen.statements import Blocks, Body, Statement
from staticgraph.compiler.core.dims import product
from staticgraph.compiler.ir.walk import names

LEAST = 64  # iterations: fewer are hardly faster in two loops
LONGEST = 16  # elements that one index moves: with rows of 8 a tenth is saved, with 64 nothing


def blocks_of(body: Body, nest: Nest) -> Blocks | None:
    """Which loop is cut into blocks, and what its first loop over a block does; None if none is."""
    passes = [lines for lines in body.passes if lines]
    if not body.placed or body.tile is not None or len(passes) != 1:
        return None
    if nest.strips or nest.overlaps or body.sums:
        return None
    (lines,) = passes
    wanted = {
        name
        for line in lines
        if line.memory is not None and line.memory[1] in body.placed and line.writes
        for name, _ in line.place.dynamic
    }
    level = max((_level(line, nest) for line in lines if line.name in wanted), default=-1)
    if not 0 <= level < nest.written_out:
        return None
    extent = nest.columns[level].extent
    if isinstance(extent, int) and extent < LEAST:
        return None
    moved = product([loop.extent for loop in nest.columns[level + 1 :]])
    if not isinstance(moved, int) or moved > LONGEST:
        return None
    inside = [line for line in lines if _level(line, nest) == level]
    indices = tuple(line for line in inside if line.name in wanted)
    return _cut(body, lines, inside, level, indices)


def _cut(
    body: Body,
    lines: Sequence[Statement],
    inside: Sequence[Statement],
    level: int,
    indices: tuple[Statement, ...],
) -> Blocks | None:
    """The lines of the first loop, and those that the second one leaves out."""
    most = {check.most for check in body.checks}
    first = _needed(inside, {line.name for line in indices}, set())
    known = {line.name for line in first}
    first |= {line for line in inside if line.name in most and names(line.value) & known}
    kept = {line.name for line in indices}
    others = [line for line in lines if line not in first]
    mentioned = set().union(*map(_mentions, others))
    again = _needed([line for line in inside if line in first], mentioned - kept, kept)
    if any(expensive_calls(line.value) for line in again):
        return None
    written = {line.memory for line in lines if line.writes}
    if any(line.memory in written for line in first):
        return None
    ordered = tuple(line for line in inside if line in first)
    return Blocks(level, indices, ordered, frozenset(first - again))


def _level(line: Statement, nest: Nest) -> int:
    """The loop over columns in which a line stands; -1 outside of all."""
    places = {axis: i for i, loop in enumerate(nest.columns) for axis in loop.axes}
    return max((places[axis] for axis in line.axes if axis in places), default=-1)


def _needed(lines: Sequence[Statement], wanted: set[str], without: set[str]) -> set[Statement]:
    """The lines that what is wanted is made of, but for what is known."""
    found: set[Statement] = set()
    wanted = set(wanted)
    for line in reversed(lines):
        if line.name in wanted and line.name not in without:
            found.add(line)
            wanted |= _mentions(line)
    return found


def _mentions(line: Statement) -> set[str]:
    """The variables that a line reads."""
    dynamic = {name for form in (line.place, line.index) for name, _ in form.dynamic}
    return names(line.value) | dynamic
