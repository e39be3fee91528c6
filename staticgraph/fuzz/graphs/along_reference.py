"""What running totals, and what puts elements in order, mean in plain NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from staticgraph.compiler.core.dtypes import is_float
from staticgraph.compiler.core.values import Array


def _rows(function: Callable[[Array], object], x: Array, axis: int, dtype: Any) -> Array:
    """A function of vectors along an axis."""
    result = np.empty(x.shape, dtype)
    moved, target = np.moveaxis(x, axis, -1), np.moveaxis(result, axis, -1)
    for place in np.ndindex(moved.shape[:-1]):
        target[place] = function(moved[place])
    return result


def _total(combine: Callable[[Any, Any], object]) -> Callable[..., Array]:
    def total(x: Array, axis: int) -> Array:
        whole = np.uint64 if x.dtype.kind == "u" else np.int64
        dtype = x.dtype if is_float(x.dtype) else np.dtype(whole)

        def row(values: Array) -> Array:
            found = np.empty(len(values), dtype)
            for i, value in enumerate(values.astype(dtype)):
                found[i] = combine(found[i - 1], value) if i else value
            return found

        return _rows(row, x, axis, dtype)

    return total


def _logcumsumexp(x: Array, axis: int) -> Array:
    def row(values: Array) -> Array:
        return np.asarray([
            np.logaddexp.reduce(values[: i + 1]) for i in range(len(values))
        ], values.dtype)  # fmt: skip

    return _rows(row, x, axis, x.dtype)


def _position(x: Array, axis: int, largest: bool = True) -> Array:
    def row(values: Array) -> list[int]:
        best, found = 0, []
        for i, value in enumerate(values):
            better = value >= values[best] if largest else value <= values[best]
            if better or value != value:
                best = i
            found.append(best)
        return found

    return _rows(row, x, axis, np.int64)


def _extremum(largest: bool) -> Callable[..., list[Array]]:
    def extremum(x: Array, axis: int) -> list[Array]:
        places = _position(x, axis, largest)
        return [np.take_along_axis(x, places, axis), places]

    return extremum


def _order(x: Array, axis: int = -1, descending: bool = False) -> Array:
    def row(values: Array) -> list[int]:
        def key(i: int) -> tuple[Any, ...]:
            value = values[i]
            missing = bool(value != value)
            size = 0.0 if missing else value.item()
            return (not missing, -size) if descending else (missing, size)

        return sorted(range(len(values)), key=key)

    return _rows(row, x, axis, np.int64)


def _sort(x: Array, axis: int = -1, descending: bool = False) -> Array:
    return np.take_along_axis(x, _order(x, axis, descending), axis)


def _first(x: Array, count: int, axis: int = -1, descending: bool = False) -> Array:
    return np.take(_order(x, axis, descending), range(count), axis)


REFERENCE: dict[str, Callable[..., Any]] = {
    "cumsum": _total(lambda left, right: left + right),
    "cumprod": _total(lambda left, right: left * right), "logcumsumexp": _logcumsumexp,
    "cummax": _extremum(True), "cummin": _extremum(False), "extremum_positions": _position,
    "sort": _sort, "argsort": _order,
    "first_places": _first,
}  # fmt: skip
"""What they mean."""
