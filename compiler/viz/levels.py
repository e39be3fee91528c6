"""Levels: a graph and the bodies of its loops and branches, with one numbering for all nodes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field

from staticgraph.compiler.codegen.region import BODIES, Region
from staticgraph.compiler.core.record import mutable
from staticgraph.compiler.graph.definition import LEAVES, Definition, Node
from staticgraph.compiler.ops import leaves
from staticgraph.compiler.schedule.groups import computed


@mutable(eq=False)
class Level:
    """A graph, or the body of a loop or a branch.

    Attributes:
        first: the number of its first node; those of its own come next, then those below.
        nodes: its nodes, by their place in it.
        inputs, outputs, updates: places.
        groups: the places of nodes that one nest of loops computes; none before fusion.
        below: per loop or branch its bodies by their names.
    """

    first: int
    nodes: dict[int, Node]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    updates: tuple[tuple[int, int], ...]
    groups: list[list[int]] = field(default_factory=list)
    below: dict[int, list[tuple[str, Level]]] = field(default_factory=dict)

    def all(self) -> Iterator[Level]:
        """The level and those below it."""
        yield self
        for bodies in self.below.values():
            for _, body in bodies:
                yield from body.all()

    @property
    def end(self) -> int:
        """The number after its last node."""
        return max(level.first + len(level.nodes) for level in self.all())

    def numbered(self) -> dict[int, Node]:
        """All nodes by their numbers, those below too."""
        return {
            level.first + place: node for level in self.all() for place, node in level.nodes.items()
        }


def as_defined(definition: Definition, first: int = 0) -> Level:
    """The levels of a definition."""
    nodes = {node.id: node for node in definition.nodes}
    level = Level(first, nodes, definition.inputs, definition.outputs, definition.updates)
    end = first + len(nodes)
    for node in definition.nodes:
        for name in BODIES.get(node.op.name, ()):
            body = as_defined(node.attrs[name].definition, end)
            level.below.setdefault(node.id, []).append((name, body))
            end = body.end
    return level


def as_compiled(region: Region) -> Level:
    """The levels of a kernel, with its groups; numbers are those of its nodes."""
    graph = region.graph
    nodes = graph.numbered()
    level = Level(region.first, nodes, graph.inputs, graph.outputs, graph.updates)
    level.groups = _groups(region, nodes)
    for index, regions in region.below.items():
        node = region.node(index)
        level.below[node.id] = [
            (name, as_compiled(one))
            for name, one in zip(BODIES[node.op.name], regions, strict=True)
        ]
    return level


def _groups(region: Region, nodes: dict[int, Node]) -> list[list[int]]:
    """The nodes of each group, with those that only it computes on its way to others."""
    home = {
        node: number
        for number, group in enumerate(region.fusion.groups)
        for node in computed(group)
    }
    readers: dict[int, set[int | None]] = {}
    for node in reversed(nodes.values()):
        if node.id not in home and node.op not in LEAVES:
            (found, *others) = readers.get(node.id, {None})
            if found is not None and not others:
                home[node.id] = found
        for operand in node.operands:
            readers.setdefault(operand, set()).add(home.get(node.id))
    groups: list[list[int]] = [[] for _ in region.fusion.groups]
    for node_id in nodes:
        if node_id in home:
            groups[home[node_id]].append(node_id)
    return groups


def is_number(node: Node) -> bool:
    """Whether a node is a constant scalar, which is shown where it is read."""
    return node.op is leaves.constant and not node.type.ndim
