"""Complex numbers become pairs of real ones, before all other passes.

A graph comes out in which no value is complex. Leaves, and what loops carry, have an axis of two at
the end, which is how NumPy's arrays of complex numbers lie in memory: so inputs are read, and
outputs written, where they lie (`compiler.runtime.launch_planning`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from staticgraph.compiler.core.lowering import Item, Nested
from staticgraph.compiler.core.op import Attrs, Op
from staticgraph.compiler.core.types import TensorType, TupleType, Type
from staticgraph.compiler.graph.body import Body
from staticgraph.compiler.graph.definition import Definition, Node, define
from staticgraph.compiler.graph.expression import Expression, again, at_line
from staticgraph.compiler.graph.traversal import fold_records
from staticgraph.compiler.ops import leaves
from staticgraph.compiler.ops.elementwise.complex_steps import on_complex, real_type
from staticgraph.compiler.ops.programs.effects import after
from staticgraph.compiler.ops.programs.regions import recompute
from staticgraph.compiler.ops.shapes.shape import broadcast_to
from staticgraph.compiler.ops.shapes.slicing import embed
from staticgraph.compiler.passes.complex_parts import SPLIT, Parts, joined, opened
from staticgraph.compiler.passes.replay import replay


def split_complex(graph: Definition) -> Definition:
    """The graph with the real and imaginary parts of complex values in place of them."""
    if not _has_complex(graph):
        return graph
    graph = replay(graph, {}, [_expand])
    made = fold_records(graph.nodes, _converted)
    return define(
        [joined(made[node]) for node in graph.inputs],
        [joined(made[node]) for node in graph.outputs],
        [(joined(made[node]), joined(made[new])) for node, new in graph.updates],
    )


def _has_complex(graph: Definition) -> bool:
    for node in graph.nodes:
        if _is_complex(node.type):
            return True
        if any(
            isinstance(one, Body) and _has_complex(one.definition) for one in node.attrs.values()
        ):
            return True
    return False


def _is_complex(type: Type) -> bool:
    if isinstance(type, TupleType):
        return any(map(_is_complex, type.items))
    return type.dtype.kind == "c"


def _expand(op: Op, operands: tuple[Expression, ...], attrs: Attrs) -> Expression | None:
    """What a composite of complex numbers is written in, unless its parts are computed apart."""
    if op.expand is None or (op.complex == "linear" and op is not embed):
        return None
    if not any(_is_complex(one.type) for one in operands):
        return None
    expanded: Expression = op.expand(*operands, **attrs)
    return expanded


def _converted(node: Node, operands: tuple[Any, ...]) -> Any:
    """The value of a node: parts if it is complex, else an expression."""
    with at_line(node.source):
        if not operands and node.op in (leaves.placeholder, leaves.variable, leaves.constant):
            return _leaf(node)
        if isinstance(node.op.lowering, Nested):
            return _nested(node, operands)
        if node.op.lowering == Item():
            found = Expression(node.op, operands, node.attrs)
            return opened(found) if _is_complex(node.type) else found
        if not _is_complex(node.type) and not any(isinstance(one, Parts) for one in operands):
            return again(node, operands)
        return _fitted(_computed(node, operands), node.type)


def _computed(node: Node, operands: tuple[Any, ...]) -> Any:
    split = SPLIT.get(node.op.name)
    found = None if split is None else split(*operands, **node.attrs)
    if found is not None:
        return found
    if node.op in (recompute, after):
        value, *others = operands
        flat = [part for one in others for part in _flat(one)]
        parts = [node.op.bound((part, *flat), node.attrs) for part in _flat(value)]
        return Parts(*parts) if isinstance(value, Parts) else parts[0]
    if node.op.complex == "linear":
        return _each(node, operands)
    return _as_step(node, operands)


def _each(node: Node, operands: Sequence[Any]) -> Parts:
    """The op on the real and on the imaginary parts; what is filled in is real."""
    re, im = ([one[part] if isinstance(one, Parts) else one for one in operands] for part in (0, 1))
    attrs = {**node.attrs, "value": 0.0} if node.op is embed else node.attrs
    return Parts(node.op.bound(re, node.attrs), node.op.bound(im, attrs))


def _fitted(value: Any, type: Any) -> Any:
    """A value whose parts have the shape that the node has."""
    if not isinstance(value, Parts):
        return value
    re, im = (
        one if one.shape == type.shape else broadcast_to.bound((one,), {"shape": type.shape})
        for one in value[:2]
    )
    return Parts(re, im, value.joined)


def _flat(value: Any) -> Sequence[Expression]:
    return value[:2] if isinstance(value, Parts) else (value,)


def _leaf(node: Node) -> Any:
    if not _is_complex(node.type):
        return again(node, ())
    if node.op is leaves.constant:
        array = node.attrs["value"].array
        made = [
            Expression(leaves.constant, (), {"value": leaves.Literal(part)})
            for part in (array.real, array.imag)
        ]
        return Parts(*made)
    type = real_type(node.type)
    attrs = {**node.attrs, "shape": type.shape, "dtype": type.dtype}
    return opened(Expression(node.op, (), attrs, node.name, node.source))


def _nested(node: Node, operands: Sequence[Any]) -> Expression:
    attrs = {
        name: Body(split_complex(value.definition)) if isinstance(value, Body) else value
        for name, value in node.attrs.items()
    }
    return Expression(node.op, tuple(map(joined, operands)), attrs, node.name)


def _as_step(node: Node, operands: Sequence[Any]) -> Any:
    """A call of the op's function, with complex arrays on the memory of the real ones."""
    attrs = {
        "name": node.op.name,
        "given": tuple(sorted(node.attrs.items())),
        "complexes": tuple(isinstance(one, Parts) for one in operands),
    }
    found = Expression(on_complex, tuple(map(joined, operands)), attrs)
    return opened(found) if isinstance(node.type, TensorType) and _is_complex(node.type) else found
