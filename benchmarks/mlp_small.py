"""The training step of a small MLP (64-128-10, batch 64, cross entropy, SGD) against JAX's jit.

    python benchmarks/mlp_small.py --jax PATH/TO/PYTHON [--rounds 9] [--seconds 0.5]

JAX lives in an environment of its own, whose interpreter `--jax` names. Both contenders run in
processes of their own and are measured in turn, so that noise hits both; the medians of the
rounds' medians and the minima are printed with their ratio, the largest difference of the losses,
the time from process start to the first result, and what a second batch size costs.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

STARTED = time.perf_counter()
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


def serve(contender: str) -> None:
    """Set one contender up, then measure it whenever a line with seconds arrives."""
    step = {"staticgraph": staticgraph_step, "jax": jax_step}[contender]()
    batches = [data(batch)[:2] for batch in BATCHES]
    losses = [float(step(*batches[0]))]
    first = time.perf_counter() - STARTED
    losses += [float(step(*batches[0])) for _ in range(STEPS_COMPARED - 1)]
    start = time.perf_counter()
    step(*batches[1])
    second_size = time.perf_counter() - start
    print(json.dumps({"first": first, "second_size": second_size, "losses": losses}), flush=True)
    x, y = batches[0]
    for line in sys.stdin:
        times, end = [], time.perf_counter() + float(line)
        while time.perf_counter() < end:
            start = time.perf_counter()
            step(x, y)
            times.append(time.perf_counter() - start)
        print(json.dumps([statistics.median(times), min(times)]), flush=True)


def race(interpreters: dict[str, str], rounds: int, seconds: float) -> None:
    """Run the contenders in turn and print what they took."""
    processes, reports = {}, {}
    for name, interpreter in interpreters.items():
        processes[name] = subprocess.Popen(
            [interpreter, __file__, "--serve", name],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        reports[name] = json.loads(_ask(processes[name], None))
    samples: dict[str, list[tuple[float, float]]] = {name: [] for name in processes}
    for turn in range(rounds):
        print(f"round {turn + 1} of {rounds}", end="\r", file=sys.stderr, flush=True)
        for name, process in processes.items():
            median, least = json.loads(_ask(process, seconds))
            samples[name].append((median, least))
    for process in processes.values():
        process.kill()
    print(f"{'':12} {'median':>10} {'minimum':>10} {'first':>8} {'second batch size':>18}")
    medians = {}
    for name, taken in samples.items():
        medians[name] = statistics.median(median for median, _ in taken)
        least = min(minimum for _, minimum in taken)
        first, second = reports[name]["first"], reports[name]["second_size"]
        print(
            f"{name:12} {medians[name] * 1e6:8.1f}µs {least * 1e6:8.1f}µs {first:7.2f}s "
            f"{second * 1e3:16.2f}ms"
        )
    if len(medians) == 2:
        pairs = zip(*(report["losses"] for report in reports.values()), strict=True)
        difference = max(abs(a - b) / abs(b) for a, b in pairs)
        print(f"staticgraph / jax = {medians['staticgraph'] / medians['jax']:.2f} (medians)")
        print(f"largest relative difference of {STEPS_COMPARED} losses: {difference:.1e}")


def _ask(process: subprocess.Popen[str], seconds: float | None) -> str:
    assert process.stdin is not None
    assert process.stdout is not None
    if seconds is not None:
        process.stdin.write(f"{seconds}\n")
        process.stdin.flush()
    return process.stdout.readline()


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--jax", help="an interpreter whose environment has JAX")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--seconds", type=float, default=0.5, help="per contender and round")
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(options.serve)
        return
    interpreters = {"staticgraph": sys.executable}
    if options.jax:
        interpreters["jax"] = options.jax
    race(interpreters, options.rounds, options.seconds)


if __name__ == "__main__":
    main()
