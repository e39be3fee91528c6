"""In which pass over its row each member of a loop group is computed, and what must be kept.

A reduction over the columns is known only when the pass that accumulates it has ended, so what
reads it belongs to the next pass. What a later pass reads again is either computed again, where
that is as cheap as a reload, or kept in memory.
"""

from __future__ import annotations

from collections.abc import Iterable

from staticgraph.compiler.core.lowering import Index, Pointwise, Reduce
from staticgraph.compiler.core.record import frozen
from staticgraph.compiler.schedule.access import canonical, demands, reach
from staticgraph.compiler.schedule.groups import Fusion, LoopGroup, is_row


@frozen(eq=False)
class RowPasses:
    """The schedule inside one loop group.

    Attributes:
        level: per member the pass that computes it, or that accumulates it if it is a reduction.
        store_level: per store of the group the pass that does it.
        kept: members that a later pass reads from memory.
        computed: per pass the members, one value per element, that it computes for others.
        count: the number of passes.
    """

    level: dict[int, int]
    store_level: tuple[int, ...]
    kept: frozenset[int]
    computed: tuple[frozenset[int], ...]
    count: int


def row_passes_of(fusion: Fusion, group: LoopGroup) -> RowPasses:
    """Schedule the members of a loop group."""
    return _Scheduler(fusion, group).schedule()


def reduction_operand(fusion: Fusion, node_id: int) -> tuple[int, Index]:
    """The operand of a reduction and the index at which the group's loops read it."""
    operand = fusion.nodes[node_id].operands[0]
    return operand, canonical(fusion.nodes[operand].type.shape)


class _Scheduler:
    def __init__(self, fusion: Fusion, group: LoopGroup) -> None:
        self.fusion = fusion
        self.nodes = fusion.nodes
        self.group = group
        self.level: dict[int, int] = {}
        self.kept: set[int] = set()

    def schedule(self) -> RowPasses:
        for node_id in self.group.members:
            self.level[node_id] = self._latest(self._reads(node_id))
        store_level = tuple(self._latest(self._reached(store.value)) for store in self.group.stores)
        count = 1 + max([*self.level.values(), *store_level], default=0)
        computed = [self._keep_for(row_pass, store_level) for row_pass in reversed(range(count))]
        return RowPasses(
            self.level, store_level, frozenset(self.kept), tuple(computed[::-1]), count
        )

    def _reads(self, node_id: int) -> list[tuple[int, Index]]:
        node, virtual = self.nodes[node_id], self.fusion.virtual
        if isinstance(node.op.lowering, Reduce):
            return list(reach(self.nodes, virtual, *reduction_operand(self.fusion, node_id)))
        return list(demands(self.nodes, virtual, node, canonical(node.type.shape)))

    def _reached(self, node_id: int) -> list[tuple[int, Index]]:
        index = canonical(self.nodes[node_id].type.shape)
        return list(reach(self.nodes, self.fusion.virtual, node_id, index))

    def _latest(self, bases: Iterable[tuple[int, Index]]) -> int:
        return max((self._available(base, index) for base, index in bases), default=0)

    def _available(self, base: int, index: Index) -> int:
        if base not in self.level or self.fusion.home.get(base) is not self.group:
            return 0
        if isinstance(self.nodes[base].op.lowering, Reduce):
            return self.level[base] + 1
        return self.level[base] + (index != canonical(self.nodes[base].type.shape))

    def _is_element(self, node_id: int) -> bool:
        """Whether a member has one value per element and no reduction makes it."""
        node = self.nodes[node_id]
        return not isinstance(node.op.lowering, Reduce) and not is_row(self.group, node.type.shape)

    def _keep_for(self, row_pass: int, store_level: tuple[int, ...]) -> frozenset[int]:
        """Mark what a pass reads of earlier ones and is worth keeping; what it computes."""
        pending: list[list[tuple[int, Index]]] = []
        for node_id in self.group.members:
            needed = (
                not self._is_element(node_id)
                or node_id in self.fusion.stored
                or node_id in self.kept
            )
            if self.level[node_id] == row_pass and needed:
                pending.append(self._reads(node_id))
        for store, level in zip(self.group.stores, store_level, strict=True):
            if level == row_pass:
                pending.append(self._reached(store.value))
        seen: set[int] = set()
        computed: set[int] = set()
        while pending:
            for base, index in pending.pop():
                if base not in self.level or not self._is_element(base):
                    continue
                if index != canonical(self.nodes[base].type.shape):
                    self.kept.add(base)
                elif base not in seen:
                    seen.add(base)
                    if self.level[base] == row_pass or self._recomputed(base):
                        computed.add(base)
                        pending.append(self._reads(base))
                    else:
                        self.kept.add(base)
        return frozenset(computed)

    def _recomputed(self, node_id: int) -> bool:
        """Whether a member is as cheap to compute again as to read back."""
        op = self.nodes[node_id].op
        if (
            node_id in self.fusion.stored
            or not isinstance(op.lowering, Pointwise)
            or op.cost != "cheap"
        ):
            return False
        return all(
            operand not in self.fusion.virtual
            and (operand not in self.level or not self._is_element(operand))
            for operand in self.nodes[node_id].operands
        )
