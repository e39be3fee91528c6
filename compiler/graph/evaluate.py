"""Expressions evaluated op by op on operands of any kind: other expressions, or eager tensors."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from typing import Any

from staticgraph.compiler.core import dims
from staticgraph.compiler.core.dims import Size, Unknown, as_unknown
from staticgraph.compiler.core.errors import GraphError
from staticgraph.compiler.core.types import mapped
from staticgraph.compiler.core.values import Value
from staticgraph.compiler.graph.expression import Expression, again, at_line, construct
from staticgraph.compiler.graph.traversal import fold


def evaluate(outputs: Sequence[Expression], operands: Mapping[Expression, Value]) -> list[Value]:
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
    known = {node.serial: value for node, value in operands.items()}
    return fold(outputs, known, lambda node, values: _apply(node, values, sizes))


def replaced(
    outputs: Sequence[Expression], values: Mapping[Expression, Expression]
) -> list[Expression]:
    """The outputs with some of the expressions that they depend on replaced by others.

    The ops between are applied again, at their lines.
    """
    return fold(outputs, {node.serial: value for node, value in values.items()}, _applied_again)


def _applied_again(node: Expression, operands: tuple[Expression, ...]) -> Expression:
    if all(map(operator.is_, operands, node.operands)):
        return node
    with at_line(node.source):
        return construct(node.op, operands, node.attrs)


def substitute(outputs: Sequence[Expression], values: Mapping[int, Expression]) -> list[Expression]:
    """The outputs with the expressions of these serials replaced by others of the same types.

    What lies between is copied with its types, names and lines.
    """
    return fold(outputs, values, again)


def _apply(node: Expression, operands: Sequence[object], sizes: Mapping[Unknown, Size]) -> Any:
    if node.op.name == "variable":
        return node.attrs["key"].array
    if node.op.name == "placeholder":
        raise GraphError(f"{node} ({node.source}) has no value")
    attrs = {
        key: mapped(value, lambda size: dims.substitute(size, sizes))
        for key, value in node.attrs.items()
    }
    return node.op.bound(operands, attrs)
