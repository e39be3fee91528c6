"""Kernels as functions of C that SciPy calls without the interpreter: `LowLevelCallable`."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np

from staticgraph.compiler.core.errors import MissingExtraError, OptionError
from staticgraph.compiler.llvm import callbacks
from staticgraph.compiler.runtime.arguments import as_inputs
from staticgraph.compiler.runtime.cache.common import run_address
from staticgraph.compiler.runtime.signals import words_of_a_call
from staticgraph.compiler.runtime.sizes import sizes_of
from staticgraph.executables.executable import Executable

_DOUBLES = ctypes.POINTER(ctypes.c_double)
_OF_NUMBERS = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_int, _DOUBLES, ctypes.c_void_p)
_OF_WINDOWS = ctypes.CFUNCTYPE(ctypes.c_int, _DOUBLES, ctypes.c_ssize_t, _DOUBLES, ctypes.c_void_p)
KINDS: dict[str, tuple[str, Any, str]] = {
    "numbers": (callbacks.NUMBERS, _OF_NUMBERS, "double (int, double *, void *)"),
    "window": (callbacks.WINDOW, _OF_WINDOWS, "int (double *, intptr_t, double *, void *)"),
}
"""Per kind the function, its type, and its signature as SciPy writes it."""


def low_level(executable: Executable, values: Sequence[object], count: int, kind: str) -> Any:
    """A `LowLevelCallable` of the first `count` inputs, float64, which lie one behind another.

    `values` has an array for each input: of the first the shapes matter, the others are fed.
    """
    try:
        from scipy import LowLevelCallable
    except ImportError:
        raise MissingExtraError(
            f"{executable.name}: scipy: low_level: SciPy is not installed"
        ) from None
    if kind not in KINDS:
        raise OptionError(
            f"{executable.name}: scipy: low_level: the kind is one of {[*KINDS]}, not {kind!r}"
        )
    runner = executable.runner.compiled("scipy")
    plan = runner.launch_plan
    if plan.hosts:
        raise OptionError(
            f"{executable.name}: scipy: low_level: a step of it is a function of Python's"
        )
    arrays = as_inputs(executable.name, runner.feeds, values)
    workspace = runner.workspace_for(sizes_of(runner.feeds, arrays))
    result, watch = np.zeros(()), words_of_a_call()
    for entry, array in zip(plan.inputs, arrays, strict=True):
        workspace.table[entry.at] = array.ctypes.data
    workspace.table[plan.outputs[0].at] = result.ctypes.data
    ends = np.cumsum([0, *(array.size for array in arrays[:count])])
    pairs = [(entry.at, start) for entry, start in zip(plan.inputs, ends[:-1], strict=False)]
    words = np.array(
        [
            run_address(), runner.native.program.ctypes.data, workspace.table.ctypes.data,
            watch.ctypes.data, result.ctypes.data, ends[-1], count, *np.ravel(pairs).astype(int),
        ],
        np.int64,
    )  # fmt: skip
    symbol, made_of, signature = KINDS[kind]
    pointer = ctypes.c_void_p(words.ctypes.data)
    # SciPy keeps the pointer, and the pointer what it leads to
    pointer.__dict__["keeps"] = words, workspace, arrays, result, watch, executable
    return LowLevelCallable(made_of(callbacks.callback_address(symbol)), pointer, signature)
