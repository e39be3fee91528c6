"""Values that leave a tensor, for Python to look at."""

from __future__ import annotations

from typing import Any

import numpy as np

from staticgraph.compiler.core.refusals import refuse
from staticgraph.dynamic.tape.grad_mode import mode, paused


def values_of(tensor: Any) -> Any:
    """The memory of a tensor whose values leave it; a function that is captured has none of them.

    They may be others at its next call, even if the tensor is one of its surroundings.
    """
    if paused and mode.capture is not None:
        tensor = mode.capture.lifted(tensor)
    return tensor._array


def sizing_values(tensor: Any, instead: str) -> Any:
    """The memory of a tensor whose values say how large a result is.

    A function that is captured refuses it, and names what is to be used `instead`.
    """
    array = values_of(tensor)
    if mode.capture is not None and not isinstance(array, np.ndarray):
        refuse(
            "needs the values of a tensor before the captured function runs, which say how large"
            " its result is",
            f"use {instead}, or compute it outside",
        )
    return array
