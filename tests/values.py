"""Random arrays for the samples, that keep away from kinks and poles of the ops.

They do by more than the step of the difference quotients. Each call has a seed of its own.
"""

from __future__ import annotations

import math

import numpy as np

_next = [0]


def seed(first: int) -> None:
    """The seed of the next array: each table has its own, and its data depend on no other's."""
    _next[0] = first


def _generator() -> np.random.Generator:
    _next[0] += 1
    return np.random.default_rng(_next[0] - 1)


def spread(*shape: int, low: float = -2.0, high: float = 2.0) -> np.ndarray:
    """Distinct values from `low` to `high` in random order, no two closer than half a step."""
    rng = _generator()
    count = math.prod(shape)
    step = (high - low) / max(count, 1)
    values = low + step * (np.arange(count) + rng.uniform(0.25, 0.75, count))
    return rng.permutation(values).reshape(shape)


def positive(*shape: int) -> np.ndarray:
    return spread(*shape, low=0.3, high=3.0)


def unit(*shape: int) -> np.ndarray:
    return spread(*shape, low=-0.9, high=0.9)


def nonzero(*shape: int) -> np.ndarray:
    values = spread(*shape)
    return np.asarray(values + np.copysign(0.3, values))


def probability(*shape: int) -> np.ndarray:
    return spread(*shape, low=0.05, high=0.95)


def share(*shape: int) -> np.ndarray:
    return spread(*shape, low=0.3, high=0.7)


def fraction(*shape: int) -> np.ndarray:
    """Values whose distance to every multiple of a half is at least 0.1."""
    rng = _generator()
    return np.asarray(rng.integers(-6, 6, shape) / 2 + rng.uniform(0.1, 0.4, shape))


def integers(*shape: int, low: int = -5, high: int = 6, dtype: str = "int64") -> np.ndarray:
    return np.asarray(_generator().integers(low, high, shape), dtype)


def byte(*shape: int) -> np.ndarray:
    return integers(*shape, low=0, high=200, dtype="uint8")


def bools(*shape: int) -> np.ndarray:
    return np.asarray(_generator().integers(0, 2, shape), bool)
