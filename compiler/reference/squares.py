"""The squared error on plain arrays: few NumPy calls, mostly in place."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from staticgraph.compiler.core.values import Array
from staticgraph.compiler.reference.totals import whole


def squared_error(x: Array, target: Array, *, reduction: str) -> Array:
    """(x - target)^2, its sum or its mean."""
    difference: Array = np.subtract(x, target)
    losses: Array = np.multiply(difference, difference)
    if reduction == "none":
        return losses
    return whole(losses) / losses.size if reduction == "mean" else whole(losses)


def squared_error_vjp(
    positions: Sequence[int], g: Array, x: Array, target: Array, reduction: str
) -> list[Array]:
    """The cotangents of both before they are summed to their shapes: 2 g (x - target)."""
    difference: Array = np.asarray(np.subtract(x, target))
    seed = g / difference.size if reduction == "mean" else g
    np.multiply(difference, 2, difference)
    np.multiply(difference, seed, difference)
    found: list[Array] = []
    for position in positions:
        if position and len(positions) > 1:
            found.append(np.negative(difference))
        else:
            found.append(np.negative(difference, difference) if position else difference)
    return found
