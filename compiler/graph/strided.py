"""Inputs that are not row-major: a definition that reads them through views of memory."""

from __future__ import annotations

from collections.abc import Sequence

from staticgraph.compiler.core.dims import Size, Unknown, as_unknown, unknown
from staticgraph.compiler.core.record import Record, record
from staticgraph.compiler.core.types import Shape, TensorType
from staticgraph.compiler.graph.definition import Definition, Node, define
from staticgraph.compiler.graph.expression import Expression, again
from staticgraph.compiler.graph.traversal import fold_records
from staticgraph.compiler.ops import as_strided, leaves, transpose


@record
class Order(Record):
    """How an array lies in memory.

    Attributes:
        axes: from the one whose neighbours are farthest to the one whose are nearest.
        gaps: behind how many of these, from the first on, there may be gaps.

    Of a matrix of 4 rows, `m.T` is (1, 0) without gaps, `m[:, :2]` is (0, 1) with one, between the
    rows, and `m[:, ::2]` with two. An axis of one element comes first, as if it had one.
    """

    axes: tuple[int, ...]
    gaps: int


Gap = tuple[int, int, Unknown]
"""An input, an axis of it, and the unknown that stands for the axis' stride in elements."""


def view_inputs(
    definition: Definition, orders: Sequence[Order | None]
) -> tuple[Definition, tuple[Gap, ...]]:
    """The same with inputs as they lie in memory, of which it reads views.

    An input that has an order gets its axes in this order or, if there are gaps, is a vector: all
    that lies from its first to its last element. Strides are unknown where there may be gaps.
    """
    given = {
        node: (at, order)
        for at, (node, order) in enumerate(zip(definition.inputs, orders, strict=True))
        if order is not None
    }
    inputs: dict[int, Expression] = {}
    gaps: list[Gap] = []

    def remade(node: Node, operands: tuple[Expression, ...]) -> Expression:
        if node.id not in given:
            return again(node, operands)
        at, order = given[node.id]
        inputs[node.id], view, strides = _viewed(node, order)
        gaps.extend((at, axis, atom) for axis, atom in strides)
        return view

    made = fold_records(definition.nodes, remade)
    viewed = define(
        [inputs.get(node, made[node]) for node in definition.inputs],
        [made[node] for node in definition.outputs],
        [(made[variable], made[new]) for variable, new in definition.updates],
    )
    return viewed, tuple(gaps)


def _viewed(node: Node, order: Order) -> tuple[Expression, Expression, list[tuple[int, Unknown]]]:
    """The memory of an input, the input as a view of it, and its axes with unknown strides."""
    shape = tuple(node.type.shape[axis] for axis in order.axes)
    strides = _strides(shape, order.gaps)
    found = [
        (order.axes[place], atom)
        for place in range(order.gaps)
        if shape[place] != 1 and (atom := as_unknown(strides[place])) is not None
    ]
    if order.gaps:
        length: Size = 1
        for size, stride in zip(shape, strides, strict=True):
            length = length + (size - 1) * stride
        memory = _leaf(node, (length,))
        attrs = {"shape": shape, "strides": strides}
        arranged = Expression(as_strided, (memory,), attrs, node.name, node.source)
    else:
        memory = arranged = _leaf(node, shape)
    back = tuple(order.axes.index(axis) for axis in range(len(shape)))
    view = Expression(transpose, (arranged,), {"axes": back}, node.name, node.source)
    return memory, view, found


def _strides(shape: Shape, gaps: int) -> tuple[Size, ...]:
    """The stride of each axis in elements: a fresh unknown where there may be gaps."""
    strides: list[Size] = []
    extent: Size = 1
    for place in reversed(range(len(shape))):
        is_known = place >= gaps or shape[place] == 1
        strides.append(extent if is_known else unknown(label="stride"))
        extent = extent * shape[place]
    return tuple(reversed(strides))


def _leaf(node: Node, shape: Shape) -> Expression:
    attrs = leaves.leaf_attrs(shape, node.type.dtype, node.attrs["key"])
    type = TensorType(shape, node.type.dtype)
    return Expression(leaves.placeholder, (), attrs, node.name, node.source, type)
