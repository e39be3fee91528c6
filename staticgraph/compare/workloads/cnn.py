"""A training step of a small convolutional classifier of images."""

from __future__ import annotations

from typing import Any

import numpy as np

BATCH, SIDE, CLASSES = 32, 28, 10
FIRST, SECOND, WINDOW = 16, 32, 3
SIDE1 = SIDE - WINDOW + 1  # after the first convolution; pooling halves it
SIDE2 = SIDE1 // 2 - WINDOW + 1
FLAT = SECOND * (SIDE2 // 2) ** 2

TITLE = "CNN 28x28: two convolutions 3x3 (16, 32) with pooling, batch 32, SGD step"
PARAMETERS = ("w1", "b1", "w2", "b2", "w3", "b3")
OPTIMIZER = {"name": "SGD", "lr": 0.01}
BATCHED = ("x", "y")
DTYPE = "float32"
SCALED = "batch"


def needs(batch: int = BATCH) -> tuple[int, int]:
    """Bytes: the parameters read and written, the images read. Operations: see below.

    Multiply-adds forward and for the weights' gradients; the later layers carry it back.
    """
    parameters = FIRST * WINDOW**2 + FIRST + SECOND * FIRST * WINDOW**2 + SECOND
    moved = 4 * (2 * (parameters + (FLAT + 1) * CLASSES) + batch * SIDE**2)
    first, second = SIDE1**2 * FIRST * WINDOW**2, SIDE2**2 * SECOND * FIRST * WINDOW**2
    return moved, 2 * batch * (2 * first + 3 * second + 3 * FLAT * CLASSES)


BYTES, FLOPS = needs()


def data(rng: Any, batch: int = BATCH) -> dict[str, Any]:
    """Normal images, labels and parameters."""

    def normal(*shape: int, scale: float = 0.1) -> Any:
        return (scale * rng.standard_normal(shape)).astype(np.float32)

    return {
        "x": normal(batch, 1, SIDE, SIDE, scale=1.0),
        "y": rng.integers(0, CLASSES, batch),
        "w1": normal(FIRST, 1, WINDOW, WINDOW),
        "b1": normal(FIRST),
        "w2": normal(SECOND, FIRST, WINDOW, WINDOW),
        "b2": normal(SECOND),
        "w3": normal(FLAT, CLASSES),
        "b3": normal(CLASSES),
    }


def loss(
    sg: Any, x: object, y: object, w1: object, b1: object, w2: Any, b2: Any, w3: Any, b3: Any
) -> Any:
    """Ours, in both paradigms."""
    h = sg.max_pool2d(sg.relu(sg.conv2d(x, w1, b1)), 2)
    h = sg.max_pool2d(sg.relu(sg.conv2d(h, w2, b2)), 2)
    return sg.cross_entropy(h.reshape(h.shape[0], FLAT) @ w3 + b3, y)


def torch_loss(
    torch: Any, x: object, y: object, w1: object, b1: object, w2: Any, b2: Any, w3: Any, b3: Any
) -> Any:
    """PyTorch's."""
    functional = torch.nn.functional
    h = functional.max_pool2d(torch.relu(functional.conv2d(x, w1, b1)), 2)
    h = functional.max_pool2d(torch.relu(functional.conv2d(h, w2, b2)), 2)
    return functional.cross_entropy(h.flatten(1) @ w3 + b3, y)


def jax_loss(
    jax: Any, x: object, y: Any, w1: object, b1: object, w2: Any, b2: Any, w3: Any, b3: Any
) -> Any:
    """JAX's."""
    lax = jax.lax

    def layer(h: Any, w: object, b: Any) -> Any:
        h = lax.conv_general_dilated(h, w, (1, 1), "VALID") + b[:, None, None]
        window = (1, 1, 2, 2)
        return lax.reduce_window(jax.nn.relu(h), -jax.numpy.inf, lax.max, window, window, "VALID")

    h = layer(layer(x, w1, b1), w2, b2)
    scores = jax.nn.log_softmax(h.reshape(h.shape[0], FLAT) @ w3 + b3)
    return -jax.numpy.take_along_axis(scores, y[:, None], axis=1).mean()
