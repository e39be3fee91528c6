"""Dtypes that print as PyTorch's, the default dtype, and PyTorch's type promotion.

Promotion goes by category (bool < int < float): a tensor of a higher category wins, whatever its
width; within a category, tensors with axes outweigh 0-d tensors, and these Python numbers.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from staticgraph.compiler.core.dtypes import (
    as_dtype,
    complex_dtype,
    is_float,
    is_inexact,
    is_narrow,
    limits,
    part_dtype,
    promoted,
)
from staticgraph.compiler.core.errors import DTypeError, OutOfRangeError, StaticGraphError
from staticgraph.compiler.core.op import Operand
from staticgraph.dynamic.core.errors import ArgumentError, AutogradError

NumpyDType = np.dtype[Any]


class DType:
    """A dtype of a tensor: `name`, its NumPy `dtype`, and what follows from it. Final.

    NumPy accepts it wherever it takes a dtype, and it equals its NumPy dtype.

    Example:
        >>> dynamic.float32.is_floating_point, dynamic.int64.itemsize
        (True, 8)
    """

    __slots__ = (
        "_dtype", "category", "is_complex", "is_floating_point", "itemsize", "kind", "legacy",
        "name",
    )  # fmt: skip

    def __init__(self, name: str, legacy: str) -> None:
        self.name = name
        self.legacy = legacy
        self._dtype: NumpyDType | None = None if name == "bfloat16" else np.dtype(name)
        self.kind = "V" if self._dtype is None else self._dtype.kind
        self.itemsize = 2 if self._dtype is None else self._dtype.itemsize
        self.is_floating_point = self.kind in "fV"
        self.is_complex = self.kind == "c"
        self.category = _CATEGORY[self.kind]

    @property
    def dtype(self) -> NumpyDType:
        """NumPy's; DTypeError for bfloat16 where `ml_dtypes`, which has it, is not installed."""
        if self._dtype is None:
            self._dtype = as_dtype(self.name, repr(self))
        return self._dtype

    def to_complex(self) -> DType:
        """The dtype of complex numbers whose parts have this dtype."""
        return DTYPES[complex_dtype(self.dtype)]

    def to_real(self) -> DType:
        """The dtype of the parts of complex numbers of this dtype."""
        return DTYPES[part_dtype(self.dtype)]

    @property
    def type(self) -> Any:
        """NumPy's scalar type."""
        return self.dtype.type

    def __eq__(self, other: object) -> bool:
        if self is other or isinstance(other, DType):
            return self is other
        return isinstance(other, np.dtype) and self.kind == other.kind and self.dtype == other

    def __hash__(self) -> int:
        return hash(self.dtype)

    def __repr__(self) -> str:
        return f"torch.{self.name}"  # as PyTorch prints it, which scripts import as `torch`

    def __reduce__(self) -> str | tuple[Any, ...]:
        return (dtype_named, (self.name,))


_CATEGORY = {"b": 0, "u": 1, "i": 1, "f": 2, "V": 2, "c": 3}

boolean = DType("bool", "Bool")
uint8 = DType("uint8", "Byte")
uint16 = DType("uint16", "UInt16")
uint32 = DType("uint32", "UInt32")
uint64 = DType("uint64", "UInt64")
int8 = DType("int8", "Char")
int16 = DType("int16", "Short")
int32 = DType("int32", "Int")
int64 = DType("int64", "Long")
bfloat16 = DType("bfloat16", "BFloat16")
float16 = DType("float16", "Half")
float32 = DType("float32", "Float")
float64 = DType("float64", "Double")
complex64 = DType("complex64", "ComplexFloat")
complex128 = DType("complex128", "ComplexDouble")


class _Known(dict[NumpyDType, DType]):
    """The dtypes by NumPy's; bfloat16 is among them when there is an array of it."""

    def __missing__(self, dtype: NumpyDType) -> DType:
        if dtype not in self:
            raise KeyError(dtype)
        self[bfloat16.dtype] = bfloat16
        return bfloat16

    def __contains__(self, dtype: Any) -> bool:
        return super().__contains__(dtype) or dtype.name == bfloat16.name


_NATIVE = (
    boolean, uint8, int8, int16, int32, int64, uint16, uint32, uint64, float16, float32, float64,
    complex64, complex128,
)  # fmt: skip
DTYPES = _Known({one.dtype: one for one in _NATIVE})
_UNPROMOTED = {uint16.dtype, uint32.dtype, uint64.dtype}
BOOL, INT64, F32, F64 = boolean.dtype, int64.dtype, float32.dtype, float64.dtype
_ALIASES = {"float": F32, "double": F64, "long": INT64, "int": int32.dtype, "short": int16.dtype}
_default = [float32]


_C_NAMES = {
    "Bool": "bool", "Byte": "unsigned char", "Char": "signed char", "Short": "short int",
    "Int": "int", "Long": "long int", "Float": "float", "Double": "double",
    "ComplexFloat": "c10::complex<float>", "ComplexDouble": "c10::complex<double>",
    "UInt16": "short unsigned int", "UInt32": "unsigned int", "UInt64": "long unsigned int",
    "Half": "c10::Half", "BFloat16": "c10::BFloat16",
}  # fmt: skip


def dtype_named(name: str) -> DType:
    """The dtype of this name."""
    return DTYPES[as_dtype(name)]


def as_numpy_dtype(dtype: Any) -> NumpyDType:
    """`dtype` (ours, NumPy's, or one of Python's types) as a NumPy dtype that tensors may have."""
    if isinstance(dtype, DType):
        return dtype.dtype
    if dtype is None:  # which is float64 to NumPy
        raise ArgumentError("a dtype must be torch.dtype, not NoneType")
    try:
        return as_dtype(dtype)
    except (DTypeError, ValueError):  # the latter of what has a `dtype`, such as a tensor
        if isinstance(dtype, str) and dtype == "bfloat16":
            raise
        known = ", ".join(map(str, (*_NATIVE, bfloat16)))
        raise ArgumentError(f"dtype: no dtype {dtype!r}: known are {known}") from None


def dtype_of_type(kind: Any) -> DType | None:
    """The dtype of a typed constructor, or of its name, "torch.FloatTensor"; None for another.

    TypeError for one of another device.
    """
    if isinstance(kind, str):
        if kind.startswith("torch.cuda."):
            raise ArgumentError(f"type {kind} not available. Torch not compiled with CUDA enabled.")
        name = kind.removeprefix("torch.").removesuffix("Tensor")
        if kind != f"torch.{name}Tensor":
            return None
        return next((one for one in (*_NATIVE, bfloat16) if one.legacy == name), None)
    found = getattr(kind, "dtype", None) if isinstance(kind, type) else None
    return found if isinstance(found, DType) else None


def get_default_dtype() -> DType:
    """The dtype of floats that a factory is given without a dtype: float32 unless set.

    Example:
        >>> dynamic.get_default_dtype()
        torch.float32
    """
    return _default[0]


def set_default_dtype(d: object) -> None:
    """Set the dtype of new floats: float32 or float64; TypeError otherwise.

    Example:
        >>> dynamic.set_default_dtype(dynamic.float64)
        >>> dynamic.ones(1).dtype
        torch.float64
        >>> dynamic.set_default_dtype(dynamic.float32)
    """
    numpy = as_numpy_dtype(d)
    if not is_float(numpy):
        raise ArgumentError("only floating-point types are supported as the default type")
    _default[0] = DTYPES[numpy]


def promote_types(first: NumpyDType, second: NumpyDType) -> NumpyDType:
    """The dtype of an op on two tensors of equal standing."""
    if first == second:
        return first
    refused = {first, second} & _UNPROMOTED
    is_complex = "c" in (first.kind, second.kind)
    if is_inexact(first) != is_inexact(second) and not (refused and is_complex):
        return first if is_inexact(first) else second
    if refused:
        raise AutogradError(
            "Promotion for uint16, uint32, uint64 types is not supported, attempted to promote "
            f"{DTYPES[first].legacy} and {DTYPES[second].legacy}"
        )
    return promoted(first, second)


def dtype_of_number(value: object) -> NumpyDType:
    """The dtype of a Python number as a tensor."""
    if isinstance(value, bool):
        return BOOL
    if isinstance(value, complex):
        return complex_dtype(_default[0].dtype)
    return INT64 if isinstance(value, int) else _default[0].dtype


_SCALARS = {
    "uint8": "uint8_t", "int8": "int8_t", "int16": "int16_t", "int32": "int", "int64": "int64_t",
    "float32": "float", "float64": "double", "bool": "bool", "uint16": "uint16_t",
    "uint32": "uint32_t", "uint64": "uint64_t", "float16": "c10::Half", "bfloat16": "c10::BFloat16",
    "complex64": "c10::complex<float>", "complex128": "c10::complex<double>",
}  # fmt: skip
MOST_F32 = float(np.finfo(np.float32).max)
"""The largest finite float32."""
MOST_F16 = float(np.finfo(np.float16).max)
"""The largest finite float16."""


def element(value: object, dtype: NumpyDType) -> Any:
    """A number as an array of a dtype; of uint8, down to -255 it counts from 256.

    RuntimeError for a number that no element of the dtype is, TypeError for what is no number.
    """
    if not isinstance(value, int | float | complex | np.number | np.bool_):
        raise TypeError(f"value must be Number, not {type(value).__name__}")
    if type(value) is int and not -(2**63) <= value < 2**64:
        raise OverflowError("int too big to convert")
    number: Any = value
    fits: Any
    if isinstance(value, complex | np.complexfloating):
        fits = dtype.kind == "c"
    elif dtype.kind in "iu":
        most = int(np.iinfo(dtype).max)
        least = -most if dtype.kind == "u" else -most - 1
        fits = least <= number <= most
    else:
        fits = dtype in (BOOL, F64) or not float(limits(dtype).max) < abs(number) < np.inf
    if not fits:
        name = _SCALARS[dtype.name]
        raise AutogradError(f"value cannot be converted to type {name} without overflow")
    return np.asarray(value).astype(dtype)


def known_array(function: str, value: object) -> Any:
    """The array of an operand that is no tensor; TypeError if it has none of the dtypes."""
    array = np.asarray(value)
    if array.dtype not in DTYPES or value is None:
        is_array = isinstance(value, np.ndarray | np.generic)
        given = f"an array of {array.dtype}" if is_array else type(value).__name__
        raise ArgumentError(f"{function}(): an operand must be Tensor, not {given}")
    return array


def itself(function: str, value: object) -> Any:
    """What a function gives back as it is: an operand, or an array of numbers; else TypeError."""
    return value if isinstance(value, Operand) else known_array(function, value)


def as_element(value: object, x: Any) -> Any:
    """A number that is to be an element of a tensor, which keeps its dtype; a tensor as it is.

    RuntimeError for a tensor with axes.
    """
    if isinstance(value, np.generic):
        value = value.item()
    if not isinstance(value, bool | int | float | complex):
        if ndim := getattr(value, "ndim", 0):
            raise AutogradError(
                "masked_fill_ only supports a 0-dimensional value tensor, but got tensor with "
                f"{ndim} dimension(s)."
            )
        return value
    dtype = x._array.dtype
    most = MOST_F16 if is_narrow(dtype) else MOST_F32
    if is_float(dtype) and not isinstance(value, complex) and abs(value) <= most:
        return value
    return x._constant(element(value, dtype))


def result_type(operands: Iterable[Any]) -> NumpyDType:
    """The dtype that arrays and Python numbers are cast to before an op combines them."""
    standing: list[NumpyDType | None] = [None, None, None]  # with axes, 0-d, Python numbers
    for operand in operands:
        if not isinstance(operand, bool | int | float | complex):
            rank, dtype = (0 if operand.ndim else 1), operand.dtype
        else:
            rank, dtype = 2, dtype_of_number(operand)
        before = standing[rank]
        standing[rank] = dtype if before is None else promote_types(before, dtype)
    result: NumpyDType | None = None
    for dtype in standing:
        if result is None:
            result = dtype
        elif dtype is not None and _CATEGORY[dtype.kind] > _CATEGORY[result.kind]:
            # complex numbers have parts as wide as the floats that they meet
            if dtype.kind != "c":
                result = promote_types(result, dtype)
            elif is_float(result):
                result = complex_dtype(F32 if is_narrow(result) else result)
            else:
                result = dtype
    return F32 if result is None else result


MASKS = "masked_fill_ only supports boolean masks, but got mask with dtype {1}"


def require_mask(mask: object, text: str = MASKS) -> None:
    """RuntimeError unless the elements of a tensor are bools: {0} and {1} as in `require_dtype`."""
    _require(text, mask, (BOOL,), AutogradError)


def require_index(
    text: str, index: object, only_long: bool = False, kind: type[StaticGraphError] = AutogradError
) -> None:
    """RuntimeError unless a tensor is int64, or also int32; {0} is PyTorch's name of the dtype.

    `kind` is another class, where PyTorch raises IndexError.
    """
    _require(text, index, (INT64,) if only_long else (INT64, int32.dtype), kind)


def require_places(index: Any) -> None:
    """IndexError unless the index of what is filled is int64."""
    if index._array.dtype != INT64:
        raise OutOfRangeError("index_fill_(): Expected dtype int64 for index.")


def require_one(value: Any) -> None:
    """RuntimeError for a tensor with axes where slices are filled with one number."""
    if getattr(value, "ndim", 0):
        raise AutogradError(
            "index_fill_ only supports a 0-dimensional value tensor, but got tensor with "
            f"{value.ndim} dimension(s)."
        )


def _require(
    text: str, x: Any, dtypes: tuple[NumpyDType, ...], kind: type[StaticGraphError]
) -> None:
    dtype = x._array.dtype
    if dtype not in dtypes:
        name = DTYPES[dtype].legacy
        raise kind(text.format(name, _C_NAMES[name]))


def require_dtype(text: str, x: Any, other: object) -> None:
    """RuntimeError unless `other`, if it has a dtype and is no scalar of NumPy's, has that of x.

    In the text {0} and {1} are PyTorch's names of the dtypes, {2} and {3} those of C.
    """
    given = None if isinstance(other, np.generic) else getattr(other, "dtype", None)
    if given is not None and given != x.dtype:
        both = x.dtype, given
        raise AutogradError(text.format(*map(_name_of, both), *map(c_name, both)))


def c_name(dtype: object) -> str:
    """C's name of a dtype, as some of PyTorch's messages have it."""
    name = _name_of(dtype)
    return _C_NAMES.get(name, name)


def _name_of(dtype: Any) -> str:
    """PyTorch's name of a dtype; of one that no tensor has, such as a complex one, NumPy's."""
    found = np.dtype(dtype)
    return DTYPES[found].legacy if found in DTYPES else found.name
