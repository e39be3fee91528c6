"""Loops over whole vectors, and what they leave: less than a vector, computed with a mask.

LLVM vectorises a loop of unknown length as one over vectors and a scalar one over the rest. Where
an iteration is expensive, the rest takes longer than the vectors in a row of a hundred elements. So
such a loop becomes two: one whose length is a multiple of every vector's, and one for the rest,
which LLVM is told to vectorise with masked lanes. Measured on sums of exp over rows of 15, 127 and
255 float32 elements: 4.9, 2.7 and 1.9 times as fast. An iteration that reads a window written out
is expensive as well: a depthwise convolution 7 x 7 of rows of 28 is twice as fast.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir

from staticgraph.compiler.codegen.scalar import expensive_calls
from staticgraph.compiler.ir.records import Assign, Const, For, If, Load, Stmt, While
from staticgraph.compiler.ir.walk import calls, expressions, names, parts, statements
from staticgraph.compiler.llvm import library

WHOLE = 16  # iterations: lanes of the widest vectors of float32
MANY = 9  # elements that an expensive iteration without functions reads: a window written out
SHORT = 5  # iterations of such a loop from which on a masked vector is faster


class MaskedLoop(ir.MDValue):  # type: ignore[misc]
    """The metadata of a loop that is to be vectorised with masked lanes, without a scalar rest."""

    def __init__(self, module: Any) -> None:
        super().__init__(module, (), str(len(module.metadata)))

    def descr(self, buf: list[str]) -> None:
        """Add the text; a loop's metadata begins with itself."""
        hint = '!{!"llvm.loop.vectorize.predicate.enable", i1 true}'
        buf += [f"distinct !{{{self.get_reference()}, {hint}}}", "\n"]


def leaves_rest(loop: For) -> bool:
    """Whether a loop is an innermost one, of vectors, expensive, not known to be of whole ones."""
    inside = list(statements(loop.body))
    if any(isinstance(one, For | While | If) for one in inside):
        return False
    found = [whole for one in inside for whole in expressions(one)]
    if any(library.has_loop(name) for whole in found for name in calls(whole)):
        return False  # it is not vectorised
    least = WHOLE + 1
    if not any(map(expensive_calls, found)):
        # the bounds of chunks are not known: those loops are long
        if not isinstance(loop.stop, Const) or _elements(inside) < MANY or _carries(inside):
            return False
        least = SHORT
    if not isinstance(loop.start, Const) or not isinstance(loop.stop, Const):
        return True
    length = loop.stop.value - loop.start.value
    return length >= least and length % WHOLE != 0


def _elements(inside: Sequence[Stmt]) -> int:
    """How many elements some statements read."""
    found = (whole for one in inside for whole in expressions(one))
    return sum(isinstance(part, Load) for whole in found for part in parts(whole))


def _carries(inside: Sequence[Stmt]) -> bool:
    """Whether an iteration goes on with what the one before left, such as a sum."""
    assigned: set[str] = set()
    for one in inside:
        if isinstance(one, Assign):
            if one.name in names(one.value) - assigned:
                return True
            assigned.add(one.name)
    return False


def whole_vectors(builder: Any, start: Any, stop: object) -> Any:
    """Where the last whole vector of a loop ends; `start` if there is none."""
    int64 = start.type
    whole = builder.and_(builder.sub(stop, start), int64(-WHOLE))
    is_some = builder.icmp_signed(">", whole, int64(0))
    return builder.add(start, builder.select(is_some, whole, int64(0)))
