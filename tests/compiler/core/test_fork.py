"""The handler of forks, called as a fork calls it."""

from __future__ import annotations

import threading

import pytest

from staticgraph.compiler.core import fork


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
