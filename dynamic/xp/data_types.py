"""What is asked of dtypes, and of the namespace."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from compiler.array_api.promotion import dtype_of, result_dtype
from dynamic.core.dtypes import (
    DTYPES,
    DType,
    boolean,
    complex64,
    complex128,
    float32,
    float64,
    get_default_dtype,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
)
from dynamic.core.errors import ArgumentError
from dynamic.tensors.devices import check_device, device as Device  # noqa: N812

__all__ = ["can_cast", "finfo", "iinfo", "isdtype", "result_type"]


class FloatLimits(NamedTuple):
    """What `finfo` tells of a floating dtype."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: DType


class IntegerLimits(NamedTuple):
    """What `iinfo` tells of an integer dtype."""

    bits: int
    max: int
    min: int
    dtype: DType


def finfo(type: Any, /) -> FloatLimits:
    """The limits of a floating dtype, of the parts of a complex one, or of an array's."""
    found = np.finfo(dtype_of(type))
    return FloatLimits(
        found.bits, float(found.eps), float(found.max), float(found.min),
        float(found.smallest_normal), DTYPES[np.dtype(found.dtype)],
    )  # fmt: skip


def iinfo(type: Any, /) -> IntegerLimits:
    """The limits of an integer dtype, or of an array's."""
    dtype = dtype_of(type)
    found = np.iinfo(dtype)
    return IntegerLimits(found.bits, int(found.max), int(found.min), DTYPES[dtype])


def can_cast(from_: Any, to: Any, /) -> bool:
    """Whether a dtype, or that of an array, can be promoted to another."""
    return bool(np.can_cast(dtype_of(from_), dtype_of(to)))


def isdtype(dtype: Any, kind: Any) -> bool:
    """Whether a dtype is another one, or of a kind such as "real floating", or one of several."""
    kinds = kind if isinstance(kind, tuple) else (kind,)
    plain = tuple(one if isinstance(one, str) else np.dtype(one) for one in kinds)
    return bool(np.isdtype(np.dtype(dtype), plain))


def result_type(*arrays_and_dtypes: Any) -> DType:
    """The dtype that arrays, dtypes and Python's numbers have together."""
    if all(isinstance(one, bool | int | float | complex) for one in arrays_and_dtypes):
        raise ArgumentError("result_type: at least one argument must be an array or a dtype")
    return DTYPES[result_dtype(*arrays_and_dtypes)]


_SIGNED = (int8, int16, int32, int64)
_UNSIGNED = (uint8, uint16, uint32, uint64)
_KINDS: dict[str, tuple[DType, ...]] = {
    "bool": (boolean,),
    "signed integer": _SIGNED,
    "unsigned integer": _UNSIGNED,
    "integral": _SIGNED + _UNSIGNED,
    "real floating": (float32, float64),
    "complex floating": (complex64, complex128),
    "numeric": (*_SIGNED, *_UNSIGNED, float32, float64, complex64, complex128),
}


class Info:
    """What `__array_namespace_info__` gives."""

    __slots__ = ()

    def capabilities(self) -> dict[str, Any]:
        """What is there: masks as indices, shapes that depend on values, any number of axes."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self) -> Device:
        """The CPU."""
        return Device("cpu")

    def devices(self) -> list[Device]:
        """The CPU alone."""
        return [Device("cpu")]

    def default_dtypes(self, *, device: object = None) -> dict[str, DType]:
        """The dtypes of arrays that are made without one."""
        check_device(device)
        floating = get_default_dtype()
        return {
            "real floating": floating, "complex floating": floating.to_complex(),
            "integral": int64, "indexing": int64,
        }  # fmt: skip

    def dtypes(self, *, device: object = None, kind: Any = None) -> dict[str, DType]:
        """The dtypes by name, of a kind or of several."""
        check_device(device)
        kinds = ("bool", "numeric") if kind is None else kind
        found: dict[str, DType] = {}
        for one in kinds if isinstance(kinds, tuple) else (kinds,):
            if one not in _KINDS:
                raise ValueError(f"dtypes: no kind {one!r}: known are {', '.join(_KINDS)}")
            found |= {dtype.name: dtype for dtype in _KINDS[one]}
        return found
