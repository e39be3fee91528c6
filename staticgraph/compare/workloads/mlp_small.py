"""A training step of a classifier with one hidden layer: small products, where overhead shows."""

from __future__ import annotations

from typing import Any

import numpy as np

BATCH, INPUTS, HIDDEN, CLASSES = 64, 64, 128, 10
WEIGHTS = INPUTS * HIDDEN + HIDDEN * CLASSES

TITLE = "MLP 64-128-10, batch 64, cross entropy, SGD step"
PARAMETERS = ("w1", "b1", "w2", "b2")
OPTIMIZER = {"name": "SGD", "lr": 0.01}
BATCHED = ("x", "y")
DTYPE = "float32"
SCALED = "batch"


def needs(batch: int = BATCH) -> tuple[int, int]:
    """Bytes: the parameters read and written, the batch read. Operations: see below.

    Per weight and sample one multiply-add forward, one for its gradient; those of w2 carry it back.
    """
    moved = 4 * (2 * (WEIGHTS + HIDDEN + CLASSES) + batch * INPUTS) + 8 * batch
    return moved, 2 * batch * (2 * WEIGHTS + HIDDEN * CLASSES)


BYTES, FLOPS = needs()


def data(rng: Any, batch: int = BATCH) -> dict[str, Any]:
    """Normal inputs, labels and parameters."""

    def normal(*shape: int, scale: float = 0.1) -> Any:
        return (scale * rng.standard_normal(shape)).astype(np.float32)

    return {
        "x": normal(batch, INPUTS, scale=1.0),
        "y": rng.integers(0, CLASSES, batch),
        "w1": normal(INPUTS, HIDDEN),
        "b1": normal(HIDDEN),
        "w2": normal(HIDDEN, CLASSES),
        "b2": normal(CLASSES),
    }


def loss(sg: Any, x: object, y: object, w1: Any, b1: object, w2: Any, b2: Any) -> Any:
    """Ours, in both paradigms."""
    return sg.cross_entropy(sg.relu(x @ w1 + b1) @ w2 + b2, y)


def torch_loss(torch: Any, x: object, y: object, w1: Any, b1: object, w2: Any, b2: Any) -> Any:
    """PyTorch's."""
    return torch.nn.functional.cross_entropy(torch.relu(x @ w1 + b1) @ w2 + b2, y)


def jax_loss(jax: Any, x: object, y: Any, w1: Any, b1: object, w2: Any, b2: Any) -> Any:
    """JAX's."""
    scores = jax.nn.log_softmax(jax.nn.relu(x @ w1 + b1) @ w2 + b2)
    return -jax.numpy.take_along_axis(scores, y[:, None], axis=1).mean()


def pytensor_loss(pytensor: Any, x: object, y: Any, w1: Any, b1: object, w2: Any, b2: Any) -> Any:
    """PyTensor's."""
    pt = pytensor.tensor
    logits = pt.maximum(x @ w1 + b1, np.float32(0)) @ w2 + b2
    return -pt.special.log_softmax(logits, axis=-1)[pt.arange(y.shape[0]), y].mean()
