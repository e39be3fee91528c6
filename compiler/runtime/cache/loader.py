"""From units and a program to a function: the code out of the cache, or compiled and stored."""

from __future__ import annotations

import contextlib
import ctypes
import weakref
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from staticgraph.compiler.core import fork
from staticgraph.compiler.core.errors import FormatError
from staticgraph.compiler.core.log import log
from staticgraph.compiler.core.options import Options
from staticgraph.compiler.core.record import frozen
from staticgraph.compiler.core.values import Array
from staticgraph.compiler.graph.canonical import Canonical, canonical
from staticgraph.compiler.graph.definition import Definition
from staticgraph.compiler.runtime.cache.common import entry_of, stored, trampoline_code
from staticgraph.compiler.runtime.cache.key import kernel_key, launch_plan_key
from staticgraph.compiler.runtime.cache.launch_plans import (
    KEY_BYTES,
    read_launch_plan,
    write_launch_plan,
)
from staticgraph.compiler.runtime.cache.objects import Loaded, load_object
from staticgraph.compiler.runtime.cache.settings import open_store
from staticgraph.compiler.runtime.cache.store import Code, Store
from staticgraph.compiler.runtime.launch_plan import LaunchPlan
from staticgraph.compiler.runtime.signals import process_address, words_of_a_call
from staticgraph.compiler.runtime.trampoline import (
    Binder,
    fields_are_right,
    native_trampoline,
    python_trampoline,
)

if TYPE_CHECKING:
    from staticgraph.compiler.codegen.bytecode import Instruction
    from staticgraph.compiler.codegen.kernel import Kernel
    from staticgraph.compiler.ir.records import Function

counts: Counter[str] = Counter()
"""How many kernels this process has "compiled" with LLVM, and "loaded" from the cache; how many of
these without a pass, by their "launch_plans"."""


@frozen(eq=False)
class Trampolines:
    """Of a table two ways to call a program: `(*inputs) -> list of new arrays, or an int`, and
    `(*inputs, *outputs) -> empty list, or an int`; and the words of the program.
    """

    call: Binder
    fill: Binder
    program: Array


@frozen(eq=False)
class Place:
    """Where the launch plan of a definition is in the cache, or would be."""

    store: Store
    key: bytes
    canonical: Canonical


def place_of(definition: Definition, options: Options) -> Place | None:
    """The place of a definition's launch plan; None without a cache, or if it can have none."""
    store = open_store()
    if store is None or options.backend != "llvm":
        return None
    found = canonical(definition)
    if found is None:
        return None
    try:
        names = [str(atom) for atom in found.unknowns]
        return Place(store, launch_plan_key(found.text, options, names), found)
    except OSError:
        return None


def load_launch_plan(place: Place, definition: Definition) -> tuple[LaunchPlan, Trampolines] | None:
    """The launch plan of a definition and its functions, if they are in the cache."""
    found = place.store.read(place.key)
    if found is None:
        return None
    try:
        launch_plan, key = read_launch_plan(*found, definition, place.canonical)
    except FormatError:
        return None
    code = stored(place.store, key) if launch_plan.units else Loaded((), None)
    if code is None or len(code.addresses) != launch_plan.units:
        return None
    counts.update(("loaded", "launch_plans"))
    return launch_plan, _trampolines(launch_plan.linked(code.addresses), launch_plan, code)


def load_kernel(
    kernel: Kernel, launch_plan: LaunchPlan, place: Place | None, ready: Callable[[], None]
) -> Trampolines:
    """The functions that run a kernel: see `compiler.llvm.trampoline`.

    Its launch plan is put in its place. `ready` waits for the code that all kernels share.
    """
    code, key = _units(kernel.units, kernel.texts)
    if place is not None:
        with contextlib.suppress(FormatError):  # a pass made an unknown of its own
            place.store.write(
                place.key, *write_launch_plan(launch_plan, key, place.canonical.unknowns)
            )
    ready()
    return _trampolines(launch_plan.linked(code.addresses), launch_plan, code)


def load_with_numba(
    kernel: Kernel, launch_plan: LaunchPlan, ready: Callable[[], None]
) -> Trampolines:
    """The same for units that Numba lowers; nothing is cached."""
    with fork.importing():
        from staticgraph.compiler.llvm.native import inlined, step_symbol
        from staticgraph.compiler.llvm.with_numba import compile_with_numba

    code = Loaded((), None)
    if kernel.units:
        symbols = tuple(map(step_symbol, range(len(kernel.units))))
        code = load_object(Code(symbols, compile_with_numba(kernel.units, inlined(kernel.units))))
    ready()
    return _trampolines(launch_plan.linked(code.addresses), launch_plan, code)


def load_steps(
    kernel: Kernel, programs: Sequence[Sequence[Instruction]]
) -> tuple[list[Callable[[int], int]], Any]:
    """Each of some programs of a kernel's units as a function of the table's address.

    Returns:
        The functions, and what keeps them in memory.
    """
    code, _ = _units(kernel.units, kernel.texts)
    # what a step calls may raise: ctypes asks that of functions that are called with the lock
    run = ctypes.PYFUNCTYPE(ctypes.c_int64, *[ctypes.c_void_p] * 3)(trampoline_code().addresses[1])
    words = [np.array(_words(one, code, kernel), np.int64) for one in programs]
    fresh = words_of_a_call(unlocks=1, process=process_address())
    watch = fresh.copy()

    def step(one: Any, table: int) -> int:
        watch[:] = fresh
        return int(run(one.ctypes.data, table, watch.ctypes.data))

    return [partial(step, one) for one in words], code


def _words(program: Sequence[Instruction], code: Loaded, kernel: Kernel) -> list[int]:
    from staticgraph.compiler.codegen.encoding import program_words, with_products

    words = program_words(program, code.addresses, kernel.table.pool)
    return with_products(words, kernel.table.pool) if kernel.calls_blas else words


def _trampolines(program: Sequence[int], launch_plan: LaunchPlan, owner: object) -> Trampolines:
    """What binds functions around a program; they keep its words, and the owner of the code."""
    made = []
    words = np.array(program, np.int64)
    weakref.finalize(words, _drop, owner).atexit = False
    inputs, outputs = (
        [one.argument for one in arrays] for arrays in (launch_plan.inputs, launch_plan.outputs)
    )
    written = [replace(one, written=True) for one in outputs]
    trampoline_address, run_address, *_ = trampoline_code().addresses
    for taken, given in ((inputs, outputs), ([*inputs, *written], [])):
        if fields_are_right():
            bind = native_trampoline(trampoline_address, words, launch_plan.unlocks, taken, given)
        else:
            bind = python_trampoline(run_address, words, launch_plan.unlocks, taken, given)
        made.append(bind)
    call, fill = made
    return Trampolines(call, fill, words)


def _units(units: Sequence[Function], texts: Sequence[str]) -> tuple[Loaded, bytes]:
    """The steps of units, compiled or from the cache, and the key of their code: of its text."""
    if not units:
        return Loaded((), None), bytes(KEY_BYTES)
    store, key = entry_of(kernel_key, "\n".join(texts))
    loaded = stored(store, key)
    if loaded is not None:
        counts["loaded"] += 1
        log("cache", f"code of {len(units)} units: loaded, {key.hex()[:12]}")
        return loaded, key
    with fork.importing():
        from staticgraph.compiler.llvm.native import compile_native, step_symbol

    code = Code(tuple(map(step_symbol, range(len(units)))), compile_native(units))
    counts["compiled"] += 1
    if store is not None:
        done = "stored" if store.put(key, code) else "not stored"
        size = len(code.object)
        log("cache", f"code of {len(units)} units: {done}, {key.hex()[:12]}, {size} bytes")
    return load_object(code), key


def load_unit(unit: Function, text: str) -> Loaded:
    """A function of the emitted language on its own, compiled or from the cache."""
    return _units((unit,), (text,))[0]


def _drop(owner: object) -> None:
    """Let go of the code whose function is gone."""
