"""Vectorisation: expressions of one example as expressions of a batch, by the batching rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from staticgraph.compiler.core.dims import Size
from staticgraph.compiler.core.errors import GraphError
from staticgraph.compiler.core.types import TensorType
from staticgraph.compiler.graph.expression import Expression, abstract, at_line
from staticgraph.compiler.graph.traversal import ancestors
from staticgraph.compiler.ops.batching import Example
from staticgraph.compiler.ops.programs.control import item, items
from staticgraph.compiler.transforms.control_batching import items_on_batches


def batched(
    outputs: Sequence[Expression], batches: Mapping[Expression, Expression], size: Size
) -> list[Expression | None]:
    """The outputs for all examples of a batch.

    Args:
        outputs: computed from one example.
        batches: for each expression that stands for one example all of them, as first axis.
        size: how many there are.

    Returns:
        Per output all of them, as first axis; None where it is the same for all examples.

    Raises:
        GraphError: an op has no batching rule.
    """
    made: dict[int, Any] = {
        node.serial: Example(batch, True, node.ndim) for node, batch in batches.items()
    }
    for node in ancestors(outputs):
        _visit(node, made, size)
    found = [made[output.serial] for output in outputs]
    return [example.tensor if example.batched else None for example in found]


def example(batch: Expression) -> Expression:
    """An expression that stands for one example of a batch, whose first axis counts them."""
    return abstract(TensorType(batch.shape[1:], batch.dtype))


def _alone(node: Expression) -> Example:
    return Example(node, False, node.ndim)


def _types(node: Expression) -> Sequence[TensorType]:
    """The types of the tensors of which a value consists."""
    found: Any = node.type
    return tuple(found.items)


def _visit(node: Expression, made: dict[int, Any], size: Size) -> None:
    """Add a value for all examples to `made`; of a loop or a branch, a list of its items."""
    if node.serial in made:
        return
    if node.op is item:
        several = made.get(node.operands[0].serial)
        made[node.serial] = several[node.attrs["index"]] if several else _alone(node)
        return
    examples = [made[operand.serial] for operand in node.operands]
    if not any(example.batched for example in examples):
        if node.op.vjp_items is None:
            made[node.serial] = _alone(node)
        return
    if node.op.vjp_items is not None:
        with at_line(node.source):
            made[node.serial] = items_on_batches(node, examples, size, batched)
            rule = node.op.batching
            if rule is not None:
                several = rule(node.op, examples, size, node.attrs)
                made[node.serial] = (
                    None
                    if several is None
                    else [
                        Example(one, True, type.ndim)
                        for one, type in zip(items(several), _types(node), strict=True)
                    ]
                )
        if made[node.serial] is None:
            raise GraphError(f"vmap: {node.op.name} has no batching rule ({node.source})")
        return
    rule = node.op.batching
    with at_line(node.source):
        result = None if rule is None else rule(node.op, examples, size, node.attrs)
        if result is None and node.op.expand is not None:
            expansion = node.op.expand(*node.operands, **node.attrs)
            for part in ancestors([expansion]):
                _visit(part, made, size)
            made[node.serial] = made[expansion.serial]
            return
        if result is None:
            raise GraphError(f"vmap: {node.op.name} has no batching rule ({node.source})")
    made[node.serial] = Example(result, True, node.ndim)
