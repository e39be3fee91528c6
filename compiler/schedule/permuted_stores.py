"""Values that only permute others: the group that computes these can store them in both orders."""

from __future__ import annotations

from collections.abc import Mapping

from staticgraph.compiler.core.affine import Affine, loop
from staticgraph.compiler.core.lowering import Index
from staticgraph.compiler.core.types import Shape
from staticgraph.compiler.graph.definition import Node
from staticgraph.compiler.schedule.access import canonical, reach
from staticgraph.compiler.schedule.groups import Group, LoopGroup, Store


def beside_source(
    nodes: Mapping[int, Node], home: Mapping[int, Group], node: Node
) -> tuple[LoopGroup, Store] | None:
    """The group that computes what a node permutes, where it can store it in this order too.

    Only if the last axis stays the last one: the group would write far apart, and be slower.
    """
    found = list(reach(nodes, (), node.id, canonical(node.type.shape)))
    if len(found) != 1:
        return None
    source, index = nodes[found[0][0]], found[0][1]
    group = home.get(source.id)
    if not isinstance(group, LoopGroup) or source.type.shape != group.domain:
        return None
    place = inverse(index, source.type.shape, node.type.shape)
    if place is None or place[-1:] != canonical(group.domain)[-1:]:
        return None
    return group, Store(source.id, node.id, place)


def inverse(index: Index, source: Shape, shape: Shape) -> Index | None:
    """Where each element of `source` lies in the value of `shape` that reads it at `index`.

    None unless the value has every element of the source exactly once: each axis of the source is
    a whole axis of the value, and the other way round.
    """
    found: dict[int, Affine] = {}
    for axis, (form, size) in enumerate(zip(index, source, strict=True)):
        if size == 1:
            continue
        if len(form.terms) != 1 or form != loop(form.terms[0][0]):
            return None
        place = form.terms[0][0]
        if place in found or shape[place] != size:
            return None
        found[place] = loop(axis)
    if sorted(found) != [axis for axis, size in enumerate(shape) if size != 1]:
        return None
    return tuple(found.get(axis, Affine()) for axis in range(len(shape)))
