"""The key of an entry: a hash of everything that its code was made of."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from staticgraph.compiler.core.digest import blake2b
from staticgraph.compiler.runtime.cache import host
from staticgraph.compiler.runtime.cache.settings import open_store

if TYPE_CHECKING:
    from staticgraph.compiler.core.options import Options

PACKAGE = Path(__file__).parents[2]
ALL = ("",)
APART = {"export", "viz", "__pycache__"}  # folders that no code depends on
OF_THREADS = {"NUMBA_NUM_THREADS", "NUMBA_THREADING_LAYER"}
"""Numba's settings that say who runs its parallel loops, of which there are none here; joblib's
worker processes have another number of threads than who starts them."""
CONFIGURATION = Path(".numba_config.yaml")  # Numba reads it where the process runs


def kernel_key(source: str) -> bytes:
    """The key of a kernel's source; its comments, which name the user's files, do not matter.

    Raises:
        OSError: what the code depends on cannot be read.
    """
    lines = (line.partition("#")[0].rstrip() for line in source.splitlines())
    return _digest("kernel", _toolchain(ALL), *_settings(), *(line for line in lines if line))


def launch_plan_key(canonical: str, options: Options, names: Sequence[str] = ()) -> bytes:
    """The key of the launch plan of a definition in its canonical form; raises what that raises.

    `names`: those of the unknown sizes, which are in no form, by their numbers there.
    """
    disabled = sorted(options.disabled, key=str)
    checks = options.on_nonfinite is not None
    budget = repr(options.memory), [dict(options.memory_at).get(name) for name in names]
    chosen = repr((options.numerics, disabled, options.fuse, options.backend, checks, budget))
    return _digest("launch_plan", _toolchain(ALL), *_settings(), chosen, canonical)


def common_key(description: str, rooms: tuple[str, ...] = ALL) -> bytes:
    """The key of code that is the same for all kernels, made for what `description` says.

    `rooms`: those of the compiler that it depends on; the fewer, the sooner their state is known.
    """
    return _digest("entry", _toolchain(rooms), *_settings(), description)


def _settings() -> list[str]:
    names = {name for name in os.environ if name.startswith("NUMBA_")} - OF_THREADS
    found = [f"{name}={os.environ[name]}" for name in names]
    if CONFIGURATION.is_file():
        found.append(CONFIGURATION.read_text(errors="surrogateescape"))
    return sorted(found)


@cache
def _toolchain(rooms: tuple[str, ...]) -> str:
    """What turns a graph into code here: versions, the machine, the text of the compiler."""
    return _digest(
        np.__version__,
        str(sys.implementation.cache_tag),
        *host.description(),
        _sources(rooms),
    ).hex()


def _sources(rooms: tuple[str, ...]) -> str:
    """A digest of the name and the text of each file of some rooms; OSError if one has none.

    It is kept by what the system says of the files: reading them all takes longer than the rest of
    a key.
    """
    files = []
    for room in rooms:
        found_here = sorted(_files(os.path.join(PACKAGE, room)))
        if not found_here:
            raise FileNotFoundError(PACKAGE / room)
        files += found_here
    told = _digest("sources", *(f"{path} {state}" for path, state in files))
    store = open_store()
    known = store.read(told) if store is not None else None
    if known is not None:
        return known[0].decode()
    found = blake2b()
    for path, _ in files:
        with open(path, "rb", buffering=0) as file:
            text = file.read()
        found.update(f"{os.path.relpath(path, PACKAGE)} {len(text)} ".encode())
        found.update(text)
    if store is not None:
        store.write(told, found.hexdigest().encode(), b"")
    return found.hexdigest()


def _files(directory: str) -> Iterator[tuple[str, str]]:
    """Each file of the compiler, and when its content, and anything else of it, was changed."""
    with os.scandir(directory) as items:
        for item in items:
            if item.is_dir():
                if item.name not in APART:
                    yield from _files(item.path)
            elif item.name.endswith(".py"):
                state = item.stat()
                yield item.path, f"{state.st_size} {state.st_mtime_ns} {state.st_ctime_ns}"


def _digest(*parts: str) -> bytes:
    """BLAKE2b of the parts, each with its length."""
    found = blake2b()
    for part in parts:
        content = part.encode(errors="surrogateescape")
        found.update(len(content).to_bytes(8, "little"))
        found.update(content)
    return found.digest()
