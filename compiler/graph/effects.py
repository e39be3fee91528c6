"""Effects: prints and checks of a graph, which nothing reads and which are computed all the same.

An effect belongs to the function in which it is made while that is traced: a captured function,
the body of a loop, a branch (`collecting`). Outside of any it belongs to the placeholders and
variables that it reads, and so to all graphs that need all of them. What a loop itself checks,
that it has ended, belongs of these to the graphs with that loop, or a derivative of it; derivatives
and batches are other loops, of the same line, by which they are known. So two calls of a function
that loops, on the same placeholders, are checked together: rather an error of the other one than
none. When the function or graph is complete, its effects are put in the order in which they were
made, by tokens (`in_order`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import field
from typing import Any

import numpy as np

from staticgraph.compiler.core.dims import Size
from staticgraph.compiler.core.errors import GraphError
from staticgraph.compiler.core.op import Op
from staticgraph.compiler.core.record import Record, record
from staticgraph.compiler.graph.expression import Expression, at_line, constant, construct
from staticgraph.compiler.graph.traversal import ancestors, fold
from staticgraph.compiler.ops import leaves
from staticgraph.compiler.ops.programs.effects import EFFECTS, after


@record
class Effect(Record):
    """A print, a check, or a loop or branch with such in its body.

    Attributes:
        enter: the expression that takes the token, as its operand at `position`.
        leave: the expression that is the token behind it.
        of_loop: whether it is what a loop checks of itself, or a loop with no other effects.
    """

    enter: Expression
    position: int
    leave: Expression
    of_loop: bool = False


@record
class Collected(Record):
    """The effects of a function that is traced, and how deep in loops it is."""

    depth: int
    effects: list[Effect] = field(default_factory=list)


_current: ContextVar[Collected | None] = ContextVar("effects", default=None)


@contextmanager
def collecting(loops: int) -> Iterator[Collected]:
    """Collect the effects that are made in the block: a function with so many loops around it."""
    found = Collected(loops)
    token = _current.set(found)
    try:
        yield found
    finally:
        _current.reset(token)


def is_collecting() -> bool:
    """Whether a function is traced."""
    return _current.get() is not None


def depth() -> int:
    """How many loops are around what is traced."""
    current = _current.get()
    return 0 if current is None else current.depth


def first_token(loops: int) -> Expression:
    """The token in front of the first effect."""
    return constant(np.zeros(1 + loops, np.int64))


def emit(
    op: Op, operands: Sequence[Expression], attrs: Mapping[str, object], of_loop: bool = False
) -> None:
    """Add an effect to the function that is traced, or else to what it reads."""
    made = construct(op, (first_token(depth()), *operands), {**attrs, "place": 0})
    keep(Effect(made, 0, made, of_loop))


def emit_batched(
    effects: Sequence[Effect],
    batched: Callable[..., Sequence[Expression | None]],
    batches: Mapping[Expression, Expression],
    size: Size,
) -> None:
    """Add the effects of a function of one example, once for all of them.

    Args:
        effects: what the function made.
        batched, batches, size: `compiler.transforms.vectorize.batched`, and what it takes.

    Raises:
        GraphError: a loop or a branch has an effect.
    """
    for effect in effects:
        made = effect.enter
        if made.op not in EFFECTS:
            raise GraphError(
                f"vmap: a loop or a branch with a print or a check ({made.source}): it would be "
                "of each example: print or check the results outside of it"
            )
        values = made.operands[1:]
        whole = batched(values, batches, size)
        several = made.attrs["batched"] or any(one is not None for one in whole)
        operands = [x if one is None else one for x, one in zip(values, whole, strict=True)]
        with at_line(made.source):
            emit(made.op, operands, {**made.attrs, "batched": several}, effect.of_loop)


def keep(effect: Effect) -> None:
    """Keep an effect for the function that is traced, or else for what it reads.

    Raises:
        GraphError: it reads nothing, and no function is traced: no graph would have it.
    """
    current = _current.get()
    if current is not None:
        current.effects.append(effect)
        return
    read = _leaves([effect.leave])
    if not read:
        raise GraphError(
            f"{effect.enter.op.name}: reads no placeholder and no variable "
            f"({effect.enter.source}), so that no graph would have it: give it a value that does"
        )
    for leaf in read:
        if not hasattr(leaf, "effects"):
            leaf.effects = []
        leaf.effects.append(effect)


def _leaves(roots: Iterable[Expression]) -> list[Expression]:
    fed = (leaves.placeholder, leaves.variable)
    return [node for node in ancestors(roots) if node.op in fed]


def effects_of(inputs: Sequence[Expression], roots: Sequence[Expression]) -> list[Effect]:
    """The effects of a graph: those that read nothing but its inputs and variables."""
    given = {one.serial: one for one in inputs}
    given |= {one.serial: one for one in _leaves(roots)}
    lines = _loop_lines(roots)
    found: dict[int, Effect] = {}
    for leaf in given.values():
        for effect in getattr(leaf, "effects", ()):
            assert isinstance(effect, Effect)
            if effect.of_loop and lines.isdisjoint(_loop_lines([effect.leave])):
                continue
            if all(one.serial in given for one in _leaves([effect.leave])):
                found[effect.leave.serial] = effect
    return list(found.values())


def _loop_lines(roots: Iterable[Expression]) -> set[str]:
    """The lines of the loops and branches that the roots need, or are derivatives of."""
    loops = [node for node in ancestors(roots) if any(map(_is_body, node.attrs.values()))]
    return {one.source.rpartition(" at ")[2] for one in loops}


def in_order(
    roots: Sequence[Expression], effects: Sequence[Effect], token: Expression
) -> tuple[list[Expression], Expression]:
    """The roots again, over effects that follow one another, and the token behind the last one."""
    entered = {effect.enter.serial: effect.position for effect in effects}
    left = {effect.leave.serial for effect in effects}
    place = 0

    def remade(node: Expression, operands: tuple[Expression, ...]) -> Expression:
        nonlocal token, place
        attrs = node.attrs
        if node.serial in entered:
            position = entered[node.serial]
            operands = (*operands[:position], token, *operands[position + 1 :])
            if node.op in EFFECTS:
                attrs = {**attrs, "place": place}
                place += 1
        if all(map(_is_same, operands, node.operands)) and attrs is node.attrs:
            made = node
        else:
            made = Expression(node.op, operands, attrs, node.name, node.source, node.type)
            made.weak = node.weak
        if node.serial in left:
            token = made
        return made

    made = fold([*roots, *(effect.leave for effect in effects)], {}, remade)
    return made[: len(roots)], token


def _is_same(one: Expression, other: Expression) -> bool:
    return one is other


def with_effects(
    name: str, roots: Sequence[Expression], effects: Sequence[Effect]
) -> list[Expression]:
    """The roots of a graph, of which the first is known when all effects are done.

    Raises:
        GraphError: there are effects, and no root.
    """
    if not effects:
        return list(roots)
    if not roots:
        raise GraphError(
            f"{name}: {effects[0].enter.op.name} ({effects[0].enter.source}) in a graph without "
            "outputs and updates: return a value"
        )
    made, token = in_order(roots, effects, first_token(0))
    with at_line(roots[0].source):
        tied = Expression(after, (made[0], token), {}, made[0].name)
    tied.weak = made[0].weak
    return [tied, *made[1:]]


def without_effects(body: Any) -> Any:
    """A body without its effects: what repeats a body to differentiate it must not repeat them."""
    if not is_loud(body):
        return body
    inputs, outputs = body.expressions()

    def remade(node: Expression, operands: tuple[Expression, ...]) -> Expression:
        if node.op in EFFECTS:
            return operands[0]
        attrs = {
            key: without_effects(value) if _is_body(value) else value
            for key, value in node.attrs.items()
        }
        if not operands and attrs == node.attrs:
            return node
        return Expression(node.op, operands, attrs, node.name, node.source, node.type)

    known = {one.serial: one for one in inputs}
    return type(body).of(inputs, fold(outputs, known, remade))


def is_loud(body: Any) -> bool:
    """Whether a body has effects."""
    for node in body.definition.nodes:
        if node.op in EFFECTS:
            return True
        if node.op.vjp_items is not None and any(
            is_loud(value) for value in node.attrs.values() if _is_body(value)
        ):
            return True
    return False


def _is_body(value: object) -> bool:
    return hasattr(value, "definition")
