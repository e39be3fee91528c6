"""The error of an index that a kernel found out of range, in the terms of who wrote it."""

from __future__ import annotations

from collections.abc import Mapping

from staticgraph.compiler.core.dims import Unknown, evaluate
from staticgraph.compiler.core.errors import OutOfRangeError
from staticgraph.compiler.core.lowering import Gather
from staticgraph.compiler.graph.definition import Definition, Node


def out_of_range(
    defined: Definition,
    lowered: Definition,
    node: Node,
    index: int,
    sizes: Mapping[Unknown, int],
) -> OutOfRangeError:
    """The error for `node` of the lowered graph, which met `index`.

    The op that it names is that of the graph as it was defined: a cross_entropy, not the gather
    that it was lowered to.
    """
    gathers = isinstance(node.op.lowering, Gather)
    type = lowered.nodes[node.operands[0]].type if gathers else node.type
    axis = node.attrs["axis"]
    size = evaluate(type.shape[axis], sizes)
    return OutOfRangeError(
        f"{_written_as(defined, node)}: index {index} is out of range for axis {axis} "
        f"of size {size}, of {type} ({node.source})"
    )


def _written_as(defined: Definition, node: Node) -> str:
    """The op of the defined graph that the node comes from: one of the same line."""
    here = [other for other in defined.nodes if other.source == node.source]
    if any(other.op is node.op for other in here):
        return node.op.name
    composites = [
        other.op.name
        for other in here
        if other.op.expand is not None
        and any(defined.nodes[one].type.dtype.kind in "iu" for one in other.operands)
    ]
    return " or ".join(dict.fromkeys(composites)) or node.op.name
