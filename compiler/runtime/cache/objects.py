"""Object code: what it needs from outside, and how it becomes callable; with llvmlite alone.

Only the symbol table is read here: an object with an undefined symbol that is not known would end
the process when it is linked. Reference: System V ABI, chapter 4 (ELF-64, little-endian).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import llvmlite.binding as llvm

from compiler.runtime.cache.store import Code

SYMBOL_TABLE = 2
LOCAL = 0
UNDEFINED = 0

C_LIBRARY = frozenset({"memcpy", "memmove", "memset"})
"""What LLVM may call for loops that copy or fill."""


@dataclass(frozen=True, slots=True, eq=False)
class Loaded:
    """A function in memory, which is freed with its owner."""

    address: int
    owner: Any


def load_object(code: Code) -> Loaded:
    """Load object code and find the address of its function.

    Raises:
        ValueError: it is no ELF-64 object, lacks the symbol, or needs one that is not known.
    """
    defined, undefined = symbols_of(code.object)
    if code.symbol not in defined:
        raise ValueError(f"object code without the symbol {code.symbol!r}")
    if undefined - C_LIBRARY:
        raise ValueError(f"object code needs {sorted(undefined - C_LIBRARY)}")
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), target_machine())
    engine.add_object_file(llvm.ObjectFileRef.from_data(code.object))
    engine.finalize_object()
    return Loaded(engine.get_function_address(code.symbol), engine)


def target_machine() -> Any:
    """LLVM's machine for this process; whoever makes an engine of it owns it."""
    return _target().create_target_machine(
        cpu=llvm.get_host_cpu_name(), opt=2, reloc="default", codemodel="jitdefault", jit=True
    )


@cache
def _target() -> Any:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm.Target.from_default_triple()


def symbols_of(code: bytes) -> tuple[set[str], set[str]]:
    """The global symbols that object code defines, and those that it needs.

    Raises:
        ValueError: it is no ELF-64 object.
    """
    try:
        entries = list(_symbols(code))
    except (struct.error, OverflowError, UnicodeDecodeError) as error:
        raise ValueError(f"damaged object code: {error}") from None
    defined = {name for name, section in entries if section != UNDEFINED}
    return defined, {name for name, section in entries if section == UNDEFINED}


def _symbols(code: bytes) -> Iterator[tuple[str, int]]:
    """(name, section) of every global symbol."""
    if code[:6] != b"\x7fELF\x02\x01":
        raise ValueError("no ELF-64 object code")
    (at,) = struct.unpack_from("<Q", code, 40)
    size, count = struct.unpack_from("<HH", code, 58)
    for section in range(count):
        header = at + section * size
        kind, _, _, place, length, link = struct.unpack_from("<IQQQQI", code, header + 4)
        if kind != SYMBOL_TABLE:
            continue
        (names,) = struct.unpack_from("<Q", code, at + link * size + 24)
        for entry in range(place + 24, place + length, 24):  # the first one is empty
            name, info, _, defined_in = struct.unpack_from("<IBBH", code, entry)
            if info >> 4 != LOCAL:
                end = code.index(0, names + name)
                yield code[names + name : end].decode(), defined_in
