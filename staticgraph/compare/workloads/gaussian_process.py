"""The marginal likelihood of a Gaussian process, by a Cholesky factor.

Rasmussen, Williams, "Gaussian processes for machine learning", 2006, algorithm 2.1, with a squared
exponential kernel that has a length for each input.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

SAMPLES, INPUTS = 1000, 4
CONSTANT = 0.5 * math.log(2 * math.pi)  # of each sample

TITLE = "Gaussian process: log marginal likelihood of 1,000 samples float64, value and gradient"
PARAMETERS = ("log_lengths", "log_scale", "log_noise")
OPTIMIZER = None
BATCHED = ("x", "y")
DTYPE = "float64"
SCALED = "samples"


def data(rng: Any, samples: int = SAMPLES) -> dict[str, Any]:
    """Samples of a smooth function with noise, and hyperparameters."""
    x = rng.uniform(-2, 2, (samples, INPUTS))
    y = np.sin(x).sum(1) + 0.1 * rng.standard_normal(samples)
    return {
        "x": x,
        "y": y,
        "log_lengths": 0.1 * rng.standard_normal(INPUTS),
        "log_scale": np.array(0.2),
        "log_noise": np.array(-1.5),
    }


def needs(samples: int = SAMPLES) -> tuple[int, int]:
    """Operations: the factor, its inverse and the product that is the inverse of the matrix."""
    return 8 * samples * (INPUTS + 1), samples**3 + samples**2 * (16 + 6 * INPUTS)


BYTES, FLOPS = needs()


def loss(sg: Any, x: Any, y: Any, log_lengths: Any, log_scale: Any, log_noise: Any) -> Any:
    """Ours, static."""
    samples = x.shape[0]
    z = x / sg.exp(log_lengths)
    squares = sg.sum(z * z, 1)
    distances = sg.maximum(squares[:, None] + squares[None, :] - 2 * (z @ z.T), 0)
    kernel = sg.exp(2 * log_scale - 0.5 * distances)
    places = sg.arange(samples)
    noise = sg.where(places[:, None] == places[None, :], sg.exp(2 * log_noise), 0)
    factor = sg.linalg.cholesky(kernel + noise)
    half = sg.linalg.solve_triangular(factor, y[:, None])
    diagonal = sg.take_along_axis(factor, places[:, None], axis=1)
    return sg.sum(0.5 * half * half + sg.log(diagonal) + CONSTANT)


def torch_loss(torch: Any, x: Any, y: Any, log_lengths: Any, log_scale: Any, log_noise: Any) -> Any:
    """PyTorch's."""
    samples = x.shape[0]
    z = x / torch.exp(log_lengths)
    squares = (z * z).sum(1)
    distances = (squares[:, None] + squares[None, :] - 2 * (z @ z.T)).clamp(min=0)
    kernel = torch.exp(2 * log_scale - 0.5 * distances)
    noise = torch.exp(2 * log_noise) * torch.eye(samples, dtype=x.dtype)
    factor = torch.linalg.cholesky(kernel + noise)
    half = torch.linalg.solve_triangular(factor, y[:, None], upper=False)
    return (0.5 * half[:, 0] ** 2 + factor.diagonal().log() + CONSTANT).sum()


eager_loss = torch_loss


def jax_loss(jax: Any, x: Any, y: Any, log_lengths: Any, log_scale: Any, log_noise: Any) -> Any:
    """JAX's."""
    np = jax.numpy
    samples = x.shape[0]
    z = x / np.exp(log_lengths)
    squares = (z * z).sum(1)
    distances = np.maximum(squares[:, None] + squares[None, :] - 2 * (z @ z.T), 0)
    kernel = np.exp(2 * log_scale - 0.5 * distances)
    factor = np.linalg.cholesky(kernel + np.exp(2 * log_noise) * np.eye(samples))
    half = jax.scipy.linalg.solve_triangular(factor, y, lower=True)
    return (0.5 * half * half + np.log(np.diagonal(factor)) + CONSTANT).sum()


def pytensor_loss(
    pytensor: Any, x: Any, y: Any, log_lengths: Any, log_scale: Any, log_noise: Any
) -> Any:
    """PyTensor's."""
    pt = pytensor.tensor
    samples = x.shape[0]
    z = x / pt.exp(log_lengths)
    squares = (z * z).sum(1)
    distances = pt.maximum(squares[:, None] + squares[None, :] - 2 * (z @ z.T), 0)
    kernel = pt.exp(2 * log_scale - 0.5 * distances)
    noise = pt.exp(2 * log_noise) * pt.eye(samples, dtype="float64")
    factor = pt.linalg.cholesky(kernel + noise)
    half = pt.linalg.solve_triangular(factor, y, lower=True)
    return (0.5 * half * half + pt.log(pt.diagonal(factor)) + np.float64(CONSTANT)).sum()
