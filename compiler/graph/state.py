"""State: the memory of a variable, which lives between calls of the executables that use it.

Whoever reads or changes a state for longer than it has the interpreter's lock holds it: a call of
Python (`holding`), or a program that lets go of that lock (`compiler.llvm.watch`), which takes the
states that nobody holds or waits for, all at once.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import repeat
from typing import Any
from weakref import WeakSet

import numpy as np

from staticgraph.compiler.core import fork
from staticgraph.compiler.core.arrays import as_array, to_array, upcast
from staticgraph.compiler.core.errors import DTypeError, FeedError, GraphError, ShapeError
from staticgraph.compiler.core.types import as_dtype, type_of
from staticgraph.compiler.core.values import Array

HOLDER, CLAIMANT = 0, 1
_PAUSES = (0.00002, 0.001)  # seconds, the first and the longest, between looks at a held state

_states: WeakSet[State] = WeakSet()
_claiming = threading.RLock()
_assigning = threading.RLock()
fork.hold(fork.Rank.VARIABLES, _claiming)
fork.hold(fork.Rank.ASSIGNING, _assigning)


class State:
    """An array that never moves: executables hold its address.

    Attributes:
        guard: which thread has it, and which one of Python waits for it or has it; 0 for none.
        changes: whether an executable updates it, or somebody assigned to it.
    """

    __slots__ = ("__weakref__", "array", "changes", "guard", "name")

    def __init__(self, value: object, name: str | None) -> None:
        value = as_array(value)
        as_dtype(value.dtype, "variable")
        self.array = np.array(value, order="C")
        self.guard = np.zeros(2, np.int64)
        self.name = name
        self.changes = False
        _states.add(self)

    @property
    def label(self) -> str:
        """What messages call it."""
        return f"variable {self.name!r}" if self.name else "variable"

    def copy(self) -> Array:
        """The value, in an array of its own."""
        with holding((self,), changes=False):
            return self.array.copy()

    def __copy__(self) -> State:
        return State(self.copy(), self.name)

    def __deepcopy__(self, memo: object) -> State:
        return self.__copy__()

    def __reduce__(self) -> Any:
        return State, (self.copy(), self.name)

    def assign(self, value: object) -> None:
        """Copy a value of the same shape, of the dtype or one that is cast to it safely, into it.

        Raises:
            ShapeError, DTypeError, FeedError: the value differs; the array keeps what it has.
        """
        label = self.label
        try:
            given = to_array(value, self.array.dtype)
        except (OverflowError, TypeError, ValueError) as error:
            raise FeedError(f"{label}: {type_of(self.array)} expected: {error}") from None
        if given.shape != self.array.shape:
            raise ShapeError(f"{label}: shape {given.shape} given, {self.array.shape} expected")
        if given.dtype != self.array.dtype:
            wider = upcast(given, self.array.dtype)
            if wider is None:
                raise DTypeError(
                    f"{label}: {given.dtype.name} given, {self.array.dtype.name} expected: "
                    "cast it with astype"
                )
            given = wider
        self.changes = True
        with holding((self,), changes=True), _assigning:
            self.array[...] = given

    def __lt__(self, other: object) -> bool:
        return id(self) < id(other)  # attributes of nodes are sorted


@contextmanager
def holding(states: Sequence[State], changes: bool) -> Iterator[None]:
    """Nobody else reads or changes the states inside the block; who has them is waited for.

    Raises:
        GraphError: `changes`, but this thread is in the middle of a call that uses one of them:
            this is the handler of a signal. It may read them.
    """
    own = threading.get_ident()
    claimed: list[State] = []
    held: list[State] = []
    try:
        try:
            _claim(states, own, claimed)
            for state in states:
                _hold(state, own, changes, held)
            yield
        finally:
            _release(own, held, claimed)
    finally:
        _release(own, held, claimed)  # what a signal's handler, which raised, left of it


def _hold(state: State, own: int, changes: bool, held: list[State]) -> None:
    """Wait for a claimed state, and note it unless this thread has it already."""
    pauses = _pauses()
    while (holder := state.guard[HOLDER]) not in (0, own):
        time.sleep(next(pauses))
    if holder and changes:
        raise GraphError(f"{state.label}: cannot be changed in the middle of a call that uses it")
    if not holder:
        held.append(state)
        state.guard[HOLDER] = own


def _release(own: int, held: list[State], claimed: list[State]) -> None:
    """Let go of states; called again, of those that are left."""
    for place, mine in ((HOLDER, held), (CLAIMANT, claimed)):
        while mine:
            if mine[-1].guard[place] == own:
                mine[-1].guard[place] = 0
            mine.pop()


def write(states: Sequence[State], values: Sequence[object]) -> None:
    """Copy values of their shapes and dtypes into states: into all, or none.

    It is one call of C for all of them, in the middle of which no signal's handler runs.
    """
    arrays = [state.array for state in states]
    deque(map(np.ndarray.__setitem__, arrays, repeat(...), values), maxlen=0)


def _claim(states: Sequence[State], own: int, claimed: list[State]) -> None:
    """Claim the states, all at once; those that this thread had not claimed are noted."""
    pauses = _pauses()
    while True:
        with _claiming:
            if all(state.guard[CLAIMANT] in (0, own) for state in states):
                for state in states:
                    if not state.guard[CLAIMANT]:
                        claimed.append(state)
                        state.guard[CLAIMANT] = own
                return
        time.sleep(next(pauses))


def _pauses() -> Iterator[float]:
    pause, longest = _PAUSES
    while True:
        yield pause
        pause = min(2 * pause, longest)


def _forget_threads() -> None:
    """In a forked child: what other threads held is free."""
    own = threading.get_ident()
    for state in list(_states):
        state.guard[state.guard != own] = 0


fork.after_in_child(_forget_threads)
