"""A language model of PyTorch's modules: an embedding, an LSTM, and a layer to the next character.

The training step is one function: called as it is, it runs eagerly; `sg.function` compiles it, with
the gradients and the optimizer's state, and the parameters of the module are updated in place.
"""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import dynamic as torch
import staticgraph as sg
from dynamic import nn

WIDTH, HIDDEN, LENGTH, BATCH, RATE = 32, 96, 32, 16, 3e-3


class Model(nn.Module):
    """Characters to the logits of what comes next."""

    def __init__(self, symbols: int) -> None:
        super().__init__()
        self.embed = nn.Embedding(symbols, WIDTH)
        self.lstm = nn.LSTM(WIDTH, HIDDEN, batch_first=True)
        self.head = nn.Linear(HIDDEN, symbols)

    def forward(self, x: Any) -> Any:
        """(batch, length) to (batch, length, symbols)."""
        states, _ = self.lstm(self.embed(x))
        return self.head(states)


def train(symbols: int, batches: Sequence[Any], compile: bool) -> list[float]:
    """The losses of a model that starts from the same weights each time."""
    torch.manual_seed(0)
    model = Model(symbols)
    optimizer = torch.optim.Adam(model.parameters(), lr=RATE)

    def step(x: Any, y: Any) -> Any:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x).transpose(1, 2), y)
        loss.backward()
        optimizer.step()
        return loss.detach()

    run = sg.function(step) if compile else step
    return [run(*map(torch.from_numpy, batch)).item() for batch in batches]


def main(arguments: Sequence[str] | None = None) -> dict[str, list[float]]:
    """Train in both paradigms, and print the losses."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=300)
    steps = parser.parse_args(arguments).steps
    text = Path(textwrap.__file__).read_text(encoding="utf-8")
    symbols, data = np.unique(list(text), return_inverse=True)
    rng = np.random.default_rng(0)
    places = rng.integers(0, len(data) - LENGTH - 1, (steps, BATCH, 1)) + np.arange(LENGTH)
    batches = [(data[one], data[one + 1]) for one in places]
    found = {
        "compiled": train(len(symbols), batches, compile=True),
        "eager": train(len(symbols), batches, compile=False),
    }
    for name, losses in found.items():
        print(f"{name:9} loss {losses[0]:.4f} -> {np.mean(losses[-10:]):.4f}")
    return found


if __name__ == "__main__":
    main()
