"""What a function takes ints for: floats are refused, of which NumPy would cut off the fraction."""

from __future__ import annotations

import numpy as np

from staticgraph.compiler.core.dims import Dim
from staticgraph.dynamic.core.errors import ArgumentError, AutogradError


def require_int(
    function: str, name: str, position: int, value: object, least: int | None = None
) -> None:
    """TypeError for what is no int, and no size; RuntimeError for one below `least`."""
    if type(value) is int and (least is None or value >= least):
        return
    whole = np.dtype(getattr(value, "dtype", np.int64)).kind in "biu"
    if not (hasattr(value, "__index__") and whole) and not isinstance(value, Dim):
        given = type(value).__name__
        raise ArgumentError(
            f"{function}(): argument '{name}' (position {position}) must be int, not {given}"
        )
    if least is not None and isinstance(value, int) and value < least:
        bound = "non-negative" if least == 0 else f"at least {least}"
        raise AutogradError(f"{function}(): {name} must be {bound}, but got {value}")
