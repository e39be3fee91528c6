"""Losses of predicted numbers: PyTorch's arguments and refusals.

What is computed is `staticgraph.compiler.layers.regression`, which both paradigms share.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core.errors import OptionError
from staticgraph.compiler.layers.reduction import reduced
from staticgraph.compiler.layers.regression import (
    huber,
    number_like,
    of_counts,
    of_variance,
    smooth,
)
from staticgraph.compiler.reference.squares import squared_error
from staticgraph.dynamic.core import composed_ops
from staticgraph.dynamic.core.dtypes import F32, F64
from staticgraph.dynamic.core.errors import AutogradError
from staticgraph.dynamic.core.sizes import differ
from staticgraph.dynamic.nn.functional.few import REDUCED, are_few
from staticgraph.dynamic.nn.functional.reduction import (
    reduction_of,
    warn_of_sizes,
    weighted,
    with_weight,
)
from staticgraph.dynamic.nn.functional.required import require
from staticgraph.dynamic.tensors.naming import called
from staticgraph.dynamic.tensors.recorders import Recorder
from staticgraph.dynamic.tensors.tensor import PLAIN, has_values

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
    """The squared difference; with `weight`, the weighted mean.

    Example:
        >>> nn.functional.mse_loss(
        ...     dynamic.tensor([1.0, 2.0]),
        ...     dynamic.tensor([0.0, 4.0]),
        ...     weight=dynamic.tensor([3.0, 1.0]),
        ... )
        tensor(1.7500)
    """
    if weight is None and size_average is None and reduce is None and reduction in REDUCED:
        found = _squared_few(input, target, reduction)
        if found is not None:
            return found
    reduction = reduction_of(size_average, reduce, reduction)
    warn_of_sizes(input, target)
    if weight is None:
        return ops.mse_loss(input, target, reduction)
    return weighted(ops.square(input - target), reduction, weight)


_recorder = Recorder(ops.mse_loss, 2)


def _squared_few(input: Any, target: Any, reduction: str) -> Any:
    """The short way of small plain tensors of one shape and dtype; None for all else."""
    if not are_few(input, target):
        return None
    x, y, attrs = input._array, target._array, REDUCED[reduction]
    if x.dtype is not y.dtype or x.shape != y.shape:
        return None
    value = squared_error(x, y, reduction=reduction)
    return _recorder.function(np.asarray(value), attrs, input, target)


def l1_loss(
    input: object,
    target: Any,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: object = None,
) -> Any:
    """The absolute difference; with `weight`, the weighted mean.

    Example:
        >>> nn.functional.l1_loss(dynamic.tensor([1.0, 2.0]), dynamic.tensor([0.0, 4.0]))
        tensor(1.5000)
    """
    reduction = reduction_of(size_average, reduce, reduction)
    warn_of_sizes(input, target)
    return weighted(ops.absolute(input - target), reduction, weight)


def _alike(input: Any, target: Any) -> bool:
    """Whether both are plain tensors of one shape and floating dtype."""
    if type(input) not in PLAIN or type(target) not in PLAIN:
        return False
    x, y = input._array, target._array
    return (x.dtype is F32 or x.dtype is F64) and x.dtype is y.dtype and x.shape == y.shape


@called("SmoothL1Loss", "input", "target")
def smooth_l1_loss(
    input: Any,
    target: Any,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    beta: float = 1.0,
) -> Any:
    """d**2 / (2 * beta) where the difference d is below beta, d - beta / 2 where not.

    Example:
        >>> nn.functional.smooth_l1_loss(
        ...     dynamic.tensor([1.0, 5.0]), dynamic.tensor([0.5, 0.0]), reduction="none"
        ... )
        tensor([0.1250, 4.5000])
    """
    reduction = reduction_of(size_average, reduce, reduction)
    warn_of_sizes(input, target)
    if beta < 0:
        raise AutogradError("smooth_l1_loss does not support negative values for beta.")
    if _alike(input, target):
        attrs = {"limit": float(beta), "reduction": reduction}
        return input._apply(composed_ops.smooth_l1_loss, (input, target), attrs)
    return reduced(smooth(input - target, beta), reduction)


@called("HuberLoss", "input", "target")
def huber_loss(
    input: Any, target: Any, reduction: str = "mean", delta: float = 1.0, weight: object = None
) -> Any:
    """d**2 / 2 where the difference d is below delta, delta * (d - delta / 2) where not.

    Example:
        >>> nn.functional.huber_loss(
        ...     dynamic.tensor([1.0, 5.0]), dynamic.tensor([0.5, 0.0]), reduction="none"
        ... )
        tensor([0.1250, 4.5000])
    """
    reduction = reduction_of(None, None, reduction)
    warn_of_sizes(input, target)
    if delta <= 0:
        raise AutogradError("huber_loss does not support non-positive values for delta.")
    if weight is None and _alike(input, target):
        attrs = {"limit": float(delta), "reduction": reduction}
        return input._apply(composed_ops.huber_loss, (input, target), attrs)
    losses = huber(input - target, delta)
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

    Example:
        >>> nn.functional.poisson_nll_loss(dynamic.tensor([0.0, 0.0]), dynamic.tensor([1.0, 2.0]))
        tensor(1.)
    """
    reduction = reduction_of(size_average, reduce, reduction)
    return reduced(of_counts(input, target, log_input, full, eps), reduction)


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

    Example:
        >>> nn.functional.gaussian_nll_loss(
        ...     dynamic.tensor([1.0, 2.0]), dynamic.tensor([0.0, 2.0]), dynamic.ones(2)
        ... )
        tensor(0.2500)
    """
    if reduction not in ("none", "mean", "sum"):
        raise OptionError(f"{reduction} is not valid")
    if isinstance(var, int | float):
        if var < 0:
            raise OptionError("var has negative entry/entries")
        var = number_like(input, var)
    else:
        var = _fitted(var, tuple(input.shape))
    return reduced(of_variance(input, target, var, full, eps), reduction)


def _fitted(var: Any, shape: tuple[object, ...]) -> Any:
    """A variance in a shape that broadcasts; ValueError if it does not or is negative."""
    sizes = tuple(var.shape)
    if differ(sizes, shape):
        if not differ(sizes, shape[:-1]):
            var = ops.expand_dims(var, -1)
        elif differ(sizes, (*shape[:-1], 1)):
            raise OptionError("var is of incorrect size")
    error = OptionError("var has negative entry/entries")
    if not has_values(var):
        require(ops.logical_not(ops.less(var, 0)), error)
    elif var._array.size and var._array.min() < 0:
        raise error
    return var
