"""SHA-256 without OpenSSL, whose import takes as long as the rest of a start from the cache.

`hashlib` imports it for functions that Python has of its own, in a module that Python 3.12 renamed;
what the standard library's `random` does.
"""

from __future__ import annotations

import sys
from functools import cache
from types import ModuleType
from typing import Protocol

from staticgraph.compiler.core import fork


class Hash(Protocol):
    """What is used of a hash."""

    def update(self, data: bytes, /) -> None:
        """Take more bytes."""

    def digest(self) -> bytes:
        """The hash of all bytes."""

    def hexdigest(self) -> str:
        """The same in hexadecimal digits."""


MUCH = 1 << 20
"""The bytes from which OpenSSL's code, which is some times faster, is worth its import."""


def sha256(content: bytes = b"") -> Hash:
    """The hash of some bytes, as `hashlib.sha256`."""
    found: Hash = (fork.imported("hashlib") if len(content) > MUCH else _own()).sha256(content)
    return found


@cache
def _own() -> ModuleType:
    """Python's own code, which may be left out of a Python."""
    try:
        return fork.imported("_sha2" if sys.version_info >= (3, 12) else "_sha256")
    except ImportError:
        return fork.imported("hashlib")
