"""A sum of elementary functions of a million numbers, with the gradient: one pass over memory."""

from __future__ import annotations

from typing import Any

import numpy as np

ELEMENTS = 1_000_000

TITLE = "sum(tanh(x) exp(-x*x) + log1p(x*x)), 1e6 float32, value and gradient"
PARAMETERS = ("x",)
OPTIMIZER = None
BATCHED = ("x",)
DTYPE = "float32"
SCALED = "elements"


def needs(elements: int = ELEMENTS) -> tuple[int, int]:
    """Bytes: x read, its gradient written. Operations: tanh, exp and log1p count 16 each."""
    return 2 * elements * 4, elements * (3 * 16 + 16)


BYTES, FLOPS = needs()


def data(rng: Any, elements: int = ELEMENTS) -> dict[str, Any]:
    """Normal values."""
    return {"x": rng.standard_normal(elements).astype(np.float32)}


def loss(sg: Any, x: Any) -> Any:
    """Ours, in both paradigms."""
    return (sg.tanh(x) * sg.exp(-x * x) + sg.log1p(x * x)).sum()


def torch_loss(torch: Any, x: Any) -> Any:
    """PyTorch's."""
    return (torch.tanh(x) * torch.exp(-x * x) + torch.log1p(x * x)).sum()


def jax_loss(jax: Any, x: Any) -> Any:
    """JAX's."""
    np = jax.numpy
    return (np.tanh(x) * np.exp(-x * x) + np.log1p(x * x)).sum()


def pytensor_loss(pytensor: Any, x: Any) -> Any:
    """PyTensor's."""
    pt = pytensor.tensor
    return (pt.tanh(x) * pt.exp(-x * x) + pt.log1p(x * x)).sum()
