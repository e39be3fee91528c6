"""Hamiltonian Monte Carlo (Neal 2011): samples of the weights of a logistic regression.

One transition is one function: a loop of leapfrog steps, each with the gradient of the density, and
a test whether the end is taken. Compiled, the whole chain is one loop; eagerly each transition runs
on tensors. The same keys give the same chain.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

import numpy as np

import dynamic
import staticgraph as sg

TRUE = np.array([1.0, -2.0, 0.5])
LEAPS, LENGTH = 10, 0.05


def energy(w: Any, x: Any, y: Any) -> Any:
    """Minus the logarithm of the density: of the labels y, 1 or -1, and of normal weights."""
    return sg.sum(sg.softplus(-y * (x @ w))) + 0.5 * sg.sum(w * w)


def transition(w: Any, key: Any, x: Any, y: Any) -> tuple[Any, Any]:
    """The next sample, and its energy."""
    slope = sg.grad(lambda w: energy(w, x, y))
    keys = sg.random.split(key)
    kick = sg.random.normal(keys[0], w.shape, "float64")

    def leap(_: Any, state: Any) -> Any:
        at, p = state
        p = p - 0.5 * LENGTH * slope(at)
        at = at + LENGTH * p
        return at, p - 0.5 * LENGTH * slope(at)

    end, p = sg.fori_loop(0, LEAPS, leap, (w, kick))
    before = energy(w, x, y) + 0.5 * sg.sum(kick * kick)
    gained = before - energy(end, x, y) - 0.5 * sg.sum(p * p)
    taken = sg.log(sg.random.uniform(keys[1], (), "float64")) < gained
    w = sg.where(taken, end, w)
    return w, energy(w, x, y)


def compiled(x: Any, y: Any, keys: Any) -> tuple[Any, Any]:
    """The chain as one loop."""

    def step(w: Any, key: Any) -> Any:
        w, level = transition(w, key, sg.constant(x), sg.constant(y))
        return w, (w, level)

    many = sg.placeholder("keys", (None,), "int64")
    chain = sg.compile([many], sg.scan(step, sg.zeros(3, "float64"), many)[1])
    samples, energies = chain(keys)
    return energies, samples


def eager(x: Any, y: Any, keys: Any) -> tuple[Any, Any]:
    """The chain, transition by transition."""
    w, xs, ys = dynamic.zeros(3, dtype=dynamic.float64), dynamic.tensor(x), dynamic.tensor(y)
    samples, energies = [], []
    for key in keys:
        w, level = transition(w, dynamic.tensor(key), xs, ys)
        samples.append(w.numpy())
        energies.append(level.item())
    return np.array(energies), np.array(samples)


def main(arguments: Sequence[str] | None = None) -> dict[str, Any]:
    """Sample in both paradigms, and print means and deviations."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=300)
    steps = parser.parse_args(arguments).steps
    rng = np.random.default_rng(0)
    x = rng.normal(size=(100, 3))
    y = np.where(rng.uniform(size=100) < 1 / (1 + np.exp(-x @ TRUE)), 1.0, -1.0)
    keys, found = sg.random.split(sg.random.key(0), steps), {}
    print(f"true      {TRUE}")
    for run in (compiled, eager):
        found[run.__name__], samples = run(x, y, keys)
        kept = samples[steps // 5 :]
        print(f"{run.__name__:9} {kept.mean(0).round(3)}, deviations {kept.std(0).round(3)}")
    return found


if __name__ == "__main__":
    main()
