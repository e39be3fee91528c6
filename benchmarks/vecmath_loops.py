"""The vectorised maths functions as kernels have them: compiled natively, and called alone.

What `sg.compile` makes of a function of one array: a loop over whole vectors and a rest of masked
lanes; and what it makes of a number, where there is no loop. Functions that are no op yet can be
called too.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from staticgraph.compiler.ir.parse import parsed_function
from staticgraph.compiler.llvm.native import compile_native, step_symbol
from staticgraph.compiler.llvm.vecmath import PREDICATES
from staticgraph.compiler.runtime.cache.objects import load_object
from staticgraph.compiler.runtime.cache.store import Code

STEP = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p, *[ctypes.c_int64] * 3)
POINTERS = {"float32": "p_f32", "float64": "p_f64"}
LOOP = """def unit({parameters}, out: {result}, n: i64) -> i64:
    for i in range(n):
        out[i] = {value}
"""
NUMBER = """def unit({parameters}, out: {result}, i: i64) -> i64:
    out[i] = {value}
"""


def source(template: str, name: str, operands: int, dtype: str) -> str:
    """The unit that computes a function of so many operands of a dtype."""
    names = "abc"[:operands]
    value = f"{name}({', '.join(f'{one}[i]' for one in names)})"
    return template.format(
        parameters=", ".join(f"{one}: {POINTERS[dtype]}" for one in names),
        result="p_u8" if name in PREDICATES else POINTERS[dtype],
        value=f"u8({value})" if name in PREDICATES else value,
    )


@cache
def compiled(text: str) -> tuple[Callable[..., int], Any]:
    """The step of a unit, and what owns its code."""
    loaded = load_object(Code((step_symbol(0),), compile_native([parsed_function(text)])))
    return STEP(loaded.addresses[0]), loaded


def vectorised(name: str, *operands: Any) -> Any:
    """The function of each element, in one loop."""
    out = _like(name, operands)
    _run(source(LOOP, name, len(operands), operands[0].dtype.name), [*operands, out], out.size)
    return out


def one_by_one(name: str, *operands: Any) -> Any:
    """The function of each element, each by code without a loop."""
    out = _like(name, operands)
    text = source(NUMBER, name, len(operands), operands[0].dtype.name)
    for i in range(out.size):
        _run(text, [*operands, out], i)
    return out


def _like(name: str, operands: tuple[Any, ...]) -> Any:
    assert all(one.flags.c_contiguous and one.shape == operands[0].shape for one in operands)
    return np.empty(operands[0].shape, bool if name in PREDICATES else operands[0].dtype)


def _run(text: str, arrays: list[Any], number: int) -> None:
    step, _ = compiled(text)
    table = np.array([*(one.ctypes.data for one in arrays), number])
    pairs = np.array([word for entry in range(table.size) for word in (entry, 0)])
    step(table.ctypes.data, pairs.ctypes.data, 0, 0, 0)
