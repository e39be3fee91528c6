"""PyTorch's torch._utils, as far as scripts use it: tensors of several shapes as one vector."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from staticgraph.dynamic.operations.public import cat


def _flatten_dense_tensors(tensors: Sequence[Any]) -> Any:
    """The elements of tensors of one dtype, in one vector."""
    return cat([one.contiguous().view(-1) for one in tensors])


def _unflatten_dense_tensors(flat: Any, tensors: Sequence[Any]) -> tuple[Any, ...]:
    """Views of a vector, of the shapes of tensors that it has the elements of."""
    found, begin = [], 0
    for one in tensors:
        found.append(flat.narrow(0, begin, one.numel()).view_as(one))
        begin += one.numel()
    return tuple(found)
