"""What tensors' methods return beside tensors: shapes, and values with their indices."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from staticgraph.dynamic.core.errors import ArgumentError


class Size(tuple[int, ...]):
    """The shape of a tensor: a tuple that prints as PyTorch's.

    Example:
        >>> dynamic.ones(2, 3).shape
        torch.Size([2, 3])
        >>> dynamic.Size([2, 3]).numel()
        6
    """

    __slots__ = ()

    def numel(self) -> int:
        """The number of elements of a tensor of this shape."""
        return math.prod(self)

    def __add__(self, other: Any) -> Any:
        added = super().__add__(other)
        return added if added is NotImplemented else Size(added)

    def __mul__(self, count: Any) -> Any:
        return Size(super().__mul__(count))

    __rmul__ = __mul__

    def __getitem__(self, key: Any, _get: Any = tuple.__getitem__) -> Any:
        found = _get(self, key)
        return Size(found) if type(found) is tuple else found

    def __repr__(self) -> str:
        return f"torch.Size({list(self)})"


class Max(NamedTuple):
    """The largest elements along an axis, and where they are."""

    values: Any
    indices: Any

    def __repr__(self) -> str:
        return named("max", self)


class Min(NamedTuple):
    """The smallest elements along an axis, and where they are."""

    values: Any
    indices: Any

    def __repr__(self) -> str:
        return named("min", self)


def named(name: str, result: Any) -> str:
    """A named tuple as PyTorch prints what the function of this name returns."""
    fields = ",\n".join(map("{}={!r}".format, result._fields, result))
    return f"torch.return_types.{name}(\n{fields})"


_NO_SIZES = (str, dict, set)
"""What has elements, and lists no sizes."""


def sizes_of(sizes: Sequence[Any], function: str = "", argument: str = "size") -> tuple[Any, ...]:
    """`f(2, 3)` and `f((2, 3))` alike; TypeError for `f()` where the `function` is named."""
    if function and not sizes:
        raise missing(function, argument)
    if len(sizes) == 1 and not hasattr(sizes[0], "__index__"):
        if not isinstance(sizes[0], _NO_SIZES):
            with contextlib.suppress(TypeError):
                return tuple(sizes[0])
        called, found = f"{function}(): " if function else "", type(sizes[0]).__name__
        raise ArgumentError(f"{called}argument '{argument}' must be tuple of ints, not {found}")
    return tuple(sizes)


def missing(function: str, argument: str) -> ArgumentError:
    """PyTorch's error for an argument that is not given."""
    return ArgumentError(f'{function}() missing 1 required positional arguments: "{argument}"')


def no_view_of_nothing() -> ArgumentError:
    """PyTorch's error for `view()`."""
    return ArgumentError(
        "view() received an invalid combination of arguments - got (), but expected one of:\n"
        " * (torch.dtype dtype)\n * (tuple of ints size)\n"
    )
