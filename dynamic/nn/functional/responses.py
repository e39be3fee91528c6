"""Normalisation within one sample: instances and neighbouring channels; power means of windows."""

from __future__ import annotations

import math
from typing import Any

from compiler import ops
from compiler.core.errors import OptionError
from dynamic.nn.functional.pooling import avg_pool1d, avg_pool2d
from dynamic.nn.functional.windows import per_axis
from dynamic.tape.grad_mode import no_grad

__all__ = ["instance_norm", "local_response_norm", "lp_pool1d", "lp_pool2d"]


def instance_norm(
    input: Any,
    running_mean: Any = None,
    running_var: Any = None,
    weight: Any = None,
    bias: Any = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Any:
    """x scaled to mean 0 and variance 1 per sample and channel: (n, c, ...).

    The running statistics, if given, move towards the mean over the samples by `momentum`, in
    place; without `use_input_stats` they are used instead (Ulyanov, Vedaldi, Lempitsky 2016).
    """
    axes = tuple(range(2, input.ndim))
    shape = (1, -1, *(1,) * len(axes))
    if use_input_stats:
        count = math.prod(input.shape[2:])
        if count == 1:
            raise OptionError(
                f"Expected more than 1 spatial element when training, got input size {input.shape}"
            )
        mean = ops.mean(input, axes, True)
        centred = input - mean
        variance = ops.mean(ops.square(centred), axes, True)
        for running, found in (
            (running_mean, mean), (running_var, variance * (count / (count - 1))),
        ):  # fmt: skip
            if running is not None:
                with no_grad():
                    batch = ops.mean(ops.reshape(found, (input.shape[0], -1)), 0)
                    running.mul_(1 - momentum).add_(batch * momentum)
    else:
        mean, variance = (ops.reshape(one, shape) for one in (running_mean, running_var))
        centred = input - mean
    result = centred * ops.rsqrt(variance + eps)
    if weight is not None:
        result = result * ops.reshape(weight, shape)
    return result if bias is None else result + ops.reshape(bias, shape)


def local_response_norm(
    input: Any, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0
) -> Any:
    """x / (k + alpha * the mean square of `size` channels around it) ** beta (Krizhevsky 2012)."""
    if input.ndim < 3:
        raise OptionError(
            f"Expected 3D or higher dimensionality input (got {input.ndim} dimensions)"
        )
    flat = ops.reshape(ops.square(input), (input.shape[0], 1, input.shape[1], -1))
    padded = ops.pad(flat, [(0, 0), (0, 0), (size // 2, (size - 1) // 2), (0, 0)])
    mean = ops.reshape(avg_pool2d(padded, (size, 1), 1), tuple(input.shape))
    return input / ops.power(mean * alpha + k, beta)


def _lp_pool(axes: int, input: Any, p: float, size: Any, stride: Any, ceil: bool) -> Any:
    pool = avg_pool1d if axes == 1 else avg_pool2d
    count = math.prod(per_axis(size, axes))
    powers = pool(ops.power(input, float(p)), size, stride, 0, ceil)
    total = ops.sign(powers) * ops.relu(ops.absolute(powers)) * count
    return ops.power(total, 1.0 / p)


def lp_pool1d(
    input: Any, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False
) -> Any:
    """The p-norm of each window of the last axis, without absolute values."""
    return _lp_pool(1, input, norm_type, kernel_size, stride, ceil_mode)


def lp_pool2d(
    input: Any, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False
) -> Any:
    """The p-norm of each window of the last two axes, without absolute values."""
    return _lp_pool(2, input, norm_type, kernel_size, stride, ceil_mode)
