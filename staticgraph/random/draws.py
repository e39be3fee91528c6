"""How numbers are drawn: as ops on the position of each element, or at once by a compiled kernel.

Arrays and plain tensors are drawn by kernels for any size, compiled when they are first needed: so
they have the bits that a graph has, and its speed. Everything else (expressions, what is captured,
parameters with a gradient) is an application of ops, fused with what reads it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from compiler import ops
from compiler.core.dims import Dim, Size, product
from compiler.core.errors import DTypeError, OptionError, ShapeError
from compiler.core.op import Operand
from compiler.core.types import DType, TensorType, as_dtype, broadcast_shapes
from compiler.core.values import Array, Value
from compiler.graph.expression import Expression, closed, constant, handle_among, opened
from staticgraph.compilation import compile
from staticgraph.leaves import arange, placeholder
from staticgraph.random.streams import Stream

INT64 = np.dtype(np.int64)
Shape = tuple[Size, ...]
Make = Callable[..., Any]
"""`make(key, counters, *parameters)`: the numbers of the elements at these positions."""


def key_of(function: str, key: object) -> Value:
    """The key that a function was given: an int64 scalar.

    Raises:
        DTypeError: it is not int64.
        ShapeError: it is no scalar.
    """
    if isinstance(key, Stream):
        return key.next()
    if not isinstance(key, Operand):
        key = np.asarray(key)
    dtype, shape = np.dtype(key.dtype), tuple(key.shape)
    if dtype != INT64:
        raise DTypeError(f"{function}: the key is {dtype}, not int64: make it with random.key")
    if shape != ():
        raise ShapeError(f"{function}: the key has the shape {shape}: take one, or vmap over them")
    return key


def shape_of(function: str, shape: object) -> Shape:
    """A shape as a tuple of sizes; ShapeError for anything else."""
    sizes = shape if isinstance(shape, tuple | list) else (shape,)
    for size in sizes:
        known = hasattr(size, "__index__") and not isinstance(size, bool)
        if not isinstance(size, Dim) and (not known or size.__index__() < 0):
            raise ShapeError(f"{function}: {shape!r} is no shape: {size!r} is no size")
    return tuple(size if isinstance(size, Dim) else int(size) for size in sizes)


def floating(function: str, dtype: object) -> DType:
    """float32 or float64; DTypeError for another dtype."""
    found = as_dtype(dtype, function)
    if found.kind != "f":
        raise DTypeError(f"{function}: {found} is not floating point")
    return found


def common_shape(function: str, shape: object, *parameters: Value) -> Shape:
    """The shape that was asked for, or else that of the parameters; they must broadcast to it."""
    kinds = [TensorType(tuple(as_value(one).shape), INT64) for one in parameters]
    together = broadcast_shapes(function, *kinds)
    if shape is None:
        return together
    wanted = shape_of(function, shape)
    if broadcast_shapes(function, *kinds, TensorType(wanted, INT64)) != wanted:
        raise ShapeError(f"{function}: parameters of the shape {together} in {wanted}")
    return wanted


def as_value(one: object) -> Any:
    """An operand as it is, anything else as an array."""
    return one if isinstance(one, Operand) else np.asarray(one)


_kernels: dict[tuple[Any, ...], Callable[..., Any]] = {}


def drawn(make: Make, key: Any, shape: Shape, parameters: Sequence[Any] = ()) -> Any:
    """The numbers that `make` computes for each element of a shape.

    Parameters are operands or arrays of the dtype in which they are to be computed with.
    """
    handle = handle_among((key, *parameters))
    values = [opened(one) for one in (key, *parameters)]
    if handle is None and not any(isinstance(size, Dim) for size in shape):
        if not any(isinstance(one, Operand) for one in values):
            return _at_once(make, values[0], shape, values[1:])
        if not any(isinstance(one, Expression) for one in values):
            return _eagerly(make, values, shape)
    if not any(isinstance(one, Expression) for one in values):
        values[0] = constant(np.asarray(values[0]))
    positions = ops.reshape(arange(product(shape)), shape)
    return closed(make(values[0], positions, *values[1:]), handle)


def _eagerly(make: Make, values: Sequence[Any], shape: Any) -> Any:
    """Of tensors: at once if the key alone is one, else op by op, recorded."""
    key, *parameters = values
    if isinstance(key, Operand) and not any(isinstance(one, Operand) for one in parameters):
        (array,) = key.arrays([key])
        if isinstance(array, np.ndarray) and array.shape == ():  # else an example of a batch
            return key.constant(_at_once(make, array, shape, parameters))
    return make(key, np.arange(math.prod(shape)).reshape(shape), *parameters)


def _at_once(make: Make, key: Array, shape: Any, parameters: Sequence[Any]) -> Any:
    """Arrays, by a kernel whose length is that of an input without elements."""
    given = [np.asarray(one) for one in parameters]
    known = [one.ndim == 0 for one in given]
    kernel = _kernels.get((make, *known, *(one.dtype for one in given)))
    if kernel is None:
        kernel = _kernel(make, given)
        _kernels[make, *known, *(one.dtype for one in given)] = kernel
    operands = [
        one if one.ndim == 0 else np.ascontiguousarray(np.broadcast_to(one, shape)).reshape(-1)
        for one in given
    ]
    return kernel(np.asarray(key), np.empty((math.prod(shape), 0), np.uint8), *operands).reshape(
        shape
    )


def _kernel(make: Make, parameters: Sequence[Any]) -> Callable[..., Any]:
    key, length = placeholder("key", (), "int64"), placeholder("length", (None, 0), "uint8")
    count = length.shape[0]
    inputs = [
        placeholder(f"parameter {i}", () if one.ndim == 0 else (count,), one.dtype)
        for i, one in enumerate(parameters)
    ]
    numbers = make(key, arange(count), *inputs)
    return compile([key, length, *inputs], numbers, lint="off", name="random numbers")


def refuse_outside(function: str, name: str, value: object, low: float, high: float) -> None:
    """OptionError for a number that is not in a closed interval; of operands nothing is known."""
    if isinstance(value, bool | int | float | np.number) and not low <= value <= high:
        raise OptionError(f"{function}: {name} {value!r} is not between {low} and {high}")
