"""Groups that run again: the graph and its groups for a schedule in which some have several runs.

A run that is not the first computes copies of the group's nodes, and what runs later reads these.
It is the same group: its loops, and so its bits, are those of the first run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from staticgraph.compiler.core.lowering import Gather, IndexMap, Pointwise, Reduce
from staticgraph.compiler.core.record import frozen
from staticgraph.compiler.graph.definition import LEAVES, Definition, Node
from staticgraph.compiler.schedule.groups import (
    Fusion,
    Group,
    LoopGroup,
    MatmulGroup,
    Store,
    computed,
)

_IN_LOOPS = Pointwise | Reduce | Gather | IndexMap
"""The lowerings of what reads single elements."""


def rerun(graph: Definition, fusion: Fusion, schedule: Sequence[int]) -> tuple[Definition, Fusion]:
    """The graph, and its groups in the order of a schedule, which names each by its index.

    What a group reads is computed by the latest run before. Groups that leave something in a value
    of another group have one run.
    """
    maker = _Maker(graph, fusion)
    for position, index in enumerate(schedule):
        maker.run(position, fusion.groups[index])
    return maker.made(graph)


@frozen(eq=False)
class _Copy:
    """A node as some run computes it, before the copies are numbered.

    Attributes:
        of: the node.
        position: the run; -1 of a leaf. Of what is computed wherever it is read, the latest run
            that it depends on.
        operands, defined: copies: what it reads in the groups, and in the graph, where a product
            may not have the place yet of what puts its columns piece by piece.
        inline: whether no run leaves it in memory.
    """

    of: Node
    position: int
    operands: tuple[_Copy, ...]
    defined: tuple[_Copy, ...]
    inline: bool


class _Maker:
    def __init__(self, graph: Definition, fusion: Fusion) -> None:
        self.fusion = fusion
        self.defined = graph.numbered()
        self.latest: dict[int, _Copy] = {}
        self.inline: dict[int, _Copy] = {}
        self.known: dict[tuple[int, ...], _Copy] = {}
        self.copies: list[_Copy] = []
        self.runs: list[tuple[Group, dict[int, _Copy]]] = []
        for node in fusion.nodes.values():
            if node.op in LEAVES:
                self.latest[node.id] = self._copy(node, -1, ())

    def run(self, position: int, group: Group) -> None:
        """One more run of a group."""
        nodes, home = self.fusion.nodes, self.fusion.home
        own = sorted(set(_own(group)))
        if any(home.get(one) is group and one in self.latest for one in own):
            self.inline.clear()  # it may have been made of what the first run has computed
        for number in own:
            if home.get(number, group) is group:
                operands, defined = (
                    tuple(self._read(operand, one) for operand in one.operands)
                    for one in (nodes[number], self.defined[number])
                )
                self.latest[number] = self._copy(nodes[number], position, operands, defined)
        # a value that several groups leave something in is complete with the last of them
        ahead = {one for one in _own(group) if home.get(one, group) is not group}
        seen = {one: self._read(one) for one in _mentioned(group) if one not in ahead}
        self.runs.append((group, seen))

    def made(self, graph: Definition) -> tuple[Definition, Fusion]:
        """The graph of all copies, and its groups."""
        last = {root: self._read(root) for root in _roots(graph)}
        # operands first: what is read was computed by an earlier run, or in the same one before
        self.copies.sort(key=lambda one: (one.position, one.of.id))
        number = {id(one): at for at, one in enumerate(self.copies)}
        grouped, nodes = (
            tuple(
                replace(node, id=at, operands=tuple(number[id(one)] for one in operands))
                for at, (node, operands) in enumerate(found)
            )
            for found in (
                [(one.of, one.operands) for one in self.copies],
                [(self.defined[one.of.id], one.defined) for one in self.copies],
            )
        )
        named = {root: number[id(one)] for root, one in last.items()}
        definition = Definition(
            nodes,
            tuple(named[one] for one in graph.inputs),
            tuple(named[one] for one in graph.outputs),
            tuple((named[old], named[new]) for old, new in graph.updates),
        )
        return definition, self._fusion(grouped, number)

    def _fusion(self, nodes: Sequence[Node], number: Mapping[int, int]) -> Fusion:
        groups, home = [], {}
        for order, (group, seen) in enumerate(self.runs):

            def name(node: int, seen: Mapping[int, _Copy] = seen) -> int:
                return number[id(seen.get(node) or self.latest[node])]

            made = _renamed(group, order, name)
            groups.append(made)
            for node in set(_own(group)):
                if self.fusion.home.get(node) is group:
                    home[name(node)] = made
        old = self.fusion
        ran = [one for one in self.copies if not (one.inline and one.of.id in old.home)]
        deferred, stored, virtual = (
            frozenset(number[id(one)] for one in copies if one.of.id in kind)
            for copies, kind in ((ran, old.deferred), (ran, old.stored), (self.copies, old.virtual))
        )
        last = (number[id(self._read(root))] for root in old.roots)
        by_number = {one.id: one for one in nodes}
        return Fusion(by_number, tuple(groups), home, deferred, stored, virtual, tuple(last))

    def _read(self, node: int, reader: Node | None = None) -> _Copy:
        """A node as the latest runs have computed what it is made of, as another reads it."""
        stack = [(node, reader)]
        while stack:
            number, by = stack[-1]
            if self._found(number, by) is None:
                one = self.fusion.nodes[number]
                behind = [(at, one) for at in one.operands if self._found(at, one) is None]
                if behind:
                    stack += behind
                    continue
                self.inline[number] = self._inlined(one)
            stack.pop()
        found = self._found(node, reader)
        assert found is not None
        return found

    def _found(self, node: int, reader: Node | None) -> _Copy | None:
        """The copy of a node that another reads, if it is made.

        Loops read what moves elements where the elements come from, in memory or not.
        """
        if node in self.latest:
            lowering = self.fusion.nodes[node].op.lowering
            loops = reader is not None and isinstance(reader.op.lowering, _IN_LOOPS)
            if not (loops and isinstance(lowering, IndexMap)):
                return self.latest[node]
        return self.inline.get(node)

    def _inlined(self, node: Node) -> _Copy:
        operands = tuple(self._read(at, node) for at in node.operands)
        key = (node.id, *map(id, operands))
        if key not in self.known:
            position = max((operand.position for operand in operands), default=-1)
            self.known[key] = self._copy(node, position, operands)
        return self.known[key]

    def _copy(
        self,
        node: Node,
        position: int,
        operands: tuple[_Copy, ...],
        defined: tuple[_Copy, ...] | None = None,
    ) -> _Copy:
        made = _Copy(node, position, operands, defined or operands, defined is None)
        self.copies.append(made)
        return made


def _own(group: Group) -> Iterator[int]:
    """The nodes that a group computes, items of a tuple too."""
    yield from computed(group)
    if not isinstance(group, LoopGroup | MatmulGroup):
        yield from group.items.values()


def _mentioned(group: Group) -> Iterator[int]:
    """The nodes that the record of a group names."""
    yield from _own(group)
    if isinstance(group, LoopGroup):
        yield from (store.value for store in group.stores)
        yield from group.reads
    if isinstance(group, MatmulGroup):
        yield from (group.left.base, group.right.base)
        if group.onto is not None:
            yield group.onto
        if group.pack is not None:
            yield from (group.pack.value, group.pack.source, group.pack.base)


def _renamed(group: Group, order: int, name: Callable[[int], int]) -> Group:
    """A group of other nodes."""
    if isinstance(group, LoopGroup):
        return replace(
            group,
            order=order,
            members=[name(one) for one in group.members],
            stores=[_renamed_store(one, name) for one in group.stores],
            fills=[(name(one), value) for one, value in group.fills],
            reads={name(one) for one in group.reads},
            arrays=set(),
        )
    if not isinstance(group, MatmulGroup):
        items = {index: name(one) for index, one in group.items.items()}
        return replace(group, order=order, node=name(group.node), items=items)
    pack = group.pack
    if pack is not None:
        value, source, base = map(name, (pack.value, pack.source, pack.base))
        pack = replace(pack, value=value, source=source, base=base)
    return replace(
        group,
        order=order,
        node=name(group.node),
        left=replace(group.left, base=name(group.left.base)),
        right=replace(group.right, base=name(group.right.base)),
        onto=None if group.onto is None else name(group.onto),
        by_piece=None if group.by_piece is None else name(group.by_piece),
        pack=pack,
    )


def _renamed_store(store: Store, name: Callable[[int], int]) -> Store:
    return replace(store, value=name(store.value), target=name(store.target))


def _roots(graph: Definition) -> Iterable[int]:
    pairs = (one for pair in graph.updates for one in pair)
    return dict.fromkeys([*graph.inputs, *graph.outputs, *pairs])
