"""A variational autoencoder of handwritten digits (Kingma, Welling 2014), trained by Adam.

The normal numbers of each step come from a key, so that both paradigms draw the same.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.datasets import load_digits

import dynamic
import staticgraph as sg

PIXELS, HIDDEN, LATENT, BATCH, RATE = 64, 96, 8, 64, 2e-3


def initial(rng: np.random.Generator) -> dict[str, Any]:
    """Weights and biases of encoder and decoder."""
    shapes = {
        "encode": (PIXELS, HIDDEN), "mean": (HIDDEN, LATENT), "log_var": (HIDDEN, LATENT),
        "decode": (LATENT, HIDDEN), "pixels": (HIDDEN, PIXELS),
    }  # fmt: skip
    found = {name: rng.normal(0, shape[0] ** -0.5, shape) for name, shape in shapes.items()}
    found |= {f"{name}_bias": np.zeros(shape[1]) for name, shape in shapes.items()}
    return {name: array.astype("float32") for name, array in found.items()}


def dense(p: Mapping[str, Any], name: str, x: Any) -> Any:
    """An affine layer."""
    return x @ p[name] + p[f"{name}_bias"]


def loss(p: Mapping[str, Any], x: Any, key: Any) -> Any:
    """Minus the evidence's lower bound, per image."""
    h = sg.tanh(dense(p, "encode", x))
    mean, log_var = dense(p, "mean", h), dense(p, "log_var", h)
    z = mean + sg.exp(0.5 * log_var) * sg.random.normal(key, (BATCH, LATENT), "float32")
    logits = dense(p, "pixels", sg.tanh(dense(p, "decode", z)))
    image = sg.binary_cross_entropy_with_logits(logits, x, reduction="sum")
    divergence = 0.5 * sg.sum(mean * mean + sg.exp(log_var) - log_var - 1.0)
    return (image + divergence) / BATCH


def compiled(start: Mapping[str, Any], batches: Sequence[Any]) -> list[float]:
    """Train with one compiled step."""
    p = {name: sg.variable(array, name) for name, array in start.items()}
    x, key = sg.placeholder("x", (BATCH, PIXELS)), sg.placeholder("key", (), "int64")
    value = loss(p, x, key)
    train = sg.compile([x, key], value, updates=sg.optim.Adam(RATE).minimize(value))
    return [float(train(*batch)) for batch in batches]


def eager(start: Mapping[str, Any], batches: Sequence[Any]) -> list[float]:
    """Train on tensors."""
    p = {name: dynamic.tensor(array, requires_grad=True) for name, array in start.items()}
    optimizer = dynamic.optim.Adam(p.values(), lr=RATE)
    losses = []
    for x, key in batches:
        optimizer.zero_grad()
        value = loss(p, dynamic.tensor(x), dynamic.tensor(key))
        value.backward()
        optimizer.step()
        losses.append(value.item())
    return losses


def main(arguments: Sequence[str] | None = None) -> dict[str, list[float]]:
    """Train in both paradigms, and print the losses."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=1000)
    steps = parser.parse_args(arguments).steps
    images = load_digits(return_X_y=True)[0].astype("float32") / 16
    rng = np.random.default_rng(0)
    rows = rng.integers(0, len(images), (steps, BATCH))
    keys = sg.random.split(sg.random.key(0), steps)
    batches = [(images[one], key) for one, key in zip(rows, keys, strict=True)]
    start = initial(rng)
    found = {one.__name__: one(start, batches) for one in (compiled, eager)}
    for name, losses in found.items():
        print(f"{name:9} loss {losses[0]:.3f} -> {np.mean(losses[-10:]):.3f}")
    return found


if __name__ == "__main__":
    main()
