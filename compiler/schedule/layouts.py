"""Matrices that are read across, by what reduces their rows, in the order of the rows.

Reading a transposed matrix row by row meets a line of the cache per element, and comes back to it
only with the next row. Where the elements of a row are needed one after the other, to reduce them,
such a matrix is written out in row-major order first: in strips, which use up each line. Measured
on the softmax over the rows of a transposed float32 matrix: 1.5 (1000, 1000) to 4 times as fast
(1024, 1024, where lines meet in few places of the cache).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from staticgraph.compiler.core.dims import Size
from staticgraph.compiler.core.lowering import IndexMap, Pointwise, Reduce
from staticgraph.compiler.core.reports import Report, collector
from staticgraph.compiler.graph.definition import Definition, Node, rebuilt
from staticgraph.compiler.graph.expression import Expression
from staticgraph.compiler.ops.shapes.shape import reshape
from staticgraph.compiler.schedule.access import (
    canonical,
    contiguous_strides,
    is_free,
    offset_of,
    reach,
)
from staticgraph.compiler.schedule.groups import trailing_axes

LEAST_SIZE = 1 << 14  # elements: fewer stay in the cache, however they are read
SHORT = 8  # elements of a row that is written out: then several rows are read at once, as vectors
LINE = 16  # elements: from this distance on, each is in a line of its own


def arrange_rows(graph: Definition) -> Definition:
    """The graph in which rows that are reduced lie in memory row by row."""
    nodes = graph.numbered()
    reduced = [
        node.operands[0]
        for node in nodes.values()
        if isinstance(node.op.lowering, Reduce) and _reduces_rows(nodes, node)
    ]
    across = {node for node in _moved(nodes, reduced) if _is_read_across(nodes, nodes[node])}
    if not across:
        return graph
    reports = collector()
    made: dict[int, Expression] = {}
    for node_id, old in enumerate(graph.expressions()):
        operands = tuple([made[operand] for operand in nodes[node_id].operands])
        if not operands:
            made[node_id] = old
            continue
        new = Expression(old.op, operands, old.attrs, old.name, old.source, old.type)
        if node_id in across:
            shape = {"shape": old.type.shape}
            new = Expression(reshape, (new,), shape, old.name, old.source, old.type)
            if reports is not None:
                text = "written out row by row before its rows are reduced"
                by = arrange_rows.__name__
                reports.append(Report("copied", old.source, old.op.name, by, text))
        made[node_id] = new
    return rebuilt(graph, made)


def _reduces_rows(nodes: Mapping[int, Node], node: Node) -> bool:
    """Whether a reduction has a result for each row, which is its last axes."""
    shape = nodes[node.operands[0]].type.shape
    first = len(shape) - trailing_axes(node.attrs["axes"], len(shape))
    return first < len(shape) and any(size != 1 for size in shape[:first])


def _moved(nodes: Mapping[int, Node], reduced: Sequence[int]) -> Iterator[int]:
    """What is only moved in memory, and what the elements of reduced values are computed from."""
    pending, seen = list(reduced), set(reduced)
    while pending:
        node = nodes[pending.pop()]
        if isinstance(node.op.lowering, IndexMap):
            yield node.id
        elif isinstance(node.op.lowering, Pointwise):
            # an operand that broadcasts has fewer elements, which are read again and again
            alike = {one for one in node.operands if nodes[one].type.shape == node.type.shape}
            pending += sorted(alike - seen)
            seen |= alike


def _is_read_across(nodes: Mapping[int, Node], node: Node) -> bool:
    """Whether neighbours in a row are far apart in memory, and those in a column are not."""
    shape = node.type.shape
    if isinstance(node.type.size, int) and node.type.size < LEAST_SIZE:
        return False
    found = list(reach(nodes, (), node.id, canonical(shape)))
    if len(found) != 1 or is_free(nodes[found[0][0]]):
        return False
    base, index = found[0]
    place = offset_of(index, contiguous_strides(nodes[base].type.shape))
    *others, last = [axis for axis, size in enumerate(shape) if size != 1]
    columns = shape[last]
    if isinstance(columns, int) and columns <= SHORT:
        return False
    near = [axis for axis in others if 0 < _distance(place.coefficient(axis)) < LINE]
    return _distance(place.coefficient(last)) >= LINE and bool(near)


def _distance(stride: Size) -> int:
    return abs(stride) if isinstance(stride, int) else LINE
