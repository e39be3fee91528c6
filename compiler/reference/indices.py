"""Indices on plain arrays: checked, and counted from the front."""

from __future__ import annotations

from typing import Any

import numpy as np

from staticgraph.compiler.core.errors import OutOfRangeError
from staticgraph.compiler.reference.extremes import largest_of_all


def check_range(op: str, index: Any, size: int, wrap: bool = True) -> Any:
    """The index as int64 >= 0; OutOfRangeError outside of [0, size), or [-size, size) if `wrap`."""
    index = index.astype(np.int64, copy=False)  # a narrow dtype may not hold the size
    # a negative index is a large one without its sign, so one sweep tells that all is well
    if not index.size or largest_of_all(index.view(np.uint64)) < size:
        return index
    least = -size if wrap else 0
    if index.min() < least or index.max() >= size:
        bad = index[(index < least) | (index >= size)].flat[0]
        raise OutOfRangeError(f"{op}: index {bad} is out of range for an axis of size {size}")
    return np.where(index < 0, index + size, index)
