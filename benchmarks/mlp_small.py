"""The training step of a small MLP (64-128-10, batch 64, cross entropy, SGD) against JAX's jit.

    python benchmarks/mlp_small.py --jax PATH/TO/PYTHON [--rounds 9] [--seconds 0.5]

JAX lives in an environment of its own, whose interpreter `--jax` names. Both contenders run in
processes of their own and are measured in turn, so that noise hits both; the medians of the
rounds' medians and the minima are printed with their ratio, the largest difference of the losses,
the time from process start through the first 20 steps, and what a second batch size costs.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

BATCHES = (64, 48)
LEARNING_RATE = 0.001
STEPS_COMPARED = 20


def data(batch: int) -> tuple[Any, Any, list[Any]]:
    """A batch of images and labels, and the initial parameters."""
    import numpy as np

    rng = np.random.default_rng(0)
    parameters = [
        (rng.standard_normal(shape) * 0.1).astype("float32")
        for shape in ((64, 128), (128,), (128, 10), (10,))
    ]
    return (
        rng.standard_normal((batch, 64)).astype("float32"),
        rng.integers(0, 10, batch),
        parameters,
    )


def staticgraph_step() -> Callable[[Any, Any], float]:
    """One training step, compiled by staticgraph."""
    import staticgraph as sg

    _, _, parameters = data(BATCHES[0])
    w1, b1, w2, b2 = (sg.variable(value) for value in parameters)
    x, y = sg.placeholder("x", (None, 64)), sg.placeholder("y", (None,), "int64")
    loss = sg.cross_entropy(sg.relu(x @ w1 + b1) @ w2 + b2, y)
    return sg.compile([x, y], loss, updates=sg.optim.SGD(lr=LEARNING_RATE).minimize(loss))


def jax_step() -> Callable[[Any, Any], float]:
    """The same step, compiled by jax.jit with donated parameters."""
    import jax
    import jax.numpy as jnp

    def loss(parameters: Any, x: Any, y: Any) -> Any:
        w1, b1, w2, b2 = parameters
        logits = jax.nn.relu(x @ w1 + b1) @ w2 + b2
        return -jnp.take_along_axis(jax.nn.log_softmax(logits), y[:, None], 1).mean()

    def update(parameters: Any, x: Any, y: Any) -> Any:
        value, gradients = jax.value_and_grad(loss)(parameters, x, y)
        pairs = zip(parameters, gradients, strict=True)
        return value, [p - LEARNING_RATE * g for p, g in pairs]

    compiled = jax.jit(update, donate_argnums=(0,))
    state = [[jnp.asarray(value) for value in data(BATCHES[0])[2]]]

    def step(x: Any, y: Any) -> float:
        value, state[0] = jax.block_until_ready(compiled(state[0], x, y))
        return value

    return step


def contender(name: str) -> tuple[Any, dict[str, Callable[[], Any]]]:
    """The first losses of a contender and what a second batch size costs, and its step."""
    step = {"staticgraph": staticgraph_step, "jax": jax_step}[name]()
    first, second = (data(batch)[:2] for batch in BATCHES)
    losses = [float(step(*first)) for _ in range(STEPS_COMPARED)]
    start = time.perf_counter()
    step(*second)
    second_size = time.perf_counter() - start
    return {"losses": losses, "second_size": second_size}, {"step": lambda: step(*first)}


def main() -> None:
    """The command line."""
    from staticgraph.compare.scripts import Entrant, apart, parser, raced, running, show

    given = parser(__doc__, rounds=9, seconds=0.5)
    given.add_argument("--jax", help="an interpreter whose environment has JAX")
    options = given.parse_args()
    entrants = [Entrant("staticgraph", ["staticgraph"])]
    if options.jax:
        entrants.append(Entrant("jax", ["jax"], options.jax))
    rows = []
    with running(__file__, entrants) as processes:
        for _, times in raced(processes, ["step"], options.rounds, options.seconds):
            ours, known = times["staticgraph"], processes["staticgraph"].report["losses"]
            for label, one in times.items():
                process = processes[label]
                rows.append([
                    label, f"{one.median * 1e6:.1f}", f"{one.minimum * 1e6:.1f}",
                    f"{ours.median / one.median:.2f}", f"{process.seconds:.2f}",
                    f"{process.report['second_size'] * 1e3:.2f}",
                    f"{apart(known, process.report['losses']):.1e}",
                ])  # fmt: skip
    heads = (
        "", "median, µs", "minimum, µs", "staticgraph / it", f"first {STEPS_COMPARED} steps, s",
        "second batch size, ms", "losses apart",
    )  # fmt: skip
    show("a training step of a small MLP", heads, rows)


if __name__ == "__main__":
    main()
