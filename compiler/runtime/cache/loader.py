"""From a kernel's source to a function: out of the cache without Numba, or compiled and stored."""

from __future__ import annotations

import weakref
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache

from compiler.runtime.cache.key import entry_key, kernel_key
from compiler.runtime.cache.objects import Loaded, load_object, target_machine
from compiler.runtime.cache.settings import open_store
from compiler.runtime.cache.store import Code, Store
from compiler.runtime.entry import (
    FIELDS,
    SYMBOL,
    Argument,
    Entry,
    fields_are_right,
    native_entry,
    python_entry,
)

counts: Counter[str] = Counter()
"""How many kernels this process has "compiled" with Numba, and "loaded" from the cache."""


def load_kernel(source: str, inputs: Sequence[Argument], outputs: Sequence[Argument]) -> Entry:
    """The function `(table, *inputs) -> results` that runs a kernel: see `compiler.emit.entry`."""
    kernel = _kernel(source)
    if fields_are_right():
        entry = native_entry(_entry_code().address, kernel.address, inputs, outputs)
    else:
        entry = python_entry(kernel.address, inputs, outputs)
    weakref.finalize(entry, _drop, kernel).atexit = False
    return entry


def _kernel(source: str) -> Loaded:
    store, key = _place(kernel_key, source)
    loaded = _stored(store, key)
    if loaded is not None:
        counts["loaded"] += 1
        return loaded
    from compiler.emit.native import compile_native

    native = compile_native(source)
    counts["compiled"] += 1
    try:
        loaded = load_object(Code(native.symbol, native.code))
    except ValueError:  # then what Numba has loaded is used, and not stored
        return Loaded(native.address, native.owner)
    if store is not None:
        store.put(key, Code(native.symbol, native.code))
    return loaded


@cache
def _entry_code() -> Loaded:
    store, key = _place(entry_key, repr(FIELDS))
    loaded = _stored(store, key)
    if loaded is not None:
        return loaded
    from compiler.emit.entry import entry_object

    code = Code(SYMBOL, entry_object(FIELDS, target_machine()))
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


def _drop(kernel: Loaded) -> None:
    """Let go of a kernel whose function is gone."""
