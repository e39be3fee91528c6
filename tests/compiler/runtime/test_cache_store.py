"""The store of the kernel cache: what it keeps, how much, and who else reads and writes it."""

from __future__ import annotations

import os
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from staticgraph.compiler.runtime.cache import store
from staticgraph.compiler.runtime.cache.store import HEADER, Code, Store

KEY = bytes(range(32))
CODE = Code(("kernel",), b"machine code")


def test_the_least_recently_used_entries_go_first(tmp_path: Path) -> None:
    size = HEADER.size + 6 + 1000
    cache = Store(tmp_path, 3 * size)
    keys = [bytes([i]) * 32 for i in range(5)]
    for i, one in enumerate(keys[:3]):
        assert cache.put(one, Code(("kernel",), bytes(1000)))
        os.utime(tmp_path / f"{one.hex()}{store.SUFFIX}", (i, i))
    assert cache.get(keys[0]) is not None  # used now
    cache.put(keys[3], Code(("kernel",), bytes(1000)))
    cache.put(keys[4], Code(("kernel",), bytes(1000)))
    assert [cache.get(one) is not None for one in keys] == [True, False, False, True, True]
    assert cache.usage() == store.Usage(3, 3 * size)


def test_a_directory_of_many_entries_is_read_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = []
    scandir = os.scandir
    monkeypatch.setattr(os, "scandir", lambda path: read.append(path) or scandir(path))
    size = HEADER.size + 6 + 1000
    cache = Store(tmp_path, 40 * size)
    for i in range(40):
        assert cache.put(bytes([i]) * 32, Code(("kernel",), bytes(1000)))
    assert len(read) == 1
    for i in range(40, 45):
        assert cache.put(bytes([i]) * 32, Code(("kernel",), bytes(1000)))
        assert cache.usage().bytes <= cache.limit
    assert len(read) == 2 + 5  # usage() reads it too


def test_an_entry_larger_than_the_limit_is_not_stored(tmp_path: Path) -> None:
    cache = Store(tmp_path, 1000)
    assert not cache.put(KEY, Code(("kernel",), bytes(1000)))
    assert cache.usage() == store.Usage(0, 0)


def test_what_a_killed_process_left_is_removed(tmp_path: Path) -> None:
    old, new = (tmp_path / f"{store.TEMPORARY}{i}{store.SUFFIX}" for i in range(2))
    for path in (old, new):
        path.write_bytes(b"half")
    past = time.time() - 2 * store.ABANDONED
    os.utime(old, (past, past))
    Store(tmp_path, 10**6).put(KEY, CODE)
    assert (old.exists(), new.exists()) == (False, True)


def test_a_directory_that_cannot_be_written_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = Store(tmp_path, 10**6)
    cache.put(KEY, CODE)

    def refuse(*_arguments: Any, **_options: Any) -> None:
        raise PermissionError("read-only")

    for module, name in ((os, "utime"), (os, "unlink"), (os, "replace")):
        monkeypatch.setattr(module, name, refuse)
    assert cache.get(KEY) == CODE
    assert not cache.put(bytes(32), CODE)
    monkeypatch.setattr(tempfile, "mkstemp", refuse)
    assert not cache.put(bytes(32), CODE)
    assert cache.clear() == store.Usage(0, 0)


def test_readers_and_writers_at_once_see_whole_entries(tmp_path: Path) -> None:
    cache = Store(tmp_path, 10**7)
    codes = [Code(("kernel",), bytes([i]) * 50_000) for i in range(4)]
    seen = []

    def write(code: Code) -> None:
        for _ in range(20):
            cache.put(KEY, code)

    def read() -> None:
        for _ in range(60):
            seen.append(cache.get(KEY))

    cache.put(KEY, codes[0])
    threads = [threading.Thread(target=write, args=(code,)) for code in codes]
    threads += [threading.Thread(target=read) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen) == 120
    assert all(code in codes for code in seen)
