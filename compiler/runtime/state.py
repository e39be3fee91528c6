"""State: the memory of a variable, which lives between calls of the executables that use it."""

from __future__ import annotations

from typing import Any

import numpy as np

from compiler.errors import DTypeError, FeedError, ShapeError
from compiler.runtime.arrays import to_array
from compiler.types import as_dtype, type_of


class State:
    """An array that never moves: executables hold its address."""

    __slots__ = ("__weakref__", "array", "name")

    def __init__(self, value: Any, name: str | None) -> None:
        value = np.asarray(value)
        as_dtype(value.dtype, "variable")
        self.array = np.array(value, order="C")
        self.name = name

    def assign(self, value: Any) -> None:
        """Copy a value of the same shape and dtype into the array.

        Raises:
            ShapeError, DTypeError, FeedError: the value differs; the array keeps what it has.
        """
        label = f"variable {self.name!r}" if self.name else "variable"
        try:
            given = to_array(value, self.array.dtype)
        except (OverflowError, TypeError, ValueError) as error:
            raise FeedError(f"{label}: {type_of(self.array)} expected: {error}") from None
        if given.shape != self.array.shape:
            raise ShapeError(f"{label}: shape {given.shape} given, {self.array.shape} expected")
        if given.dtype != self.array.dtype:
            raise DTypeError(
                f"{label}: {given.dtype.name} given, {self.array.dtype.name} expected: "
                "cast it with astype"
            )
        self.array[...] = given

    def __lt__(self, other: Any) -> bool:
        return id(self) < id(other)  # attributes of nodes are sorted
