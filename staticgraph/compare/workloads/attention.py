"""Causal attention of long sequences, with all gradients.

Vaswani et al., "Attention is all you need", 2017, section 3.2.1.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

HEADS, TOKENS, WIDTH = 8, 1024, 64

TITLE = "causal attention, 1 x 8 x 1024 x 64 float32, value and gradients"
PARAMETERS = ("q", "k", "v")
OPTIMIZER = None
BATCHED = ("q", "k", "v", "seed")
DTYPE = "float32"
SCALED = "tokens"


def data(rng: Any, tokens: int = TOKENS, heads: int = HEADS, width: int = WIDTH) -> dict[str, Any]:
    """Normal queries, keys, values, and what the result is weighted by."""
    shape = (1, heads, tokens, width)
    return {name: rng.standard_normal(shape).astype(np.float32) for name in ("q", "k", "v", "seed")}


def needs(tokens: int = TOKENS, heads: int = HEADS, width: int = WIDTH) -> tuple[int, int]:
    """Bytes: four arrays read, three written. Operations: a half of two products and of four more.

    A softmax counts 16 for its exponential and 8 for the rest with the gradient.
    """
    return 4 * 7 * heads * tokens * width, heads * tokens**2 // 2 * (6 * 2 * width + 24)


BYTES, FLOPS = needs()


def loss(sg: Any, q: Any, k: Any, v: Any, seed: Any) -> Any:
    """Ours, static."""
    return sg.sum(sg.scaled_dot_product_attention(q, k, v, is_causal=True) * seed)


def torch_loss(torch: Any, q: Any, k: Any, v: Any, seed: Any) -> Any:
    """PyTorch's, with its fused attention."""
    attention = torch.nn.functional.scaled_dot_product_attention
    return (attention(q, k, v, is_causal=True) * seed).sum()


eager_loss = torch_loss


def jax_loss(jax: Any, q: Any, k: Any, v: Any, seed: Any) -> Any:
    """JAX's, which has the heads after the tokens."""
    q, k, v = (one.swapaxes(1, 2) for one in (q, k, v))
    mixed = jax.nn.dot_product_attention(q, k, v, is_causal=True)
    return (mixed.swapaxes(1, 2) * seed).sum()


def pytensor_loss(pytensor: Any, q: Any, k: Any, v: Any, seed: Any) -> Any:
    """PyTensor's."""
    pt = pytensor.tensor
    tokens, width = q.type.shape[-2:]
    later = np.triu(np.full((tokens, tokens), -np.inf, np.float32), 1)
    scores = q @ k.swapaxes(-1, -2) / np.float32(math.sqrt(width)) + later
    return (pt.special.softmax(scores, axis=-1) @ v * seed).sum()
