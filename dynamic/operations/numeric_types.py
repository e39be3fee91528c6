"""What is known of dtypes: their limits, and the dtype that an op on two of them has."""

from __future__ import annotations

from typing import Any

import numpy as np

from staticgraph.compiler.core.dtypes import is_float, limits, part_dtype
from staticgraph.dynamic.core import dtypes
from staticgraph.dynamic.core.dtypes import DTYPES, DType, as_numpy_dtype, get_default_dtype
from staticgraph.dynamic.core.errors import ArgumentError
from staticgraph.dynamic.tensors.tensor import Tensor

__all__ = [
    "can_cast", "finfo", "iinfo", "is_floating_point", "is_nonzero", "promote_types",
    "result_type",
]  # fmt: skip


class finfo:  # noqa: N801 - PyTorch's name
    """The limits of a floating dtype (the default one): bits, eps, max, min, tiny, resolution.

    Example:
        >>> dynamic.finfo(dynamic.float32).eps
        1.1920928955078125e-07
    """

    def __init__(self, dtype: object = None) -> None:
        numpy = get_default_dtype().dtype if dtype is None else as_numpy_dtype(dtype)
        if numpy.kind == "c":
            numpy = part_dtype(numpy)
        if not is_float(numpy):
            raise ArgumentError(
                f"torch.finfo() requires a floating point input type. Use torch.iinfo to handle "
                f"'{DTYPES[numpy]}'"
            )
        known = limits(numpy)
        self.bits = int(known.bits)
        self.eps, self.max, self.min = float(known.eps), float(known.max), float(known.min)
        self.tiny = self.smallest_normal = float(known.tiny)
        self.resolution = 10.0**-known.precision
        self.dtype = numpy.name

    def __repr__(self) -> str:
        names = ("resolution", "min", "max", "eps", "smallest_normal", "tiny")
        values = ", ".join(f"{name}={getattr(self, name):g}" for name in names)
        return f"finfo({values}, dtype={self.dtype})"


class iinfo:  # noqa: N801 - PyTorch's name
    """The limits of an integer dtype: bits, max, min.

    Example:
        >>> dynamic.iinfo(dynamic.int8).max
        127
    """

    def __init__(self, dtype: object) -> None:
        numpy = as_numpy_dtype(dtype)
        if numpy.kind not in "iu":
            raise ArgumentError(
                "torch.iinfo() requires an integer input type. Use torch.finfo to handle "
                f"'{DTYPES[numpy]}'"
            )
        known = np.iinfo(numpy)
        self.bits, self.max, self.min = int(known.bits), int(known.max), int(known.min)
        self.dtype = numpy.name

    def __repr__(self) -> str:
        return f"iinfo(min={self.min:g}, max={self.max:g}, dtype={self.dtype})"


def promote_types(type1: object, type2: object) -> DType:
    """The smallest dtype that holds both.

    Example:
        >>> dynamic.promote_types("int32", "float32")
        torch.float32
    """
    return DTYPES[dtypes.promote_types(as_numpy_dtype(type1), as_numpy_dtype(type2))]


def result_type(tensor1: object, tensor2: object) -> DType:
    """The dtype of an arithmetic op on two tensors or numbers.

    Example:
        >>> dynamic.result_type(dynamic.tensor([1]), 2.0)
        torch.float32
    """
    pair = (one._array if isinstance(one, Tensor) else one for one in (tensor1, tensor2))
    return DTYPES[dtypes.result_type(pair)]


def can_cast(from_: object, to: object) -> bool:
    """Whether PyTorch casts one dtype to another in an op: never to a lower category.

    Example:
        >>> dynamic.can_cast("int32", "float64")
        True
    """
    first, second = (DTYPES[as_numpy_dtype(one)] for one in (from_, to))
    return bool(first.category <= second.category)


def is_floating_point(input: Any) -> bool:
    """Whether the dtype of the tensor is floating.

    Example:
        >>> dynamic.is_floating_point(dynamic.tensor([1]))
        False
    """
    return bool(input.is_floating_point())


def is_nonzero(input: object) -> bool:
    """Whether the only element of the tensor is not 0.

    Example:
        >>> dynamic.is_nonzero(dynamic.tensor([2.0]))
        True
    """
    return bool(input)
