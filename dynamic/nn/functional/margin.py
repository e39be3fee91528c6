"""Losses by margins: of pairs, rankings and triplets, and of several classes or labels.

Refusals are PyTorch's. What is computed is `staticgraph.compiler.layers.margins`, which both
paradigms share.
"""

from __future__ import annotations

from typing import Any

from staticgraph.compiler import ops
from staticgraph.compiler.core.errors import OptionError
from staticgraph.compiler.layers.margins import (
    by_classes,
    by_cosine,
    by_hinge,
    by_labels,
    by_rank,
    by_triplets,
    of_labels,
)
from staticgraph.compiler.layers.reduction import reduced
from staticgraph.dynamic.core.errors import AutogradError
from staticgraph.dynamic.nn.functional.distance import pairwise_distance
from staticgraph.dynamic.nn.functional.reduction import reduction_of
from staticgraph.dynamic.tensors.naming import called

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
    """1 - cos where the target is 1, max(0, cos - margin) where it is -1.

    Example:
        >>> x = dynamic.tensor([[1.0, 0.0]])
        >>> nn.functional.cosine_embedding_loss(
        ...     x, dynamic.tensor([[0.0, 1.0]]), dynamic.tensor([1])
        ... )
        tensor(1.)
    """
    reduction = reduction_of(size_average, reduce, reduction)
    if input1.ndim not in (1, 2) or target.ndim != input1.ndim - 1:
        raise AutogradError(
            f"{target.ndim}D target tensor expects {target.ndim + 1}D input tensors, but found "
            f"inputs with sizes {list(input1.shape)} and {list(input2.shape)}."
        )
    return reduced(by_cosine(input1, input2, target, margin), reduction)


def margin_ranking_loss(
    input1: Any,
    input2: Any,
    target: Any,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Any:
    """max(0, margin - t * (x1 - x2)): x1 should rank above x2 where t is 1, below where -1.

    Example:
        >>> x1, x2 = dynamic.tensor([3.0, 1.0]), dynamic.tensor([1.0, 2.0])
        >>> nn.functional.margin_ranking_loss(x1, x2, dynamic.tensor([1, 1]), reduction="none")
        tensor([0., 1.])
    """
    reduction = reduction_of(size_average, reduce, reduction)
    if not input1.ndim == input2.ndim == target.ndim:
        raise AutogradError(
            "margin_ranking_loss : All input tensors should have same dimension but got sizes: "
            f"input1: {input1.shape}, input2: {input2.shape}, target: {target.shape} "
        )
    return reduced(by_rank(input1, input2, target, margin), reduction)


def hinge_embedding_loss(
    input: Any,
    target: object,
    margin: float = 1.0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Any:
    """x where the target is 1, max(0, margin - x) where it is -1.

    Example:
        >>> x, target = dynamic.tensor([0.5, 0.25]), dynamic.tensor([1, -1])
        >>> nn.functional.hinge_embedding_loss(x, target, reduction="none")
        tensor([0.5000, 0.7500])
    """
    reduction = reduction_of(size_average, reduce, reduction)
    return reduced(by_hinge(input, target, margin), reduction)


@called("SoftMarginLoss", "input", "target")
def soft_margin_loss(
    input: object,
    target: Any,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Any:
    """log(1 + exp(-t * x)), t being 1 or -1.

    Example:
        >>> nn.functional.soft_margin_loss(dynamic.tensor([0.0]), dynamic.tensor([1.0]))
        tensor(0.6931)
    """
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

    Example:
        >>> zero, one = dynamic.tensor([[0.0]]), dynamic.tensor([[1.0]])
        >>> nn.functional.triplet_margin_loss(zero, zero, one, margin=3.0, eps=0.0)
        tensor(2.)
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

    def apart(x: object, y: object) -> Any:
        return pairwise_distance(x, y, p, eps)

    return reduced(by_triplets(anchor, positive, negative, apart, margin, swap), reduction)


@called("MultiMarginLoss", "input")
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
    """The mean over the other classes of max(0, margin - x[target] + x)**p: (n, c), (n,).

    Example:
        >>> nn.functional.multi_margin_loss(dynamic.tensor([[0.5, 1.0]]), dynamic.tensor([1]))
        tensor(0.2500)
    """
    reduction = reduction_of(size_average, reduce, reduction)
    if not isinstance(p, int | float) or p not in (1, 2):
        raise OptionError("only p == 1 and p == 2 supported")
    single = input.ndim == 1
    x = ops.expand_dims(input, 0) if single else input
    if target.ndim > 1 or target.numel() != x.shape[0]:
        raise AutogradError(
            "multi_margin_loss: target tensor should be 1-D with size equal to the number of input "
            f"samples (batch size). Expected target size [{x.shape[0]}], but got "
            f"{list(target.shape)}."
        )
    if weight is not None and getattr(weight, "ndim", 0) != 1:
        raise OptionError(f"multi_margin_loss: weight must be one-dimensional, not {weight!r:.80}")
    losses = by_classes(x, target, p, margin, weight)
    return reduced(losses[0] if single and reduction == "none" else losses, reduction)


@called("MultilabelMarginLoss", "input", "target")
def multilabel_margin_loss(
    input: Any,
    target: Any,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Any:
    """The mean over labels and other classes of max(0, 1 - x[label] + x): (n, c), (n, c) or (c,).

    The labels of a sample come first in its row of `target`, then -1.

    Example:
        >>> nn.functional.multilabel_margin_loss(
        ...     dynamic.tensor([0.5, 1.0]), dynamic.tensor([1, -1])
        ... )
        tensor(0.2500)
    """
    reduction = reduction_of(size_average, reduce, reduction)
    single = input.ndim == 1
    x = ops.expand_dims(input, 0) if single else input
    if tuple(target.shape) != tuple(input.shape):
        size = list(target.shape)
        raise AutogradError(f"inconsistent target size: {size}, expected: {list(input.shape)}")
    losses = by_labels(x, ops.reshape(target, tuple(x.shape)))
    return reduced(losses[0] if single and reduction == "none" else losses, reduction)


def multilabel_soft_margin_loss(
    input: object,
    target: Any,
    weight: object = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Any:
    """The mean over the classes of the binary cross entropies of logits: (n, c), (n, c).

    Example:
        >>> nn.functional.multilabel_soft_margin_loss(dynamic.zeros(1, 2), dynamic.ones(1, 2))
        tensor(0.6931)
    """
    reduction = reduction_of(size_average, reduce, reduction)
    return reduced(of_labels(input, target, weight), reduction)


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
    """max(0, d(anchor, positive) - d(anchor, negative) + margin) for any distance d.

    Example:
        >>> zero, one = dynamic.tensor([[0.0]]), dynamic.tensor([[1.0]])
        >>> nn.functional.triplet_margin_with_distance_loss(
        ...     zero,
        ...     one,
        ...     zero,
        ...     distance_function=lambda x, y: dynamic.sum(dynamic.square(x - y), -1),
        ... )
        tensor(2.)
    """
    if margin <= 0:
        raise OptionError(f"margin must be greater than 0, got {margin}")
    reduction = reduction_of(None, None, reduction)
    distance = pairwise_distance if distance_function is None else distance_function
    losses = by_triplets(anchor, positive, negative, distance, margin, swap)
    return reduced(losses, reduction)
