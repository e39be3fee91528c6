"""Reverse-mode differentiation of expressions: one walk, with the rules of the ops."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from compiler.errors import GraphError
from compiler.graph.expression import Expression, ancestors, at_line, constant, next_serial
from compiler.ops.declare import zeros_like
from compiler.regions import close_region, copy_region, regions_of
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
    return pullback([output], wrt, [seed])


def pullback(
    outputs: Sequence[Expression], wrt: Sequence[Expression], seeds: Sequence[Expression]
) -> list[Expression]:
    """The cotangents of expressions, given those of floating-point outputs: `seeds`.

    One per element of `wrt`, of its type; zero where no output depends on it.
    """
    cotangents: dict[int, Expression] = {}
    for output, seed in zip(outputs, seeds, strict=True):
        _add(cotangents, output, seed)
    _walk(ancestors(outputs), cotangents, wrt)
    return [
        cotangents[target.serial] if target.serial in cotangents else zeros_like(target)
        for target in wrt
    ]


def _walk(
    nodes: Sequence[Expression], cotangents: dict[int, Expression], wrt: Sequence[Expression]
) -> None:
    """Add to `cotangents` those of the operands of `nodes`, as far as `wrt` depends on them."""
    needed = _depending_on(nodes, wrt)
    regions = regions_of(nodes, wrt)
    copied = {result.serial for results in regions.values() for result in results}
    for node in reversed(nodes):
        if node.serial in regions:
            _through_region(regions[node.serial], cotangents, needed)
        elif node.serial in cotangents and node.serial in needed and node.serial not in copied:
            _through_op(node, cotangents, needed)


def _through_op(node: Expression, cotangents: dict[int, Expression], needed: set[int]) -> None:
    g = cotangents[node.serial]
    with at_line(node.source):
        for position, operand in enumerate(node.operands):
            rule = node.op.rule(position)
            if rule is None or operand.serial not in needed:
                continue
            part = rule(g, node, *node.operands, **node.attrs)
            if not _is_cotangent(part, operand):
                raise GraphError(f"grad: {node.op.name}: {part} is no cotangent of {operand}")
            _add(cotangents, operand, part)


def _add(cotangents: dict[int, Expression], to: Expression, part: Expression) -> None:
    before = cotangents.get(to.serial)
    cotangents[to.serial] = part if before is None else before + part


def _through_region(
    results: Sequence[Expression], cotangents: dict[int, Expression], needed: set[int]
) -> None:
    """Differentiate a copy of a region, in a region of its own: so do higher derivatives.

    The cotangents that its entries have already are continued, so that terms are added in the
    order in which they are without a region.
    """
    reached = [one for one in results if one.serial in cotangents and one.serial in needed]
    if not reached:
        return
    start = next_serial()
    copy = copy_region(reached, [cotangents[one.serial] for one in reached])
    entries = [(node, again) for node, again in copy.entries if node.serial in needed]
    inner = {
        again.serial: cotangents[node.serial]
        for node, again in entries
        if node.serial in cotangents
    }
    for one, again in reversed(list(zip(reached, copy.results, strict=True))):
        with at_line(one.source):
            _add(inner, again, cotangents[one.serial])
    _walk(copy.nodes, inner, [again for _, again in entries])
    found = [(node, inner[again.serial]) for node, again in entries if again.serial in inner]
    with at_line(results[0].source):
        closed = close_region([cotangent for _, cotangent in found], start)
    for (node, _), cotangent in zip(found, closed, strict=True):
        cotangents[node.serial] = cotangent


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
        if node.dtype.kind == "f" and any(
            operand.serial in needed and node.op.rule(position) is not None
            for position, operand in enumerate(node.operands)
        ):
            needed.add(node.serial)
    return needed
