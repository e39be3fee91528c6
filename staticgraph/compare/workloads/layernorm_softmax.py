"""Layer norm, then softmax, over many rows, with all gradients: several passes over each row."""

from __future__ import annotations

from typing import Any

import numpy as np

ROWS, COLUMNS = 4096, 1024
EPSILON = 1e-5

TITLE = "sum(softmax(layer_norm(x))**2), 4096 x 1024 float32, value and gradients"
PARAMETERS = ("x", "weight", "bias")
OPTIMIZER = None
BATCHED = ("x",)
DTYPE = "float32"
SCALED = "rows"


def needs(rows: int = ROWS) -> tuple[int, int]:
    """Bytes: x read, its gradient written. Operations: exp counts 16."""
    return 2 * rows * COLUMNS * 4, rows * COLUMNS * (16 + 24)


BYTES, FLOPS = needs()


def data(rng: Any, rows: int = ROWS) -> dict[str, Any]:
    """Normal rows, scales of one and shifts of zero."""
    return {
        "x": rng.standard_normal((rows, COLUMNS)).astype(np.float32),
        "weight": np.ones(COLUMNS, np.float32),
        "bias": np.zeros(COLUMNS, np.float32),
    }


def loss(sg: Any, x: object, weight: object, bias: object) -> Any:
    """Ours, in both paradigms."""
    return (sg.softmax(sg.layer_norm(x, COLUMNS, weight, bias, EPSILON), -1) ** 2).sum()


def torch_loss(torch: Any, x: object, weight: object, bias: object) -> Any:
    """PyTorch's."""
    h = torch.nn.functional.layer_norm(x, (COLUMNS,), weight, bias)
    return (torch.softmax(h, -1) ** 2).sum()


def jax_loss(jax: Any, x: object, weight: object, bias: object) -> Any:
    """JAX's."""
    h = jax.nn.standardize(x, epsilon=EPSILON) * weight + bias
    return (jax.nn.softmax(h, -1) ** 2).sum()


def pytensor_loss(pytensor: Any, x: Any, weight: object, bias: object) -> Any:
    """PyTensor's."""
    pt = pytensor.tensor
    centred = x - x.mean(axis=-1, keepdims=True)
    variance = (centred**2).mean(axis=-1, keepdims=True)
    h = centred / pt.sqrt(variance + np.float32(EPSILON)) * weight + bias
    return (pt.special.softmax(h, axis=-1) ** 2).sum()
