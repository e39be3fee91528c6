"""The loss of sequences whose places are not known (Graves et al. 2006), with PyTorch's refusals.

What is computed is `staticgraph.compiler.layers.ctc`, which both paradigms share.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core.errors import OptionError
from staticgraph.compiler.core.op import Operand
from staticgraph.compiler.graph.expression import is_symbolic
from staticgraph.compiler.layers.axes import number
from staticgraph.compiler.layers.ctc import alignments, ctc_loss as in_graph
from staticgraph.dynamic.core.errors import AutogradError
from staticgraph.dynamic.nn.functional.required import require
from staticgraph.dynamic.tensors.tensor import Tensor, has_values, wrap
from staticgraph.dynamic.tensors.values import values_of


def ctc_loss(
    log_probs: Any,
    targets: Any,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Any:
    """-log of the probability of all alignments of each target with its input.

    Args:
        log_probs: (t, n, c), or (t, c), logarithms of probabilities.
        targets: (n, s), or all targets one after the other; no blanks.
        input_lengths: per sample how many of the t steps count.
        target_lengths: per sample the length of its target.
        blank: the class between others.
        reduction: "none", "sum", or "mean", of the losses divided by the lengths of targets.
        zero_infinity: whether losses of targets too long for their inputs are 0, not inf.

    Example:
        >>> logs = dynamic.zeros(3, 1, 2).log_softmax(2)
        >>> nn.functional.ctc_loss(
        ...     logs, dynamic.tensor([[1]]), dynamic.tensor([3]), dynamic.tensor([1])
        ... ).shape
        torch.Size([])
    """
    if reduction not in ("none", "mean", "sum"):
        raise OptionError(f"{reduction} is not a valid value for reduction")
    for name, given, axes in (("log_probs", log_probs, (2, 3)), ("targets", targets, (1, 2))):
        if np.ndim(given) not in axes:
            raise AutogradError(
                f"ctc_loss: expected {axes[0]} or {axes[1]} dimensions of '{name}', "
                f"but got {np.ndim(given)}"
            )
    if not all(map(_is_known, (log_probs, targets, input_lengths, target_lengths))):
        ends, lengths = (
            one if isinstance(one, Tensor) else np.asarray(one)
            for one in (input_lengths, target_lengths)
        )
        _require(log_probs, targets, ends, lengths)
        return in_graph(
            log_probs, targets, ends, lengths,
            blank=blank, reduction=reduction, zero_infinity=zero_infinity,
        )  # fmt: skip
    single = log_probs.ndim == 2
    if single:
        log_probs = log_probs.unsqueeze(1)
    steps, count, classes = (int(one) for one in log_probs.shape)
    lengths = _numbers(target_lengths, count, "target_lengths")
    ends = _numbers(input_lengths, count, "input_lengths")
    if np.any(ends > steps) or np.any(ends < 0):
        raise AutogradError(
            f"Expected input_lengths to have value at most {steps}, but got value {int(ends.max())}"
        )
    if not 0 <= blank < classes:
        raise AutogradError("blank must be in label range")
    labels = values_of(targets)
    _refuse_lengths(labels, lengths)
    given = wrap(_padded(labels, lengths))
    losses = alignments(log_probs, given, wrap(ends), wrap(lengths), blank, zero_infinity)
    if reduction == "mean":
        least = np.maximum(lengths, 1).astype(np.dtype(log_probs.dtype))
        return (losses / wrap(least)).mean()
    if reduction == "sum":
        return losses.sum()
    return losses[0] if single else losses


def _require(log_probs: Any, targets: Any, ends: Any, lengths: Any) -> None:
    """Have a captured function raise for lengths that the steps or the targets do not have."""
    steps = log_probs.shape[0]
    fits = ops.logical_and(ops.greater_equal(ends, 0), ops.less_equal(ends, _size(steps, ends)))
    require(fits, AutogradError(f"Expected input_lengths to have value at most {steps}"))
    if targets.ndim == 1:
        fits = ops.equal(ops.sum(lengths), _size(targets.shape[0], lengths))
        require(fits, AutogradError(f"Expected target_lengths to have the sum {targets.shape[0]}"))


def _size(size: Any, like: Any) -> Any:
    return number(size, like) if is_symbolic(like) else size


def _is_known(given: Any) -> bool:
    """Whether values are there, and not only a node of a graph."""
    return not isinstance(given, Operand) or has_values(given)


def _numbers(lengths: Any, count: int, name: str) -> Any:
    found = values_of(lengths) if isinstance(lengths, Tensor) else np.asarray(lengths)
    found = found.reshape(-1).astype(np.int64)
    if len(found) != count:
        raise AutogradError(f"{name} must be of size batch_size: {count}, not {len(found)}")
    return found


def _refuse_lengths(labels: Any, lengths: Any) -> None:
    """Raise for lengths that targets do not have."""
    least, most = int(lengths.min(initial=0)), int(lengths.max(initial=0))
    if least < 0:
        raise AutogradError(
            f"Expected target_lengths to have value at least 0, but got value {least}"
        )
    if labels.ndim == 2 and most > labels.shape[1]:
        raise AutogradError(
            f"Expected tensor to have size at least {most} at dimension 1, but got size "
            f"{labels.shape[1]} for argument #2 'targets'"
        )
    total = int(lengths.sum())
    if labels.ndim == 1 and total != labels.shape[0]:
        raise AutogradError(
            f"Expected tensor to have size {total} at dimension 0, but got size "
            f"{labels.shape[0]} for argument #2 'targets'"
        )


def _padded(targets: Any, lengths: Any) -> Any:
    """The labels of each sample as a row."""
    if targets.ndim == 2:
        return targets[:, : int(lengths.max(initial=0))]
    rows = np.zeros((len(lengths), int(lengths.max(initial=0))), np.int64)
    starts = np.cumsum(lengths) - lengths
    for row, (start, length) in enumerate(zip(starts, lengths, strict=True)):
        rows[row, :length] = targets[start : start + length]
    return rows
