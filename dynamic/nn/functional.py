"""Functions of neural networks without state, with PyTorch's names."""

from __future__ import annotations

from typing import Any

from compiler import ops
from compiler.ops import (
    binary_cross_entropy_with_logits,
    cross_entropy,
    elu,
    gelu,
    layer_norm,
    leaky_relu,
    log_softmax,
    mse_loss,
    relu,
    sigmoid,
    silu,
    softmax,
    softplus,
    tanh,
)

__all__ = [
    "binary_cross_entropy_with_logits",
    "cross_entropy",
    "elu",
    "embedding",
    "gelu",
    "l1_loss",
    "layer_norm",
    "leaky_relu",
    "linear",
    "log_softmax",
    "mse_loss",
    "nll_loss",
    "relu",
    "sigmoid",
    "silu",
    "softmax",
    "softplus",
    "tanh",
]


def linear(input: Any, weight: Any, bias: Any = None) -> Any:
    """x @ weight.T + bias: (..., k), (n, k), (n,) -> (..., n)."""
    product = ops.matmul(input, ops.swapaxes(weight, -1, -2))
    return product if bias is None else product + bias


def embedding(input: Any, weight: Any) -> Any:
    """The rows of `weight` at integer indices: (...), (n, d) -> (..., d)."""
    return ops.take(weight, input, 0)


def l1_loss(input: Any, target: Any, reduction: str = "mean") -> Any:
    """The absolute difference; reduction 'mean', 'sum' or 'none'."""
    return _reduced(ops.absolute(input - target), reduction)


def nll_loss(input: Any, target: Any, reduction: str = "mean") -> Any:
    """-x[target], x log-probabilities (n, c) and target class indices (n,)."""
    picked = ops.take_along_axis(input, ops.expand_dims(target, 1), 1, wrap=False)
    return _reduced(-ops.squeeze(picked, 1), reduction)


def _reduced(losses: Any, reduction: str) -> Any:
    if reduction == "none":
        return losses
    return ops.mean(losses) if reduction == "mean" else ops.sum(losses)
