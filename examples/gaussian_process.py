"""Hyper-parameters of a Gaussian process by Cholesky and L-BFGS: the marginal likelihood's maximum.

Rasmussen and Williams (2006), algorithm 2.1. The line search and all iterations are one compiled
call; eagerly they call a closure.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

import numpy as np

import dynamic
import staticgraph as sg

START = np.log([0.3, 1.0, 0.5])  # logarithms of length, amplitude and noise
SEARCH: Any = {"max_iter": 5, "line_search_fn": "strong_wolfe"}
JITTER = 1e-10


def kernel(a: Any, b: Any, logs: Any) -> Any:
    """exp(-d^2 / 2) times the squared amplitude."""
    distance = (sg.expand_dims(a, 1) - sg.expand_dims(b, 0)) / sg.exp(logs[0])
    return sg.exp(2 * logs[1] - 0.5 * distance * distance)


def factor(x: Any, y: Any, logs: Any) -> tuple[Any, Any]:
    """The Cholesky factor of the covariance, and the solution of it for y."""
    noise = sg.exp(2 * logs[2]) + JITTER
    root = sg.linalg.cholesky(kernel(x, x, logs) + noise * np.eye(x.shape[0]))
    half = sg.linalg.solve_triangular(root, sg.expand_dims(y, 1))
    return root, sg.linalg.solve_triangular(sg.transpose(root), half, upper=True)


def loss(x: Any, y: Any, logs: Any) -> Any:
    """Minus the logarithm of the marginal likelihood, per point."""
    root, weights = factor(x, y, logs)
    fit = 0.5 * sg.sum(y * weights[:, 0])
    return (fit + sg.sum(sg.log(sg.diagonal(root)))) / x.shape[0] + 0.5 * np.log(2 * np.pi)


def compiled(x: Any, y: Any, steps: int) -> tuple[list[float], Any]:
    """Each call is so many iterations, with their line searches."""
    logs = sg.variable(START, "logs")
    value = loss(sg.constant(x), sg.constant(y), logs)
    fit = sg.compile([], value, updates=sg.optim.LBFGS(**SEARCH).minimize(value))
    return [float(fit()) for _ in range(steps)], logs.value


def eager(x: Any, y: Any, steps: int) -> tuple[list[float], Any]:
    """The same, defined by run."""
    logs = dynamic.tensor(START, requires_grad=True)
    xs, ys = dynamic.tensor(x), dynamic.tensor(y)
    optimizer = dynamic.optim.LBFGS([logs], **SEARCH)

    def closure() -> Any:
        optimizer.zero_grad()
        value = loss(xs, ys, logs)
        value.backward()
        return value

    return [float(optimizer.step(closure)) for _ in range(steps)], logs.detach().numpy()


def main(arguments: Sequence[str] | None = None) -> dict[str, list[float]]:
    """Fit in both paradigms, and print what was found and predicted."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=8)
    steps = parser.parse_args(arguments).steps
    rng = np.random.default_rng(0)
    x = np.sort(rng.uniform(0, 6, 60))
    y = np.sin(2 * x) + 0.1 * rng.normal(size=60)
    found = {}
    for run in (compiled, eager):
        found[run.__name__], logs = run(x, y, steps)
        at = np.linspace(0.5, 5.5, 9)
        mean = (kernel(at, x, logs) @ factor(x, y, logs)[1])[:, 0]
        length, amplitude, noise = np.exp(logs)
        print(
            f"{run.__name__:9} loss {found[run.__name__][-1]:.6f}, length {length:.3f}, amplitude "
            f"{amplitude:.3f}, noise {noise:.3f}, off by {np.abs(mean - np.sin(2 * at)).max():.3f}"
        )
    return found


if __name__ == "__main__":
    main()
