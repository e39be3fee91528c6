"""The loss of sequences whose places are not known (Graves et al. 2006): `ctc_loss`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core.dims import Dim, Size
from staticgraph.compiler.core.errors import DTypeError, OptionError, ShapeError
from staticgraph.compiler.core.types import unify
from staticgraph.compiler.core.values import Value
from staticgraph.compiler.layers.axes import beside, numbers, of_floats, shown
from staticgraph.compiler.layers.reduction import checked
from staticgraph.compiler.ops.declare import as_operand
from staticgraph.compiler.ops.shapes.slicing import slice_axis
from staticgraph.compiler.transforms.control_flow import scan

__all__ = ["ctc_loss"]

_IMPOSSIBLE = -1e30


def ctc_loss(
    log_probs: Value,
    targets: Value,
    input_lengths: Value,
    target_lengths: Value,
    *,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Value:
    """-log of the probability of all alignments of each target with its input.

    Args:
        log_probs: (t, n, c), or (t, c), logarithms of probabilities.
        targets: (n, s), or all targets one after the other; no blanks.
        input_lengths: per sample how many of the t steps count; more than t are t.
        target_lengths: per sample the length of its target.
        blank: the class between others.
        reduction: "none", "sum", or "mean", of the losses divided by the lengths of targets.
        zero_infinity: whether losses of targets too long for their inputs are 0, not inf.

    Raises:
        ShapeError: shapes do not fit.
        DTypeError: targets or lengths are no integers.
        OptionError: the blank is no class, or another reduction.

    Example:
        >>> x = np.log(np.full((2, 1, 2), 0.5))
        >>> sg.nn.ctc_loss(x, np.array([[1]]), np.array([2]), np.array([1])).round(4)
        np.float64(0.2877)
    """
    name = "ctc_loss"
    reduction = checked(name, reduction)
    x = of_floats(name, log_probs)
    targets, ends, lengths = (
        _of_integers(name, what, one, x)
        for what, one in (
            ("targets", targets),
            ("input_lengths", input_lengths),
            ("target_lengths", target_lengths),
        )
    )
    if x.ndim not in (2, 3):
        raise ShapeError(f"{name}: {shown(x)} has {x.ndim} axes, of 2 or 3")
    classes = x.shape[-1]
    if blank < 0 or (not isinstance(classes, Dim) and blank >= classes):
        raise OptionError(f"{name}: blank={blank} is none of the {classes} classes of {shown(x)}")
    steps = x if x.ndim == 3 else ops.expand_dims(x, 1)
    ends, lengths = (ops.reshape(one, (-1,)) for one in (ends, lengths))
    for one in (ends, lengths):
        if unify(one.shape[0], steps.shape[1]) is None:
            raise ShapeError(
                f"{name}: {one.shape[0]} lengths for the {steps.shape[1]} samples of {shown(x)}"
            )
    if targets.ndim not in (1, 2):
        raise ShapeError(f"{name}: targets {shown(targets)} have {targets.ndim} axes, of 1 or 2")
    losses = alignments(steps, targets, ends, lengths, blank, zero_infinity)
    if reduction == "mean":
        return ops.mean(losses / ops.astype(ops.maximum(lengths, 1), losses.dtype))
    if reduction == "sum":
        return ops.sum(losses)
    return losses[0] if x.ndim == 2 else losses


def _of_integers(name: str, what: str, one: Any, x: Any) -> Any:
    one = as_operand(one)
    if np.dtype(one.dtype).kind not in "iu":
        raise DTypeError(f"{name}: {what} {shown(one)} are no integers")
    return ops.astype(beside(one, x), "int64")


def alignments(
    log_probs: Value, targets: Value, ends: Value, lengths: Value, blank: int, zero_infinity: bool
) -> Value:
    """The loss of each sample of (t, n, c), for ints (n, s) or (s,), (n,) and (n,)."""
    labels = _extended(targets, lengths, blank)
    ends = ops.expand_dims(ends, 1)
    losses = _totals(log_probs, ends) - _log_likelihood(log_probs, labels, ends, lengths, blank)
    possible = ops.less(losses, -_IMPOSSIBLE / 2)
    return ops.where(possible, losses, 0.0 if zero_infinity else math.inf)


def _totals(log_probs: Any, ends: Any) -> Any:
    """0, with the gradient of the sums of the probabilities at the steps that count.

    PyTorch's gradient has it too: it vanishes where log_softmax made the logarithms.
    """
    counted = ops.less(_column(log_probs.shape[0], log_probs), ops.swapaxes(ends, 0, 1))
    total = ops.sum(ops.where(counted, ops.sum(ops.exp(log_probs), 2), 0), 0)
    return total - ops.stop_gradient(total)


def _column(size: Size, like: Any) -> Any:
    return ops.expand_dims(beside(numbers(size, like), like), 1)


def _extended(targets: Any, lengths: Any, blank: int) -> Any:
    """Per sample its labels with blanks around each: (n, 2 s + 1)."""
    longest = targets.shape[-1]
    place = beside(numbers(2 * longest + 1, targets), targets)
    odd, inside = ops.equal(place % 2, 1), ops.expand_dims(place // 2, 0)
    lengths = ops.expand_dims(lengths, 1)
    is_label = ops.logical_and(odd, ops.less(inside, lengths))
    if targets.ndim == 2:
        padded = ops.pad(targets, [(0, 0), (0, 1)], blank)
        found = ops.take(padded, place // 2, 1)
    else:
        starts = ops.cumsum(lengths, 0) - lengths
        padded = ops.pad(targets, [(0, 1)], blank)
        found = ops.take(padded, ops.where(is_label, starts + inside, 0), 0)
    return ops.where(is_label, found, blank)


def _log_likelihood(log_probs: Any, labels: Any, ends: Any, lengths: Any, blank: int) -> Any:
    """The forward variables, step by step, and what they are at the end of each sample."""
    places = ops.broadcast_to(labels, (log_probs.shape[0], *labels.shape))
    scores = ops.take_along_axis(log_probs, places, 2, wrap=False)
    zero = ops.astype(labels * 0, log_probs.dtype)
    index = ops.expand_dims(beside(numbers(labels.shape[1], labels), labels), 0)
    first = ops.where(ops.equal(index, 0), zero, _IMPOSSIBLE)
    other = ops.not_equal(labels, _shifted(labels, 2, blank))
    skips = ops.where(ops.logical_and(other, ops.not_equal(labels, blank)), zero, _IMPOSSIBLE)
    steps = beside(numbers(log_probs.shape[0], log_probs), log_probs)

    def step(alpha: Any, at: Any) -> tuple[Any, None]:
        score, number = at
        moved = (alpha, _shifted(alpha, 1), _shifted(alpha, 2) + skips)
        total = ops.logsumexp(ops.stack(moved, 0), 0)
        found = ops.clip(total + score, _IMPOSSIBLE)
        return ops.where(ops.less(number, ends), found, alpha), None

    last, _ = scan(step, first, (scores, steps))
    end = ops.expand_dims(2 * lengths, 1)
    whole = ops.take_along_axis(last, end, 1, wrap=False)
    before = ops.take_along_axis(last, ops.maximum(end - 1, 0), 1, wrap=False)
    before = ops.where(ops.greater(end, 0), before, _IMPOSSIBLE)
    return ops.squeeze(ops.logaddexp(whole, before), 1)


def _shifted(x: Any, places: int, value: float = _IMPOSSIBLE) -> Any:
    """The columns moved to the right."""
    padded = ops.pad(x, [(0, 0), (places, 0)], value)
    return slice_axis(padded, 1, 0, x.shape[1])
