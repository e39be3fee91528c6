"""What the losses share: how they are reduced, and checks of their operands."""

from __future__ import annotations

from typing import Any

from staticgraph.compiler.core.errors import OptionError
from staticgraph.compiler.core.op import Operand
from staticgraph.compiler.layers.reduction import reduced
from staticgraph.dynamic.core.errors import AutogradError
from staticgraph.dynamic.core.sizes import differ
from staticgraph.dynamic.core.user_warnings import warn


def legacy_reduction(size_average: bool | None, reduce: bool | None, reduction: str) -> str:
    """`reduction`, unless one of PyTorch's old arguments says otherwise, with a warning."""
    if size_average is None and reduce is None:
        return reduction
    for one in (size_average, reduce):
        shape = tuple(one.shape) if isinstance(one, Operand) else ()
        if shape not in ((), (1,)):
            raise AutogradError(
                "size_average and reduce are bools: the truth of a Tensor of shape "
                f"{list(shape)} is ambiguous"
            )
    if not (reduce is None or reduce):
        reduction = "none"
    else:
        reduction = "mean" if size_average is None or size_average else "sum"
    warn(
        "size_average and reduce args will be deprecated, "
        f"please use reduction='{reduction}' instead.",
    )
    return reduction


def reduction_of(size_average: bool | None, reduce: bool | None, reduction: str) -> str:
    """See `legacy_reduction`; ValueError unless the result is 'mean', 'sum' or 'none'."""
    reduction = legacy_reduction(size_average, reduce, reduction)
    if not isinstance(reduction, str) or reduction not in ("none", "mean", "sum"):
        raise OptionError(f"{reduction} is not a valid value for reduction")
    return reduction


def warn_of_sizes(input: Any, target: Any) -> None:
    """Warn if the target will be broadcast, which is seldom meant."""
    if differ(input.shape, target.shape):
        warn(
            f"Using a target size ({target.shape}) that is different to the input size "
            f"({input.shape}). This will likely lead to incorrect results due to broadcasting. "
            "Please ensure they have the same size.",
        )


def with_weight(losses: Any, weight: Any) -> Any:
    """The losses times a weight of their shape; ValueError if it has another."""
    if differ(weight.shape, losses.shape):
        raise OptionError("Weights and input must have the same size.")
    return losses * weight


def weighted(losses: object, reduction: str, weight: object) -> Any:
    """The losses times `weight` if it is given, reduced; the mean is the weighted one."""
    losses = losses if weight is None else with_weight(losses, weight)
    return reduced(losses, reduction, weight)
