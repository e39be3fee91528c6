"""Node: a graph's node as a record, for passes that read the graph many times."""

from __future__ import annotations

from dataclasses import dataclass

import networkx as nx

from compiler.graph.build import operands_of
from compiler.op import Attrs, Op
from compiler.types import TensorType


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """One node of a graph with its operands in order."""

    id: int
    op: Op
    operands: tuple[int, ...]
    attrs: Attrs
    type: TensorType
    name: str | None
    source: str


def nodes_of(graph: nx.MultiDiGraph[int]) -> dict[int, Node]:
    """All nodes of a graph, operands first."""
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
