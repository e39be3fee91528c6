"""Whether a gradient may be taken over as it is, or has to be copied, since others hold it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

_HELD = [object()]
_ONE = sys.getrefcount(_HELD[0])
"""What is counted of an object with one holder: that, and the argument of the question."""


def unheld(arrays: Sequence[Any]) -> bool:
    """Whether only this list holds its first array, which has memory of its own."""
    if type(arrays[0]) is not np.ndarray or sys.getrefcount(arrays[0]) > _ONE:
        return False
    return arrays[0].base is None


def alone(tensors: Sequence[Any], place: int) -> bool:
    """Whether only this list holds a tensor, and only the tensor its array, with its own memory.

    PyTorch asks the same before `AccumulateGrad` takes a gradient over.
    """
    if sys.getrefcount(tensors[place]) > _ONE or type(tensors[place]._array) is not np.ndarray:
        return False
    return tensors[place]._array.base is None and sys.getrefcount(tensors[place]._array) <= _ONE
