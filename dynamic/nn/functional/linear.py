"""Linear and bilinear maps."""

from __future__ import annotations

from typing import Any

from staticgraph.compiler import ops
from staticgraph.dynamic.tensors.tensor import PLAIN

__all__ = ["bilinear", "linear"]


def linear(input: object, weight: Any, bias: object = None) -> Any:
    """x @ weight.T + bias: (..., k), (n, k), (n,) -> (..., n); a vector as weight gives (...)."""
    if type(weight) in PLAIN and weight._array.ndim == 2:
        matrix = weight.t()
    else:
        matrix = weight if weight.ndim == 1 else ops.swapaxes(weight, -1, -2)
    product = ops.matmul(input, matrix)
    return product if bias is None else product + bias


def bilinear(input1: Any, input2: object, weight: Any, bias: object = None) -> Any:
    """x weight[k] y + bias[k] for each k: (..., i), (..., j), (k, i, j), (k,) -> (..., k)."""
    outputs, first, second = weight.shape
    flat = ops.reshape(ops.transpose(weight, (1, 0, 2)), (first, outputs * second))
    products = ops.matmul(input1, flat)
    products = ops.reshape(products, (*input1.shape[:-1], outputs, second))
    result = ops.squeeze(ops.matmul(products, ops.expand_dims(input2, -1)), -1)
    return result if bias is None else result + bias
