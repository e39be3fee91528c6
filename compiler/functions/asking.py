"""What is asked of shapes and dtypes, in NumPy's names; the answers are values of Python's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from staticgraph.compiler.core.dims import Size, product
from staticgraph.compiler.core.dtypes import promoted
from staticgraph.compiler.core.types import (
    TensorType,
    as_dtype,
    broadcast_shapes as broadcast_types,
    normalise_axes,
)
from staticgraph.compiler.core.values import Value
from staticgraph.compiler.ops.declare import NUMBERS, as_operand

__all__ = [
    "broadcast_shapes", "can_cast", "iscomplexobj", "isdtype", "isrealobj", "isscalar",
    "issubdtype", "iterable", "ndim", "promote_types", "result_type", "shape", "size",
]  # fmt: skip


def shape(x: Value) -> tuple[Size, ...]:
    """The sizes of the axes.

    Example:
        >>> sg.shape(np.zeros((2, 3)))
        (2, 3)
    """
    return tuple(as_operand(x).shape)


def ndim(x: Value) -> int:
    """The number of axes.

    Example:
        >>> sg.ndim(np.zeros((2, 3)))
        2
    """
    return len(as_operand(x).shape)


def size(x: Value, axis: int | Sequence[int] | None = None) -> Size:
    """The number of elements, or along some axes.

    Example:
        >>> sg.size(np.zeros((2, 3)))
        6
    """
    sizes = shape(x)
    return product([sizes[one] for one in normalise_axes("size", axis, len(sizes))])


def broadcast_shapes(*shapes: tuple[Size, ...]) -> tuple[Size, ...]:
    """The shape that shapes broadcast to; ShapeError if they do not.

    Example:
        >>> sg.broadcast_shapes((2, 1), (3,))
        (2, 3)
    """
    made = [
        TensorType((one,) if isinstance(one, int) else tuple(one), np.dtype(np.float32))
        for one in shapes
    ]
    return tuple(broadcast_types("broadcast_shapes", *made))


def result_type(*values: Value) -> np.dtype[Any]:
    """The dtype of what is computed of tensors, dtypes and Python's numbers together.

    Example:
        >>> sg.result_type(np.zeros(2, "float32"), 1.0)
        dtype('float32')
    """
    kinds: list[Any] = []
    for one in values:
        if getattr(one, "weak", False):
            kinds.append(NUMBERS[one.dtype.kind])
        else:
            kinds.append(np.dtype(one.dtype) if hasattr(one, "dtype") else one)
    return promoted(*kinds)


def promote_types(a: object, b: object) -> np.dtype[Any]:
    """The smallest dtype to which two can be cast.

    Example:
        >>> sg.promote_types("int32", "float32")
        dtype('float64')
    """
    return promoted(as_dtype(a), as_dtype(b))


def can_cast(a: Value, to: object, casting: Value = "safe") -> bool:
    """Whether a dtype, or that of a tensor, can be cast to another by a rule of NumPy's.

    Example:
        >>> sg.can_cast("int32", "float64")
        True
    """
    source = a.dtype if hasattr(a, "shape") else a
    return bool(np.can_cast(as_dtype(source), as_dtype(to), casting))


def isdtype(dtype: Value, kind: Value) -> bool:
    """Whether a dtype is of a kind: "bool", "integral", "real floating", "numeric" or a dtype.

    Example:
        >>> sg.isdtype(np.dtype("int32"), "integral")
        True
    """
    return bool(np.isdtype(np.dtype(dtype), kind))


def issubdtype(a: Value, b: Value) -> bool:
    """Whether a dtype is of a class of NumPy's, such as np.floating.

    Example:
        >>> sg.issubdtype("float32", np.floating)
        True
    """
    return bool(np.issubdtype(a, b))


def isscalar(x: object) -> bool:
    """Whether x is a number, and no tensor.

    Example:
        >>> sg.isscalar(1.0)
        True
    """
    return bool(np.isscalar(x))


def iterable(x: object) -> bool:
    """Whether x has parts to go over.

    Example:
        >>> sg.iterable([1, 2])
        True
    """
    return bool(np.iterable(x)) and (not hasattr(x, "ndim") or bool(x.ndim))


def iscomplexobj(x: Value) -> bool:
    """Whether x is of complex numbers.

    Example:
        >>> sg.iscomplexobj(np.zeros(2))
        False
    """
    return np.dtype(result_type(x)).kind == "c"


def isrealobj(x: object) -> bool:
    """Whether x is of real numbers.

    Example:
        >>> sg.isrealobj(np.zeros(2))
        True
    """
    return not iscomplexobj(x)
