"""Checks of what a kernel gives for inf and nan: its outputs, and the new values of variables.

A value is looked at where a long loop writes it. What short loops have just written is in the
cache: their unit goes over that once more, chunk by chunk, where a chunk writes elements that lie
in a row. All else, such as products, is gone over when everything is computed. Zero times a value
is 0, or nan if it is not finite; these are added up in vectors and without a branch, by one
instruction each, and nothing that is computed depends on them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

from staticgraph.compiler.codegen.chunks import ChunkPlan
from staticgraph.compiler.codegen.loops import Nest
from staticgraph.compiler.codegen.scalar import cast, literal
from staticgraph.compiler.codegen.statements import Body
from staticgraph.compiler.core.dims import Size
from staticgraph.compiler.core.dtypes import computing, is_float
from staticgraph.compiler.core.record import Record, record
from staticgraph.compiler.core.types import DType, TensorType
from staticgraph.compiler.graph.definition import Node
from staticgraph.compiler.ir.records import (
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
    added: Mapping[int, int],
) -> Checks:
    """Where the values of `roots` are checked, of those that are floats.

    `loops`: the statements, nesting and chunks of the groups of loops; `added`: products by group
    that are added to what is in the memory of the result.
    """
    values = [node for node in dict.fromkeys(roots) if is_float(nodes[node].type.dtype)]
    writers = Counter(
        node
        for body, _, _ in loops.values()
        for node in {access.node for access in body.accesses if access.write}
    )
    within: dict[int, tuple[tuple[int, Size], ...]] = {
        index: ((node, 0),) for index, node in added.items() if node in values
    }
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


def look_on_the_way(block: Sequence[Stmt], pointer: Name, dtype: DType) -> list[Stmt] | None:
    """The statements with what adds up the elements where a loop writes them.

    None if that is not one long loop: short ones are gone over faster when they are done.
    """
    is_one = _long_writes(block, pointer, None, False) == [True]
    return look(block, pointer, dtype) if is_one else None


def _long_writes(
    block: Sequence[Stmt], pointer: Name, around: For | None, is_long: bool
) -> list[bool]:
    """For each statement that writes to an array, whether it stands in a long loop."""
    found: list[bool] = []
    for one in block:
        if isinstance(one, For):
            inner = around is None or _is_long(one) or _is_block(one, around)
            found += _long_writes(one.body, pointer, one, inner)
        elif isinstance(one, Store) and one.pointer == pointer:
            found.append(is_long)
    return found


def _is_block(inner: For, loop: For) -> bool:
    """Whether a loop is over a block of so many iterations of the one around it."""
    step = loop.step
    return inner.start == Name(loop.variable) and isinstance(step, Const) and step.value >= LONG


def _is_long(loop: For) -> bool:
    """Whether a loop in others is known to have so many iterations that a sum in it is no cost."""
    start, stop = loop.start, loop.stop
    return isinstance(start, Const) and isinstance(stop, Const) and stop.value - start.value >= LONG


def look(block: Iterable[Stmt], pointer: Name, dtype: DType) -> list[Stmt]:
    """The statements with what adds up the elements where they are written, each once."""
    new = Name(f"new_{pointer.name}")

    def looking(store: Store) -> tuple[Stmt, ...]:
        return (
            Assign(new.name, store.value, node=store.node),
            _add_up(new, dtype),
            Store(store.pointer, store.index, new, node=store.node),
        )

    return _at_stores(block, pointer, looking)


def keep_before(block: Iterable[Stmt], pointer: Name, kept: Name) -> list[Stmt]:
    """The statements with what puts each element by before it is written over, which is once.

    The new one is computed first: the place of the old one may be that of an operand.
    """
    new = Name(f"next_{pointer.name}")

    def keeping(store: Store) -> tuple[Stmt, ...]:
        return (
            Assign(new.name, store.value, node=store.node),
            Store(kept, store.index, Load(pointer, store.index), node=store.node),
            Store(pointer, store.index, new, node=store.node),
        )

    return _at_stores(block, pointer, keeping)


def _at_stores(
    block: Iterable[Stmt], pointer: Name, change: Callable[[Store], Sequence[Stmt]]
) -> list[Stmt]:
    """The statements with others in place of those that write to an array, in loops too."""
    made: list[Stmt] = []
    for one in block:
        if isinstance(one, For):
            body = tuple(_at_stores(one.body, pointer, change))
            made.append(For(one.variable, one.start, one.stop, body, one.step))
        elif isinstance(one, Store) and one.pointer == pointer:
            made += change(one)
        else:
            made.append(one)
    return made


def look_over(pointer: Expr, dtype: DType, start: Expr, stop: Expr) -> Stmt:
    """What adds up the elements from `start` to `stop`."""
    return For("at", start, stop, (_add_up(Load(pointer, Name("at")), dtype),))


def _add_up(element: Expr, dtype: DType) -> Stmt:
    total = _total(dtype)
    return Assign(total.name, Call("add_lost", (total, cast(element, dtype, computing(dtype)))))


def _total(dtype: DType) -> Name:
    return Name(f"off_{computing(dtype).name}")  # a variable keeps the type that it has first


def noted(block: Iterable[Stmt], dtypes: Iterable[DType], flag: Expr) -> list[Stmt]:
    """The statements, and what sets the flag if one of the elements that they add up is lost."""
    totals = {computing(dtype): _total(dtype) for dtype in dtypes}
    starts = [Assign(total.name, literal(0, dtype)) for dtype, total in totals.items()]
    lost = [Binary("!=", total, literal(0, dtype)) for dtype, total in totals.items()]
    return [*starts, *block, *(If(one, (Store(flag, ZERO, ONE),)) for one in lost)]
