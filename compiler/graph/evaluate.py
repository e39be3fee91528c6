"""Expressions evaluated op by op on operands of any kind: other expressions, or eager tensors."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from typing import Any

from compiler.core import dims
from compiler.core.dims import Size, Unknown, as_unknown
from compiler.core.errors import GraphError
from compiler.core.types import mapped
from compiler.graph.expression import Expression, ancestors, at_line, construct


def evaluate(outputs: Sequence[Expression], operands: Mapping[Expression, Any]) -> list[Any]:
    """The values of expressions, given those of others.

    Args:
        outputs: what to evaluate.
        operands: values for placeholders, and for any other expression that is not to be
            evaluated; unknown sizes are read off their shapes. Arrays or any operands.

    Raises:
        GraphError: a placeholder has no value.
    """
    sizes: dict[Unknown, Size] = {}
    for node, value in operands.items():
        for size, actual in zip(node.shape, value.shape, strict=True):
            atom = as_unknown(size)
            if atom is not None:
                sizes.setdefault(atom, actual)
    values = {node.serial: value for node, value in operands.items()}
    for node in _unevaluated(outputs, values):
        values[node.serial] = _apply(node, [values[one.serial] for one in node.operands], sizes)
    return [values[output.serial] for output in outputs]


def replaced(
    outputs: Sequence[Expression], values: Mapping[Expression, Expression]
) -> list[Expression]:
    """The outputs with some of the expressions that they depend on replaced by others."""
    made = {node.serial: value for node, value in values.items()}
    for node in ancestors(outputs):
        operands = tuple(made.get(one.serial, one) for one in node.operands)
        if node.serial not in made and not all(map(operator.is_, operands, node.operands)):
            with at_line(node.source):
                made[node.serial] = construct(node.op, operands, node.attrs)
    return [made.get(output.serial, output) for output in outputs]


def _unevaluated(outputs: Sequence[Expression], values: Mapping[int, Any]) -> list[Expression]:
    found: dict[int, Expression] = {}
    stack = list(outputs)
    while stack:
        node = stack.pop()
        if node.serial not in values and node.serial not in found:
            found[node.serial] = node
            stack.extend(node.operands)
    return [found[serial] for serial in sorted(found)]


def _apply(node: Expression, operands: Sequence[Any], sizes: Mapping[Unknown, Size]) -> Any:
    if node.op.name == "variable":
        return node.attrs["key"].array
    if node.op.name == "placeholder":
        raise GraphError(f"{node} ({node.source}) has no value")
    attrs = {
        key: mapped(value, lambda size: dims.substitute(size, sizes))
        for key, value in node.attrs.items()
    }
    return node.op.bound(operands, attrs)
