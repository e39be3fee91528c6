"""Object code: what it needs from outside, and how it becomes callable.

It is placed in memory here where that is simple (`placing`), and else by LLVM. Its symbol table is
read first: an object with an undefined symbol that is not known would end the process when LLVM
links it. References: System V ABI, chapter 4 (ELF-64, little-endian); Apple's
OS X ABI Mach-O File Format Reference.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from typing import Any

from staticgraph.compiler.core import fork
from staticgraph.compiler.core.record import frozen
from staticgraph.compiler.llvm.c_library import C_LIBRARY
from staticgraph.compiler.runtime.cache.placing import placed
from staticgraph.compiler.runtime.cache.store import Code

ELF, ELF_SYMBOL_TABLE = b"\x7fELF\x02\x01", 2
MACH_O, MACH_O_SYMBOL_TABLE = b"\xcf\xfa\xed\xfe", 2


@frozen(eq=False)
class Loaded:
    """Functions in memory, which are freed with their owner."""

    addresses: tuple[int, ...]
    owner: Any


def load_object(code: Code) -> Loaded:
    """Load object code and find the addresses of its functions.

    Raises:
        ValueError: it is no object code, lacks a symbol, or needs one that is not known.
    """
    defined, undefined = symbols_of(code.object)
    lacking = set(code.symbols) - defined
    if lacking:
        raise ValueError(f"object code without the symbols {sorted(lacking)}")
    try:
        found = placed(code.object, code.symbols)
    except (struct.error, IndexError, KeyError, OverflowError, ValueError) as error:
        raise ValueError(f"damaged object code: {error}") from None
    return Loaded(*found) if found is not None else linked(code, undefined)


def linked(code: Code, undefined: Iterable[str]) -> Loaded:
    """Have LLVM load object code; ValueError if it needs a symbol that is not known."""
    with fork.importing():
        import llvmlite.binding as llvm

        from staticgraph.compiler.llvm.machine import target_machine

    # the first engine makes the symbols of the C library known
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), target_machine())
    missing = {
        name for name in undefined if name not in C_LIBRARY or not llvm.address_of_symbol(name)
    }
    if missing:
        raise ValueError(f"object code needs {sorted(missing)}")
    engine.add_object_file(llvm.ObjectFileRef.from_data(code.object))
    engine.finalize_object()
    return Loaded(tuple(map(engine.get_function_address, code.symbols)), engine)


def symbols_of(code: bytes) -> tuple[set[str], set[str]]:
    """The global symbols that object code defines, and those that it needs.

    Raises:
        ValueError: it is no object of ELF-64 or Mach-O 64.
    """
    if code.startswith(ELF):
        read = _elf_symbols
    elif code.startswith(MACH_O):
        read = _mach_o_symbols
    else:
        raise ValueError("object code of an unknown format")
    try:
        entries = set(read(code))
    except (struct.error, OverflowError, UnicodeDecodeError) as error:
        raise ValueError(f"damaged object code: {error}") from None
    defined = {name for name, is_defined in entries if is_defined}
    return defined, {name for name, _ in entries} - defined


def _elf_symbols(code: bytes) -> Iterator[tuple[str, bool]]:
    """Name of every global symbol, and whether it is defined here."""
    (at,) = struct.unpack_from("<Q", code, 40)
    size, count = struct.unpack_from("<HH", code, 58)
    for section in range(count):
        header = at + section * size
        kind, _, _, place, length, link = struct.unpack_from("<IQQQQI", code, header + 4)
        if kind != ELF_SYMBOL_TABLE:
            continue
        (names,) = struct.unpack_from("<Q", code, at + link * size + 24)
        for entry in range(place + 24, place + length, 24):  # the first one is empty
            name, info, _, defined_in = struct.unpack_from("<IBBH", code, entry)
            if info >> 4:  # not local
                yield _text(code, names + name), defined_in != 0


def _mach_o_symbols(code: bytes) -> Iterator[tuple[str, bool]]:
    """Name, without the underscore before it, of every global symbol, and if it is defined here."""
    (count,) = struct.unpack_from("<I", code, 16)
    at = 32
    for _ in range(count):
        kind, size = struct.unpack_from("<II", code, at)
        if kind == MACH_O_SYMBOL_TABLE:
            place, length, names = struct.unpack_from("<III", code, at + 8)
            for entry in range(place, place + 16 * length, 16):
                name, type, _, _, value = struct.unpack_from("<IBBHQ", code, entry)
                if type & 1:  # external
                    is_defined = type & 0x0E != 0 or value != 0  # a common symbol has a size
                    yield _text(code, names + name).removeprefix("_"), is_defined
        at += size


def _text(code: bytes, at: int) -> str:
    return code[at : code.index(0, at)].decode()
