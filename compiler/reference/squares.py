"""The squared error on plain arrays: few NumPy calls, mostly in place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from staticgraph.compiler.reference.totals import whole


def squared_error(x: object, target: object, *, reduction: str) -> Any:
    """(x - target)^2, its sum or its mean."""
    losses = np.subtract(x, target)
    losses = np.multiply(losses, losses)
    if reduction == "none":
        return losses
    return whole(losses) / losses.size if reduction == "mean" else whole(losses)


def squared_error_vjp(
    positions: Sequence[int], g: Any, x: object, target: object, reduction: str
) -> list[Any]:
    """The cotangents of both before they are summed to their shapes: 2 g (x - target)."""
    difference = np.asarray(np.subtract(x, target))
    seed = g / difference.size if reduction == "mean" else g
    np.multiply(difference, 2, difference)
    np.multiply(difference, seed, difference)
    found = []
    for position in positions:
        if position and len(positions) > 1:
            found.append(np.negative(difference))
        else:
            found.append(np.negative(difference, difference) if position else difference)
    return found
