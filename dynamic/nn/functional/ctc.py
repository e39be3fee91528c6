"""The loss of sequences whose places are not known (Graves et al. 2006): `ctc_loss`."""

from __future__ import annotations

from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core.errors import OptionError
from staticgraph.compiler.core.refusals import refuse
from staticgraph.dynamic.core.errors import AutogradError
from staticgraph.dynamic.tape.grad_mode import mode
from staticgraph.dynamic.tensors.tensor import Tensor, wrap
from staticgraph.dynamic.tensors.values import values_of

_IMPOSSIBLE = -1e30


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
    """
    if reduction not in ("none", "mean", "sum"):
        raise OptionError(f"{reduction} is not a valid value for reduction")
    if mode.capture is not None:
        refuse(
            "ctc_loss takes as many steps as the lengths and targets say",
            "call it outside of the captured function, on the probabilities that that returns",
        )
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
    labels = _extended(values_of(targets), lengths, blank)
    losses = _totals(log_probs, ends) - _log_likelihood(log_probs, labels, ends, lengths, blank)
    possible = losses < -_IMPOSSIBLE / 2
    losses = ops.where(possible, losses, 0.0 if zero_infinity else np.inf)
    if reduction == "mean":
        least = np.maximum(lengths, 1).astype(np.dtype(log_probs.dtype))
        return (losses / wrap(least)).mean()
    if reduction == "sum":
        return losses.sum()
    return losses[0] if single else losses


def _totals(log_probs: Any, ends: Any) -> Any:
    """0, with the gradient of the sums of the probabilities at the steps that count.

    PyTorch's gradient has it too: it vanishes where log_softmax made the logarithms.
    """
    counted = np.arange(log_probs.shape[0])[:, None] < ends
    total = (ops.exp(log_probs).sum(2) * wrap(counted.astype(np.dtype(log_probs.dtype)))).sum(0)
    return total - total.detach()


def _numbers(lengths: Any, count: int, name: str) -> Any:
    found = values_of(lengths) if isinstance(lengths, Tensor) else np.asarray(lengths)
    found = found.reshape(-1).astype(np.int64)
    if len(found) != count:
        raise AutogradError(f"{name} must be of size batch_size: {count}, not {len(found)}")
    return found


def _extended(targets: Any, lengths: Any, blank: int) -> Any:
    """Per sample its labels with blanks around each."""
    most = int(lengths.max()) if len(lengths) else 0
    labels = np.full((len(lengths), 2 * most + 1), blank, np.int64)
    starts = np.cumsum(lengths) - lengths
    for row, (start, length) in enumerate(zip(starts, lengths, strict=True)):
        one = targets[start : start + length] if targets.ndim == 1 else targets[row, :length]
        labels[row, 1 : 2 * length : 2] = one
    return labels


def _log_likelihood(log_probs: Any, labels: Any, ends: Any, lengths: Any, blank: int) -> Any:
    """The forward variables, step by step, and what they are at the end of each sample."""
    count, width = labels.shape
    dtype = np.dtype(log_probs.dtype)
    places = np.broadcast_to(labels, (log_probs.shape[0], *labels.shape)).copy()
    scores = log_probs.gather(2, wrap(places))
    first = np.full((count, width), _IMPOSSIBLE, dtype)
    first[:, :2] = 0
    first[lengths == 0, 1:2] = _IMPOSSIBLE
    skips = np.full((count, width), _IMPOSSIBLE, dtype)
    skips[:, 2:][(labels[:, 2:] != blank) & (labels[:, 2:] != labels[:, :-2])] = 0
    alpha = (scores[0] + wrap(first)).clamp(min=_IMPOSSIBLE)
    alphas = [alpha]
    for step in range(1, int(scores.shape[0])):
        moved = [alpha, _shifted(alpha, 1)]
        if width > 2:
            moved.append(_shifted(alpha, 2) + wrap(skips))
        total = ops.logsumexp(ops.stack(moved, 0), 0)
        alpha = (total + scores[step]).clamp(min=_IMPOSSIBLE)
        alphas.append(alpha)
    last = ops.stack(alphas, 0)[wrap(np.maximum(ends - 1, 0)), wrap(np.arange(count))]
    whole = last.gather(1, wrap((2 * lengths)[:, None])).squeeze(1)
    before = last.gather(1, wrap(np.maximum(2 * lengths - 1, 0)[:, None])).squeeze(1)
    before = ops.where(wrap(lengths > 0), before, _IMPOSSIBLE)
    return ops.logaddexp(whole, before)


def _shifted(alpha: Any, places: int) -> Any:
    widths = [(0, 0), (places, 0)]
    return ops.pad(alpha[:, :-places], widths, _IMPOSSIBLE)
