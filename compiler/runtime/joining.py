"""What joins small tensors, as a builtin function: `compiler.llvm.joining`."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from staticgraph.compiler.llvm.joining_words import (
    HEAD,
    MOST_TENSORS,
    PYTHON_FUNCTIONS,
)
from staticgraph.compiler.llvm.loop_words import JOINING_SYMBOL
from staticgraph.compiler.llvm.recorder_words import TENSOR_SLOTS
from staticgraph.compiler.runtime.loops import (
    MOST,
    c_function,
    loops_are_there,
    slot_offset,
    slots_are_right,
)
from staticgraph.compiler.runtime.recorder import Tape, made_of
from staticgraph.compiler.runtime.trampoline import (
    FIELDS,
    NEW_FROM_DESCR,
    canonical_dtype,
    numpy_api,
    python_function,
    read_word,
)

__all__ = ["MOST_TENSORS", "joining_function", "shared_words"]

_F32, _F64 = np.dtype(np.float32), np.dtype(np.float64)


def joining_function(
    tape: Tape,
    general: Callable[..., Any],
    finishes: list[Callable[..., Any]],
    attrs: list[Any],
    adds: bool,
) -> Callable[..., Any] | None:
    """The builtin function `(tensors, axis=0) -> tensor`; None where there is none.

    Args:
        general: what takes all other calls.
        finishes: by the number of tensors `(array, attrs, *tensors) -> tensor`.
        attrs: the attributes by the axis.
        adds: whether the axis is a new one.
    """
    if not (loops_are_there() and slots_are_right(tape.tensor) and _fields_are_right()):
        return None
    values: dict[str, int] = {
        "general": id(general), "finishes": id(finishes), "attrs": id(attrs), "adds": adds,
        "most": 8 * MOST, "memcpy": c_function("memcpy"), **shared_words(tape),
        **{name: python_function(name) for name in PYTHON_FUNCTIONS},
    }  # fmt: skip
    words = [values[name] for name in HEAD]
    return made_of(JOINING_SYMBOL, tape, words, (general, finishes, attrs))


def shared_words(tape: Tape) -> dict[str, int]:
    """What all functions of tensors are told."""
    objects: dict[str, Any] = {
        "ndarray": np.ndarray, "type": type, "list": list, "tuple": tuple, "int": int, "none": None,
        "tensor": tape.tensor, "plain": tape.plain, "paused": tape.paused,
        "float32": canonical_dtype(_F32), "float64": canonical_dtype(_F64),
    }  # fmt: skip
    return {
        **{name: id(one) for name, one in objects.items()},
        **{name: slot_offset(tape.tensor, f"_{name}") for name in TENSOR_SLOTS},
        "PyArray_NewFromDescr": numpy_api()[NEW_FROM_DESCR],
    }


@cache
def _fields_are_right() -> bool:
    """Whether the items of tuples and lists are where they are expected."""
    sequences: Sequence[Any] = (("a", "b"), ["c", "d", "e"])
    at = FIELDS.data + ctypes.sizeof(ctypes.c_int64)
    pair, several = sequences
    items = read_word(id(several) + at)
    return (
        [read_word(id(one) + FIELDS.data) for one in sequences] == [len(one) for one in sequences]
        and [read_word(id(pair) + at + 8 * i) for i in range(2)] == [id(one) for one in pair]
        and [read_word(items + 8 * i) for i in range(3)] == [id(one) for one in several]
    )
