"""The handler of forks, called as a fork calls it."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from staticgraph.compiler.core import fork
from tests.paths import ROOT


class Lock:
    """A lock that notes whether it is held, and brings another one when it is first taken."""

    def __init__(self, brings: dict[fork.Rank, Lock] | None = None) -> None:
        self.brings = brings or {}
        self.held = 0

    def __enter__(self) -> None:
        self.held += 1
        for rank, lock in self.brings.items():
            fork.hold(rank, lock)

    def __exit__(self, *error: object) -> None:
        self.held -= 1


@pytest.fixture
def locks(monkeypatch: pytest.MonkeyPatch) -> dict[fork.Rank, Lock]:
    made: dict[fork.Rank, Lock] = {}
    monkeypatch.setattr(fork, "_locks", made)
    monkeypatch.setattr(fork, "_held", [])
    monkeypatch.setattr(fork, "_forking", threading.RLock())
    return made


def test_locks_of_what_is_imported_while_a_fork_waits_are_held_too(
    locks: dict[fork.Rank, Lock],
) -> None:
    before, after = Lock(), Lock()
    brought = {fork.Rank.COMPILING: before, fork.Rank.LLVM: after}
    locks[fork.Rank.IMPORTS] = importing = Lock(brought)
    fork._before()
    assert (before.held, importing.held, after.held) == (1, 1, 1)
    fork._in_parent()
    assert (before.held, importing.held, after.held) == (0, 0, 0)


def test_a_thread_that_imports_waits_for_none_that_waits_for_its_module(tmp_path: Path) -> None:
    (tmp_path / "first_family.py").write_text(
        "import __main__\n"
        "__main__.begun.set()\n"
        "assert __main__.waits.wait(20)\n"
        "with __main__.fork.importing():\n"
        "    pass\n"
    )
    program = """
import threading
from staticgraph.compiler.core import fork
begun, waits = threading.Event(), threading.Event()
def late():
    assert begun.wait(20)
    with fork.importing():
        waits.set()
        import first_family
imports = threading.Thread(target=__import__, args=("first_family",))
threads = [threading.Thread(target=late), imports]
for one in threads:
    one.daemon = True
    one.start()
for one in threads:
    one.join(20)
print(*[one.is_alive() for one in threads])
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        check=True, capture_output=True, text=True, cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
    )  # fmt: skip
    assert done.stdout.split() == ["False", "False"]
