"""Tensors in one flat tensor, as scripts that average gradients use them (`torch._utils`).

>>> from dynamic._utils import _flatten_dense_tensors, _unflatten_dense_tensors
>>> flat = _flatten_dense_tensors([dynamic.ones(2, 1), dynamic.zeros(1)])
>>> flat
tensor([1., 1., 0.])
>>> [part.shape for part in _unflatten_dense_tensors(flat, [dynamic.ones(2, 1), dynamic.ones(1)])]
[torch.Size([2, 1]), torch.Size([1])]
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from staticgraph.dynamic.operations.functions import cat

__all__ = ["_flatten_dense_tensors", "_take_tensors", "_unflatten_dense_tensors"]


def _flatten_dense_tensors(tensors: Sequence[Any]) -> Any:
    """The elements of tensors of one dtype in a row; of a single tensor a view.

    Example:
        >>> dynamic._utils._flatten_dense_tensors([dynamic.ones(2), dynamic.zeros(1)])
        tensor([1., 1., 0.])
    """
    parts = [one.contiguous().view(-1) for one in tensors]
    return parts[0] if len(parts) == 1 else cat(parts)


def _unflatten_dense_tensors(flat: Any, tensors: Iterable[Any]) -> tuple[Any, ...]:
    """Views of a flat tensor with the shapes of `tensors`, one after the other.

    RuntimeError if it has too few elements.

    Example:
        >>> dynamic._utils._unflatten_dense_tensors(dynamic.ones(2), [dynamic.zeros(1, 2)])
        (tensor([[1., 1.]]),)
    """
    found, start = [], 0
    for one in tensors:
        count = one.numel()
        found.append(flat.narrow(0, start, count).view_as(one))
        start += count
    return tuple(found)


def _take_tensors(tensors: Iterable[Any], size_limit: int) -> Iterator[list[Any]]:
    """The tensors in lists, each of one dtype and, but for one larger tensor, up to so many bytes.

    Example:
        >>> parts = dynamic._utils._take_tensors([dynamic.ones(2), dynamic.ones(1)], 8)
        >>> [[x.numel() for x in part] for part in parts]
        [[2], [1]]
    """
    lists: dict[Any, list[Any]] = {}
    sizes: dict[Any, int] = {}
    for one in tensors:
        kind, size = one.dtype, one.numel() * one.element_size()
        before = sizes.get(kind, 0)
        if before and before + size > size_limit:
            yield lists[kind]
            lists[kind], before = [], 0
        lists.setdefault(kind, []).append(one)
        sizes[kind] = before + size
    yield from lists.values()
