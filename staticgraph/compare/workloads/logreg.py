"""Logistic regression on many samples in float64: bound by reading them."""

from __future__ import annotations

from typing import Any

SAMPLES, FEATURES = 100_000, 50

TITLE = "logistic regression, 100,000 x 50 float64, value and gradient"
PARAMETERS = ("w",)
OPTIMIZER = None
BATCHED = ("x", "y")
DTYPE = "float64"
SCALED = "samples"


def needs(samples: int = SAMPLES) -> tuple[int, int]:
    """Bytes: samples and labels read once. Operations: softplus and sigmoid count 16 each."""
    return 8 * samples * (FEATURES + 1), samples * (4 * FEATURES + 2 * 16)


BYTES, FLOPS = needs()


def data(rng: Any, samples: int = SAMPLES) -> dict[str, Any]:
    """Normal samples, labels 0 and 1, normal weights."""
    return {
        "x": rng.standard_normal((samples, FEATURES)),
        "y": rng.integers(0, 2, samples).astype(float),
        "w": 0.1 * rng.standard_normal(FEATURES),
    }


def loss(sg: Any, x: object, y: object, w: Any) -> Any:
    """Ours, in both paradigms."""
    z = x @ w
    return (sg.softplus(z) - y * z).mean()


def torch_loss(torch: Any, x: object, y: object, w: Any) -> Any:
    """PyTorch's."""
    z = x @ w
    return (torch.nn.functional.softplus(z) - y * z).mean()


def jax_loss(jax: Any, x: object, y: object, w: Any) -> Any:
    """JAX's."""
    z = x @ w
    return (jax.nn.softplus(z) - y * z).mean()


def pytensor_loss(pytensor: Any, x: object, y: object, w: Any) -> Any:
    """PyTensor's."""
    z = x @ w
    return (pytensor.tensor.softplus(z) - y * z).mean()
