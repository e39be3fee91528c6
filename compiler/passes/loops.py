"""What the passes on loops and branches share, and the optimisation of their bodies."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from staticgraph.compiler.core.lowering import Nested
from staticgraph.compiler.graph.body import Body
from staticgraph.compiler.graph.definition import Definition, Node, rebuilt
from staticgraph.compiler.graph.expression import Expression, again, at_line
from staticgraph.compiler.graph.loop import items_of
from staticgraph.compiler.ops.programs import control

Rewrite = Callable[[Node, Mapping[int, Any]], "Sequence[Expression | None] | None"]
"""Per item of a loop or branch the expression that takes its place, given those made for other
nodes; None where the item is not used, or for all where nothing changes."""


def rewrite_loops(graph: Definition, rewrite: Rewrite) -> Definition:
    """The graph in which each loop or branch is replaced by what `rewrite` gives."""
    if not any(isinstance(node.op.lowering, Nested) for node in graph.nodes):
        return graph
    made: dict[int, Any] = {}
    for node in graph.nodes:
        if node.op is control.item and not isinstance(made[node.operands[0]], Expression):
            made[node.id] = made[node.operands[0]][node.attrs["index"]]
            continue
        results = None
        if isinstance(node.op.lowering, Nested):
            with at_line(node.source):
                results = rewrite(node, made)
        operands = tuple(made[operand] for operand in node.operands)
        made[node.id] = again(node, operands) if results is None else results
    return rebuilt(graph, made)


def optimise_bodies(graph: Definition, optimise: Callable[[Definition], Definition]) -> Definition:
    """The graph with the bodies of its loops and branches optimised."""

    def rewrite(node: Node, made: Mapping[int, Any]) -> list[Expression]:
        operands = tuple(made[operand] for operand in node.operands)
        attrs = {
            key: Body(optimise(value.definition)) if isinstance(value, Body) else value
            for key, value in node.attrs.items()
        }
        type: Any = node.type
        return items_of(Expression(node.op, operands, attrs), len(type.items))

    return rewrite_loops(graph, rewrite)
