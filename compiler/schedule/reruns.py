"""Groups that run again: the graph and its groups for a schedule in which some have several runs.

A run that is not the first computes copies of the group's nodes, and what runs later reads these.
It is the same group: its loops, and so its bits, are those of the first run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import networkx as nx

from staticgraph.compiler.graph.build import graph_of
from staticgraph.compiler.graph.definition import LEAVES, Definition, Node
from staticgraph.compiler.schedule.groups import (
    Fusion,
    Group,
    LoopGroup,
    MatmulGroup,
    Store,
    computed,
)


def rerun(
    graph: nx.MultiDiGraph[int], fusion: Fusion, schedule: Sequence[int]
) -> tuple[nx.MultiDiGraph[int], Fusion]:
    """The graph, and its groups in the order of a schedule, which names each by its index.

    What a group reads is computed by the latest run before. Groups that leave something in a value
    of another group have one run.
    """
    maker = _Maker(fusion)
    for position, index in enumerate(schedule):
        maker.run(position, fusion.groups[index])
    return maker.made(graph)


@dataclass(frozen=True, slots=True, eq=False)
class _Copy:
    """A node as some run computes it, before the copies are numbered.

    Attributes:
        of: the node.
        position: the run; -1 of a leaf. Of what is computed wherever it is read, the latest run
            that it depends on.
        operands: copies.
    """

    of: Node
    position: int
    operands: tuple[_Copy, ...]


class _Maker:
    def __init__(self, fusion: Fusion) -> None:
        self.fusion = fusion
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
                operands = tuple(self._read(operand) for operand in nodes[number].operands)
                self.latest[number] = self._copy(nodes[number], position, operands)
        ahead = {store.target for store in group.stores} if isinstance(group, LoopGroup) else set()
        seen = {one: self._read(one) for one in _mentioned(group) if one not in ahead}
        self.runs.append((group, seen))

    def made(self, graph: nx.MultiDiGraph[int]) -> tuple[nx.MultiDiGraph[int], Fusion]:
        """The graph of all copies, and its groups."""
        roots = graph.graph
        last = {root: self._read(root) for root in _roots(graph)}
        # operands first: what is read was computed by an earlier run, or in the same one before
        self.copies.sort(key=lambda one: (one.position, one.of.id))
        number = {id(one): at for at, one in enumerate(self.copies)}
        nodes = tuple(
            replace(one.of, id=at, operands=tuple(number[id(operand)] for operand in one.operands))
            for at, one in enumerate(self.copies)
        )
        named = {root: number[id(one)] for root, one in last.items()}
        definition = Definition(
            nodes,
            tuple(named[one] for one in roots["inputs"]),
            tuple(named[one] for one in roots["outputs"]),
            tuple((named[old], named[new]) for old, new in roots["updates"]),
        )
        return graph_of(definition), self._fusion(nodes, number)

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
        kinds = [
            frozenset(at for at, one in enumerate(self.copies) if one.of.id in kind)
            for kind in (old.deferred, old.stored, old.virtual)
        ]
        last = (number[id(self._read(root))] for root in old.roots)
        return Fusion({one.id: one for one in nodes}, tuple(groups), home, *kinds, tuple(last))

    def _read(self, node: int) -> _Copy:
        """A node as the latest runs have computed what it is made of."""
        stack = [node]
        while stack:
            one = self.fusion.nodes[stack[-1]]
            if one.id in self.latest:
                stack.pop()
                continue
            behind = [at for at in one.operands if at not in self.latest and at not in self.inline]
            if behind:
                stack += behind
                continue
            self.inline[one.id] = self._inlined(one)
            stack.pop()
        return self._known(node)

    def _inlined(self, node: Node) -> _Copy:
        operands = tuple(self._known(at) for at in node.operands)
        key = (node.id, *map(id, operands))
        if key not in self.known:
            position = max((operand.position for operand in operands), default=-1)
            self.known[key] = self._copy(node, position, operands)
        return self.known[key]

    def _known(self, node: int) -> _Copy:
        found = self.latest.get(node)
        return self.inline[node] if found is None else found

    def _copy(self, node: Node, position: int, operands: tuple[_Copy, ...]) -> _Copy:
        made = _Copy(node, position, operands)
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
        names = {"value": pack.value, "source": pack.source, "base": pack.base}
        pack = replace(pack, **{field: name(one) for field, one in names.items()})
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


def _roots(graph: nx.MultiDiGraph[int]) -> Iterable[int]:
    roots = graph.graph
    pairs = (one for pair in roots["updates"] for one in pair)
    return dict.fromkeys([*roots["inputs"], *roots["outputs"], *pairs])
