"""Unify sizes: unknowns that the type rules assume to be equal become one unknown, or a number.

Whether they are equal is checked at run time, before native code runs: the executable infers the
types of the graph as it was defined again, with the sizes of the call.
"""

from __future__ import annotations

from staticgraph.compiler.core import dims
from staticgraph.compiler.core.dims import Size, Unknown
from staticgraph.compiler.core.types import collecting_assumptions, substituted
from staticgraph.compiler.graph.definition import Definition, Node, rebuilt
from staticgraph.compiler.graph.expression import Expression
from staticgraph.compiler.graph.traversal import fold_records


def unify_sizes(graph: Definition) -> tuple[Definition, dict[Unknown, Size]]:
    """The graph with equal unknowns merged, and what each merged unknown became."""
    merged: dict[Unknown, Size] = {}
    for left, right in _assumptions(graph):
        _merge(merged, left, right)
    if not merged:
        return graph, merged

    def remade(node: Node, operands: tuple[Expression, ...]) -> Expression:
        attrs = {key: substituted(value, merged) for key, value in node.attrs.items()}
        return Expression(node.op, operands, attrs, node.name, node.source)

    return rebuilt(graph, fold_records(graph.nodes, remade)), merged


def _assumptions(graph: Definition) -> list[tuple[Size, Size]]:
    nodes = graph.numbered()
    with collecting_assumptions() as pairs:
        for node in nodes.values():
            types = (nodes[operand].type for operand in node.operands)
            node.op.infer_type(*types, **node.attrs)
    return list(dict.fromkeys(pairs))


def _merge(merged: dict[Unknown, Size], left: Size, right: Size) -> None:
    left, right = substituted(left, merged), substituted(right, merged)
    for one, other in ((right, left), (left, right)):
        atom = dims.as_unknown(one)
        if atom is not None and one != other and atom not in dims.atoms([other]):
            for known, size in merged.items():
                merged[known] = substituted(size, {atom: other})
            merged[atom] = other
            return
