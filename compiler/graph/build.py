"""The networkx DAG of a computation: built once from expressions, interned, frozen.

A graph is a `networkx.MultiDiGraph`. Nodes are ints in an order in which operands come first, with
exactly the attributes `op`, `type`, `attrs`, `name` and `source`; an edge's key is the position
of the operand. The graph's own attributes are `inputs` and `outputs` (tuples of nodes) and
`updates` (pairs of a variable's node and the node of its next value).
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from staticgraph.compiler.core import fork
from staticgraph.compiler.core.errors import GraphError
from staticgraph.compiler.core.types import TensorType
from staticgraph.compiler.graph.definition import Definition, Node, Updates, define
from staticgraph.compiler.graph.expression import Expression

if TYPE_CHECKING:
    import networkx as nx

__all__ = [
    "NODE_ATTRIBUTES", "build", "definition_of", "graph_of", "nodes_of",
    "operands_of", "verify",
]  # fmt: skip

NODE_ATTRIBUTES = frozenset({"op", "type", "attrs", "name", "source"})


def build(
    inputs: Sequence[Expression], outputs: Sequence[Expression], updates: Updates = ()
) -> nx.MultiDiGraph[int]:
    """The frozen graph that computes `outputs` and the new values of `updates`."""
    return graph_of(define(inputs, outputs, updates))


def graph_of(definition: Definition) -> nx.MultiDiGraph[int]:
    """The frozen graph of a definition."""
    with fork.importing():
        import networkx as nx  # takes longer than a start from the kernel cache has

    graph: nx.MultiDiGraph[int] = nx.MultiDiGraph()
    for node in definition.nodes:
        graph.add_node(
            node.id,
            op=node.op,
            type=node.type,
            attrs=node.attrs,
            name=node.name,
            source=node.source,
        )
        graph.add_edges_from(
            (operand, node.id, position) for position, operand in enumerate(node.operands)
        )
    graph.graph["inputs"] = definition.inputs
    graph.graph["outputs"] = definition.outputs
    graph.graph["updates"] = definition.updates
    _definitions[graph] = definition
    return nx.freeze(graph)


_definitions: weakref.WeakKeyDictionary[Any, Definition] = weakref.WeakKeyDictionary()
"""What each frozen graph was made of: passes read records in a tenth of the time of edges."""


def nodes_of(graph: nx.MultiDiGraph[int]) -> dict[int, Node]:
    """All nodes of a graph as records, operands first."""
    definition = _definitions.get(graph)
    if definition is not None:
        return {node.id: node for node in definition.nodes}
    return {
        node: Node(
            node,
            data["op"],
            operands_of(graph, node),
            data["attrs"],
            data["type"],
            data["name"],
            data["source"],
        )
        for node, data in sorted(graph.nodes.items())
    }


def definition_of(graph: nx.MultiDiGraph[int]) -> Definition:
    """The definition that a graph is made of."""
    known, roots = _definitions.get(graph), graph.graph
    if known is not None:
        return known
    nodes = tuple(nodes_of(graph).values())
    return Definition(nodes, roots["inputs"], roots["outputs"], roots["updates"])


def operands_of(graph: nx.MultiDiGraph[int], node: int) -> tuple[int, ...]:
    """The operands of a node in their order."""
    edges = [(position, operand) for operand, _, position in graph.in_edges(node, keys=True)]
    return tuple(operand for _, operand in sorted(edges))


def verify(graph: nx.MultiDiGraph[int]) -> None:
    """GraphError unless the graph keeps every promise that the module's text makes."""
    for name in ("inputs", "outputs", "updates"):
        if name not in graph.graph:
            raise GraphError(f"verify: the graph has no attribute {name!r}")
    for node in sorted(graph):
        data = graph.nodes[node]
        if set(data) != NODE_ATTRIBUTES:
            raise GraphError(f"verify: node {node} has the attributes {sorted(data)}")
        positions = sorted(position for _, _, position in graph.in_edges(node, keys=True))
        if positions != list(range(len(positions))):
            raise GraphError(f"verify: node {node}: operand positions {positions}")
        operands = operands_of(graph, node)
        if any(operand >= node for operand in operands):
            raise GraphError(f"verify: node {node} comes before one of its operands {operands}")
        _verify_type(graph, node, operands)
    _verify_roots(graph)


def _verify_type(graph: nx.MultiDiGraph[int], node: int, operands: Iterable[int]) -> None:
    data = graph.nodes[node]
    for value in data["attrs"].values():
        if hasattr(value, "graph"):
            verify(value.graph)
    types: list[TensorType] = [graph.nodes[operand]["type"] for operand in operands]
    inferred = data["op"].infer_type(*types, **data["attrs"])
    if inferred != data["type"]:
        raise GraphError(
            f"verify: node {node} ({data['op'].name}) has type {data['type']}, not {inferred}"
        )


def _verify_roots(graph: nx.MultiDiGraph[int]) -> None:
    roots = graph.graph
    for node in (
        *roots["inputs"],
        *roots["outputs"],
        *(n for pair in roots["updates"] for n in pair),
    ):
        if node not in graph:
            raise GraphError(f"verify: root {node} is not in the graph")
    for variable, new in roots["updates"]:
        if graph.nodes[variable]["type"] != graph.nodes[new]["type"]:
            raise GraphError(
                f"verify: the update of node {variable} is {graph.nodes[new]['type']}, "
                f"the variable {graph.nodes[variable]['type']}"
            )
