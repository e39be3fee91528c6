"""Graphs of very many ops, in the shapes in which they occur: expressions of a vector x."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

import staticgraph as sg


def chain(x: Any, ops: int) -> list[Any]:
    """One op after the other."""
    y = x
    for i in range(ops):
        y = sg.sin(y) if i % 2 else y * 1.01
    return [y]


def slope(x: Any, ops: int) -> list[Any]:
    """A chain, its sum and the gradient of that: each step of the reverse pass reads a value."""
    (y,) = chain(x, ops // 3)
    total = sg.sum(y)
    return [total, sg.grad(total, [x])[0]]


def sines(x: Any, ops: int) -> list[Any]:
    """A sum of sines of other frequencies."""
    y = sg.sin(x)
    for i in range(1, ops // 3):
        y = y + sg.sin(x * (1 + i / ops))
    return [y]


def wide(x: Any, ops: int) -> list[Any]:
    """A balanced tree of sums."""
    level = [x * (1 + i / ops) for i in range(ops // 2)]
    while len(level) > 1:
        level = [a + b for a, b in zip(level[::2], level[1::2], strict=False)] + (
            level[-1:] if len(level) % 2 else []
        )
    return level


def mixture(x: Any, ops: int) -> list[Any]:
    """Ops of near and of far values; every tenth result is asked for."""
    rng, made = np.random.default_rng(0), [x]
    for _ in range(ops):
        near = made[max(0, len(made) - 1 - int(rng.exponential(20)))]
        far = made[int(rng.integers(len(made)))]
        kind = int(rng.integers(4))
        made.append(
            (near - far, near * far * 0.5, sg.tanh(near), sg.maximum(near, far) * 0.9)[kind]
        )
    return made[1 :: ops // 10]


def layers(x: Any, ops: int) -> list[Any]:
    """Rows of values of which each reads three of the row before: many are alive at any time."""
    row = [x * (i + 1.0) for i in range(200)]
    for _ in range(ops // 400):
        row = [a * 0.5 + b for a, b in pairwise([*row, row[0]])]
    total = row[0]
    for a in row[1:]:
        total = total + a
    return [sg.sum(total)]


SHAPES: tuple[Callable[[Any, int], list[Any]], ...] = (chain, slope, sines, wide, mixture, layers)
