"""Elements and channels that are dropped, and relaxed choices, given what is drawn."""

from __future__ import annotations

import math

from staticgraph.compiler import ops
from staticgraph.compiler.core.values import Value
from staticgraph.compiler.ops.reductions.reduction import positions

FLOOR = -1.7580993408473766
"""Where selu ends for large negative numbers: -scale * alpha (Klambauer et al. 2017)."""


def of_channels(shape: tuple[Value, ...], channels: int) -> tuple[Value, ...]:
    """A shape with the axes from `channels` on of size 1."""
    return (*shape[:channels], *(1,) * (len(shape) - channels))


def floored(x: Value, kept: Value, p: float) -> Value:
    """x where it is kept, else the floor; scaled and shifted to mean 0 and variance 1."""
    scale = 1 / math.sqrt((1 - p) * (1 + p * FLOOR**2))
    shift = -scale * FLOOR * p
    return ops.where(kept, x, FLOOR) * scale + shift


def relaxed(logits: Value, noise: Value, tau: float, hard: bool, axis: int) -> Value:
    """Samples of the relaxed categorical distribution, for Gumbel noise."""
    soft = ops.softmax((logits + noise) / tau, axis)
    if not hard:
        return soft
    axis = axis % soft.ndim
    chosen = ops.equal(positions(soft, axis), ops.argmax(soft, axis, True))
    return ops.astype(chosen, soft.dtype) - ops.stop_gradient(soft) + soft
