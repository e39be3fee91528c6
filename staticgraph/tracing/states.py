"""States that a call moves on: generators of random numbers, and iterators."""

from __future__ import annotations

import copy
import functools
import io
import random
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from types import GeneratorType
from typing import Any

import numpy as np

from staticgraph.compiler.core.record import frozen
from staticgraph.compiler.graph.expression import Expression
from staticgraph.tracing.library_states import getter_of, of_generator, place_of


@frozen
class State:
    """Something that has a state.

    Attributes:
        get: its state.
        put: sets the state, where that can be done.
        before: the state when it was found.
        name: what it is called.
        place: where it is named.
        instead: what to write instead.
    """

    get: Callable[[], Any]
    put: Callable[[Any], object]
    before: Any
    name: str
    place: str
    instead: str

    def now(self) -> State:
        """The same with the state as it is."""
        return replace(self, before=self.get())

    def changed(self) -> bool:
        """Whether the state is another."""
        return not _same(self.get(), self.before)

    def put_back(self) -> None:
        """Set the state as it was."""
        self.put(self.before)


def _same(now: Any, before: Any) -> bool:
    """Whether two states are equal, part by part."""
    if now is before:
        return True
    if type(now) is not type(before):
        return False
    if isinstance(now, np.ndarray):
        return bool(now.dtype == before.dtype and now.tobytes() == before.tobytes())
    if isinstance(now, dict):
        return now.keys() == before.keys() and all(_same(now[key], before[key]) for key in now)
    if isinstance(now, tuple) and set(map(type, now)) == {int}:
        return bool(now == before)  # the 625 words of `random`
    if isinstance(now, tuple | list):
        return len(now) == len(before) and all(map(_same, now, before))
    return repr(now) == repr(before)


_DRAW = "draw the numbers outside, and pass them as an argument"
_TAKE = "take the next value outside, and pass it as an argument"


def _nothing(state: object) -> None:
    return None


def state_of(value: object, name: str, place: str) -> State | None:
    """The state of a generator of random numbers, or of an iterator."""
    if isinstance(value, random.Random):
        return State(value.getstate, value.setstate, value.getstate(), name, place, _DRAW)
    kind: Any = type(value)
    if kind.__module__.startswith("numpy.random"):
        if hasattr(value, "get_state"):  # a RandomState, which may have one more normal number
            legacy: Any = value
            state = functools.partial(legacy.get_state, legacy=False)
            return State(state, legacy.set_state, state(), name, place, _DRAW)
        bits = getattr(value, "bit_generator", None) or getattr(value, "_bit_generator", None)
        bits = value if place_of(kind) is not None else bits
        return None if bits is None else _of_bits(bits, name, place)
    if isinstance(value, Expression) or not isinstance(value, Iterator):
        return None
    if isinstance(value, GeneratorType):
        return _made(lambda: of_generator(value), name, place)
    if isinstance(value, io.IOBase) and getter_of(kind) is None:
        return _made(lambda: _place_in(value), name, place)
    if (get := place_of(kind)) is not None:
        return _made(lambda: get(value), name, place)
    if kind.__module__ in ("builtins", "itertools"):
        try:
            copy.copy(value)
        except TypeError:
            return None
        return _made(lambda: _frozen(value), name, place)
    return None


def _place_in(file: io.IOBase) -> object:
    """Where a file is; text that is read line by line does not say."""
    try:
        return file.tell()
    except (OSError, ValueError):
        return None


def _frozen(value: object, depth: int = 4) -> object:
    """An iterator as what can be compared later: iterators and lists in it go on changing."""
    if isinstance(value, list | tuple):
        return tuple(_frozen(one, depth) for one in value)
    if depth and isinstance(value, Iterator) and type(value).__module__ in _ITERATORS:
        return _frozen(value.__reduce__(), depth - 1)
    return value


_ITERATORS = ("builtins", "itertools")


def _made(get: Callable[[], Any], name: str, place: str) -> State:
    return State(get, _nothing, get(), name, place, _TAKE)


def _of_bits(bits: Any, name: str, place: str) -> State:
    def put(state: Any) -> None:
        bits.state = state

    return State(lambda: bits.state, put, bits.state, name, place, _DRAW)


def shared_states() -> list[State]:
    """Those of the functions of `random` and `numpy.random`."""
    inst: Any = random._inst
    found = [state_of(inst, "random", "?")]
    if "numpy.random" in sys.modules:
        found.append(state_of(_legacy(), "numpy.random", "?"))
    else:  # NumPy imports it when it is named, which the function may be the first to do
        found.append(State(_place, _nothing, _place(), "numpy.random", "?", _DRAW))
    return [one for one in found if one is not None]


def _legacy() -> Any:
    """The generator of the functions of `numpy.random`."""
    return sys.modules["numpy.random"].mtrand._rand


def _place() -> tuple[int, int]:
    """How far that generator is; where it begins, too, as long as it is not imported."""
    if "numpy.random" not in sys.modules:
        return 623, 0
    state = _legacy().get_state(legacy=False)
    return state["state"]["pos"], state["has_gauss"]
