"""Check attributes of primitive ops that the public functions make right, and files may not.

Type rules trust what the functions that users call have normalised (axes in order and in range,
steps that go forward), because kernels index memory by it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from staticgraph.compiler.core.dims import Dim
from staticgraph.compiler.core.errors import FormatError
from staticgraph.compiler.core.types import TupleType
from staticgraph.compiler.graph.body import Body
from staticgraph.compiler.graph.definition import Definition, Node


def check_attributes(definition: Definition) -> None:
    """FormatError unless the attributes of all primitive nodes are in their normal form."""
    nodes = definition.nodes
    for node in nodes:
        for body in node.attrs.values():
            if isinstance(body, Body):
                check_attributes(body.definition)
        if node.op.expand is None and node.operands:
            operands = [nodes[operand] for operand in node.operands]
            for name, value in node.attrs.items():
                rule = _RULES.get((node.op.name, name)) or _RULES.get(("", name))
                if rule is not None and not rule(value, node, operands):
                    raise FormatError(f"{node.op.name}: {name} is {value!r:.80} ({node.source})")


def _is_axes(value: object, count: int) -> bool:
    """Whether a value is a tuple of axes of `count`, in order, each once."""
    return (
        isinstance(value, tuple)
        and all(type(axis) is int and 0 <= axis < count for axis in value)
        and list(value) == sorted(set(value))
    )


def _is_axis(value: object, count: int) -> bool:
    return type(value) is int and 0 <= value < count


def _ndim(node: Node) -> int:
    return 0 if isinstance(node.type, TupleType) else node.type.ndim


def _are_steps(value: object, node: Node, operands: Sequence[Node]) -> bool:
    return isinstance(value, tuple) and all(type(step) is int and step >= 1 for step in value)


def _are_sizes(value: object, node: Node, operands: Sequence[Node]) -> bool:
    return isinstance(value, tuple) and all(_is_size(size, node, operands) for size in value)


def _is_size(value: object, node: Node, operands: Sequence[Node]) -> bool:
    return isinstance(value, Dim) or (type(value) is int and value >= 0)


def _is_bool(value: object, node: Node, operands: Sequence[Node]) -> bool:
    return type(value) is bool


def _is_count(value: object, node: Node, operands: Sequence[Node]) -> bool:
    counts = [node.attrs.get(name, 0) for name in ("consts", "carries")]
    return all(type(one) is int and one >= 0 for one in counts) and sum(counts) <= len(operands)


Rule = Callable[[Any, Node, Sequence[Node]], bool]

_RULES: dict[tuple[str, str], Rule] = {
    ("", "axes"): lambda value, node, operands: _is_axes(value, _ndim(operands[0])),
    ("expand_dims", "axes"): lambda value, node, operands: _is_axes(value, _ndim(node)),
    ("transpose", "axes"): lambda value, node, operands: (
        isinstance(value, tuple) and sorted(value) == list(range(_ndim(operands[0])))
    ),
    ("argmax", "axes"): lambda value, node, operands: (
        bool(value) and _is_axes(value, _ndim(operands[0]))
    ),
    ("argmin", "axes"): lambda value, node, operands: (
        bool(value) and _is_axes(value, _ndim(operands[0]))
    ),
    ("", "axis"): lambda value, node, operands: _is_axis(value, _ndim(operands[0])),
    ("take_add", "axis"): lambda value, node, operands: _is_axis(value, _ndim(node)),
    ("", "steps"): _are_steps,
    ("", "strides"): _are_steps,
    ("", "dilations"): _are_steps,
    ("", "starts"): _are_sizes,
    ("", "sizes"): _are_sizes,
    ("sliding_windows", "sizes"): _are_steps,
    ("", "shape"): _are_sizes,
    ("strided_slice", "starts"): lambda value, node, operands: (
        _are_sizes(value, node, operands) and len(value) == _ndim(operands[0])
    ),
    ("embed", "shape"): lambda value, node, operands: (
        _are_sizes(value, node, operands) and len(value) == _ndim(operands[0])
    ),
    ("", "size"): _is_size,
    ("", "length"): _is_size,
    ("", "keepdims"): _is_bool,
    ("", "wrap"): _is_bool,
    ("", "reverse"): _is_bool,
    ("", "consts"): _is_count,
    ("", "carries"): _is_count,
    ("item", "index"): lambda value, node, operands: type(value) is int and value >= 0,
}
"""Per op and attribute, or per attribute of any op, whether a value has its normal form."""
