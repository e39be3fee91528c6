"""Normalisation over the last axes, groups of channels, a batch, or neighbouring channels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core import dims
from staticgraph.compiler.core.dims import Dim, Size
from staticgraph.compiler.core.dtypes import limits
from staticgraph.compiler.core.errors import OptionError, ShapeError
from staticgraph.compiler.core.types import unify
from staticgraph.compiler.core.values import Value
from staticgraph.compiler.layers.axes import agree, flattened, number, of_floats, shown
from staticgraph.compiler.layers.distances import norm_along
from staticgraph.compiler.layers.pooling import avg_pooled
from staticgraph.compiler.ops.declare import as_operand

__all__ = [
    "batch_norm", "group_norm", "instance_norm", "local_response_norm", "normalize", "rms_norm",
]  # fmt: skip


def rms_norm(
    x: Value, normalized_shape: Value, weight: Value = None, eps: float | None = None
) -> Value:
    """x / sqrt(mean(x**2) + eps) over its last axes, times weight (Zhang, Sennrich 2019).

    eps is the machine epsilon of the dtype if None.

    Raises:
        ShapeError: the last axes are not `normalized_shape`.

    Example:
        >>> sg.nn.rms_norm(np.array([3.0, 4.0]), (2,)).round(4)
        array([0.8485, 1.1314])
    """
    x = of_floats("rms_norm", x)
    shape = (normalized_shape,) if hasattr(normalized_shape, "__index__") else normalized_shape
    axes = len(tuple(shape))
    if not 0 < axes <= x.ndim or not agree(x.shape[x.ndim - axes :], tuple(shape)):
        raise ShapeError(f"rms_norm: {shown(x)} does not end in {tuple(shape)}")
    return by_root(x, axes, weight, eps)


def by_root(x: Value, axes: int, weight: Value, eps: float | None) -> Value:
    """`rms_norm` over so many last axes."""
    eps = float(limits(np.dtype(x.dtype)).eps) if eps is None else eps
    last = tuple(range(-axes, 0))
    found = x * ops.rsqrt(ops.mean(ops.square(x), axis=last, keepdims=True) + eps)
    return found if weight is None else found * weight


def group_norm(
    x: Value, num_groups: int, weight: Value = None, bias: Value = None, eps: float = 1e-5
) -> Value:
    """x scaled to mean 0 and variance 1 over groups of channels (axis 1) and what follows.

    (n, c, ...), (c,), (c,) -> (n, c, ...) (Wu, He 2018).

    Raises:
        ShapeError: fewer than two axes, channels that are no multiple of the groups, or a weight
            or bias without one number for each of them.

    Example:
        >>> sg.nn.group_norm(np.array([[1.0, 3.0, 5.0, 5.0]]), 2).round(4)
        array([[-1.,  1.,  0.,  0.]])
    """
    x = _channelled("group_norm", x, weight, bias)
    if num_groups < 1 or (not isinstance(x.shape[1], Dim) and x.shape[1] % num_groups):
        raise ShapeError(
            f"group_norm: the {x.shape[1]} channels of {shown(x)} are no multiple of "
            f"{num_groups} groups"
        )
    return by_groups(x, num_groups, weight, bias, eps)


def _channelled(name: str, x: Any, *vectors: Any) -> Any:
    """An operand (n, c, ...), with vectors of one number for each channel, or None."""
    x = of_floats(name, x)
    if x.ndim < 2:
        raise ShapeError(f"{name}: {shown(x)} has {x.ndim} axes, of at least 2")
    for one in vectors:
        if one is None:
            continue
        vector = as_operand(one)
        if vector.ndim != 1 or unify(vector.shape[0], x.shape[1]) is None:
            raise ShapeError(
                f"{name}: {shown(vector)} has not one number for each of the {x.shape[1]} "
                f"channels of {shown(x)}"
            )
    return x


def by_groups(x: Value, groups: int, weight: Value, bias: Value, eps: float) -> Value:
    """`group_norm` of what fits."""
    shape = tuple(x.shape)
    grouped = (shape[0], groups, shape[1] // groups, *shape[2:])
    rows = flattened(ops.reshape(x, grouped), 2)
    normal = ops.reshape(ops.layer_norm(rows, rows.shape[-1:], eps=eps), shape)
    return scaled(normal, weight, bias)


def per_channel(values: Value, x: Value) -> Value:
    """Values for each index of axis 1, in a shape that broadcasts with x."""
    return ops.reshape(values, (1, -1) + (1,) * (x.ndim - 2))


def scaled(x: Value, weight: Value, bias: Value) -> Value:
    """x times a weight and plus a bias of each channel; either may be None."""
    if weight is not None:
        x = x * per_channel(weight, x)
    return x if bias is None else x + per_channel(bias, x)


def batch_norm(
    x: Value,
    running_mean: Value = None,
    running_var: Value = None,
    weight: Value = None,
    bias: Value = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Value:
    """x (n, c, ...) scaled to mean 0 and variance 1 for each channel (Ioffe, Szegedy 2015).

    Args:
        running_mean, running_var: statistics (c,) by which x is scaled unless `training`.
        weight, bias: (c,) by which the result is multiplied, and what is added to it.
        training: whether the statistics are those of the batch. With running ones the result is
            three: the scaled x, and what the running mean and variance become, moved towards the
            batch's by `momentum`: for variables they are updates of what is compiled.

    Raises:
        ShapeError: fewer than two axes, a vector without one number for each channel, or one
            value for each channel to train with.
        OptionError: no statistics and no training, or one of the two.

    Example:
        >>> mean, var = sg.variable(np.zeros(1)), sg.variable(np.ones(1))
        >>> x = sg.placeholder("x", (None, 1), "float64")
        >>> y, next_mean, next_var = sg.nn.batch_norm(x, mean, var, training=True)
        >>> step = sg.compile([x], y, updates={mean: next_mean, var: next_var})
        >>> step(np.array([[1.0], [3.0]])).round(3), mean.value, var.value
        (array([[-1.],
               [ 1.]]), array([0.2]), array([1.1]))
    """
    x = _channelled("batch_norm", x, running_mean, running_var, weight, bias)
    if (running_mean is None) != (running_var is None) or not (training or running_var is not None):
        raise OptionError(
            f"batch_norm: needs a running mean and a running variance with training={training}"
        )
    if not training:
        return scaled(by_statistics(x, running_mean, running_var, eps), weight, bias)
    count = dims.product((x.shape[0], *x.shape[2:]))
    _require_several("batch_norm", x, count)
    result = scaled(by_own_statistics(x, count, eps), weight, bias)
    if running_mean is None:
        return result
    axes = (0, *range(2, x.ndim))
    values = ops.stop_gradient(x)
    mean, var = ops.mean(values, axis=axes), ops.var(values, axis=axes, correction=1)
    return result, moved(running_mean, mean, momentum), moved(running_var, var, momentum)


def _require_several(name: str, x: Any, count: Size) -> None:
    if count == 1:
        raise ShapeError(f"{name}: {shown(x)} has one value to take statistics of, of at least 2")


def moved(running: Value, found: Value, momentum: float) -> Value:
    """A running statistic moved towards the one that was found."""
    return running * (1 - momentum) + found * momentum


def by_statistics(x: Value, mean: Value, var: Value, eps: float) -> Value:
    """x scaled by statistics of each channel."""
    return (x - per_channel(mean, x)) * per_channel(ops.rsqrt(var + eps), x)


def by_own_statistics(x: Value, count: Size, eps: float) -> Value:
    """x scaled by the statistics of its channels, of `count` values each."""
    order = (1, 0, *range(2, x.ndim))
    channels = ops.transpose(x, order)
    rows = ops.reshape(channels, (x.shape[1], count))
    normal = ops.reshape(ops.layer_norm(rows, (count,), eps=eps), tuple(channels.shape))
    return ops.transpose(normal, order)


def instance_norm(
    x: Value,
    running_mean: Value = None,
    running_var: Value = None,
    weight: Value = None,
    bias: Value = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Value:
    """x (n, c, ...) scaled to mean 0 and variance 1 per sample and channel.

    With running statistics (c,) the result is three, as that of `batch_norm` in training; without
    `use_input_stats` x is scaled by them instead (Ulyanov, Vedaldi, Lempitsky 2016).

    Raises:
        ShapeError: fewer than three axes, a vector without one number for each channel, or one
            value for each channel.
        OptionError: neither statistics, or one of the two.

    Example:
        >>> sg.nn.instance_norm(np.array([[[1.0, 3.0], [5.0, 5.0]]])).round(4)
        array([[[-1.,  1.],
                [ 0.,  0.]]])
    """
    x = _channelled("instance_norm", x, running_mean, running_var, weight, bias)
    given = running_mean is not None
    if given != (running_var is not None) or not (use_input_stats or given):
        raise OptionError(
            "instance_norm: needs a running mean and a running variance with "
            f"use_input_stats={use_input_stats}"
        )
    if x.ndim < 3:
        raise ShapeError(f"instance_norm: {shown(x)} has {x.ndim} axes, of at least 3")
    if not use_input_stats:
        return scaled(by_statistics(x, running_mean, running_var, eps), weight, bias)
    _require_several("instance_norm", x, dims.product(x.shape[2:]))
    normal, *found = by_instances(x, eps)
    result = scaled(normal, weight, bias)
    if not given:
        return result
    mean, var = over_samples(x, *map(ops.stop_gradient, found))
    return result, moved(running_mean, mean, momentum), moved(running_var, var, momentum)


def by_instances(x: Value, eps: float) -> tuple[Value, Value, Value]:
    """x scaled per sample and channel, and the mean and variance of each of these."""
    axes = tuple(range(2, x.ndim))
    mean = ops.mean(x, axes, True)
    centred = x - mean
    variance = ops.mean(ops.square(centred), axes, True)
    return centred * ops.rsqrt(variance + eps), mean, variance


def over_samples(x: Value, mean: Value, variance: Value) -> tuple[Value, Value]:
    """The means over the samples of `by_instances`' means and, unbiased, variances."""
    count = number(dims.product(x.shape[2:]), x, x.dtype)
    axes = (0, *range(2, x.ndim))
    return ops.mean(mean, axes), ops.mean(variance * (count / (count - 1)), axes)


def local_response_norm(
    x: Value, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0
) -> Value:
    """x / (k + alpha * the mean square of `size` channels around it) ** beta (Krizhevsky 2012).

    Raises:
        ShapeError: fewer than three axes.
        OptionError: the size is no int from 1.

    Example:
        >>> sg.nn.local_response_norm(np.ones((1, 2, 1)), 1, alpha=3.0, beta=0.5)
        array([[[0.5],
                [0.5]]])
    """
    x = of_floats("local_response_norm", x)
    if x.ndim < 3:
        raise ShapeError(f"local_response_norm: {shown(x)} has {x.ndim} axes, of at least 3")
    if not hasattr(size, "__index__") or size < 1:
        raise OptionError(f"local_response_norm: size is an int from 1, not {size!r}")
    return by_neighbours(x, size, alpha, beta, k)


def by_neighbours(x: Value, size: int, alpha: float, beta: float, k: float) -> Value:
    """`local_response_norm` of what fits."""
    flat = ops.expand_dims(flattened(ops.square(x), 2), 1)
    padded = ops.pad(flat, [(0, 0), (0, 0), (size // 2, (size - 1) // 2), (0, 0)])
    means = avg_pooled(padded, (size, 1), (1, 1), (0, 0), False, True, None)
    return x / ops.power(ops.reshape(means, tuple(x.shape)) * alpha + k, beta)


def normalize(x: Value, p: float = 2.0, dim: int | Sequence[int] = 1, eps: float = 1e-12) -> Value:
    """x divided by its p-norm along `dim`, or by eps if that is larger; p=0 counts what is not 0.

    Example:
        >>> sg.nn.normalize(np.array([[3.0, 4.0]]))
        array([[0.6, 0.8]])
    """
    x = of_floats("normalize", x)
    return x / ops.clip(norm_along(x, p, dim, True), eps)
