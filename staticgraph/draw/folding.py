"""Scopes folded into boxes: which nodes are drawn as one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import networkx as nx

from staticgraph.compiler.core.record import frozen
from staticgraph.compiler.graph.build import definition_of
from staticgraph.compiler.viz.blocks import Block, Item
from staticgraph.compiler.viz.lanes import FORWARD, NAMES
from staticgraph.compiler.viz.levels import as_defined
from staticgraph.compiler.viz.tree import tree_of
from staticgraph.draw.labels import Line, one_line


@frozen(eq=False)
class Box:
    """A scope of which only a box is drawn.

    Attributes:
        path: the names of the scopes around it, and its own.
        lane: of `NAMES`: the forward computation, its gradient, or its updates.
        nodes: those in it.
    """

    path: tuple[str, ...]
    lane: int
    nodes: tuple[int, ...]

    def lines(self, roles: Mapping[int, Sequence[str]]) -> tuple[Line, ...]:
        """What is written on it; roles are those of nodes."""
        name = " / ".join(self.path)
        title = name if self.lane == FORWARD else f"{NAMES[self.lane]} of {name}"
        inside = [role for node in self.nodes for role in roles.get(node, ())]
        if len(inside) > 1:
            inside = [f"{inside[0]}, and {len(inside) - 1} more"]
        return (
            Line(one_line(title), "title"),
            Line(f"{len(self.nodes)} nodes", "detail"),
            *(Line(one_line(role), "role") for role in inside),
        )


def folded(graph: nx.MultiDiGraph[int], opened: int) -> dict[int, Box]:
    """The boxes of nodes that are drawn as one, with `opened` levels of scopes opened.

    Boxes that would lead in a circle to each other, as of a graph that goes on with a gradient,
    are opened.
    """
    lanes, _ = tree_of(as_defined(definition_of(graph)))
    boxes = {
        node: box
        for lane, items in enumerate(lanes)
        for box in _boxes(items, lane, (), opened)
        for node in box.nodes
    }
    while True:
        edges = [(boxes.get(tail, tail), boxes.get(head, head)) for tail, head in graph.edges()]
        between: nx.DiGraph[int | Box] = nx.DiGraph([pair for pair in edges if pair[0] != pair[1]])
        circles = [one for one in nx.strongly_connected_components(between) if len(one) > 1]
        if not circles:
            return boxes
        boxes = {node: box for node, box in boxes.items() if not any(box in one for one in circles)}


def _boxes(items: Sequence[Item], lane: int, path: tuple[str, ...], opened: int) -> Iterator[Box]:
    for item in items:
        if not isinstance(item, Block) or item.node is not None:
            continue
        inside = (*path, item.key.label) if item.key.kind == "scope" else path
        if len(inside) > opened and inside != path:
            yield Box(inside, lane, tuple(_own(item)))
        else:
            yield from _boxes(item.items, lane, inside, opened)


def _own(item: Item) -> Iterator[int]:
    """The nodes of an item, without those of bodies."""
    if not isinstance(item, Block):
        yield item
    elif item.node is not None:
        yield item.node
    else:
        for one in item.items:
            yield from _own(one)
