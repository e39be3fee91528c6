"""The networkx DAG of a computation: built once from expressions, interned, frozen.

A graph is a `networkx.MultiDiGraph`. Nodes are ints in an order in which operands come first, with
exactly the attributes `op`, `type`, `attrs`, `name` and `source`; an edge's key is the position
of the operand. The graph's own attributes are `inputs` and `outputs` (tuples of nodes) and
`updates` (pairs of a variable's node and the node of its next value).
"""

from __future__ import annotations

import itertools
import textwrap
import weakref
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from staticgraph.compiler.core import fork
from staticgraph.compiler.core.errors import GraphError
from staticgraph.compiler.core.reports import Report, collector
from staticgraph.compiler.core.types import TensorType
from staticgraph.compiler.graph.definition import Definition, Node, Updates, define, intern_key
from staticgraph.compiler.graph.expression import Expression, again
from staticgraph.compiler.graph.traversal import ancestors, fold_records

if TYPE_CHECKING:
    import networkx as nx

__all__ = [
    "NODE_ATTRIBUTES", "build", "expressions_of", "graph_of", "intern_key", "nodes_of",
    "operands_of", "rebuilt", "to_text", "verify",
]  # fmt: skip

NODE_ATTRIBUTES = frozenset({"op", "type", "attrs", "name", "source"})


def build(
    inputs: Sequence[Expression], outputs: Sequence[Expression], updates: Updates = ()
) -> nx.MultiDiGraph[int]:
    """The frozen graph that computes `outputs` and the new values of `updates`."""
    return graph_of(define(inputs, outputs, updates))


def graph_of(definition: Definition) -> nx.MultiDiGraph[int]:
    """The frozen graph of a definition."""
    with fork.importing:
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


def operands_of(graph: nx.MultiDiGraph[int], node: int) -> tuple[int, ...]:
    """The operands of a node in their order."""
    edges = [(position, operand) for operand, _, position in graph.in_edges(node, keys=True)]
    return tuple(operand for _, operand in sorted(edges))


def expressions_of(graph: nx.MultiDiGraph[int]) -> dict[int, Expression]:
    """The graph's nodes as expressions again, operands first."""
    return fold_records(nodes_of(graph).values(), again)


def rebuilt(graph: nx.MultiDiGraph[int], made: Mapping[int, Expression]) -> nx.MultiDiGraph[int]:
    """The graph in which each root of `graph` is replaced by the expression made for it."""
    roots: Mapping[str, Any] = graph.graph
    inputs = [made[node] for node in roots["inputs"]]
    outputs = [made[node] for node in roots["outputs"]]
    updates = [(made[variable], made[new]) for variable, new in roots["updates"]]
    reports = collector()
    if reports is not None:
        kept = {one.serial for one in ancestors([*inputs, *outputs, *itertools.chain(*updates)])}
        reports.extend(_dropped(nodes_of(graph), made, kept))
    return build(inputs, outputs, updates)


def _dropped(
    nodes: Mapping[int, Node], made: Mapping[int, object], kept: Container[int]
) -> Iterator[Report]:
    """The nodes of which nothing is left, each with those that have read it."""
    readers: dict[int, list[Node]] = {number: [] for number in nodes}
    for node in nodes.values():
        for operand in dict.fromkeys(node.operands):
            readers[operand].append(node)
    for number, node in nodes.items():
        value = made.get(number)
        if isinstance(value, Expression) and value.serial not in kept:
            others = tuple([(one.op.name, one.source) for one in readers[number]])
            yield Report("dropped", node.source, node.op.name, "", "nothing reads it", others)


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


def to_text(graph: nx.MultiDiGraph[int]) -> str:
    """One line per node, always the same for equal graphs: `%3 = add(%1, %2) : float32[n]`.

    The bodies of loops and branches follow their node, indented.
    """
    lines = []
    for node in sorted(graph):
        data = graph.nodes[node]
        parts = [f"%{operand}" for operand in operands_of(graph, node)]
        parts += [
            f"{key}={value}"
            for key, value in sorted(data["attrs"].items())
            if (key not in ("key", "dtype") or data["op"].name == "astype")
            and not hasattr(value, "graph")
        ]
        name = f"  # {data['name']!r}" if data["name"] else ""
        line = f"%{node} = {data['op'].name}({', '.join(parts)}) : {data['type']}{name}"
        # a size is named after its placeholder, whose name may be any text
        lines.append("".join(c if c.isprintable() else repr(c)[1:-1] for c in line))
        for key, value in sorted(data["attrs"].items()):
            if hasattr(value, "graph"):
                lines += [f"  {key}:", textwrap.indent(to_text(value.graph), "    ")]
    outputs = ", ".join(f"%{node}" for node in graph.graph["outputs"])
    lines.append(f"return {outputs}")
    lines += [f"update %{variable} <- %{new}" for variable, new in graph.graph["updates"]]
    return "\n".join(lines)
