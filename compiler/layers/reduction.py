"""What the losses share: how they are reduced, and checks of their operands."""

from __future__ import annotations

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core.errors import OptionError
from staticgraph.compiler.core.types import broadcast_shapes
from staticgraph.compiler.core.values import Value
from staticgraph.compiler.layers.axes import of_floats, same_shape, shown
from staticgraph.compiler.ops.declare import as_operand

REDUCTIONS = ("mean", "sum", "none")


def checked(name: str, reduction: str) -> str:
    """The reduction; OptionError unless it is one."""
    if reduction not in REDUCTIONS:
        raise OptionError(f"{name}: reduction is one of {REDUCTIONS}, not {reduction!r}")
    return reduction


def pair(name: str, x: object, target: object) -> tuple[Value, Value]:
    """Floating-point predictions and targets that broadcast with them."""
    x, target = of_floats(name, x), as_operand(target)
    broadcast_shapes(name, shown(x), shown(target))
    return x, as_factor(target, x)


def as_factor(target: Value, x: Value) -> Value:
    """Targets that are integers or truths as numbers of x's dtype, which the losses keep."""
    return ops.astype(target, x.dtype) if np.dtype(target.dtype).kind in "biu" else target


def reduced(losses: Value, reduction: str, weight: Value = None) -> Value:
    """The losses, their sum, or their mean, in which losses count by `weight` if given."""
    if reduction == "none":
        return losses
    if reduction == "sum":
        return ops.sum(losses)
    return ops.mean(losses) if weight is None else ops.sum(losses) / ops.sum(weight)


def weighted(name: str, losses: Value, reduction: str, weight: Value) -> Value:
    """The losses times `weight` if it is given, reduced; the mean is the weighted one."""
    if weight is None:
        return reduced(losses, reduction)
    weight = as_operand(weight)
    same_shape(name, losses, "weight", weight)
    return reduced(losses * weight, reduction, weight)
