"""Sums, extremes and statistics along axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.array_api.promotion import named

__all__ = [
    "all", "any", "cumulative_prod", "cumulative_sum", "diff", "max", "mean", "min", "prod", "std",
    "sum", "var",
]  # fmt: skip

Axes = int | tuple[int, ...] | None


def summed_dtype(x: Any, dtype: Any) -> np.dtype[Any]:
    """The dtype of a sum: narrow integers become 64 bits wide, signed or not as they are."""
    given = np.dtype(x.dtype)
    if dtype is not None:
        return np.dtype(dtype)
    if given.kind == "u":
        return np.dtype(np.uint64)
    return np.dtype(np.int64) if given.kind in "bi" else given


def _in_dtype(name: str, x: Any, dtype: Any, **options: Any) -> Any:
    """A sum or product in a dtype; unsigned ones have the bits of the signed."""
    wanted = summed_dtype(x, dtype)
    within = np.dtype(np.int64) if wanted.kind in "iu" else wanted
    if np.dtype(x.dtype) != within:
        x = ops.astype(x, within)
    result = named(name)(x, **options)
    return result if np.dtype(result.dtype) == wanted else ops.astype(result, wanted)


def _truth(x: Any) -> Any:
    return x if np.dtype(x.dtype).kind == "b" else ops.not_equal(x, 0)


def all(x: Any, /, *, axis: Axes = None, keepdims: bool = False) -> Any:  # noqa: A001
    """Whether all elements along the axes are true."""
    return ops.all(_truth(x), axis=axis, keepdims=keepdims)


def any(x: Any, /, *, axis: Axes = None, keepdims: bool = False) -> Any:  # noqa: A001
    """Whether an element along the axes is true."""
    return ops.any(_truth(x), axis=axis, keepdims=keepdims)


def sum(x: Any, /, *, axis: Axes = None, dtype: Any = None, keepdims: bool = False) -> Any:  # noqa: A001
    """The sum along the axes."""
    return _in_dtype("sum", x, dtype, axis=axis, keepdims=keepdims)


def prod(x: Any, /, *, axis: Axes = None, dtype: Any = None, keepdims: bool = False) -> Any:
    """The product along the axes."""
    return _in_dtype("prod", x, dtype, axis=axis, keepdims=keepdims)


def max(x: Any, /, *, axis: Axes = None, keepdims: bool = False) -> Any:  # noqa: A001
    """The largest elements along the axes."""
    return ops.max(x, axis=axis, keepdims=keepdims)


def min(x: Any, /, *, axis: Axes = None, keepdims: bool = False) -> Any:  # noqa: A001
    """The smallest elements along the axes."""
    return ops.min(x, axis=axis, keepdims=keepdims)


def mean(x: Any, /, *, axis: Axes = None, keepdims: bool = False) -> Any:
    """The mean along the axes."""
    return ops.mean(x, axis=axis, keepdims=keepdims)


def var(x: Any, /, *, axis: Axes = None, correction: float = 0.0, keepdims: bool = False) -> Any:
    """The variance along the axes, divided by their size less the correction."""
    return ops.var(x, axis=axis, correction=correction, keepdims=keepdims)


def std(x: Any, /, *, axis: Axes = None, correction: float = 0.0, keepdims: bool = False) -> Any:
    """The square root of `var`."""
    return ops.std(x, axis=axis, correction=correction, keepdims=keepdims)


def cumulative_sum(
    x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False
) -> Any:
    """The sums of all elements up to each; with `include_initial` a 0 comes first."""
    return _in_dtype("cumulative_sum", x, dtype, axis=axis, include_initial=include_initial)


def cumulative_prod(
    x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False
) -> Any:
    """The products of all elements up to each; with `include_initial` a 1 comes first."""
    return _in_dtype("cumulative_prod", x, dtype, axis=axis, include_initial=include_initial)


def diff(x: Any, /, *, axis: int = -1, n: int = 1, prepend: Any = None, append: Any = None) -> Any:
    """The differences of neighbours along an axis, n times."""
    parts: Sequence[Any] = [one for one in (prepend, x, append) if one is not None]
    x = ops.concatenate(list(parts), axis=axis) if len(parts) > 1 else x
    before = (slice(None),) * (axis % x.ndim)
    for _ in range(n):
        x = ops.subtract(x[(*before, slice(1, None))], x[(*before, slice(None, -1))])
    return x
