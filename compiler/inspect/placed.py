"""Where the nodes of a kernel are computed, where their values lie, and how threads share them."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping

from staticgraph.compiler.codegen.attention import attention_of
from staticgraph.compiler.codegen.chunks import obstacle
from staticgraph.compiler.codegen.comments import escaped
from staticgraph.compiler.codegen.kernel import Kernel
from staticgraph.compiler.codegen.matmul import product_of
from staticgraph.compiler.codegen.memory import MemoryPlan, Slot
from staticgraph.compiler.codegen.region import Region, is_inner
from staticgraph.compiler.core.dims import Unknown
from staticgraph.compiler.core.lowering import Alias
from staticgraph.compiler.core.record import frozen
from staticgraph.compiler.core.source import place_of
from staticgraph.compiler.core.types import TupleType
from staticgraph.compiler.graph.definition import Node
from staticgraph.compiler.inspect.explanation import Fact
from staticgraph.compiler.ops import leaves
from staticgraph.compiler.schedule.access import is_free
from staticgraph.compiler.schedule.chunks import Cut
from staticgraph.compiler.schedule.groups import (
    AttentionGroup,
    Group,
    HostGroup,
    LoopGroup,
    MatmulGroup,
    NestedGroup,
    computed,
)

MOST = 6  # ops of a group that are listed


@frozen
class Placed:
    """A node of a kernel.

    Attributes:
        op, source: the name of its op, and its source with what is known beside it.
        runs: whether anything is computed for it.
        groups: the numbers of the groups that compute it: several if each that reads it does.
        memory, threads: where its value lies, and how threads share the group.
    """

    op: str
    source: str
    runs: bool
    groups: tuple[str, ...]
    memory: str
    threads: str

    def facts(self) -> Iterator[Fact]:
        """What is said of it."""
        said = [("group", group) for group in self.groups]
        said += [("memory", self.memory), ("threads", self.threads)]
        for kind, text in said:
            if text:
                yield Fact(kind, text, op=self.op)


def placed_nodes(kernel: Kernel, sizes: Mapping[Unknown, int]) -> Iterator[Placed]:
    """All nodes of a kernel, those of bodies too; `sizes` are those unknown before a call."""
    for region in _regions(kernel, sizes):
        yield from region.nodes_placed()


def group_texts(kernel: Kernel, sizes: Mapping[Unknown, int]) -> dict[str, str]:
    """By number, what is said of each group."""
    return {
        region.label(i): region.group(i, group)
        for region in _regions(kernel, sizes)
        for i, group in enumerate(region.region.fusion.groups)
    }


def _regions(kernel: Kernel, sizes: Mapping[Unknown, int]) -> Iterator[_Places]:
    memory = kernel.memory
    offsets, _ = memory.layout(sizes)
    outer = list(range(len(memory.slots)))
    yield from _Places(kernel.root, memory, offsets, sizes, outer, "").all()


class _Places:
    """One region: `slots` are the pieces of the kernel's memory that its own slots are; -1 of what
    the region around it gives and takes.
    """

    def __init__(
        self,
        region: Region,
        memory: MemoryPlan,
        offsets: Mapping[int, int],
        sizes: Mapping[Unknown, int],
        slots: list[int],
        prefix: str,
    ) -> None:
        self.region = region
        self.nodes = region.fusion.nodes
        self.memory = memory
        self.offsets = offsets
        self.sizes = sizes
        self.slots = slots
        self.prefix = prefix
        groups = region.fusion.groups
        self.virtual = region.fusion.virtual
        self.number = {id(group): i for i, group in enumerate(groups)}
        self.where = self._where()
        self.threads = [self._threads(i, group) for i, group in enumerate(groups)]
        self.held: dict[int, list[int]] = {}
        for node in sorted(region.fusion.home):
            if node in region.memory.place:
                self.held.setdefault(region.memory.place[node], []).append(node)
        self.commits = {new: variable for variable, new in region.memory.commits}

    def all(self) -> Iterator[_Places]:
        """The region and those below it."""
        yield self
        for index, regions in self.region.below.items():
            inner = iter([self.slots[slot] for slot in self.region.memory.nested[index]])
            for position, one in enumerate(regions):
                slots = [next(inner) if is_inner(slot) else -1 for slot in one.memory.slots]
                part = "ab"[position] if len(regions) > 1 else ""
                prefix = f"{self.label(index)}{part}."
                below = _Places(one, self.memory, self.offsets, self.sizes, slots, prefix)
                yield from below.all()

    def label(self, index: int) -> str:
        """The number of a group, behind those of the loops and branches that it is in."""
        return f"{self.prefix}{index}"

    def nodes_placed(self) -> Iterator[Placed]:
        """What is said of each node."""
        for node in self.nodes.values():
            group = self.region.fusion.home.get(node.id)
            index = None if group is None else self.number[id(group)]
            yield Placed(
                node.op.name,
                node.source,
                group is not None or node.id in self.region.fusion.virtual,
                tuple([self.label(at) for at in sorted(self.where[node.id])]),
                self._memory(node, index),
                self.threads[index] if index is not None else "",
            )

    def group(self, index: int, group: Group) -> str:
        """What a group is, what it computes, and how threads share it."""
        nodes = {*computed(group), *(one for one in self.virtual if index in self.where[one])}
        others = Counter(_named(self.nodes[node]) for node in sorted(nodes))
        listed = [name if n == 1 else f"{name} x {n}" for name, n in others.items()]
        more = f" and {len(listed) - MOST} more" if len(listed) > MOST else ""
        what = ", ".join(listed[:MOST]) + more
        match group:
            case LoopGroup():
                domain = ", ".join(map(str, group.domain))
                kind = f"loops over ({domain})"
                if group.split is not None:
                    rows = ", ".join(map(str, group.domain[: group.split]))
                    kind += f", row by row of ({rows})" if rows else ", one row"
            case MatmulGroup():
                kind = "a product of matrices"
            case AttentionGroup():
                kind = "products with loops between them, block by block of queries"
            case HostGroup():
                kind = "a call of NumPy"
            case NestedGroup():
                kind = "a loop or branch, of groups of its own"
        threads = f"; {self.threads[index]}" if self.threads[index] else ""
        return f"{kind}: {what}{threads}"

    def _where(self) -> dict[int, frozenset[int]]:
        """The groups that compute each node: of one that is virtual, those that read it."""
        readers: dict[int, list[int]] = {number: [] for number in self.nodes}
        found: dict[int, frozenset[int]] = {}
        for node in reversed(self.nodes.values()):
            for operand in node.operands:
                readers[operand].append(node.id)
            home = self.region.fusion.home.get(node.id)
            if home is not None:
                found[node.id] = frozenset({self.number[id(home)]})
            elif node.id in self.virtual or is_free(node):
                found[node.id] = frozenset().union(*(found[one] for one in readers[node.id]))
            else:
                found[node.id] = frozenset()
        return {
            number: groups if number in self.virtual or number in self.region.fusion.home
            else frozenset()
            for number, groups in found.items()
        }  # fmt: skip

    def _threads(self, index: int, group: Group) -> str:
        cut: Cut | None = None
        reason = "too little work"
        if isinstance(group, LoopGroup):
            loops = self.region.loops[index]
            cut = None if loops.plan is None else loops.plan.chunks
            reason = obstacle(self.nodes, loops.body, loops.nest) or reason
        elif isinstance(group, MatmulGroup):
            cut = product_of(self.nodes, group).chunks
        elif isinstance(group, AttentionGroup):
            cut = attention_of(self.nodes, group).plan.chunks
        else:
            return ""
        if cut is None:
            return f"one thread: {reason}"
        count = cut.count(self.sizes)
        return f"{count} chunks, which threads share" if count > 1 else "one thread at these sizes"

    # -- memory --------------------------------------------------------------------------------

    def _memory(self, node: Node, index: int | None) -> str:
        memory, fusion = self.region.memory, self.region.fusion
        if node.op is leaves.constant and is_free(node):
            return "a number in the code"
        if isinstance(node.type, TupleType):
            return ""
        if isinstance(node.op.lowering, Alias):
            return f"that of {_named(self.nodes[node.operands[0]])}: nothing is moved"
        if node.id in memory.place:
            return self._slot(node, memory.place[node.id])
        if index is not None and (index, ("scratch", node.id)) in memory.own:
            return f"a row of scratch memory, {self._bytes(index, node)}"
        if node.id in fusion.virtual or (is_free(node) and not node.operands):
            return "none: computed where it is read"
        if is_free(node):
            return "none: read from its operand, at other places"
        if index is not None:
            return "none: in registers inside the loops"
        return "none: nothing reads it from memory"

    def _bytes(self, index: int, node: Node) -> str:
        own = self.slots[self.region.memory.own[index, ("scratch", node.id)]]
        return self._arena(own)

    def _slot(self, node: Node, number: int) -> str:
        slot, outer = self.region.memory.slots[number], self.slots[number]
        if outer < 0:
            taken = slot.kind == "input"
            return "what the loop or branch is given" if taken else "what it gives, outside"
        return self._kind(slot, outer, node) + self._replaced(node, number)

    def _kind(self, slot: Slot, outer: int, node: Node) -> str:
        if slot.kind == "arena":
            copied = self.commits.get(node.id)
            then = "" if copied is None else f", copied over {_named(self.nodes[copied])} at last"
            return self._arena(outer) + then
        if slot.kind in ("input", "output"):
            return f"{slot.kind} {slot.position}"
        if node.op in (leaves.variable, leaves.constant):
            return f"the array of the {slot.kind}"
        variable = self.nodes[slot.position - self.region.first]
        return f"written over {_named(variable)}"

    def _arena(self, slot: int) -> str:
        count = self.memory.slots[slot].bytes(self.sizes)
        return f"arena: {count} bytes at {self.offsets[slot]}"

    def _replaced(self, node: Node, number: int) -> str:
        """Whose memory a value takes, of those that were in it before."""
        before = [other for other in self.held.get(number, ()) if other < node.id]
        if not before or node.id not in self.region.fusion.home:
            return ""
        return f", in place of {_named(self.nodes[before[-1]])}"


def _named(node: Node) -> str:
    name = f" {node.name!r}" if node.name else ""
    return f"{node.op.name}{name} ({escaped(os.path.basename(place_of(node.source)))})"
