"""Composites on plain arrays: the values and cotangents of their rules in fewer NumPy calls.

Each function computes what the expansion or the rules of its op say, but writes over its own
temporaries and computes once what several rules share. The generic tests compare.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from compiler.ops.indexing import check_range

# by position, which NumPy's annotations do not allow: keywords cost a tenth of a small reduction
_add: Any = np.add.reduce
_max: Any = np.maximum.reduce


def _floats(x: Any) -> Any:
    return x if x.dtype.kind == "f" else x.astype(np.float64)


def softmax(x: Any, *, axis: int) -> Any:
    """exp(x - max) / sum(exp(x - max)) along `axis`."""
    x = _floats(x)
    result = np.subtract(x, _max(x, axis, None, None, True, -np.inf))
    np.exp(result, result)
    return np.divide(result, _add(result, axis, None, None, True), result)


def softmax_vjp(positions: Sequence[int], g: Any, o: Any, x: Any, *, axis: int) -> Any:
    """(g - sum(g o)) o."""
    result = np.multiply(g, o)
    np.subtract(g, _add(result, axis, None, None, True), result)
    return (np.multiply(result, o, result),)


def log_softmax(x: Any, *, axis: int) -> Any:
    """x - max - log(sum(exp(x - max))) along `axis`."""
    x = _floats(x)
    result = np.subtract(x, _max(x, axis, None, None, True, -np.inf))
    return np.subtract(result, np.log(_add(np.exp(result), axis, None, None, True)), result)


def log_softmax_vjp(positions: Sequence[int], g: Any, o: Any, x: Any, *, axis: int) -> Any:
    """g - exp(o) sum(g)."""
    result = np.exp(o)
    np.multiply(result, _add(g, axis, None, None, True), result)
    return (np.subtract(g, result, result),)


def _rows(x: Any, axes: int) -> Any:
    """x as a matrix, its last `axes` axes as one."""
    return x.reshape(math.prod(x.shape[: x.ndim - axes]), math.prod(x.shape[x.ndim - axes :]))


def _vector(x: Any) -> Any:
    """The weight or bias of a row; one number for the whole row has no axes."""
    return x.reshape(-1) if x.ndim else x


def _normalised(rows: Any, eps: float) -> tuple[Any, Any]:
    """The rows with mean 0 and variance 1, and per row the factor that did it."""
    size = rows.shape[1]
    normal = np.subtract(rows, _add(rows, 1, None, None, True) / size)
    scale = 1 / np.sqrt(np.vecdot(normal, normal)[:, None] / size + eps)
    return np.multiply(normal, scale, normal), scale


def layer_norm(x: Any, weight: Any, bias: Any, *, axes: int, eps: float) -> Any:
    """(x - mean) / sqrt(variance + eps) * weight + bias over the last `axes` axes."""
    result, _ = _normalised(_rows(_floats(x), axes), eps)
    np.multiply(result, _vector(weight), result)
    return np.add(result, _vector(bias), result).reshape(x.shape)


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
    rows, results = _rows(g, axes), {}
    if 2 in positions:
        results[2] = _column_sum(rows, bias)
    if 0 in positions or 1 in positions:
        normal, scale = _normalised(_rows(x, axes), eps)
    if 1 in positions:
        results[1] = _column_sum(rows * normal, weight)
    if 0 in positions:
        rows, size = rows * _vector(weight), rows.shape[1]
        along = np.vecdot(rows, normal)[:, None] / size
        np.subtract(rows, _add(rows, 1, None, None, True) / size, rows)
        np.subtract(rows, np.multiply(normal, along, normal), rows)
        results[0] = np.multiply(rows, scale, rows).reshape(x.shape)
    return [results[i] for i in positions]


def _column_sum(rows: Any, like: Any) -> Any:
    """The sum of the rows in the shape of a weight or bias."""
    return _add(rows, 0).reshape(like.shape) if like.ndim else _add(rows, None)


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
