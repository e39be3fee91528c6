"""Normalisation over the last axes, groups of channels, a batch, or neighbouring channels.

Running statistics change in place, and refusals are PyTorch's. What is computed is
`staticgraph.compiler.layers.normalization`, which both paradigms share.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core import dims
from staticgraph.compiler.core.dims import Dim
from staticgraph.compiler.core.dtypes import is_inexact, is_narrow, limits
from staticgraph.compiler.core.errors import OptionError
from staticgraph.compiler.layers.distances import norm_along
from staticgraph.compiler.layers.normalization import (
    by_groups,
    by_instances,
    by_neighbours,
    by_own_statistics,
    by_root,
    by_statistics,
    moved,
    over_samples,
    scaled,
)
from staticgraph.compiler.llvm.loop_words import VECTOR
from staticgraph.dynamic.core.dtypes import F32, DType
from staticgraph.dynamic.core.errors import ArgumentError, AutogradError, NoKernelError, SizeError
from staticgraph.dynamic.core.sizes import differ
from staticgraph.dynamic.kernels.dispatch import LARGE_ROWS
from staticgraph.dynamic.kernels.quick import FEW, QuickRows
from staticgraph.dynamic.nn.errors import ModuleError
from staticgraph.dynamic.nn.functional import fused_batch_norm as fused
from staticgraph.dynamic.tape.grad_mode import no_grad
from staticgraph.dynamic.tensors.naming import called
from staticgraph.dynamic.tensors.outputs import taking_out
from staticgraph.dynamic.tensors.recorders import Recorder
from staticgraph.dynamic.tensors.short_ways import small_arrays
from staticgraph.dynamic.tensors.tensor import wrap

__all__ = [
    "batch_norm", "group_norm", "instance_norm", "layer_norm", "local_response_norm", "normalize",
    "rms_norm",
]  # fmt: skip


_quick_norm = QuickRows(ops.layer_norm.evaluate, VECTOR, VECTOR)
_recorder = Recorder(ops.layer_norm, 3)


def layer_norm(
    input: object,
    normalized_shape: Any,
    weight: object = None,
    bias: object = None,
    eps: float = 1e-5,
) -> Any:
    """x scaled to mean 0 and variance 1 over its last axes (Ba, Kiros, Hinton 2016).

    Example:
        >>> nn.functional.layer_norm(dynamic.tensor([[1.0, 3.0], [20.0, 10.0]]), (2,))
        tensor([[-1.0000,  1.0000],
                [ 1.0000, -1.0000]])
    """
    if type(eps) is float and input is not weight:
        arrays = small_arrays((input, weight, bias))
        if arrays is not None:
            x, scale, shift = arrays
            last = scale.shape
            axes = len(last)
            if (
                last == shift.shape == x.shape[-axes:] == tuple(normalized_shape)
                and 0 < x.size < LARGE_ROWS
            ):
                attrs = {"axes": axes, "eps": eps}
                value = None
                if axes == 1 and x.size <= FEW:
                    key = x.dtype is F32, last, eps
                    value = _quick_norm.value(key, arrays, attrs)
                if value is None:
                    value = ops.layer_norm.evaluate(x, scale, shift, axes=axes, eps=eps)
                return _recorder.function(value, attrs, input, weight, bias)
    _check_last(input, normalized_shape, "*, ")
    if _is_mixed(input, weight, bias):
        return _mixed_layer_norm(input, tuple(normalized_shape), weight, bias, eps)
    return ops.layer_norm(input, tuple(normalized_shape), weight, bias, eps)


def _is_mixed(input: Any, *parameters: Any) -> bool:
    """Whether a narrow input meets parameters of float32, as under `autocast`."""
    given = [one for one in parameters if one is not None]
    return bool(given) and _is_narrow(input) and all(one.dtype == F32 for one in given)


def _is_narrow(tensor: Any) -> bool:
    """Whether it is a tensor, and no expression, which promotes, of narrow floats."""
    return isinstance(tensor.dtype, DType) and is_narrow(tensor.dtype.dtype)


@called("NativeLayerNorm")
def _mixed_layer_norm(input: Any, *others: Any) -> Any:
    return ops.layer_norm(input.float(), *others).to(input.dtype)


def _check_last(input: Any, normalized_shape: Any, before: str) -> None:
    wanted = list(normalized_shape)
    for one in wanted:
        if type(one) is not int and not hasattr(one, "__index__") and not isinstance(one, Dim):
            raise ArgumentError(f"argument 'normalized_shape' has ints, not {one!r}")
    if not wanted:
        raise SizeError(
            "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one "
            "element, but got normalized_shape = []"
        )
    if differ(input.shape[max(0, input.ndim - len(wanted)) :], wanted):
        expected = before + ", ".join(map(str, wanted))
        raise SizeError(
            f"Given normalized_shape={wanted}, expected input with shape [{expected}], but got "
            f"input of size{list(input.shape)}"
        )


def rms_norm(
    input: Any, normalized_shape: Any, weight: object = None, eps: float | None = None
) -> Any:
    """x / sqrt(mean(x**2) + eps) over its last axes, times weight (Zhang, Sennrich 2019).

    eps is the machine epsilon of the dtype if None.

    Example:
        >>> nn.functional.rms_norm(dynamic.tensor([2.0, 2.0]), (2,), eps=0)
        tensor([1., 1.])
    """
    _check_last(input, normalized_shape, "*")
    if not is_inexact(np.dtype(input.dtype)):
        raise NoKernelError(f"\"rms_norm\" not implemented for '{input.dtype.legacy}'")
    axes = len(tuple(normalized_shape))
    if not _is_narrow(input):
        return by_root(input, axes, weight, eps)
    eps = float(limits(input.dtype.dtype).eps) if eps is None else eps
    return by_root(input.float(), axes, weight, eps).to(input.dtype)


@called("NativeGroupNorm")
def group_norm(
    input: Any, num_groups: int, weight: object = None, bias: object = None, eps: float = 1e-5
) -> Any:
    """x scaled to mean 0 and variance 1 over groups of channels (axis 1) and what follows.

    (n, c, ...), (c,), (c,) -> (n, c, ...) (Wu, He 2018).

    Example:
        >>> nn.functional.group_norm(dynamic.tensor([[1.0, 3.0]]), 1, eps=0).tolist()
        [[-1.0, 1.0]]
    """
    if input.ndim < 2:
        raise AutogradError(
            f"Expected at least 2 dimensions for input tensor but received {input.ndim}"
        )
    shape = tuple(input.shape)
    if isinstance(shape[1], int) and shape[1] % num_groups:
        raise AutogradError(
            "Expected number of channels in input to be divisible by num_groups, but got input of "
            f"shape {list(shape)} and num_groups={num_groups}"
        )
    return by_groups(input, num_groups, weight, bias, eps)


def batch_norm(
    input: Any,
    running_mean: object,
    running_var: object,
    weight: object = None,
    bias: object = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Any:
    """x scaled to mean 0 and variance 1 for each channel (axis 1) (Ioffe, Szegedy 2015).

    In training the statistics are those of the batch, and the running ones, if given, move
    towards them by `momentum`, in place; else the running ones are used.

    Example:
        >>> x = dynamic.tensor([[1.0], [3.0]])
        >>> nn.functional.batch_norm(
        ...     x, dynamic.tensor([1.0]), dynamic.tensor([4.0]), eps=0
        ... ).tolist()
        [[0.0], [1.0]]
    """
    if eps < 0:
        raise OptionError(f"batch_norm eps must be non-negative, but got {eps}")
    if not training:
        for name, value in (("running_mean", running_mean), ("running_var", running_var)):
            if value is None:
                raise AutogradError(f"{name} must be defined in evaluation mode")
        count: Any = 0
    else:
        empty = input.shape[1] == 0
        count = 0 if empty else dims.product((input.shape[0], *input.shape[2:]))
        if count == 1:
            raise OptionError(
                "Expected more than 1 value per channel when training, got input size "
                f"{input.shape}"
            )
    _check_channels(input, running_mean, running_var, weight, bias)
    if _is_plain(input, weight, bias, running_mean, running_var):
        return _on_arrays(input, running_mean, running_var, weight, bias, count, momentum, eps)
    if not training:
        return scaled(by_statistics(input, running_mean, running_var, eps), weight, bias)
    if running_mean is not None:
        axes = (0, *range(2, input.ndim))
        with no_grad():
            mean, var = ops.mean(input, axis=axes), ops.var(input, axis=axes, correction=1)
        _track(running_mean, running_var, mean, var, momentum)
    return scaled(by_own_statistics(input, count, eps), weight, bias)


def _is_plain(input: object, weight: object, bias: object, mean: Any, var: Any) -> bool:
    """Whether `fused_batch_norm` can normalise these."""
    return fused.fits(input, weight, bias, mean, var) and all(
        one is None or not one.requires_grad for one in (mean, var)
    )


def _check_channels(input: Any, *values: Any) -> None:
    """RuntimeError unless statistics, weight and bias have an element for each channel."""
    wanted = (input.shape[1],)
    for name, value in zip(("running_mean", "running_var", "weight", "bias"), values, strict=True):
        if value is not None and value.shape != wanted and differ(value.shape, wanted):
            raise ModuleError(
                f"{name} should contain {wanted[0]} elements not {value.numel()}: batch_norm of an "
                f"input {list(input.shape)}"
            )


def _on_arrays(
    input: object, running_mean: Any, running_var: Any, weight: object, bias: object, count: Any,
    momentum: float, eps: float,
) -> Any:  # fmt: skip
    """`batch_norm` as one node; `count` is 0 in evaluation."""
    if count:
        mean, var = fused.moments(input)
        if running_mean is not None:
            unbiased = var * (count / (count - 1))
            with no_grad():
                for running, found in ((running_mean, mean), (running_var, unbiased)):
                    running.copy_(wrap(moved(running._array, found, momentum)))
    else:
        # copies: the running ones may change before the gradient is taken
        mean, var = running_mean._array.copy(), running_var._array.copy()

    def in_ops(input: object, weight: object, bias: object) -> Any:
        if count:
            return scaled(by_own_statistics(input, count, eps), weight, bias)
        return scaled(by_statistics(input, wrap(mean), wrap(var), eps), weight, bias)

    return fused.normalised(
        in_ops, input, weight, bias, mean, 1 / np.sqrt(var + eps), constant=not count
    )


def _track(running_mean: Any, running_var: Any, mean: Any, var: Any, momentum: float) -> None:
    """Move the running statistics towards those of a batch."""
    with no_grad():
        running_mean.copy_(moved(running_mean, mean, momentum))
        running_var.copy_(moved(running_var, var, momentum))


def instance_norm(
    input: Any,
    running_mean: Any = None,
    running_var: Any = None,
    weight: object = None,
    bias: object = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Any:
    """x scaled to mean 0 and variance 1 per sample and channel: (n, c, ...).

    The running statistics, if given, move towards the mean over the samples by `momentum`, in
    place; without `use_input_stats` they are used instead (Ulyanov, Vedaldi, Lempitsky 2016).

    Example:
        >>> nn.functional.instance_norm(dynamic.tensor([[[1.0, 3.0]]]), eps=0).tolist()
        [[[-1.0, 1.0]]]
    """
    if not use_input_stats:
        return scaled(by_statistics(input, running_mean, running_var, eps), weight, bias)
    if math.prod(input.shape[2:]) == 1:
        raise OptionError(
            f"Expected more than 1 spatial element when training, got input size {input.shape}"
        )
    normal, mean, variance = by_instances(input, eps)
    if running_mean is not None or running_var is not None:
        with no_grad():
            found = over_samples(input, mean, variance)
            for running, one in zip((running_mean, running_var), found, strict=True):
                if running is not None:
                    running.copy_(moved(running, one, momentum))
    return scaled(normal, weight, bias)


def local_response_norm(
    input: Any, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0
) -> Any:
    """x / (k + alpha * the mean square of `size` channels around it) ** beta (Krizhevsky 2012).

    Example:
        >>> nn.functional.local_response_norm(dynamic.ones((1, 2, 1)), 1, alpha=3.0, beta=0.5)
        tensor([[[0.5000],
                 [0.5000]]])
    """
    if input.ndim < 3:
        raise OptionError(
            f"Expected 3D or higher dimensionality input (got {input.ndim} dimensions)"
        )
    return by_neighbours(input, size, alpha, beta, k)


@taking_out
def normalize(input: object, p: float = 2.0, dim: object = 1, eps: float = 1e-12) -> Any:
    """x divided by its p-norm along `dim`, or by eps if that is larger.

    Example:
        >>> nn.functional.normalize(dynamic.tensor([[3.0, 4.0]]))
        tensor([[0.6000, 0.8000]])
    """
    return input / ops.clip(norm_along(input, p, dim, True), eps)
