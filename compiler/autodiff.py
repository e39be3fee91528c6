"""Reverse-mode differentiation of expressions: one walk, with the rules of the ops."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from compiler.errors import GraphError
from compiler.graph.expression import Expression, ancestors, at_line, constant
from compiler.ops.declare import zeros_like
from compiler.types import unify


def gradients(
    output: Expression, wrt: Sequence[Expression], seed: Expression | None = None
) -> list[Expression]:
    """The derivative of a scalar expression with respect to others, as expressions.

    Args:
        output: a floating-point scalar, or of any shape if `seed` is given.
        wrt: floating-point expressions that `output` depends on.
        seed: the cotangent of `output`, of its shape and dtype; 1 if None.

    Returns:
        One expression per element of `wrt`, of its shape and dtype. Where the dependence goes
        only through ops without a gradient (comparisons, argmax), it is zero.

    Raises:
        GraphError: the output is no floating-point scalar, or does not depend on a `wrt`.
    """
    _check(output, wrt, seed)
    nodes = ancestors([output])
    known = {node.serial for node in nodes}
    for target in wrt:
        if target.serial not in known:
            raise GraphError(f"grad: {output} does not depend on {target} ({target.source})")
    if seed is None:
        seed = constant(np.ones((), output.dtype))
    cotangents = {output.serial: seed}
    needed = _depending_on(nodes, wrt)
    for node in reversed(nodes):
        g = cotangents.get(node.serial)
        if g is None or node.serial not in needed:
            continue
        with at_line(node.source):
            for position, operand in enumerate(node.operands):
                rule = node.op.rule(position)
                if rule is None or operand.serial not in needed:
                    continue
                part = rule(g, node, *node.operands, **node.attrs)
                if not _is_cotangent(part, operand):
                    raise GraphError(f"grad: {node.op.name}: {part} is no cotangent of {operand}")
                before = cotangents.get(operand.serial)
                cotangents[operand.serial] = part if before is None else before + part
    return [
        cotangents[target.serial] if target.serial in cotangents else zeros_like(target)
        for target in wrt
    ]


def _is_cotangent(part: Expression, operand: Expression) -> bool:
    return (
        part.dtype == operand.dtype
        and part.ndim == operand.ndim
        and None not in map(unify, part.shape, operand.shape)
    )


def _check(output: Expression, wrt: Sequence[Expression], seed: Expression | None) -> None:
    if output.dtype.kind != "f":
        raise GraphError(f"grad: {output} ({output.source}) is not floating point")
    if seed is None and output.ndim:
        raise GraphError(
            f"grad: {output} ({output.source}) is not a scalar: "
            "reduce it with sum or mean, or give a seed"
        )
    if seed is not None and seed.type != output.type:
        raise GraphError(f"grad: the seed is {seed.type}, the output {output.type}")
    for target in wrt:
        if target.dtype.kind != "f":
            raise GraphError(f"grad: {target} ({target.source}) is not floating point")


def _depending_on(nodes: Sequence[Expression], wrt: Sequence[Expression]) -> set[int]:
    """The serials of the nodes that depend on any of `wrt` through floating point, with those."""
    needed = {target.serial for target in wrt}
    for node in nodes:
        if node.dtype.kind == "f" and any(operand.serial in needed for operand in node.operands):
            needed.add(node.serial)
    return needed
