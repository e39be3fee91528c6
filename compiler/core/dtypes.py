"""The dtypes of the op library: each is one declaration, and the rest asks the declaration.

`bfloat16` is not NumPy's: `ml_dtypes` has it, an extra, which is imported when somebody asks for
the dtype or gives an array of it.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from staticgraph.compiler.core import fork
from staticgraph.compiler.core.errors import DTypeError
from staticgraph.compiler.core.record import Record, record
from staticgraph.compiler.core.values import Value

DType: TypeAlias = np.dtype[Any]

_FLOATS = "fV"  # NumPy's kinds; of V, bytes without a meaning to NumPy, bfloat16 is the only one
_INEXACT = _FLOATS + "c"
_NARROW = 2  # bytes of a float that is stored only


@record
class Declaration(Record):
    """A dtype.

    Attributes:
        name: NumPy's name, or that of `ml_dtypes`.
        register: the type that the loop IR has for it, in memory and in registers; a bool is a byte
            in memory, a complex number two of these (`compiler.passes.complex_numbers`).
        computes: the dtype that ops compute in, if not this one: it is stored narrow, each op casts
            its operands, and rounds its result once.
    """

    name: str
    register: str
    computes: str = ""


DECLARED = {
    one.name: one
    for one in (
        Declaration("bool", "boolean"),
        Declaration("uint8", "u8"),
        Declaration("uint16", "u16"),
        Declaration("uint32", "u32"),
        Declaration("uint64", "u64"),
        Declaration("int8", "i8"),
        Declaration("int16", "i16"),
        Declaration("int32", "i32"),
        Declaration("int64", "i64"),
        Declaration("bfloat16", "u16", computes="float32"),
        Declaration("float16", "u16", computes="float32"),
        Declaration("float32", "f32"),
        Declaration("float64", "f64"),
        Declaration("complex64", "f32"),
        Declaration("complex128", "f64"),
    )
}
"""All dtypes by their names, within a kind from the narrowest."""

DTYPES = tuple(DECLARED)
REGISTERS = {name: one.register for name, one in DECLARED.items()}
"""The types of the loop IR by the names of the dtypes."""

_known = {np.dtype(name): np.dtype(name) for name in DTYPES if name != "bfloat16"}


def is_float(dtype: DType) -> bool:
    """Whether a dtype of the library is floating point, of real numbers."""
    return dtype.kind in _FLOATS


def is_inexact(dtype: DType) -> bool:
    """Whether a dtype is floating point, real or complex: what gradients flow through."""
    return dtype.kind in _INEXACT


def part_dtype(dtype: DType) -> DType:
    """The dtype of the real and of the imaginary part of numbers of a dtype."""
    return np.dtype(f"f{dtype.itemsize // 2}") if dtype.kind == "c" else dtype


def complex_dtype(dtype: DType) -> DType:
    """The dtype of complex numbers whose parts have a dtype."""
    if dtype.itemsize < _F32.itemsize and dtype.kind != "c":
        raise DTypeError(f"no complex numbers have parts of {dtype}: cast it with astype")
    return dtype if dtype.kind == "c" else np.dtype(f"c{dtype.itemsize * 2}")


def is_narrow(dtype: DType) -> bool:
    """Whether a dtype is stored only: float16 and bfloat16, which compute in float32."""
    return dtype.itemsize == _NARROW and dtype.kind in _FLOATS


def computing(dtype: DType) -> DType:
    """The dtype that ops on elements of a dtype compute in."""
    return _F32 if is_narrow(dtype) else dtype


def stored(dtype: DType) -> DType:
    """The dtype of the numbers that memory holds: of bools bytes, of floats of 16 bits the bits."""
    if dtype.kind == "b":
        return np.dtype(np.uint8)
    return np.dtype(np.uint16) if is_narrow(dtype) else dtype


def accumulator(dtype: DType) -> DType:
    """The dtype of sums and products of elements of a dtype, which is NumPy's."""
    return dtype if is_inexact(dtype) else _U64 if dtype.kind == "u" else _I64


def promoted(*operands: Value) -> DType:
    """The dtype in which dtypes, arrays and Python numbers meet: NumPy's rules.

    NumPy has none for bfloat16: it meets others as float16 does, and float16 in float32.
    """
    given = [getattr(one, "dtype", one) for one in operands]
    if not any(isinstance(one, np.dtype) and one.kind == "V" for one in given):
        return np.result_type(*operands)
    brain = next(one for one in given if isinstance(one, np.dtype) and one.kind == "V")
    found = np.result_type(*[_F16 if one is brain or one == brain else one for one in given])
    if found != _F16:
        return found
    return _F32 if any(isinstance(one, np.dtype) and one == _F16 for one in given) else brain


_F16 = np.dtype(np.float16)
_F32, _I64, _U64 = np.dtype(np.float32), np.dtype(np.int64), np.dtype(np.uint64)


def bfloat16(op: str = "dtype") -> DType:
    """The dtype bfloat16.

    Raises:
        DTypeError: `ml_dtypes` is not installed.
    """
    try:
        with fork.importing():
            import ml_dtypes
    except ImportError:
        raise DTypeError(
            f"{op}: bfloat16 needs ml_dtypes, which is not installed: "
            "pip install 'staticgraph[bfloat16]'"
        ) from None
    found: DType = np.dtype(ml_dtypes.bfloat16)
    return _known.setdefault(found, found)


def as_dtype(dtype: object, op: str = "dtype") -> DType:
    """`dtype` as one of the dtypes that the op library has; DTypeError otherwise."""
    if isinstance(dtype, str) and dtype == "bfloat16":
        return bfloat16(op)
    try:
        given: DType = np.dtype(dtype)  # type: ignore[call-overload]
    except TypeError:
        raise _unknown(dtype, op) from None
    found = _known.get(given)
    if found is None and given.name == "bfloat16":
        found = bfloat16(op)
    if found is None:
        raise _unknown(dtype, op)
    return found


def _unknown(dtype: object, op: str) -> DTypeError:
    shown = str(dtype) if isinstance(dtype, np.dtype) else dtype
    return DTypeError(f"{op}: no dtype {shown!r}: known are {', '.join(DTYPES)}")


def limits(dtype: DType) -> Value:
    """What `np.finfo` says of a dtype of floats."""
    if dtype.kind != "V":
        return np.finfo(dtype)
    import ml_dtypes  # there, as the dtype is

    found: Any = ml_dtypes.finfo
    return found(dtype)
