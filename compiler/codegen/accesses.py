"""What each group reads and writes, and where it may write over what it reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from staticgraph.compiler.codegen.statements import Access, Body
from staticgraph.compiler.core.affine import Affine
from staticgraph.compiler.core.lowering import Alias
from staticgraph.compiler.core.types import TupleType
from staticgraph.compiler.graph.definition import Node
from staticgraph.compiler.schedule.groups import Fusion, MatmulGroup, WholeGroup


def accesses_of(fusion: Fusion, bodies: Mapping[int, Body]) -> list[list[Access]]:
    """The accesses of each group, by the nodes whose memory values lie in."""
    return [_of_group(fusion, bodies, index) for index in range(len(fusion.groups))]


def storage(nodes: Mapping[int, Node], node: int) -> int:
    """The node whose memory a value lies in."""
    while isinstance(nodes[node].op.lowering, Alias):
        node = nodes[node].operands[0]
    return node


def by_node(accesses: Sequence[Access]) -> dict[int, list[Access]]:
    """The accesses of a group under what they read or write."""
    found: dict[int, list[Access]] = {}
    for access in accesses:
        found.setdefault(access.node, []).append(access)
    return found


def replaces(accesses: Mapping[int, Sequence[Access]], new: int, old: int) -> bool:
    """Whether each element of `old` is read for the last time where `new` is written."""
    writes = [a for a in accesses.get(new, ()) if a.write]
    if len(writes) != 1 or not writes[0].whole:
        return False
    (write,) = writes
    return all(
        not a.write and a.place == write.place and a.row_pass <= write.row_pass
        for a in accesses.get(old, ())
    )


def fits(nodes: Mapping[int, Node], old: int, new: int) -> bool:
    """Whether values take the same memory."""
    one, other = nodes[old].type, nodes[new].type
    return one.size == other.size and one.dtype == other.dtype


def _of_group(fusion: Fusion, bodies: Mapping[int, Body], index: int) -> list[Access]:
    nodes, group = fusion.nodes, fusion.groups[index]
    anywhere = Affine()
    if isinstance(group, WholeGroup):
        read = [storage(nodes, operand) for operand in nodes[group.node].operands]
        several = isinstance(nodes[group.node].type, TupleType)
        written = group.items.values() if several else (group.node,)
        return [
            *(Access(node, anywhere, 0, False, whole=False) for node in read),
            *(Access(node, anywhere, 0, True, whole=False) for node in written),
        ]
    if isinstance(group, MatmulGroup):
        return _of_product(nodes, group)
    return [
        Access(storage(nodes, a.node), a.place, a.row_pass, a.write, a.whole)
        for a in bodies[index].accesses
    ]


def _of_product(nodes: Mapping[int, Node], group: MatmulGroup) -> list[Access]:
    """The factors are read until the end; what is added to may become the result."""
    anywhere = Affine()
    accesses = [
        Access(storage(nodes, base), anywhere, 1, False, whole=False) for base in group.read
    ]
    if group.onto is not None:
        accesses.append(Access(storage(nodes, group.onto), anywhere, 0, False))
    return [*accesses, Access(group.node, anywhere, 0, True, whole=group.onto is not None)]
