"""What PyTorch's functions of layers gave for the calls of `layer_cases`, and how it was summed."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np

FILE = Path(__file__).with_name("layer_values.npz")


def weights(shape: Sequence[int]) -> np.ndarray:
    """A cotangent that differs at every element."""
    return np.cos(1.0 + np.arange(math.prod(shape), dtype=np.float64)).reshape(tuple(shape))


def recorded() -> dict[str, list[list[np.ndarray]]]:
    """Per function and call the results, then the gradients."""
    with np.load(FILE) as file:
        values, index = file["values"], json.loads(file["index"].tobytes())
    found: dict[str, list[list[np.ndarray]]] = {}
    start = 0
    for name, cases in index.items():
        found[name] = []
        for entries in cases:
            arrays = []
            for dtype, shape in entries:
                stop = start + math.prod(shape)
                arrays.append(values[start:stop].reshape(shape).astype(dtype))
                start = stop
            found[name].append(arrays)
    return found
