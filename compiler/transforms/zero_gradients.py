"""Gradients that are zero everywhere: found when they are made, and noted for the lint."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from staticgraph.compiler.core.dtypes import is_float
from staticgraph.compiler.core.source import gradient_of, place_of
from staticgraph.compiler.graph.expression import Expression
from staticgraph.compiler.graph.notes import ZeroGradient, note
from staticgraph.compiler.graph.traversal import between
from staticgraph.compiler.ops import leaves
from staticgraph.compiler.ops.arithmetic import flat


def note_zeros(
    output: Expression,
    wrt: Sequence[Expression],
    nodes: Sequence[Expression],
    results: Sequence[Expression],
    implied: bool,
) -> None:
    """Note each of the gradients `results` that is zero everywhere.

    Args:
        output: what was differentiated.
        wrt: by what; one per result.
        nodes: what `output` depends on, operands first.
        implied: whether nobody named what is in `wrt`.
    """
    known = {node.serial: node for node in nodes}
    zeros = _zeros(between(results, known))
    for target, result in zip(wrt, results, strict=True):
        if result.serial in zeros:
            blocks = _blocks(target, nodes)
            if blocks:
                what = ZeroGradient(_named(output), _named(target), blocks, implied)
                note(result, what)


def _zeros(made: Sequence[Expression]) -> set[int]:
    """The serials of the expressions that are zero whatever the others are, if they are finite."""
    zeros: set[int] = set()
    for node in made:
        if node.op is leaves.constant:
            array: Any = node.attrs["value"].array
            if array.size and not array.any():
                zeros.add(node.serial)
        elif zeros and node.operands and _is_zero(node, [o.serial in zeros for o in node.operands]):
            zeros.add(node.serial)
    return zeros


def _is_zero(node: Expression, given: Sequence[bool]) -> bool:
    if node.op.linearity == "multilinear":  # a product
        return any(given)
    return given[0] if node.op.name == "divide" else all(given) and node.op.linearity == "linear"


def _named(one: Expression) -> str:
    label = f" {one.name!r}" if one.name else ""
    return f"{one.op.name}{label} {one.type}"


def _blocks(target: Expression, nodes: Sequence[Expression]) -> tuple[str, ...]:
    """The ops between `target` and the output that hand no gradient on; none if one of them is
    part of a gradient, where that is what a second derivative mostly is.
    """
    reached = {target.serial}
    found: dict[str, None] = {}
    for node in nodes:
        positions = [i for i, one in enumerate(node.operands) if one.serial in reached]
        if not positions:
            continue
        if _blocks_at(node, positions):
            if gradient_of(node.source):
                return ()
            found[f"{node.op.name} at {place_of(node.source)}"] = None
        else:
            reached.add(node.serial)
    return tuple(found)


def _blocks_at(node: Expression, positions: Sequence[int]) -> bool:
    type: Any = node.type
    if node.op.vjp_items is not None:
        return False
    if getattr(type, "dtype", None) is not None and not is_float(type.dtype):
        return True
    rules = [node.op.rule(position) for position in positions]
    return all(rule is None or rule is flat for rule in rules)
