"""Places of elements, order, and sets."""

from __future__ import annotations

from typing import Any

from staticgraph.compiler import ops
from staticgraph.compiler.array_api.promotion import named, together
from staticgraph.compiler.core.errors import ShapeError

__all__ = [
    "argmax", "argmin", "argsort", "count_nonzero", "isin", "nonzero", "searchsorted", "sort",
    "take", "take_along_axis", "unique_all", "unique_counts", "unique_inverse", "unique_values",
]  # fmt: skip


def argmax(x: Any, /, *, axis: int | None = None, keepdims: bool = False) -> Any:
    """Where the largest elements are."""
    return ops.argmax(x, axis=axis, keepdims=keepdims)


def argmin(x: Any, /, *, axis: int | None = None, keepdims: bool = False) -> Any:
    """Where the smallest elements are."""
    return ops.argmin(x, axis=axis, keepdims=keepdims)


def argsort(x: Any, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Any:
    """The places of the elements in their order; equal ones stay in theirs."""
    return ops.argsort(x, axis=axis, descending=descending)


def sort(x: Any, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Any:
    """The elements in order."""
    return ops.sort(x, axis=axis, descending=descending)


def count_nonzero(
    x: Any, /, *, axis: int | tuple[int, ...] | None = None, keepdims: bool = False
) -> Any:
    """How many elements are not 0."""
    return named("count_nonzero")(x, axis, keepdims)


def nonzero(x: Any, /) -> tuple[Any, ...]:
    """The places, by axis, of elements that are not 0."""
    if x.ndim == 0:
        raise ShapeError("nonzero: an array without axes has no places")
    return tuple(named("nonzero")(x))


def searchsorted(x1: Any, x2: Any, /, *, side: str = "left", sorter: Any = None) -> Any:
    """Where elements of x2 are to be put into x1, which is sorted."""
    x1, x2 = together(x1, x2)
    return named("searchsorted")(x1, x2, side=side, sorter=sorter)


def isin(x1: Any, x2: Any, /, *, invert: bool = False) -> Any:
    """Which elements of x1 are among those of x2."""
    x1, x2 = together(x1, x2)
    return named("isin")(x1, x2, invert=invert)


def take(x: Any, indices: Any, /, *, axis: int | None = None) -> Any:
    """Elements along an axis by their places; that of a vector need not be named."""
    if axis is None and x.ndim != 1:
        raise ShapeError(f"take: an axis must be named of {x.ndim}")
    return ops.take(x, indices, axis=0 if axis is None else axis)


def take_along_axis(x: Any, indices: Any, /, *, axis: int = -1) -> Any:
    """Elements along an axis, by places that each row has of its own."""
    return ops.take_along_axis(x, indices, axis=axis)


def unique_all(x: Any, /) -> Any:
    """The different elements, where each comes first, which each is, and how often each comes."""
    return named("unique_all")(x)


def unique_counts(x: Any, /) -> Any:
    """The different elements, and how often each comes."""
    return named("unique_counts")(x)


def unique_inverse(x: Any, /) -> Any:
    """The different elements, and which of them each element is."""
    return named("unique_inverse")(x)


def unique_values(x: Any, /) -> Any:
    """The different elements."""
    return named("unique_values")(x)
