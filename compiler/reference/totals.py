"""Sums with NumPy: small ones as products with ones, which BLAS computes in half the time."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from staticgraph.compiler.core.dtypes import accumulator
from staticgraph.compiler.core.values import Array

SMALL = 8192
"""The most elements that are summed by a product: BLAS stays in one thread, and rounds no worse
than NumPy's pairwise sum, since it adds in many lanes."""

_F32, _F64 = np.dtype(np.float32), np.dtype(np.float64)
_add: Any = np.add.reduce


class _Ones(dict[int, Any]):
    """Vectors of ones by their length, made when they are first needed, all on one memory."""

    def __init__(self, dtype: np.dtype[Any]) -> None:
        super().__init__()
        self.longest = np.ones(SMALL, dtype)

    def __missing__(self, length: int) -> Any:
        made = self[length] = self.longest[:length]
        return made


_ones32, _ones64 = _Ones(_F32), _Ones(_F64)


def whole(x: Array) -> Array:
    """The sum of all elements: `total` along all axes."""
    dtype, size = x.dtype, x.size
    ones = _ones32 if dtype is _F32 else _ones64 if dtype is _F64 else None
    if ones is None or size > SMALL:
        return _add(x, None, accumulator(dtype))
    found = (x if x.ndim == 1 else x.ravel()).dot(ones[size])
    return found + 0.0 if size == 1 else found  # a product of one element keeps the sign of -0


def total(x: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
    """The sum along `axes`, sorted: of floats in their dtype, of others (u)int64."""
    ndim, count = x.ndim, len(axes)
    if count == ndim and not keepdims:
        return whole(x)
    dtype, size = x.dtype, x.size
    ones = _ones32 if dtype is _F32 else _ones64 if dtype is _F64 else None
    if ones is None or not axes or not 0 < size <= SMALL:
        return _add(x, axes, accumulator(dtype), None, keepdims)
    if count == ndim:
        return x.ravel().dot(ones[size]).reshape((1,) * ndim)
    shape = x.shape
    if ndim == 2:
        if axes[0]:
            result = x.dot(ones[shape[1]])
        else:
            note: Any = getattr(x, "note_columns", None)  # of `compiler.runtime.loops`
            result = ones[shape[0]].dot(x) if note is None else note(ones.longest)
        return result[(slice(None), None) if axes[0] else None] if keepdims else result
    if axes[-1] == count - 1:  # the first ones
        rows = math.prod(shape[:count])
        result = ones[rows].dot(x.reshape(rows, -1))
    elif axes[0] == ndim - count:  # the last ones
        columns = math.prod(shape[ndim - count :])
        result = x.reshape(-1, columns).dot(ones[columns])
    else:
        return _add(x, axes, None, None, keepdims)
    if keepdims:
        return result.reshape([1 if axis in axes else n for axis, n in enumerate(shape)])
    return result.reshape([n for i, n in enumerate(shape) if i not in axes])
