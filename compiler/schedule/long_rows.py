"""One long row that is swept several times: each sweep a group of its own, which threads share.

Rows are shared among threads as they are; a group of a single row, such as the softmax of a vector,
would be computed by one. Cut where a reduction is complete, each of its passes is a loop whose
chunks are combined at its end; what later passes need is in memory, as it was. A row of unknown
length stays whole: it may be short, where passes of their own take up to twice as long, and they
take longer to compile.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from staticgraph.compiler.core.dims import product
from staticgraph.compiler.core.lowering import Reduce
from staticgraph.compiler.schedule.access import canonical, demands, reach
from staticgraph.compiler.schedule.groups import Fusion, Group, LoopGroup, is_row
from staticgraph.compiler.schedule.row_passes import RowPasses, reduction_operand, row_passes_of

SHORT = 1 << 17  # elements of a row that one thread sweeps sooner than two begin


def cut_long_rows(fusion: Fusion) -> Fusion:
    """The same with each group of one row that is known to be long cut into its passes."""
    groups: list[Group] = []
    for group in fusion.groups:
        if not isinstance(group, LoopGroup) or not _is_one_long_row(fusion, group):
            groups.append(group)
            continue
        row_passes = row_passes_of(fusion, group)
        parts = [group]
        if row_passes.count > 1:
            fusion, parts = _cut(fusion, group, row_passes)
        groups += parts
    return replace(fusion, groups=tuple(groups))


def _is_one_long_row(fusion: Fusion, group: LoopGroup) -> bool:
    if group.split is None:
        return False
    if product(group.domain[: group.split]) != 1 or fusion.deferred.intersection(group.members):
        return False
    length = product(group.domain)
    return isinstance(length, int) and length >= SHORT


def _cut(fusion: Fusion, group: LoopGroup, row_passes: RowPasses) -> tuple[Fusion, list[LoopGroup]]:
    """The groups of the passes over a row, and the partition with these."""
    again = {
        node
        for row_pass, computed in enumerate(row_passes.computed)
        for node in computed
        if row_passes.level[node] < row_pass and node not in row_passes.kept
    }
    parts = [LoopGroup(group.order, group.domain, group.split) for _ in range(row_passes.count)]
    parts[0].fills = group.fills
    home = dict(fusion.home)
    for node_id in group.members:
        if node_id in again:
            del home[node_id]
            continue
        level = row_passes.level[node_id]
        # what is known of the row as soon as a pass has ended belongs to that pass
        at_end = level > 0 and is_row(group, fusion.nodes[node_id].type.shape)
        if at_end and not isinstance(fusion.nodes[node_id].op.lowering, Reduce):
            level -= 1
        home[node_id] = parts[level]
        parts[level].members.append(node_id)
    for store, level in zip(group.stores, row_passes.store_level, strict=True):
        if home[store.target] is group:  # it may be a later one that completes it
            home[store.target] = parts[level]
        parts[level].stores.append(store)
    parts = [part for part in parts if part.members or part.stores or part.fills]
    virtual = fusion.virtual | again
    fusion = replace(fusion, home=home, virtual=virtual, stored=fusion.stored | row_passes.kept)
    for part in parts:
        part.reads = set(_read(fusion, part))
    across = {node for part in parts for node in part.reads if home.get(node) not in (None, part)}
    return replace(fusion, stored=fusion.stored | across), parts


def _read(fusion: Fusion, group: LoopGroup) -> Iterator[int]:
    """The values that the members and stores of a group read."""
    for node_id in group.members:
        node = fusion.nodes[node_id]
        if isinstance(node.op.lowering, Reduce):
            found = reach(fusion.nodes, fusion.virtual, *reduction_operand(fusion, node_id))
        else:
            found = demands(fusion.nodes, fusion.virtual, node, canonical(node.type.shape))
        yield from (base for base, _ in found)
    for store in group.stores:
        index = canonical(fusion.nodes[store.value].type.shape)
        yield from (base for base, _ in reach(fusion.nodes, fusion.virtual, store.value, index))
