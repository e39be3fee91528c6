"""Windows of a value: the loops that compute what lies there can place it as they go."""

from __future__ import annotations

from collections.abc import Mapping

from staticgraph.compiler.core.lowering import Index, IndexMap
from staticgraph.compiler.core.types import Shape
from staticgraph.compiler.graph.definition import Node
from staticgraph.compiler.schedule.access import canonical, contiguous_strides, offset_of
from staticgraph.compiler.schedule.permuted_stores import inverse


def source_of(nodes: Mapping[int, Node], operand: Node) -> tuple[Node, Index]:
    """What an operand is but for axes of size 1, and the operand's index in terms of its loops.

    Such axes alone: the loops of the source then go over the operand in its order, too.
    """
    source, index = operand, canonical(operand.type.shape)
    found = source, index
    while isinstance(source.op.lowering, IndexMap):
        inner = nodes[source.operands[0]]
        index = source.op.lowering.map(index, inner.type, source.type, **source.attrs)
        source = inner
        place = inverse(index, source.type.shape, operand.type.shape)
        if place is not None and _in_order(place):
            found = source, place
    return found


def _in_order(place: Index) -> bool:
    axes = [axis for form in place for axis, _ in form.terms]
    return axes == sorted(axes)


def at_window(place: Index, starts: Shape, steps: tuple[int, ...]) -> Index:
    """Where an element lies in a value of which the operand is a window."""
    return tuple(i * step + start for i, start, step in zip(place, starts, steps, strict=True))


def is_dense(index: Index, shape: Shape, target: Shape) -> bool:
    """Whether neighbours along the last axis of a value are neighbours where they are placed."""
    last = max((axis for axis, size in enumerate(shape) if size != 1), default=0)
    return offset_of(index, contiguous_strides(target)).coefficient(last) == 1


def interleaves(starts: list[Shape], shape: Shape) -> bool:
    """Whether windows lie beside each other in the lines of memory, not line by line one after the
    other: they differ along another axis than the first.
    """
    first = next((axis for axis, size in enumerate(shape) if size != 1), 0)
    return any(one[axis] != starts[0][axis] for one in starts
               for axis in range(len(shape)) if axis != first)  # fmt: skip
