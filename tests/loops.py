"""Programs with loops and branches, each written once for every package that has them.

`m` is staticgraph, dynamic or an adapter of JAX (`tests.data.make_control_fixtures`): scan,
while_loop, cond, where and functions of arrays by NumPy's names. A program returns a scalar.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


def values(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape) * 0.7


@dataclass(frozen=True)
class Program:
    """A function of arrays, float64 arguments for it, and which axes may be unknown."""

    function: Callable[..., Any]
    args: tuple[np.ndarray, ...]
    unknown: tuple[tuple[int, ...], ...]


PROGRAMS: dict[str, Program] = {}


def program(*args: np.ndarray, unknown: tuple[tuple[int, ...], ...] = ()) -> Any:
    """Register a function with its arguments; `unknown`: per argument its axes of unknown size."""
    axes = unknown + ((),) * (len(args) - len(unknown))

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        PROGRAMS[function.__name__] = Program(function, args, axes)
        return function

    return register


@program(
    values(0, 6, 5, 3), values(1, 5, 4), values(2, 3, 4), values(3, 4, 4), values(4, 4),
    unknown=((0, 1), (0,)),
)  # fmt: skip
def rnn(m: Any, x: Any, h: Any, wx: Any, wh: Any, b: Any) -> Any:
    """Elman's network with its states as outputs."""

    def step(h: Any, x: Any) -> Any:
        h = m.tanh(x @ wx + h @ wh + b)
        return h, h

    h, hs = m.scan(step, h, x)
    return (h * h).sum() + (hs * hs * hs).mean()


@program(
    values(5, 5, 2, 3), values(6, 2, 4), values(7, 3, 16), values(8, 4, 16), values(9, 16),
    unknown=((0,),),
)  # fmt: skip
def lstm(m: Any, x: Any, h: Any, wx: Any, wh: Any, b: Any) -> Any:
    """A cell of long short-term memory; only the last state is used."""

    def step(carry: Any, x: Any) -> Any:
        z = x @ wx + carry["h"] @ wh + b
        i, f = m.sigmoid(z[:, :4]), m.sigmoid(z[:, 4:8])
        o, g = m.sigmoid(z[:, 8:12]), m.tanh(z[:, 12:])
        c = f * carry["c"] + i * g
        return {"h": o * m.tanh(c), "c": c}, None

    carry, nothing = m.scan(step, {"h": h, "c": h * 0.5}, x)
    assert nothing is None
    return (carry["h"] * carry["c"]).sum()


@program(
    values(10, 5, 2, 3), values(11, 2, 4), values(12, 3, 12), values(13, 4, 12), values(14, 4, 7),
    unknown=((0, 1), (0,)),
)  # fmt: skip
def gru_with_head(m: Any, x: Any, h: Any, wx: Any, wh: Any, wo: Any) -> Any:
    """A gated recurrent unit from the last slice to the first, and a softmax of each state."""

    def step(h: Any, x: Any) -> Any:
        a, u = x @ wx, h @ wh
        r, z = m.sigmoid(a[:, :4] + u[:, :4]), m.sigmoid(a[:, 4:8] + u[:, 4:8])
        h = (1 - z) * m.tanh(a[:, 8:] + r * u[:, 8:]) + z * h
        return h, m.softmax(h @ wo, -1)

    _, p = m.scan(step, h, x, reverse=True)
    return (m.log(p) * p).sum()


@program(values(15, 4, 3), values(16, 3), values(17, 3, 3), values(18, 3, 3), unknown=((0,),))
def vectors(m: Any, x: Any, h: Any, w: Any, u: Any) -> Any:
    """Products with vectors from both sides, and one weight that is used twice."""

    def step(carry: Any, x: Any) -> Any:
        h, total = carry
        h = m.tanh(w @ x + h @ u + x @ w + u @ h)
        return (h, total + (h * x).sum()), (h @ x, [x])

    (h, total), (ys, [copy]) = m.scan(step, (h, h.sum()), x)
    return h.sum() * total + (ys * ys).sum() + (copy * copy).sum()


@program(values(19, 4), values(20, 4))
def powers(m: Any, x: Any, a: Any) -> Any:
    """A number of steps without slices, with a counter as a carry."""

    def step(carry: Any, nothing: Any) -> Any:
        assert nothing is None
        y, count = carry
        return (y * x + a * count, count + 1.0), y * count

    (y, _), ys = m.scan(step, (x, 1.0), None, length=5)
    return y.sum() + (ys * ys).sum()


@program(values(21, 3, 4, 2), values(22, 2), values(23, 2, 2), unknown=((0,),))
def nested(m: Any, x: Any, h: Any, w: Any) -> Any:
    """A scan in the step of a scan, both of which read what is around them."""

    def outer(carry: Any, rows: Any) -> Any:
        def inner(h: Any, row: Any) -> Any:
            h = m.tanh(row @ w + h * carry["scale"])
            return h, m.exp(-h)

        h, ys = m.scan(inner, carry["h"], rows, reverse=True)
        return {"h": h, "scale": carry["scale"] * 0.9 + ys.sum() * 0.01}, ys

    carry, ys = m.scan(outer, {"h": h, "scale": h[0] + 1.0}, x)
    return (carry["h"] * carry["scale"]).sum() + (ys * ys).sum()


@program(values(24, 5, 3), values(25, 3), values(26, 3, 3), unknown=((0,),))
def branches(m: Any, x: Any, h: Any, w: Any) -> Any:
    """A branch in each step, of which one reads a weight and the other an operand."""

    def step(h: Any, x: Any) -> Any:
        positive = x.sum() > 0
        h = m.cond(positive, lambda h, x: m.tanh(h @ w) + x, lambda h, x: h * m.sin(x), h, x)
        return h, {"h": h, "scaled": h * h.sum()}

    h, ys = m.scan(step, h, x)
    return (
        m.cond(h[0] > 0, lambda y: y.sum(), lambda y: (y * y).sum(), ys["scaled"]) + ys["h"].sum()
    )


@program(values(27, 6, 3), values(28, 3), unknown=((0,),))
def mapped(m: Any, x: Any, w: Any) -> Any:
    """No carry: each slice by itself."""
    _, y = m.scan(lambda carry, row: (carry, m.exp(row * w) / (row * row).sum()), None, x)
    return (y * y).sum()


@program(values(29, 4, 2, 3, 3), values(30, 2, 3, 3), values(31, 3), unknown=((0,),))
def batched(m: Any, x: Any, h: Any, w: Any) -> Any:
    """Products of stacks of matrices, and sums over several axes."""

    def step(h: Any, x: Any) -> Any:
        h = m.softmax(x @ h.swapaxes(-1, -2), -1) @ h * w
        return h, h.sum(1).mean(0)

    h, ys = m.scan(step, h, x)
    return (h * h).sum() + (ys * w).sum()


@program(values(32, 4, 3, 5), values(33, 5, 4), values(34, 4), values(35, 4, 5), unknown=((0, 1),))
def perceptron(m: Any, x: Any, w: Any, b: Any, v: Any) -> Any:
    """Two layers of which only the second meets the carry; the gradient accumulates in steps."""

    def step(total: Any, x: Any) -> Any:
        hidden = m.maximum(x @ w + b, 0.0)
        y = hidden @ v
        return total + (y * y).sum(0), (y * total).sum()

    total, ys = m.scan(step, v[0] * 0.1, x)
    return (total * total).mean() + ys.sum()
