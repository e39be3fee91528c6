"""Composites on plain arrays: the values and cotangents of their rules in fewer NumPy calls.

Each function computes what the expansion or the rules of its op say, but writes over its own
temporaries and computes once what several rules share. The generic tests compare.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from staticgraph.compiler.core.values import Array
from staticgraph.compiler.reference.extremes import largest
from staticgraph.compiler.reference.numbers import ONE
from staticgraph.compiler.reference.scratch import LARGE, floats, scratch
from staticgraph.compiler.reference.totals import total

# by position, which NumPy's annotations do not allow: keywords cost a tenth of a small reduction
_add: Any = np.add.reduce
_max: Any = np.maximum.reduce


def softmax(x: Any, *, axis: int) -> Any:
    """exp(x - max) / sum(exp(x - max)) along `axis`."""
    x = floats(x)
    result = np.subtract(x, shift(x, axis))
    np.exp(result, result)
    return np.divide(result, _sums(result, axis), result)


def softmax_vjp(positions: Sequence[int], g: Any, o: Any, x: object, *, axis: int) -> Any:
    """(g - sum(g o)) o."""
    result = np.subtract(g, _dots(g, o, axis))
    return (np.multiply(result, o, result),)


def log_softmax(x: Any, *, axis: int) -> Any:
    """x - max - log(sum(exp(x - max))) along `axis`."""
    x = floats(x)
    result = np.subtract(x, shift(x, axis))
    return np.subtract(result, np.log(_sums(np.exp(result), axis)), result)


def log_softmax_vjp(positions: Sequence[int], g: Any, o: Any, x: object, *, axis: int) -> Any:
    """g - exp(o) sum(g)."""
    result = np.exp(o)
    np.multiply(result, _sums(g, axis), result)
    return (np.subtract(g, result, result),)


_SHORT = 1024


def _by_dot(x: Any, axis: int) -> bool:
    """Whether to sum along `axis` by dot products, in a third of the time of NumPy's sum.

    Not on small arrays, which they make slower, nor for long rows, whose sums would be less exact
    than NumPy's, of pairs: the dot product of a BLAS adds up as many partial sums as its vectors
    have elements, each of them one term after the other.
    """
    return x.size > LARGE and axis == x.ndim - 1 and x.shape[-1] <= _SHORT


_FEW, _NEAR = 1024, 8.0


def shift(x: Any, axis: int) -> Any:
    """What to subtract from x so that its exponentials neither overflow nor vanish along `axis`.

    The largest elements along it, which stays with size 1. Where few elements are near each other,
    so that no digits are lost, the largest of them all serves: to find it takes a third of the
    time. Of no elements nothing.
    """
    note: Any = getattr(x, "note_shift", None)
    if note is not None:  # an array that notes what is done with it, for `compiler.runtime.loops`
        return note(axis)
    if 0 < x.size <= _FEW:
        greatest = x.item(x.argmax())
        if greatest - x.item(x.argmin()) < _NEAR:
            return np.array(greatest, x.dtype)
    return largest(x, (axis,), True) if x.size else _max(x, axis, None, None, True, -np.inf)


def _sums(x: Any, axis: int) -> Any:
    """The sums along `axis`, which stays with size 1."""
    if _by_dot(x, axis):
        return np.vecdot(x, np.ones(x.shape[-1], x.dtype))[..., None]
    return total(x, (axis,), True)


def _dots(x: Any, y: Any, axis: int) -> Any:
    """The sums of x * y along `axis`, which stays with size 1."""
    if _by_dot(x, axis):
        return np.vecdot(x, y)[..., None]
    return _sums(x * y, axis)


def _rows(x: Any, axes: int) -> Any:
    """x as a matrix, its last `axes` axes as one."""
    if axes == 1 and x.size:
        return x if x.ndim == 2 else x.reshape(-1, x.shape[-1])
    return x.reshape(math.prod(x.shape[: x.ndim - axes]), math.prod(x.shape[x.ndim - axes :]))


def _vector(x: Any) -> Any:
    """The weight or bias of a row; one number for the whole row has no axes."""
    return x.reshape(-1) if x.ndim > 1 else x


@functools.lru_cache(maxsize=256)
def _of_rows(size: int, eps: float, dtype: Any) -> tuple[Any, Any]:
    """The size of rows, and eps, as arrays."""
    return np.array(size, dtype), np.array(eps, dtype)


def _centre(rows: Any, eps: float, out: Any) -> Any:
    """Write the rows less their means to `out`; per row 1 / sqrt(variance + eps)."""
    size = rows.shape[1]
    if 1 < rows.size <= _FEW:
        count, epsilon = _of_rows(size, eps, rows.dtype)
        means = _sums(rows, 1)
        out = np.subtract(rows, np.divide(means, count, means), out)
        scale = _sums(np.multiply(out, out), 1)
        scale = np.sqrt(np.add(np.divide(scale, count, scale), epsilon, scale), scale)
        return np.divide(ONE[scale.dtype], scale, scale)
    np.subtract(rows, _sums(rows, 1) / size, out)
    return 1 / np.sqrt(np.vecdot(out, out)[:, None] / size + eps)


def layer_norm(x: Any, weight: Any, bias: Any, *, axes: int, eps: float) -> Any:
    """(x - mean) / sqrt(variance + eps) * weight + bias over the last `axes` axes."""
    x = floats(x)
    out = np.empty(x.shape, x.dtype)
    rows = _rows(out, axes)
    rows = np.multiply(rows, _centre(_rows(x, axes), eps, rows), rows)
    if weight.ndim or weight != 1:
        rows = np.multiply(rows, _vector(weight), rows)
    if bias.ndim or bias != 0:
        np.add(rows, _vector(bias), rows)
    return out


def layer_norm_vjp(
    positions: Sequence[int],
    g: object,
    o: object,
    x: Any,
    weight: Any,
    bias: object,
    *,
    axes: int,
    eps: float,
) -> Any:
    """The cotangents of x, weight and bias, normalised once for all of them."""
    rows, results = _rows(g, axes), {}
    if 0 in positions:
        # a copy first: what follows is in place, in the cache
        results[0] = np.empty(x.shape, x.dtype)
        found = _rows(results[0], axes)
        np.copyto(found, rows)
        rows = found
    if 2 in positions:
        results[2] = _column_sum(rows, bias)
    if 0 in positions or 1 in positions:
        normal = scratch(rows, 0)
        scale = _centre(_rows(x, axes), eps, normal)
        np.multiply(normal, scale, normal)
    if 1 in positions:
        results[1] = _column_dot(rows, normal, weight)
    if 0 in positions:
        size = rows.shape[1]
        if weight.ndim or weight != 1:
            np.multiply(rows, _vector(weight), rows)
        along = _dots(rows, normal, 1) / size
        np.subtract(rows, _sums(rows, 1) / size, rows)
        np.subtract(rows, np.multiply(normal, along, normal), rows)
        np.multiply(rows, scale, rows)
    return [results[i] for i in positions]


def layer_norm_slopes(
    g: Array, x: Array, weight: Array, *, eps: float
) -> tuple[Array, Array, Array]:
    """`layer_norm_vjp` of all operands for a few rows, of which each step is noted."""
    size = x.shape[1]
    normal = np.empty_like(x)
    scale = _centre(x, eps, normal)
    normal = np.multiply(normal, scale, normal)
    of_weight = total(np.multiply(g, normal), (0,), False)
    rows: Array = np.multiply(g, weight)
    along = np.divide(_sums(np.multiply(rows, normal), 1), size)
    rows = np.subtract(rows, np.divide(_sums(rows, 1), size))
    rows = np.subtract(rows, np.multiply(normal, along))
    rows = np.multiply(rows, scale)
    return rows, of_weight, total(g, (0,), False)


def _column_sum(rows: object, like: Any) -> Any:
    """The sum of the rows in the shape of a weight or bias."""
    return total(rows, (0,), False).reshape(like.shape) if like.ndim else _add(rows, None)


def _column_dot(rows: Any, others: Any, like: Any) -> Any:
    """The sum of the products of the rows in the shape of a weight."""
    if rows.size > LARGE and like.ndim:
        return np.einsum("ij,ij->j", rows, others).reshape(like.shape)
    return _column_sum(rows * others, like)
