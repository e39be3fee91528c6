"""What a group fills before it writes to some of it: at once, or piece by piece in its own loops.

Padding gives each image zeros, and then writes inside. Where the outermost loop goes from one such
piece to the next, a piece is filled when its turn comes, and is in the cache when the rest is
written: the padded array goes to memory once, not three times.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from staticgraph.compiler.codegen.chunks import ChunkPlan
from staticgraph.compiler.codegen.loops import Nest
from staticgraph.compiler.codegen.statements import Body
from staticgraph.compiler.core.affine import Affine
from staticgraph.compiler.core.dims import Size
from staticgraph.compiler.graph.definition import Node

LARGEST = 1 << 16  # elements of a piece: an eighth of a second level of the cache, in float32


def pieces(
    nodes: Callable[[int], Node], body: Body, nest: Nest, plan: ChunkPlan | None
) -> dict[int, int]:
    """How large the pieces are of the nodes that the loops of a group fill piece by piece."""
    if nest.rows or nest.strips or nest.written_out < 2 or len(body.passes) != 1:
        return {}
    found = {}
    for node, _ in body.fills:
        if plan is not None and node in plan.gathered:
            continue
        size = _piece(nodes(node).type.size, node, body, nest)
        if size is not None:
            found[node] = size
    return found


def _piece(size: Size, node: int, body: Body, nest: Nest) -> int | None:
    """How much of a node an iteration of the outermost loop writes to, and no other one does."""
    outer, *inner = nest.columns
    if any(loop.extent == 0 for loop in inner):
        return None
    memory = ("node", node)
    places = [one.place for one in body.passes[0] if one.memory == memory and one.writes]
    steps = {place.coefficient(outer.axes[-1]) for place in places}
    step = steps.pop() if len(steps) == 1 else 0
    if not isinstance(step, int) or not 0 < step <= LARGEST or step * outer.extent != size:
        return None
    extents = {loop.axes[-1]: loop.extent for loop in inner}
    for place in places:
        if not all(end is not None and 0 <= end < step for end in _ends(place, extents)):
            return None
    return step


def _ends(place: Affine, extents: dict[int, Size]) -> Iterator[int | None]:
    """The first and the last place in a piece; None where that is not known."""
    least, most = place.constant, place.constant
    if place.dynamic:
        yield None
    for axis, step in place.terms:
        if axis not in extents:
            continue
        extent = extents[axis]
        if not isinstance(step, int) or not isinstance(extent, int):
            yield None
            return
        reach = step * (extent - 1)
        least, most = least + min(reach, 0), most + max(reach, 0)
    for end in (least, most):
        yield end if isinstance(end, int) else None
