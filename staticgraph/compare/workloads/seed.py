"""x * x + sin(2 y) on two scalars, with both gradients: what a call costs when there is no work."""

from __future__ import annotations

from typing import Any

import numpy as np

TITLE = "x*x + sin(2y) of two scalars, value and gradients"
PARAMETERS = ("x", "y")
OPTIMIZER = None
BATCHED = ()
DTYPE = "float32"
BYTES = 5 * 4
FLOPS = 2 * 16 + 7  # sine and cosine counted as 16 each


def data(_rng: object) -> dict[str, Any]:
    """Two scalars."""
    return {"x": np.array(4, np.float32), "y": np.array(3.14159265, np.float32)}


def loss(sg: Any, x: Any, y: Any) -> Any:
    """Ours, in both paradigms."""
    return x * x + sg.sin(2 * y)


def torch_loss(torch: Any, x: Any, y: Any) -> Any:
    """PyTorch's."""
    return x * x + torch.sin(2 * y)


def jax_loss(jax: Any, x: Any, y: Any) -> Any:
    """JAX's."""
    return x * x + jax.numpy.sin(2 * y)


def pytensor_loss(pytensor: Any, x: Any, y: Any) -> Any:
    """PyTensor's."""
    return x * x + pytensor.tensor.sin(2 * y)
