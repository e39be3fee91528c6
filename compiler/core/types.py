"""TensorType: what is known of a value before it exists, and the rules of broadcasting.

The rank and the dtype are always known; each size is an int or a `Dim`. Broadcasting is static:
a size that broadcasts is declared 1. Two sizes that must agree and are not known to are assumed
equal, and the assumption is handed to whoever collects them (the compiler checks it at run time).
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeAlias

import numpy as np

from staticgraph.compiler.core import dims, dtypes
from staticgraph.compiler.core.dims import Dim, Size, Unknown, product
from staticgraph.compiler.core.dtypes import is_float, is_inexact
from staticgraph.compiler.core.errors import AxisError, AxisKindError, DTypeError, ShapeError
from staticgraph.compiler.core.record import frozen
from staticgraph.compiler.core.values import Value

_assumed: ContextVar[list[tuple[Size, Size]] | None] = ContextVar("assumed", default=None)

_PLAIN = (int, float, str, np.dtype, type(None))  # have no sizes in them

Shape: TypeAlias = tuple[Size, ...]
DType: TypeAlias = dtypes.DType
DTYPES = dtypes.DTYPES
as_dtype = dtypes.as_dtype


@frozen
class TensorType:
    """The type of a tensor: its shape, a tuple of ints and Dims, and its dtype."""

    shape: Shape
    dtype: DType

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> Size:
        """The number of elements."""
        return product(self.shape)

    @property
    def sizes(self) -> tuple[Size, ...]:
        """All sizes that the type consists of."""
        return self.shape

    def with_sizes(self, function: Callable[[Dim], Size]) -> TensorType:
        """The type with each unknown size replaced."""
        shape = mapped(self.shape, function)
        return self if shape is self.shape else TensorType(shape, self.dtype)

    def __str__(self) -> str:
        return f"{self.dtype.name}[{', '.join(map(str, self.shape))}]"

    __repr__ = __str__


@frozen
class TupleType:
    """The type of a value that consists of several tensors: what loops and branches give."""

    items: tuple[TensorType, ...]

    @property
    def sizes(self) -> tuple[Size, ...]:
        """All sizes that the type consists of."""
        return tuple(size for item in self.items for size in item.shape)

    def with_sizes(self, function: Callable[[Dim], Size]) -> TupleType:
        """The type with each unknown size replaced."""
        return TupleType(tuple(item.with_sizes(function) for item in self.items))

    def __str__(self) -> str:
        return f"({', '.join(map(str, self.items))})"

    __repr__ = __str__


Type: TypeAlias = TensorType | TupleType


def mapped(value: object, function: Callable[[Dim], Size]) -> Value:
    """An attribute of a node, or a type, with each unknown size in it replaced.

    It is a size, a tuple, or what says itself how (a type, the body of a loop); the rest has none.
    A tuple without unknown sizes is given back itself.
    """
    if isinstance(value, _PLAIN):
        return value
    if isinstance(value, Dim):
        return function(value)
    if isinstance(value, tuple):
        parts = tuple([mapped(part, function) for part in value])
        return value if all(map(operator.is_, parts, value)) else parts
    return value.with_sizes(function) if hasattr(value, "with_sizes") else value


def substituted(value: object, sizes: Mapping[Unknown, Size]) -> Value:
    """An attribute of a node, or a type, with unknown sizes replaced by others."""
    return mapped(value, lambda size: dims.substitute(size, sizes))


def neutral(kind: str, dtype: DType) -> float:
    """What changes nothing where a reduction of a kind combines it with an element of a dtype."""
    if kind in ("sum", "prod"):
        return 0 if kind == "sum" else 1
    largest = kind == "max"
    if is_float(dtype):
        return -np.inf if largest else np.inf
    if dtype.kind == "b":
        return not largest
    info = np.iinfo(dtype)
    return info.min if largest else info.max


def type_of(array: object) -> TensorType:
    """The type of a NumPy array or scalar."""
    array = np.asarray(array)
    return TensorType(array.shape, as_dtype(array.dtype))


@contextmanager
def collecting_assumptions() -> Iterator[list[tuple[Size, Size]]]:
    """Collect the pairs of sizes that the type rules inside the block assume to be equal."""
    pairs: list[tuple[Size, Size]] = []
    token = _assumed.set(pairs)
    try:
        yield pairs
    finally:
        _assumed.reset(token)


def unify(left: Size, right: Size) -> Size | None:
    """The common size of two axes that must agree, or None if they are known to differ."""
    if left == right:
        return left
    if isinstance(left, int) and isinstance(right, int):
        return None
    pairs = _assumed.get()
    if pairs is not None:
        pairs.append((left, right))
    return left if isinstance(left, int) else right if isinstance(right, int) else left


def same_type(left: TensorType, right: TensorType) -> bool:
    """Whether two types are one; sizes that are not known to differ are assumed to be equal."""
    return (
        left.dtype == right.dtype
        and left.ndim == right.ndim
        and None not in map(unify, left.shape, right.shape)
    )


def fits(size: Size, bound: Size) -> bool:
    """Whether `size` is at most `bound`; where that is not known it is assumed, as by `unify`."""
    room = bound - size
    if not isinstance(room, Dim):
        return room >= 0
    return dims.is_nonnegative(room) or unify(dims.maximum(size, bound), bound) is not None


def broadcast_shapes(op: str, *types: TensorType) -> Shape:
    """The shape that the operands broadcast to (NumPy's rule with unknown sizes never 1)."""
    ndim = max((type.ndim for type in types), default=0)
    result: list[Size] = []
    for axis in range(-ndim, 0):
        size: Size = 1
        for type in types:
            if -axis > type.ndim or type.shape[axis] == 1:
                continue
            common = type.shape[axis] if size == 1 else unify(size, type.shape[axis])
            if common is None:
                listed = ", ".join(map(str, types))
                raise ShapeError(
                    f"{op}: {listed} do not broadcast: axis {axis} is {size} and {type.shape[axis]}"
                )
            size = common
        result.append(size)
    return tuple(result)


def normalise_axis(op: str, axis: int, ndim: int) -> int:
    """`axis` counted from the front; ShapeError if there is no such axis."""
    if isinstance(axis, bool) or not hasattr(axis, "__index__"):
        raise AxisKindError(f"{op}: axis {axis!r} is not an int")
    if not -ndim <= axis < ndim:
        raise AxisError(f"{op}: axis {axis} is out of range for {ndim} axes")
    return operator.index(axis) % ndim  # of a tensor of floats, no int


def normalise_axes(op: str, axis: int | Sequence[int] | None, ndim: int) -> tuple[int, ...]:
    """A sorted tuple of axes counted from the front; None means all of them."""
    if axis is None:
        return tuple(range(ndim))
    if type(axis) is int and -ndim <= axis < ndim:
        return (axis % ndim,)
    if isinstance(axis, dict):
        raise AxisKindError(f"{op}: axis {axis!r} is not an int")
    single = not isinstance(axis, Iterable) or (hasattr(axis, "ndim") and not axis.ndim)
    listed: Any = (axis,) if single else axis  # a number among arrays is iterable by its class
    axes = sorted(normalise_axis(op, one, ndim) for one in listed)
    if len(set(axes)) != len(axes):
        raise ShapeError(f"{op}: an axis is repeated in {axis!r}")
    return tuple(axes)


def require_float(op: str, *types: TensorType) -> None:
    """DTypeError unless every type is floating point, real or complex."""
    for type in types:
        if not is_inexact(type.dtype):
            raise DTypeError(f"{op}: {type} is not floating point: cast it with astype")


def require_same_dtype(op: str, *types: TensorType) -> DType:
    """The one dtype of all operands; DTypeError where they differ (frontends promote before)."""
    for type in types[1:]:
        if type.dtype != types[0].dtype:
            raise DTypeError(f"{op}: mixed dtypes {types[0]} and {type}: cast one with astype")
    return types[0].dtype


def is_static(shape: Shape) -> bool:
    """Whether every size is known."""
    return not any(isinstance(size, Dim) for size in shape)
