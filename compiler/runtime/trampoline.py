"""What a program is called through: a builtin function, the trampoline.

`compiler.llvm.trampoline` says what its machine code does. It reads fields of ndarrays and dtypes
where CPython's and NumPy's C interfaces have them (`PyArrayObject_fields` and `PyArray_Descr` of
NumPy 2). `fields_are_right` compares them with what Python says; where they differ,
`python_trampoline` does the same without them.
"""

from __future__ import annotations

import ctypes
import importlib
import sys
from collections.abc import Callable, Sequence
from dataclasses import field
from functools import cache, partial
from typing import Any

import numpy as np

from staticgraph.compiler.core.dtypes import is_float
from staticgraph.compiler.core.once import Once
from staticgraph.compiler.core.record import Record, mutable, record
from staticgraph.compiler.core.types import DType
from staticgraph.compiler.core.values import Array
from staticgraph.compiler.llvm.trampoline_words import (
    EXPONENTS,
    PYTHON_FUNCTIONS,
    Fields,
)
from staticgraph.compiler.llvm.watch import REJECTED
from staticgraph.compiler.runtime.signals import process_address, words_of_a_call

NUMPY_ABI = 0x02000000
METH_KEYWORDS, METH_NOARGS, METH_FASTCALL = 0x0002, 0x0004, 0x0080
NEW_FROM_DESCR, SET_BASE_OBJECT = 94, 282
"""Where NumPy's table of functions has PyArray_NewFromDescr and PyArray_SetBaseObject."""
HEAD = object.__basicsize__  # larger in a free-threaded CPython
FIELDS = Fields(
    type=HEAD - 8, data=HEAD, ndim=HEAD + 8, shape=HEAD + 16, descr=HEAD + 40, flags=HEAD + 48,
    kind=HEAD + 8, itemsize=HEAD + 24,
)  # fmt: skip

CALLS = np.zeros(1, np.int64)
"""A number that grows with each call whose inputs are kept."""

Trampoline = Callable[..., Any]
Binder = Callable[..., Trampoline]
"""What makes the trampoline of a table, and of what it keeps (`Kept`), if it does."""


@mutable(eq=False)
class Kept:
    """The inputs of the last call, and what `CALLS` was then: one number, 0 if there was none."""

    inputs: list[object]
    stamp: Array = field(default_factory=lambda: np.zeros(1, np.int64))


@record
class Argument(Record):
    """An input or output of a kernel: its address goes to `at` in the table, its sizes follow.

    `written` says that the kernel writes it.
    """

    at: int
    ndim: int
    dtype: DType
    written: bool = False


def native_trampoline(
    code: int,
    program: Array,
    unlocks: int,
    inputs: Sequence[Argument],
    outputs: Sequence[Argument],
) -> Binder:
    """Of a table a builtin function `(*inputs) -> list of outputs, or an int` around a program.

    Where an output of no axes is inf or nan, it gives a tuple of them.

    Args:
        code: the address of the machine code of the trampoline.
        inputs: those that are written come last.
        program: its words, which live as long as one of the functions.
        unlocks: the table's entry that says whether to begin without the interpreter's lock.
    """
    constants = [
        program.ctypes.data,
        unlocks,
        process_address(),
        id(np.ndarray),
        *(python_function(name) for name in PYTHON_FUNCTIONS),
        numpy_api()[NEW_FROM_DESCR],
        CALLS.ctypes.data,
        len(inputs),
        sum(one.written for one in inputs),
        len(outputs),
        len(_numbers(outputs)),
    ]
    for one in inputs:
        flags = FIELDS.writable if one.written else FIELDS.required
        constants += (one.at, one.ndim, _kind(one.dtype), one.dtype.itemsize, flags)
    for one in outputs:
        constants += (one.at, one.ndim, id(canonical_dtype(one.dtype)))
    for one in _numbers(outputs):
        constants += (one.at, one.dtype.itemsize)
    words = np.array(constants, np.int64)

    def bind(table: Array, kept: Kept | None = None) -> Trampoline:
        keeps = (0, 0) if kept is None else (id(kept.inputs), kept.stamp.ctypes.data)
        bound = np.array([words.ctypes.data, table.ctypes.data, *keeps], np.int64)
        return builtin(code, METH_FASTCALL, bound, (words, program, table, kept))

    return bind


def builtin(
    code: int,
    convention: int,
    words: Any,
    kept: object = None,
    shown: tuple[str, str] = ("kernel", ""),
) -> Callable[..., Any]:
    """The builtin function of machine code, whose `self` is an ndarray of words.

    Args:
        code: the address of the code.
        convention: CPython's flags of how it is called.
        words: those.
        kept: what lives as long as it does; Python takes it for the function's module.
        shown: the function's name, and its documentation.
    """
    method = ctypes.addressof(_method(code, convention, *shown))
    made: Callable[..., Any] = _maker()(method, words, kept)
    return made


@cache
def _maker() -> Callable[..., Any]:
    kind = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.py_object)
    return kind(("PyCFunction_NewEx", ctypes.pythonapi))


def python_trampoline(
    run: int,
    program: Array,
    unlocks: int,
    inputs: Sequence[Argument],
    outputs: Sequence[Argument],
) -> Binder:
    """The same as `native_trampoline` in Python, some microseconds slower.

    Args:
        run: the address of the code that runs programs.
        program: its words, which live as long as one of the functions.
        unlocks: the table's entry that says whether to begin without the interpreter's lock.
    """
    run_program = ctypes.PYFUNCTYPE(ctypes.c_int64, *[ctypes.c_void_p] * 3)(run)

    def trampoline(table: Any, kept: Kept | None, *arrays: object) -> Any:
        if len(arrays) != len(inputs):
            return REJECTED
        if kept is not None:
            kept.inputs[:] = arrays
            CALLS[0] += 1
            kept.stamp[0] = CALLS[0]
        for one, array in zip(inputs, arrays, strict=True):
            if type(array) is not np.ndarray or array.dtype != one.dtype:
                return REJECTED
            if array.shape != tuple(table[one.at + 1 : one.at + 1 + one.ndim]):
                return REJECTED
            flags = array.flags
            if not (flags.c_contiguous and flags.aligned and flags.writeable >= one.written):
                return REJECTED
            table[one.at] = array.ctypes.data
        reading = sum(not one.written for one in inputs)
        if not are_apart(arrays[reading:], arrays[:reading]):
            return REJECTED
        results = []
        for one in outputs:
            made = np.empty(table[one.at + 1 : one.at + 1 + one.ndim], one.dtype)
            table[one.at] = made.ctypes.data
            results.append(made)
        unlocked, guards = table[unlocks : unlocks + 2].tolist()
        watch = words_of_a_call(unlocked, guards, process_address())
        status = run_program(program.ctypes.data, table.ctypes.data, watch.ctypes.data)
        if status:
            return status
        return results if all(np.isfinite(results[i]) for i in numbers) else tuple(results)

    numbers = [i for i, one in enumerate(outputs) if one in _numbers(outputs)]
    return lambda table, kept=None: partial(trampoline, table, kept)


def _numbers(outputs: Sequence[Argument]) -> list[Argument]:
    """The outputs that are one floating-point number."""
    return [
        one
        for one in outputs
        if not one.ndim and is_float(one.dtype) and one.dtype.itemsize in EXPONENTS
    ]


def are_apart(given: Sequence[object], taken: Sequence[object]) -> bool:
    """Whether arrays that are written share no memory with one another or with those taken."""
    return not any(
        np.may_share_memory(array, other)
        for i, array in enumerate(given)
        for other in (*taken, *given[:i])
    )


@cache
def fields_are_right() -> bool:
    """Whether every field that the trampoline reads is where it is expected."""
    if sys.byteorder != "little":
        return False
    arrays = [
        np.zeros((2, 3), np.float32), np.zeros((), np.int64), np.zeros((4, 5, 6), bool)[::2, :, 1],
        np.zeros(3, ">f8")[1:], np.zeros(2, complex), np.zeros(5, np.uint8)[1:].view(np.int32),
    ]  # fmt: skip
    version = ctypes.CFUNCTYPE(ctypes.c_uint)(numpy_api()[0])  # PyArray_GetNDArrayCVersion
    return version() == NUMPY_ABI and all(_array_is_right(array) for array in arrays)


def _array_is_right(array: Any) -> bool:
    at, descr = id(array), id(array.dtype)
    if np.ndarray.__basicsize__ < FIELDS.flags + 4:
        return False
    if _read(ctypes.c_int64, at + FIELDS.descr) != descr:
        return False
    shape = _read(ctypes.c_int64, at + FIELDS.shape)
    kind = ctypes.string_at(descr + FIELDS.kind, 3).decode("latin-1")
    return (
        _read(ctypes.c_int64, at + FIELDS.type) == id(np.ndarray)
        and _read(ctypes.c_int64, at + FIELDS.data) == array.ctypes.data
        and _read(ctypes.c_int32, at + FIELDS.ndim) == array.ndim
        and (ctypes.c_int64 * array.ndim).from_address(shape or at)[:] == list(array.shape)
        and _read(ctypes.c_int32, at + FIELDS.flags) == array.flags.num
        and kind == array.dtype.kind + array.dtype.char + array.dtype.byteorder
        and _read(ctypes.c_int64, descr + FIELDS.itemsize) == array.dtype.itemsize
    )


def _read(kind: Any, address: int) -> int:
    return int(kind.from_address(address).value)


def address_of(array: Array) -> int:
    """Where an array's elements are: `array.ctypes.data` takes four times as long."""
    if not fields_are_right():
        return array.ctypes.data
    return _WORD.from_address(id(array) + FIELDS.data).value


_WORD = ctypes.c_int64


def read_word(address: int) -> int:
    """The word of 64 bits at an address."""
    return _read(ctypes.c_int64, address)


def _kind(dtype: DType) -> int:
    return _read(ctypes.c_uint32, id(canonical_dtype(dtype)) + FIELDS.kind) & FIELDS.kind_mask


@cache
def canonical_dtype(dtype: DType) -> DType:
    """The one object of a dtype that lives as long as NumPy."""
    return np.dtype(dtype.type)


def python_function(name: str) -> int:
    """The address of a function of Python's C interface."""
    return ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value or 0


@cache
def numpy_api() -> Sequence[int]:
    """The addresses of NumPy's C interface."""
    capsule = importlib.import_module("numpy._core._multiarray_umath")._ARRAY_API
    pointer_of = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
        ("PyCapsule_GetPointer", ctypes.pythonapi)
    )
    address = pointer_of(capsule, None)
    return [word or 0 for word in (ctypes.c_void_p * (SET_BASE_OBJECT + 1)).from_address(address)]


class _MethodDef(ctypes.Structure):
    """PyMethodDef."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("method", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


@Once
def _method(
    code: int, convention: int, name: str = "kernel", documentation: str = ""
) -> _MethodDef:
    made = _MethodDef(name.encode(), code, convention, documentation.encode() or None)
    # A builtin function reads it when it is freed, which may be after this module is, at the end.
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(made))
    return made
