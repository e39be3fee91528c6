"""A neural ordinary differential equation (Chen et al. 2018) learns the spiral that made its data.

Runge and Kutta's steps are one loop; the gradient goes back through them. Adam trains a network of
one hidden layer, in both paradigms.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

import dynamic
import staticgraph as sg

HIDDEN, STEP, LENGTH, COUNT, RATE = 32, 0.1, 20, 16, 0.01
SPIRAL = np.array([[-0.1, 2.0], [-2.0, -0.1]])


def follow(field: Callable[[Any], Any], start: Any) -> Any:
    """The states after each step of a field, by Runge and Kutta's method of order four."""

    def step(x: Any, _: None) -> Any:
        a = field(x)
        b = field(x + STEP / 2 * a)
        c = field(x + STEP / 2 * b)
        x = x + STEP / 6 * (a + 2 * b + 2 * c + field(x + STEP * c))
        return x, x

    return sg.scan(step, start, length=LENGTH)[1]


def true(x: Any) -> Any:
    """The field that makes the data."""
    return (x * x * x) @ SPIRAL.T


def loss(p: Mapping[str, Any], start: Any, states: Any) -> Any:
    """The mean squared distance between the paths of the network and the true ones."""

    def field(x: Any) -> Any:
        return sg.tanh((x * x * x) @ p["in"] + p["bias"]) @ p["out"]

    return sg.mse_loss(follow(field, start), states)


def initial(rng: np.random.Generator) -> dict[str, Any]:
    """Small weights."""
    return {
        "in": rng.normal(0, 0.5, (2, HIDDEN)), "bias": np.zeros(HIDDEN),
        "out": rng.normal(0, 0.2, (HIDDEN, 2)),
    }  # fmt: skip


def compiled(first: Mapping[str, Any], start: Any, states: Any, steps: int) -> list[float]:
    """Train with one compiled step."""
    p = {name: sg.variable(array, name) for name, array in first.items()}
    x = sg.placeholder("x", (None, 2), "float64")
    y = sg.placeholder("y", (LENGTH, x.shape[0], 2), "float64")
    value = loss(p, x, y)
    train = sg.compile([x, y], value, updates=sg.optim.Adam(RATE).minimize(value))
    return [float(train(start, states)) for _ in range(steps)]


def eager(first: Mapping[str, Any], start: Any, states: Any, steps: int) -> list[float]:
    """Train on tensors."""
    p = {name: dynamic.tensor(array, requires_grad=True) for name, array in first.items()}
    x, y = dynamic.tensor(start), dynamic.tensor(states)
    optimizer, losses = dynamic.optim.Adam(p.values(), lr=RATE), []
    for _ in range(steps):
        optimizer.zero_grad()
        value = loss(p, x, y)
        value.backward()
        optimizer.step()
        losses.append(value.item())
    return losses


def main(arguments: Sequence[str] | None = None) -> dict[str, list[float]]:
    """Train in both paradigms, and print the losses."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=500)
    steps = parser.parse_args(arguments).steps
    rng = np.random.default_rng(0)
    start = rng.uniform(-1, 1, (COUNT, 2))
    states, first = sg.function(lambda x: follow(true, x))(start), initial(rng)
    found = {run.__name__: run(first, start, states, steps) for run in (compiled, eager)}
    for name, losses in found.items():
        print(f"{name:9} loss {losses[0]:.6f} -> {losses[-1]:.6f}")
    return found


if __name__ == "__main__":
    main()
