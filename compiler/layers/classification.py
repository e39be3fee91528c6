"""Losses of predicted classes and distributions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core.dtypes import is_float
from staticgraph.compiler.core.errors import DTypeError, OptionError, ShapeError
from staticgraph.compiler.core.types import unify
from staticgraph.compiler.core.values import Value
from staticgraph.compiler.layers.axes import of_floats, same_shape, shown
from staticgraph.compiler.layers.reduction import checked, pair, reduced
from staticgraph.compiler.ops import losses as shared
from staticgraph.compiler.ops.declare import as_operand, size_value

__all__ = [
    "binary_cross_entropy", "binary_cross_entropy_with_logits", "cross_entropy", "kl_div",
    "nll_loss",
]  # fmt: skip


def cross_entropy(
    x: Value,
    target: Value,
    *,
    weight: Value = None,
    ignore_index: int | None = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Value:
    """-log(softmax(x)) of the target class, x (n, c, ...) or (c,).

    Args:
        target: class indices (n, ...), or probabilities of x's shape.
        weight: how much each class counts: (c,); the mean is divided by what the targets count.
        ignore_index: a target that counts for nothing; None if there is none.
        reduction: 'mean', 'sum' or 'none'.
        label_smoothing: the part of the target's probability that all classes share.

    Raises:
        ShapeError: shapes do not fit.
        DTypeError: x is not floating point.
        OptionError: label_smoothing is not in [0, 1], or another reduction.
        OutOfRangeError: a target is no class.

    Example:
        >>> x, target = np.zeros((2, 4)), np.array([1, -100])
        >>> sg.nn.cross_entropy(x, target, ignore_index=-100).round(4)
        np.float64(1.3863)
    """
    name = "cross_entropy"
    reduction = checked(name, reduction)
    if not 0.0 <= label_smoothing <= 1.0:
        raise OptionError(f"{name}: label_smoothing={label_smoothing!r} is not between 0 and 1")
    x, target = of_floats(name, x), as_operand(target)
    weight = _weights(name, x, weight)
    if is_float(np.dtype(target.dtype)):
        same_shape(name, x, "probabilities", target)
        return against_probabilities(x, target, weight, reduction, label_smoothing)
    _check_classes(name, x, target)
    if weight is None and ignore_index is None and not label_smoothing:
        return ops.cross_entropy(x, target, reduction)
    scores = ops.log_softmax(x, class_axis(x))
    loss = of_scores(scores, target, weight, ignore_index, reduction)
    if not label_smoothing:
        return loss
    return smoothed(loss, scores, target, weight, ignore_index, reduction, label_smoothing)


def class_axis(x: Value) -> int:
    """The axis of the classes."""
    return 0 if x.ndim == 1 else 1


def _weights(name: str, x: Any, weight: Any) -> Any:
    if weight is None:
        return None
    weight = as_operand(weight)
    classes = x.shape[class_axis(x)] if x.ndim else 0
    if weight.ndim != 1 or unify(weight.shape[0], classes) is None:
        raise ShapeError(
            f"{name}: weight {shown(weight)} has not one number for each of the {classes} classes "
            f"of {shown(x)}"
        )
    return weight


def _check_classes(name: str, x: Any, target: Any) -> None:
    if np.dtype(target.dtype).kind not in "iu":
        raise DTypeError(f"{name}: target {shown(target)} has no integers, the indices of classes")
    shape = tuple(x.shape)
    wanted = (*shape[:1], *shape[2:]) if len(shape) > 1 else ()
    fits = x.ndim > 0 and target.ndim == len(wanted)
    if not fits or any(unify(a, b) is None for a, b in zip(wanted, target.shape, strict=True)):
        raise ShapeError(f"{name}: {shown(x)} and target {shown(target)}: {wanted} expected")


def _picked(x: Any, index: Any, axis: int) -> Any:
    return ops.take_along_axis(x, ops.expand_dims(index, axis), axis, wrap=False)


def of_scores(
    scores: Value, target: Value, weight: Value, ignore_index: int | None, reduction: str,
    pick: Callable[..., Value] = _picked,
) -> Value:  # fmt: skip
    """`nll_loss` of what fits; `pick(x, index, axis)` reads the scores of the classes."""
    axis = class_axis(scores)
    ignored = None if ignore_index is None else ops.equal(target, ignore_index)
    index = target if ignored is None else ops.where(ignored, 0, target)
    losses = -ops.squeeze(pick(scores, index, axis), axis)
    if ignored is None and weight is None:
        return reduced(losses, reduction)
    counts = _counts(target, ignored, weight, scores)
    losses = losses * counts
    losses = losses if ignored is None else ops.where(ignored, 0, losses)
    return reduced(losses, reduction, counts)


def _counts(target: Any, ignored: Any, weight: Any, like: Any) -> Any:
    """How much each target counts: 0 if ignored, else its class's weight, or 1."""
    if weight is None:
        return ops.astype(ops.logical_not(ignored), like.dtype)
    if ignored is None:
        return ops.take(weight, target, 0)
    return ops.where(ignored, 0, ops.take(weight, ops.where(ignored, 0, target), 0))


def smoothed(
    loss: Value, scores: Value, target: Value, weight: Value, ignore_index: int | None,
    reduction: str, smoothing: float,
) -> Value:  # fmt: skip
    """A loss with a part of the one in which every class is a target."""
    axis = class_axis(scores)
    counted = scores if weight is None else scores * _along_classes(weight, scores)
    ignored = None if ignore_index is None else ops.equal(target, ignore_index)
    losses = -ops.sum(counted, axis=axis)
    losses = losses if ignored is None else ops.where(ignored, 0, losses)
    if reduction != "mean" or (ignored is None and weight is None):
        smooth = reduced(losses, reduction)
    else:
        smooth = ops.sum(losses) / ops.sum(_counts(target, ignored, weight, scores))
    share = smoothing / size_value(scores.shape[axis], scores)
    return loss * (1 - smoothing) + smooth * share


def _along_classes(weight: Any, x: Any) -> Any:
    return ops.reshape(weight, (-1,) + (1,) * (x.ndim - 1 - class_axis(x)))


def against_probabilities(
    x: Value, target: Value, weight: Value, reduction: str, smoothing: float
) -> Value:
    """`cross_entropy` of targets that are probabilities of the classes."""
    axis = class_axis(x)
    if smoothing:
        target = target * (1 - smoothing) + smoothing / size_value(x.shape[axis], x)
    scores = ops.log_softmax(x, axis) * target
    scores = scores if weight is None else scores * _along_classes(weight, x)
    return reduced(-ops.sum(scores, axis=axis), reduction)


def nll_loss(
    x: Value,
    target: Value,
    *,
    weight: Value = None,
    ignore_index: int | None = None,
    reduction: str = "mean",
) -> Value:
    """-x[target], x log-probabilities (n, c, ...) or (c,), target class indices (n, ...).

    The mean is weighted by what each target counts; options and errors as those of
    `cross_entropy`.

    Example:
        >>> x = np.log(np.array([[0.5, 0.5], [0.25, 0.75]]))
        >>> sg.nn.nll_loss(x, np.array([0, 0]), reduction="none").round(4)
        array([0.6931, 1.3863])
    """
    reduction = checked("nll_loss", reduction)
    x, target = of_floats("nll_loss", x), as_operand(target)
    weight = _weights("nll_loss", x, weight)
    _check_classes("nll_loss", x, target)
    return of_scores(x, target, weight, ignore_index, reduction)


def binary_cross_entropy(
    x: Value, target: Value, *, weight: Value = None, reduction: str = "mean"
) -> Value:
    """-(t log(x) + (1 - t) log(1 - x)), x probabilities; logarithms are at least -100.

    It is nan where x is no probability. `weight` broadcasts with the losses.

    Raises:
        ShapeError: x and target differ in shape.
        OptionError: another reduction.

    Example:
        >>> sg.nn.binary_cross_entropy(np.array([0.5, 0.5]), np.array([1.0, 0.0])).round(4)
        np.float64(0.6931)
    """
    name = "binary_cross_entropy"
    reduction = checked(name, reduction)
    x, target = pair(name, x, target)
    same_shape(name, x, "target", target)
    losses = shared.binary_cross_entropy(x, target)
    return reduced(losses if weight is None else losses * weight, reduction)


def binary_cross_entropy_with_logits(
    x: Value,
    target: Value,
    *,
    weight: Value = None,
    pos_weight: Value = None,
    reduction: str = "mean",
) -> Value:
    """The loss of targets in [0, 1] under probabilities sigmoid(x).

    `weight` broadcasts with the losses; `pos_weight` is how much a target of 1 counts. Errors are
    those of `binary_cross_entropy`.

    Example:
        >>> x, target = np.array([0.0, 2.0]), np.array([1.0, 1.0])
        >>> sg.nn.binary_cross_entropy_with_logits(x, target, pos_weight=2.0).round(4)
        np.float64(0.8201)
    """
    name = "binary_cross_entropy_with_logits"
    reduction = checked(name, reduction)
    x, target = pair(name, x, target)
    same_shape(name, x, "target", target)
    return of_logits(x, target, weight, pos_weight, reduction)


def of_logits(x: Value, target: Value, weight: Value, pos_weight: Value, reduction: str) -> Value:
    """`binary_cross_entropy_with_logits` of what fits."""
    if pos_weight is None and weight is None:
        return ops.binary_cross_entropy_with_logits(x, target, reduction)
    if pos_weight is None:
        losses = ops.binary_cross_entropy_with_logits(x, target, "none")
    else:
        # softplus(-x) = softplus(x) - x is -log(sigmoid(x))
        counts = 1 + (pos_weight - 1) * target
        losses = (1 - target) * x + counts * ops.softplus(-x)
    return reduced(losses if weight is None else losses * weight, reduction)


def kl_div(x: Value, target: Value, *, log_target: bool = False, reduction: str = "mean") -> Value:
    """t * (log(t) - x), x log-probabilities; `log_target`: the target is log(t).

    'batchmean' divides the sum by the size of axis 0, as the divergence of Kullback and Leibler
    (1951) is meant.

    Raises:
        ShapeError: the operands do not broadcast, or a batchmean of no axes.
        OptionError: another reduction.

    Example:
        >>> x, target = np.log(np.array([[0.5, 0.5]])), np.array([[1.0, 0.0]])
        >>> sg.nn.kl_div(x, target, reduction="batchmean").round(4)
        np.float64(0.6931)
    """
    batchmean = reduction == "batchmean"
    reduction = checked("kl_div", "sum" if batchmean else reduction)
    x, target = pair("kl_div", x, target)
    loss = reduced(divergences(x, target, log_target), reduction)
    if not batchmean:
        return loss
    if not x.ndim:
        raise ShapeError(f"kl_div: reduction 'batchmean' of {shown(x)}, which has no axis 0")
    return loss / size_value(x.shape[0], loss)


def divergences(x: Value, target: Value, log_target: bool) -> Value:
    """The single losses of `kl_div`."""
    if log_target:
        return ops.exp(target) * (target - x)
    zero = ops.equal(target, 0)
    likelihood = ops.where(zero, 0, target * ops.log(ops.where(zero, 1, target)))
    return likelihood - target * x
