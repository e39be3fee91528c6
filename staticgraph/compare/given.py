"""What a comparison was made on: the arrays that every contender was given."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from staticgraph.compiler.core.values import Array


@dataclass(frozen=True, slots=True)
class Given:
    """An array.

    Attributes:
        name: of the argument.
        dtype: by NumPy's name.
        shape: its sizes.
        least, largest: of its elements; None if it has none that is finite.
        mean: of those that are finite.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    least: float | None
    largest: float | None
    mean: float | None

    def cells(self) -> list[str]:
        """Its cells in a table below `HEADS`."""
        figures = (self.least, self.largest, self.mean)
        shown = ["-" if one is None else f"{one:.4g}" for one in figures]
        return [self.name, self.dtype, str(list(self.shape)), *shown]


HEADS = ["", "dtype", "shape", "least", "largest", "mean"]


def given(arrays: Mapping[str, Array]) -> tuple[Given, ...]:
    """What is said of arrays."""
    return tuple(_given(name, np.asarray(array)) for name, array in arrays.items())


def _given(name: str, array: Array) -> Given:
    finite = array[np.isfinite(array)]
    figures: tuple[float | None, ...] = (None, None, None)
    if finite.size:
        figures = float(finite.min()), float(finite.max()), float(finite.mean(dtype=np.float64))
    return Given(name, array.dtype.name, tuple(array.shape), *figures)
