"""Short rows that are moved: in whole vectors, of which the last may overlap the one before.

LLVM computes what is left of 9 elements behind a vector of 8 one by one, with tests around it: rows
of 9 took 12 ns instead of 3. So such a loop becomes two, both of whole vectors; elements that both
write get the same value twice, which is right where nothing reads what was written.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from staticgraph.compiler.codegen.scalar import expensive_calls
from staticgraph.compiler.codegen.statements import Body
from staticgraph.compiler.core.dims import Size

if TYPE_CHECKING:
    from staticgraph.compiler.codegen.loops import NestedLoop

SHORTEST, LONGEST = 4, 64  # elements of a row that is moved in whole vectors
WIDEST = 8  # elements of such a vector


def whole_vectors(extent: Size, most: int = LONGEST - 1) -> list[tuple[Size, Size]]:
    """Where the loops over a row begin and end: two, of whole vectors, if it has at most `most`."""
    if not isinstance(extent, int) or not SHORTEST <= extent <= most:
        return [(0, extent)]
    vector = min(WIDEST, 1 << extent.bit_length() - 1)
    whole = extent // vector * vector
    return [(0, whole)] if whole == extent else [(0, whole), (extent - vector, extent)]


def moves_short_rows(body: Body, loops: Sequence[NestedLoop]) -> bool:
    """Whether the last of some loops over columns goes along short rows, and may repeat elements.

    Rows that lie one behind the other are not meant: a few of them are a vector.
    """
    if len(loops) < 2 or any(body.rows) or body.sums or body.totals or body.gathered:
        return False
    if body.placed or body.checks or len(body.passes) != 1:
        return False
    outer, inner = loops[-2:]
    if not isinstance(inner.extent, int) or not SHORTEST <= inner.extent < LONGEST:
        return False
    lines = body.passes[0]
    axis, around = inner.axes[-1], outer.axes[-1]
    places = [one.place for one in lines if one.memory is not None]
    if any(one.accumulator or expensive_calls(one.value) for one in lines):
        return False
    if any(place.dynamic or place.coefficient(axis) not in (-1, 0, 1) for place in places):
        return False
    written = [one for one in lines if one.writes]
    if any(one.accesses > 1 for one in written):
        return False  # it adds to what is there
    memories = {one.memory for one in written}
    for one in lines:
        if one.memory is None or one.writes:
            continue
        # what is computed in the place of an operand must not be computed twice
        if one.memory in memories or any(one.place.terms == other.place.terms for other in written):
            return False
    return any(place.coefficient(around) != inner.extent for place in places if place.terms)
