"""Checks of what a kernel gives for inf and nan: its outputs, and the new values of variables.

A value is looked at where a long loop writes it. What short loops have just written is in the
cache: their unit goes over that once more, chunk by chunk, where a chunk writes elements that lie
in a row. All else, such as products, is gone over when everything is computed. A value minus itself
is 0, or nan if it is not finite; these are added up in vectors and without a branch, and nothing
that is computed depends on them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from compiler.codegen.chunks import ChunkPlan
from compiler.codegen.loops import Nest
from compiler.codegen.scalar import literal
from compiler.codegen.statements import Body
from compiler.core.dims import Size
from compiler.core.record import Record, record
from compiler.core.types import DType, TensorType
from compiler.graph.view import Node
from compiler.ir.records import (
    ONE,
    ZERO,
    Assign,
    Binary,
    Call,
    Const,
    Expr,
    For,
    If,
    Load,
    Name,
    Stmt,
    Store,
)


@record
class Checks(Record):
    """Where values are checked.

    Attributes:
        within: by the group whose unit does it, values with how many elements each iteration of its
            outermost loop writes; 0 if the unit is not computed in chunks.
        after: values that have a unit of their own when all is computed.
    """

    within: Mapping[int, tuple[tuple[int, Size], ...]]
    after: tuple[int, ...]


NONE = Checks({}, ())
LONG = 256
"""Iterations of a loop inside others from which values are looked at where they are written."""


def plan_checks(
    roots: Sequence[int],
    nodes: Mapping[int, Node],
    loops: Mapping[int, tuple[Body, Nest, ChunkPlan | None]],
) -> Checks:
    """Where the values of `roots` are checked, of those that are floats.

    `loops`: the statements, nesting and chunks of the groups of loops.
    """
    values = [node for node in dict.fromkeys(roots) if nodes[node].type.dtype.kind == "f"]
    writers = Counter(
        node
        for body, _, _ in loops.values()
        for node in {access.node for access in body.accesses if access.write}
    )
    within: dict[int, tuple[tuple[int, Size], ...]] = {}
    for index, (body, nest, plan) in loops.items():
        written = {access.node for access in body.accesses if access.write}
        found = [
            (node, _elements(body, nest, plan, node, nodes[node].type))
            for node in values
            if node in written and writers[node] == 1
        ]
        kept = tuple((node, count) for node, count in found if count is not None)
        if kept:
            within[index] = kept
    done = {node for pairs in within.values() for node, _ in pairs}
    return Checks(within, tuple(node for node in values if node not in done))


def _elements(
    body: Body, nest: Nest, plan: ChunkPlan | None, node: int, type: TensorType
) -> Size | None:
    """How many elements of a value an iteration of the outermost loop writes, all in a row.

    0 without chunks; None if they do not lie in a row, or are not known before all chunks are.
    """
    if plan is None:
        return 0
    loop = nest.outermost
    if loop is None or node in plan.gathered:
        return None
    lines = [line for part in (*body.rows, *body.passes, body.after) for line in part]
    places = [line.place for line in lines if line.writes and line.memory == ("node", node)]
    if len(places) != 1 or any(
        line.writes and line.memory == ("node", node) for line in body.after
    ):
        return None
    (place,) = places
    count = place.coefficient(loop.axes[-1])
    in_order = place.constant == 0 and not place.dynamic and count * loop.extent == type.size
    return count if in_order and count != 0 else None


def look_on_the_way(
    block: Sequence[Stmt], pointer: Name, dtype: DType, flag: Expr
) -> list[Stmt] | None:
    """The statements with what adds up the elements where a loop writes them.

    None if that is not one long loop: short ones are gone over faster when they are done.
    """
    total, kept = Name(f"off_{pointer.name}"), Name(f"kept_{pointer.name}")
    writes = 0

    def looking(statements: Sequence[Stmt], depth: int, is_long: bool) -> tuple[Stmt, ...]:
        nonlocal writes
        made: list[Stmt] = []
        for one in statements:
            if isinstance(one, For):
                body = looking(one.body, depth + 1, not depth or _is_long(one))
                one = For(one.variable, one.start, one.stop, body, one.step)
            elif isinstance(one, Store) and one.pointer == pointer:
                writes += 1 if is_long else 2
                lost = Assign(total.name, Call("fsum", (total, kept - kept)))
                made += [Assign(kept.name, one.value, node=one.node), lost]
                one = Store(one.pointer, one.index, kept, node=one.node)
            made.append(one)
        return tuple(made)

    found = looking(block, 0, False)
    if writes != 1:
        return None
    return [Assign(total.name, literal(0, dtype)), *found, *_note_lost(total, dtype, flag)]


def _is_long(loop: For) -> bool:
    """Whether a loop in others is known to have so many iterations that a sum in it is no cost."""
    start, stop = loop.start, loop.stop
    return isinstance(start, Const) and isinstance(stop, Const) and stop.value - start.value >= LONG


def _note_lost(total: Name, dtype: DType, flag: Expr) -> list[Stmt]:
    """The statement that sets the flag if an element that was added up is not finite."""
    return [If(Binary("!=", total, literal(0, dtype)), (Store(flag, ZERO, ONE),))]


def look_over(pointer: Expr, dtype: DType, start: Expr, stop: Expr, flag: Expr) -> list[Stmt]:
    """The statements that set the flag if an element from `start` to `stop` is not finite."""
    # a variable keeps the type that it has first
    total, element = Name(f"off_{dtype.name}"), Load(pointer, Name("at"))
    added = Assign(total.name, Call("fsum", (total, element - element)))
    return [
        Assign(total.name, literal(0, dtype)),
        For("at", start, stop, (added,)),
        *_note_lost(total, dtype, flag),
    ]
