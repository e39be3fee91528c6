"""Losses of several classes or labels by margins."""

from __future__ import annotations

from typing import Any

import numpy as np

from compiler import ops
from compiler.core.errors import OptionError
from dynamic.errors import AutogradError
from dynamic.nn.functional.reduction import reduced, reduction_of
from dynamic.tensors.tensor import wrap

__all__ = [
    "multi_margin_loss", "multilabel_margin_loss", "multilabel_soft_margin_loss",
    "triplet_margin_with_distance_loss",
]  # fmt: skip


def multi_margin_loss(
    input: Any,
    target: Any,
    p: int = 1,
    margin: float = 1.0,
    weight: Any = None,
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
    rows = target._array.reshape(tuple(x.shape))
    named = np.cumprod(rows >= 0, 1).astype(bool)
    labelled = np.zeros(rows.shape, bool)
    for row, marks, labels in zip(rows, labelled, named, strict=True):
        marks[row[labels]] = True
    chosen = ops.take_along_axis(x, np.where(named, rows, 0), 1)
    apart = ops.relu(1 - ops.expand_dims(chosen, 2) + ops.expand_dims(x, 1))
    counted = named[:, :, None] & ~labelled[:, None, :]
    losses = ops.sum(ops.where(wrap(counted), apart, 0), (1, 2)) / x.shape[1]
    return reduced(losses[0] if single and reduction == "none" else losses, reduction)


def multilabel_soft_margin_loss(
    input: Any,
    target: Any,
    weight: Any = None,
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
    anchor: Any,
    positive: Any,
    negative: Any,
    *,
    distance_function: Any = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Any:
    """max(0, d(anchor, positive) - d(anchor, negative) + margin) for any distance d."""
    from dynamic.nn.functional.similarity import pairwise_distance

    if margin <= 0:
        raise OptionError(f"margin must be greater than 0, got {margin}")
    distance = pairwise_distance if distance_function is None else distance_function
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = ops.minimum(far, distance(positive, negative))
    return reduced(ops.relu(near - far + margin), reduction)
