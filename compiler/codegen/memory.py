"""The memory plan: where every stored value lies, which values share memory, and for how long."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import field, replace

import numpy as np

from staticgraph.compiler.codegen.accesses import accesses_of, by_node, fits, replaces, storage
from staticgraph.compiler.codegen.chunks import ChunkPlan, own_memory
from staticgraph.compiler.codegen.statements import Body, Memory
from staticgraph.compiler.core.dims import Unknown, evaluate
from staticgraph.compiler.core.errors import GraphError
from staticgraph.compiler.core.lowering import Alias
from staticgraph.compiler.core.record import Record, frozen, record
from staticgraph.compiler.core.types import DType, Shape
from staticgraph.compiler.graph.definition import LEAVES
from staticgraph.compiler.schedule.arena import arrange
from staticgraph.compiler.schedule.chunks import Cut
from staticgraph.compiler.schedule.groups import Fusion, HostGroup, MatmulGroup

INT64 = np.dtype(np.int64)


@record
class Slot(Record):
    """A piece of memory: `kind` is input, output, variable, constant or arena.

    `position` counts inputs and outputs, and is the node of a variable or constant. An arena slot
    lives from group `first` to group `last`, and from tick `begin` to tick `end`: a loop or a
    branch takes as many ticks as the groups inside. `chunks` says that each chunk of the group has
    one.
    """

    kind: str
    position: int
    shape: Shape
    dtype: DType
    first: int = 0
    last: int = 0
    chunks: Cut | None = None
    begin: int = 0
    end: int = 0

    def bytes(self, sizes: Mapping[Unknown, int]) -> int:
        """The number of bytes, given the sizes that are unknown before run time."""
        total = self.dtype.itemsize * (self.chunks.count(sizes) if self.chunks else 1)
        for size in self.shape:
            total *= evaluate(size, sizes)
        return total


@frozen(eq=False)
class Nest:
    """What a loop or a branch uses inside: arena slots and constants, which live for some of its
    `ticks`.
    """

    slots: tuple[Slot, ...]
    ticks: int


@frozen(eq=False)
class MemoryPlan:
    """Where values lie.

    Attributes:
        slots: all pieces of memory.
        place: the slot of each value that lies in memory.
        own: the slot of what a group has memory of its own for, by (group, memory).
        commits: values to be copied over a variable when everything else is done.
        ticks: when each group begins, and when the last one has ended.
        change: the first group that changes a variable, the number of groups if only `commits` do;
            None if nothing does. No group from there on can fail, or be stopped.
        nested: the slots that loops and branches use inside, by group.
        kept: by the slot of a variable that a group changes, one for the value that it had before,
            if such values are kept: it lives from that group on.
    """

    slots: tuple[Slot, ...]
    place: Mapping[int, int]
    own: Mapping[tuple[int, Memory], int]
    commits: tuple[tuple[int, int], ...]
    ticks: tuple[int, ...]
    change: int | None = None
    nested: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    kept: Mapping[int, int] = field(default_factory=dict)

    def layout(self, sizes: Mapping[Unknown, int]) -> tuple[dict[int, int], int]:
        """The offset in bytes of each arena slot, and the arena's size."""
        arena = {i: slot for i, slot in enumerate(self.slots) if slot.kind == "arena"}
        pieces = [(slot.bytes(sizes), slot.begin, slot.end) for slot in arena.values()]
        offsets, length = arrange(pieces)
        return dict(zip(arena, offsets, strict=True)), length


def plan_memory(
    fusion: Fusion,
    bodies: Mapping[int, Body],
    chunked: Mapping[int, ChunkPlan],
    inputs: Sequence[int],
    outputs: Sequence[int],
    updates: Sequence[tuple[int, int]],
    in_place: bool = True,
    nested: Mapping[int, Nest] | None = None,
    keeps: bool = False,
) -> MemoryPlan:
    """Plan the memory of a fused graph; with `in_place` off, no two values share any.

    `nested`: what loops and branches use inside, by group. `keeps`: what variables were before a
    group changes them has memory of its own.
    """
    return _Planner(
        fusion, bodies, chunked, inputs, outputs, updates, in_place, nested or {}, keeps
    ).plan()


class _Planner:
    def __init__(
        self,
        fusion: Fusion,
        bodies: Mapping[int, Body],
        chunked: Mapping[int, ChunkPlan],
        inputs: Sequence[int],
        outputs: Sequence[int],
        updates: Sequence[tuple[int, int]],
        in_place: bool,
        nested: Mapping[int, Nest],
        keeps: bool,
    ) -> None:
        self.keeps = keeps
        self.fusion = fusion
        self.nodes = fusion.nodes
        self.bodies = bodies
        self.chunked = chunked
        self.updates = updates
        self.in_place = in_place
        self.nested = nested
        self.kind: dict[int, tuple[str, int]] = {}
        for position, node in enumerate(inputs):
            self.kind[node] = ("input", position)
        for position, node in enumerate(outputs):
            self.kind[node] = ("output", position)
        self.leader: dict[int, int] = {}
        self.completed: dict[int, int] = {}  # the last group that writes a value
        self.first: dict[int, int] = {}
        self.last: dict[int, int] = {}
        checking = [i for i, body in bodies.items() if body.checks]
        hosts = [i for i, group in enumerate(fusion.groups) if isinstance(group, HostGroup)]
        # a loop may be interrupted, and what a step calls may raise anything
        self.fallible = max([*checking, *nested, *hosts], default=-1)
        self.accesses = accesses_of(fusion, bodies)

    def plan(self) -> MemoryPlan:
        self._require_writers()
        for i, accesses in enumerate(self.accesses):
            for access in accesses:
                self.first.setdefault(access.node, i)
                self.last[access.node] = i
                if access.write:
                    self.completed[access.node] = i
        commits = [pair for pair in self.updates if not self._update_in_place(*pair)]
        for _, new in commits:
            self.last[new] = len(self.fusion.groups)
        if self.in_place:
            for i in range(len(self.fusion.groups)):
                self._share_within(i)
        return self._slots(tuple(commits))

    def _require_writers(self) -> None:
        """GraphError if memory would be read, or returned, that nothing has written."""
        written = {node for node, one in self.nodes.items() if one.op in LEAVES}
        for accesses in self.accesses:
            written.update(access.node for access in accesses if access.write)
            self._require_written([access.node for access in accesses], written)
        held = (storage(self.nodes, node) for node in self.fusion.stored)
        self._require_written(held, written)

    def _require_written(self, needed: Iterable[int], written: Container[int]) -> None:
        for node in (self.nodes[node] for node in needed if node not in written):
            raise GraphError(
                f"compile: no step computes {node.op.name}, {node.type} ({node.source})"
            )

    def _update_in_place(self, variable: int, new: int) -> bool:
        """Whether the new value may be written over the variable as soon as it is known."""
        at = self.completed[new]
        if not self.in_place or at <= self.fallible or self.last.get(variable, -1) > at:
            return False
        if not replaces(by_node(self.accesses[at]), new, variable):
            return False
        self.kind[new] = ("variable", variable)
        return True

    def _share_within(self, index: int) -> None:
        """Let what a group writes take the memory of what it reads for the last time."""
        accesses = by_node(self.accesses[index])
        written = [
            node for node, those in accesses.items() if any(a.write and a.whole for a in those)
        ]
        read = [
            node
            for node, those in accesses.items()
            if self.last[node] == index and not all(a.write for a in those)
        ]
        taken: set[int] = set()
        for new in written:
            for old in read:
                if old in taken or not self._temporary(old):
                    continue
                if self.first[new] != index or self._kind(new)[0] == "variable":
                    continue
                if fits(self.nodes, old, new) and replaces(accesses, new, old):
                    self.leader[self._leader(old)] = self._leader(new)
                    taken.add(old)
                    break

    def _leader(self, node: int) -> int:
        while node in self.leader:
            node = self.leader[node]
        return node

    def _kind(self, node: int) -> tuple[str, int]:
        return self.kind.get(self._leader(node), ("arena", 0))

    def _temporary(self, node: int) -> bool:
        return node in self.fusion.home and self._kind(node)[0] == "arena"

    def _slots(self, commits: tuple[tuple[int, int], ...]) -> MemoryPlan:
        slots: list[Slot] = []
        place: dict[int, int] = {}
        span: dict[int, tuple[int, int]] = {}
        for node, first in self.first.items():
            leader = self._leader(node)
            begin, end = span.get(leader, (first, 0))
            span[leader] = min(begin, first), max(end, self.last[node])
        by_kind: dict[tuple[str, int], int] = {}
        members = [*self.kind, *span, *(v for pair in self.updates for v in pair)]
        for node in dict.fromkeys(self._leader(node) for node in members):
            kind, position = self._slot_kind(node)
            if kind != "arena" and (kind, position) in by_kind:
                place[node] = by_kind[kind, position]
                continue
            type = self.nodes[node].type
            place[node] = by_kind[kind, position] = len(slots)
            slots.append(Slot(kind, position, type.shape, type.dtype, *span.get(node, (0, 0))))
        for node in self.first:
            place[node] = place[self._leader(node)]
        for node in self.nodes:
            if isinstance(self.nodes[node].op.lowering, Alias):
                root = storage(self.nodes, node)
                if self._leader(root) in place:
                    place[node] = place[self._leader(root)]
        own: dict[tuple[int, Memory], int] = {}
        for index in sorted({*self.bodies, *self.chunked}):
            plan = self.chunked.get(index)
            needed = plan.memory if plan else own_memory(self.bodies[index])
            for memory, size in needed.items():
                own[index, memory] = len(slots)
                dtype = self._dtype(memory, plan, self.bodies.get(index))
                chunks = plan.chunks if plan and memory[0] != "product" else None
                slots.append(Slot("arena", 0, (size,), dtype, index, index, chunks))
        kept: dict[int, int] = {}
        for variable, new in self.updates if self.keeps else ():
            if self.kind.get(new, ("", 0))[0] == "variable":
                at, end = self.completed[new], len(self.fusion.groups)
                old = self._place_of_old(at, new, place, own, kept.values())
                if old is None:
                    old, type = len(slots), self.nodes[variable].type
                    slots.append(Slot("arena", 0, type.shape, type.dtype, at))
                kept[place[variable]] = old
                slots[old] = replace(slots[old], last=end)
        ticks = self._ticks()
        slots = [
            replace(slot, begin=ticks[slot.first], end=(*ticks, ticks[-1] + 1)[slot.last + 1] - 1)
            for slot in slots
        ]
        nested: dict[int, tuple[int, ...]] = {}
        for index, nest in self.nested.items():
            nested[index] = tuple(range(len(slots), len(slots) + len(nest.slots)))
            for slot in nest.slots:
                begin, end = slot.begin + ticks[index], slot.end + ticks[index]
                slots.append(replace(slot, first=index, last=index, begin=begin, end=end))
        change = self._change()
        return MemoryPlan(tuple(slots), place, own, commits, ticks, change, nested, kept)

    def _place_of_old(
        self,
        index: int,
        new: int,
        place: Mapping[int, int],
        own: Mapping[tuple[int, Memory], int],
        taken: Container[int],
    ) -> int | None:
        """The slot of what a group reads for the last time where it writes over a variable."""
        group = self.fusion.groups[index]
        if isinstance(group, MatmulGroup):
            is_there = group.onto is not None and place[group.onto] == place[new]
            return own[index, ("product", new)] if is_there else None
        accesses = by_node(self.accesses[index])
        found = (
            place[old]
            for old in accesses
            if self.last[old] == index
            and self._temporary(old)
            and old not in self.leader
            and fits(self.nodes, old, new)
            and replaces(accesses, new, old)
        )
        return next((slot for slot in found if slot not in taken), None)

    def _ticks(self) -> tuple[int, ...]:
        """When each group begins, and when the last one has ended."""
        ticks = [0]
        for i in range(len(self.fusion.groups)):
            ticks.append(ticks[-1] + (self.nested[i].ticks if i in self.nested else 1))
        return tuple(ticks)

    def _change(self) -> int | None:
        """The first group that writes where a variable lies."""
        if not self.updates:
            return None
        changed = {new for _, new in self.updates if self.kind.get(new, ("", 0))[0] == "variable"}
        groups = (
            i
            for i, accesses in enumerate(self.accesses)
            if any(one.write and one.node in changed for one in accesses)
        )
        return next(groups, len(self.accesses))

    def _dtype(self, memory: Memory, plan: ChunkPlan | None, body: Body | None) -> DType:
        kind, number = memory
        if kind == "index":
            return INT64
        if kind == "spill":
            assert body is not None
            assert body.tile is not None
            return body.tile.spills[number].dtype
        if kind == "total":
            assert plan is not None
            return plan.totals[number].dtype
        return self.nodes[number].type.dtype

    def _slot_kind(self, node: int) -> tuple[str, int]:
        if node in self.kind:
            return self.kind[node]
        name = self.nodes[node].op.name
        return (name, node) if name in ("variable", "constant") else ("arena", node)
