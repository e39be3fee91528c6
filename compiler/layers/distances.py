"""Norms and distances of vectors, and maps of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core.dims import Dim, floor_divide
from staticgraph.compiler.core.errors import OptionError, ShapeError
from staticgraph.compiler.core.types import broadcast_shapes, unify
from staticgraph.compiler.core.values import Value
from staticgraph.compiler.layers.axes import agree, number, numbers, of_floats, shown
from staticgraph.compiler.ops.declare import as_operand

__all__ = ["bilinear", "cosine_similarity", "linear", "pairwise_distance", "pdist"]


def cosine_similarity(x1: Value, x2: Value, dim: int = 1, eps: float = 1e-8) -> Value:
    """The cosine of the angle between vectors along `dim`; norms count as at least eps.

    Raises:
        ShapeError: the operands do not broadcast.

    Example:
        >>> sg.nn.cosine_similarity(np.array([[3.0, 4.0]]), np.array([[6.0, 8.0]]))
        array([1.])
    """
    x1, x2 = _pair("cosine_similarity", x1, x2)
    return cosine(x1, x2, dim, eps)


def cosine(x1: Value, x2: Value, dim: int, eps: float) -> Value:
    """`cosine_similarity` of what fits."""
    return ops.sum(_unit(x1, dim, eps) * _unit(x2, dim, eps), axis=dim)


def _pair(name: str, x1: Any, x2: Any) -> tuple[Any, Any]:
    x1, x2 = of_floats(name, x1), of_floats(name, x2)
    broadcast_shapes(name, shown(x1), shown(x2))
    return x1, x2


def _unit(x: Any, dim: int, eps: float) -> Any:
    size = norm_along(x, 2, dim, True)
    # the limit does not stop the gradient
    return x / (size + ops.stop_gradient(ops.maximum(size, eps) - size))


def pairwise_distance(
    x1: Value, x2: Value, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False
) -> Value:
    """The p-norm of x1 - x2 + eps along the last axis.

    Raises:
        ShapeError: the operands do not broadcast.

    Example:
        >>> sg.nn.pairwise_distance(np.array([[3.0, 4.0]]), np.zeros((1, 2)), eps=0.0)
        array([5.])
    """
    x1, x2 = _pair("pairwise_distance", x1, x2)
    return distance(x1, x2, p, eps, keepdim)


def distance(
    x1: Value, x2: Value, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False
) -> Value:
    """`pairwise_distance` of what fits."""
    return norm_along(x1 - x2 + eps, p, -1, keepdim)


def norm_along(x: Value, p: float, dim: Value, keepdim: bool = False) -> Value:
    """The p-norm along `dim`; the gradient of the 2-norm at 0 is 0."""
    if np.dtype(x.dtype).kind == "c":
        x = ops.absolute(x)
    if p == 2:
        square = ops.sum(ops.square(x), axis=dim, keepdims=keepdim)
        zero = ops.equal(square, 0)
        return ops.where(zero, 0, ops.sqrt(ops.where(zero, 1, square)))
    return ops.vector_norm(x, p, dim, keepdim)


def pdist(x: Value, p: float = 2.0) -> Value:
    """The p-norm distances of each row from those after it, in one vector: (n, d).

    The n (n - 1) / 2 distances are in the order of pairs (0, 1), (0, 2), ..., (1, 2), ...

    Raises:
        ShapeError: not two axes.
        OptionError: p is negative.

    Example:
        >>> sg.nn.pdist(np.array([[0.0], [1.0], [3.0]]))
        array([1., 3., 2.])
    """
    x = of_floats("pdist", x)
    if x.ndim != 2:
        raise ShapeError(f"pdist: {shown(x)} has {x.ndim} axes, of 2")
    if p < 0:
        raise OptionError(f"pdist: p is a number from 0, not {p!r}")
    first, second = row_pairs(x)
    apart = ops.take(x, first, 0) - ops.take(x, second, 0)
    return ops.vector_norm(apart, p, -1)


def row_pairs(x: Value) -> tuple[Value, Value]:
    """The rows of each pair, the first one before the second."""
    n = x.shape[0]
    if not isinstance(n, Dim):
        return np.triu_indices(n, 1)
    # pair number i lies in the row of which so many pairs, r (2 n - r - 1) / 2, begin before it
    count = floor_divide(n * (n - 1), 2)
    place, size, rows = numbers(count, x), number(n, x), numbers(n, x)
    begins = rows * (2 * size - rows - 1) // 2
    first = ops.sum(ops.less_equal(ops.expand_dims(begins, 0), ops.expand_dims(place, 1)), 1) - 1
    first = ops.minimum(first, size - 2)
    second = place - first * (2 * size - first - 1) // 2 + first + 1
    return first, second


def linear(x: Value, weight: Value, bias: Value = None) -> Value:
    """x @ weight.T + bias: (..., k), (n, k), (n,) -> (..., n); a vector as weight gives (...).

    Raises:
        ShapeError: the features do not fit.

    Example:
        >>> sg.nn.linear(np.array([1.0, 2.0]), np.array([[3.0, 4.0]]), np.array([0.5]))
        array([11.5])
    """
    x, weight = as_operand(x), as_operand(weight)
    if weight.ndim not in (1, 2) or not x.ndim or not agree(x.shape[-1:], weight.shape[-1:]):
        raise ShapeError(f"linear: {shown(x)} (..., k) and weight {shown(weight)} (n, k) or (k,)")
    matrix = weight if weight.ndim == 1 else ops.swapaxes(weight, -1, -2)
    product = ops.matmul(x, matrix)
    return product if bias is None else product + bias


def bilinear(x1: Value, x2: Value, weight: Value, bias: Value = None) -> Value:
    """x weight[k] y + bias[k] for each k: (..., i), (..., j), (k, i, j), (k,) -> (..., k).

    Raises:
        ShapeError: the features do not fit.

    Example:
        >>> x, y = np.array([1.0, 2.0]), np.array([3.0])
        >>> sg.nn.bilinear(x, y, np.array([[[1.0], [1.0]]]))
        array([9.])
    """
    x1, x2, weight = (as_operand(one) for one in (x1, x2, weight))
    if weight.ndim != 3:
        raise ShapeError(f"bilinear: weight {shown(weight)} has {weight.ndim} axes, of 3")
    for operand, size in ((x1, weight.shape[1]), (x2, weight.shape[2])):
        if not operand.ndim or unify(operand.shape[-1], size) is None:
            raise ShapeError(
                f"bilinear: {shown(operand)} has not the {size} features of {shown(weight)}"
            )
    return products(x1, x2, weight, bias)


def products(x1: Value, x2: Value, weight: Value, bias: Value) -> Value:
    """`bilinear` of what fits."""
    outputs, first, second = weight.shape
    flat = ops.reshape(ops.transpose(weight, (1, 0, 2)), (first, outputs * second))
    found = ops.matmul(x1, flat)
    found = ops.reshape(found, (*x1.shape[:-1], outputs, second))
    result = ops.squeeze(ops.matmul(found, ops.expand_dims(x2, -1)), -1)
    return result if bias is None else result + bias
