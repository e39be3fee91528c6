"""The log posterior of a Gaussian mixture: the function of one sample, mapped over all.

The objective is that of the benchmark suite ADBench: Srajer, Kukelova, Fitzgibbon, "A benchmark of
selected algorithmic differentiation tools on some problems in computer vision and machine
learning", 2018, section 2.1. A component has a logit, a mean, and the factor of its inverse
covariance: logarithms of the diagonal, and what is below it, row by row. The prior is Wishart's.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

SAMPLES, SIDE, COMPONENTS = 10_000, 10, 25
GAMMA, FREEDOM = 1.0, 0  # of the prior
HALF_LOG = 0.5 * math.log(2 * math.pi)  # of each sample and dimension

TITLE = "Gaussian mixture (ADBench): 10,000 samples, d = 10, K = 25, float64, value and gradient"
PARAMETERS = ("logits", "means", "diagonals", "below")
OPTIMIZER = None
BATCHED = ("x",)
DTYPE = "float64"
SCALED = "samples"


def data(
    rng: Any, samples: int = SAMPLES, side: int = SIDE, components: int = COMPONENTS
) -> dict[str, Any]:
    """Normal samples and parameters."""
    return {
        "x": rng.standard_normal((samples, side)),
        "logits": rng.standard_normal(components),
        "means": rng.uniform(0, 1, (components, side)),
        "diagonals": 0.5 * rng.standard_normal((components, side)),
        "below": 0.5 * rng.standard_normal((components, side * (side - 1) // 2)),
    }


def needs(
    samples: int = SAMPLES, side: int = SIDE, components: int = COMPONENTS
) -> tuple[int, int]:
    """Operations: a triangle times a vector three times, its square, and an exponential."""
    inner = 3 * side * (side + 1) + 4 * side + 2 * 16
    return 8 * samples * side, samples * components * inner


BYTES, FLOPS = needs()


def _prior_constant(components: int, side: int) -> float:
    """The logarithm of the prior's norm."""
    n = side + FREEDOM + 1
    log_gamma = 0.25 * side * (side - 1) * math.log(math.pi) + sum(
        math.lgamma(0.5 * (n - j)) for j in range(side)
    )
    return components * (n * side * (math.log(GAMMA) - 0.5 * math.log(2)) - log_gamma)


def loss(sg: Any, x: Any, logits: Any, means: Any, diagonals: Any, below: Any) -> Any:
    """Ours, static."""
    side = means.shape[1]
    rows, columns = np.tril_indices(side, -1)

    def component(sample: Any, logit: Any, mean: Any, diagonal: Any, under: Any) -> Any:
        factor = sg.index_put(sg.zeros((side, side), "float64"), (rows, columns), under)
        apart = sample - mean
        whitened = sg.exp(diagonal) * apart + factor @ apart
        return logit + sg.sum(diagonal) - 0.5 * sg.sum(whitened * whitened)

    def likelihood(sample: Any) -> Any:
        parts = sg.vmap(lambda *one: component(sample, *one))(logits, means, diagonals, below)
        return sg.logsumexp(parts, 0)

    norm = sg.logsumexp(logits, 0) + HALF_LOG * side
    fitted = sg.sum(sg.vmap(likelihood)(x)) - x.shape[0] * norm
    squares = sg.sum(sg.exp(diagonals) ** 2) + sg.sum(below * below)
    prior = 0.5 * GAMMA**2 * squares - FREEDOM * sg.sum(diagonals)
    return fitted - prior + _prior_constant(logits.shape[0], side)


def torch_loss(torch: Any, x: Any, logits: Any, means: Any, diagonals: Any, below: Any) -> Any:
    """PyTorch's."""
    side = means.shape[1]
    rows, columns = torch.tril_indices(side, side, -1)

    def component(sample: Any, logit: Any, mean: Any, diagonal: Any, under: Any) -> Any:
        empty = torch.zeros(side, side, dtype=torch.float64)
        factor = torch.index_put(empty, (rows, columns), under)
        apart = sample - mean
        whitened = torch.exp(diagonal) * apart + factor @ apart
        return logit + diagonal.sum() - 0.5 * (whitened * whitened).sum()

    def likelihood(sample: Any) -> Any:
        parts = torch.func.vmap(lambda *one: component(sample, *one))(
            logits, means, diagonals, below
        )
        return torch.logsumexp(parts, 0)

    norm = torch.logsumexp(logits, 0) + HALF_LOG * side
    fitted = torch.func.vmap(likelihood)(x).sum() - x.shape[0] * norm
    squares = (torch.exp(diagonals) ** 2).sum() + (below * below).sum()
    prior = 0.5 * GAMMA**2 * squares - FREEDOM * diagonals.sum()
    return fitted - prior + _prior_constant(logits.shape[0], side)


eager_loss = torch_loss


def jax_loss(jax: Any, x: Any, logits: Any, means: Any, diagonals: Any, below: Any) -> Any:
    """JAX's."""
    np = jax.numpy
    side = means.shape[1]
    rows, columns = np.tril_indices(side, -1)

    def component(sample: Any, logit: Any, mean: Any, diagonal: Any, under: Any) -> Any:
        factor = np.zeros((side, side)).at[rows, columns].set(under)
        apart = sample - mean
        whitened = np.exp(diagonal) * apart + factor @ apart
        return logit + diagonal.sum() - 0.5 * (whitened * whitened).sum()

    def likelihood(sample: Any) -> Any:
        parts = jax.vmap(lambda *one: component(sample, *one))(logits, means, diagonals, below)
        return jax.nn.logsumexp(parts)

    norm = jax.nn.logsumexp(logits) + HALF_LOG * side
    fitted = jax.vmap(likelihood)(x).sum() - x.shape[0] * norm
    squares = (np.exp(diagonals) ** 2).sum() + (below * below).sum()
    prior = 0.5 * GAMMA**2 * squares - FREEDOM * diagonals.sum()
    return fitted - prior + _prior_constant(logits.shape[0], side)
