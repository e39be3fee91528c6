"""From units and a program to a function: the code out of the cache, or compiled and stored."""

from __future__ import annotations

import ctypes
import weakref
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np

from compiler.emit.pool import SYMBOL as WORK_SYMBOL
from compiler.emit.program import Call, Instruction, TableLayout
from compiler.runtime.cache.key import entry_key, kernel_key
from compiler.runtime.cache.objects import Loaded, load_object, target_machine
from compiler.runtime.cache.settings import open_store
from compiler.runtime.cache.store import Code, Store
from compiler.runtime.entry import (
    ENTRY_SYMBOL,
    FIELDS,
    RUN_SYMBOL,
    Argument,
    Entry,
    fields_are_right,
    native_entry,
    python_entry,
)
from compiler.runtime.program import program_words, with_products

counts: Counter[str] = Counter()
"""How many kernels this process has "compiled" with LLVM, and "loaded" from the cache."""


def load_kernel(
    units: Sequence[str],
    program: Sequence[Instruction],
    table: TableLayout,
    inputs: Sequence[Argument],
    outputs: Sequence[Argument],
) -> Entries:
    """The functions that run a program: see `compiler.emit.entry`."""
    code = _units(units)
    return _entries(_words(program, code, table), table, code, inputs, outputs)


def _words(program: Sequence[Instruction], code: Loaded, table: TableLayout) -> list[int]:
    words = program_words(program, code.addresses, table.pool)
    return with_products(words, table.pool) if table.gemm else words


def load_steps(
    units: Sequence[str], program: Sequence[Instruction], table: TableLayout
) -> tuple[list[Callable[[int], int]], Any]:
    """Each instruction as a function of the table's address, and what keeps them in memory."""
    code = _units(units)
    run = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_void_p] * 2)(_entry_code().addresses[1])
    words = [np.array(_words([one], code, table), np.int64) for one in program]
    return [partial(run, one.ctypes.data) for one in words], (code, words)


def load_with_numba(
    source: str, table: TableLayout, inputs: Sequence[Argument], outputs: Sequence[Argument]
) -> Entries:
    """The same for a kernel's whole source, compiled by Numba; nothing is cached."""
    from compiler.emit.with_numba import compile_with_numba

    step = compile_with_numba(source)
    words = program_words([Call(0, ())], [step.address])
    return _entries(words, table, step, inputs, outputs)


@dataclass(frozen=True, slots=True, eq=False)
class Entries:
    """Two ways to call a program: `(table, *inputs) -> list of new arrays, or an int`, and
    `(table, *inputs, *outputs) -> empty list, or an int`.
    """

    call: Entry
    fill: Entry


def _entries(
    program: Sequence[int],
    table: TableLayout,
    owner: Any,
    inputs: Sequence[Argument],
    outputs: Sequence[Argument],
) -> Entries:
    """Functions around a program; they keep the owner of the code."""
    made = []
    entry_address, run_address, _ = _entry_code().addresses
    for taken, given in ((inputs, outputs), ((*inputs, *outputs), ())):
        if fields_are_right():
            entry = native_entry(entry_address, program, table.unlocks, taken, given)
        else:
            entry = python_entry(run_address, program, taken, given)
        weakref.finalize(entry, _drop, owner).atexit = False
        made.append(entry)
    return Entries(*made)


def _units(units: Sequence[str]) -> Loaded:
    """The steps of units, compiled or from the cache."""
    if not units:
        return Loaded((), None)
    store, key = _place(kernel_key, "\n".join(units))
    loaded = _stored(store, key)
    if loaded is not None:
        counts["loaded"] += 1
        return loaded
    from compiler.emit.native import compile_native, step_symbol

    code = Code(tuple(map(step_symbol, range(len(units)))), compile_native(units))
    counts["compiled"] += 1
    if store is not None:
        store.put(key, code)
    return load_object(code)


def work_address() -> int:
    """The address of what a thread of the pool runs."""
    return _entry_code().addresses[2]


@cache
def _entry_code() -> Loaded:
    store, key = _place(entry_key, repr(FIELDS))
    loaded = _stored(store, key)
    if loaded is not None:
        return loaded
    from compiler.emit.entry import entry_object

    code = Code((ENTRY_SYMBOL, RUN_SYMBOL, WORK_SYMBOL), entry_object(FIELDS, target_machine()))
    if store is not None:
        store.put(key, code)
    return load_object(code)


def _place(key_of: Callable[[str], bytes], text: str) -> tuple[Store | None, bytes]:
    """The store and the key in it; no store if what the code depends on cannot be told."""
    store = open_store()
    if store is None:
        return None, b""
    try:
        return store, key_of(text)
    except (OSError, ModuleNotFoundError):
        return None, b""


def _stored(store: Store | None, key: bytes) -> Loaded | None:
    code = store.get(key) if store is not None else None
    try:
        return load_object(code) if code is not None else None
    except ValueError:
        return None


def _drop(owner: Any) -> None:
    """Let go of the code whose function is gone."""
