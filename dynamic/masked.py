"""A cotangent of which some slices count as zero, so that a chain of slice assignments copies none.

Each assignment takes the cotangent of what it wrote and leaves zero there for what was written
before. As long as the slices are apart, nobody reads the zeros, so it is enough to note them.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Callable
from typing import Any

import numpy as np

Span = tuple[int, int]
"""The first byte of a view, counted from that of its base, and the byte after its last."""


def span(view: Any, base: Any) -> Span:
    """Where the elements of a view lie in the memory of its base."""
    start: int = view.__array_interface__["data"][0] - base.__array_interface__["data"][0]
    end = start + int(view.itemsize)
    for size, stride in zip(view.shape, view.strides, strict=True):
        if stride < 0:
            start += (size - 1) * stride
        else:
            end += (size - 1) * stride
    return start, end


class Masked:
    """`array`, with zeros in the views that `holes` make of it; final.

    Attributes:
        strides: those of the tensor, so that spans in it can be compared.
    """

    __slots__ = ("_holes", "_spans", "array", "strides")

    __array_ufunc__ = None  # an array leaves the sum with it to the methods here

    def __init__(self, array: Any, strides: tuple[int, ...]) -> None:
        self.array = array
        self.strides = strides
        self._holes: list[Callable[[Any], Any]] = []
        self._spans: list[Span] = []

    def cut(self, hole: Callable[[Any], Any], where: Span) -> bool:
        """Add a hole if it is apart from all others; whether it is."""
        at = bisect(self._spans, where)
        if at and self._spans[at - 1][1] > where[0]:
            return False
        if at < len(self._spans) and self._spans[at][0] < where[1]:
            return False
        self._spans.insert(at, where)
        self._holes.append(hole)
        return True

    def dense(self) -> Any:
        """An array of its own with the zeros."""
        array = np.array(self.array)
        for hole in self._holes:
            hole(array)[...] = 0
        return array

    def __add__(self, other: Any) -> Any:
        return self.dense() + dense(other)

    __radd__ = __add__


def dense(g: Any) -> Any:
    """A cotangent as an array or a tensor."""
    return g.dense() if type(g) is Masked else g
