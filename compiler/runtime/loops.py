"""Loops of NumPy's ufuncs in a row, as one builtin function: `compiler.llvm.loops`.

A ufunc has a loop per dtypes, whose address is in the record of NumPy's C interface
(`PyUFuncObject`). `ufunc_fields_are_right` compares what is read there with what Python says.
"""

from __future__ import annotations

import ctypes
import platform
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from staticgraph.compiler.core.record import Record, record
from staticgraph.compiler.core.types import DType
from staticgraph.compiler.core.values import Array
from staticgraph.compiler.llvm.loop_words import (
    C_FUNCTIONS,
    EACH,
    HEAD,
    MOST_OPERANDS,
    MOST_SCRATCH,
    MOST_SLOTS,
    OPERAND,
    OWN_SYMBOLS,
    PYTHON_FUNCTIONS,
    WHOLE,
)
from staticgraph.compiler.runtime.cache.common import loops_code
from staticgraph.compiler.runtime.trampoline import (
    FIELDS,
    METH_FASTCALL,
    METH_KEYWORDS,
    NEW_FROM_DESCR,
    builtin,
    canonical_dtype,
    fields_are_right,
    numpy_api,
    python_function,
    read_word,
)

MOST = 8192
"""The elements up to which the interpreter's lock is held: their loops take some microseconds."""
FEW = 1024
"""Those of arrays of rows, of which `reference.direct` computes others in another way."""
_BASE = object.__basicsize__
_NIN, _NOUT, _FUNCTIONS, _DATA, _NTYPES, _TYPES = (_BASE + at for at in (0, 4, 16, 24, 32, 48))
_EXCEPTIONS = {"x86_64": 0x0D, "AMD64": 0x0D, "aarch64": 0x07, "arm64": 0x07}
"""By machine invalid, division by zero and overflow as <fenv.h> has them."""

Function = Callable[..., Any]


@record
class Slot(Record):
    """An array of a program.

    Attributes:
        dtype: its dtype.
        kind: WHOLE, SCALAR or NUMBER.
        value: of a constant, or of a number of which there is a program of its own.
    """

    dtype: DType
    kind: int = WHOLE
    value: Array | None = None


@record
class Step(Record):
    """A loop: the address of its code and data, the slot, dtype and kind of each array, and how
    it goes over them.
    """

    loop: int
    data: int
    operands: tuple[tuple[int, DType, int], ...]
    mode: int = EACH


@record
class Program(Record):
    """What a function does: slots of inputs, results, scratch arrays and constants; the steps.

    `rows`: an input may be a row of the others, of which there is one step; `columns`: the length
    of the last axis that it is for, or 0.
    """

    inputs: tuple[Slot, ...]
    results: tuple[Slot, ...]
    scratch: int
    constants: tuple[Slot, ...]
    steps: tuple[Step, ...]
    rows: bool = False
    columns: int = 0

    def taking(self, inputs: tuple[Slot, ...]) -> Program:
        """The same program for other inputs."""
        others = self.results, self.scratch, self.constants, self.steps, self.rows, self.columns
        return Program(inputs, *others)


@record
class Holder(Record):
    """The classes whose objects hold arrays in slots.

    Attributes:
        classes: that of results, and another.
        paused: a list; while it is not empty, calls go to the general function.
    """

    classes: tuple[type, type]
    paused: list[None]

    def words(self, finish: object) -> dict[str, int]:
        """What the machine code is told."""
        slots = {name: slot_offset(self.classes[0], f"_{name}") for name in HOLDER_SLOTS}
        first, second = map(id, self.classes)
        return {
            "tensors": 1, "first_class": first, "second_class": second, "none": id(None),
            "paused": id(self.paused), "finish": id(finish), **slots,
        }  # fmt: skip


HOLDER_SLOTS = ("array", "cell", "home", "maker", "note")


def loops_function(
    program: Program,
    general: Function,
    holder: Holder | None = None,
    finish: object = None,
    name: str = "kernel",
    documentation: str = "",
) -> Function | None:
    """The builtin function of a program, whose other calls go to `general`; None if it is long.

    With a `holder` its arguments are tensors, for which `finish(array, *inputs)` makes the result
    if they have a place on the tape.
    """
    slots = len(program.inputs) + len(program.results) + program.scratch + len(program.constants)
    if slots > MOST_SLOTS:
        return None
    values = _head(program, general) | ({} if holder is None else holder.words(finish))
    words = [values.get(name, 0) for name in HEAD]
    scratch = [Slot(np.dtype(np.float64))] * program.scratch
    for one in (*program.inputs, *program.results, *scratch):
        words += (id(canonical_dtype(one.dtype)), one.dtype.itemsize, one.kind, *_guard(one))
    for one in program.constants:
        assert one.value is not None
        words += (one.value.ctypes.data, one.dtype.itemsize, one.kind, 0, 0)
    for step in program.steps:
        words += (step.loop, step.data, len(step.operands), step.mode)
        for slot, dtype, kind in step.operands:
            words += (slot, dtype.itemsize, kind)
        words += (0,) * (len(OPERAND) * (MOST_OPERANDS - len(step.operands)))
    code = loops_code()
    kept = Module("staticgraph.dynamic")
    kept.held = general, program, code, holder, finish
    convention = METH_FASTCALL | METH_KEYWORDS
    shown = name, documentation
    return builtin(code.addresses[0], convention, words_of(words), kept, shown)


def words_of(words: Sequence[int]) -> Array:
    """The words that are the `self` of a function, in memory that nobody writes to."""
    found = np.array(words, np.int64)
    found.flags.writeable = False
    return found


def _head(program: Program, general: object) -> dict[str, int]:
    """The words that every function begins with."""
    return {
        "general": id(general),
        "ndarray": id(np.ndarray),
        "PyArray_NewFromDescr": numpy_api()[NEW_FROM_DESCR],
        "exceptions": exceptions(),
        "inputs": len(program.inputs),
        "results": len(program.results),
        "scratch": program.scratch,
        "constants": len(program.constants),
        "steps": len(program.steps),
        "most": _most(program),
        "rows": program.rows,
        "columns": program.columns,
        "repeats": not program.columns and all(one.mode == EACH for one in program.steps),
        "float": id(float),
        "int": id(int),
        **{name: python_function(name) for name in PYTHON_FUNCTIONS},
        **{name: c_function(name) for name in C_FUNCTIONS},
    }


def exceptions() -> int:
    """The bits of the exceptions of which NumPy warns."""
    return _EXCEPTIONS[platform.machine()]


def _most(program: Program) -> int:
    """The elements of the largest arrays that a function takes."""
    most = FEW if program.columns else MOST
    return min(most, MOST_SCRATCH // (8 * program.scratch)) if program.scratch else most


class Module(str):
    """The name of the module of a function; it keeps what the function needs."""

    held: object = None


def _guard(slot: Slot) -> tuple[int, int]:
    """Whether there is a program for this value alone, and its bits."""
    if slot.value is None:
        return 0, 0
    # as the machine code extends it: a word has a sign, half a word has none
    signed = slot.dtype.itemsize == 8
    return 1, int.from_bytes(slot.value.tobytes(), sys.byteorder, signed=signed)


def slot_offset(kind: type, name: str) -> int:
    """Where the objects of a class have a slot: PyMemberDef in the descriptor."""
    member = read_word(id(getattr(kind, name)) + _BASE + 24)
    return read_word(member + 16)


@cache
def loops_are_there() -> bool:
    """Whether such functions can be made in this process."""
    return (
        fields_are_right()
        and object.__basicsize__ == 16  # an interpreter with a lock
        and platform.machine() in _EXCEPTIONS
        and sys.platform in ("linux", "darwin")
        and all(c_function(name) for name in ("feclearexcept", "fetestexcept"))
        and ufunc_fields_are_right()
        and _other_fields_are_right()
    )


def _other_fields_are_right() -> bool:
    """Whether the length of a list, a float's value and strides are where they are expected."""
    pair, number = [None, None], 1.5
    value = ctypes.c_double.from_address(id(number) + FIELDS.data).value
    repeated = np.broadcast_to(np.zeros((2, 1)), (2, 3))
    strides = read_word(id(repeated) + FIELDS.shape + 8)
    found = [read_word(strides + 8 * axis) for axis in range(2)]
    fits = read_word(id(pair) + FIELDS.data) == len(pair) and value == number
    return fits and found == list(repeated.strides)


@cache
def slots_are_right(kind: type) -> bool:
    """Whether the slots of a class that holds arrays are where their descriptors say."""
    made: object = object.__new__(kind)
    for name in HOLDER_SLOTS:
        value = object()
        setattr(made, f"_{name}", value)
        if read_word(id(made) + slot_offset(kind, f"_{name}")) != id(value):
            return False
    return True


def ufunc_fields_are_right() -> bool:
    """Whether the fields of ufuncs are where they are expected."""
    for ufunc in (np.add, np.exp, np.less, np.divide):
        at = id(ufunc)
        counts = [_int(at + place) for place in (_NIN, _NOUT, _NTYPES)]
        if counts != [ufunc.nin, ufunc.nout, ufunc.ntypes]:
            return False
        expected = "".join(ufunc.types).replace("->", "")
        found = ctypes.string_at(read_word(at + _TYPES), len(expected))
        if "".join(np.dtype(_char(code)).char for code in found) != expected:
            return False
    return True


def ufunc_loop(ufunc: Any, dtypes: Sequence[DType]) -> tuple[int, int] | None:
    """The addresses of the code and data of a ufunc's loop of these dtypes, the results' last."""
    chars = [dtype.char for dtype in dtypes]
    wanted = "".join(chars[: ufunc.nin]) + "->" + "".join(chars[ufunc.nin :])
    if wanted not in ufunc.types:
        return None
    number = 8 * ufunc.types.index(wanted)
    at = id(ufunc)
    loop = read_word(read_word(at + _FUNCTIONS) + number)
    return (loop, read_word(read_word(at + _DATA) + number)) if loop else None


def own_loop(symbols: Mapping[int, str], dtype: DType, kinds: str) -> tuple[int, int] | None:
    """The loop of these by the bytes of an element, if the dtype is of one of these kinds."""
    symbol = symbols.get(dtype.itemsize) if dtype.kind in kinds else None
    if symbol is None:
        return None
    return loops_code().addresses[1 + OWN_SYMBOLS.index(symbol)], 0


@cache
def c_function(name: str) -> int:
    """The address of a function of the C library, or 0."""
    found = getattr(ctypes.CDLL(None), name, None)
    return 0 if found is None else ctypes.cast(found, ctypes.c_void_p).value or 0


def _int(address: int) -> int:
    return int(ctypes.c_int32.from_address(address).value)


@cache
def _char(number: int) -> str:
    """The char of NumPy's type of a number."""
    for char in "?bBhHiIlLqQfdgFDGOSUVMmep":
        if np.dtype(char).num == number:
            return char
    return "V"
