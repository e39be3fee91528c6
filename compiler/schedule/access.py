"""Which values an op reads to compute one element, and at which index.

Ops that only move elements are looked through: what they ask of their operand is the operand's
element at a mapped index. The walk ends at *bases*: values that lie in memory or are computed by
the group of loops itself.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence

from staticgraph.compiler.core.affine import Affine, loop
from staticgraph.compiler.core.dims import Size
from staticgraph.compiler.core.lowering import (
    Gather,
    Index,
    IndexMap,
    Iota,
    Pointwise,
    Reduce,
    SizeValue,
)
from staticgraph.compiler.core.types import Shape
from staticgraph.compiler.graph.definition import Node

HOLE = "?"  # stands for the run-time index of a gather, of which only the place matters here


def canonical(shape: Shape) -> Index:
    """The index of a value whose axes are the loops themselves: loop i on axis i."""
    return tuple(Affine() if size == 1 else loop(axis) for axis, size in enumerate(shape))


def broadcast_index(index: Index, shape: Shape) -> Index:
    """The index of an operand of `shape` that broadcasts to where `index` points."""
    kept = index[len(index) - len(shape) :]
    return tuple(Affine() if size == 1 else i for i, size in zip(kept, shape, strict=True))


def is_free(node: Node) -> bool:
    """Whether a node costs nothing but address arithmetic where it is read."""
    if node.op.name == "constant":
        return node.attrs["value"].array.size == 1
    return isinstance(node.op.lowering, IndexMap | Iota | SizeValue)


def demands(
    nodes: Mapping[int, Node], virtual: Container[int], node: Node, index: Index
) -> Iterator[tuple[int, Index]]:
    """The bases that `node` reads at `index`; `virtual` nodes are computed on the way."""
    lowering = node.op.lowering
    if isinstance(lowering, Pointwise):
        for operand in node.operands:
            inner = broadcast_index(index, nodes[operand].type.shape)
            yield from reach(nodes, virtual, operand, inner)
    elif isinstance(lowering, Gather):
        yield from _gather(nodes, virtual, node, index, lowering)
    elif isinstance(lowering, Reduce):
        yield from reach(nodes, virtual, node.operands[0], index)


def reach(
    nodes: Mapping[int, Node], virtual: Container[int], node_id: int, index: Index
) -> Iterator[tuple[int, Index]]:
    """The bases behind one value at `index`: itself, unless it is free or virtual."""
    node = nodes[node_id]
    while isinstance(node.op.lowering, IndexMap):
        operand = nodes[node.operands[0]]
        index = node.op.lowering.map(index, operand.type, node.type, **node.attrs)
        node = operand
    if node.id in virtual:
        yield from demands(nodes, virtual, node, index)
    elif not is_free(node):
        yield node.id, index


def _gather(
    nodes: Mapping[int, Node], virtual: Container[int], node: Node, index: Index, lowering: Gather
) -> Iterator[tuple[int, Index]]:
    x, indices = (nodes[operand] for operand in node.operands)
    inner, outer = lowering.split(index, x.type, indices.type, **node.attrs)
    axis = node.attrs["axis"]
    yield from reach(nodes, virtual, indices.id, broadcast_index(inner, indices.type.shape))
    hole = Affine(0, (), ((HOLE, 1),))
    yield from reach(nodes, virtual, x.id, (*outer[:axis], hole, *outer[axis + 1 :]))


def contiguous_strides(shape: Shape) -> tuple[Size, ...]:
    """Row-major strides in elements."""
    strides: list[Size] = []
    step: Size = 1
    for size in reversed(shape):
        strides.append(step)
        step = step * size
    return tuple(reversed(strides))


def offset_of(index: Index, strides: Sequence[Size]) -> Affine:
    """The place in memory, in elements, of an index into an array with these strides."""
    total = Affine()
    for i, stride in zip(index, strides, strict=True):
        total = total + i * stride
    return total
