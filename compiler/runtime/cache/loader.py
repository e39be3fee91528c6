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
from staticgraph.compiler.core.once import Once
from staticgraph.compiler.core.options import Options
from staticgraph.compiler.core.record import frozen
from staticgraph.compiler.core.values import Array
from staticgraph.compiler.graph.canonical import Canonical, canonical
from staticgraph.compiler.graph.definition import Definition
from staticgraph.compiler.llvm.loop_words import LOOPS_SYMBOL, OWN_SYMBOLS, TENSOR_SYMBOLS
from staticgraph.compiler.llvm.pool import BORROWED_SYMBOL, SYMBOL as WORK_SYMBOL
from staticgraph.compiler.llvm.trampoline_words import ENTRY_SYMBOL, RUN_SYMBOL, UNCHANGED_SYMBOL
from staticgraph.compiler.runtime.cache.key import kernel_key, launch_plan_key, trampoline_key
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
    FIELDS,
    Binder,
    fields_are_right,
    native_trampoline,
    python_trampoline,
)

if TYPE_CHECKING:
    from staticgraph.compiler.codegen.bytecode import Instruction
    from staticgraph.compiler.codegen.kernel import Kernel
    from staticgraph.compiler.ir.records import Function

TRAMPOLINE = "staticgraph.compiler.llvm.trampoline"
LOOPS = "staticgraph.compiler.llvm.loops"
PRODUCTS = "staticgraph.compiler.llvm.products.driver"
MACHINE = "staticgraph.compiler.llvm.machine"
"""What makes the code that all kernels share: imported where it is not in the cache."""

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
    code = _stored(place.store, key) if launch_plan.units else Loaded((), None)
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
    store, key = _place(kernel_key, "\n".join(texts))
    loaded = _stored(store, key)
    if loaded is not None:
        counts["loaded"] += 1
        log("cache", f"code of {len(units)} units: loaded, {key.hex()[:12]}")
        return loaded, key
    with fork.importing():
        from staticgraph.compiler.llvm.native import compile_native, step_symbol

    code = Code(tuple(map(step_symbol, range(len(units)))), compile_native(units))
    counts["compiled"] += 1
    if store is not None:
        stored = "stored" if store.put(key, code) else "not stored"
        size = len(code.object)
        log("cache", f"code of {len(units)} units: {stored}, {key.hex()[:12]}, {size} bytes")
    return load_object(code), key


def load_unit(unit: Function, text: str) -> Loaded:
    """A function of the emitted language on its own, compiled or from the cache."""
    return _units((unit,), (text,))[0]


def work_address() -> int:
    """The address of what a thread of the pool runs."""
    return trampoline_code().addresses[2]


def run_address() -> int:
    """The address of the loop that runs programs: `compiler.llvm.run`."""
    return trampoline_code().addresses[1]


def unchanged_address() -> int:
    """The address of what compares words of memory: `compiler.llvm.unchanged`."""
    return trampoline_code().addresses[3]


def borrowed_address() -> int:
    """The address of what threads of the BLAS run that share a loop."""
    return trampoline_code().addresses[4]


def load_products(itemsize: int, workspace: int) -> Loaded:
    """The gemm of `compiler.llvm.products` for floats of so many bytes, and where the address of
    its workspaces goes, each of so many bytes.
    """

    def make() -> Code:
        driver = fork.imported(PRODUCTS)
        machine = fork.imported(MACHINE).target_machine(driver.EFFORT)
        compiled = driver.products_object(driver.shape_of(itemsize), workspace, machine)
        return Code((driver.symbol(itemsize), driver.PLACE), compiled)

    return _same_for_all(f"products of {itemsize} bytes, {workspace}", make)


@Once
def trampoline_code() -> Loaded:
    """The code of `compiler.llvm.trampoline`, which every kernel needs."""

    def make() -> Code:
        trampoline_object = fork.imported(TRAMPOLINE).trampoline_object
        symbols = (ENTRY_SYMBOL, RUN_SYMBOL, WORK_SYMBOL, UNCHANGED_SYMBOL, BORROWED_SYMBOL)
        machine = fork.imported(MACHINE).target_machine()
        return Code(symbols, trampoline_object(FIELDS, machine))

    return _same_for_all(repr(FIELDS), make)


@Once
def loops_code() -> Loaded:
    """The code of `compiler.llvm.loops`."""

    def make() -> Code:
        loops_object = fork.imported(LOOPS).loops_object
        symbols = (LOOPS_SYMBOL, *OWN_SYMBOLS, *TENSOR_SYMBOLS)
        return Code(symbols, loops_object(FIELDS, fork.imported(MACHINE).target_machine()))

    return _same_for_all(f"loops {FIELDS!r}", make)


def tensor_code(symbol: str) -> int:
    """The address of one of the functions of tensors in `loops_code`."""
    return loops_code().addresses[1 + len(OWN_SYMBOLS) + TENSOR_SYMBOLS.index(symbol)]


def _same_for_all(description: str, make: Callable[[], Code]) -> Loaded:
    """Code that is the same for all kernels."""
    store, key = _place(trampoline_key, description)
    loaded = _stored(store, key)
    if loaded is not None:
        return loaded
    code = make()
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
    except OSError:
        return None, b""


def _stored(store: Store | None, key: bytes) -> Loaded | None:
    code = store.get(key) if store is not None else None
    try:
        return load_object(code) if code is not None else None
    except ValueError:
        return None


def _drop(owner: object) -> None:
    """Let go of the code whose function is gone."""
