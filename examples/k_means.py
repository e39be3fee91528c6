"""k-means of handwritten digits: Lloyd's iterations until no centre moves.

The loop is one function, with a number of iterations that nobody knows before: `while_loop` on
arrays is compiled, on tensors it runs eagerly.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.datasets import load_digits

import dynamic
import staticgraph as sg


def nearest(x: Any, centres: Any) -> tuple[Any, Any]:
    """The centre of each point, and the mean squared distance to it."""
    squares = sg.sum(centres * centres, axis=1) - 2.0 * (x @ sg.transpose(centres))
    whole = sg.min(squares, axis=1) + sg.sum(x * x, axis=1)
    return sg.argmin(squares, axis=1), sg.mean(whole)


def moved(x: Any, centres: Any) -> Any:
    """The means of the points of each centre; one without points stays."""
    labels, _ = nearest(x, centres)
    member = sg.one_hot(labels, centres.shape[0], "float64")
    counts = sg.expand_dims(sg.sum(member, axis=0), 1)
    means = (sg.transpose(member) @ x) / sg.maximum(counts, 1.0)
    return sg.where(counts > 0, means, centres)


def k_means(x: Any, centres: Any) -> tuple[Any, Any, Any]:
    """The centres at rest, the iterations that it took, and the mean squared distance."""

    def step(state: Any) -> Any:
        count, centres, _ = state
        after = moved(x, centres)
        return count + 1, after, sg.max(sg.abs(after - centres))

    count, centres, _ = sg.while_loop(
        lambda state: (state[2] > 1e-9) & (state[0] < 500), step, (0, centres, np.inf)
    )
    return centres, count, nearest(x, centres)[1]


def compiled(points: Any, start: Any) -> tuple[Any, int, float]:
    """Points of any number, compiled once."""
    x = sg.placeholder("x", (None, points.shape[1]), "float64")
    centres = sg.placeholder("centres", start.shape, "float64")
    found, count, distance = sg.compile([x, centres], k_means(x, centres))(points, start)
    return found, int(count), float(distance)


def eager(points: Any, start: Any) -> tuple[Any, int, float]:
    """The same on tensors."""
    found, count, distance = k_means(dynamic.tensor(points), dynamic.tensor(start))
    return found.numpy(), int(count), float(distance)


def main(arguments: Sequence[str] | None = None) -> dict[str, list[float]]:
    """Cluster in both paradigms, and print what came out."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--centres", type=int, default=10)
    count = parser.parse_args(arguments).centres
    points, digits = load_digits(return_X_y=True)
    start = points[np.random.default_rng(0).choice(len(points), count, replace=False)]
    found: dict[str, list[float]] = {}
    for run in (compiled, eager):
        centres, iterations, distance = run(points, start)
        labels = np.asarray(nearest(points, centres)[0])
        common = sum(np.bincount(digits[labels == i]).max() for i in np.unique(labels))
        found[run.__name__] = [distance, float(iterations)]
        print(
            f"{run.__name__:9} {iterations} iterations, mean squared distance {distance:.3f}, "
            f"{common / len(points):.1%} with most of their digit"
        )
    return found


if __name__ == "__main__":
    main()
