"""Batching rules: how an op on examples is an op on batches, whose first axis counts them.

Most families of ops need one of the rules here: elementwise ops align the axes of the examples,
reductions and ops that name axes count them after the batch axis. What only one family needs is
with its declarations. A composite without a rule is expanded by the caller into ops that have one.
The rules are written in ops, and serve expressions and eager tensors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from staticgraph.compiler.core.dims import Size
from staticgraph.compiler.core.op import Attrs, Op, op_named
from staticgraph.compiler.core.record import Record, record
from staticgraph.compiler.core.values import Value


@record
class Example(Record):
    """An operand: the tensor, whether its first axis is the batch, and the axes of an example."""

    tensor: Value
    batched: bool
    ndim: int


Apply = Callable[[Op, Sequence[Any], Attrs], Any]


def evaluated(op: Op, operands: Sequence[Value], attrs: Attrs) -> Value:
    """`op` applied to handles, with attributes that are complete already."""
    return operands[0]._apply(op, operands, attrs)


def full(example: Example, size: Size) -> Any:
    """The tensor with the batch axis, repeated along it without memory if it has none."""
    if example.batched:
        return example.tensor
    return op_named("broadcast_to")(example.tensor, (size, *example.tensor.shape))


def widened(example: Example, ndim: int) -> Any:
    """The tensor of which an example has `ndim` axes: new ones behind the batch axis."""
    if not example.batched or example.ndim == ndim:
        return example.tensor
    return op_named("expand_dims")(example.tensor, tuple(range(1, 1 + ndim - example.ndim)))


def aligned(
    op: Op, examples: Sequence[Example], size: Size, attrs: Attrs, apply: Apply = evaluated
) -> Value:
    """Elementwise ops, and those whose leading axes broadcast: axes are counted from the last."""
    ndim = max(one.ndim for one in examples)
    return apply(op, [widened(one, ndim) for one in examples], attrs)


def shifted(
    op: Op, examples: Sequence[Example], size: Size, attrs: Attrs, apply: Apply = evaluated
) -> Value:
    """Ops of one operand that name several axes."""
    axes = tuple(axis + 1 for axis in attrs["axes"])
    return apply(op, [examples[0].tensor], {**attrs, "axes": axes})


def shifted_one(
    op: Op, examples: Sequence[Example], size: Size, attrs: Attrs, apply: Apply = evaluated
) -> Value:
    """Ops of operands of one rank that name one axis."""
    tensors = [full(one, size) for one in examples]
    return apply(op, tensors, {**attrs, "axis": attrs["axis"] + 1})


def of_one_shape(
    op: Op, examples: Sequence[Example], size: Size, attrs: Attrs, apply: Apply = evaluated
) -> Value:
    """Ops of operands of one shape on their last axes."""
    return apply(op, [full(one, size) for one in examples], attrs)


def unchanged(
    op: Op, examples: Sequence[Example], size: Size, attrs: Attrs, apply: Apply = evaluated
) -> Value:
    """Ops of one operand on its last axes."""
    return apply(op, [examples[0].tensor], attrs)


def first_of_all(
    op: Op, examples: Sequence[Example], size: Size, attrs: Attrs, apply: Apply = evaluated
) -> Any:
    """Ops whose value is their first operand, and that wait for the others."""
    return apply(op, [full(examples[0], size), *(one.tensor for one in examples[1:])], attrs)


def aligned_to_first(
    op: Op, examples: Sequence[Example], size: Size, attrs: Attrs, apply: Apply = evaluated
) -> Value:
    """Ops whose value has the shape of their first operand, to which the others broadcast."""
    first, *rest = examples
    return apply(op, [full(first, size), *(widened(one, first.ndim) for one in rest)], attrs)


def images(
    op: Op, examples: Sequence[Example], size: Size, attrs: Attrs, apply: Apply = evaluated
) -> Any:
    """Ops on images, of one larger batch; None where the weights differ between the examples."""
    x, *rest = examples
    if any(one.batched for one in rest):
        return None
    reshape = op_named("reshape")
    batch = reshape(x.tensor, (size * x.tensor.shape[1], *x.tensor.shape[2:]))
    result = apply(op, [batch, *(one.tensor for one in rest)], attrs)
    return reshape(result, (*x.tensor.shape[:2], *result.shape[1:]))
