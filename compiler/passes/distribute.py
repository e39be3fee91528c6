"""Distribute: what a loop does to each slice, done to the stack of all slices outside.

The slices are examples, the stacks are batches, and the rules are those of the ops
(`compiler.ops.batching`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from staticgraph.compiler.core.dims import Size
from staticgraph.compiler.core.lowering import Gather, Host, Nested
from staticgraph.compiler.core.op import is_own
from staticgraph.compiler.core.types import TupleType
from staticgraph.compiler.graph.expression import Expression, at_line, construct
from staticgraph.compiler.graph.traversal import between
from staticgraph.compiler.ops.batching import Example
from staticgraph.compiler.ops.programs.control import item


def distribute(
    wanted: Expression, known: Mapping[int, Example], length: Size, made: dict[int, Example | None]
) -> Example | None:
    """What stands outside for an expression of a body, given that for the values it starts from:
    one value for all slices, or, batched, the stack of them.

    Args:
        wanted: the expression.
        known: by the serials of expressions in the body; the rest is computed from them.
        length: the size of the new axis.
        made: what was distributed before, which grows.

    Returns:
        None where there is no rule for an op, or a value is not known.
    """
    made |= known
    for node in between([wanted], made):
        made[node.serial] = _applied(node, [made[one.serial] for one in node.operands], length)
    return made[wanted.serial]


def _applied(node: Expression, parts: Sequence[Example | None], length: Size) -> Example | None:
    given = [part for part in parts if part is not None]
    if len(given) < len(parts) or node.op.name in ("placeholder", "variable"):
        return None
    if isinstance(node.op.lowering, Nested):
        return None
    if isinstance(node.op.lowering, Host) and is_own(node.op):
        return None  # which on a batch is a loop again
    ndim = 0 if isinstance(node.type, TupleType) else node.ndim
    with at_line(node.source):
        if node.op is item:
            return Example(construct(item, (given[0].tensor,), node.attrs), given[0].batched, ndim)
        if not any(part.batched for part in given):
            runs = isinstance(length, int) and length > 0
            if isinstance(node.op.lowering, Gather | Host) and not runs:
                return None  # what such an op raises is no error in a loop of no steps
            values = tuple(part.tensor for part in given)
            return Example(construct(node.op, values, node.attrs), False, ndim)
        rule = node.op.batching
        value = None if rule is None else rule(node.op, given, length, node.attrs)
    return None if value is None else Example(value, True, ndim)
