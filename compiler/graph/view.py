"""A graph's nodes as records, for passes that read the graph many times."""

from __future__ import annotations

from typing import TYPE_CHECKING

from staticgraph.compiler.graph.build import nodes_of
from staticgraph.compiler.graph.definition import Definition, Node

if TYPE_CHECKING:
    import networkx as nx

__all__ = ["Node", "definition_of", "nodes_of"]


def definition_of(graph: nx.MultiDiGraph[int]) -> Definition:
    """The definition that a graph is made of."""
    roots = graph.graph
    nodes = tuple(nodes_of(graph).values())
    return Definition(nodes, roots["inputs"], roots["outputs"], roots["updates"])
