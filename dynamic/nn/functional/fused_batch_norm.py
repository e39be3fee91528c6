"""Batch normalisation of plain tensors on arrays, as one node of the tape.

Arrays are (n, c, length). Large ones that a compiled kernel serves are computed by one: see
`dynamic.kernels.native`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.dynamic.autograd import grad
from staticgraph.dynamic.autograd.function import Function
from staticgraph.dynamic.core.dtypes import F32, F64
from staticgraph.dynamic.func.tracer import Tracer
from staticgraph.dynamic.kernels.native import LEAST, Make, compute
from staticgraph.dynamic.tape.grad_mode import is_grad_enabled
from staticgraph.dynamic.tensors.tensor import Tensor, wrap

InOps = Callable[[Any, Any, Any], Any]
"""The same in ops, of x, weight and bias."""


def fits(x: Any, *others: object) -> bool:
    """Whether these are plain tensors of one dtype, or None; x with at least one element."""
    return all(
        one is None
        or (
            isinstance(one, Tensor)
            and not isinstance(one, Tracer)
            and one._array.dtype == x._array.dtype
            and one._array.dtype in (F32, F64)
        )
        for one in (x, *others)
    ) and bool(x._array.size)


def moments(x: Any) -> tuple[Any, Any]:
    """The mean and the variance of each channel of a tensor (n, c, ...)."""
    array = _as_channels(x._array)
    found = _by_kernel("batch moments", _moments_in_ops, array)
    if found is not None:
        return found[0], found[1]
    count = array.shape[0] * array.shape[2]
    mean = _sum(array) / count
    centred = array - mean[:, None]
    return mean, _dot(centred, centred) / count


def normalised(
    in_ops: InOps,
    x: object,
    weight: object,
    bias: object,
    mean: object,
    scale: object,
    constant: bool,
) -> Any:
    """(x - mean) * scale * weight + bias for arrays `mean` and `scale` of each channel.

    `constant`: whether these do not depend on x.
    """
    return _Normalised.apply(in_ops, mean, scale, constant, x, weight, bias)


class _Normalised(Function):
    """The function of x, weight and bias."""

    _label = "NativeBatchNormBackward0"

    @staticmethod
    def forward(
        ctx: Any, in_ops: InOps, mean: Any, scale: object, constant: bool, *tensors: Any
    ) -> Any:
        """The value."""
        array = _as_channels(tensors[0]._array)
        weight, bias = (None if one is None else one._array for one in tensors[1:])
        factor = scale if weight is None else scale * weight
        ctx.options = (in_ops, constant)
        ctx.save_for_backward(*tensors, wrap(mean), wrap(scale))
        result = _scaled(array, mean, factor, bias)
        return wrap(result.reshape(tensors[0].shape))

    @staticmethod
    def backward(ctx: Any, g: Any) -> tuple[Any, ...]:
        """The cotangents of x, weight and bias."""
        in_ops, constant = ctx.options
        *tensors, mean, scale = ctx.saved_tensors
        needed = ctx.needs_input_grad[4:]
        if is_grad_enabled():
            return (None,) * 4 + _again(in_ops, tensors, needed, g)
        x, weight = tensors[0]._array, None if tensors[1] is None else tensors[1]._array
        array, grads = _as_channels(x), _as_channels(g._array)
        mean, scale = mean._array, scale._array
        dots, sums = _sums(array, grads, mean)
        found: list[Any] = [None, None, None]
        if needed[0]:
            factor = scale if weight is None else scale * weight
            statistics = None
            if not constant:
                count = array.shape[0] * array.shape[2]
                along, shift = dots * scale * scale / count, sums / count
                statistics = mean, along, shift
            found[0] = _by_x(array, grads, factor, statistics).reshape(x.shape)
        if needed[1]:
            found[1] = dots * scale
        if needed[2]:
            found[2] = sums
        return (None,) * 4 + tuple(None if one is None else wrap(one) for one in found)


def _again(
    in_ops: InOps, tensors: Sequence[Any], needed: Sequence[bool], g: object
) -> tuple[Any, ...]:
    """The cotangents, recorded: those of the value in ops."""
    # clones, so that a tensor in two places has a cotangent for each
    copies = [one.clone() if need else one for one, need in zip(tensors, needed, strict=True)]
    inputs = [one for one, need in zip(copies, needed, strict=True) if need]
    found = iter(grad(in_ops(*copies), inputs, g, create_graph=True))
    return tuple(next(found) if need else None for need in needed)


def _by_kernel(name: str, make: Make, array: Any, *others: object) -> list[Any] | None:
    """What `make` says of arrays (n, c, length) or (c,); None where no kernel serves them."""
    if array.size < LEAST:  # before it is looked at what a kernel would be told of them all
        return None
    return compute(name, {}, make, (array, *others), (array.shape[1],))


def _moments_in_ops(values: list[Any]) -> list[Any]:
    (x,) = values
    return [ops.mean(x, axis=(0, 2)), ops.var(x, axis=(0, 2), correction=0)]


def _scaled_in_ops(values: list[Any]) -> list[Any]:
    x, mean, factor, *bias = (values[0], *(ops.expand_dims(one, 1) for one in values[1:]))
    result = (x - mean) * factor
    return [result + bias[0] if bias else result]


def _sums_in_ops(values: list[Any]) -> list[Any]:
    x, g, mean = values
    centred = x - ops.expand_dims(mean, 1)
    return [ops.sum(g * centred, axis=(0, 2)), ops.sum(g, axis=(0, 2))]


def _by_x_in_ops(values: list[Any]) -> list[Any]:
    x, g, factor, *others = (*values[:2], *(ops.expand_dims(one, 1) for one in values[2:]))
    if not others:
        return [g * factor]
    mean, along, shift = others
    return [(g - shift - (x - mean) * along) * factor]


def _scaled(array: object, mean: Any, factor: Any, bias: Any) -> Any:
    """(array - mean) * factor + bias, for numbers of each channel; `bias` may be None."""
    given = (mean, factor) if bias is None else (mean, factor, bias)
    found = _by_kernel("batch norm", _scaled_in_ops, array, *given)
    if found is not None:
        return found[0]
    result = array - mean[:, None]
    np.multiply(result, factor[:, None], result)
    return result if bias is None else np.add(result, bias[:, None], result)


def _sums(array: object, grads: object, mean: Any) -> tuple[Any, Any]:
    """For each channel the sums of grads * (array - mean), and of grads."""
    found = _by_kernel("batch sums", _sums_in_ops, array, grads, mean)
    if found is not None:
        return found[0], found[1]
    return _dot(grads, array - mean[:, None]), _sum(grads)


def _by_x(
    array: object, grads: object, factor: Any, statistics: tuple[Any, Any, Any] | None
) -> Any:
    """(grads - shift - (array - mean) * along) * factor, of `statistics` (mean, along, shift).

    All but the arrays are numbers of each channel. None if the statistics do not depend on x:
    grads * factor.
    """
    given = (factor, *(statistics or ()))
    found = _by_kernel("batch cotangent", _by_x_in_ops, array, grads, *given)
    if found is not None:
        return found[0]
    if statistics is None:
        return grads * factor[:, None]
    mean, along, shift = (one[:, None] for one in statistics)
    centred = array - mean
    result = grads - shift
    np.subtract(result, np.multiply(centred, along, centred), result)
    return np.multiply(result, factor[:, None], result)


def _as_channels(x: Any) -> Any:
    """(n, c, ...) as (n, c, length)."""
    return x.reshape(*x.shape[:2], -1)


def _sum(part: Any) -> Any:
    """The sum of each channel."""
    if part.shape[2] == 1:
        return np.add.reduce(part[:, :, 0], 0)
    return np.add.reduce(np.add.reduce(part, 2), 0)


def _dot(part: Any, other: Any) -> Any:
    """The sum of products of each channel."""
    if part.shape[2] == 1:
        return np.einsum("nc,nc->c", part[:, :, 0], other[:, :, 0])
    return np.add.reduce(np.vecdot(part, other), 0)
