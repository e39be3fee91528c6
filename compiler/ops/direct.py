"""Composites on plain arrays: the values and cotangents of their rules in fewer NumPy calls.

Each function computes what the expansion or the rules of its op say, in the same order, but writes
over its own temporaries and computes once what several rules share. The generic tests compare.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from compiler.ops.indexing import check_range

_add, _max = np.add.reduce, np.maximum.reduce


def _floats(x: Any) -> Any:
    return x if x.dtype.kind == "f" else x.astype(np.float64)


def softmax(x: Any, *, axis: int) -> Any:
    """exp(x - max) / sum(exp(x - max)) along `axis`."""
    x = _floats(x)
    result = np.subtract(x, _max(x, axis, None, None, True))
    np.exp(result, result)
    return np.divide(result, _add(result, axis, None, None, True), result)


def softmax_vjp(positions: Sequence[int], g: Any, o: Any, x: Any, *, axis: int) -> Any:
    """g o - o sum(g o)."""
    result = np.multiply(g, o)
    return (np.subtract(result, o * _add(result, axis, None, None, True), result),)


def log_softmax(x: Any, *, axis: int) -> Any:
    """x - max - log(sum(exp(x - max))) along `axis`."""
    x = _floats(x)
    result = np.subtract(x, _max(x, axis, None, None, True))
    return np.subtract(result, np.log(_add(np.exp(result), axis, None, None, True)), result)


def log_softmax_vjp(positions: Sequence[int], g: Any, o: Any, x: Any, *, axis: int) -> Any:
    """g - exp(o) sum(g)."""
    result = np.exp(o)
    np.multiply(result, _add(g, axis, None, None, True), result)
    return (np.subtract(g, result, result),)


def _normalised(x: Any, axes: int, eps: float) -> tuple[Any, Any]:
    last = tuple(range(x.ndim - axes, x.ndim))
    size = math.prod(x.shape[x.ndim - axes :])
    normal = np.subtract(x, _add(x, last, None, None, True) / size)
    scale = 1 / np.sqrt(_add(normal * normal, last, None, None, True) / size + eps)
    return np.multiply(normal, scale, normal), scale


def layer_norm(x: Any, weight: Any, bias: Any, *, axes: int, eps: float) -> Any:
    """(x - mean) / sqrt(variance + eps) * weight + bias over the last `axes` axes."""
    result, _ = _normalised(_floats(x), axes, eps)
    np.multiply(result, weight, result)
    return np.add(result, bias, result)


def layer_norm_vjp(
    positions: Sequence[int],
    g: Any,
    o: Any,
    x: Any,
    weight: Any,
    bias: Any,
    *,
    axes: int,
    eps: float,
) -> Any:
    """The cotangents of x, weight and bias, normalised once for all of them."""
    last = tuple(range(x.ndim - axes, x.ndim))
    size = math.prod(x.shape[x.ndim - axes :])
    results: dict[int, Any] = {}
    if 2 in positions:
        results[2] = _total(g, bias)
    if 0 in positions or 1 in positions:
        normal, scale = _normalised(x, axes, eps)
    if 1 in positions:
        results[1] = _total(g * normal, weight)
    if 0 in positions:
        g = g * weight
        along = _add(g * normal, last, None, None, True) / size
        np.multiply(normal, along, normal)
        np.subtract(g, _add(g, last, None, None, True) / size, g)
        np.subtract(g, normal, g)
        results[0] = np.multiply(scale, g, g)
    return [results[i] for i in positions]


def _total(g: Any, operand: Any) -> Any:
    """The sum over the leading axes that the operand lacks."""
    return _add(g, tuple(range(g.ndim - len(operand.shape))))


def _places(x: Any, target: Any) -> Any:
    """The positions in the flat x (n, c) of the element that each target (n,) names."""
    rows, classes = x.shape
    target = check_range("cross_entropy", target, classes, wrap=False)
    return target + np.arange(0, rows * classes, classes)


def cross_entropy(x: Any, target: Any, *, reduction: str) -> Any:
    """The cross entropy of x (n, c) and class indices (n,)."""
    shifted = np.subtract(x, _max(x, 1, None, None, True))
    losses = np.log(_add(np.exp(shifted), 1))
    np.subtract(losses, shifted.take(_places(x, target)), losses)
    if reduction == "none":
        return losses
    total = _add(losses, 0)
    return total / len(losses) if reduction == "mean" else total


def cross_entropy_vjp(g: Any, x: Any, target: Any, *, reduction: str) -> Any:
    """(softmax(x) - one_hot(target)) g for x (n, c)."""
    if reduction == "mean":
        g = g / len(target)
    elif reduction == "none":
        g = g[:, None]
    result = softmax(x, axis=1)
    result.reshape(-1)[_places(x, target)] -= 1
    return np.multiply(result, g, result)
