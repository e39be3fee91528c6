"""The error of an index that a kernel found out of range, in the terms of who wrote it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import networkx as nx

from staticgraph.compiler.core.dims import Unknown, evaluate
from staticgraph.compiler.core.errors import OutOfRangeError
from staticgraph.compiler.core.lowering import Gather
from staticgraph.compiler.graph.build import operands_of

if TYPE_CHECKING:
    import networkx as nx


def out_of_range(
    defined: nx.MultiDiGraph[int],
    lowered: nx.MultiDiGraph[int],
    node: int,
    index: int,
    sizes: Mapping[Unknown, int],
) -> OutOfRangeError:
    """The error for `node` of the lowered graph, which met `index`.

    The op that it names is that of the graph as it was defined: a cross_entropy, not the gather
    that it was lowered to.
    """
    data = lowered.nodes[node]
    gathers = isinstance(data["op"].lowering, Gather)
    type = lowered.nodes[operands_of(lowered, node)[0]]["type"] if gathers else data["type"]
    axis = data["attrs"]["axis"]
    size = evaluate(type.shape[axis], sizes)
    return OutOfRangeError(
        f"{_written_as(defined, lowered, node)}: index {index} is out of range for axis {axis} "
        f"of size {size}, of {type} ({data['source']})"
    )


def _written_as(defined: nx.MultiDiGraph[int], lowered: nx.MultiDiGraph[int], node: int) -> str:
    """The op of the defined graph that the node comes from: one of the same line."""
    data = lowered.nodes[node]
    here = [other for other in sorted(defined) if defined.nodes[other]["source"] == data["source"]]
    name: str = data["op"].name
    if any(defined.nodes[other]["op"] is data["op"] for other in here):
        return name
    composites = [
        defined.nodes[other]["op"].name
        for other in here
        if defined.nodes[other]["op"].expand is not None
        and any(defined.nodes[o]["type"].dtype.kind in "iu" for o in operands_of(defined, other))
    ]
    return " or ".join(dict.fromkeys(composites)) or name
