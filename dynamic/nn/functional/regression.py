"""Losses of predicted numbers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core.errors import OptionError
from staticgraph.compiler.reference.squares import squared_error
from staticgraph.dynamic.core.errors import AutogradError
from staticgraph.dynamic.core.sizes import differ
from staticgraph.dynamic.nn.functional.few import REDUCED, are_few, plans_of
from staticgraph.dynamic.nn.functional.reduction import (
    reduced,
    reduction_of,
    warn_of_sizes,
    weighted,
    with_weight,
)
from staticgraph.dynamic.tensors.tensor import has_values, new_value_of_two

__all__ = [
    "gaussian_nll_loss", "huber_loss", "l1_loss", "mse_loss", "poisson_nll_loss",
    "smooth_l1_loss",
]  # fmt: skip


def mse_loss(
    input: object,
    target: Any,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: object = None,
) -> Any:
    """The squared difference; with `weight`, the weighted mean."""
    if weight is None and size_average is None and reduce is None and reduction in REDUCED:
        found = _squared_few(input, target, reduction)
        if found is not None:
            return found
    reduction = reduction_of(size_average, reduce, reduction)
    warn_of_sizes(input, target)
    if weight is None:
        return ops.mse_loss(input, target, reduction)
    return weighted(ops.square(input - target), reduction, weight)


_plans = plans_of(ops.mse_loss, of_target=True)


def _squared_few(input: Any, target: Any, reduction: str) -> Any:
    """The short way of small plain tensors of one shape and dtype; None for all else."""
    if not are_few(input, target):
        return None
    x, y, attrs = input._array, target._array, REDUCED[reduction]
    if x.dtype is not y.dtype or x.shape != y.shape:
        return None
    value = squared_error(x, y, reduction=reduction)
    return new_value_of_two(_plans, input, target, x, y, value, attrs)


def l1_loss(
    input: object,
    target: Any,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: object = None,
) -> Any:
    """The absolute difference; with `weight`, the weighted mean."""
    reduction = reduction_of(size_average, reduce, reduction)
    warn_of_sizes(input, target)
    return weighted(ops.absolute(input - target), reduction, weight)


def smooth_l1_loss(
    input: object,
    target: Any,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    beta: float = 1.0,
) -> Any:
    """d**2 / (2 * beta) where the difference d is below beta, d - beta / 2 where not."""
    reduction = reduction_of(size_average, reduce, reduction)
    warn_of_sizes(input, target)
    if beta < 0:
        raise AutogradError("smooth_l1_loss does not support negative values for beta.")
    if beta == 0:
        return reduced(ops.absolute(input - target), reduction)
    return reduced(_huber(input - target, beta) / beta, reduction)


def _huber(difference: object, delta: float) -> Any:
    distance = ops.absolute(difference)
    far = delta * (distance - 0.5 * delta)
    return ops.where(ops.less(distance, delta), 0.5 * ops.square(difference), far)


def huber_loss(
    input: object, target: Any, reduction: str = "mean", delta: float = 1.0, weight: object = None
) -> Any:
    """d**2 / 2 where the difference d is below delta, delta * (d - delta / 2) where not."""
    reduction = reduction_of(None, None, reduction)
    warn_of_sizes(input, target)
    if delta <= 0:
        raise AutogradError("huber_loss does not support non-positive values for delta.")
    losses = _huber(input - target, delta)
    if weight is None:
        return reduced(losses, reduction)
    # unlike those of the other losses, the weighted mean is not divided by the weights
    return reduced(with_weight(losses, weight), reduction)


def poisson_nll_loss(
    input: Any,
    target: object,
    log_input: bool = True,
    full: bool = False,
    size_average: bool | None = None,
    eps: float = 1e-8,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Any:
    """exp(x) - t * x, or x - t * log(x + eps) without `log_input`.

    `full` adds Stirling's approximation of log(t!) where t > 1.
    """
    reduction = reduction_of(size_average, reduce, reduction)
    if log_input:
        losses = ops.exp(input) - target * input
    else:
        losses = input - target * ops.log(input + eps)
    if full:
        many = ops.greater(target, 1)
        t = ops.where(many, target, 1)
        stirling = t * ops.log(t) - t + 0.5 * ops.log(2 * math.pi * t)
        losses = losses + ops.where(many, stirling, 0)
    return reduced(losses, reduction)


def gaussian_nll_loss(
    input: Any,
    target: object,
    var: object,
    full: bool = False,
    eps: float = 1e-6,
    reduction: str = "mean",
) -> Any:
    """(log(var) + (x - t)**2 / var) / 2, var at least eps; `full` adds log(2 pi) / 2.

    `var`, a tensor or a number, has the input's shape, or size 1 or nothing for its last axis
    (Nix, Weigend 1994).
    """
    if reduction not in ("none", "mean", "sum"):
        raise OptionError(f"{reduction} is not valid")
    if isinstance(var, int | float):
        if var < 0:
            raise OptionError("var has negative entry/entries")
        var = input.constant(np.full((1,) * input.ndim, var, np.dtype(input.dtype)))
    else:
        var = _fitted(var, tuple(input.shape))
    # the limit does not stop the gradient
    var = var + ops.stop_gradient(ops.maximum(var, eps) - var)
    losses = 0.5 * (ops.log(var) + ops.square(input - target) / var)
    return reduced(losses + 0.5 * math.log(2 * math.pi) if full else losses, reduction)


def _fitted(var: Any, shape: tuple[object, ...]) -> Any:
    """A variance in a shape that broadcasts; ValueError if it does not or is negative."""
    sizes = tuple(var.shape)
    if differ(sizes, shape):
        if not differ(sizes, shape[:-1]):
            var = ops.expand_dims(var, -1)
        elif differ(sizes, (*shape[:-1], 1)):
            raise OptionError("var is of incorrect size")
    if has_values(var) and var._array.size and var._array.min() < 0:
        raise OptionError("var has negative entry/entries")
    return var
