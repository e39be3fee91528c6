"""A training step of a recurrent net, through time: many small products, one after the other."""

from __future__ import annotations

from typing import Any

import numpy as np

STEPS, BATCH, WIDTH = 100, 32, 64

TITLE = "RNN of 100 steps, batch 32, 64 wide, tanh, SGD step"
PARAMETERS = ("w_in", "w_state", "b")
OPTIMIZER = {"name": "SGD", "lr": 0.01}
BATCHED = ()
DTYPE = "float32"
SCALED = "steps"


def needs(steps: int = STEPS) -> tuple[int, int]:
    """Bytes: the parameters read and written, the inputs read. Operations: see below.

    Per step two products forward, two for the weights' gradients, one back to the state before;
    tanh counts 16.
    """
    moved = 4 * (2 * (2 * WIDTH * WIDTH + WIDTH) + steps * BATCH * WIDTH)
    return moved, steps * BATCH * WIDTH * (5 * 2 * WIDTH + 16)


BYTES, FLOPS = needs()


def data(rng: Any, steps: int = STEPS) -> dict[str, Any]:
    """Normal inputs and parameters."""

    def normal(*shape: int, scale: float = 0.1) -> Any:
        return (scale * rng.standard_normal(shape)).astype(np.float32)

    return {
        "x": normal(steps, BATCH, WIDTH, scale=1.0),
        "w_in": normal(WIDTH, WIDTH),
        "w_state": normal(WIDTH, WIDTH),
        "b": normal(WIDTH),
    }


def loss(sg: Any, x: object, w_in: Any, w_state: object, b: object) -> Any:
    """Ours, in both paradigms."""

    def step(h: Any, now: object) -> Any:
        return sg.tanh(now @ w_in + h @ w_state + b), None

    h, _ = sg.scan(step, sg.zeros((BATCH, WIDTH)), x)
    return (h * h).mean()


def torch_loss(torch: Any, x: Any, w_in: object, w_state: object, b: object) -> Any:
    """PyTorch's."""
    h = torch.zeros(BATCH, WIDTH)
    for t in range(x.shape[0]):
        h = torch.tanh(x[t] @ w_in + h @ w_state + b)
    return (h * h).mean()


def jax_loss(jax: Any, x: object, w_in: Any, w_state: Any, b: object) -> Any:
    """JAX's."""
    np = jax.numpy

    def step(h: object, now: object) -> Any:
        return np.tanh(now @ w_in + h @ w_state + b), None

    h, _ = jax.lax.scan(step, np.zeros((BATCH, WIDTH), np.float32), x)
    return (h * h).mean()


def pytensor_loss(pytensor: Any, x: object, w_in: Any, w_state: Any, b: object) -> Any:
    """PyTensor's."""
    pt = pytensor.tensor

    def step(now: object, h: object, w_in: Any, w_state: Any, b: object) -> Any:
        return pt.tanh(now @ w_in + h @ w_state + b)

    states = pytensor.scan(
        step,
        sequences=[x],
        outputs_info=[pt.zeros((BATCH, WIDTH), dtype="float32")],
        non_sequences=[w_in, w_state, b],
        return_updates=False,
    )
    return (states[-1] ** 2).mean()
