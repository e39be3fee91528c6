"""Constructors of tensors of one dtype, as scripts of PyTorch's first years have them."""

from __future__ import annotations

from typing import Any

import numpy as np

from staticgraph.dynamic.core.dtypes import DType, dtype_named
from staticgraph.dynamic.core.errors import ArgumentError
from staticgraph.dynamic.tensors import creation
from staticgraph.dynamic.tensors.tensor import Tensor, wrap
from staticgraph.dynamic.tensors.values import values_of


class TensorType(type):
    """The class of typed constructors: `isinstance` looks at the dtype, a call makes a tensor."""

    dtype: DType

    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, Tensor) and value.dtype is cls.dtype

    def __call__(cls, *data: Any) -> Any:
        """A tensor of a shape, uninitialised, or with the values of a sequence."""
        return new_tensor(cls.dtype, data)

    def __repr__(cls) -> str:
        return f"<class 'torch.{cls.__name__}'>"


def new_tensor(dtype: DType, data: tuple[Any, ...]) -> Any:
    """What the constructor of a dtype makes of its arguments: sizes, a sequence, or a tensor.

    TypeError for a tensor of another dtype, a number that is no size, or what is no sequence.
    """
    if not data:
        return creation.empty(0, dtype=dtype)
    first = data[0]
    if isinstance(first, Tensor) and first.ndim:
        if first.dtype is not dtype:
            raise ArgumentError(
                f"new(): expected a tensor of {dtype}, got one of {first.dtype}: cast it with "
                f".to({dtype})"
            )
        return first.detach()
    if len(data) == 1 and isinstance(first, tuple) and hasattr(first, "numel"):
        return creation.empty(first, dtype=dtype)
    if len(data) == 1 and (isinstance(first, np.ndarray) or not hasattr(first, "__index__")):
        if isinstance(first, int | float | str) or not hasattr(first, "__len__"):
            raise ArgumentError(f"new(): data must be a sequence (got {type(first).__name__})")
        return wrap(np.array(_plain(first)).astype(dtype.dtype).reshape(_shape_of(first)))
    for place, size in enumerate(data, 1):
        if not hasattr(size, "__index__"):
            raise ArgumentError(
                f"new(): argument 'size' failed to unpack the object at pos {place} with error "
                f'"type must be tuple of ints,but got {type(size).__name__}"'
            )
    return creation.empty(*data, dtype=dtype)


def _plain(data: Any) -> Any:
    if isinstance(data, Tensor):
        return values_of(data)
    return [_plain(one) for one in data] if isinstance(data, list | tuple) else data


def _shape_of(data: Any) -> tuple[int, ...]:
    return np.shape(_plain(data))


def _constructor(name: str, dtype: str) -> Any:
    doc = (
        f"`{name}(2, 3)` is uninitialised, `{name}([1, 2])` has these values, in {dtype}.\n\n"
        f"Example:\n    >>> dynamic.{name}([0, 1]).dtype\n    torch.{dtype}\n"
    )
    return TensorType(name, (), {"dtype": dtype_named(dtype), "__doc__": doc})


FloatTensor, DoubleTensor = (
    _constructor("FloatTensor", "float32"),
    _constructor("DoubleTensor", "float64"),
)
HalfTensor, ByteTensor = _constructor("HalfTensor", "float16"), _constructor("ByteTensor", "uint8")
CharTensor, ShortTensor = _constructor("CharTensor", "int8"), _constructor("ShortTensor", "int16")
IntTensor, LongTensor = _constructor("IntTensor", "int32"), _constructor("LongTensor", "int64")
BoolTensor = _constructor("BoolTensor", "bool")
NAMES = (
    "FloatTensor", "DoubleTensor", "HalfTensor", "ByteTensor", "CharTensor", "ShortTensor",
    "IntTensor", "LongTensor", "BoolTensor",
)  # fmt: skip
