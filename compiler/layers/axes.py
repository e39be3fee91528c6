"""What the functions of layers share: options for each axis, sizes, and what errors show."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core import dims
from staticgraph.compiler.core.dims import Dim, Size
from staticgraph.compiler.core.dtypes import is_float
from staticgraph.compiler.core.errors import DTypeError, OptionError, ShapeError
from staticgraph.compiler.core.op import Operand, op_named
from staticgraph.compiler.core.types import TensorType, unify
from staticgraph.compiler.core.values import Value
from staticgraph.compiler.graph.expression import construct
from staticgraph.compiler.ops.declare import as_operand

Sizes = tuple[int, ...]
PerAxis: TypeAlias = int | Sequence[int]
"""An option: a number for each axis, or one for all."""


def per_axis(name: str, option: str, value: Value, axes: int, least: int) -> Sizes:
    """An option as one number for each axis; OptionError if it is less than `least`."""
    numbers = (value,) * axes if hasattr(value, "__index__") else tuple(value)
    numbers = numbers * axes if len(numbers) == 1 else numbers
    if len(numbers) != axes or any(not hasattr(n, "__index__") or n < least for n in numbers):
        many = {1: "an int", 2: "an int or two", 3: "an int or three"}[axes]
        raise OptionError(f"{name}: {option} is {many} from {least}, not {value!r}")
    return tuple(int(number) for number in numbers)


def shown(x: Value) -> TensorType:
    """An operand as messages name it."""
    return TensorType(tuple(x.shape), np.dtype(x.dtype))


def images(name: str, x: Value, axes: int, function: Callable[[Value], Value]) -> Value:
    """`function` of (n, c, ...), on an operand with or without the first axis.

    ShapeError if it has another number of axes.
    """
    x = as_operand(x)
    if x.ndim == axes + 2:
        return function(x)
    if x.ndim != axes + 1:
        raise ShapeError(
            f"{name}: {shown(x)} has {x.ndim} axes, of {axes + 1} (channels and {axes}) or "
            f"{axes + 2} (with a batch)"
        )
    found = function(ops.expand_dims(x, 0))
    if isinstance(found, tuple):
        return tuple(ops.squeeze(one, 0) for one in found)
    return ops.squeeze(found, 0)


def flattened(x: Value, axis: int) -> Value:
    """The axes from one on as one: where there is no element, a size of -1 would not say which."""
    return ops.reshape(x, (*x.shape[:axis], dims.product(x.shape[axis:])))


def numbers(size: Size, like: Value) -> Value:
    """The int64 numbers 0, 1, ... of so many elements: an array where the size is known."""
    if isinstance(size, Dim):
        return _made(like, "iota", size)
    return np.arange(size)


def number(size: Size, like: Value, dtype: object = np.int64) -> Value:
    """A size that computes with arrays of this dtype: an int where it is known, else a scalar."""
    if isinstance(size, Dim):
        return ops.astype(_made(like, "size_of", size), dtype)
    return size


def _made(like: Value, op: str, size: Dim) -> Value:
    """A leaf of an unknown size, of the kind of `like`; an array has sizes of expressions."""
    if isinstance(like, Operand):
        return like._apply(op_named(op), (), {"size": size})
    return construct(op_named(op), (), {"size": size})


def beside(values: Value, like: Value) -> Value:
    """What `numbers` gave, as an operand of the kind of `like`."""
    return (
        like._constant(values)
        if isinstance(values, np.ndarray | np.generic) and hasattr(like, "_constant")
        else values
    )


def cast(values: Value, dtype: Value) -> Value:
    """Values as another dtype, by NumPy if they are an array."""
    return values.astype(dtype) if isinstance(values, np.ndarray) else ops.astype(values, dtype)


def along(values: Value, axis: int, ndim: int) -> Value:
    """A vector in a shape that broadcasts, its elements along one axis of `ndim`."""
    shape = tuple(-1 if i == axis else 1 for i in range(ndim))
    return values.reshape(shape) if isinstance(values, np.ndarray) else ops.reshape(values, shape)


def of_floats(name: str, x: Value) -> Value:
    """x, which is floating point; DTypeError if not."""
    x = as_operand(x)
    if not is_float(np.dtype(x.dtype)):
        raise DTypeError(f"{name}: {shown(x)} is not floating point")
    return x


def same_shape(name: str, x: Value, what: str, other: Value) -> None:
    """ShapeError if two operands are known to have different shapes."""
    if not agree(x.shape, other.shape):
        raise ShapeError(f"{name}: {shown(x)} and {what} {shown(other)} differ in shape")


def agree(first: Sequence[Value], second: Sequence[Value]) -> bool:
    """Whether two shapes may be the same: sizes that are not known are assumed to be equal."""
    if len(first) != len(second):
        return False
    return all(unify(one, other) is not None for one, other in zip(first, second, strict=True))
