"""A Kalman filter whose noises are fitted: minus the likelihood of what was measured, by Adam.

A car of constant speed, but for random pushes, whose place is measured with errors. The filter is
one loop (`scan`) in both paradigms; the gradient goes back through it (Kalman 1960).
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

import numpy as np

import dynamic
import staticgraph as sg

MOVE = np.array([[1.0, 1.0], [0.0, 1.0]])  # place and speed, one second later
PUSH = np.array([[0.25, 0.5], [0.5, 1.0]])  # the covariance of a push of variance 1
PLACE = np.array([1.0, 0.0])  # what is measured
TRUE, RATE = np.array([0.1, 0.5]), 0.1


def loss(measured: Any, logs: Any) -> Any:
    """Minus the logarithm of the likelihood, per measurement; `logs` of both deviations."""
    push, error = sg.exp(2 * logs[0]), sg.exp(2 * logs[1])

    def step(state: Any, z: Any) -> Any:
        mean, spread = MOVE @ state[0], MOVE @ state[1] @ MOVE.T + push * PUSH
        surprise, variance = z - mean[0], spread[0, 0] + error
        gain = (spread @ PLACE) / variance
        after = spread - sg.outer(gain, spread[0])
        likelihood = 0.5 * (sg.log(2 * np.pi * variance) + surprise * surprise / variance)
        return (mean + gain * surprise, after), likelihood

    start = (np.zeros(2), 10.0 * np.eye(2))
    return sg.mean(sg.scan(step, start, measured)[1])


def compiled(measured: Any, steps: int) -> tuple[list[float], Any]:
    """The filter, its gradient and Adam as one compiled step."""
    logs = sg.variable(np.zeros(2), "logs")
    z = sg.placeholder("z", (None,), "float64")
    value = loss(z, logs)
    fit = sg.compile([z], value, updates=sg.optim.Adam(RATE).minimize(value))
    return [float(fit(measured)) for _ in range(steps)], logs.value


def eager(measured: Any, steps: int) -> tuple[list[float], Any]:
    """The same on tensors."""
    logs = dynamic.zeros(2, dtype=dynamic.float64, requires_grad=True)
    z, optimizer, losses = dynamic.tensor(measured), dynamic.optim.Adam([logs], lr=RATE), []
    for _ in range(steps):
        optimizer.zero_grad()
        value = loss(z, logs)
        value.backward()
        optimizer.step()
        losses.append(value.item())
    return losses, logs.detach().numpy()


def drive(count: int, rng: np.random.Generator) -> Any:
    """Measurements of a car that is pushed at random."""
    state, found = np.zeros(2), []
    for _ in range(count):
        state = MOVE @ state + np.array([0.5, 1.0]) * TRUE[0] * rng.normal()
        found.append(state[0] + TRUE[1] * rng.normal())
    return np.array(found)


def main(arguments: Sequence[str] | None = None) -> dict[str, list[float]]:
    """Fit in both paradigms, and print the deviations that were found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=80)
    parser.add_argument("--count", type=int, default=100, help="how many measurements")
    given = parser.parse_args(arguments)
    measured, found = drive(given.count, np.random.default_rng(0)), {}
    print(f"true      push {TRUE[0]:.3f}, error {TRUE[1]:.3f}")
    for run in (compiled, eager):
        found[run.__name__], logs = run(measured, given.steps)
        push, error = np.exp(logs)
        name, last = run.__name__, found[run.__name__][-1]
        print(f"{name:9} push {push:.3f}, error {error:.3f}, loss {last:.6f}")
    return found


if __name__ == "__main__":
    main()
