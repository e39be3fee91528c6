"""A convolutional network with batch normalisation, on handwritten digits.

The training step is one function of PyTorch's modules: called as it is, it runs eagerly;
`sg.function` compiles it, running statistics included. Both are then evaluated on other images.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.datasets import load_digits

import dynamic as torch
import staticgraph as sg
from dynamic import nn

BATCH, RATE, MOMENTUM, TESTED = 64, 0.05, 0.9, 360


def network() -> Any:
    """8 x 8 images to the logits of ten digits, from the same weights each time."""
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16), nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1, bias=False), nn.BatchNorm2d(32), nn.ReLU(),
        nn.MaxPool2d(2), nn.Flatten(), nn.Linear(128, 10),
    )  # fmt: skip


def train(batches: Sequence[Any], test: tuple[Any, Any], compile: bool) -> tuple[list[float], Any]:
    """The losses, and the accuracy on images that were not seen."""
    model = network()
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE, momentum=MOMENTUM)

    def step(x: Any, y: Any) -> Any:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss.detach()

    run = sg.function(step) if compile else step
    losses = [run(*map(torch.from_numpy, batch)).item() for batch in batches]
    model.eval()
    with torch.no_grad():
        found = model(torch.from_numpy(test[0])).argmax(1).numpy()
    return losses, float(np.mean(found == test[1]))


def main(arguments: Sequence[str] | None = None) -> dict[str, Any]:
    """Train in both paradigms, and print losses and accuracies."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=200)
    steps = parser.parse_args(arguments).steps
    images, digits = load_digits(return_X_y=True)
    x = images.astype("float32").reshape(-1, 1, 8, 8) / 16
    order = np.random.default_rng(0).permutation(len(x))
    x, y = x[order], digits[order].astype("int64")
    rows = np.random.default_rng(1).integers(TESTED, len(x), (steps, BATCH))
    batches = [(x[one], y[one]) for one in rows]
    found: dict[str, Any] = {}
    for name in ("compiled", "eager"):
        test = x[:TESTED], y[:TESTED]
        found[name], accuracy = train(batches, test, compile=name == "compiled")
        found[f"{name} accuracy"] = accuracy
        print(f"{name:9} loss {np.mean(found[name][-10:]):.4f}, of other images {accuracy:.1%}")
    return found


if __name__ == "__main__":
    main()
