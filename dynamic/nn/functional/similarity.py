"""Distances, and losses of pairs and rankings."""

from __future__ import annotations

from typing import Any

from compiler import ops
from compiler.core.errors import OptionError
from dynamic.errors import AutogradError
from dynamic.nn.functional.normalization import vector_norm
from dynamic.nn.functional.reduction import reduced, reduction_of

__all__ = [
    "cosine_embedding_loss", "cosine_similarity", "hinge_embedding_loss", "margin_ranking_loss",
    "pairwise_distance", "soft_margin_loss", "triplet_margin_loss",
]  # fmt: skip


def cosine_similarity(x1: Any, x2: Any, dim: int = 1, eps: float = 1e-8) -> Any:
    """The cosine of the angle between vectors along `dim`; norms count as at least eps."""
    return ops.sum(_unit(x1, dim, eps) * _unit(x2, dim, eps), axis=dim)


def _unit(x: Any, dim: int, eps: float) -> Any:
    size = vector_norm(x, 2, dim, keepdim=True)
    # the limit does not stop the gradient
    return x / (size + ops.stop_gradient(ops.maximum(size, eps) - size))


def pairwise_distance(
    x1: Any, x2: Any, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False
) -> Any:
    """The p-norm of x1 - x2 + eps along the last axis."""
    return vector_norm(x1 - x2 + eps, p, -1, keepdim)


def cosine_embedding_loss(
    input1: Any,
    input2: Any,
    target: Any,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Any:
    """1 - cos where the target is 1, max(0, cos - margin) where it is -1."""
    reduction = reduction_of(size_average, reduce, reduction)
    if input1.ndim not in (1, 2) or target.ndim != input1.ndim - 1:
        raise AutogradError(
            f"{target.ndim}D target tensor expects {target.ndim + 1}D input tensors, but found "
            f"inputs with sizes {list(input1.shape)} and {list(input2.shape)}."
        )
    eps = 1e-12
    product = ops.sum(input1 * input2, axis=-1)
    squares = [ops.sum(ops.square(x), axis=-1) + eps for x in (input1, input2)]
    cos = product / ops.sqrt(squares[0] * squares[1])
    near = ops.where(ops.equal(target, 1), 1 - cos, 0)
    far = ops.where(ops.equal(target, -1), ops.clip(cos - margin, 0), 0)
    return reduced(near + far, reduction)


def margin_ranking_loss(
    input1: Any,
    input2: Any,
    target: Any,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Any:
    """max(0, margin - t * (x1 - x2)): x1 should rank above x2 where t is 1, below where -1."""
    reduction = reduction_of(size_average, reduce, reduction)
    if not input1.ndim == input2.ndim == target.ndim:
        raise AutogradError(
            "margin_ranking_loss : All input tensors should have same dimension but got sizes: "
            f"input1: {input1.shape}, input2: {input2.shape}, target: {target.shape} "
        )
    return reduced(ops.clip(-target * (input1 - input2) + margin, 0), reduction)


def hinge_embedding_loss(
    input: Any,
    target: Any,
    margin: float = 1.0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Any:
    """x where the target is 1, max(0, margin - x) where it is -1."""
    reduction = reduction_of(size_average, reduce, reduction)
    far = ops.where(ops.not_equal(target, 1), ops.clip(margin - input, 0), 0)
    near = ops.where(ops.not_equal(target, -1), input, 0)
    return reduced(far + near, reduction)


def soft_margin_loss(
    input: Any,
    target: Any,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Any:
    """log(1 + exp(-t * x)), t being 1 or -1."""
    reduction = reduction_of(size_average, reduce, reduction)
    return reduced(ops.softplus(-target * input), reduction)


def triplet_margin_loss(
    anchor: Any,
    positive: Any,
    negative: Any,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Any:
    """max(0, d(anchor, positive) - d(anchor, negative) + margin), d the pairwise distance.

    With `swap`, the smaller one of d(anchor, negative) and d(positive, negative) counts
    (Balntas et al. 2016).
    """
    reduction = reduction_of(size_average, reduce, reduction)
    if margin <= 0:
        raise OptionError(f"margin must be greater than 0, got {margin}")
    if not anchor.ndim == positive.ndim == negative.ndim:
        raise AutogradError(
            "The anchor, positive, and negative tensors are expected to have the same number of "
            f"dimensions, but got: anchor {anchor.ndim}D, positive {positive.ndim}D, and negative "
            f"{negative.ndim}D inputs"
        )
    near = pairwise_distance(anchor, positive, p, eps)
    far = pairwise_distance(anchor, negative, p, eps)
    if swap:
        far = ops.minimum(far, pairwise_distance(positive, negative, p, eps))
    return reduced(ops.clip(margin + near - far, 0), reduction)
