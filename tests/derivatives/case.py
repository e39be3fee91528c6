"""What is compared: a function in both forms, and where."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import mpmath
import numpy as np

Array = np.ndarray[Any, Any]
Draw = Callable[[np.random.Generator], Array]

M: Any = mpmath.MPContext()
"""Numbers of fifty digits, apart from mpmath's own."""
M.dps = 50


def _method(name: str) -> Callable[[Any], Any]:
    called: Callable[[Any], Any] = getattr(M, name)
    return lambda self: called(self)


for _name in ("sqrt", "exp", "log", "log1p", "sin", "cos", "tanh"):
    setattr(M.mpf, _name, _method(_name))  # NumPy's functions of objects call methods of them

number: Callable[[Array], Array] = np.frompyfunc(M.mpf, 1, 1)
"""An array as one of such numbers."""


@dataclass(frozen=True)
class Case:
    """An op as a function of arrays, and what it is in numbers of fifty digits.

    Attributes:
        name: that of the op.
        ours: the function of expressions, tensors and arrays; it may return several.
        exact: the same of arrays of numbers.
        draws: per operand, an array at random.
        edges: more points.
        single: whether each element is a point of its own.
        order: how often it is differentiable.
        order_of_tensors: how often tensors are, where that is less.
    """

    name: str
    ours: Callable[..., Any]
    exact: Callable[..., Any]
    draws: tuple[Draw, ...]
    edges: tuple[tuple[Any, ...], ...] = ()
    single: bool = False
    order: int = 2
    order_of_tensors: int = 2

    def points(self, rng: np.random.Generator, count: int) -> list[list[Array]]:
        """The operands of each call."""
        if self.single:
            drawn = [np.array([draw(rng) for _ in range(count)]) for draw in self.draws]
            added = np.array(self.edges, np.float64).reshape(len(self.edges), len(self.draws))
            return [[np.concatenate([x, added[:, i]]) for i, x in enumerate(drawn)]]
        edges = [[np.asarray(one, np.float64) for one in edge] for edge in self.edges]
        return [[draw(rng) for draw in self.draws] for _ in range(count)] + edges


def between(low: float, high: float, *shape: int) -> Draw:
    """Numbers between two others."""
    return lambda rng: np.asarray(rng.uniform(low, high, shape))


def logarithmic(low: float, high: float) -> Draw:
    """A positive number of any size."""
    return lambda rng: np.exp(rng.uniform(np.log(low), np.log(high)))


def normal(*shape: int) -> Draw:
    """Normal numbers."""
    return lambda rng: np.asarray(rng.normal(size=shape))


def regular(*shape: int) -> Draw:
    """Square matrices that are far from singular."""

    def draw(rng: np.random.Generator) -> Array:
        a = rng.uniform(-1, 1, shape)
        return np.asarray(a + np.copysign(3.0, a) * np.eye(shape[-1]))

    return draw
