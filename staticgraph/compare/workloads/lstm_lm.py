"""A training step of a language model of two LSTM layers, through time.

Hochreiter, Schmidhuber, "Long short-term memory", 1997, with forget gates; the order of the gates
and the shapes of the weights are PyTorch's.
"""

from __future__ import annotations

from typing import Any

import numpy as np

LAYERS = 2
BATCH, STEPS, WIDTH, WORDS = 32, 64, 256, 1000

TITLE = "LSTM language model: 2 layers x 256, 64 steps, batch 32, 1,000 words, SGD step"
PARAMETERS = (
    "embedding",
    *(f"{name}{i}" for i in range(LAYERS) for name in ("w_in", "w_state", "b_in", "b_state")),
    "w_out", "b_out",
)  # fmt: skip
OPTIMIZER = {"name": "SGD", "lr": 0.01}
BATCHED = ("words", "following")
DTYPE = "float32"
SCALED = "batch"


def data(
    rng: Any, batch: int = BATCH, steps: int = STEPS, width: int = WIDTH, words: int = WORDS
) -> dict[str, Any]:
    """Words, those that follow them, and parameters as PyTorch begins with."""
    most = 1 / np.sqrt(width)

    def uniform(*shape: int) -> Any:
        return rng.uniform(-most, most, shape).astype(np.float32)

    text = rng.integers(0, words, (batch, steps + 1))
    arrays = {"words": text[:, :-1].copy(), "following": text[:, 1:].copy()}
    arrays["embedding"] = rng.standard_normal((words, width)).astype(np.float32)
    for i in range(LAYERS):
        arrays |= {f"{name}{i}": uniform(4 * width, width) for name in ("w_in", "w_state")}
        arrays |= {f"{name}{i}": uniform(4 * width) for name in ("b_in", "b_state")}
    return arrays | {"w_out": uniform(words, width), "b_out": uniform(words)}


def needs(
    batch: int = BATCH, steps: int = STEPS, width: int = WIDTH, words: int = WORDS
) -> tuple[int, int]:
    """Bytes: parameters read and written. Every product is done three times."""
    weights = LAYERS * 8 * width * width + width * words
    elementary = 5 * 16 * LAYERS * width + 16 * words
    return 4 * 2 * (weights + words * width), batch * steps * (6 * weights + elementary)


BYTES, FLOPS = needs()


def loss(sg: Any, words: Any, following: Any, embedding: Any, **w: Any) -> Any:
    """Ours, static and eager."""
    batch, width = words.shape[0], embedding.shape[1]
    x = sg.swapaxes(sg.take(embedding, words, axis=0), 0, 1)
    zeros = sg.zeros((batch, width))
    for i in range(LAYERS):
        w_in, w_state, b = w[f"w_in{i}"], w[f"w_state{i}"], w[f"b_in{i}"] + w[f"b_state{i}"]

        def cell(state: Any, now: Any, w_in: Any = w_in, w_state: Any = w_state, b: Any = b) -> Any:
            h, c = state
            gates = now @ w_in.T + h @ w_state.T + b
            enter, forget, new, out = (gates[:, j * width : (j + 1) * width] for j in range(4))
            c = sg.sigmoid(forget) * c + sg.sigmoid(enter) * sg.tanh(new)
            h = sg.sigmoid(out) * sg.tanh(c)
            return (h, c), h

        _, x = sg.scan(cell, (zeros, zeros), x)
    logits = sg.swapaxes(x, 0, 1) @ w["w_out"].T + w["b_out"]
    return sg.cross_entropy(logits.reshape(-1, embedding.shape[0]), following.reshape(-1))


def torch_loss(torch: Any, words: Any, following: Any, embedding: Any, **w: Any) -> Any:
    """PyTorch's, with its fused LSTM."""
    zeros = torch.zeros(LAYERS, words.shape[0], embedding.shape[1])
    weights = [
        w[f"{name}{i}"] for i in range(LAYERS) for name in ("w_in", "w_state", "b_in", "b_state")
    ]
    # biases, layers, dropout, training, both directions, batch first
    x, _, _ = torch.lstm(
        embedding[words], (zeros, zeros), weights, True, LAYERS, 0.0, True, False, True
    )
    logits = x @ w["w_out"].T + w["b_out"]
    return torch.nn.functional.cross_entropy(
        logits.reshape(-1, embedding.shape[0]), following.reshape(-1)
    )


def jax_loss(jax: Any, words: Any, following: Any, embedding: Any, **w: Any) -> Any:
    """JAX's."""
    np = jax.numpy
    x = embedding[words].swapaxes(0, 1)
    zeros = np.zeros((words.shape[0], embedding.shape[1]), np.float32)
    for i in range(LAYERS):
        w_in, w_state, b = w[f"w_in{i}"], w[f"w_state{i}"], w[f"b_in{i}"] + w[f"b_state{i}"]

        def cell(state: Any, now: Any, w_in: Any = w_in, w_state: Any = w_state, b: Any = b) -> Any:
            h, c = state
            gates = now @ w_in.T + h @ w_state.T + b
            enter, forget, new, out = np.split(gates, 4, axis=-1)
            c = jax.nn.sigmoid(forget) * c + jax.nn.sigmoid(enter) * np.tanh(new)
            h = jax.nn.sigmoid(out) * np.tanh(c)
            return (h, c), h

        _, x = jax.lax.scan(cell, (zeros, zeros), x)
    scores = jax.nn.log_softmax(x.swapaxes(0, 1) @ w["w_out"].T + w["b_out"])
    return -np.take_along_axis(scores, following[..., None], axis=-1).mean()
