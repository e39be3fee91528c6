"""Items put together to batches: tensors stacked, numbers made tensors, containers kept."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, MutableMapping, MutableSequence, Sequence
from typing import Any

import numpy as np

from staticgraph.dynamic.core.errors import ArgumentError, AutogradError
from staticgraph.dynamic.operations.functions import stack
from staticgraph.dynamic.tensors.creation import as_tensor, tensor
from staticgraph.dynamic.tensors.tensor import Tensor


def default_convert(data: Any) -> Any:
    """Arrays as tensors, in any nesting of containers; everything else as it is.

    Example:
        >>> dynamic.utils.data.default_convert(np.zeros(2))
        tensor([0., 0.], dtype=torch.float64)
    """
    if isinstance(data, Tensor):
        return data
    if isinstance(data, np.ndarray | np.generic):
        return data if data.dtype.kind in "SUO" else as_tensor(data)
    if isinstance(data, Mapping):
        return _mapped(data, {key: default_convert(data[key]) for key in data})
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*map(default_convert, data))
    if isinstance(data, tuple):
        return [default_convert(one) for one in data]
    if isinstance(data, Sequence) and not isinstance(data, str | bytes):
        return _listed(data, [default_convert(one) for one in data])
    return data


def default_collate(batch: Sequence[Any]) -> Any:
    """Items as one batch.

    Tensors and arrays are stacked along a new first axis, numbers become tensors (floats in
    float64), strings stay a list; dicts, named tuples, tuples and lists are put together one by
    one.

    Raises:
        RuntimeError: items are sequences of different lengths, or tensors of different shapes.
        TypeError: items are something else.

    Example:
        >>> dynamic.utils.data.default_collate([(1, "a"), (2, "b")])
        [tensor([1, 2]), ('a', 'b')]
    """
    first = batch[0]
    if isinstance(first, Tensor):
        return stack(batch)
    if isinstance(first, np.ndarray | np.generic):
        if first.dtype.kind in "SUO":
            raise ArgumentError(_NO_BATCH.format(first.dtype))
        arrays = [np.asarray(one) for one in batch]
        return as_tensor(np.stack(arrays)) if first.shape else as_tensor(np.array(arrays))
    if isinstance(first, float):
        return tensor(batch, dtype=np.float64)
    if isinstance(first, int):
        return tensor(batch)
    if isinstance(first, str | bytes):
        return batch
    return _collate_containers(first, batch, default_collate)


def _collate_containers(
    first: Any, batch: Sequence[Any], collate: Callable[[Sequence[Any]], Any]
) -> Any:
    if isinstance(first, Mapping):
        return _mapped(first, {key: collate([one[key] for one in batch]) for key in first})
    if not isinstance(first, Sequence):
        raise ArgumentError(_NO_BATCH.format(type(first)))
    if isinstance(first, tuple) and hasattr(first, "_fields"):
        return type(first)(*[collate(column) for column in zip(*batch, strict=True)])
    if any(len(one) != len(first) for one in batch):
        raise AutogradError("each element in list of batch should be of equal size")
    columns = [collate(column) for column in zip(*batch, strict=True)]
    return columns if isinstance(first, tuple) else _listed(first, columns)


_NO_BATCH = (
    "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}"
)


def _mapped(like: Any, content: dict[Any, Any]) -> Any:
    """A mapping of the class of another one, or a dict if the class is not made of one."""
    try:
        if isinstance(like, MutableMapping):
            result: Any = copy.copy(like)
            result.update(content)
            return result
        return type(like)(content)
    except TypeError:
        return content


def _listed(like: Any, content: list[Any]) -> Any:
    """A sequence of the class of another one, or a list if the class is not made of one."""
    try:
        if isinstance(like, MutableSequence):
            result: Any = copy.copy(like)
            result[:] = content
            return result
        return type(like)(content)
    except TypeError:
        return content
