"""Losses of predicted classes and distributions: PyTorch's arguments and refusals.

What is computed is `staticgraph.compiler.layers.classification`, which both paradigms share.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core.dtypes import is_float
from staticgraph.compiler.core.errors import OptionError, OutOfRangeError
from staticgraph.compiler.graph.expression import is_symbolic, opened
from staticgraph.compiler.graph.notes import Scores, note
from staticgraph.compiler.layers.classification import (
    against_probabilities,
    class_axis,
    divergences,
    of_logits,
    of_scores,
    smoothed,
)
from staticgraph.compiler.layers.reduction import reduced
from staticgraph.compiler.ops.declare import size_value
from staticgraph.compiler.reference import classes
from staticgraph.dynamic.core import eager_losses, eager_ops
from staticgraph.dynamic.core.dtypes import DTYPES, INT64
from staticgraph.dynamic.core.errors import AutogradError, MixedError, NoKernelError, SizeError
from staticgraph.dynamic.core.sizes import differ
from staticgraph.dynamic.core.user_warnings import warn
from staticgraph.dynamic.kernels.quick import FEW, losses_of
from staticgraph.dynamic.nn.errors import ModuleError
from staticgraph.dynamic.nn.functional.few import REDUCED, are_few
from staticgraph.dynamic.nn.functional.reduction import reduction_of
from staticgraph.dynamic.tensors.naming import called, keep
from staticgraph.dynamic.tensors.recorders import Recorder
from staticgraph.dynamic.tensors.tensor import PLAIN, Tensor, has_values

__all__ = [
    "binary_cross_entropy", "binary_cross_entropy_with_logits", "cross_entropy", "kl_div",
    "nll_loss",
]  # fmt: skip


def _is_ignored(target: Any, ignore_index: int) -> bool:
    """Whether a target may be `ignore_index`: one whose values are not known may."""
    return not has_values(target) or bool((target._array == ignore_index).any())


def cross_entropy(
    input: Any,
    target: Any,
    weight: object = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Any:
    """-log(softmax(x)) of the target class, x (n, c, ...) or (c,).

    Args:
        target: class indices (n, ...), or probabilities of x's shape.
        weight: how much each class counts: (c,).
        ignore_index: a target that counts for nothing.
        label_smoothing: the part of the target's probability that all classes share.

    Example:
        >>> nn.functional.cross_entropy(dynamic.zeros(1, 2), dynamic.tensor([1]))
        tensor(0.6931)
    """
    if weight is None and label_smoothing == 0.0 and ignore_index < 0 and reduce is None:
        found = _of_few(input, target, reduction) if size_average is None else None
        if found is not None:
            return found
    reduction = reduction_of(size_average, reduce, reduction)
    if not 0.0 <= label_smoothing <= 1.0:
        raise AutogradError(
            f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing:g}"
        )
    dtype = np.dtype(input.dtype)
    if dtype.kind in "biu":
        raise NoKernelError(
            f"\"log_softmax_lastdim_kernel_impl\" not implemented for '{DTYPES[dtype].legacy}': "
            "cross_entropy takes floating-point logits as input, classes as target"
        )
    plain = weight is None and not label_smoothing
    _check_weight(input, weight)
    if is_float(target.dtype):
        return _against_probabilities(input, target, weight, reduction, label_smoothing)
    if plain and not has_values(target):
        return _of_unknown(input, target, ignore_index, reduction)
    if plain and (ignore_index < 0 or not _is_ignored(target, ignore_index)):
        _check_classes(input, target)
        try:
            return _in_bounds(ops.cross_entropy, input, target, reduction)
        except OutOfRangeError:
            if not _is_ignored(target, ignore_index):
                raise
    scores = ops.log_softmax(input, class_axis(input))
    loss = nll_loss(scores, target, weight, None, ignore_index, None, reduction)
    if not label_smoothing:
        return loss
    return smoothed(loss, scores, target, weight, ignore_index, reduction, label_smoothing)


def _of_unknown(input: Any, target: Any, ignore_index: int, reduction: str) -> Any:
    """Class indices whose values are not known: any may be the one that counts for nothing."""
    _check_classes(input, target)
    ignored = ops.equal(target, ignore_index)
    losses = ops.cross_entropy(input, ops.where(ignored, 0, target), "none")
    losses = ops.where(ignored, 0, losses)
    return reduced(losses, reduction, ops.astype(ops.logical_not(ignored), losses.dtype))


_recorder = Recorder(ops.cross_entropy, 2)


def _of_few(input: Any, target: Any, reduction: str) -> Any:
    """The short way of small plain tensors, (n, c) and (n,); None for all else."""
    if reduction not in REDUCED or not are_few(input, target):
        return None
    x, labels, attrs = input._array, target._array, REDUCED[reduction]
    if labels.dtype is not INT64 or x.ndim != 2 or labels.shape != x.shape[:1]:
        return None
    losses = losses_of(x, labels) if x.size <= FEW else None
    try:
        if losses is None:
            value = classes.cross_entropy(x, labels, reduction=reduction)
        else:
            value = classes.reduced(losses, reduction)
    except OutOfRangeError:
        return None
    return _recorder.function(np.asarray(value), attrs, input, target)


def _against_probabilities(
    input: Any, target: Any, weight: object, reduction: str, label_smoothing: float
) -> Any:
    if differ(target.shape, input.shape):
        if target.ndim < input.ndim:
            raise ModuleError(
                "expected target dtype to be Long or Byte, but got "
                f"{target.type()[6:-6]}: cross_entropy takes class indices of shape "
                f"{_indices_of(input)}, or probabilities of shape {list(input.shape)}"
            )
        raise ModuleError(
            f"cross_entropy: target probabilities of shape {list(target.shape)} for an input of "
            f"shape {list(input.shape)}"
        )
    return against_probabilities(input, target, weight, reduction, label_smoothing)


@called("NllLoss")
def nll_loss(
    input: object,
    target: object,
    weight: object = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Any:
    """-x[target], x log-probabilities (n, c, ...) or (c,), target class indices (n, ...).

    The mean is weighted by what each target counts: see `cross_entropy`.

    Example:
        >>> nn.functional.nll_loss(dynamic.tensor([[-1.0, -2.0]]), dynamic.tensor([1]))
        tensor(2.)
    """
    if weight is None and ignore_index < 0 and size_average is None and reduce is None:
        found = _scores_of_few(input, target, reduction)
        if found is not None:
            return found
    reduction = reduction_of(size_average, reduce, reduction)
    _check_classes(input, target, "nll_loss")
    _check_weight(input, weight)
    ignores = weight is not None or _is_ignored(target, ignore_index)
    index = ignore_index if ignores else None
    loss = of_scores(input, target, weight, index, reduction, _picked_in_bounds)
    if is_symbolic(loss) and is_symbolic(input):
        note(opened(loss), Scores(opened(input)))
    return keep(loss, input, target, weight)


_recorder_of_scores = Recorder(eager_losses.nll_loss, 2)


def _scores_of_few(input: Any, target: Any, reduction: str) -> Any:
    """The short way of small plain tensors, (n, c) and (n,); None for all else."""
    if reduction not in REDUCED or not are_few(input, target):
        return None
    x, labels, attrs = input._array, target._array, REDUCED[reduction]
    if labels.dtype is not INT64 or x.ndim != 2 or labels.shape != x.shape[:1]:
        return None
    try:
        value = eager_losses.nll_loss.evaluate(x, labels, reduction=reduction)
    except OutOfRangeError:
        return None
    return _recorder_of_scores.function(np.asarray(value), attrs, input, target)


def _picked_in_bounds(input: Any, index: object, axis: int) -> Any:
    return _in_bounds(_picked, input, index, axis)


def _picked(input: object, index: object, axis: int) -> Any:
    take = eager_ops.picked if type(input) in PLAIN else ops.take_along_axis
    return take(input, ops.expand_dims(index, axis), axis, wrap=False)


def _in_bounds(function: Any, input: Any, target: Any, option: object) -> Any:
    """`function(input, target, option)`; a target that is no class raises PyTorch's IndexError."""
    try:
        return function(input, target, option)
    except OutOfRangeError:
        if not has_values(target):
            raise
        values, classes = target._array, input.shape[class_axis(input)]
        bad = values[(values < 0) | (values >= classes)].flat[0]
        raise OutOfRangeError(
            f"Target {bad} is out of bounds: {classes} classes are counted from 0"
        ) from None


def _check_weight(input: Any, weight: Any) -> None:
    """RuntimeError unless there is one weight for each class."""
    if weight is None or not input.ndim:
        return
    classes = input.shape[class_axis(input)]
    if differ(weight.shape, (classes,)):
        raise SizeError(
            f"weight tensor should be defined either for all {classes} classes or no classes but "
            f"got weight tensor of shape: {list(weight.shape)}"
        )


def _indices_of(input: Any) -> list[int]:
    """The shape of class indices for an input: its own without the axis of the classes."""
    shape = tuple(input.shape)
    return [*shape[:1], *shape[2:]] if len(shape) > 1 else []


def _check_classes(input: Any, target: Any, name: str = "cross_entropy") -> None:
    kind = DTYPES[np.dtype(target.dtype)].legacy if isinstance(target, Tensor) else "Long"
    if kind not in ("Long", "Byte"):
        raise AutogradError(f"expected target dtype to be Long or Byte, but got {kind}")
    if not has_values(target) or not has_values(input):
        return  # the op compares what is known of the sizes
    shape, sizes = input._array.shape, target._array.shape
    wanted = tuple(_indices_of(input))
    if sizes[:1] != wanted[:1]:
        raise OptionError(
            f"Expected input batch_size ({(*wanted, 1)[0]}) to match target batch_size "
            f"({(*sizes, 0)[0]})."
        )
    if len(shape) == 2 and len(sizes) > 1:
        raise ModuleError(
            f"0D or 1D target tensor expected, multi-target not supported: {name} of an "
            f"input {list(shape)} takes class indices {list(wanted)}, got {list(sizes)}"
        )
    if sizes != wanted:
        raise ModuleError(
            f"Expected target size {list(wanted)}, got {list(sizes)}: {name} of an input "
            f"{list(shape)}"
        )


@called("BinaryCrossEntropy")
def binary_cross_entropy(
    input: Any,
    target: Any,
    weight: object = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Any:
    """-(t log(x) + (1 - t) log(1 - x)), x probabilities; logarithms are at least -100.

    Example:
        >>> nn.functional.binary_cross_entropy(dynamic.tensor([0.5]), dynamic.tensor([1.0]))
        tensor(0.6931)
    """
    reduction = reduction_of(size_average, reduce, reduction)
    if input.dtype != target.dtype:
        found, kept = (DTYPES[np.dtype(one.dtype)].legacy for one in (target, input))
        raise MixedError(f"Found dtype {found} but expected {kept}")
    if differ(input.shape, target.shape):
        raise OptionError(
            f"Using a target size ({target.shape}) that is different to the input size "
            f"({input.shape}) is deprecated. Please ensure they have the same size."
        )
    values = input._array if has_values(input) else np.empty(0)
    outside = (values < 0) | (values > 1)
    if outside.any():
        raise AutogradError(
            "all elements of input should be between 0 and 1: binary_cross_entropy takes "
            f"probabilities, got {values[outside].flat[0]:g}: "
            "binary_cross_entropy_with_logits takes any numbers"
        )
    losses = ops.binary_cross_entropy(input, target)
    return reduced(losses if weight is None else losses * weight, reduction)


def binary_cross_entropy_with_logits(
    input: Any,
    target: Any,
    weight: object = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    pos_weight: Any = None,
) -> Any:
    """The loss of targets in [0, 1] under probabilities sigmoid(x).

    `weight` broadcasts with the losses; `pos_weight` is how much a target of 1 counts.

    Example:
        >>> nn.functional.binary_cross_entropy_with_logits(
        ...     dynamic.tensor([0.0]), dynamic.tensor([1.0])
        ... )
        tensor(0.6931)
    """
    reduction = reduction_of(size_average, reduce, reduction)
    if differ(input.shape, target.shape):
        raise OptionError(
            f"Target size ({target.shape}) must be the same as input size ({input.shape})"
        )
    loss = of_logits(input, target, weight, pos_weight, reduction)
    return loss if pos_weight is None else keep(loss, input, target, pos_weight)


def kl_div(
    input: Any,
    target: object,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Any:
    """t * (log(t) - x), x log-probabilities; `log_target`: the target is log(t).

    'batchmean' divides the sum by the size of axis 0 (Kullback, Leibler 1951).

    Example:
        >>> nn.functional.kl_div(
        ...     dynamic.tensor([0.5, 0.5]).log(), dynamic.tensor([0.5, 0.5]), reduction="sum"
        ... )
        tensor(0.)
    """
    if reduction == "mean" and size_average is None and reduce is None:
        warn(
            "reduction: 'mean' divides the total loss by both the batch size and the support "
            "size.'batchmean' divides only by the batch size, and aligns with the KL div math "
            "definition.'mean' will be changed to behave the same as 'batchmean' in the next "
            "major release.",
        )
    batchmean = reduction == "batchmean"
    reduction = reduction_of(size_average, reduce, "sum" if batchmean else reduction)
    loss = reduced(divergences(input, target, log_target), reduction)
    return loss / size_value(input.shape[0], loss) if batchmean and input.ndim else loss
