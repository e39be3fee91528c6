"""Linear maps, embeddings and dropout."""

from __future__ import annotations

from typing import Any

import numpy as np

from compiler import ops
from compiler.core.errors import OptionError, OutOfRangeError
from compiler.core.refusals import refuse
from dynamic.errors import AutogradError
from dynamic.tape.grad_mode import no_grad
from dynamic.tensors.random_numbers import generator
from dynamic.tensors.tensor import has_values

__all__ = ["bilinear", "dropout", "embedding", "linear", "one_hot"]


def linear(input: Any, weight: Any, bias: Any = None) -> Any:
    """x @ weight.T + bias: (..., k), (n, k), (n,) -> (..., n); a vector as weight gives (...)."""
    matrix = weight if weight.ndim == 1 else ops.swapaxes(weight, -1, -2)
    product = ops.matmul(input, matrix)
    return product if bias is None else product + bias


def bilinear(input1: Any, input2: Any, weight: Any, bias: Any = None) -> Any:
    """x weight[k] y + bias[k] for each k: (..., i), (..., j), (k, i, j), (k,) -> (..., k)."""
    outputs, first, second = weight.shape
    flat = ops.reshape(ops.transpose(weight, (1, 0, 2)), (first, outputs * second))
    products = ops.matmul(input1, flat)
    products = ops.reshape(products, (*input1.shape[:-1], outputs, second))
    result = ops.squeeze(ops.matmul(products, ops.expand_dims(input2, -1)), -1)
    return result if bias is None else result + bias


def embedding(
    input: Any,
    weight: Any,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Any:
    """The rows of `weight` at integer indices: (...), (n, d) -> (..., d).

    The row `padding_idx` gets no gradient. Rows with a norm above `max_norm` are scaled down to it
    in place first. Gradients are dense, whatever `sparse` says; scale_grad_by_freq is refused.
    """
    if scale_grad_by_freq:
        raise OptionError("embedding: scale_grad_by_freq=True is not supported")
    rows = weight.shape[0]
    if padding_idx is not None:
        if not -rows <= padding_idx < rows:
            raise OptionError("Padding_idx must be within num_embeddings")
        padding_idx %= rows
    if has_values(input):
        indices = input._array
        if indices.dtype.kind not in "iu":
            raise AutogradError(
                "Expected tensor for argument #1 'indices' to have one of the following scalar "
                f"types: Long, Int; but got {input.type()} instead (while checking arguments for "
                "embedding)"
            )
        if indices.size and (indices.min() < 0 or indices.max() >= rows):
            raise OutOfRangeError("index out of range in self")
    if max_norm is not None:
        if not has_values(input) or not has_values(weight):
            refuse(
                "embedding: max_norm changes the weight, which a graph cannot",
                "limit the weight outside",
            )
        _limit_rows(weight, np.unique(input._array), max_norm, norm_type)
    result = ops.take(weight, input, 0)
    if padding_idx is None:
        return result
    padding = ops.expand_dims(ops.equal(input, padding_idx), -1)
    return ops.where(padding, ops.stop_gradient(result), result)


def _limit_rows(weight: Any, rows: Any, max_norm: float, norm_type: float) -> None:
    values = weight._array[rows]
    norms = np.linalg.norm(values, norm_type, axis=1, keepdims=True)
    scale = np.where(norms > max_norm, max_norm / (norms + 1e-7), 1)
    limited = weight._array.copy()
    limited[rows] = values * scale
    with no_grad():
        weight.copy_(limited)


def one_hot(tensor: Any, num_classes: int = -1) -> Any:
    """1 at each index along a new last axis, 0 elsewhere: (...) -> (..., c), int64.

    c is one more than the largest index if `num_classes` is -1.
    """
    if not has_values(tensor):
        if num_classes < 0:
            refuse("one_hot: num_classes must be given in a symbolic graph", "give it")
        return ops.one_hot(tensor, num_classes, "int64")
    indices = tensor._array
    if not indices.size and num_classes <= 0:
        raise AutogradError("Can not infer total number of classes from empty tensor.")
    if indices.size and indices.min() < 0:
        raise AutogradError("Class values must be non-negative.")
    if num_classes == -1:
        num_classes = int(indices.max()) + 1
    elif indices.size and indices.max() >= num_classes:
        raise AutogradError("Class values must be smaller than num_classes.")
    return ops.one_hot(tensor, num_classes, "int64")


def dropout(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    """Each element 0 with probability p, else divided by 1 - p, if `training`; x if not.

    The random numbers are those that `manual_seed` starts (Srivastava et al. 2014).
    """
    if p < 0.0 or p > 1.0:
        raise OptionError(f"dropout probability has to be between 0 and 1, but got {p}")
    if not training or p == 0:
        return input
    if not has_values(input):
        refuse(
            "dropout: a graph would repeat its random numbers",
            "call eval() first, or take the mask as an argument",
        )
    kept = generator().random(tuple(input.shape), np.float32) >= p
    dtype = np.dtype(input.dtype)
    mask = kept.astype(dtype) if p == 1 else np.where(kept, dtype.type(1 / (1 - p)), dtype.type(0))
    return input.mul_(input.constant(mask)) if inplace else input * input.constant(mask)
