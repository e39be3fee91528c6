"""A training step of one transformer block (pre-norm attention, then a GELU network).

Vaswani et al., "Attention is all you need", 2017; the norm before each part as in Xiong et al.,
"On layer normalization in the transformer architecture", 2020, without scale and shift.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

BATCH, TOKENS, WIDTH, HEADS, HIDDEN = 8, 64, 128, 4, 512
PER_HEAD = WIDTH // HEADS
EPSILON = 1e-5
WEIGHTS = WIDTH * (3 * WIDTH + WIDTH + 2 * HIDDEN)

TITLE = "transformer block, batch 8, 64 tokens, 128 wide, 4 heads, SGD step"
PARAMETERS = ("w_qkv", "w_out", "w1", "b1", "w2", "b2")
OPTIMIZER = {"name": "SGD", "lr": 0.01}
BATCHED = ("x",)
DTYPE = "float32"
SCALED = "batch"


def needs(batch: int = BATCH) -> tuple[int, int]:
    """Bytes: the parameters read and written, the tokens read. Operations: see below.

    Multiply-adds: every product three times, but none back through the first norm; GELU and softmax
    with their gradients count 32.
    """
    moved = 4 * (2 * (WEIGHTS + HIDDEN + WIDTH) + batch * TOKENS * WIDTH)
    products = 3 * (WEIGHTS + 2 * TOKENS * WIDTH) - 3 * WIDTH * WIDTH
    return moved, batch * TOKENS * (2 * products + 32 * (HIDDEN + HEADS * TOKENS))


BYTES, FLOPS = needs()


def data(rng: Any, batch: int = BATCH) -> dict[str, Any]:
    """Normal tokens and parameters."""

    def normal(*shape: int, scale: float = 0.1) -> Any:
        return (scale * rng.standard_normal(shape)).astype(np.float32)

    return {
        "x": normal(batch, TOKENS, WIDTH, scale=1.0),
        "w_qkv": normal(WIDTH, 3 * WIDTH),
        "w_out": normal(WIDTH, WIDTH),
        "w1": normal(WIDTH, HIDDEN),
        "b1": normal(HIDDEN),
        "w2": normal(HIDDEN, WIDTH),
        "b2": normal(WIDTH),
    }


def loss(
    sg: Any, x: Any, w_qkv: object, w_out: object, w1: object, b1: Any, w2: Any, b2: Any
) -> Any:
    """Ours, in both paradigms."""
    batch = x.shape[0]
    qkv = (sg.layer_norm(x, WIDTH, eps=EPSILON) @ w_qkv).reshape(batch, TOKENS, 3, HEADS, PER_HEAD)
    q, k, v = (qkv[:, :, i].permute(0, 2, 1, 3) for i in range(3))
    weights = sg.softmax(q @ sg.swapaxes(k, -1, -2) / math.sqrt(PER_HEAD), -1)
    x = x + (weights @ v).permute(0, 2, 1, 3).reshape(batch, TOKENS, WIDTH) @ w_out
    x = x + sg.gelu(sg.layer_norm(x, WIDTH, eps=EPSILON) @ w1 + b1) @ w2 + b2
    return (x * x).mean()


def torch_loss(
    torch: Any, x: Any, w_qkv: object, w_out: object, w1: object, b1: Any, w2: Any, b2: Any
) -> Any:
    """PyTorch's."""
    functional = torch.nn.functional
    qkv = (functional.layer_norm(x, (WIDTH,)) @ w_qkv).reshape(-1, TOKENS, 3, HEADS, PER_HEAD)
    q, k, v = qkv.permute(2, 0, 3, 1, 4)
    weights = torch.softmax(q @ k.transpose(-1, -2) / math.sqrt(PER_HEAD), -1)
    x = x + (weights @ v).transpose(1, 2).reshape(-1, TOKENS, WIDTH) @ w_out
    x = x + functional.gelu(functional.layer_norm(x, (WIDTH,)) @ w1 + b1) @ w2 + b2
    return (x * x).mean()


def jax_loss(
    jax: Any, x: Any, w_qkv: object, w_out: object, w1: object, b1: Any, w2: Any, b2: Any
) -> Any:
    """JAX's."""
    qkv = (jax.nn.standardize(x, epsilon=EPSILON) @ w_qkv).reshape(-1, TOKENS, 3, HEADS, PER_HEAD)
    q, k, v = qkv.transpose(2, 0, 3, 1, 4)
    weights = jax.nn.softmax(q @ k.swapaxes(-1, -2) / math.sqrt(PER_HEAD), -1)
    x = x + (weights @ v).swapaxes(1, 2).reshape(-1, TOKENS, WIDTH) @ w_out
    h = jax.nn.standardize(x, epsilon=EPSILON) @ w1 + b1
    x = x + jax.nn.gelu(h, approximate=False) @ w2 + b2
    return (x * x).mean()
