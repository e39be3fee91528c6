"""Which groups are computed in chunks, that threads may share, and how many there are.

How many depends on sizes alone, and so do the results: each chunk sums into memory of its own, and
the chunks' sums are added in their order, whoever computed them.
"""

from __future__ import annotations

from collections.abc import Mapping

from staticgraph.compiler.codegen.loops import Nest, NestedLoop
from staticgraph.compiler.codegen.scalar import expensive_calls
from staticgraph.compiler.codegen.statements import INDICES, Body, Memory, Statement, Total
from staticgraph.compiler.core import affine
from staticgraph.compiler.core.dims import Size, product
from staticgraph.compiler.core.record import frozen
from staticgraph.compiler.graph.definition import Node
from staticgraph.compiler.schedule.chunks import PRODUCT_GRAIN, Cells, Chunks, Cut

GRAIN = 400_000  # statements that one chunk runs at least: 10 to 100 µs
MOST = 32  # chunks
FEW_CHUNKS = 4  # where each has a large result of its own
LINE = 64  # elements, which are at least as many bytes as a cache line has
MOST_GATHERED = 1 << 14  # elements, of a known number, that each chunk may sum on its own
LEAST_SUMMED = 32  # iterations of a chunk that sums as many elements as each of them has
FUNCTION_COST = 8  # statements that take as long as one function such as exp
GATHER_COST = 8  # the same, as an element from where an index says: it is read alone


@frozen(eq=False)
class ChunkPlan:
    """How a group is computed in chunks.

    Attributes:
        totals: what each chunk leaves a value of.
        memory: what each chunk has memory of its own for, and after how many elements the next
            chunk's begins.
        gathered: the nodes that each chunk sums in such memory.
        chunks: None if there is only one.
    """

    chunks: Cut | None
    totals: tuple[Total, ...]
    memory: Mapping[Memory, Size]
    gathered: tuple[int, ...]


def flat_chunks(size: Size) -> Chunks | None:
    """The chunks of a loop that fills or copies `size` elements; None for few."""
    return _worthwhile(Chunks(size, 2 * size, 1, GRAIN, MOST))


def product_chunks(extent: Size, products: Size, least: int = 1) -> Chunks | None:
    """The chunks of matrix products of so many multiplications in all, along one axis."""
    few = isinstance(products, int) and products < 2 * PRODUCT_GRAIN
    short = isinstance(extent, int) and extent < 2 * least
    return None if few or short else Chunks(extent, products, least, PRODUCT_GRAIN, MOST)


def product_cells(cells: Cells) -> Cells | None:
    """The cells of the result of a product; None for a small one."""
    products = cells.products
    few = isinstance(products, int) and products < 2 * PRODUCT_GRAIN
    return None if few else cells


def plan_chunks(nodes: Mapping[int, Node], body: Body, nest: Nest) -> ChunkPlan | None:
    """The plan for a group; None if it is little work, or its iterations depend on each other."""
    loop = nest.outermost
    if loop is None or obstacle(nodes, body, nest):
        return None
    gathered = [node for node in body.gathered if not _keeps(loop, nodes[node])]
    sizes = {node: nodes[node].type.size for node in gathered}
    # of a size that is not known, many rows are summed before the chunks' sums are added
    least = 1 if all(isinstance(size, int) for size in sizes.values()) else LEAST_SUMMED
    cost = sum(_cost(line) for part in body.passes for line in part)
    work = product(body.group.domain) * cost
    chunks = _worthwhile(Chunks(loop.extent, work, least, GRAIN, MOST))
    if chunks is None:
        return None
    totals = tuple(body.totals if nest.rows else body.sums)
    memory = {key: padded(size) for key, size in own_memory(body).items()}
    memory |= {("partial", node): padded(size) for node, size in sizes.items()}
    memory |= {("total", i): 1 for i in range(len(totals))}
    return ChunkPlan(chunks, totals, memory, tuple(gathered))


def obstacle(nodes: Mapping[int, Node], body: Body, nest: Nest) -> str:
    """Why a group cannot be computed in chunks, however much work it is; empty if it can."""
    loop = nest.outermost
    if loop is None:
        return "there is no loop"
    if not (nest.rows or _is_one_pass(body)):
        return "each loop needs all of the one before"
    if not all(_moves(loop, body, target) for target in body.placed):
        return "iterations may write to one place"
    summed = [node for node in body.gathered if not _keeps(loop, nodes[node])]
    sizes = [nodes[node].type.size for node in summed]
    if any(isinstance(size, int) and size > MOST_GATHERED for size in sizes):
        return "what each thread would sum on its own is too large"
    return ""


def padded(size: Size) -> Size:
    """At least so many elements, such that no two chunks write to one cache line."""
    return (size + LINE - 1) // LINE * LINE


def own_memory(body: Body) -> dict[Memory, Size]:
    """What a group has memory of its own for beside the values of nodes, and how many elements."""
    tile = body.tile
    if tile is None:
        indices = body.blocks.indices if body.blocks else ()
        rows: dict[Memory, Size] = {("index", i): INDICES for i in range(len(indices))}
        return rows | {("scratch", node): size for node, size in body.scratch.items()}
    own: dict[Memory, Size] = {
        ("scratch", node): tile.rows * size if isinstance(tile.rows, int) else tile.room
        for node, size in body.scratch.items()
    }
    most = tile.rows if isinstance(tile.rows, int) else tile.most
    return own | {("spill", i): most for i in range(len(tile.spills))}


def _cost(line: Statement) -> int:
    gathers = line.memory is not None and bool(line.place.dynamic)
    return 1 + FUNCTION_COST * expensive_calls(line.value) + GATHER_COST * gathers


def _worthwhile(chunks: Chunks) -> Chunks | None:
    few = isinstance(chunks.work, int) and chunks.work < 2 * GRAIN
    return None if few or chunks.extent == 1 else chunks


def _is_one_pass(body: Body) -> bool:
    """Whether a group without rows goes over its elements once, and writes nothing before."""
    if any(body.passes[1:]) or body.scratch:
        return False
    return not any(line.memory and line.writes for line in body.rows[0])


def _keeps(loop: NestedLoop, node: Node) -> bool:
    """Whether a reduction keeps every axis of the loop: no two iterations meet an element."""
    return not set(loop.axes) & set(node.attrs["axes"])


def _moves(loop: NestedLoop, body: Body, target: int) -> bool:
    """Whether each iteration of the loop adds into a slice of its own of the target."""
    return all(
        any(part == affine.loop(axis) for part in store.index)
        for store in body.group.stores
        if store.target == target
        for axis in loop.axes
    )
