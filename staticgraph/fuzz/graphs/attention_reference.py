"""What attention means in NumPy: with all weights."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from staticgraph.compiler.core.values import Array
from staticgraph.fuzz.graphs.undefined import UndefinedError


def _weights(q: Array, k: Array, scale: float, causal: bool) -> Array:
    scores = scale * (q @ k.swapaxes(-1, -2))
    if causal:
        if not np.isfinite(scores).all():
            raise UndefinedError  # which rows see what is not finite is not specified
        scores = np.where(np.tri(*scores.shape[-2:], dtype=np.bool_), scores, -np.inf)
    e = np.exp(scores - np.max(scores, -1, keepdims=True, initial=-np.inf))
    return e / np.sum(e, -1, keepdims=True)


def _attention(q: Array, k: Array, v: Array, scale: float, causal: bool) -> Array:
    return _weights(q, k, scale, causal) @ v


def _gradients(q: Array, k: Array, v: Array, g: Array, scale: float, causal: bool) -> list[Array]:
    weights = _weights(q, k, scale, causal)
    by_weights = g @ v.swapaxes(-1, -2)
    mean = np.sum(weights * by_weights, -1, keepdims=True)
    by_scores = scale * weights * (by_weights - mean)
    turned = by_scores.swapaxes(-1, -2)
    return [by_scores @ k, turned @ q, weights.swapaxes(-1, -2) @ g]


def _public(q: Array, k: Array, v: Array, is_causal: bool, scale: float) -> Array:
    return _attention(q, k, v, scale, is_causal)


REFERENCE: dict[str, Callable[..., Any]] = {
    "attention": _attention, "attention_gradients": _gradients,
    "scaled_dot_product_attention": _public,
}  # fmt: skip
"""What they mean."""
