"""Ops without operands: the leaves of a graph, and values that come from sizes."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from staticgraph.compiler.core.dims import Size
from staticgraph.compiler.core.errors import GraphError
from staticgraph.compiler.core.lowering import Iota, SizeValue
from staticgraph.compiler.core.op import Op, register
from staticgraph.compiler.core.types import DType, Shape, TensorType
from staticgraph.compiler.core.values import Array


class Literal:
    """A NumPy array as an attribute of a constant: immutable, hashable and compared by bits."""

    __slots__ = ("array", "key")

    def __init__(self, array: object) -> None:
        self.array = np.array(array, order="C")
        self.array.flags.writeable = False
        self.key = (self.array.dtype.str, self.array.shape, self.array.tobytes())

    def __hash__(self) -> int:
        return hash(self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Literal) and self.key == other.key

    def __copy__(self) -> Literal:
        return self

    def __deepcopy__(self, memo: object) -> Literal:
        return self

    def __reduce__(self) -> Any:
        return Literal, (self.array,)

    def __str__(self) -> str:
        if self.array.size <= 4:
            return np.array2string(self.array, separator=", ", floatmode="unique")
        return f"<{self.array.size} values>"

    __repr__ = __str__


def _unfed(**attrs: object) -> Any:
    raise GraphError("a leaf has no value of its own: it is fed")


placeholder = register(
    Op(
        name="placeholder",
        infer_type=lambda shape, dtype, key: TensorType(shape, dtype),
        evaluate=_unfed,
        complex="any",
        doc="An input that each call feeds; `key` tells placeholders apart.",
    )
)

variable = register(
    Op(
        name="variable",
        infer_type=lambda shape, dtype, key: TensorType(shape, dtype),
        evaluate=_unfed,
        complex="any",
        doc="State that lives between calls; `key` is the object that holds its value.",
    )
)


def _constant_type(value: Literal) -> TensorType:
    return TensorType(value.array.shape, value.array.dtype)


constant = register(
    Op(
        name="constant",
        infer_type=_constant_type,
        evaluate=lambda value: value.array,
        complex="any",
        doc="A value that is part of the graph.",
    )
)


def _iota_type(size: Size, shape: Shape | None = None) -> TensorType:
    return TensorType((size,) if shape is None else shape, np.dtype(np.int64))


def _iota(size: int, shape: tuple[int, ...] | None = None) -> Array:
    return np.arange(size).reshape(size if shape is None else shape)


iota = register(
    Op(
        name="iota",
        infer_type=_iota_type,
        evaluate=_iota,
        lowering=Iota(),
        doc="The integers 0, 1, ..., size - 1: int64[size], or in row-major order of a shape.",
    )
)

size_of = register(
    Op(
        name="size_of",
        infer_type=lambda size: TensorType((), np.dtype(np.int64)),
        evaluate=lambda size: np.int64(size),
        lowering=SizeValue(),
        exact=True,
        doc="A size as a value: int64[].",
    )
)


_keys = itertools.count()


def next_key() -> int:
    """What tells a placeholder from all others of this process."""
    return next(_keys)


def leaf_attrs(shape: Shape, dtype: DType, key: object) -> dict[str, object]:
    """The attributes of a placeholder or a variable."""
    return {"shape": shape, "dtype": dtype, "key": key}
