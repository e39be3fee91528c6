"""A physics-informed network (Raissi et al. 2019) solves u'' = f with u = 0 at both ends.

f is chosen so that u = sin(pi x). The loss is of the equation at points inside and of the ends: it
has second derivatives by x, in forward mode, whose gradient by the weights trains the network.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import dynamic
import staticgraph as sg

HIDDEN, COUNT, RATE, ENDS = 24, 64, 5e-3, np.array([[0.0], [1.0]])


def network(p: Mapping[str, Any], x: Any) -> Any:
    """u at points (n, 1)."""
    h = sg.tanh(x @ p["in"] + p["bias"])
    return sg.tanh(h @ p["mid"] + p["second"]) @ p["out"]


def loss(p: Mapping[str, Any], x: Any) -> Any:
    """The mean squares of u'' - f, and of u at the ends."""

    def slope(x: Any) -> Any:
        return sg.jvp(lambda x: network(p, x), (x,), (sg.ones_like(x),))[1]

    curve = sg.jvp(slope, (x,), (sg.ones_like(x),))[1]
    f = -(np.pi**2) * sg.sin(np.pi * x)
    return sg.mean((curve - f) ** 2) + 100.0 * sg.mean(network(p, ENDS) ** 2)


def initial(rng: np.random.Generator) -> dict[str, Any]:
    """Normal weights, biases of zero."""
    return {
        "in": rng.normal(0, 2.0, (1, HIDDEN)), "bias": rng.normal(0, 1.0, HIDDEN),
        "mid": rng.normal(0, HIDDEN**-0.5, (HIDDEN, HIDDEN)), "second": np.zeros(HIDDEN),
        "out": rng.normal(0, HIDDEN**-0.5, (HIDDEN, 1)),
    }  # fmt: skip


def compiled(start: Mapping[str, Any], points: Any) -> tuple[list[float], Mapping[str, Any]]:
    """Train with one compiled step."""
    p = {name: sg.variable(array, name) for name, array in start.items()}
    x = sg.placeholder("x", (None, 1), "float64")
    value = loss(p, x)
    train = sg.compile([x], value, updates=sg.optim.Adam(RATE).minimize(value))
    return [float(train(one)) for one in points], {name: one.value for name, one in p.items()}


def eager(start: Mapping[str, Any], points: Any) -> tuple[list[float], Mapping[str, Any]]:
    """Train on tensors."""
    p = {name: dynamic.tensor(array, requires_grad=True) for name, array in start.items()}
    optimizer, losses = dynamic.optim.Adam(p.values(), lr=RATE), []
    for one in points:
        optimizer.zero_grad()
        value = loss(p, dynamic.tensor(one))
        value.backward()
        optimizer.step()
        losses.append(value.item())
    return losses, {name: one.detach().numpy() for name, one in p.items()}


def main(arguments: Sequence[str] | None = None) -> dict[str, list[float]]:
    """Train in both paradigms, and print how far the solutions are from sin(pi x)."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=600)
    steps = parser.parse_args(arguments).steps
    rng = np.random.default_rng(0)
    start, points, found = initial(rng), rng.uniform(0, 1, (steps, COUNT, 1)), {}
    at = np.linspace(0, 1, 101)[:, None]
    for run in (compiled, eager):
        found[run.__name__], p = run(start, points)
        worst = np.abs(network(p, at) - np.sin(np.pi * at)).max()
        first, last = found[run.__name__][0], found[run.__name__][-1]
        print(f"{run.__name__:9} loss {first:.4f} -> {last:.4f}, off by at most {worst:.4f}")
    return found


if __name__ == "__main__":
    main()
