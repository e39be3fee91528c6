"""The cotangent that is not there: what a node gets where its outputs found no gradient."""

from __future__ import annotations

from typing import Any


class Undefined:
    """Zero, without a shape or memory: what is added to it is the sum."""

    __slots__ = ()

    __array_ufunc__ = None  # so that an ndarray leaves the addition to it
    shape = None

    def __add__(self, other: Any) -> Any:
        return other

    __radd__ = __add__


UNDEFINED = Undefined()
