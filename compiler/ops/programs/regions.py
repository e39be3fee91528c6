"""Ops that say when a value is computed, or whose its gradient is, never what it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from staticgraph.compiler.core.dims import Size
from staticgraph.compiler.core.lowering import Alias
from staticgraph.compiler.core.op import Attrs, Op, register
from staticgraph.compiler.core.types import TensorType
from staticgraph.compiler.core.values import Value
from staticgraph.compiler.ops.batching import Apply, Example, evaluated, first_of_all


def _first(x: object, *others: object, **attrs: object) -> Any:
    return x


def _first_type(x: TensorType, *others: TensorType, **attrs: object) -> TensorType:
    return x


checkpoint = register(
    Op(
        name="checkpoint",
        infer_type=_first_type,
        evaluate=_first,
        vjp=(lambda g, o, x, *entries, region: g,),
        saves=("",),
        bind=lambda x, *entries, region: ((x, *entries), {"region": region}),
        expand=_first,
        batching=first_of_all,
        complex="any",
        doc="x, a result of the region whose expressions are those between it and the other "
        "operands, which enter the region; results of one region have the same `region`.",
    )
)

recompute = register(
    Op(
        name="recompute",
        infer_type=_first_type,
        evaluate=_first,
        vjp=(lambda g, o, x, *after: g,),
        saves=("",),
        lowering=Alias(),
        batching=first_of_all,
        exact=True,
        complex="any",
        doc="x, which is not interned with x; what reads it runs after the others are known.",
    )
)


class GivenRule(Protocol):
    """A gradient that was given: see `compiler.transforms.custom_rules`."""

    @property
    def arguments(self) -> int:
        """How many operands behind the value have a gradient; what follows, the rule reads."""

    def cotangent(self, position: int, g: Value, out: Value, reads: Sequence[Value]) -> Value:
        """The cotangent of one of these, or None."""

    def batched(self, examples: Sequence[Example], size: Size) -> GivenRule:
        """The rule on batches; `examples` are the operands behind the value."""


def _by_rule(position: int, g: Value, out: Value, *operands: Value, rule: GivenRule) -> Value:
    if not 1 <= position <= rule.arguments:
        return None
    return rule.cotangent(position - 1, g, out, operands[1 + rule.arguments :])


def _with_batched_rule(
    op: Op, examples: Sequence[Example], size: Size, attrs: Attrs, apply: Apply = evaluated
) -> Any:
    rule = attrs["rule"].batched(examples[1:], size)
    return first_of_all(op, examples, size, {"rule": rule}, apply)


# These two have gradients that are not those of their values, so that they are not among the ops
# that are registered. What is compiled is their first operand.

gradient_to = Op(
    name="gradient_to",
    infer_type=_first_type,
    evaluate=_first,
    vjp=(None, lambda g, o, x, other: g),
    saves=("", ""),
    expand=_first,
    batching=first_of_all,
    doc="x, whose gradient is that of `other`, of its type: the value of what is overwritten "
    "while nothing is recorded.",
)

custom_gradient = Op(
    name="custom_gradient",
    infer_type=_first_type,
    evaluate=_first,
    vjp=_by_rule,
    bind=lambda x, *others, rule: ((x, *others), {"rule": rule}),
    expand=_first,
    batching=_with_batched_rule,
    doc="x, of whose cotangent `rule` makes those of the operands that follow, None for some; it "
    "may read the rest of them.",
)
