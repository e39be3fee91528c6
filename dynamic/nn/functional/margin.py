"""Losses by margins: of pairs, rankings and triplets, and of several classes or labels."""

from __future__ import annotations

from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core.errors import OptionError
from staticgraph.dynamic.core.errors import AutogradError
from staticgraph.dynamic.nn.functional.distance import pairwise_distance
from staticgraph.dynamic.nn.functional.reduction import reduced, reduction_of
from staticgraph.dynamic.tensors.tensor import wrap

__all__ = [
    "cosine_embedding_loss", "hinge_embedding_loss", "margin_ranking_loss", "multi_margin_loss",
    "multilabel_margin_loss", "multilabel_soft_margin_loss", "soft_margin_loss",
    "triplet_margin_loss", "triplet_margin_with_distance_loss",
]  # fmt: skip


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
    target: object,
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
    input: object,
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


def multi_margin_loss(
    input: Any,
    target: Any,
    p: int = 1,
    margin: float = 1.0,
    weight: object = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Any:
    """The mean over the other classes of max(0, margin - x[target] + x)**p: (n, c), (n,)."""
    reduction = reduction_of(size_average, reduce, reduction)
    if p not in (1, 2):
        raise OptionError("only p == 1 and p == 2 supported")
    single = input.ndim == 1
    x = ops.expand_dims(input, 0) if single else input
    if target.ndim > 1 or target.numel() != x.shape[0]:
        raise AutogradError(
            "multi_margin_loss: target tensor should be 1-D with size equal to the number of input "
            f"samples (batch size). Expected target size [{x.shape[0]}], but got "
            f"{list(target.shape)}."
        )
    index = ops.reshape(target, (-1, 1))
    apart = ops.relu(margin - ops.take_along_axis(x, index, 1) + x)
    apart = ops.square(apart) if p == 2 else apart
    if weight is not None:
        apart = apart * ops.take(weight, index, 0)
    others = ops.not_equal(wrap(np.arange(x.shape[1])), index)
    losses = ops.sum(ops.where(others, apart, 0), 1) / x.shape[1]
    return reduced(losses[0] if single and reduction == "none" else losses, reduction)


def multilabel_margin_loss(
    input: Any,
    target: Any,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Any:
    """The mean over labels and other classes of max(0, 1 - x[label] + x): (n, c), (n, c) or (c,).

    The labels of a sample come first in its row of `target`, then -1.
    """
    reduction = reduction_of(size_average, reduce, reduction)
    single = input.ndim == 1
    x = ops.expand_dims(input, 0) if single else input
    if tuple(target.shape) != tuple(input.shape):
        size = list(target.shape)
        raise AutogradError(f"inconsistent target size: {size}, expected: {list(input.shape)}")
    rows = ops.reshape(target, tuple(x.shape))
    named = ops.cumsum(ops.astype(rows < 0, np.int64), 1) == 0
    # of each label whether it is a class, (n, labels, classes)
    same = ops.expand_dims(ops.where(named, rows, -1), 2) == wrap(np.arange(x.shape[1]))
    chosen = ops.take_along_axis(x, ops.where(named, rows, 0), 1)
    apart = ops.relu(1 - ops.expand_dims(chosen, 2) + ops.expand_dims(x, 1))
    others = ops.logical_not(ops.any(same, 1, keepdims=True))
    counted = ops.logical_and(ops.expand_dims(named, 2), others)
    losses = ops.sum(ops.where(counted, apart, 0), (1, 2)) / x.shape[1]
    return reduced(losses[0] if single and reduction == "none" else losses, reduction)


def multilabel_soft_margin_loss(
    input: object,
    target: Any,
    weight: object = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Any:
    """The mean over the classes of the binary cross entropies of logits: (n, c), (n, c)."""
    reduction = reduction_of(size_average, reduce, reduction)
    losses = ops.softplus(input) - target * input
    losses = losses if weight is None else losses * weight
    return reduced(ops.mean(losses, -1), reduction)


def triplet_margin_with_distance_loss(
    anchor: object,
    positive: object,
    negative: object,
    *,
    distance_function: Any = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Any:
    """max(0, d(anchor, positive) - d(anchor, negative) + margin) for any distance d."""
    if margin <= 0:
        raise OptionError(f"margin must be greater than 0, got {margin}")
    distance = pairwise_distance if distance_function is None else distance_function
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = ops.minimum(far, distance(positive, negative))
    return reduced(ops.relu(near - far + margin), reduction)
