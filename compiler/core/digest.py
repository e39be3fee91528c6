"""BLAKE2b without OpenSSL, whose import takes as long as the rest of a start from the cache.

`hashlib` imports OpenSSL for other functions, and takes this one from the module that is used here:
Python's own code, four times as fast as its SHA-256.
"""

from __future__ import annotations

from functools import cache
from types import ModuleType
from typing import Protocol

from staticgraph.compiler.core import fork

SIZE = 32
"""The bytes of a hash."""


class Hash(Protocol):
    """What is used of a hash."""

    def update(self, data: bytes, /) -> None:
        """Take more bytes."""

    def digest(self) -> bytes:
        """The hash of all bytes."""

    def hexdigest(self) -> str:
        """The same in hexadecimal digits."""


def blake2b(content: bytes = b"") -> Hash:
    """The hash of some bytes, as `hashlib.blake2b` with a digest of SIZE bytes (RFC 7693)."""
    found: Hash = _own().blake2b(content, digest_size=SIZE)
    return found


@cache
def _own() -> ModuleType:
    """Python's own code, which may be left out of a Python."""
    try:
        return fork.imported("_blake2")
    except ImportError:
        return fork.imported("hashlib")
