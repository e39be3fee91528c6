"""States that a call moves on: generators of random numbers, and iterators."""

from __future__ import annotations

import functools
import io
import random
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from types import GeneratorType
from typing import Any

import numpy as np

from staticgraph.compiler.core.record import frozen
from staticgraph.compiler.core.refusals import refuse
from staticgraph.compiler.core.whose_code import is_library
from staticgraph.compiler.graph.expression import Expression
from staticgraph.tracing.inspection import file_of, slots_of
from staticgraph.tracing.library_states import getter_of, is_suspended, of_generator, place_of


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
    if is_suspended(value):
        return _made(lambda: of_generator(value), name, place)
    if isinstance(value, Expression) or not isinstance(value, Iterator):
        return None
    if isinstance(value, io.IOBase) and getter_of(kind) is None:
        return _made(lambda: _place_in(value), name, place)
    if is_library(file_of(kind)) and not hasattr(value, "__dict__") and not slots_of(kind):
        try:
            return _made(lambda: _where(value), name, place)
        except _UntoldError:
            what = f"has {name}, a {kind.__name__}, which does not tell where it is"
            refuse(what, "make it inside, or pass what it gives as an argument", place)
    return None


def _place_in(file: io.IOBase) -> object:
    """Where a file is; text that is read line by line does not say."""
    try:
        return file.tell()
    except (OSError, ValueError):
        return None


class _UntoldError(Exception):
    """Nothing tells where an iterator is."""


def _where(value: Any, depth: int = 4) -> object:
    """Where an iterator is, as what can be compared later; what is in others goes on changing."""
    kind: Any = type(value)
    if isinstance(value, list | tuple):
        return tuple([_where(one, depth) for one in value])
    if not isinstance(value, Iterator):
        return value
    if isinstance(value, GeneratorType):
        return of_generator(value)
    if (get := place_of(kind)) is not None:
        return get(value)
    if not depth or kind is _CALLING:
        raise _UntoldError
    if hasattr(value, "__dict__"):
        return _where([*vars(value).items()], depth - 1)
    return _where(_reduced(value), depth - 1)


_CALLING = type(iter(int, 1))
"""What calls a function until it returns a value: where it is, the function knows."""


def _reduced(value: Any) -> Any:
    """What an iterator would be pickled as; itertools' have nothing from Python 3.14 on."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        try:
            return value.__reduce_ex__(4)
        except TypeError:
            raise _UntoldError from None


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
