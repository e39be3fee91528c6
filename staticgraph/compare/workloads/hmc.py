"""A trajectory of Hamiltonian Monte Carlo for Bayesian logistic regression.

Neal, "MCMC using Hamiltonian dynamics", 2011, section 2.3: every leapfrog step needs the gradient
of the potential.
"""

from __future__ import annotations

from typing import Any

import numpy as np

SAMPLES, FEATURES, STEPS = 1000, 25, 1000
RATE = 0.002

TITLE = "HMC: 1,000 leapfrog steps, logistic regression of 1,000 x 25 float64"
PARAMETERS = ()
OPTIMIZER = None
BATCHED = ("x", "y")
DTYPE = "float64"
SCALED = "samples"


def data(rng: Any, samples: int = SAMPLES, features: int = FEATURES) -> dict[str, Any]:
    """Normal samples, labels 0 and 1; where the trajectory begins, and with what momentum."""
    x = rng.standard_normal((samples, features))
    truth = rng.standard_normal(features)
    return {
        "x": x,
        "y": (x @ truth + rng.logistic(size=samples) > 0).astype(float),
        "position": 0.1 * rng.standard_normal(features),
        "momentum": rng.standard_normal(features),
    }


def needs(samples: int = SAMPLES, features: int = FEATURES) -> tuple[int, int]:
    """Operations: a gradient for each step, which the next one begins with, and one more."""
    return 8 * samples * (features + 1), (STEPS + 1) * samples * (4 * features + 16)


BYTES, FLOPS = needs()


def loss(sg: Any, x: Any, y: Any, position: Any, momentum: Any) -> Any:
    """Ours, static: where the trajectory ends."""

    def potential(q: Any) -> Any:
        z = x @ q
        return sg.sum(sg.softplus(z) - y * z) + 0.5 * sg.sum(q * q)

    slope = sg.grad(potential)

    def leapfrog(state: Any, _: object) -> Any:
        q, p = state
        p = p - 0.5 * RATE * slope(q)
        q = q + RATE * p
        p = p - 0.5 * RATE * slope(q)
        return (q, p), None

    (position, momentum), _ = sg.scan(leapfrog, (position, momentum), length=STEPS)
    return sg.stack([position, momentum])


def torch_loss(torch: Any, x: Any, y: Any, position: Any, momentum: Any) -> Any:
    """PyTorch's."""

    def potential(q: Any) -> Any:
        z = x @ q
        return (torch.nn.functional.softplus(z) - y * z).sum() + 0.5 * (q * q).sum()

    slope = torch.func.grad(potential)
    q, p = position, momentum
    for _ in range(STEPS):
        p = p - 0.5 * RATE * slope(q)
        q = q + RATE * p
        p = p - 0.5 * RATE * slope(q)
    return torch.stack([q, p])


eager_loss = torch_loss


def jax_loss(jax: Any, x: Any, y: Any, position: Any, momentum: Any) -> Any:
    """JAX's."""
    np = jax.numpy

    def potential(q: Any) -> Any:
        z = x @ q
        return (jax.nn.softplus(z) - y * z).sum() + 0.5 * (q * q).sum()

    slope = jax.grad(potential)

    def leapfrog(state: Any, _: object) -> Any:
        q, p = state
        p = p - 0.5 * RATE * slope(q)
        q = q + RATE * p
        p = p - 0.5 * RATE * slope(q)
        return (q, p), None

    (position, momentum), _ = jax.lax.scan(leapfrog, (position, momentum), length=STEPS)
    return np.stack([position, momentum])


def pytensor_loss(pytensor: Any, x: Any, y: Any, position: Any, momentum: Any) -> Any:
    """PyTensor's."""
    pt = pytensor.tensor
    rate, half = np.float64(RATE), np.float64(0.5 * RATE)

    def slope(q: Any, x: Any, y: Any) -> Any:
        z = x @ q
        return pytensor.grad((pt.softplus(z) - y * z).sum() + 0.5 * (q * q).sum(), q)

    def leapfrog(q: Any, p: Any, x: Any, y: Any) -> Any:
        p = p - half * slope(q, x, y)
        q = q + rate * p
        return q, p - half * slope(q, x, y)

    positions, momenta = pytensor.scan(
        leapfrog,
        outputs_info=[position, momentum],
        non_sequences=[x, y],
        n_steps=STEPS,
        return_updates=False,
    )
    return pt.stack([positions[-1], momenta[-1]])
