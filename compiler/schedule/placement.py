"""Placement: the groups that there are so far, and where a node fits among them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from staticgraph.compiler.core.dims import Size
from staticgraph.compiler.core.lowering import Alias, Index, Pointwise
from staticgraph.compiler.core.reports import Report, collector
from staticgraph.compiler.core.types import Shape
from staticgraph.compiler.graph.definition import Definition, Node
from staticgraph.compiler.schedule.access import canonical, reach
from staticgraph.compiler.schedule.group_limits import Extents
from staticgraph.compiler.schedule.groups import (
    AttentionGroup,
    Group,
    HostGroup,
    LoopGroup,
    MatmulGroup,
    NestedGroup,
    Pack,
    View,
    is_row,
)
from staticgraph.compiler.schedule.products import by_piece, unwritten

MOST_STREAMS = 16  # arrays that unrelated nodes may share a loop with
RECENT = 8  # groups of one domain that are tried

OTHER_LOOPS = "other loops: its shape is not that of the group"
NEEDED_WHOLE = "needed whole: it is complete only when its loops have ended"
READ_ELSEWHERE = "read at other places than those where it is computed"
COMES_LATER = "another operand is computed in a later group"
JOINED_ANOTHER = "it joined another group that computes one of its operands"
OTHER_AXES = "a reduction over other axes than the rows of the group have"
ALONE = "repeated until a number is found, which is not vectorised: in loops of its own"
PRODUCT = "a product reads its operands from memory, as a whole"
CALL = "a call of NumPy reads its operands from memory, as a whole"
LOOP = "a loop or branch reads its operands from memory, as a whole"
PLACED = "its elements go to places of their own: loops of their own"
WRITTEN_OUT = "written to memory in order, for what reads it as a whole"
SEPARATE = "fusion is switched off"
NO_LOOPS = {
    MatmulGroup: "computed as one product, as a whole",
    AttentionGroup: "computed by products, block by block, as a whole",
    HostGroup: "computed by a call of NumPy, as a whole",
    NestedGroup: "computed by a loop or branch, as a whole",
}
"""What is said of a node and what it reads, if they are in different groups."""


def is_alone(node: Node) -> bool:
    """Whether a node is computed in loops of its own."""
    return isinstance(node.op.lowering, Pointwise) and node.op.lowering.alone


class Placement:
    """What is known while the nodes of a graph are placed in groups, one after the other.

    Attributes:
        home: the group that computes a value.
        readers: the order of the last group that reads a value.
        deferred: values that are complete only when their group has ended.
        stored: values that lie in memory.
        virtual: values that are computed where they are read.
        by_piece: products, by what puts their columns piece by piece, which took their places.
        pieces: the views of matrices that lie piece by piece; see `pieces_view`.
        joined: nodes that are a part of others.
        unwritten: images between zeros, which only packed windows read; see `unwritten`.
        first: an order before all groups.
    """

    def __init__(self, graph: Definition, separate: bool) -> None:
        self.reports = collector()
        self.nodes = graph.numbered()
        self.separate = separate
        self.by_piece: dict[int, int] = {}
        self.joined: set[int] = set()
        self.updated = {new: variable for variable, new in graph.updates}
        self.roots = (*graph.outputs, *self.updated)
        self.consumers: dict[int, list[int]] = {node_id: [] for node_id in self.nodes}
        for node in self.nodes.values():
            # an alias waits for its further operands, and does not read them
            aliased = isinstance(node.op.lowering, Alias)
            for operand in dict.fromkeys(node.operands[:1] if aliased else node.operands):
                self.consumers[operand].append(node.id)
        self.unwritten: set[int] = set()
        if not separate:
            self._join_pieces()
            self.unwritten = unwritten(self.nodes, self.consumers, self.roots)
        self.groups: list[Group] = []
        self.by_domain: dict[Shape, list[LoopGroup]] = {}
        self.home: dict[int, Group] = {}
        self.readers: dict[int, int] = {}
        self.deferred: set[int] = set()
        self.stored: set[int] = set(self.roots)
        self.virtual: set[int] = set()
        self.extents = Extents(self.nodes, self.roots)
        self.packs: dict[int, Pack] = {}
        self.pieces: dict[int, tuple[View, Size]] = {}
        self.aliases: dict[int, int] = {}
        self.first = self.front = -(10**9)
        self.last = 0

    def _join_pieces(self) -> None:
        """Let products take the places of what puts their columns piece by piece."""
        for node, between in by_piece(self.nodes, self.consumers, self.roots).items():
            whole = self.nodes[between[0]]
            self.nodes[node] = replace(
                self.nodes[node], op=whole.op, operands=whole.operands, attrs=whole.attrs
            )
            for operand in dict.fromkeys(whole.operands):
                readers = self.consumers[operand]
                readers[readers.index(whole.id)] = node
            self.consumers |= {one: [] for one in between}
            self.joined.update(between)
            self.by_piece[node] = whole.id

    def earliest(self, bases: Iterable[tuple[int, Index]]) -> int:
        """The order of the first group in which all bases can be read."""
        return max((self._ready(base) for base, _ in bases), default=self.first)

    def _ready(self, base: int) -> int:
        node = self.nodes[base]
        if isinstance(node.op.lowering, Alias):
            if base not in self.aliases:  # there may be many paths through a chain of them
                operand, *others = node.operands
                known = map(self._known, others)
                self.aliases[base] = max([self._settled(operand), *known])
            return self.aliases[base]
        home = self.home.get(base)
        if home is None:
            return self.first
        return home.order + 1 if base in self.deferred else home.order

    def _settled(self, node_id: int) -> int:
        """The order of the first group that can read a value from memory."""
        home = self.home.get(node_id)
        if home is not None:
            return home.order + 1
        aliased = isinstance(self.nodes[node_id].op.lowering, Alias)
        return self._ready(node_id) if aliased else self.first

    def _known(self, node_id: int) -> int:
        """The order of the first group in which a value can be read."""
        index = canonical(self.nodes[node_id].type.shape)
        return self.earliest(reach(self.nodes, self.virtual, node_id, index))

    def candidate(self, node: Node, bases: list[tuple[int, Index]], least: int) -> LoopGroup | None:
        """The group that a node joins, none before the order `least`; None if it fits in none."""
        if self.separate:
            return None
        shape = node.type.shape
        for base, _ in bases:
            group = self.home.get(base)
            if (
                isinstance(group, LoopGroup)
                and group.order == least
                and self.fits(group, node, bases)
            ):
                return group
        shared = {base for base, _ in bases if self.nodes[base].type.ndim}
        for group in reversed(self.by_domain.get(shape, [])[-RECENT:]):
            if (
                group.order >= least
                and len(group.reads) + len(shared - group.reads) <= MOST_STREAMS
                and not shared.isdisjoint(group.reads)
                and self.fits(group, node, bases)
            ):
                return group
        return None

    def fits(self, group: LoopGroup, node: Node, bases: list[tuple[int, Index]]) -> bool:
        """Whether a group can compute a node that reads these values."""
        return not self.obstacle(group, node, bases)

    def obstacle(self, group: LoopGroup, node: Node, bases: list[tuple[int, Index]]) -> str:
        """Why a group cannot compute a node that reads these values; empty if it can."""
        shape = node.type.shape
        if is_alone(node) or (group.alone and node.op.cost != "cheap"):
            return ALONE
        if shape != group.domain and not is_row(group, shape):
            return OTHER_LOOPS
        return self.extents.excess(group, node) or self.unreadable(group, bases)

    def unreadable(self, group: LoopGroup, bases: list[tuple[int, Index]]) -> str:
        """Why a group cannot read one of the values that it computes itself; empty if it can."""
        for base, index in bases:
            if self.home.get(base) is not group:
                continue
            if base in self.deferred:
                return NEEDED_WHOLE
            own = canonical(self.nodes[base].type.shape)
            if index == own:
                continue
            # a row that is complete can be read at any column in the next pass
            split = group.split
            if split is None or self.nodes[base].type.shape != group.domain:
                return READ_ELSEWHERE
            if index[:split] != own[:split]:
                return READ_ELSEWHERE
        return ""

    def report_apart(
        self,
        node: Node,
        chosen: Group,
        bases: list[tuple[int, Index]],
        obstacle: Callable[[LoopGroup], str],
    ) -> None:
        """Report why a node is not in the groups that compute what it reads.

        `obstacle` is what the fuser has asked of them, before the node joined the chosen group.
        """
        if self.reports is None:
            return
        least = self.earliest(bases)
        for base, _ in bases:
            home = self.home.get(base)
            if home is None or home is chosen:
                continue
            if self.separate:
                reason = SEPARATE
            elif not isinstance(home, LoopGroup):
                reason = NO_LOOPS[type(home)]
            elif home.order < least:
                reason = NEEDED_WHOLE if base in self.deferred else COMES_LATER
            else:
                reason = obstacle(home) or JOINED_ANOTHER
            self._report(node, base, reason)

    def report_own(self, node: Node, read: Iterable[int], reason: str) -> None:
        """Report why a node has a group of its own, apart from those that compute what it reads."""
        if self.reports is not None:
            for base in read:
                if base in self.home:
                    self._report(node, base, SEPARATE if self.separate else reason)

    def _report(self, node: Node, read: int, reason: str) -> None:
        assert self.reports is not None
        others = ((self.nodes[read].op.name, self.nodes[read].source),)
        self.reports.append(Report("apart", node.source, node.op.name, "fuse", reason, others))

    def new_loops(self, domain: Shape, split: int | None, at_front: bool = False) -> LoopGroup:
        """A new group of loops over a domain."""
        group = LoopGroup(self.next_order(at_front), domain, split)
        self.groups.append(group)
        self.by_domain.setdefault(domain, []).append(group)
        return group

    def next_order(self, at_front: bool = False) -> int:
        """The order of a group after all others, or before all but those that were put in front."""
        # orders are even, so that "after group n" is n + 1
        if at_front:
            self.front += 2
            return self.front
        self.last += 2
        return self.last

    def join(self, node: Node, group: LoopGroup, bases: list[tuple[int, Index]]) -> None:
        """Let a group compute a node that reads these values."""
        group.members.append(node.id)
        group.alone |= is_alone(node)
        self.extents.join(group, node, (base for base, _ in bases))
        self.home[node.id] = group
        self.read(group, bases)

    def read(self, group: LoopGroup, bases: Iterable[tuple[int, Index]]) -> None:
        """Note that a group reads these values."""
        for base, _ in bases:
            if self.nodes[base].type.ndim:
                group.reads.add(base)
            self.readers[base] = max(self.readers.get(base, self.first), group.order)
            if base in self.home and self.home[base] is not group:
                self.stored.add(base)
