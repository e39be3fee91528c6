"""What scatters mean in plain NumPy: place by place."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from staticgraph.compiler.core.dtypes import is_float
from staticgraph.compiler.core.values import Array


def _named(index: Array, axis: int) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Each place of an index, and the place that it names."""
    axis %= index.ndim
    for place in np.ndindex(index.shape):
        yield place, (*place[:axis], int(index[place]), *place[axis + 1 :])


def _written(x: Array, pairs: Iterator[Any], values: Array, accumulate: bool) -> Array:
    result = np.array(x)
    for place, target in pairs:
        if accumulate:
            result[target] += values[place]
        else:
            result[target] = values[place]
    return result


def _like(values: object, x: Array, shape: Sequence[int]) -> Array:
    return np.broadcast_to(np.asarray(values, x.dtype), shape)


def _scatter(accumulate: bool) -> Callable[..., Array]:
    def scatter(x: Array, index: Array, values: object, axis: int = -1) -> Array:
        whole = _like(values, x, index.shape)
        return _written(x, _named(index, axis), whole, accumulate)

    return scatter


def _put_along_axis(x: Array, index: Array, values: object, axis: int = -1) -> Array:
    axis %= x.ndim
    index = np.broadcast_to(index, (*x.shape[:axis], index.shape[axis], *x.shape[axis + 1 :]))
    return _scatter(False)(x, index, values, axis)


def _combined(how: str, falling: list[Any], x: Array) -> Any:
    if how in ("amax", "amin"):
        missing = [one for one in falling if one != one]
        return missing[0] if missing else (max if how == "amax" else min)(falling)
    total = falling[0]
    for one in falling[1:]:
        total = total * one if how == "prod" else total + one
    if how == "mean":
        number = x.dtype.type(len(falling))
        return total / number if is_float(x.dtype) else total // number
    return total


def _scatter_reduce(
    x: Array, index: Array, values: object, axis: int = -1, how: str = "sum", include: bool = True
) -> Array:
    whole = _like(values, x, index.shape)
    falling: dict[tuple[int, ...], list[Any]] = {}
    shape = np.asarray(x.shape)
    for place, target in _named(index, axis):
        x[target]  # what is outside is an error
        key = tuple(np.asarray(target) % shape)
        falling.setdefault(key, [x[target]] if include else []).append(whole[place])
    result = np.array(x)
    for target, those in falling.items():
        result[target] = _combined(how, those, x)
    return result


def _along_prod(x: Array, index: Array, axis: int, size: int) -> Array:
    result = np.ones((*x.shape[:axis], size, *x.shape[axis + 1 :]), x.dtype)
    for place, target in _named(index, axis):
        result[target] *= x[place]
    return result


def _along_extremum(x: Array, index: Array, axis: int, size: int) -> Array:
    result = np.full((*x.shape[:axis], size, *x.shape[axis + 1 :]), -np.inf, x.dtype)
    for place, target in _named(index, axis):
        if not result[target] >= x[place] and result[target] == result[target]:
            result[target] = x[place]
    return result


def _last_positions(index: Array, axis: int, size: int) -> Array:
    result = np.full((*index.shape[:axis], size, *index.shape[axis + 1 :]), -1, np.int64)
    for place, target in _named(index, axis):
        result[target] = place[axis]
    return result


def _index_into(accumulate: bool) -> Callable[..., Array]:
    def into(x: Array, index: Array, values: object, axis: int = 0) -> Array:
        moved = np.moveaxis(np.array(x), axis, 0)
        shape = (*x.shape[:axis], len(index), *x.shape[axis + 1 :])
        given = np.moveaxis(_like(values, x, shape), axis, 0)
        pairs = (((i,), (int(one),)) for i, one in enumerate(index))
        return np.moveaxis(_written(moved, pairs, given, accumulate), 0, axis)

    return into


def _put(x: Array, index: Array, values: object) -> Array:
    given = _like(values, x, index.shape).reshape(-1)
    pairs = (((i,), (int(one),)) for i, one in enumerate(index.reshape(-1)))
    return _written(x.reshape(-1), pairs, given, False).reshape(x.shape)


def _index_put(x: Array, indices: Any, values: object, accumulate: bool = False) -> Array:
    whole = np.broadcast_arrays(*indices)
    given = _like(values, x, whole[0].shape + x.shape[len(whole) :])
    pairs = (
        (place, tuple(int(one[place]) for one in whole)) for place in np.ndindex(whole[0].shape)
    )
    return _written(x, pairs, given, accumulate)


def _ravel_multi_index(indices: Any, shape: Any) -> Array:
    first, second = np.broadcast_arrays(*indices)
    return np.asarray(first.astype(np.int64) * shape[1] + second.astype(np.int64))


def _promoted(function: Callable[..., Array]) -> Callable[..., Array]:
    """The function of x and of values that are written into it, in their common dtype."""

    def promoting(x: Array, index: object, values: Any, *more: object, **named: object) -> Array:
        return function(x.astype(np.result_type(x, values)), index, values, *more, **named)

    return promoting


_WRITING: dict[str, Callable[..., Any]] = {
    "scatter": _scatter(False), "scatter_add": _scatter(True),
    "put_along_axis": _put_along_axis, "scatter_reduce": _scatter_reduce,
    "index_add": _index_into(True), "index_copy": _index_into(False),
    "index_fill": _index_into(False), "put": _put, "index_put": _index_put,
}  # fmt: skip
REFERENCE: dict[str, Callable[..., Any]] = {
    **{name: _promoted(function) for name, function in _WRITING.items()},
    "along_prod": _along_prod, "along_extremum": _along_extremum,
    "last_positions": _last_positions, "ravel_multi_index": _ravel_multi_index,
    "masked_fill": lambda x, mask, value: np.where(mask, value, x),
}  # fmt: skip
"""What they mean."""
