"""How numbers are drawn: as ops on the position of each element, or at once by a compiled kernel.

Arrays and plain tensors are drawn by kernels for any size, compiled when they are first needed: so
they have the bits that a graph has, and its speed. Everything else (expressions, what is captured,
parameters with a gradient) is an application of ops, fused with what reads it.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from staticgraph.compilation import compile
from staticgraph.compiler import ops
from staticgraph.compiler.core.default_dtype import or_default
from staticgraph.compiler.core.dims import Dim, Size, product
from staticgraph.compiler.core.dtypes import is_float
from staticgraph.compiler.core.errors import DTypeError, OptionError, ShapeError
from staticgraph.compiler.core.op import Operand
from staticgraph.compiler.core.types import DType, TensorType, broadcast_shapes
from staticgraph.compiler.core.values import Array, Value
from staticgraph.compiler.graph.expression import Expression, closed, constant, handle_among, opened
from staticgraph.executables.executable import Executable
from staticgraph.leaves import arange, placeholder
from staticgraph.random.streams import Stream

INT64 = np.dtype(np.int64)
Shape = tuple[Size, ...]
_NUMBER = int | float  # one object for all calls
Make = Callable[..., Any]
"""`make(key, counters, *parameters)`: the numbers of the elements at these positions."""


def key_of(function: str, key: Any) -> Value:
    """The key that a function was given: an int64 scalar.

    Raises:
        DTypeError: it is not int64.
        ShapeError: it is no scalar.
    """
    if key.__class__ is np.ndarray and key.dtype is INT64 and key.ndim == 0:
        return key  # nearly always, and the rest takes longer than the numbers of a small draw
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


def shape_of(function: str, shape: Any) -> Shape:
    """A shape as a tuple of sizes; ShapeError for anything else."""
    if shape.__class__ is tuple and are_sizes(shape):
        return shape
    sizes = shape if isinstance(shape, tuple | list) else (shape,)
    for size in sizes:
        if not isinstance(size, Dim) and _size(size) < 0:
            raise ShapeError(f"{function}: {shape!r} is no shape: {size!r} is no size")
    return tuple(size if isinstance(size, Dim) else int(size) for size in sizes)


def are_sizes(shape: Any) -> bool:
    """Whether all of a shape are plain ints that are sizes."""
    for size in shape:  # which takes half as long as a generator
        if size.__class__ is not int or size < 0:
            break
    else:
        return True
    return False


def _size(size: object) -> int:
    """An int, or -1 for what is none."""
    try:
        return -1 if isinstance(size, bool) else operator.index(size)  # type: ignore[arg-type]
    except TypeError:  # of an array of several, too
        return -1


def floating(function: str, dtype: object) -> DType:
    """A dtype of floats, the default one if None; DTypeError for another dtype."""
    found = or_default(dtype, function)
    if not is_float(found):
        raise DTypeError(f"{function}: {found} is not floating point")
    return found


def parameter(
    function: str,
    name: str,
    value: object,
    dtype: DType,
    low: float = -math.inf,
    high: float = math.inf,
) -> Value:
    """A parameter of a distribution in the dtype in which it is computed with.

    Raises:
        DTypeError: it is no number, nor numbers.
        OptionError: one is not between `low` and `high`, or is nan and `high` is finite; of
            operands no values are known.
    """
    if isinstance(value, _NUMBER) and low <= value <= high and -1e18 <= value <= 1e18:
        return np.array(value or 0, dtype)  # -0.0 is 0, which is the same key where draws are kept
    given: Any = value if isinstance(value, Operand) else np.asarray(value)
    if np.dtype(given.dtype).kind not in "biufV":
        raise DTypeError(f"{function}: {name} is no number: {value!r}")
    if not isinstance(given, Operand):
        if _are_between(given, low, high):
            return given.astype(dtype, copy=False)
        unordered = (given != given) & (high < math.inf)
        wrong = given[(given < low) | (given > high) | unordered]
        if wrong.size:
            raise OptionError(f"{function}: {name} {wrong[0]} is not between {low:g} and {high:g}")
        return given.astype(dtype)
    found: Value = ops.astype(given, dtype)
    return found


def _are_between(given: Any, low: float, high: float) -> bool:
    """Whether all are, for sure: which takes a third of the time of finding one that is not."""
    if low == -math.inf and high == math.inf:
        return True
    return bool((given >= low).all()) and (high == math.inf or bool((given <= high).all()))


def refuse_reversed(function: str, names: tuple[str, str], low: object, high: object) -> None:
    """OptionError where arrays, of which the second is not to be less, are the other way round."""
    if not isinstance(low, Operand) and not isinstance(high, Operand):
        pair = [np.asarray(one) for one in (low, high)]
        if (pair[0] > pair[1]).any():
            first, second = (one if one.ndim else one.item() for one in pair)
            raise OptionError(f"{function}: {names[0]} {first} is more than {names[1]} {second}")


def common_shape(function: str, shape: object, *parameters: Value) -> Shape:
    """The shape that was asked for, or else that of the parameters; they must broadcast to it."""
    wanted = None if shape is None else shape_of(function, shape)
    for one in parameters:  # nearly always they are numbers, or have it already
        if one.shape != ():
            if wanted is None:
                wanted = tuple(one.shape)
            elif one.shape != wanted:
                break
    else:
        return wanted or ()
    kinds = [TensorType(tuple(one.shape), INT64) for one in parameters]
    together = broadcast_shapes(function, *kinds)
    if shape is None:
        return together
    wanted = shape_of(function, shape)
    try:
        fits = broadcast_shapes(function, *kinds, TensorType(wanted, INT64)) == wanted
    except ShapeError:
        fits = False
    if not fits:
        raise ShapeError(f"{function}: parameters of the shape {together} in {wanted}")
    return wanted


def every(conditions: Any) -> bool:
    """Whether all of an array, or a scalar, are true; of the scalar without a reduction."""
    return bool(conditions.all() if conditions.ndim else conditions)


def as_value(one: object) -> Any:
    """An operand as it is, anything else as an array."""
    return one if isinstance(one, Operand) else np.asarray(one)


_kernels: dict[tuple[Any, ...], Executable] = {}


def drawn(make: Make, key: Any, shape: Shape, parameters: Sequence[Any] = ()) -> Any:
    """The numbers that `make` computes for each element of a shape.

    Parameters are operands or arrays of the dtype in which they are to be computed with.
    """
    if key.__class__ is np.ndarray and are_sizes(shape):
        for one in parameters:
            if one.__class__ is not np.ndarray:
                break
        else:
            return _at_once(make, key, shape, parameters)
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


def drawn_in_rows(
    function: Callable[..., Any], key: Any, shape: Shape, parameters: Sequence[Any]
) -> Any:
    """`function(key, (n,), *parameters)`, a row for each element of a shape, at once.

    By a kernel for the shapes of the parameters where these and the key are arrays, or the key a
    plain tensor; None of everything else, which is drawn by ops.
    """
    fixed = not any(isinstance(size, Dim) for size in shape)
    if not fixed or any(isinstance(one, Operand) for one in parameters):
        return None
    if isinstance(key, Operand):
        (array,) = [None] if isinstance(key, Expression) else key._arrays([key])
        if not isinstance(array, np.ndarray) or array.shape != ():
            return None
        return key._constant(drawn_in_rows(function, array, shape, parameters))
    given = [np.asarray(one) for one in parameters]
    kernel = _row_kernel(function, tuple((one.shape, one.dtype) for one in given))
    found = kernel(np.asarray(key), _length(math.prod(shape)), *given)
    return found.reshape((*shape, *found.shape[1:]))


@lru_cache(maxsize=64)
def _row_kernel(
    function: Callable[..., Any], types: tuple[tuple[Shape, DType], ...]
) -> Callable[..., Any]:
    key, length = placeholder("key", (), "int64"), placeholder("length", (None, 0), "uint8")
    inputs = [placeholder(f"parameter {i}", *one) for i, one in enumerate(types)]
    rows = function(key, length.shape[:1], *inputs)
    return compile([key, length, *inputs], rows, lint="off", name="random rows")


def _eagerly(make: Make, values: Sequence[Any], shape: Any) -> Any:
    """Of tensors: at once if the key alone is one, else op by op, recorded."""
    key, *parameters = values
    if isinstance(key, Operand) and not any(isinstance(one, Operand) for one in parameters):
        (array,) = key._arrays([key])
        if isinstance(array, np.ndarray) and array.shape == ():  # else an example of a batch
            return key._constant(_at_once(make, array, shape, parameters))
    return make(key, np.arange(math.prod(shape)).reshape(shape), *parameters)


def _at_once(make: Make, key: Array, shape: Any, parameters: Sequence[Any]) -> Any:
    """Arrays, by a kernel whose length is that of an input without elements."""
    kernel, inputs = kernel_for(make, shape, parameters)
    found = kernel(np.asarray(key), *inputs)
    return found if len(shape) == 1 else found.reshape(shape)


def kernel_for(
    make: Make, shape: Any, parameters: Sequence[Any]
) -> tuple[Executable, tuple[Array, ...]]:
    """The kernel that draws of parameters which are arrays, and its inputs behind the key."""
    given = [np.asarray(one) for one in parameters]
    wanted = (make, *[(one.dtype, one.ndim == 0) for one in given])
    kernel = _kernels.get(wanted)
    if kernel is None:
        kernel = _kernels[wanted] = _kernel(make, given)
    for i, one in enumerate(given):
        if one.ndim == 1 and one.shape == shape and one.flags.c_contiguous:
            continue  # what is below takes longer than ten numbers
        if one.ndim:
            given[i] = np.ascontiguousarray(np.broadcast_to(one, shape)).reshape(-1)
    return kernel, (_length(math.prod(shape)), *given)


@lru_cache(maxsize=1024)
def _length(count: int) -> Array:
    """An input that has so many rows, and no bytes."""
    return np.empty((count, 0), np.uint8)


def _kernel(make: Make, parameters: Sequence[Any]) -> Executable:
    key, length = placeholder("key", (), "int64"), placeholder("length", (None, 0), "uint8")
    count = length.shape[0]
    inputs = [
        placeholder(f"parameter {i}", () if one.ndim == 0 else (count,), one.dtype)
        for i, one in enumerate(parameters)
    ]
    numbers = make(key, arange(count), *inputs)
    return compile(
        [key, length, *inputs], numbers, on_unused_input="ignore", lint="off", name="random numbers"
    )
