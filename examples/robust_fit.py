"""A line through points of which one in ten is wrong: Huber's loss, an op of one's own, trains it.

`huber` is a function of two numbers that Numba compiles; its machine code is a part of the loops of
the compiled step, and computes the eager tensors too. The same loss with the same data is
minimised in both paradigms; squares instead show what the wrong points do.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import dynamic
import staticgraph as sg

SLOPE, OFFSET, DELTA, RATE = 2.0, -1.0, 0.1, 0.1


@sg.op
def huber(error: float, delta: float) -> float:
    """Half the square of small errors; large ones grow linearly."""
    if abs(error) <= delta:
        return 0.5 * error * error
    return delta * (abs(error) - 0.5 * delta)


@huber.vjp
def _(g: Any, out: Any, error: Any, delta: Any) -> Any:
    return g * sg.clip(error, -delta, delta), None


def robust(error: Any) -> Any:
    """The mean of Huber's loss, in the scale of the errors."""
    return sg.mean(huber(error, DELTA)) / DELTA


def squares(error: Any) -> Any:
    """Half the mean of the squares."""
    return sg.mean(error * error) / 2


def points(seed: int, count: int = 200) -> tuple[Any, Any]:
    """Points of a line with little noise, of which one in ten is far above it."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, count)
    y = SLOPE * x + OFFSET + 0.02 * rng.normal(size=count)
    y[: count // 10] += 5
    return x, y


def compiled(loss: Callable[[Any], Any], x: Any, y: Any, steps: int) -> tuple[list[float], Any]:
    """The losses and the line of gradient descent as a compiled step."""
    line = sg.variable(np.zeros(2), name="line")
    xs, ys = (sg.placeholder(name, (None,), "float64") for name in ("x", "y"))
    value = loss(line[0] * xs + line[1] - ys)
    train = sg.compile([xs, ys], value, updates=sg.optim.SGD(lr=RATE).minimize(value))
    return [float(train(x, y)) for _ in range(steps)], line.value


def eager(loss: Callable[[Any], Any], x: Any, y: Any, steps: int) -> tuple[list[float], Any]:
    """The same, defined by run."""
    line = dynamic.zeros(2, dtype=dynamic.float64, requires_grad=True)
    optimizer = dynamic.optim.SGD([line], lr=RATE)
    xs, ys = dynamic.tensor(x), dynamic.tensor(y)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        value = loss(line[0] * xs + line[1] - ys)
        value.backward()
        optimizer.step()
        losses.append(value.item())
    return losses, line.detach().numpy()


def main(arguments: Sequence[str] | None = None) -> dict[tuple[str, str], Any]:
    """Fit both losses in both paradigms, and print the lines."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    x, y = points(options.seed)
    print(f"{'':20} y = {SLOPE:+.3f} x {OFFSET:+.3f}")
    found = {}
    for loss in (robust, squares):
        for run in (compiled, eager):
            losses, line = found[loss.__name__, run.__name__] = run(loss, x, y, options.steps)
            name = f"{loss.__name__}, {run.__name__}"
            print(f"{name:20} y = {line[0]:+.3f} x {line[1]:+.3f}   loss {losses[-1]:.6f}")
    return found


if __name__ == "__main__":
    main()
