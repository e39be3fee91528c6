"""What is asked of dtypes, and of a namespace."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from staticgraph.compiler.array_api.promotion import dtype_of, result_dtype
from staticgraph.compiler.core.dtypes import complex_dtype
from staticgraph.compiler.core.errors import OptionError
from staticgraph.compiler.core.record import frozen
from staticgraph.compiler.core.values import Value


class FloatLimits(NamedTuple):
    """What `finfo` tells of a floating dtype."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: Value


class IntegerLimits(NamedTuple):
    """What `iinfo` tells of an integer dtype."""

    bits: int
    max: int
    min: int
    dtype: Value


@frozen
class DataTypes:
    """The functions of dtypes of a namespace.

    Attributes:
        shown: the dtype, as the namespace has it, of one of NumPy's.
    """

    shown: Callable[[Value], Value]

    def finfo(self, type: Value, /) -> FloatLimits:
        """The limits of a floating dtype, of the parts of a complex one, or of an array's.

        Example:
            >>> sg.xp.finfo(sg.xp.float32).bits, dynamic.xp.finfo(dynamic.xp.float64).eps
            (32, 2.220446049250313e-16)
        """
        found = np.finfo(dtype_of(type))
        return FloatLimits(
            found.bits, float(found.eps), float(found.max), float(found.min),
            float(found.smallest_normal), self.shown(np.dtype(found.dtype)),
        )  # fmt: skip

    def iinfo(self, type: Value, /) -> IntegerLimits:
        """The limits of an integer dtype, or of an array's.

        Example:
            >>> sg.xp.iinfo(sg.xp.int8).max, dynamic.xp.iinfo(dynamic.xp.int16).min
            (127, -32768)
        """
        dtype = dtype_of(type)
        found = np.iinfo(dtype)
        return IntegerLimits(found.bits, int(found.max), int(found.min), self.shown(dtype))

    def can_cast(self, from_: Value, to: Value, /) -> bool:
        """Whether a dtype, or that of an array, can be promoted to another.

        Example:
            >>> xp = dynamic.xp
            >>> xp.can_cast(xp.int8, xp.int32), xp.can_cast(xp.float32, xp.int32)
            (True, False)
        """
        return bool(np.can_cast(dtype_of(from_), dtype_of(to)))

    def isdtype(self, dtype: Value, kind: Value) -> bool:
        """Whether a dtype is another one, or of a kind such as "real floating", or of several.

        Example:
            >>> xp = dynamic.xp
            >>> xp.isdtype(xp.int8, "integral"), xp.isdtype(xp.int8, ("bool", "real floating"))
            (True, False)
        """
        kinds = kind if isinstance(kind, tuple) else (kind,)
        plain = tuple(one if isinstance(one, str) else np.dtype(one) for one in kinds)
        return bool(np.isdtype(np.dtype(dtype), plain))

    def result_type(self, *arrays_and_dtypes: Value) -> Value:
        """The dtype that arrays, dtypes and Python's numbers have together.

        Example:
            >>> sg.xp.result_type(sg.xp.int8, sg.xp.uint8, 1)
            dtype('int16')
            >>> dynamic.xp.result_type(dynamic.xp.int8, dynamic.xp.uint8, 1)
            torch.int16
        """
        if all(isinstance(one, bool | int | float | complex) for one in arrays_and_dtypes):
            raise OptionError("result_type: at least one argument must be an array or a dtype")
        return self.shown(result_dtype(*arrays_and_dtypes))


_SIGNED = ("int8", "int16", "int32", "int64")
_UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
_REAL, _COMPLEX = ("float32", "float64"), ("complex64", "complex128")
_KINDS: dict[str, tuple[str, ...]] = {
    "bool": ("bool",),
    "signed integer": _SIGNED,
    "unsigned integer": _UNSIGNED,
    "integral": _SIGNED + _UNSIGNED,
    "real floating": _REAL,
    "complex floating": _COMPLEX,
    "numeric": _SIGNED + _UNSIGNED + _REAL + _COMPLEX,
}
NAMES = ("bool", *_KINDS["numeric"])
"""The standard's dtypes."""


@frozen
class Info:
    """What `__array_namespace_info__` gives.

    Attributes:
        shown: the dtype, as the namespace has it, of one of NumPy's.
        floating: the dtype, NumPy's, of floats that are made without one.
        device: the CPU, as the namespace has it.
        counts: whether shapes may depend on values.

    Example:
        >>> info = dynamic.xp.__array_namespace_info__()
        >>> info.default_dtypes()["real floating"], info.dtypes(kind="bool")
        (torch.float32, {'bool': torch.bool})
        >>> sg.xp.__array_namespace_info__().capabilities()["data-dependent shapes"]
        False
    """

    shown: Callable[[Value], Value]
    floating: Value
    device: Value
    counts: bool

    def capabilities(self) -> dict[str, Value]:
        """Whether masks are indices, whether shapes may depend on values, how many axes."""
        return {
            "boolean indexing": self.counts, "data-dependent shapes": self.counts,
            "max dimensions": 64,
        }  # fmt: skip

    def default_device(self) -> Value:
        """The CPU."""
        return self.device

    def devices(self) -> tuple[Value, ...]:
        """The CPU alone."""
        return (self.device,)

    def default_dtypes(self, *, device: object = None) -> dict[str, Value]:
        """The dtypes of arrays that are made without one."""
        self._check(device)
        found = {
            "real floating": self.floating, "complex floating": complex_dtype(self.floating),
            "integral": np.dtype(np.int64), "indexing": np.dtype(np.int64),
        }  # fmt: skip
        return {name: self.shown(dtype) for name, dtype in found.items()}

    def dtypes(self, *, device: object = None, kind: Value = None) -> dict[str, Value]:
        """The dtypes by name, of a kind or of several."""
        self._check(device)
        kinds = ("bool", "numeric") if kind is None else kind
        found: dict[str, Value] = {}
        for one in kinds if isinstance(kinds, tuple) else (kinds,):
            if one not in _KINDS:
                raise OptionError(f"dtypes: no kind {one!r}: known are {', '.join(_KINDS)}")
            found |= {name: self.shown(np.dtype(name)) for name in _KINDS[one]}
        return found

    def _check(self, device: object) -> None:
        if device is not None and str(device) != str(self.device):
            raise OptionError(f"there is the device {self.device!r} alone, not {device!r}")
