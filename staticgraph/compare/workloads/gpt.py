"""A training step of a small character GPT with AdamW.

Radford et al., "Language models are unsupervised multitask learners", 2019, without biases and
without the scales and shifts of the norms.
"""

from __future__ import annotations

from typing import Any

import numpy as np

LAYERS, HEADS, CHARACTERS = 4, 8, 65
BATCH, TOKENS, WIDTH = 16, 128, 256
EPSILON = 1e-5

TITLE = "character GPT: 4 layers, 256 wide, 8 heads, 128 tokens, batch 16, AdamW step"
PARAMETERS = (
    "characters", "places",
    *(f"{name}{i}" for i in range(LAYERS) for name in ("qkv", "out", "up", "down")),
    "head",
)  # fmt: skip
OPTIMIZER = {"name": "AdamW", "lr": 1e-3, "weight_decay": 0.01}
BATCHED = ("tokens", "following")
DTYPE = "float32"
SCALED = "batch"


def data(rng: Any, batch: int = BATCH, tokens: int = TOKENS, width: int = WIDTH) -> dict[str, Any]:
    """Characters, those that follow them, and normal parameters."""

    def normal(*shape: int) -> Any:
        return (0.02 * rng.standard_normal(shape)).astype(np.float32)

    text = rng.integers(0, CHARACTERS, (batch, tokens + 1))
    arrays = {"tokens": text[:, :-1].copy(), "following": text[:, 1:].copy()}
    arrays |= {"characters": normal(CHARACTERS, width), "places": normal(tokens, width)}
    for i in range(LAYERS):
        arrays |= {
            f"qkv{i}": normal(width, 3 * width), f"out{i}": normal(width, width),
            f"up{i}": normal(width, 4 * width), f"down{i}": normal(4 * width, width),
        }  # fmt: skip
    return arrays | {"head": normal(width, CHARACTERS)}


def needs(batch: int = BATCH, tokens: int = TOKENS, width: int = WIDTH) -> tuple[int, int]:
    """Bytes: parameters and moments read and written. Every product is done three times."""
    weights = LAYERS * 12 * width * width + width * CHARACTERS
    moved = 4 * 6 * (weights + (CHARACTERS + tokens) * width) + 16 * batch * tokens
    attention = LAYERS * tokens * width  # a half of the scores and of their products with values
    elementary = 32 * LAYERS * (4 * width + HEADS * tokens // 2)  # GELU, softmax, with gradients
    return moved, batch * tokens * (6 * (weights + attention) + elementary)


BYTES, FLOPS = needs()


def loss(sg: Any, tokens: Any, following: Any, characters: Any, places: Any, **w: Any) -> Any:
    """Ours, static."""
    batch, length = tokens.shape
    width = characters.shape[1]
    x = sg.take(characters, tokens, axis=0) + places
    for i in range(LAYERS):
        qkv = (sg.layer_norm(x, width, eps=EPSILON) @ w[f"qkv{i}"]).reshape(
            batch, length, 3, HEADS, width // HEADS
        )
        q, k, v = (qkv[:, :, j].permute(0, 2, 1, 3) for j in range(3))
        mixed = sg.scaled_dot_product_attention(q, k, v, is_causal=True)
        mixed = mixed.permute(0, 2, 1, 3).reshape(batch, length, width)
        x = x + mixed @ w[f"out{i}"]
        x = x + sg.gelu(sg.layer_norm(x, width, eps=EPSILON) @ w[f"up{i}"]) @ w[f"down{i}"]
    logits = sg.layer_norm(x, width, eps=EPSILON) @ w["head"]
    return sg.cross_entropy(logits.reshape(-1, CHARACTERS), following.reshape(-1))


def torch_loss(
    torch: Any, tokens: Any, following: Any, characters: Any, places: Any, **w: Any
) -> Any:
    """PyTorch's, with its fused attention."""
    functional = torch.nn.functional
    batch, length = tokens.shape
    width = characters.shape[1]
    x = characters[tokens] + places
    for i in range(LAYERS):
        qkv = functional.layer_norm(x, (width,), eps=EPSILON) @ w[f"qkv{i}"]
        qkv = qkv.reshape(batch, length, 3, HEADS, width // HEADS)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + mixed.transpose(1, 2).reshape(batch, length, width) @ w[f"out{i}"]
        h = functional.gelu(functional.layer_norm(x, (width,), eps=EPSILON) @ w[f"up{i}"])
        x = x + h @ w[f"down{i}"]
    logits = functional.layer_norm(x, (width,), eps=EPSILON) @ w["head"]
    return functional.cross_entropy(logits.reshape(-1, CHARACTERS), following.reshape(-1))


eager_loss = torch_loss


def jax_loss(jax: Any, tokens: Any, following: Any, characters: Any, places: Any, **w: Any) -> Any:
    """JAX's."""
    np = jax.numpy
    batch, length = tokens.shape
    width = characters.shape[1]

    def norm(x: Any) -> Any:
        return jax.nn.standardize(x, epsilon=EPSILON)

    x = characters[tokens] + places
    for i in range(LAYERS):
        qkv = (norm(x) @ w[f"qkv{i}"]).reshape(batch, length, 3, HEADS, width // HEADS)
        q, k, v = (qkv[:, :, j] for j in range(3))
        mixed = jax.nn.dot_product_attention(q, k, v, is_causal=True)
        x = x + mixed.reshape(batch, length, width) @ w[f"out{i}"]
        x = x + jax.nn.gelu(norm(x) @ w[f"up{i}"], approximate=False) @ w[f"down{i}"]
    scores = jax.nn.log_softmax(norm(x) @ w["head"])
    return -np.take_along_axis(scores, following[..., None], axis=-1).mean()
