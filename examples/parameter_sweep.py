"""A sweep over learning rate and weight decay, in several processes that compile nothing.

The executables are compiled here, and sent with their variables as they are: a worker builds them
anew from their graph, finds the kernels in the cache on disk, and has variables of its own. With
STATICGRAPH_LOG=compile,cache each process tells what it compiles, and what it loads.
"""

from __future__ import annotations

import argparse
import copy
import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

import joblib
import numpy as np
from sklearn.datasets import load_digits

import staticgraph as sg

RATES = (0.03, 0.1, 0.3)
DECAYS = (0.0, 1e-4, 1e-2)
TRAINED = 1437
BATCH = 100


class Network(NamedTuple):
    """A compiled training step and predictions; they share the variables, in each process."""

    train: Any
    predict: Any

    def fit(self, rate: float, decay: float, epochs: int, x: Any, y: Any) -> float:
        """The part of the images behind the first 1,437 that is told right, after training."""
        train, predict = copy.deepcopy(self)  # with one process all tasks are given the same
        train.variables["rate"].value = np.float32(rate)
        train.variables["decay"].value = np.float32(decay)
        rng = np.random.default_rng(0)
        for _ in range(epochs):
            order = rng.permutation(TRAINED)
            for first in range(0, TRAINED, BATCH):
                rows = order[first : first + BATCH]
                train(x[rows], y[rows])
        return float(np.mean(predict(x[TRAINED:]) == y[TRAINED:]))


def network(hidden: int) -> Network:
    """One hidden layer; learning rate and weight decay are variables, so no part of the code."""
    rng = np.random.default_rng(0)
    x = sg.placeholder("x", (None, 64))
    y = sg.placeholder("y", (None,), "int64")
    sizes = (64, hidden, 10)
    weights = [
        sg.variable(rng.normal(0, n**-0.5, (n, m)).astype("float32"), name=f"w{n}")
        for n, m in itertools.pairwise(sizes)
    ]
    biases = [sg.variable(np.zeros(m, "float32"), name=f"b{m}") for m in sizes[1:]]
    rate, decay = (sg.variable(np.float32(0), name=name) for name in ("rate", "decay"))
    logits = sg.relu(x @ weights[0] + biases[0]) @ weights[1] + biases[1]
    penalty = decay * (sg.sum(weights[0] ** 2) + sg.sum(weights[1] ** 2))
    loss = sg.cross_entropy(logits, y) + penalty
    updates = sg.optim.SGD(lr=rate, momentum=0.9).minimize(loss, [*weights, *biases])
    return Network(
        sg.compile([x, y], loss, updates=updates, name="train"),
        sg.compile([x], sg.argmax(logits, axis=-1), name="predict"),
    )


def main(arguments: Sequence[str] | None = None) -> dict[tuple[float, float], float]:
    """Train once for each pair of parameters, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--hidden", type=int, default=32)
    options = parser.parse_args(arguments)
    images, digits = load_digits(return_X_y=True)
    x, y = (images / 16).astype("float32"), digits.astype("int64")
    net = network(options.hidden)
    net.train.wait(), net.predict.wait()  # the kernels are in the cache from here on
    pairs = list(itertools.product(RATES, DECAYS))
    task = joblib.delayed(Network.fit)
    found = joblib.Parallel(n_jobs=options.processes)(
        task(net, rate, decay, options.epochs, x, y) for rate, decay in pairs
    )
    print("rate \\ decay" + "".join(f"{decay:>9g}" for decay in DECAYS))
    for i, rate in enumerate(RATES):
        row = found[i * len(DECAYS) : (i + 1) * len(DECAYS)]
        print(f"{rate:12g}" + "".join(f"{one:9.1%}" for one in row))
    return dict(zip(pairs, found, strict=True))


if __name__ == "__main__":
    main()
