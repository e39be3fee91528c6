"""Norms and distances of vectors."""

from __future__ import annotations

from typing import Any

from staticgraph.compiler.layers import distances
from staticgraph.dynamic.core.errors import AutogradError
from staticgraph.dynamic.tensors.naming import keep

__all__ = ["cosine_similarity", "pairwise_distance"]


def cosine_similarity(x1: object, x2: object, dim: int = 1, eps: float = 1e-8) -> Any:
    """The cosine of the angle between vectors along `dim`; norms count as at least eps.

    Example:
        >>> nn.functional.cosine_similarity(
        ...     dynamic.tensor([[3.0, 4.0]]), dynamic.tensor([[6.0, 8.0]])
        ... )
        tensor([1.])
    """
    if eps < 0:
        raise AutogradError(f"cosine_similarity: eps must be non-negative, got: {eps}")
    return distances.cosine(x1, x2, dim, eps)


def pairwise_distance(
    x1: object, x2: Any, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False
) -> Any:
    """The p-norm of x1 - x2 + eps along the last axis.

    Example:
        >>> nn.functional.pairwise_distance(
        ...     dynamic.tensor([[3.0, 4.0]]), dynamic.zeros((1, 2)), eps=0.0
        ... )
        tensor([5.])
    """
    found = distances.distance(x1, x2, p, eps, keepdim)
    return keep(found, found)
