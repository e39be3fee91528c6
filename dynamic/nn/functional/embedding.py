"""Embeddings, their sums, means and maxima, and indices as one-hot vectors: PyTorch's refusals.

What is computed is `staticgraph.compiler.layers.embedding`, which both paradigms share.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core.errors import OptionError, OutOfRangeError
from staticgraph.compiler.core.op import Attrs
from staticgraph.compiler.core.refusals import refuse
from staticgraph.compiler.layers.embedding import MODES, bags_of, of_bags, of_matrix, rows_of
from staticgraph.compiler.reference.indices import check_range
from staticgraph.dynamic.core.dtypes import INT64
from staticgraph.dynamic.core.eager_ops import scaled_back
from staticgraph.dynamic.core.errors import AutogradError
from staticgraph.dynamic.core.user_warnings import warn
from staticgraph.dynamic.kernels.dispatch import LARGE
from staticgraph.dynamic.nn.errors import AssertedError, UnsupportedError
from staticgraph.dynamic.nn.functional.few import are_few
from staticgraph.dynamic.nn.functional.required import require
from staticgraph.dynamic.tape.grad_mode import mode, no_grad, paused
from staticgraph.dynamic.tensors.naming import called
from staticgraph.dynamic.tensors.recorders import Recorder
from staticgraph.dynamic.tensors.tensor import PLAIN, has_values, wrap
from staticgraph.dynamic.tensors.values import values_of

__all__ = ["embedding", "embedding_bag", "one_hot"]

_NEGATIVE = "Class values must be non-negative."
_DENSE = (
    "sparse=True: the gradient of the weight is dense here, with zeros in the rows that were not "
    "looked up. All optimizers take it; optim.SparseAdam changes only the rows that are not all 0"
)
_LARGE = "Class values must be smaller than num_classes."


@called("Embedding")
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
    in place first. Gradients are dense: `sparse` warns of it. With `scale_grad_by_freq` the
    gradient of a row is divided by how often its index occurs.

    Example:
        >>> nn.functional.embedding(dynamic.tensor([1, 1, 0]), dynamic.tensor([[1.0], [2.0]]))
        tensor([[2.],
                [2.],
                [1.]])
    """
    if sparse:
        warn(_DENSE)
    if padding_idx is None and max_norm is None and not scale_grad_by_freq:
        found = _of_few(input, weight)
        if found is not None:
            return found
    if len(weight.shape) != 2:
        raise AutogradError(f"'weight' must be 2-D: embedding of shape {list(weight.shape)}")
    rows = weight.shape[0]
    if padding_idx is not None:
        if not -rows <= padding_idx < rows:
            raise AssertedError("Padding_idx must be within num_embeddings")
        padding_idx %= rows
    checked = has_values(input)
    if checked:
        indices = input._array
        if indices.dtype not in (np.int64, np.int32):
            raise AutogradError(
                "Expected tensor for argument #1 'indices' to have one of the following scalar "
                f"types: Long, Int; but got {input.type()} instead (while checking arguments for "
                "embedding)"
            )
        if indices.size and (indices.min() < 0 or indices.max() >= rows):
            bad = indices[(indices < 0) | (indices >= rows)].flat[0]
            raise OutOfRangeError(
                f"index out of range in self: embedding of {bad}, with {rows} rows"
            )
    if max_norm is not None:
        if not checked or not has_values(weight):
            refuse(
                "embedding: max_norm changes the weight, which a graph cannot",
                "limit the weight outside",
            )
        _limit_rows(weight, np.unique(input._array), max_norm, norm_type)
    found = ops.take(weight, input, 0) if checked else ops.take(weight, input, 0, wrap=False)
    if scale_grad_by_freq:
        found = _by_frequency(found, input, checked)
    return rows_of(found, input, padding_idx)


def _by_frequency(rows: Any, input: Any, checked: bool) -> Any:
    """The rows, with gradients divided by how often the index of each occurs."""
    if not checked:
        refuse("embedding: scale_grad_by_freq counts indices, which a graph cannot", "leave it out")
    _, place, counts = np.unique(input._array, return_inverse=True, return_counts=True)
    share = 1 / counts.astype(rows._array.dtype)
    scale = share[place].reshape(*input.shape, 1)
    return rows._apply(scaled_back, (rows, rows._constant(scale)), {})


_recorder = Recorder(ops.take, 2)
_ROWS: Attrs = {"axis": 0}


def _of_few(input: Any, weight: Any) -> Any:
    """The short way of a small plain weight and int64 indices that fit; None for all else."""
    if not are_few(weight, input, LARGE) or (paused and mode.capture is not None):
        return None
    table, indices = weight._array, input._array
    if table.ndim != 2 or indices.dtype is not INT64 or indices.size >= LARGE:
        return None
    try:
        rows = check_range("embedding", indices, len(table), wrap=False)
    except OutOfRangeError:
        return None
    return _recorder.function(table.take(rows, 0), _ROWS, weight, input)


def _limit_rows(weight: Any, rows: object, max_norm: float, norm_type: float) -> None:
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

    Example:
        >>> nn.functional.one_hot(dynamic.tensor([2, 0]), 3)
        tensor([[0, 0, 1],
                [1, 0, 0]])
    """
    if not has_values(tensor):
        if num_classes < 0:
            refuse("one_hot: num_classes must be given in a symbolic graph", "give it")
        require(ops.greater_equal(tensor, 0), AutogradError(_NEGATIVE))
        require(ops.less(tensor, num_classes), AutogradError(_LARGE))
        return ops.one_hot(tensor, num_classes, "int64")
    indices = tensor._array
    if not indices.size and num_classes <= 0:
        raise AutogradError("Can not infer total number of classes from empty tensor.")
    if indices.size and indices.min() < 0:
        raise AutogradError(_NEGATIVE)
    if num_classes == -1:
        num_classes = int(indices.max()) + 1
    elif indices.size and indices.max() >= num_classes:
        raise AutogradError(_LARGE)
    if type(tensor) in PLAIN and type(num_classes) is int and indices.dtype.kind in "iu":
        return wrap(ops.one_hot.evaluate(indices, classes=num_classes, dtype=INT64))
    return ops.one_hot(tensor, num_classes, "int64")


@called("EmbeddingBag", "offsets")
def embedding_bag(
    input: Any,
    weight: Any,
    offsets: Any = None,
    max_norm: float | None = None,
    norm_type: float = 2,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: object = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Any:
    """The rows of `weight` at indices, summed, averaged or the largest: bags -> (bags, d).

    The bags are the rows of `input` (n, l), or begin in the vector `input` at `offsets`; an empty
    one gives zeros. The row `padding_idx` is left out. `per_sample_weights` weighs the rows of a
    sum. Gradients are dense: `sparse` warns of it. `scale_grad_by_freq`: see `embedding`.

    Example:
        >>> table = dynamic.tensor([[1.0], [2.0], [4.0]])
        >>> nn.functional.embedding_bag(
        ...     dynamic.tensor([0, 1, 2]), table, dynamic.tensor([0, 2]), mode="sum"
        ... )
        tensor([[3.],
                [4.]])
    """
    if mode not in MODES:
        raise OptionError("mode has to be one of sum, mean or max")
    if per_sample_weights is not None and mode != "sum":
        raise UnsupportedError(
            "embedding_bag: per_sample_weights was not None. per_sample_weights is only supported "
            f"for mode='sum' (got mode='{mode}'). Please open a feature request on GitHub."
        )
    if scale_grad_by_freq and mode == "max":
        raise OptionError("max mode does not support scaling the gradient by the frequency")
    if input.ndim == 2:
        if offsets is not None:
            raise OptionError(
                "if input is 2D, then offsets has to be None, as input is treated is a mini-batch "
                f"of fixed length sequences. However, found offsets of type {type(offsets)}"
            )
        rows = embedding(input, weight, None, max_norm, norm_type, scale_grad_by_freq, sparse)
        if per_sample_weights is not None:
            rows = rows * ops.expand_dims(per_sample_weights, 2)
        kept = None if padding_idx is None else input != padding_idx % weight.shape[0]
        return of_matrix(rows, kept, mode)
    if input.ndim == 1:
        if offsets is None:
            raise OptionError("offsets has to be a 1D Tensor but got None")
        bags, count = _bags(input, offsets, include_last_offset)
    else:
        raise OptionError(
            f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.ndim}"
        )
    kept = None if padding_idx is None else input != padding_idx % weight.shape[0]
    rows = embedding(input, weight, None, max_norm, norm_type, scale_grad_by_freq, sparse)
    if per_sample_weights is not None:
        rows = rows * ops.reshape(per_sample_weights, (-1, 1))
    return of_bags(rows, bags, count, kept, mode)


def _bags(input: Any, offsets: Any, include_last: bool) -> tuple[Any, Any]:
    """The number of the bag of each index, and how many bags there are."""
    if not has_values(offsets):
        return bags_of(input, offsets, include_last)
    starts = values_of(offsets)
    count = len(starts) - include_last
    places = np.searchsorted(starts[:count], np.arange(input.shape[0]), "right") - 1
    return wrap(places), count
