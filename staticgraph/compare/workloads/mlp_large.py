"""A training step of a classifier with two wide hidden layers: bound by matrix products."""

from __future__ import annotations

from typing import Any

import numpy as np

BATCH, INPUTS, HIDDEN, CLASSES = 256, 784, 512, 10
LATER_WEIGHTS = HIDDEN * HIDDEN + HIDDEN * CLASSES
WEIGHTS = INPUTS * HIDDEN + LATER_WEIGHTS

TITLE = "MLP 784-512-512-10, batch 256, cross entropy, SGD step"
PARAMETERS = ("w1", "b1", "w2", "b2", "w3", "b3")
OPTIMIZER = {"name": "SGD", "lr": 0.01}
BATCHED = ("x", "y")
DTYPE = "float32"
SCALED = "batch"


def needs(batch: int = BATCH) -> tuple[int, int]:
    """Bytes: the parameters read and written, the batch read. Operations: see below.

    Per weight and sample one multiply-add forward, one for its gradient; later ones carry it back.
    """
    moved = 4 * (2 * (WEIGHTS + 2 * HIDDEN + CLASSES) + batch * INPUTS) + 8 * batch
    return moved, 2 * batch * (2 * WEIGHTS + LATER_WEIGHTS)


BYTES, FLOPS = needs()


def data(rng: Any, batch: int = BATCH) -> dict[str, Any]:
    """Normal inputs, labels and parameters, scaled so that the layers keep their size."""

    def normal(*shape: int, scale: float = 0.1) -> Any:
        return (scale * rng.standard_normal(shape)).astype(np.float32)

    return {
        "x": normal(batch, INPUTS, scale=1.0),
        "y": rng.integers(0, CLASSES, batch),
        "w1": normal(INPUTS, HIDDEN, scale=0.05),
        "b1": normal(HIDDEN),
        "w2": normal(HIDDEN, HIDDEN, scale=0.05),
        "b2": normal(HIDDEN),
        "w3": normal(HIDDEN, CLASSES, scale=0.05),
        "b3": normal(CLASSES),
    }


def loss(
    sg: Any, x: object, y: object, w1: Any, b1: object, w2: Any, b2: Any, w3: Any, b3: Any
) -> Any:
    """Ours, in both paradigms."""
    h = sg.relu(x @ w1 + b1)
    h = sg.relu(h @ w2 + b2)
    return sg.cross_entropy(h @ w3 + b3, y)


def torch_loss(
    torch: Any, x: object, y: object, w1: Any, b1: object, w2: Any, b2: Any, w3: Any, b3: Any
) -> Any:
    """PyTorch's."""
    h = torch.relu(x @ w1 + b1)
    h = torch.relu(h @ w2 + b2)
    return torch.nn.functional.cross_entropy(h @ w3 + b3, y)


def jax_loss(
    jax: Any, x: object, y: Any, w1: Any, b1: object, w2: Any, b2: Any, w3: Any, b3: Any
) -> Any:
    """JAX's."""
    h = jax.nn.relu(x @ w1 + b1)
    h = jax.nn.relu(h @ w2 + b2)
    scores = jax.nn.log_softmax(h @ w3 + b3)
    return -jax.numpy.take_along_axis(scores, y[:, None], axis=1).mean()


def pytensor_loss(
    pytensor: Any, x: object, y: Any, w1: Any, b1: object, w2: Any, b2: Any, w3: Any, b3: Any
) -> Any:
    """PyTensor's."""
    pt = pytensor.tensor
    h = pt.maximum(x @ w1 + b1, np.float32(0))
    h = pt.maximum(h @ w2 + b2, np.float32(0))
    scores = pt.special.log_softmax(h @ w3 + b3, axis=-1)
    return -scores[pt.arange(y.shape[0]), y].mean()
