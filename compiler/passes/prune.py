"""Prune loops and branches: leave out what nothing uses, and carry nothing that stays as it is."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence, Set
from dataclasses import replace
from typing import Any

from staticgraph.compiler import ops
from staticgraph.compiler.core.reports import collector, report_all
from staticgraph.compiler.graph.body import Body
from staticgraph.compiler.graph.definition import Definition, Node
from staticgraph.compiler.graph.evaluate import substitute
from staticgraph.compiler.graph.expression import Expression, named
from staticgraph.compiler.graph.loop import Carry, OpenLoop, Pair, items_of, open_loop
from staticgraph.compiler.graph.traversal import between
from staticgraph.compiler.ops.programs import control
from staticgraph.compiler.passes.loops import rewrite_loops


def prune_loops(graph: Definition) -> Definition:
    """The graph whose loops and branches compute only what is used.

    Carries that do not change become consts, operands and ys that are equal become one, and ys that
    are slices of the xs, or the same in every step, are taken from outside.
    """
    used = _used_items(graph)

    def rewrite(node: Node, made: Mapping[int, Any]) -> Sequence[Expression | None] | None:
        operands = [made[operand] for operand in node.operands]
        kept = used.get(node.id, set())
        if node.op is control.scan:
            return _pruned_scan(open_loop(operands, node.attrs), kept)
        if node.op is control.cond:
            return _pruned_cond(operands, node, kept)
        return None

    return rewrite_loops(graph, rewrite)


def _used_items(graph: Definition) -> dict[int, set[int]]:
    """The items of each loop or branch that the roots of the graph need."""
    used: dict[int, set[int]] = {}
    live = {*graph.outputs, *(new for _, new in graph.updates)}
    for node in reversed(graph.nodes):
        if node.id not in live:
            continue
        operands: Sequence[int] = node.operands
        if node.op is control.item:
            used.setdefault(operands[0], set()).add(node.attrs["index"])
        elif node.op is control.scan:
            operands = _read_by_scan(node, used.get(node.id, set()))
        elif node.op is control.cond:
            operands = _read_by_cond(node, used.get(node.id, set()))
        live.update(operands)
    return used


def _read_by_scan(node: Node, used: set[int]) -> list[int]:
    # the body is read alone: what stands outside are the numbers of nodes
    loop: Any = open_loop(node.operands, node.attrs)  # type: ignore[arg-type]
    kept: Any = _without_unused(loop, used)
    read = [outer for _, outer in (*kept.consts, *kept.xs)]
    return read + [carry.first for carry in kept.carries]


def _without_unused(loop: OpenLoop, used: Set[int]) -> OpenLoop:
    """The loop with the carries and the ys that the used items need, and what these read."""
    count = len(loop.carries)
    ys = [y for i, y in enumerate(loop.ys) if count + i in used]
    kept = {i for i in range(count) if i in used}
    for _ in range(count):
        outputs = [*ys, *(loop.carries[i].next for i in kept)]
        reached = {node.serial for node in between(outputs, {})}
        kept |= {i for i in range(count) if loop.carries[i].inner.serial in reached}
    needed = replace(loop, carries=[loop.carries[i] for i in sorted(kept)], ys=ys)
    consts, xs = needed.read()
    return replace(needed, consts=consts, xs=xs)


def _pruned_scan(loop: OpenLoop, used: set[int]) -> list[Expression | None]:
    kept = _without_unused(loop, used)
    _report_dropped(loop.outputs, kept.outputs, loop.border)
    inner = _one_each(_constant_carries(kept))
    results: dict[int, Expression] = {}
    carried = {carry.inner.serial: i for i, carry in enumerate(inner.carries)}
    outside = {one.serial: _stack_of(outer, loop) for one, outer in inner.consts}
    outside |= {one.serial: outer for one, outer in inner.xs}
    ys: dict[int, Expression] = {y.serial: y for y in inner.ys if y.serial not in outside}
    items = replace(inner, ys=list(ys.values())).close()
    stacks = dict(zip(ys, items[len(inner.carries) :], strict=True))
    for i, carry in enumerate(loop.carries):
        if carry.inner.serial in carried:
            results[i] = items[carried[carry.inner.serial]]
        else:
            results[i] = carry.first
    places = [len(loop.carries) + i for i in range(len(loop.ys))]
    for place, y in zip((place for place in places if place in used), inner.ys, strict=True):
        results[place] = (outside if y.serial in outside else stacks)[y.serial]
    return [results.get(i) for i in range(len(loop.outputs))]


def _report_dropped(
    outputs: Sequence[Expression], kept: Sequence[Expression], border: Container[int]
) -> None:
    """Report what a body computes for its outputs, and not for those that are kept."""
    if collector() is None:
        return
    left = {node.serial for node in between(kept, border)}
    dropped = (named(node) for node in between(outputs, border) if node.serial not in left)
    report_all("dropped", prune_loops.__name__, dropped, "no used output of the loop reads it")


def _constant_carries(loop: OpenLoop) -> OpenLoop:
    """The loop in which carries that do not change are consts."""
    fixed = [carry for carry in loop.carries if carry.next is carry.inner]
    return replace(
        loop,
        consts=[*loop.consts, *((carry.inner, carry.first) for carry in fixed)],
        carries=[carry for carry in loop.carries if carry.next is not carry.inner],
    )


def _one_each(loop: OpenLoop) -> OpenLoop:
    """The loop in which what is the same outside is the same inside."""
    made: dict[int, Expression] = {}
    consts, xs = _distinct(loop.consts, made), _distinct(loop.xs, made)
    outputs = substitute(loop.outputs, made | {one.serial: one for one in _kept(loop, made)})
    count = len(loop.carries)
    carries = [
        Carry(carry.inner, carry.first, new)
        for carry, new in zip(loop.carries, outputs[:count], strict=True)
    ]
    return replace(loop, consts=consts, xs=xs, carries=carries, ys=outputs[count:])


def _kept(loop: OpenLoop, made: Mapping[int, Expression]) -> list[Expression]:
    return [one for one in loop.border.values() if one.serial not in made]


def _distinct(pairs: Sequence[Pair], made: dict[int, Expression]) -> list[Pair]:
    first: dict[int, Pair] = {}
    for inner, outer in pairs:
        if outer.serial in first:
            made[inner.serial] = first[outer.serial][0]
        else:
            first[outer.serial] = (inner, outer)
    return list(first.values())


def _stack_of(value: Expression, loop: OpenLoop) -> Expression:
    """A value that is the same in every step, as the ys stack it."""
    return ops.broadcast_to(ops.expand_dims(value, 0), (loop.length, *value.shape))


def _read_by_cond(node: Node, used: set[int]) -> list[int]:
    pred, *operands = node.operands
    return [pred, *(operands[i] for i in _read_inputs(node, used))]


def _read_inputs(node: Node, used: set[int]) -> list[int]:
    """The positions of what the branches read to compute the used items."""
    found: set[int] = set()
    for body in (node.attrs["on_true"], node.attrs["on_false"]):
        inputs, outputs = body.expressions()
        reached = {one.serial for one in between([outputs[i] for i in sorted(used)], {})}
        found |= {i for i, one in enumerate(inputs) if one.serial in reached}
    return sorted(found)


def _pruned_cond(
    operands: Sequence[Expression], node: Node, used: set[int]
) -> list[Expression | None]:
    read, kept = _read_inputs(node, used), sorted(used)
    attrs = {}
    for key in ("on_true", "on_false"):
        inputs, outputs = node.attrs[key].expressions()
        used_outputs = [outputs[i] for i in kept]
        _report_dropped(outputs, used_outputs, {})
        attrs[key] = Body.of([inputs[i] for i in read], used_outputs)
    pred, *others = operands
    new = Expression(control.cond, (pred, *(others[i] for i in read)), attrs)
    items = dict(zip(kept, items_of(new, len(kept)), strict=True))
    type: Any = node.type
    return [items.get(i) for i in range(len(type.items))]
