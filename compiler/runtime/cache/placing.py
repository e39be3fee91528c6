"""Object code that is placed in memory without LLVM, whose import takes longer than a warm start.

Kernels are compiled for LLVM's large code model: what they refer to, in themselves or in the C
library, are addresses of 64 bits. Objects with anything else are left to LLVM. Tables for unwinding
the stack are left out: no exception goes through kernels. Reference: System V ABI, AMD64
supplement, 4.4 (relocation).
"""

from __future__ import annotations

import ctypes
import mmap
import struct
import weakref
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

from staticgraph.compiler.core.once import Once
from staticgraph.compiler.llvm.c_library import C_LIBRARY

ELF_OBJECT = b"\x7fELF\x02\x01"
RELOCATABLE, X86_64 = 1, 62
SYMBOLS, RELOCATIONS, EMPTY, UNWINDING = 2, 4, 8, 0x70000001  # types of sections
WRITABLE, IN_MEMORY = 1, 2  # their flags
ADDRESS = 1  # the type of a relocation that is an address of 64 bits
FAILED = 2**64 - 1  # where memory is that the system does not give
ABSOLUTE = 0xFFF1  # the section of a symbol whose value is its address


class _Section(NamedTuple):
    name: int
    type: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    info: int
    alignment: int
    entry: int


class _Symbol(NamedTuple):
    name: str
    section: int
    value: int


def placed(code: bytes, names: Sequence[str]) -> tuple[tuple[int, ...], object] | None:
    """The addresses of functions of an object, and the memory that they are in.

    None if the object, or the system, is one that this does not know.

    Raises:
        struct.error, IndexError, KeyError, OverflowError, ValueError: the object is damaged.
    """
    if not hasattr(mmap, "MAP_PRIVATE") or not code.startswith(ELF_OBJECT):
        return None
    if struct.unpack_from("<HH", code, 16) != (RELOCATABLE, X86_64):
        return None
    sections = list(_sections(code))
    symbols = [one for section in sections for one in _symbols(code, sections, section)]
    places, fixed, size = _arranged(sections)
    owner, base = _reserved(size)
    if not base:
        return None
    memory = bytearray(size)
    for index, place in places.items():
        section = sections[index]
        if section.type != EMPTY:
            content = code[section.offset : section.offset + section.size]
            memoryview(memory)[place : place + section.size] = content
    addresses = _addresses(symbols, places, base)
    for section in sections:
        if section.type == RELOCATIONS and section.info in places:
            room = memoryview(memory)[places[section.info] :][: sections[section.info].size]
            if not _relocated(code, section, addresses, room):
                return None
    ctypes.memmove(base, (ctypes.c_char * size).from_buffer(memory), size)
    if _system().mprotect(base, fixed, mmap.PROT_READ | mmap.PROT_EXEC):
        return None
    known = {one.name: address for one, address in zip(symbols, addresses, strict=True)}
    return tuple([known[name] for name in names]), owner


def _sections(code: bytes) -> Iterator[_Section]:
    (at,) = struct.unpack_from("<Q", code, 40)
    size, count = struct.unpack_from("<HH", code, 58)
    for i in range(count):
        yield _Section(*struct.unpack_from("<IIQQQQIIQQ", code, at + i * size))


def _symbols(code: bytes, sections: Sequence[_Section], section: _Section) -> Iterator[_Symbol]:
    if section.type != SYMBOLS:
        return
    names = sections[section.link].offset
    for entry in range(section.offset, section.offset + section.size, 24):
        name, _, _, defined_in, value = struct.unpack_from("<IBBHQ", code, entry)
        text = code[names + name : code.index(0, names + name)]
        yield _Symbol(text.decode(), defined_in, value)


def _arranged(sections: Sequence[_Section]) -> tuple[dict[int, int], int, int]:
    """Where each section goes, the bytes of those that nobody writes, and those of all."""
    places: dict[int, int] = {}
    end = fixed = 0
    for writable in (0, WRITABLE):
        for index, one in enumerate(sections):
            wanted = one.flags & (WRITABLE | IN_MEMORY) == IN_MEMORY | writable
            if wanted and one.type != UNWINDING:
                places[index] = -(-end // max(1, one.alignment)) * max(1, one.alignment)
                end = places[index] + one.size
        end = -(-end // mmap.PAGESIZE) * mmap.PAGESIZE
        fixed = fixed or end
    return places, fixed, end


def _addresses(symbols: Sequence[_Symbol], places: Mapping[int, int], base: int) -> list[int]:
    """The address of each symbol; 0 of one that is in no section, and not known."""
    found = []
    for one in symbols:
        if one.section in places:
            found.append(base + places[one.section] + one.value)
        elif one.section == ABSOLUTE:
            found.append(one.value)
        else:
            found.append(_of_c_library(one.name) if one.name in C_LIBRARY else 0)
    return found


def _relocated(code: bytes, section: _Section, addresses: Sequence[int], room: Any) -> bool:
    """Write the addresses that a section refers to; whether all could be."""
    for entry in range(section.offset, section.offset + section.size, 24):
        at, kind, symbol, addend = struct.unpack_from("<QIIq", code, entry)
        if kind != ADDRESS or not addresses[symbol]:
            return False
        struct.pack_into("<Q", room, at, (addresses[symbol] + addend) % 2**64)
    return True


@Once
def _of_c_library(name: str) -> int:
    """The address of a function of the C library; 0 if there is none."""
    function = getattr(_system(), name, None)
    return ctypes.cast(function, ctypes.c_void_p).value or 0 if function is not None else 0


class _Owner:
    """Whose end frees memory, but not that of the process, in which threads may run the code."""


def _reserved(size: int) -> tuple[_Owner, int]:
    """Memory of so many bytes, which goes with an object; at 0 if there is none."""
    access, kind = mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
    base = _system().mmap(None, size, access, kind, -1, 0)
    owner = _Owner()
    if base in (None, FAILED):
        return owner, 0
    weakref.finalize(owner, _system().munmap, base, size).atexit = False
    return owner, int(base)


@cache
def _system() -> Any:
    """The C library, with the types of the functions that are called here."""
    found = ctypes.CDLL(None)
    size, kind, place = ctypes.c_size_t, ctypes.c_int, ctypes.c_void_p
    found.mmap.argtypes, found.mmap.restype = (place, size, kind, kind, kind, size), place
    found.munmap.argtypes = (place, size)
    found.mprotect.argtypes = (place, size, kind)
    return found
