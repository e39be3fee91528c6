"""Losses of predicted numbers."""

from __future__ import annotations

import math

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core.errors import OptionError, ShapeError
from staticgraph.compiler.core.op import Operand
from staticgraph.compiler.core.values import Value
from staticgraph.compiler.layers.axes import agree, same_shape, shown
from staticgraph.compiler.layers.reduction import checked, pair, reduced, weighted
from staticgraph.compiler.ops.declare import as_operand

__all__ = [
    "gaussian_nll_loss", "huber_loss", "l1_loss", "mse_loss", "poisson_nll_loss",
    "smooth_l1_loss",
]  # fmt: skip


def mse_loss(x: Value, target: Value, *, weight: Value = None, reduction: str = "mean") -> Value:
    """The squared difference; with `weight`, of the same shape, the weighted mean.

    Args:
        reduction: 'mean', 'sum' or 'none'.

    Raises:
        ShapeError: shapes do not fit.
        OptionError: another reduction.

    Example:
        >>> sg.nn.mse_loss(np.array([1.0, 2.0]), np.array([0.0, 4.0]), weight=np.array([3.0, 1.0]))
        np.float64(1.75)
    """
    reduction = checked("mse_loss", reduction)
    x, target = pair("mse_loss", x, target)
    if weight is None:
        return ops.mse_loss(x, target, reduction)
    return weighted("mse_loss", ops.square(x - target), reduction, weight)


def l1_loss(x: Value, target: Value, *, weight: Value = None, reduction: str = "mean") -> Value:
    """The absolute difference; options and errors as those of `mse_loss`.

    Example:
        >>> sg.nn.l1_loss(np.array([1.0, 2.0]), np.array([0.0, 4.0]))
        np.float64(1.5)
    """
    reduction = checked("l1_loss", reduction)
    x, target = pair("l1_loss", x, target)
    return weighted("l1_loss", ops.absolute(x - target), reduction, weight)


def smooth_l1_loss(x: Value, target: Value, *, beta: float = 1.0, reduction: str = "mean") -> Value:
    """d**2 / (2 * beta) where the difference d is below beta, d - beta / 2 where not.

    Raises:
        OptionError: beta is negative, or another reduction.

    Example:
        >>> sg.nn.smooth_l1_loss(np.array([1.0, 5.0]), np.array([0.5, 0.0]), reduction="none")
        array([0.125, 4.5  ])
    """
    reduction = checked("smooth_l1_loss", reduction)
    if beta < 0:
        raise OptionError(f"smooth_l1_loss: beta is a number from 0, not {beta!r}")
    x, target = pair("smooth_l1_loss", x, target)
    return reduced(smooth(x - target, beta), reduction)


def smooth(difference: Value, beta: float) -> Value:
    """The single losses of `smooth_l1_loss`."""
    return huber(difference, beta) / beta if beta else ops.absolute(difference)


def huber(difference: Value, delta: float) -> Value:
    """The single losses of `huber_loss`."""
    distance = ops.absolute(difference)
    close = ops.less(distance, delta)
    near = ops.where(close, difference, 0.0)  # far away the square and its slope may be inf
    return ops.where(close, 0.5 * ops.square(near), delta * (distance - 0.5 * delta))


def huber_loss(
    x: Value, target: Value, *, delta: float = 1.0, weight: Value = None, reduction: str = "mean"
) -> Value:
    """d**2 / 2 where the difference d is below delta, delta * (d - delta / 2) where not.

    The weighted mean, as PyTorch's, is not divided by the weights (Huber 1964).

    Raises:
        OptionError: delta is not positive, or another reduction.

    Example:
        >>> sg.nn.huber_loss(np.array([1.0, 5.0]), np.array([0.5, 0.0]), reduction="none")
        array([0.125, 4.5  ])
    """
    reduction = checked("huber_loss", reduction)
    if delta <= 0:
        raise OptionError(f"huber_loss: delta is a number above 0, not {delta!r}")
    x, target = pair("huber_loss", x, target)
    losses = huber(x - target, delta)
    if weight is not None:
        weight = as_operand(weight)
        same_shape("huber_loss", losses, "weight", weight)
        losses = losses * weight
    return reduced(losses, reduction)


def poisson_nll_loss(
    x: Value,
    target: Value,
    *,
    log_input: bool = True,
    full: bool = False,
    eps: float = 1e-8,
    reduction: str = "mean",
) -> Value:
    """exp(x) - t * x, or x - t * log(x + eps) without `log_input`.

    `full` adds Stirling's approximation of log(t!) where t > 1.

    Example:
        >>> sg.nn.poisson_nll_loss(np.array([0.0, 0.0]), np.array([1.0, 2.0]))
        np.float64(1.0)
    """
    reduction = checked("poisson_nll_loss", reduction)
    x, target = pair("poisson_nll_loss", x, target)
    return reduced(of_counts(x, target, log_input, full, eps), reduction)


def of_counts(x: Value, target: Value, log_input: bool, full: bool, eps: float) -> Value:
    """The single losses of `poisson_nll_loss`."""
    losses = ops.exp(x) - target * x if log_input else x - target * ops.log(x + eps)
    if not full:
        return losses
    many = ops.greater(target, 1)
    t = ops.where(many, target, 1)
    stirling = t * ops.log(t) - t + 0.5 * ops.log(2 * math.pi * t)
    return losses + ops.where(many, stirling, 0)


def gaussian_nll_loss(
    x: Value,
    target: Value,
    var: Value,
    *,
    full: bool = False,
    eps: float = 1e-6,
    reduction: str = "mean",
) -> Value:
    """(log(var) + (x - t)**2 / var) / 2, var at least eps; `full` adds log(2 pi) / 2.

    `var`, an operand or a number, has the shape of x, or size 1 or nothing for its last axis
    (Nix, Weigend 1994).

    Raises:
        ShapeError: the variance has another shape.
        OptionError: it is a negative number, or another reduction.

    Example:
        >>> sg.nn.gaussian_nll_loss(np.array([1.0, 2.0]), np.array([0.0, 2.0]), np.ones(2))
        np.float64(0.25)
    """
    name = "gaussian_nll_loss"
    reduction = checked(name, reduction)
    x, target = pair(name, x, target)
    if isinstance(var, int | float):
        if var < 0:
            raise OptionError(f"{name}: var={var!r} is negative")
        var = number_like(x, var)
    else:
        var, shape = as_operand(var), tuple(x.shape)
        if not agree(var.shape, shape):
            if agree(var.shape, shape[:-1]):
                var = ops.expand_dims(var, -1)
            elif not agree(var.shape, (*shape[:-1], 1)):
                raise ShapeError(f"{name}: the variance {shown(var)} does not fit {shown(x)}")
    return reduced(of_variance(x, target, var, full, eps), reduction)


def number_like(x: Value, value: float) -> Value:
    """A number as an operand of the rank and dtype of x."""
    found = np.full((1,) * x.ndim, value, np.dtype(x.dtype))
    return x._constant(found) if isinstance(x, Operand) else found


def of_variance(x: Value, target: Value, var: Value, full: bool, eps: float) -> Value:
    """The single losses of `gaussian_nll_loss`."""
    # the limit does not stop the gradient
    var = var + ops.stop_gradient(ops.maximum(var, eps) - var)
    losses = 0.5 * (ops.log(var) + ops.square(x - target) / var)
    return losses + 0.5 * math.log(2 * math.pi) if full else losses
