"""Losses by margins: of pairs, rankings and triplets, and of several classes or labels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core.errors import DTypeError, OptionError, ShapeError
from staticgraph.compiler.core.types import broadcast_shapes
from staticgraph.compiler.core.values import Value
from staticgraph.compiler.layers.axes import agree, of_floats, same_shape, shown
from staticgraph.compiler.layers.distances import distance
from staticgraph.compiler.layers.reduction import as_factor, checked, pair, reduced
from staticgraph.compiler.ops.declare import as_operand, size_value
from staticgraph.compiler.ops.reductions.reduction import positions

__all__ = [
    "cosine_embedding_loss", "hinge_embedding_loss", "margin_ranking_loss", "multi_margin_loss",
    "multilabel_margin_loss", "multilabel_soft_margin_loss", "soft_margin_loss",
    "triplet_margin_loss", "triplet_margin_with_distance_loss",
]  # fmt: skip


def cosine_embedding_loss(
    x1: Value, x2: Value, target: Value, *, margin: float = 0, reduction: str = "mean"
) -> Value:
    """1 - cos where the target is 1, max(0, cos - margin) where it is -1: (n, d), (n, d), (n,).

    Args:
        reduction: 'mean', 'sum' or 'none'.

    Raises:
        ShapeError: shapes do not fit.
        OptionError: another reduction.

    Example:
        >>> x = np.array([[1.0, 0.0]])
        >>> sg.nn.cosine_embedding_loss(x, np.array([[0.0, 1.0]]), np.array([1]))
        np.float64(1.0)
    """
    name = "cosine_embedding_loss"
    reduction = checked(name, reduction)
    x1, x2 = pair(name, x1, x2)
    target = as_operand(target)
    if x1.ndim not in (1, 2) or x2.ndim != x1.ndim or target.ndim != x1.ndim - 1:
        raise ShapeError(
            f"{name}: {shown(x1)}, {shown(x2)} and target {shown(target)}: (n, d), (n, d) and "
            "(n,), or (d,), (d,) and a number"
        )
    return reduced(by_cosine(x1, x2, target, margin), reduction)


def by_cosine(x1: Value, x2: Value, target: Value, margin: float) -> Value:
    """The single losses of `cosine_embedding_loss`."""
    eps = 1e-12
    product = ops.sum(x1 * x2, axis=-1)
    squares = [ops.sum(ops.square(x), axis=-1) + eps for x in (x1, x2)]
    cos = product / ops.sqrt(squares[0] * squares[1])
    near = ops.where(ops.equal(target, 1), 1 - cos, 0)
    far = ops.where(ops.equal(target, -1), ops.clip(cos - margin, 0), 0)
    return near + far


def margin_ranking_loss(
    x1: Value, x2: Value, target: Value, *, margin: float = 0, reduction: str = "mean"
) -> Value:
    """max(0, margin - t * (x1 - x2)): x1 should rank above x2 where t is 1, below where -1.

    Example:
        >>> x1, x2 = np.array([3.0, 1.0]), np.array([1.0, 2.0])
        >>> sg.nn.margin_ranking_loss(x1, x2, np.array([1, 1]), reduction="none")
        array([0., 1.])
    """
    name = "margin_ranking_loss"
    reduction = checked(name, reduction)
    x1, x2 = pair(name, x1, x2)
    target = as_factor(as_operand(target), x1)
    broadcast_shapes(name, shown(x1), shown(x2), shown(target))
    return reduced(by_rank(x1, x2, target, margin), reduction)


def by_rank(x1: Value, x2: Value, target: Value, margin: float) -> Value:
    """The single losses of `margin_ranking_loss`."""
    return ops.clip(-target * (x1 - x2) + margin, 0)


def hinge_embedding_loss(
    x: Value, target: Value, *, margin: float = 1.0, reduction: str = "mean"
) -> Value:
    """x where the target is 1, max(0, margin - x) where it is -1.

    Example:
        >>> x, target = np.array([0.5, 0.25]), np.array([1, -1])
        >>> sg.nn.hinge_embedding_loss(x, target, reduction="none")
        array([0.5 , 0.75])
    """
    reduction = checked("hinge_embedding_loss", reduction)
    x, target = pair("hinge_embedding_loss", x, target)
    return reduced(by_hinge(x, target, margin), reduction)


def by_hinge(x: Value, target: Value, margin: float) -> Value:
    """The single losses of `hinge_embedding_loss`."""
    far = ops.where(ops.not_equal(target, 1), ops.clip(margin - x, 0), 0)
    return far + ops.where(ops.not_equal(target, -1), x, 0)


def soft_margin_loss(x: Value, target: Value, *, reduction: str = "mean") -> Value:
    """log(1 + exp(-t * x)), t being 1 or -1.

    Example:
        >>> sg.nn.soft_margin_loss(np.array([0.0]), np.array([1])).round(4)
        np.float64(0.6931)
    """
    reduction = checked("soft_margin_loss", reduction)
    x, target = pair("soft_margin_loss", x, target)
    return reduced(ops.softplus(-target * x), reduction)


def triplet_margin_loss(
    anchor: Value,
    positive: Value,
    negative: Value,
    *,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    reduction: str = "mean",
) -> Value:
    """max(0, d(anchor, positive) - d(anchor, negative) + margin), d the pairwise distance.

    With `swap`, the smaller one of d(anchor, negative) and d(positive, negative) counts
    (Balntas et al. 2016).

    Raises:
        ShapeError: shapes do not fit.
        OptionError: the margin is not positive, or another reduction.

    Example:
        >>> zero, one = np.array([[0.0]]), np.array([[1.0]])
        >>> sg.nn.triplet_margin_loss(zero, zero, one, margin=3.0, eps=0.0)
        np.float64(2.0)
    """
    name = "triplet_margin_loss"
    reduction = checked(name, reduction)
    _check_margin(name, margin)
    anchor, positive, negative = (of_floats(name, x) for x in (anchor, positive, negative))
    broadcast_shapes(name, shown(anchor), shown(positive), shown(negative))
    if not anchor.ndim == positive.ndim == negative.ndim:
        raise ShapeError(
            f"{name}: {shown(anchor)}, {shown(positive)} and {shown(negative)} differ in axes"
        )

    def apart(x: Any, y: Any) -> Any:
        return distance(x, y, p, eps)

    return reduced(by_triplets(anchor, positive, negative, apart, margin, swap), reduction)


def _check_margin(name: str, margin: float) -> None:
    if margin <= 0:
        raise OptionError(f"{name}: margin is a number above 0, not {margin!r}")


def by_triplets(
    anchor: Value, positive: Value, negative: Value, apart: Callable[[Value, Value], Value],
    margin: float, swap: bool,
) -> Value:  # fmt: skip
    """The single losses of triplets, by a distance."""
    near, far = apart(anchor, positive), apart(anchor, negative)
    if swap:
        far = ops.minimum(far, apart(positive, negative))
    return ops.clip(margin + near - far, 0)


def triplet_margin_with_distance_loss(
    anchor: Value,
    positive: Value,
    negative: Value,
    *,
    distance_function: Callable[[Value, Value], Value] | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Value:
    """`triplet_margin_loss` for any distance, `pairwise_distance` if None.

    Example:
        >>> zero, one = np.array([[0.0]]), np.array([[1.0]])
        >>> sg.nn.triplet_margin_with_distance_loss(
        ...     zero, one, zero, distance_function=lambda x, y: sg.sum(sg.square(x - y), -1))
        np.float64(2.0)
    """
    name = "triplet_margin_with_distance_loss"
    reduction = checked(name, reduction)
    _check_margin(name, margin)
    anchor, positive, negative = (of_floats(name, x) for x in (anchor, positive, negative))
    broadcast_shapes(name, shown(anchor), shown(positive), shown(negative))
    apart = distance_function or distance
    losses = by_triplets(anchor, positive, negative, apart, margin, swap)
    return reduced(losses, reduction)


def multi_margin_loss(
    x: Value,
    target: Value,
    *,
    p: int = 1,
    margin: float = 1.0,
    weight: Value = None,
    reduction: str = "mean",
) -> Value:
    """The mean over the other classes of max(0, margin - x[target] + x)**p: (n, c), (n,).

    `weight` (c,) multiplies the terms of a target; a sample alone is (c,) and a number.

    Raises:
        ShapeError: shapes do not fit.
        DTypeError: the targets are no integers.
        OptionError: p is not 1 or 2, or another reduction.

    Example:
        >>> sg.nn.multi_margin_loss(np.array([[0.5, 1.0]]), np.array([1]))
        np.float64(0.25)
    """
    name = "multi_margin_loss"
    reduction = checked(name, reduction)
    if p not in (1, 2):
        raise OptionError(f"{name}: p is 1 or 2, not {p!r}")
    x, target = of_floats(name, x), _of_integers(name, target)
    if x.ndim not in (1, 2) or not agree(target.shape, x.shape[:-1]):
        raise ShapeError(f"{name}: {shown(x)} and target {shown(target)}: (n, c) and (n,)")
    rows = x if x.ndim == 2 else ops.expand_dims(x, 0)
    losses = by_classes(rows, target, p, margin, weight)
    return reduced(losses if x.ndim == 2 else losses[0], reduction)


def _of_integers(name: str, target: Any) -> Any:
    target = as_operand(target)
    if np.dtype(target.dtype).kind not in "iu":
        raise DTypeError(f"{name}: target {shown(target)} has no integers")
    return target


def by_classes(x: Value, target: Value, p: int, margin: float, weight: Value) -> Value:
    """The single losses of `multi_margin_loss`, of rows."""
    index = ops.reshape(target, (-1, 1))
    apart = ops.relu(margin - ops.take_along_axis(x, index, 1, wrap=False) + x)
    apart = ops.square(apart) if p == 2 else apart
    if weight is not None:
        apart = apart * ops.take(weight, index, 0)
    others = ops.not_equal(positions(x, 1), index)
    total = ops.sum(ops.where(others, apart, 0), 1)
    return total / size_value(x.shape[1], total)


def multilabel_margin_loss(x: Value, target: Value, *, reduction: str = "mean") -> Value:
    """The mean over labels and other classes of max(0, 1 - x[label] + x): (n, c), (n, c) or (c,).

    The labels of a sample come first in its row of `target`, then -1.

    Raises:
        ShapeError: shapes do not fit.
        DTypeError: the targets are no integers.

    Example:
        >>> sg.nn.multilabel_margin_loss(np.array([0.5, 1.0]), np.array([1, -1]))
        np.float64(0.25)
    """
    name = "multilabel_margin_loss"
    reduction = checked(name, reduction)
    x, target = of_floats(name, x), _of_integers(name, target)
    same_shape(name, x, "target", target)
    if x.ndim not in (1, 2):
        raise ShapeError(f"{name}: {shown(x)} has {x.ndim} axes, of 1 or 2")
    rows, labels = (one if x.ndim == 2 else ops.expand_dims(one, 0) for one in (x, target))
    losses = by_labels(rows, labels)
    return reduced(losses if x.ndim == 2 else losses[0], reduction)


def by_labels(x: Value, labels: Value) -> Value:
    """The single losses of `multilabel_margin_loss`, of rows."""
    missing = ops.astype(ops.less(labels, 0), "int64")
    named = ops.equal(ops.cumsum(missing, 1), 0)
    # of each label whether it is a class, (n, labels, classes)
    classes = ops.expand_dims(positions(x, 1), 0)
    same = ops.equal(ops.expand_dims(ops.where(named, labels, -1), 2), classes)
    chosen = ops.take_along_axis(x, ops.where(named, labels, 0), 1, wrap=False)
    apart = ops.relu(1 - ops.expand_dims(chosen, 2) + ops.expand_dims(x, 1))
    others = ops.logical_not(ops.any(same, 1, keepdims=True))
    counted = ops.logical_and(ops.expand_dims(named, 2), others)
    total = ops.sum(ops.where(counted, apart, 0), (1, 2))
    return total / size_value(x.shape[1], total)


def multilabel_soft_margin_loss(
    x: Value, target: Value, *, weight: Value = None, reduction: str = "mean"
) -> Value:
    """The mean over the classes of the binary cross entropies of logits: (n, c), (n, c).

    `weight` broadcasts with them.

    Example:
        >>> x, target = np.zeros((1, 2)), np.array([[1.0, 0.0]])
        >>> sg.nn.multilabel_soft_margin_loss(x, target).round(4)
        np.float64(0.6931)
    """
    reduction = checked("multilabel_soft_margin_loss", reduction)
    x, target = pair("multilabel_soft_margin_loss", x, target)
    return reduced(of_labels(x, target, weight), reduction)


def of_labels(x: Value, target: Value, weight: Value) -> Value:
    """The single losses of `multilabel_soft_margin_loss`."""
    losses = ops.softplus(x) - target * x
    return ops.mean(losses if weight is None else losses * weight, -1)
