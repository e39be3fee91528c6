"""A classifier of synthetic images, trained on one process or several: the same losses on each.

    python examples/data_parallel.py
    mpiexec -n 4 python examples/data_parallel.py

Each rank reads its rows of every batch; the last batch of an epoch is short, so that ranks have not
as many rows each. A run that was ended goes on from its last file, on any number of ranks.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import staticgraph as sg
import staticgraph.distributed as dist

PIXELS, HIDDEN, CLASSES, BATCH = 64, 32, 10, 96


def images(seed: int, count: int = 1000) -> tuple[Any, Any]:
    """Noisy copies of ten pictures, and which it is: the same on all ranks."""
    rng = np.random.default_rng(seed)
    pictures = rng.normal(size=(CLASSES, PIXELS))
    labels = rng.integers(0, CLASSES, count)
    return (pictures[labels] + rng.normal(size=(count, PIXELS))).astype("float32"), labels


def classifier(seed: int) -> tuple[Any, Any]:
    """The training step, and the predictions."""
    rng = np.random.default_rng(seed)
    x = sg.placeholder("x", (None, PIXELS))
    y = sg.placeholder("y", (None,), "int64")
    w1 = sg.variable(rng.normal(0, 0.1, (PIXELS, HIDDEN)).astype("float32"), name="w1")
    w2 = sg.variable(rng.normal(0, 0.1, (HIDDEN, CLASSES)).astype("float32"), name="w2")
    logits = sg.relu(x @ w1) @ w2
    loss = dist.mean(sg.cross_entropy(logits, y), weight=x.shape[0])
    updates = sg.optim.Adam(lr=0.005).minimize(loss)
    train = sg.compile([x, y], loss, updates=updates, name="train")
    return train, sg.compile([x], sg.argmax(logits, axis=-1), name="predict")


def main(arguments: Sequence[str] | None = None) -> tuple[list[float], float]:
    """Train; the losses, and how many are right in the end."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--file", type=Path, help="where a run is kept, and goes on from")
    options = parser.parse_args(arguments)
    data, labels = images(0)
    train, predict = classifier(1)
    if options.file and options.file.exists():
        for name, saved in sg.load(options.file).variables.items():
            train.variables[name].value = saved.value
    losses = []
    for epoch in range(options.epochs):
        batches = dist.batches(data, labels, size=BATCH, seed=epoch, drop_last=False)
        losses += [float(train(*batch)) for batch in batches]
        if options.file:
            dist.save(train, options.file)
    dist.check_same(train)
    mine, wanted = dist.share(data), dist.share(labels)
    right = float(dist.sum(np.array((predict(mine) == wanted).sum()))) / len(data)
    if dist.rank == 0:
        print(f"{dist.size} ranks: loss {losses[0]:.4f} to {losses[-1]:.4f}, {right:.1%} right")
    return losses, right


if __name__ == "__main__":
    main()
