"""Hoist out of scans what need not wait for the step before."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from typing import Any

from staticgraph.compiler import ops
from staticgraph.compiler.core.lowering import Alias, Gather, Host, IndexMap
from staticgraph.compiler.core.record import frozen
from staticgraph.compiler.core.reports import collector, report_all
from staticgraph.compiler.graph.definition import Definition, Node
from staticgraph.compiler.graph.evaluate import substitute
from staticgraph.compiler.graph.expression import Expression, named
from staticgraph.compiler.graph.loop import OpenLoop, Pair, open_loop
from staticgraph.compiler.graph.traversal import between
from staticgraph.compiler.ops.batching import Example
from staticgraph.compiler.ops.programs import control
from staticgraph.compiler.passes.distribute import distribute
from staticgraph.compiler.passes.loops import rewrite_loops


def hoist_invariants(graph: Definition) -> Definition:
    """The graph in which what is the same in all steps of a scan is computed before it.

    What only moves elements stays inside, where it costs nothing; but a matrix that is multiplied
    from the left is transposed once. Products of rows with rows are the slowest: of (32, 64) with
    (64, 64), OpenBLAS takes 2.7 times as long (measured on an Emerald Rapids).
    """
    return _hoisting(graph, _invariants)


def hoist_products(graph: Definition) -> Definition:
    """The graph in which a product of slices of the xs with a const is one product before the scan:
    `x[t] @ W` for all t is `reshape(x, (t * m, k)) @ W`, whose slices the scan takes.

    So are ys that come from the xs alone.
    """
    return _hoisting(graph, _products)


def _hoisting(graph: Definition, hoisted: Callable[[OpenLoop], OpenLoop]) -> Definition:
    def rewrite(node: Node, made: Mapping[int, Any]) -> Sequence[Expression] | None:
        if node.op is not control.scan:
            return None
        return hoisted(open_loop([made[operand] for operand in node.operands], node.attrs)).close()

    return rewrite_loops(graph, rewrite)


@frozen(eq=False)
class Kinds:
    """What the values of a body depend on, other than the carries; by serial.

    Attributes:
        fixed: the same in every step.
        sliced: of the slices of the xs, and of what is fixed.
        again: what follows from values that are computed again, so that they are not kept.
    """

    fixed: dict[int, Expression] = field(default_factory=dict)
    sliced: dict[int, Expression] = field(default_factory=dict)
    again: set[int] = field(default_factory=set)


def kinds_of(loop: OpenLoop) -> Kinds:
    """What the values of a body depend on."""
    kinds = Kinds(
        {one.serial: one for one, _ in loop.consts}, {one.serial: one for one, _ in loop.xs}
    )
    runs = isinstance(loop.length, int) and loop.length > 0
    for node in loop.nodes:
        serials = {operand.serial for operand in node.operands}
        if node.op is ops.recompute or serials & kinds.again:
            kinds.again.add(node.serial)
        if serials <= kinds.fixed.keys():
            # an index out of range, or what a call raises, is no error in a loop of no steps
            if runs or not isinstance(node.op.lowering, Gather | Host):
                kinds.fixed[node.serial] = node
        elif serials <= kinds.fixed.keys() | kinds.sliced.keys():
            kinds.sliced[node.serial] = node
    return kinds


def is_weighted(node: Expression, kinds: Kinds) -> bool:
    """Whether a value is a product of what differs from step to step with what does not."""
    if node.op.name != "matmul":
        return False
    left, right = (operand.serial in kinds.fixed for operand in node.operands)
    return left is not right


def stood_for(loop: OpenLoop) -> dict[int, Example]:
    """What stands outside for the consts and the slices, by serial."""
    known = {inner.serial: Example(outer, False, inner.ndim) for inner, outer in loop.consts}
    return known | {inner.serial: Example(outer, True, inner.ndim) for inner, outer in loop.xs}


def _invariants(loop: OpenLoop) -> OpenLoop:
    kinds = kinds_of(loop)
    outer = {inner.serial: outer for inner, outer in loop.consts}
    read = [
        operand
        for node in loop.nodes
        if node.serial not in kinds.fixed
        for operand in node.operands
    ]
    turned = [node.operands[1] for node in loop.nodes if _multiplies_turned(node)]
    new: dict[int, Expression] = {}
    for source in (*turned, *map(_moved, (*read, *loop.outputs))):
        if source.serial in kinds.fixed and source.operands and source.serial not in outer:
            new[source.serial] = source
    if collector() is not None:
        moved = (named(node) for node in between(new.values(), outer) if node.operands)
        report_all("hoisted", hoist_invariants.__name__, moved, "the same in every step")
    values = substitute(list(new.values()), outer)
    pairs: list[Pair] = list(zip(new.values(), values, strict=True))
    return replace(loop, consts=[*loop.consts, *pairs])


def _multiplies_turned(node: Expression) -> bool:
    """Whether a node is a product with a transposed matrix on the right."""
    if node.op is not ops.matmul:
        return False
    right = node.operands[1]
    return right.op is ops.transpose and right.attrs["axes"] == (1, 0)


def _moved(node: Expression) -> Expression:
    """What a value is, before its elements were moved."""
    while isinstance(node.op.lowering, IndexMap | Alias):
        node = node.operands[0]
    return node


def _products(loop: OpenLoop) -> OpenLoop:
    kinds = kinds_of(loop)
    known = stood_for(loop)
    made: dict[int, Example | None] = {}
    pairs: list[Pair] = []
    given = {y.serial for y in loop.ys}
    for node in loop.nodes:
        if node.serial in kinds.sliced and (is_weighted(node, kinds) or node.serial in given):
            distributed = distribute(node, known, loop.length, made)
            if distributed is not None:
                pairs.append((node, distributed.tensor))
                text = "for all steps at once, before the loop"
                report_all("hoisted", hoist_products.__name__, [named(node)], text)
    return replace(loop, xs=[*loop.xs, *pairs])
