"""In which pass over its row each member of a loop group is computed, and what must be kept.

A reduction over the columns is known only when the pass that accumulates it has ended, so what
reads it belongs to the next pass. What a later pass reads again is either computed again, where
that is as cheap as a reload, or kept in memory.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from compiler.lowering import Index, Pointwise, Reduce
from compiler.passes.demand import canonical, demands, reach
from compiler.passes.fuse import Fusion, LoopGroup, is_row


@dataclass(frozen=True, slots=True, eq=False)
class Stages:
    """The schedule inside one loop group.

    Attributes:
        level: per member the pass that computes it, or that accumulates it if it is a reduction.
        store_level: per store of the group the pass that does it.
        kept: members that a later pass reads from memory.
        count: the number of passes.
    """

    level: dict[int, int]
    store_level: tuple[int, ...]
    kept: frozenset[int]
    count: int


def stages_of(fusion: Fusion, group: LoopGroup) -> Stages:
    """Schedule the members of a loop group."""
    return _Scheduler(fusion, group).schedule()


def reduction_operand(fusion: Fusion, group: LoopGroup, id: int) -> tuple[int, Index]:
    """The operand of a reduction and the index at which the group's loops read it."""
    operand = fusion.nodes[id].operands[0]
    index = group.operand_index.get(id)
    return operand, index or canonical(fusion.nodes[operand].type.shape)


class _Scheduler:
    def __init__(self, fusion: Fusion, group: LoopGroup) -> None:
        self.fusion = fusion
        self.nodes = fusion.nodes
        self.group = group
        self.level: dict[int, int] = {}
        self.kept: set[int] = set()

    def schedule(self) -> Stages:
        for id in self.group.members:
            self.level[id] = self._latest(self._reads(id))
        store_level = tuple(
            self._latest(self._reached(store.value)) for store in self.group.stores
        )
        count = 1 + max([*self.level.values(), *store_level], default=0)
        for stage in reversed(range(count)):
            self._keep_for(stage, store_level)
        return Stages(self.level, store_level, frozenset(self.kept), count)

    def _reads(self, id: int) -> list[tuple[int, Index]]:
        node, virtual = self.nodes[id], self.fusion.virtual
        if isinstance(node.op.lowering, Reduce):
            return list(reach(self.nodes, virtual, *reduction_operand(self.fusion, self.group, id)))
        return list(demands(self.nodes, virtual, node, canonical(node.type.shape)))

    def _reached(self, id: int) -> list[tuple[int, Index]]:
        index = canonical(self.nodes[id].type.shape)
        return list(reach(self.nodes, self.fusion.virtual, id, index))

    def _latest(self, bases: Iterable[tuple[int, Index]]) -> int:
        return max((self._available(base, index) for base, index in bases), default=0)

    def _available(self, base: int, index: Index) -> int:
        if base not in self.level or self.fusion.home.get(base) is not self.group:
            return 0
        if isinstance(self.nodes[base].op.lowering, Reduce):
            return self.level[base] + 1
        return self.level[base] + (index != canonical(self.nodes[base].type.shape))

    def _is_element(self, id: int) -> bool:
        """Whether a member has one value per element and no reduction makes it."""
        node = self.nodes[id]
        return not isinstance(node.op.lowering, Reduce) and not is_row(self.group, node.type.shape)

    def _keep_for(self, stage: int, store_level: tuple[int, ...]) -> None:
        """Mark what pass `stage` reads of earlier passes and that is worth keeping."""
        pending: list[list[tuple[int, Index]]] = []
        for id in self.group.members:
            needed = not self._is_element(id) or id in self.fusion.stored or id in self.kept
            if self.level[id] == stage and needed:
                pending.append(self._reads(id))
        for store, level in zip(self.group.stores, store_level, strict=True):
            if level == stage:
                pending.append(self._reached(store.value))
        seen: set[int] = set()
        while pending:
            for base, index in pending.pop():
                if base not in self.level or not self._is_element(base):
                    continue
                if index != canonical(self.nodes[base].type.shape):
                    self.kept.add(base)
                elif base not in seen:
                    seen.add(base)
                    if self.level[base] == stage or self._recomputed(base):
                        pending.append(self._reads(base))
                    else:
                        self.kept.add(base)

    def _recomputed(self, id: int) -> bool:
        """Whether a member is as cheap to compute again as to read back."""
        lowering = self.nodes[id].op.lowering
        if id in self.fusion.stored or not isinstance(lowering, Pointwise) or not lowering.cheap:
            return False
        return all(
            operand not in self.fusion.virtual
            and (operand not in self.level or not self._is_element(operand))
            for operand in self.nodes[id].operands
        )
