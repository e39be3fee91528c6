"""Values that leave a tensor, for Python to look at."""

from __future__ import annotations

from typing import Any

from staticgraph.dynamic.tape.grad_mode import mode, paused


def values_of(tensor: Any) -> Any:
    """The memory of a tensor whose values leave it; a function that is captured has none of them.

    They may be others at its next call, even if the tensor is one of its surroundings.
    """
    if paused and mode.capture is not None:
        tensor = mode.capture.lifted(tensor)
    return tensor._array
