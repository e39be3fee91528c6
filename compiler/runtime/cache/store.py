"""A directory of entries that are found by a key; every entry is checked before it is used.

An entry is a file: a header (magic, format, key, BLAKE2b of the payload, sizes) and the payload,
text and data: the names of functions and object code, or a launch plan and its constants. It is
written to a temporary file of the same directory and renamed, so that processes at work at the same
time see whole entries only. What is damaged, cut short or of another format is not there. The
directory belongs to one user and to nobody else, since whoever can write to it can have their code
run.
"""

from __future__ import annotations

import contextlib
import os
import stat
import struct
import time
from collections.abc import Iterator
from dataclasses import field
from pathlib import Path

from staticgraph.compiler.core import fork
from staticgraph.compiler.core.digest import blake2b
from staticgraph.compiler.core.record import frozen

MAGIC = b"sgkernel"
FORMAT = 2
HEADER = struct.Struct("<8sI32s32sII")
SUFFIX = ".sgk"
TEMPORARY = "new-"
ROOM = 8  # a full directory is emptied by this part
ABANDONED = 3600.0  # seconds after which a temporary file belongs to no running process


@frozen
class Code:
    """Object code, and the names of the functions in it that are called."""

    symbols: tuple[str, ...]
    object: bytes


@frozen
class Usage:
    """What a store holds."""

    entries: int
    bytes: int


@frozen
class Store:
    """Entries in a directory of at most `limit` bytes; those unused for longest go first.

    The directory is read at the first write and then when there may be too much, for it may hold
    many thousand entries: `_total` is what it held at most when it was last read or written to,
    leaving out what other processes write, who see to it themselves.

    No method raises for what is wrong with the directory or an entry: it then finds nothing, and
    stores nothing.
    """

    directory: Path
    limit: int
    _total: list[int] = field(default_factory=list, compare=False, repr=False)

    def get(self, key: bytes) -> Code | None:
        """The object code of a key of 32 bytes, if there is an entry and it is whole."""
        found = self.read(key)
        try:
            return found and Code(tuple(found[0].decode().split("\n")), found[1])
        except UnicodeDecodeError:
            return None

    def put(self, key: bytes, code: Code) -> bool:
        """Store object code in place of any that is there; whether that was possible."""
        return self.write(key, "\n".join(code.symbols).encode(), code.object)

    def read(self, key: bytes) -> tuple[bytes, bytes] | None:
        """The text and the data of a key of 32 bytes, if there is an entry and it is whole."""
        path = self._path(key)
        try:
            content = _read(path, self.limit)
        except OSError:
            return None
        found = _decode(key, content)
        if found is not None:
            with contextlib.suppress(OSError):
                os.utime(path)  # used now
        return found

    def write(self, key: bytes, text: bytes, data: bytes) -> bool:
        """Store an entry in place of any that is there; whether that was possible."""
        tempfile = fork.imported("tempfile")  # what only reads waits for none of it
        content = _encode(key, text, data)
        if len(content) > self.limit:
            return False
        try:
            descriptor, name = tempfile.mkstemp(SUFFIX, TEMPORARY, self.directory)
        except OSError:
            return False
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
            os.replace(name, self._path(key))
        except OSError:
            with contextlib.suppress(OSError):
                os.unlink(name)
            return False
        if self._total:
            self._total[0] += len(content)
        if not self._total or self._total[0] > self.limit:
            self._total[:] = [self._trim()]
        return True

    def usage(self) -> Usage:
        """How many entries there are, and their size."""
        sizes = [state.st_size for _, state in self._files()]
        return Usage(len(sizes), sum(sizes))

    def clear(self) -> Usage:
        """Remove every entry; what was removed."""
        removed = [state.st_size for path, state in self._files() if _remove(path)]
        return Usage(len(removed), sum(removed))

    def _path(self, key: bytes) -> Path:
        return self.directory / (key.hex() + SUFFIX)

    def _files(self) -> Iterator[tuple[str, os.stat_result]]:
        try:
            with os.scandir(self.directory) as found:
                for item in found:
                    if item.name.endswith(SUFFIX):
                        with contextlib.suppress(OSError):  # another process may have removed it
                            state = item.stat(follow_symlinks=False)
                            if not stat.S_ISDIR(state.st_mode):
                                yield item.path, state
        except OSError:
            return

    def _trim(self) -> int:
        """Remove what was left behind, and what was used least recently if there is too much.

        Then there is room for some time. The bytes that are left.
        """
        kept = []
        for path, state in self._files():
            name = os.path.basename(path)
            if not name.startswith(TEMPORARY):
                kept.append((state.st_mtime_ns, path, state.st_size))
            elif time.time() - state.st_mtime > ABANDONED:
                _remove(path)
        total = sum(size for _, _, size in kept)
        wanted = self.limit if total <= self.limit else self.limit - self.limit // ROOM
        for _, path, size in sorted(kept):
            if total <= wanted:
                break
            if _remove(path):
                total -= size
        return total


def is_private(directory: Path) -> bool:
    """Whether a directory belongs to this user, and nobody else can write to it."""
    state = os.stat(directory)
    if not stat.S_ISDIR(state.st_mode):
        return False
    if not hasattr(os, "geteuid"):
        return True
    return state.st_uid == os.geteuid() and not state.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _read(path: Path, limit: int) -> bytes:
    """The content of a file of this user, neither a link nor a device."""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    descriptor = os.open(path, flags | getattr(os, "O_BINARY", 0))
    with os.fdopen(descriptor, "rb") as file:
        state = os.fstat(descriptor)
        if not stat.S_ISREG(state.st_mode) or state.st_size > limit:
            return b""
        if hasattr(os, "geteuid") and state.st_uid != os.geteuid():
            return b""
        return file.read(state.st_size)


def _encode(key: bytes, text: bytes, data: bytes) -> bytes:
    payload = text + data
    digest = blake2b(payload).digest()
    return HEADER.pack(MAGIC, FORMAT, key, digest, len(text), len(data)) + payload


def _decode(key: bytes, content: bytes) -> tuple[bytes, bytes] | None:
    if len(content) < HEADER.size:
        return None
    magic, version, found, digest, text, data = HEADER.unpack_from(content)
    payload = content[HEADER.size :]
    if (magic, version, found) != (MAGIC, FORMAT, key) or len(payload) != text + data:
        return None
    if blake2b(payload).digest() != digest:
        return None
    return payload[:text], payload[text:]


def _remove(path: str) -> bool:
    try:
        os.unlink(path)
    except OSError:
        return False
    return True
