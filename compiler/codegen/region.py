"""Regions: a graph, and below it the bodies of its loops and branches, fused and placed in memory.

All regions of a kernel share its table and its arena. What a body uses inside lies in the memory of
the region around it while the loop or branch runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import field, replace
from typing import Any

from staticgraph.compiler.codegen.attention import attention_of
from staticgraph.compiler.codegen.blocks import blocks_of
from staticgraph.compiler.codegen.body import Names, build_body
from staticgraph.compiler.codegen.chunks import ChunkPlan, plan_chunks
from staticgraph.compiler.codegen.loops import nest_of
from staticgraph.compiler.codegen.matmul import product_of
from staticgraph.compiler.codegen.memory import MemoryPlan, Nest, Slot, plan_memory
from staticgraph.compiler.codegen.statements import Body
from staticgraph.compiler.codegen.unit import GroupLoops
from staticgraph.compiler.core.dims import Size
from staticgraph.compiler.core.record import mutable
from staticgraph.compiler.core.types import TensorType
from staticgraph.compiler.graph.definition import Definition, Node
from staticgraph.compiler.ir.records import Expr
from staticgraph.compiler.ops.programs import control
from staticgraph.compiler.passes.copy_insertion import separate_roots
from staticgraph.compiler.schedule.fuse import fuse
from staticgraph.compiler.schedule.groups import (
    AttentionGroup,
    Fusion,
    LoopGroup,
    MatmulGroup,
    NestedGroup,
)

BODIES = {
    "scan": ("body",),
    "while_loop": ("test", "body"),
    "cond": ("on_true", "on_false"),
}
"""The attributes of a node that hold its bodies."""


@mutable(eq=False)
class Region:
    """A graph on its way to code.

    Attributes:
        graph, fusion: it, and its groups.
        first, end: the numbers of its nodes and those below begin at `first` and end before `end`;
            in errors and slots, a node of the kernel is named by `first` and its own number.
        below: per nested group the regions of its bodies.
        loops: the statements, nesting and chunks of the groups of loops.
        memory: where the values lie.
        entries: per slot of `memory` the entry of the kernel's table with its address.
    """

    graph: Definition
    fusion: Fusion
    first: int
    end: int
    below: dict[int, tuple[Region, ...]] = field(default_factory=dict)
    loops: dict[int, GroupLoops] = field(default_factory=dict)
    memory: MemoryPlan = field(init=False)
    entries: list[int] = field(default_factory=list)

    def all(self) -> Iterator[Region]:
        """The region and those below it."""
        yield self
        for regions in self.below.values():
            for region in regions:
                yield from region.all()

    def node(self, index: int) -> Node:
        """The loop or branch of a nested group."""
        group = self.fusion.groups[index]
        assert isinstance(group, NestedGroup)
        return self.fusion.nodes[group.node]

    def items(self, index: int) -> dict[int, int]:
        """The nodes that are items of a nested group, by index."""
        group = self.fusion.groups[index]
        assert isinstance(group, NestedGroup)
        return group.items

    def is_there(self, index: int) -> bool:
        """Whether a group of loops only copies a value to where it lies already."""
        body = self.loops[index].body
        parts = (body.before, *body.rows, *body.passes, body.after)
        if body.fills or len(body.accesses) != 2:
            return False
        if not all(one.copies for part in parts for one in part):
            return False
        read, written = sorted(body.accesses, key=lambda access: access.write)
        slots = self.memory.place
        return read.place == written.place and slots[read.node] == slots[written.node]

    @property
    def bodies(self) -> dict[int, Body]:
        """The statements of the groups of loops."""
        return {index: loops.body for index, loops in self.loops.items()}


def region_of(
    graph: Definition, separate: bool, first: int = 0, fusion: Fusion | None = None
) -> Region:
    """The groups of a graph, which is fused if they are not given, and of the bodies below it."""
    region = Region(graph, fusion or fuse(graph, separate), first, first + len(graph.nodes))
    for index, group in enumerate(region.fusion.groups):
        if isinstance(group, NestedGroup):
            below = []
            node = region.fusion.nodes[group.node]
            for name in BODIES[node.op.name]:
                body = separate_roots(node.attrs[name].definition)
                below.append(region_of(body, separate, region.end))
                region.end = below[-1].end
            region.below[index] = tuple(below)
    return region


def place_region(
    region: Region, size: Callable[[Size], Expr], separate: bool, keeps: bool = False
) -> None:
    """Find the statements of the groups, and the memory of the values, from the inside out.

    `keeps`: what variables were before they change has memory, too.
    """
    nests: dict[int, Nest] = {}
    for index, regions in region.below.items():
        for one in regions:
            place_region(one, size, separate)
        nests[index] = _nest(region, index)
    region.loops = {
        i: _loops(region.fusion, build_body(region.fusion, group, Names(size)))
        for i, group in enumerate(region.fusion.groups)
        if isinstance(group, LoopGroup)
    }
    memory = plan_memory(
        region.fusion,
        region.bodies,
        _chunked(region),
        region.graph.inputs,
        region.graph.outputs,
        region.graph.updates,
        not separate,
        nests,
        keeps,
    )
    taken = {slot for indices in memory.nested.values() for slot in indices}
    region.memory = replace(
        memory,
        slots=tuple(
            slot if i in taken else _numbered(slot, region.first)
            for i, slot in enumerate(memory.slots)
        ),
    )


def _nest(region: Region, index: int) -> Nest:
    """What a loop or a branch uses inside; its bodies take their turns."""
    slots: list[Slot] = []
    ticks = 0
    for one in region.below[index]:
        for slot in filter(is_inner, one.memory.slots):
            slots.append(replace(slot, begin=slot.begin + ticks, end=slot.end + ticks))
        ticks += one.memory.ticks[-1]
    ticks = max(1, ticks)
    for type in _buffers(region, index):
        slots.append(Slot("arena", 0, type.shape, type.dtype, end=ticks - 1))
    return Nest(tuple(slots), ticks)


def _loops(fusion: Fusion, body: Body) -> GroupLoops:
    nest = nest_of(body)
    body.blocks = blocks_of(body, nest)
    return GroupLoops(body, nest, plan_chunks(fusion.nodes, body, nest))


def _chunked(region: Region) -> dict[int, ChunkPlan]:
    """The plans of the groups that are computed in chunks."""
    plans: dict[int, ChunkPlan | None] = {i: one.plan for i, one in region.loops.items()}
    for i, group in enumerate(region.fusion.groups):
        if isinstance(group, MatmulGroup):
            plans[i] = product_of(region.fusion.nodes, group).plan
        elif isinstance(group, AttentionGroup):
            plans[i] = attention_of(region.fusion.nodes, group).plan
    return {i: plan for i, plan in plans.items() if plan is not None}


def _numbered(slot: Slot, first: int) -> Slot:
    """A slot of a leaf with the number that the leaf has in the kernel."""
    is_leaf = slot.kind in ("variable", "constant")
    return replace(slot, position=slot.position + first) if is_leaf else slot


def is_inner(slot: Slot) -> bool:
    """Whether a slot of a body is for itself alone, and not what it takes or gives."""
    return slot.kind not in ("input", "output")


def _buffers(region: Region, index: int) -> list[TensorType]:
    """What a nested group needs beside its bodies: two states of each carry, the bool of a test,
    and a place for what a body gives and nothing reads.
    """
    node, items = region.node(index), region.items(index)
    if node.op is control.while_loop:
        test, body = region.below[index]
        return [*twice(output_types(body)), *output_types(test)]
    given: list[TensorType] = output_types(region.below[index][0])
    carries = node.attrs["carries"] if node.op is control.scan else 0
    return [
        *twice(given[:carries]),
        *(type for i, type in enumerate(given) if i >= carries and i not in items),
    ]


def twice(types: list[TensorType]) -> list[TensorType]:
    """Each type two times."""
    return [type for type in types for _ in range(2)]


def output_types(region: Region) -> list[Any]:
    """The types of what a body gives."""
    return [region.graph.nodes[node].type for node in region.graph.outputs]
