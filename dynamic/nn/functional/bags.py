"""Sums, means and maxima of embeddings."""

from __future__ import annotations

from typing import Any

import numpy as np

from compiler import ops
from compiler.core.errors import OptionError
from dynamic.nn.errors import UnsupportedError
from dynamic.nn.functional.linear import embedding
from dynamic.tensors.tensor import wrap

__all__ = ["embedding_bag"]


def embedding_bag(
    input: Any,
    weight: Any,
    offsets: Any = None,
    max_norm: float | None = None,
    norm_type: float = 2,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Any = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Any:
    """The rows of `weight` at indices, summed, averaged or the largest: bags -> (bags, d).

    The bags are the rows of `input` (n, l), or begin in the vector `input` at `offsets`; an empty
    one gives zeros. The row `padding_idx` is left out. `per_sample_weights` weighs the rows of a
    sum. Gradients are dense, whatever `sparse` says; scale_grad_by_freq is refused.
    """
    if mode not in ("sum", "mean", "max"):
        raise OptionError("mode has to be one of sum, mean or max")
    if per_sample_weights is not None and mode != "sum":
        raise UnsupportedError(
            "embedding_bag: per_sample_weights was not None. per_sample_weights is only supported "
            f"for mode='sum' (got mode='{mode}'). Please open a feature request on GitHub."
        )
    if input.ndim == 2:
        if offsets is not None:
            raise OptionError(
                "if input is 2D, then offsets has to be None, as input is treated is a mini-batch "
                f"of fixed length sequences. However, found offsets of type {type(offsets)}"
            )
        count, length = input.shape
        bags = np.repeat(np.arange(count), length)
    elif input.ndim == 1:
        if offsets is None:
            raise OptionError("offsets has to be a 1D Tensor but got None")
        starts = offsets._array
        count = len(starts) - include_last_offset
        bags = np.searchsorted(starts[:count], np.arange(input.shape[0]), "right") - 1
    else:
        raise OptionError(
            f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.ndim}"
        )
    flat = ops.reshape(input, (-1,))
    if padding_idx is not None:
        kept = flat._array != padding_idx % weight.shape[0]
        flat, bags = wrap(flat._array[kept]), bags[kept]
        if per_sample_weights is not None:
            places = np.flatnonzero(kept)
            per_sample_weights = ops.take(ops.reshape(per_sample_weights, (-1,)), places, 0)
    rows = embedding(flat, weight, None, max_norm, norm_type, scale_grad_by_freq, sparse)
    if per_sample_weights is not None:
        rows = rows * ops.reshape(per_sample_weights, (-1, 1))
    return _largest(rows, bags, count) if mode == "max" else _total(rows, bags, count, mode)


def _total(rows: Any, bags: Any, count: int, mode: str) -> Any:
    total = ops.take_add(rows, wrap(bags), 0, count)
    if mode == "sum":
        return total
    sizes = np.maximum(np.bincount(bags, minlength=count), 1).astype(rows._array.dtype)
    return total / rows.constant(sizes[:, None])


def _largest(rows: Any, bags: Any, count: int) -> Any:
    """The largest element per bag and column; of equal ones the first."""
    values = rows._array
    best = np.full((count, values.shape[1]), -1)
    columns = np.arange(values.shape[1])
    for place, bag in enumerate(bags):
        old = best[bag]
        better = (old < 0) | (values[place] > values[old, columns])
        best[bag] = np.where(better, place, old)
    if not len(values):
        return rows.constant(np.zeros(best.shape, values.dtype))
    found = ops.take_along_axis(rows, wrap(np.maximum(best, 0)), 0)
    return ops.where(rows.constant(best >= 0), found, 0)
