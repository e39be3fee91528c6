"""Machine code that is the same for all kernels, and for the eager engine's small ops.

What small ops are called through is loaded in the middle of a script, which it halts: this module
and those that it imports are few.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from staticgraph.compiler.core import fork
from staticgraph.compiler.core.once import Once
from staticgraph.compiler.llvm.loop_words import LOOPS_SYMBOL, OWN_SYMBOLS, TENSOR_SYMBOLS
from staticgraph.compiler.llvm.pool import BORROWED_SYMBOL, SYMBOL as WORK_SYMBOL
from staticgraph.compiler.llvm.trampoline_words import ENTRY_SYMBOL, RUN_SYMBOL, UNCHANGED_SYMBOL
from staticgraph.compiler.runtime.cache.key import ALL, common_key
from staticgraph.compiler.runtime.cache.objects import Loaded, load_object
from staticgraph.compiler.runtime.cache.settings import open_store
from staticgraph.compiler.runtime.cache.store import Code, Store
from staticgraph.compiler.runtime.trampoline import FIELDS

TRAMPOLINE = "staticgraph.compiler.llvm.trampoline"
LOOPS = "staticgraph.compiler.llvm.loops"
PRODUCTS = "staticgraph.compiler.llvm.products.driver"
MACHINE = "staticgraph.compiler.llvm.machine"
"""What makes the code that all kernels share: imported where it is not in the cache."""
ROOMS_OF_LOOPS = ("core", "llvm")
"""The rooms that LOOPS and MACHINE import from."""


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

    return _same_for_all(f"loops {FIELDS!r}", make, ROOMS_OF_LOOPS)


def tensor_code(symbol: str) -> int:
    """The address of one of the functions of tensors in `loops_code`."""
    return loops_code().addresses[1 + len(OWN_SYMBOLS) + TENSOR_SYMBOLS.index(symbol)]


def _same_for_all(
    description: str, make: Callable[[], Code], rooms: tuple[str, ...] = ALL
) -> Loaded:
    """Code that is the same for all kernels, and depends on these rooms of the compiler."""
    store, key = entry_of(partial(common_key, rooms=rooms), description)
    loaded = stored(store, key)
    if loaded is not None:
        return loaded
    code = make()
    if store is not None:
        store.put(key, code)
    return load_object(code)


def entry_of(key_of: Callable[[str], bytes], text: str) -> tuple[Store | None, bytes]:
    """The store and the key in it; no store if what the code depends on cannot be told."""
    store = open_store()
    if store is None:
        return None, b""
    try:
        return store, key_of(text)
    except OSError:
        return None, b""


def stored(store: Store | None, key: bytes) -> Loaded | None:
    """The code of a key, loaded; None if it is not there, or cannot be."""
    code = store.get(key) if store is not None else None
    try:
        return load_object(code) if code is not None else None
    except ValueError:
        return None
