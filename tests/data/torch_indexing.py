"""What ops that index are in PyTorch: takes, scatters, slices, windows."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812 - as everybody calls it


def alike(a: Any, b: Any) -> tuple[Any, Any]:
    dtype = torch.result_type(a, b)
    return a.to(dtype), b.to(dtype)


def tensors(*values: Any) -> list[Any]:
    """Numbers as tensors of the dtype of the tensors among the values."""
    dtype = next((one.dtype for one in values if isinstance(one, torch.Tensor)), None)
    return [
        one if isinstance(one, torch.Tensor) else torch.tensor(one, dtype=dtype) for one in values
    ]


def _wrapped(index: Any, size: int) -> Any:
    index = index.long()
    return torch.where(index < 0, index + size, index)


def take(x: Any, index: Any, axis: Any = None, *, dim: Any = None) -> Any:
    axis = axis if dim is None else dim
    if axis is None:
        x, axis = x.reshape(-1), 0
    axis %= x.ndim
    flat = torch.index_select(x, axis, _wrapped(index, x.shape[axis]).reshape(-1))
    return flat.reshape(*x.shape[:axis], *index.shape, *x.shape[axis + 1 :])


def take_add(g: Any, index: Any, axis: int, size: int) -> Any:
    shape = (*g.shape[:axis], index.numel(), *g.shape[axis + index.ndim :])
    zeros = torch.zeros((*shape[:axis], size, *shape[axis + 1 :]), dtype=g.dtype)
    return zeros.index_add(axis, _wrapped(index, size).reshape(-1), g.reshape(shape))


def take_along(x: Any, index: Any, axis: Any = None, *, dim: Any = None) -> Any:
    wanted = axis if dim is None else dim
    axis = -1 if wanted is None else wanted
    return torch.take_along_dim(x, _wrapped(index, x.shape[axis]), axis)


def along_add(g: Any, index: Any, axis: int, size: int) -> Any:
    zeros = torch.zeros((*g.shape[:axis], size, *g.shape[axis + 1 :]), dtype=g.dtype)
    return zeros.scatter_add(axis, _wrapped(index, size), g)


def _indexed(x: Any, index: Any, values: Any, axis: Any, dim: Any, default: int) -> Any:
    """The operands of one dtype, the values in the index's shape, and the axis."""
    wanted = axis if dim is None else dim
    axis = (default if wanted is None else wanted) % x.ndim
    x, values = alike(*tensors(x, values))
    return x, _wrapped(index, x.shape[axis]), values, axis


def _written(x: Any, targets: Any, values: Any, whole: Any) -> Any:
    """One value after the other: PyTorch's own scatter has a slope for those that are gone too.

    What is never written has a slope of 0.
    """
    result = torch.where(torch.zeros((), dtype=torch.bool), whole.sum().to(x.dtype), x)
    for target, value in zip(targets, values, strict=True):
        result[target] = value
    return result


def scatter(x: Any, index: Any, values: Any, axis: Any = None, *, dim: Any = None) -> Any:
    x, index, values, axis = _indexed(x, index, values, axis, dim, -1)
    values = values.broadcast_to(index.shape)
    places = list(np.ndindex(*index.shape))
    targets = [(*one[:axis], int(index[one]), *one[axis + 1 :]) for one in places]
    return _written(x, targets, [values[one] for one in places], values)


def put_along_axis(x: Any, index: Any, values: Any, axis: Any = -1, *, dim: Any = None) -> Any:
    axis = axis if dim is None else dim
    if axis is None:
        return scatter(x.reshape(-1), index, values, 0).reshape(x.shape)
    axis %= x.ndim
    index = index.broadcast_to(*x.shape[:axis], index.shape[axis], *x.shape[axis + 1 :])
    return scatter(x, index, values, axis)


def scatter_add(x: Any, index: Any, values: Any, axis: Any = None, *, dim: Any = None) -> Any:
    x, index, values, axis = _indexed(x, index, values, axis, dim, -1)
    return torch.scatter_add(x, axis, index, values.broadcast_to(index.shape))


def scatter_reduce(
    x: Any, index: Any, values: Any, axis: Any = None, reduce: str = "sum",
    include_self: bool = True,
) -> Any:  # fmt: skip
    x, index, values, axis = _indexed(x, index, values, axis, None, -1)
    values = values.broadcast_to(index.shape)
    return torch.scatter_reduce(x, axis, index, values, reduce, include_self=include_self)


def laid(reduce: str, start: float) -> Callable[..., Any]:
    def lay(values: Any, index: Any, axis: int, size: int, wrap: bool = True) -> Any:
        shape = (*values.shape[:axis], size, *values.shape[axis + 1 :])
        least = torch.iinfo(values.dtype).min if not values.is_floating_point() else -math.inf
        begin = torch.full(shape, start if reduce == "prod" else least, dtype=values.dtype)
        return torch.scatter_reduce(begin, axis, _wrapped(index, size), values, reduce)

    return lay


def last_positions(index: Any, axis: int, size: int, wrap: bool = True) -> Any:
    shape = (*index.shape[:axis], size, *index.shape[axis + 1 :])
    numbers = torch.arange(index.shape[axis]).reshape(
        [-1 if i == axis else 1 for i in range(index.ndim)]
    )
    begin = torch.full(shape, -1)
    numbers = numbers.broadcast_to(index.shape)
    return torch.scatter_reduce(begin, axis, _wrapped(index, size), numbers, "amax")


def index_add(x: Any, index: Any, values: Any, axis: Any = None, *, dim: Any = None) -> Any:
    x, index, values, axis = _indexed(x, index, values, axis, dim, 0)
    shape = (*x.shape[:axis], index.shape[0], *x.shape[axis + 1 :])
    return torch.index_add(x, axis, index, values.broadcast_to(shape))


def index_copy(x: Any, index: Any, values: Any, axis: Any = None, *, dim: Any = None) -> Any:
    x, index, values, axis = _indexed(x, index, values, axis, dim, 0)
    shape = (*x.shape[:axis], index.shape[0], *x.shape[axis + 1 :])
    rows = values.broadcast_to(shape).unbind(axis)
    return _written(x.movedim(axis, 0), index.tolist(), rows, values).movedim(0, axis)


def put(x: Any, index: Any, values: Any) -> Any:
    x, values = alike(*tensors(x, values))
    places = _wrapped(index, x.numel()).reshape(-1).tolist()
    given = values.broadcast_to(index.shape).reshape(-1)
    return _written(x.reshape(-1), places, given, given).reshape(x.shape)


def index_put(x: Any, indices: Any, values: Any, accumulate: bool = False) -> Any:
    x, values = alike(*tensors(x, values))
    given = [_wrapped(one, size) for one, size in zip(indices, x.shape, strict=False)]
    if accumulate:
        return torch.index_put(x, tuple(given), values, accumulate=True)
    whole = torch.broadcast_tensors(*given)
    values = values.broadcast_to((*whole[0].shape, *x.shape[len(whole) :]))
    places = list(np.ndindex(*whole[0].shape))
    targets = [tuple(int(one[place]) for one in whole) for place in places]
    return _written(x, targets, [values[place] for place in places], values)


def ravel(indices: Any, shape: Any) -> Any:
    total = torch.zeros((), dtype=torch.int64)
    for index, size in zip(indices, shape, strict=True):
        total = total * size + _wrapped(index, size)
    return total


def one_hot(index: Any, classes: int, dtype: str = "float32") -> Any:
    return (index[..., None].long() == torch.arange(classes)).to(getattr(torch, dtype))


def getitem(x: Any, key: Any) -> Any:
    if isinstance(key, torch.Tensor | list):
        return x[torch.as_tensor(key).long()]
    keys = key if isinstance(key, tuple) else (key,)
    backward, kept, axis = [], [], 0
    spare = x.ndim - sum(one is not None and one is not Ellipsis for one in keys)
    out = 0
    for one in keys:  # PyTorch has no negative steps: the axis is flipped instead
        if isinstance(one, slice) and one.step is not None and one.step < 0:
            places = range(x.shape[axis])[one]
            one = slice(places[-1], places[0] + 1, -one.step) if places else slice(0, 0)
            backward.append(out)
        kept.append(one)
        axis += spare if one is Ellipsis else one is not None
        out += spare if one is Ellipsis else not isinstance(one, int)
    return torch.flip(x[tuple(kept)], backward)


def strided_slice(x: Any, starts: Any, sizes: Any, steps: Any) -> Any:
    return x[tuple(
        slice(start, start + size * step, step)
        for start, size, step in zip(starts, sizes, steps, strict=True)
    )]  # fmt: skip


def embed(x: Any, starts: Any, shape: Any, steps: Any, value: float = 0.0) -> Any:
    whole = torch.full(shape, value, dtype=x.dtype)
    strided_slice(whole, starts, x.shape, steps)[...] = x
    return whole


def pad(x: Any, widths: Any, value: float = 0.0) -> Any:
    if isinstance(widths, int):
        widths = [(widths, widths)] * x.ndim
    elif isinstance(widths, tuple):
        widths = [widths] * x.ndim
    widths = [*widths] * x.ndim if len(widths) == 1 else widths
    flat = [one for pair in reversed(widths) for one in pair]
    if x.dtype == torch.bool:
        return F.pad(x.to(torch.uint8), flat, value=value).bool()
    return F.pad(x, flat, value=value)


def sliding_windows(x: Any, sizes: Any, strides: Any, dilations: Any) -> Any:
    lead = x.ndim - len(sizes)
    counts = [
        (size - d * (k - 1) - 1) // s + 1
        for size, k, s, d in zip(x.shape[lead:], sizes, strides, dilations, strict=True)
    ]
    own = x.stride()
    steps = [own[lead + i] * s for i, s in enumerate(strides)]
    inner = [own[lead + i] * d for i, d in enumerate(dilations)]
    return torch.as_strided(x, (*x.shape[:lead], *counts, *sizes), (*own[:lead], *steps, *inner))
