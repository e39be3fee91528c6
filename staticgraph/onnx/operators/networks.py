"""Operators of neural networks: products, normalisations, losses."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.functions import public as functions
from staticgraph.onnx.call import Call, reads


@reads("Gemm")
def _gemm(call: Call) -> Any:
    a, b, c = call.value(0), call.value(1), call.optional(2)
    a = ops.transpose(a, (1, 0)) if call.attribute("transA", 0) else a
    b = ops.transpose(b, (1, 0)) if call.attribute("transB", 0) else b
    alpha, beta = (float(call.attribute(name, 1.0)) for name in ("alpha", "beta"))
    found = ops.matmul(a, b)
    found = found if alpha == 1 else ops.astype(found * alpha, found.dtype)
    if c is None or beta == 0:
        return found
    return found + (c if beta == 1 else ops.astype(c * beta, c.dtype))


@reads("Einsum")
def _einsum(call: Call) -> Any:
    return functions.einsum(call.attribute("equation"), *call.operands)


@reads("Det")
def _determinant(call: Call) -> Any:
    return ops.det(call.value(0))


# -- normalisations ---------------------------------------------------------------------------


def _by_channel(x: Any, per_channel: Any) -> Any:
    """One number per channel, beside a tensor of which axis 1 is channels."""
    return ops.reshape(per_channel, (1, -1, *(1,) * (x.ndim - 2)))


@reads("BatchNormalization")
def _batch_norm(call: Call) -> Any:
    x, scale, shift, mean, var = call.operands
    epsilon = float(call.attribute("epsilon", 1e-5))
    running: tuple[Any, ...] = ()
    if call.attribute("training_mode", 0):
        axes = tuple(i for i in range(x.ndim) if i != 1)
        keep = float(call.attribute("momentum", 0.9))
        own, spread = ops.mean(x, axes), ops.var(x, axes)
        running = (mean * keep + own * (1 - keep), var * keep + spread * (1 - keep))
        mean, var = own, spread
    factor = _by_channel(x, ops.rsqrt(var + epsilon)) * _by_channel(x, scale)
    found = (x - _by_channel(x, mean)) * factor + _by_channel(x, shift)
    return (ops.astype(found, x.dtype), *running)


def _standard(x: Any, axes: tuple[int, ...], epsilon: float) -> Any:
    shifted = x - ops.mean(x, axes, True)
    return shifted * ops.rsqrt(ops.mean(ops.square(shifted), axes, True) + epsilon)


@reads("InstanceNormalization")
def _instance_norm(call: Call) -> Any:
    x, scale, shift = call.operands
    found = _standard(x, tuple(range(2, x.ndim)), float(call.attribute("epsilon", 1e-5)))
    return found * _by_channel(x, scale) + _by_channel(x, shift)


@reads("GroupNormalization")
def _group_norm(call: Call) -> Any:
    x, scale, shift = call.operands
    groups = call.attribute("num_groups")
    parts = ops.reshape(x, (x.shape[0], groups, -1))
    found = _standard(parts, (2,), float(call.attribute("epsilon", 1e-5)))
    if call.opset < 21:  # one number per group
        found = found * ops.reshape(scale, (1, -1, 1)) + ops.reshape(shift, (1, -1, 1))
        return ops.reshape(found, x.shape)
    found = ops.reshape(found, x.shape)
    return found * _by_channel(x, scale) + _by_channel(x, shift)


@reads("LayerNormalization")
def _layer_norm(call: Call) -> Any:
    x, scale, shift = call.value(0), call.value(1), call.optional(2)
    axes = tuple(range(call.attribute("axis", -1) % x.ndim, x.ndim))
    shifted = x - ops.mean(x, axes, True)
    variance = ops.mean(ops.square(shifted), axes, True)
    inverse = ops.rsqrt(variance + float(call.attribute("epsilon", 1e-5)))
    found = shifted * inverse * scale
    return found if shift is None else found + shift, ops.mean(x, axes, True), inverse


@reads("RMSNormalization")
def _rms_norm(call: Call) -> Any:
    x, scale = call.operands
    axes = tuple(range(call.attribute("axis", -1) % x.ndim, x.ndim))
    size = ops.mean(ops.square(x), axes, True)
    return x * ops.rsqrt(size + float(call.attribute("epsilon", 1e-5))) * scale


@reads("LRN")
def _local_response(call: Call) -> Any:
    x, size = call.value(0), call.attribute("size")
    alpha, beta = call.attribute("alpha", 1e-4), call.attribute("beta", 0.75)
    widths = [(0, 0), ((size - 1) // 2, size // 2)] + [(0, 0)] * (x.ndim - 2)
    padded = ops.pad(ops.square(x), widths)
    index = np.arange(x.shape[1])[:, None] + np.arange(size)
    total = ops.sum(ops.take(padded, index, 1), 2)
    base = total * (float(alpha) / size) + float(call.attribute("bias", 1.0))
    return x / ops.power(base, float(beta))


# -- losses -----------------------------------------------------------------------------------


@reads("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss")
def _likelihood(call: Call) -> Any:
    scores, target, weight = call.value(0), call.value(1), call.optional(2)
    logs = scores
    if call.step.operator == "SoftmaxCrossEntropyLoss":
        logs = ops.log_softmax(scores, 1)
    ignored = call.attribute("ignore_index")
    place = target
    if ignored is not None:
        place = ops.where(ops.equal(target, ignored), 0, target)
    picked = ops.take_along_axis(logs, ops.expand_dims(place, 1), 1)
    loss = -ops.squeeze(picked, 1)
    factor = ops.astype(loss * 0 + 1, loss.dtype) if weight is None else ops.take(weight, place, 0)
    if ignored is not None:
        factor = ops.where(ops.equal(target, ignored), 0, factor)
    loss = ops.where(ops.equal(factor, 0), 0, loss) * factor
    reduction = call.attribute("reduction", "mean")
    if reduction == "sum":
        loss = ops.sum(loss)
    elif reduction == "mean":
        loss = ops.sum(loss) / ops.sum(factor)
    return loss, logs


@reads("RotaryEmbedding")
def _rotated(call: Call) -> Any:
    x, cosine, sine, places = (*call.operands, None)[:4]
    flat = x.ndim == 3
    if flat:
        heads = call.attribute("num_heads")
        x = ops.reshape(x, (x.shape[0], x.shape[1], heads, x.shape[2] // heads))
    else:
        x = ops.transpose(x, (0, 2, 1, 3))
    if places is not None:
        cosine, sine = ops.take(cosine, places, 0), ops.take(sine, places, 0)
    width = call.attribute("rotary_embedding_dim", 0) or x.shape[3]
    half = width // 2
    cosine, sine = (ops.expand_dims(one[..., :half], 2) for one in (cosine, sine))
    turned, rest = x[..., :width], x[..., width:]
    if call.attribute("interleaved", 0):
        first, second = turned[..., 0::2], turned[..., 1::2]
    else:
        first, second = turned[..., :half], turned[..., half:]
    parts = [cosine * first - sine * second, sine * first + cosine * second]
    if call.attribute("interleaved", 0):
        pairs = ops.concatenate([ops.expand_dims(one, 4) for one in parts], 4)
        turned = ops.reshape(pairs, turned.shape)
    else:
        turned = ops.concatenate(parts, 3)
    found = ops.concatenate([turned, rest], 3)
    if flat:
        return ops.reshape(found, (*found.shape[:2], math.prod(found.shape[2:])))
    return ops.transpose(found, (0, 2, 1, 3))
