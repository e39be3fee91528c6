"""Ops that say when a value is computed, or whose its gradient is, never what it is."""

from __future__ import annotations

from typing import Any

from compiler.core.lowering import Alias
from compiler.core.op import Op, register
from compiler.core.types import TensorType
from compiler.ops.batching import first_of_all


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
        doc="x, which is not interned with x; what reads it runs after the others are known.",
    )
)


def _by_rule(position: int, g: Any, out: object, *operands: object, rule: Any) -> Any:
    return rule(g)[position - 1] if position else None


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
    batching=first_of_all,
    doc="x, of whose cotangent `rule` makes those of the other operands, None for some.",
)
