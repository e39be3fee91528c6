"""Norms and distances of vectors."""

from __future__ import annotations

import math
from typing import Any

from staticgraph.compiler import ops

__all__ = ["cosine_similarity", "pairwise_distance"]


def cosine_similarity(x1: object, x2: object, dim: int = 1, eps: float = 1e-8) -> Any:
    """The cosine of the angle between vectors along `dim`; norms count as at least eps."""
    return ops.sum(_unit(x1, dim, eps) * _unit(x2, dim, eps), axis=dim)


def _unit(x: object, dim: int, eps: float) -> Any:
    size = vector_norm(x, 2, dim, keepdim=True)
    # the limit does not stop the gradient
    return x / (size + ops.stop_gradient(ops.maximum(size, eps) - size))


def pairwise_distance(
    x1: object, x2: Any, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False
) -> Any:
    """The p-norm of x1 - x2 + eps along the last axis."""
    return vector_norm(x1 - x2 + eps, p, -1, keepdim)


def vector_norm(x: object, p: float, dim: object, keepdim: bool = False) -> Any:
    """The p-norm along `dim`; the gradient of the 2-norm at 0 is 0."""
    if p == 2:
        square = ops.sum(ops.square(x), axis=dim, keepdims=keepdim)
        zero = ops.equal(square, 0)
        return ops.where(zero, 0, ops.sqrt(ops.where(zero, 1, square)))
    size = ops.absolute(x)
    if p == 1:
        return ops.sum(size, axis=dim, keepdims=keepdim)
    if p == math.inf:
        return ops.max(size, axis=dim, keepdims=keepdim)
    return ops.sum(size**p, axis=dim, keepdims=keepdim) ** (1 / p)
