"""The same values in memory in other ways than row by row."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest

from staticgraph.compiler.runners import strided


def laid_out(array: np.ndarray, axes: tuple[int, ...], steps: tuple[int, ...]) -> np.ndarray:
    """The array with `axes` in memory from the farthest to the nearest; `steps` are per axis.

    Of an axis, only every `step`-th place is an element; what lies between is nan, or 77.
    """
    shape = [array.shape[axis] * steps[axis] for axis in axes]
    memory = np.full(shape, 77 if array.dtype.kind != "f" else np.nan).astype(array.dtype)
    view = memory[(*(slice(None, None, steps[axis]) for axis in axes), ...)]
    view = view.transpose([axes.index(axis) for axis in range(array.ndim)])
    view[...] = array
    return view


def shuffled(array: np.ndarray, choose: random.Random) -> np.ndarray:
    """The array in an order that is chosen, often with gaps."""
    axes = choose.sample(range(array.ndim), array.ndim)
    return laid_out(array, tuple(axes), tuple(choose.choice((1, 1, 2, 3)) for _ in axes))


@contextmanager
def all_in_place() -> Iterator[None]:
    """Small inputs are read in place too."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(strided, "LEAST_BYTES", 0)
        yield
