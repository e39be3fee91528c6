"""Largest and smallest elements with NumPy: of small arrays, and of many short rows."""

from __future__ import annotations

import math
from collections.abc import Callable
from operator import methodcaller
from typing import Any

import numpy as np

_SMALL = 8192
"""The most elements of which a copy in row-major order is no matter."""
_SHORT, _MANY = 32, 16
"""Up to how many columns, and from how many rows, the columns are compared in turn: to start on a
row takes NumPy longer than to go through it."""
_FITTING = 1 << 16
"""The most elements whose transposed copy stays in the cache."""


def _extremes(
    ufunc: Any, position: Callable[..., object]
) -> tuple[Callable[..., Any], Callable[[Any], Any]]:
    """The reduction along some axes, and along all of them."""
    reduce = ufunc.reduce

    def evaluate(x: Any, axes: tuple[int, ...], keepdims: bool, **attrs: object) -> Any:
        ndim, size = x.ndim, x.size
        if len(axes) == ndim and not keepdims:
            return whole(x)
        if 2 * _MANY <= size <= _FITTING and axes == (ndim - 1,):
            shape = x.shape
            rows, columns = math.prod(shape[:-1]), shape[-1]
            if 1 < columns <= _SHORT and rows >= _MANY:
                found = reduce(x.reshape(rows, columns).T.copy(), 0)
                return found.reshape(*shape[:-1], *(1,) * keepdims)
        return reduce(x, axes, None, None, keepdims)

    def whole(x: Any) -> Any:
        if 0 < x.size <= _SMALL:
            flat = x if x.ndim == 1 else x.ravel()
            return flat[position(flat)]  # to find out where it is takes less than to reduce
        return reduce(x, None)

    return evaluate, whole


largest, largest_of_all = _extremes(np.maximum, methodcaller("argmax"))
smallest, smallest_of_all = _extremes(np.minimum, methodcaller("argmin"))
