"""The namespace of the Python array API standard (2025.12) for tensors: `x.__array_namespace__()`.

Its functions take tensors and arrays and return arrays (`dynamic.xp.Array`), which are tensors whose
operators promote as the standard has it. Gradients, `dynamic.func` and `sg.function` see the shared
ops of which the functions are made.

Example:
    >>> xp = dynamic.xp
    >>> xp.sum(xp.asarray([[1.0, 2.0], [3.0, 4.0]]), axis=0)
    tensor([4., 6.])

Source:
    https://data-apis.org/array-api/2025.12
"""

from __future__ import annotations

from math import e as e, inf as inf, nan as nan, pi as pi
from typing import TYPE_CHECKING, Any

from compiler.array_api import FUNCTIONS as _FUNCTIONS, VERSION as __array_api_version__
from dynamic.core.dtypes import (
    boolean as bool,
    complex64 as complex64,
    complex128 as complex128,
    float32 as float32,
    float64 as float64,
    int8 as int8,
    int16 as int16,
    int32 as int32,
    int64 as int64,
    uint8 as uint8,
    uint16 as uint16,
    uint32 as uint32,
    uint64 as uint64,
)
from dynamic.xp import creation as _creation, data_types as _data_types, fft as fft, linalg as linalg
from dynamic.xp.array import Array as Array
from dynamic.xp.creation import *
from dynamic.xp.data_types import *
from dynamic.xp.data_types import Info as _Info
from dynamic.xp.functions import namespace as _namespace

newaxis = None

globals().update(_namespace(_FUNCTIONS))

if not TYPE_CHECKING:
    __all__ = [  # noqa: PLE0604 - the tables have them
        "Array", "__array_api_version__", "__array_namespace_info__", "bool", "complex64",
        "complex128", "e", "fft", "float32", "float64", "inf", "int8", "int16", "int32", "int64",
        "linalg", "nan", "newaxis", "pi", "uint8", "uint16", "uint32", "uint64",
        *_FUNCTIONS, *_creation.__all__, *_data_types.__all__,
    ]  # fmt: skip
else:

    def __getattr__(name: str) -> Any: ...


def __array_namespace_info__() -> _Info:
    """What the namespace has: devices, dtypes, capabilities."""
    return _Info()
