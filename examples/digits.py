"""Train a classifier of handwritten digits in both paradigms, and compare what comes out.

The same multilayer perceptron (64-128-10, relu) is trained by the same SGD with momentum on
scikit-learn's 1,797 images, from the same initial weights on the same batches in the same order:
eagerly by `dynamic`, and by a graph that `staticgraph` compiled. Ctrl-C stops early and reports
the steps so far.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

import dynamic
import staticgraph as sg
from staticgraph.draw import draw

HIDDEN = 128
CLASSES = 10
COMPARED = 50  # steps at which the losses of the paradigms have to agree
LIMIT = {"float32": 1e-5, "float64": 1e-12}  # of their relative difference

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Data:
    """Standardised images, (n, 64), and their digits, (n,)."""

    train_x: Array
    train_y: Array
    test_x: Array
    test_y: Array


@dataclass
class Run:
    """What one paradigm did: the loss and the seconds of each step, the weights by epoch."""

    name: str
    model: Eager | Compiled
    losses: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    weights: list[list[Array]] = field(default_factory=list)

    @property
    def step_time(self) -> float:
        """The median over the steps after the first."""
        return float(np.median(self.seconds[1:])) if len(self.seconds) > 1 else math.nan

    def accuracy(self, data: Data) -> float:
        return float(np.mean(self.model.predict(data.test_x) == data.test_y))


class Eager:
    """The graph is built anew by every step, while its values are computed."""

    def __init__(self, initial: Sequence[Array], lr: float, momentum: float) -> None:
        self.parameters = [dynamic.tensor(array, requires_grad=True) for array in initial]
        self.optimizer = dynamic.optim.SGD(self.parameters, lr=lr, momentum=momentum)

    def logits(self, x: Any) -> Any:
        w1, b1, w2, b2 = self.parameters
        return dynamic.relu(x @ w1 + b1) @ w2 + b2

    def step(self, x: Array, y: Array) -> float:
        loss = dynamic.cross_entropy(self.logits(dynamic.from_numpy(x)), dynamic.from_numpy(y))
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return float(loss.item())

    def predict(self, x: Array) -> Array:
        with dynamic.no_grad():
            best: Array = self.logits(dynamic.from_numpy(x)).argmax(axis=-1).numpy()
        return best

    def weights(self) -> list[Array]:
        return [parameter.detach().numpy().copy() for parameter in self.parameters]


class Compiled:
    """The graph, with its gradients and updates, is built once and compiled."""

    def __init__(self, initial: Sequence[Array], lr: float, momentum: float) -> None:
        started = time.perf_counter()
        x = sg.placeholder("x", (None, initial[0].shape[0]), initial[0].dtype)
        y = sg.placeholder("y", (None,), "int64")
        self.parameters = [
            sg.variable(array, name)
            for array, name in zip(initial, ("w1", "b1", "w2", "b2"), strict=True)
        ]
        w1, b1, w2, b2 = self.parameters
        logits = sg.relu(x @ w1 + b1) @ w2 + b2
        loss = sg.cross_entropy(logits, y)
        updates = sg.optim.SGD(lr, momentum).minimize(loss)
        self.train = sg.compile([x, y], loss, updates, name="train")
        self.compile_time = time.perf_counter() - started
        self.classify = sg.compile([x], sg.argmax(logits, axis=-1), name="classify")

    def step(self, x: Array, y: Array) -> float:
        return float(self.train(x, y))

    def predict(self, x: Array) -> Array:
        best: Array = self.classify(x)
        return best

    def weights(self) -> list[Array]:
        return [parameter.value for parameter in self.parameters]


def load(dtype: str, seed: int) -> Data:
    """A fifth of the images is for the test; the training images alone set mean and deviation."""
    images, digits = load_digits(return_X_y=True)
    train_x, test_x, train_y, test_y = train_test_split(
        images, digits.astype(np.int64), test_size=0.2, random_state=seed, stratify=digits
    )
    scale = StandardScaler().fit(train_x)
    return Data(
        scale.transform(train_x).astype(dtype),
        train_y,
        scale.transform(test_x).astype(dtype),
        test_y,
    )


def initial_weights(rng: np.random.Generator, inputs: int, dtype: str) -> list[Array]:
    """Normal weights of variance 2 / fan-in (He et al. 2015) and zero biases."""
    arrays = [
        rng.normal(0, math.sqrt(2 / inputs), (inputs, HIDDEN)),
        np.zeros(HIDDEN),
        rng.normal(0, math.sqrt(2 / HIDDEN), (HIDDEN, CLASSES)),
        np.zeros(CLASSES),
    ]
    return [array.astype(dtype) for array in arrays]


def batches(order: Array, size: int) -> Iterator[Array]:
    """The indices of each batch of an epoch; images that fill no batch are left out."""
    for start in range(0, len(order) - size + 1, size):
        yield order[start : start + size]


def train(
    runs: Sequence[Run],
    data: Data,
    rng: np.random.Generator,
    epochs: int,
    size: int,
    bars: Progress,
) -> None:
    """Train all runs, epoch by epoch in turn, so that a busy machine disturbs them equally."""
    steps = epochs * (len(data.train_y) // size)
    tasks = [bars.add_task(run.name, total=steps) for run in runs]
    for _ in range(epochs):
        order = rng.permutation(len(data.train_y))
        for run, task in zip(runs, tasks, strict=True):
            for rows in batches(order, size):
                x, y = data.train_x[rows], data.train_y[rows]
                started = time.perf_counter()
                loss = run.model.step(x, y)
                run.seconds.append(time.perf_counter() - started)
                run.losses.append(loss)
                bars.advance(task)
            run.weights.append(run.model.weights())


def loss_difference(runs: Sequence[Run], steps: int | None = None) -> float:
    """The largest relative difference between the losses at the same step."""
    count = min(len(run.losses) for run in runs)
    first, second = (np.array(run.losses[:count])[:steps] for run in runs)
    return float(np.max(np.abs(first - second) / np.abs(first), initial=0.0))


def weight_difference(runs: Sequence[Run]) -> float:
    """The largest difference between the weights after the last epoch that both have ended."""
    epochs = min(len(run.weights) for run in runs)
    if not epochs:
        return math.nan
    pairs = zip(*(run.weights[epochs - 1] for run in runs), strict=True)
    return max(float(np.max(np.abs(first - second))) for first, second in pairs)


def break_even(compile_time: float, eager: float, compiled: float) -> str:
    """The number of steps after which compiling has paid."""
    return f"{math.ceil(compile_time / (eager - compiled)):,}" if eager > compiled else "never"


def report(eager: Run, compiled: Run, compile_time: float, data: Data, limit: float) -> Table:
    runs = (eager, compiled)
    steps = min(len(run.losses) for run in runs)
    table = Table(
        title=f"Handwritten digits: {steps:,} steps",
        caption="Step: median of all but the first. Compile time: graph, passes, native code, "
        "first step. Differences: the largest between the paradigms.",
    )
    table.add_column("")
    for run in runs:
        table.add_column(run.name, justify="right")
    table.add_row("test accuracy", *(f"{run.accuracy(data):.2%}" for run in runs))
    table.add_row("time per step", *(f"{run.step_time * 1e6:.1f} µs" for run in runs))
    table.add_row("compile time", "none", f"{compile_time:.2f} s")
    even = break_even(compile_time, eager.step_time, compiled.step_time)
    table.add_row("break-even number of steps", "", even)
    early = loss_difference(runs, COMPARED)
    sign = "≤" if early <= limit else ">"
    table.add_row(
        f"loss: relative difference, first {min(steps, COMPARED)} steps",
        "",
        f"{early:.1e} {sign} {limit:.0e}",
    )
    table.add_row("loss: relative difference, all steps", "", f"{loss_difference(runs):.1e}")
    table.add_row("weights: absolute difference", "", f"{weight_difference(runs):.1e}")
    return table


def plot_losses(runs: Sequence[Run], path: Path) -> None:
    """The loss of every step above, the relative difference of the paradigms below."""
    figure = Figure(figsize=(8, 6), layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(2, 1))
    for run, width, colour in zip(runs, (3.0, 0.8), ("tab:blue", "black"), strict=True):
        steps = range(1, len(run.losses) + 1)
        above.plot(steps, run.losses, color=colour, label=run.name, linewidth=width)
    above.set_xscale("log")
    above.set_yscale("log")
    above.set_ylabel("training loss")
    above.legend()
    count = min(len(run.losses) for run in runs)
    first, second = (np.array(run.losses[:count]) for run in runs)
    apart = np.abs(first - second) / np.abs(first)
    below.plot(
        np.arange(1, count + 1)[apart > 0], apart[apart > 0], ".", color="tab:red", markersize=3
    )
    if apart.any():
        below.set_yscale("log")
    below.set_ylabel("relative difference")
    below.set_xlabel("step")
    figure.savefig(path, dpi=150)


def positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{number} is not at least 1")
    return number


def parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=positive, default=200)
    parser.add_argument("--batch-size", type=positive, default=64)
    parser.add_argument("--lr", type=float, default=0.02, help="learning rate")
    parser.add_argument("--momentum", type=float, default=0.9)
    parser.add_argument("--dtype", choices=tuple(LIMIT), default="float32")
    parser.add_argument("--seed", type=int, default=0, help="of the split, weights and batches")
    parser.add_argument("--out", type=Path, default=Path("out"), help="directory for the pictures")
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> tuple[Run, Run]:
    options = parse(argv)
    console = Console()
    data = load(options.dtype, options.seed)
    if options.batch_size > len(data.train_y):
        raise SystemExit(f"--batch-size {options.batch_size}: there are {len(data.train_y)} images")
    rng = np.random.default_rng(options.seed)
    initial = initial_weights(rng, data.train_x.shape[1], options.dtype)
    with console.status("Compiling the training step"):
        graph = Compiled(initial, options.lr, options.momentum)
    eager = Run("eager", Eager(initial, options.lr, options.momentum))
    compiled = Run("compiled", graph)
    columns = (
        TextColumn("{task.description:9}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    try:
        with Progress(*columns, console=console) as bars:
            train((eager, compiled), data, rng, options.epochs, options.batch_size, bars)
    except KeyboardInterrupt:
        console.print("Interrupted: what follows is about the steps so far.")
    if not compiled.losses:
        raise SystemExit("No step of both paradigms is done: nothing to compare.")
    compile_time = graph.compile_time + compiled.seconds[0]
    console.print(report(eager, compiled, compile_time, data, LIMIT[options.dtype]))
    options.out.mkdir(parents=True, exist_ok=True)
    losses, picture = options.out / "digits_loss.png", options.out / "digits_graph.svg"
    plot_losses((eager, compiled), losses)
    draw(graph.train, picture, title="One training step, as defined")
    console.print(f"Loss curves: {losses}\nTraining graph: {picture}", soft_wrap=True)
    return eager, compiled


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
