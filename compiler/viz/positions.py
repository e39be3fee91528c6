"""Positions on a line that keep given distances and make the weighted lengths of links minimal.

The linear program of Gansner, Koutsofios, North, Vo (A technique for drawing directed graphs,
1993), for layers as well as for coordinates. Its dual is a flow of least cost, which networkx
finds; the positions are the potentials of that flow, the shortest paths in its residual graph.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import networkx as nx

from staticgraph.compiler.core.record import frozen


@frozen
class Link:
    """A wish, or a rule, for the positions of two items.

    Attributes:
        low, high: the items.
        length: the distance from low to high, a whole number.
        weight: the cost of each unit that the distance is longer or shorter, a whole number; None
            if it must not be shorter and may be longer at no cost.
    """

    low: int
    high: int
    length: int
    weight: int | None


def positions(items: Sequence[int], links: Iterable[Link]) -> dict[int, tuple[int, int]]:
    """The least and the greatest position of each item; the least of all is 0.

    All items at their least positions, all at their greatest, and all in the middle between the
    two are solutions. Links without weight must form no cycle.
    """
    graph: nx.MultiDiGraph[int] = nx.MultiDiGraph()
    graph.add_nodes_from(items)
    for link in links:
        if link.weight is None:
            graph.add_edge(link.low, link.high, weight=-link.length)
        else:
            graph.add_edge(link.low, link.high, weight=-link.length, capacity=link.weight)
            graph.add_edge(link.high, link.low, weight=link.length, capacity=link.weight)
    _, flow = nx.network_simplex(graph)
    residual: nx.DiGraph[int] = nx.DiGraph()
    residual.add_nodes_from(items)
    for low, high, key, data in graph.edges(keys=True, data=True):
        used = flow[low][high][key]
        if used < data.get("capacity", used + 1):
            _relax(residual, low, high, data["weight"])
        if used > 0:
            _relax(residual, high, low, -data["weight"])
    down, up = _nearest(residual), _nearest(residual.reverse())
    highest = -min(down[item] for item in items)
    return {item: (-down[item], highest + up[item]) for item in items}


def _nearest(residual: nx.DiGraph[int]) -> dict[int, int]:
    """The length of the shortest path that ends at each item; at most 0."""
    graph = residual.copy()
    origin = -1
    graph.add_weighted_edges_from((origin, item, 0) for item in residual)
    lengths: dict[int, int] = nx.single_source_bellman_ford_path_length(graph, origin)
    return lengths


def _relax(residual: nx.DiGraph[int], low: int, high: int, weight: int) -> None:
    known = residual.get_edge_data(low, high)
    if known is None or known["weight"] > weight:
        residual.add_edge(low, high, weight=weight)
