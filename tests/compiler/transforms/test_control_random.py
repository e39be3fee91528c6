"""Random loops: compiled in several ways and on eager tensors, against NumPy step by step.

The gate runs a few seeds. To search for long:
`python -m tests.compiler.transforms.test_control_random FIRST COUNT`.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import dynamic
import staticgraph as sg
from staticgraph.compiler.graph.expression import Expression
from staticgraph.compiler.inspect.interpret import interpret
from staticgraph.compiler.pipeline import rule_names
from tests.combinations import some

pytestmark = pytest.mark.slow

WIDTH = 4
OPS: list[Any] = [
    lambda a, b, w: sg.tanh(a),
    lambda a, b, w: a + b,
    lambda a, b, w: a * b * 0.5,
    lambda a, b, w: a @ w[0],
    lambda a, b, w: b @ w[1],
    lambda a, b, w: sg.softmax(a, -1),
    lambda a, b, w: a - b,
    lambda a, b, w: a.sum(0, keepdims=True) * 0.3 + b,
    lambda a, b, w: sg.maximum(a, b),
    lambda a, b, w: sg.concatenate([a[:, :2], b[:, 2:]], 1),
    lambda a, b, w: (a @ b.T) @ b * 0.1,
    lambda a, b, w: sg.where(a > 0, b, a * 0.1),
    lambda a, b, w: sg.layer_norm(a, WIDTH),
    lambda a, b, w: sg.flip(a, 1),
    lambda a, b, w: sg.cond(a.sum() > 0, lambda u, v: u @ w[0] + v, lambda u, v: sg.sin(u), a, b),
    lambda a, b, w: sg.scan(lambda c, x: (sg.tanh(c @ w[1] + x), c * x), a, sg.stack([b, a]))[0],
]


def program(seed: int, x: Any, h: Any, w: Sequence[Any]) -> Any:
    """A scalar computed by a loop with one to three states, ys, and a sum of products."""
    choose = random.Random(seed)
    states, outputs = choose.choice([1, 2, 3]), choose.choice([0, 1, 2])
    reverse, inner = choose.random() < 0.5, choose.random()

    def step(carry: Any, now: Any) -> Any:
        again = random.Random(inner)
        before, total = carry
        pool = [*before, now, sg.exp(w[0])[:1] * now]
        for _ in range(again.randrange(2, 9)):
            pool.append(again.choice(OPS)(again.choice(pool), again.choice(pool), w))
        after = [sg.tanh(again.choice(pool)) for _ in before]
        ys = [again.choice(pool) for _ in range(outputs)]
        ys = [y @ w[1] if again.random() < 0.4 else y for y in ys]
        return (after, total + before[0].T @ after[-1]), (ys, (pool[-1] * pool[-2]).mean())

    init = [h] * states, w[0] * 0.0
    (last, total), (ys, means) = sg.scan(step, init, x, reverse=reverse)
    loss = (total * total).sum() * 0.01 + means.sum() + sum((one * one).sum() for one in last)
    loss = loss + sum(sg.sin(y).sum() for y in ys)
    return loss + sum((one * one).sum() * 0.1 for one in (x, *w))


def check(seed: int, ways: int = 3) -> None:
    choose, rng = random.Random(seed), np.random.default_rng(seed)
    steps, rows = choose.choice([0, 1, 3, 4]), choose.choice([1, 2, 3])
    shapes = (steps, rows, WIDTH), (rows, WIDTH), (WIDTH, WIDTH), (WIDTH, WIDTH)
    args = [rng.normal(size=shape) * 0.5 for shape in shapes]
    x, h = (
        sg.placeholder("x", ("t", "b", WIDTH), "float64"),
        sg.placeholder("h", ("b", WIDTH), "float64"),
    )
    leaves = [x, h, *(sg.placeholder(name, (WIDTH, WIDTH), "float64") for name in "vw")]
    loss = program(seed, x, h, leaves[2:])
    outputs: list[Expression] = [loss, *sg.grad(loss, leaves)]
    expected = interpret(outputs, dict(zip(leaves, args, strict=True)))
    tensors = [dynamic.tensor(array, requires_grad=True) for array in args]
    eager = program(seed, tensors[0], tensors[1], tensors[2:])
    gradients = dynamic.autograd.grad(eager, tensors)
    close([eager.detach().numpy(), *(one.numpy() for one in gradients)], expected)
    some = choose.sample(sorted(rule_names()), 10)
    for options in ({}, {"disable": some}, {"fuse": False})[:ways]:
        close(sg.compile(leaves, outputs, **options)(*args), expected)


def close(found: Sequence[np.ndarray], expected: Sequence[np.ndarray]) -> None:
    for one, other in zip(found, expected, strict=True):
        # sums over the steps are taken in another order, and some cancel
        scale = 1 + np.abs(other).max(initial=0)
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-11 * scale)


@pytest.mark.parametrize("seed", some(range(5), 1))
def test_random_loops(seed: int) -> None:
    check(seed, ways=3 if seed else 2)


if __name__ == "__main__":
    first, count = map(int, sys.argv[1:])
    for number in range(first, first + count):
        try:
            check(number)
        except Exception as error:
            print(f"seed {number}: {type(error).__name__}: {str(error)[:500]}", flush=True)
    print(f"{count} seeds")
