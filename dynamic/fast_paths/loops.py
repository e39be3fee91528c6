"""Short ways as machine code: what was called often becomes a builtin function.

Small ops spend most of their time in Python, and what NumPy does before and after its loop. A short
way that was called often is replaced by a builtin function (`compiler.runtime.loops`): it looks at
the operands, runs the same loops of NumPy's, so that not a bit changes, and makes the tensor; one
with a place on the tape is made by the way's own `finish`. All other calls go to what it replaced.

DYNAMIC_COMPILE_SMALL_OPS=0 in the environment leaves all to Python and NumPy.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from itertools import repeat
from typing import Any

from staticgraph.compiler.core import fork
from staticgraph.compiler.core.op import Op
from staticgraph.compiler.core.passing import passing
from staticgraph.compiler.core.record import Record, record
from staticgraph.compiler.core.settings import COMPILE_SMALL_OPS
from staticgraph.compiler.llvm.loop_words import NUMBER, SCALAR, WHOLE
from staticgraph.dynamic.core.activity import methods_stay, were_enough
from staticgraph.dynamic.core.dtypes import BOOL, F32, F64
from staticgraph.dynamic.tape.grad_mode import paused
from staticgraph.dynamic.tensors.tensor import PLAIN, Tensor, blanks

OFTEN = 499
"""The calls of a short way after which it is looked at, again and again: they save what making a
builtin function takes. A prime, so that each of the calls in a loop has its turn."""
TRIES = 8
"""How many kinds of operands a way gets a builtin function for."""
_MOST = 8192
"""The elements that a builtin function takes: as in `compiler.runtime.loops`."""

_CACHE = type(functools.lru_cache(maxsize=0)(repeat))
_LOOPS = "staticgraph.compiler.runtime.loops"
_TRACES = "staticgraph.compiler.runtime.loop_traces"

Function = Callable[..., Any]


def _nothing(of_number: bool) -> None:
    """What has no faster way to finish."""


@record
class Way(Record):
    """What a short way does.

    Attributes:
        evaluate: the value for arrays, one per operand, numbers among them.
        finish: `(array, *operands) -> tensor`, recorded if need be.
        takes: a letter per operand: t for a tensor, n for a number, x for either.
        watched: whether there may be a builtin function.
        recorded: what makes a faster `finish`, of operands of which one is a number or none, or
            None.
        whole: what makes a builtin function that does all of it, of the general function and what
            is shown of it, or None.
    """

    evaluate: Function
    finish: Function
    takes: str = "t"
    watched: bool = True
    recorded: Callable[[bool], Function | None] = _nothing
    whole: Callable[[Function, tuple[str, str]], Function | None] | None = None


WAYS: dict[Function, Way] = {}
"""By the function of a short way."""


class Watched:
    """A short way that is counted.

    Attributes:
        way: what it does.
        function: the way, if it is counted for it.
        names: the methods of Tensor that it is, and the op.
        blanks: the tensors of the next calls, of which nothing is set: when there is none left,
            operands are looked at.
    """

    def __init__(self, way: Way, function: Function | None = None) -> None:
        self.way = way
        self.function = function
        self._made = False
        self.names: list[str] = []
        self.op: Op | None = None
        self._known: set[object] = set()
        self._by_value: set[object] = set()  # those of which there is a program per number
        self.blanks = blanks(OFTEN - 1) if way.watched else blanks()

    def count(self, operands: Sequence[Any]) -> Tensor:
        """Note the calls since it was called last, and look at the operands of this one.

        The tensor of this call, of which nothing is set.
        """
        self.blanks = blanks(OFTEN - 1)
        if not passing and were_enough(OFTEN) and len(self._known) < TRIES:
            if COMPILE_SMALL_OPS.is_off:
                self.blanks = blanks(OFTEN * OFTEN)  # to ask takes as long as an op
            else:
                self._look(operands)
        return next(blanks())

    def counts(self, function: Function) -> Function:
        """Note that a function counts its calls here by itself, or calls one that does."""
        if self.way.watched:
            _states[function] = self
        WAYS[function] = self.way
        return function

    def _look(self, operands: Sequence[Any]) -> None:
        if self.way.whole is not None:
            if not self._made:
                self._made = True
                self._put(self.way.whole)
            return
        kinds, second = _kinds(operands, self.way.takes), _other_class(operands)
        if kinds is None:
            return
        key: tuple[object, ...] = (kinds, second)
        if key in self._by_value:
            key = (*key, *map(_value, operands))
        if key in self._known:
            return
        self._known.add(key)
        with fork.importing():
            loops, traces = import_module(_LOOPS), import_module(_TRACES)
        if not (loops.loops_are_there() and loops.slots_are_right(Tensor)):
            return
        program = traces.program_of(self.way.evaluate, [traces.Kind(*one) for one in kinds])
        if program is None:
            values = [_value(one) for one in operands]
            fixed = [(*kind, value) for kind, value in zip(kinds, values, strict=True)]
            given = [traces.Kind(*one) for one in fixed]
            program = traces.program_of(self.way.evaluate, given)
            self._by_value.add((kinds, second))
        if program is not None:
            of_number = any(kind == NUMBER for _, kind in kinds)
            self._replace(loops, program, loops.Holder((Tensor, second), paused), of_number)
        elif not self._made:
            self._forget()

    def _forget(self) -> None:
        """Count no more: what it does is not noted."""
        self.blanks = blanks()
        if self.function is None:
            return
        for name in self.names:
            if vars(Tensor)[name] is _methods.get(name) and _methods[name] in _states:
                setattr(Tensor, name, self.function)
        if self.op is not None:
            self.op.shorten(self.function)

    def _replace(self, loops: Any, program: object, holder: object, of_number: bool) -> None:
        finish = self.way.recorded(of_number) or self.way.finish

        def make(general: Function, shown: tuple[str, str]) -> Function | None:
            made: Function | None = loops.loops_function(program, general, holder, finish, *shown)
            return made

        self._made = True
        self._put(make)

    def _put(self, make: Callable[[Function, tuple[str, str]], Function | None]) -> None:
        """Put builtin functions where the way is, each with what was there for other calls."""
        for name in self.names:
            before: Any = vars(Tensor)[name]
            if before is not _methods.get(name) or methods_stay():  # somebody else's, or noted
                continue
            general: Any = before.__wrapped__ if type(before) is _CACHE else before
            made = make(general, shown(general))
            if made is not None:
                _methods[name] = as_method(made)
                setattr(Tensor, name, _methods[name])
        if self.op is not None:
            general = vars(type(self.op))["__call__"].__func__
            made = make(general, ("kernel", ""))
            if made is not None:
                self.op.shorten(made)


def _kinds(operands: Sequence[Any], takes: str) -> tuple[tuple[Any, int], ...] | None:
    """Of plain small tensors and numbers their dtype and kind; None of others."""
    found: list[tuple[Any, int]] = []
    dtype = None
    if len(operands) != len(takes):
        return None
    for one, letter in zip(operands, takes, strict=True):
        if letter != ("t" if type(one) in PLAIN else "n") and letter != "x":
            return None
        if type(one) in PLAIN:
            array = one._array
            if array.dtype is not BOOL:
                if array.dtype is not F32 and array.dtype is not F64:
                    return None
                if dtype not in (None, array.dtype):
                    return None
                dtype = array.dtype
            if not 0 < array.size <= _MOST or not array.flags.c_contiguous:
                return None
            found.append((array.dtype, WHOLE if array.ndim else SCALAR))
        elif type(one) in (float, int):
            found.append((None, NUMBER))
        else:
            return None
    if dtype is None:
        return None
    return tuple([(own or dtype, kind) for own, kind in found])


def _value(operand: Any) -> Any:
    if isinstance(operand, float | int):
        return operand
    array = operand._array
    return None if array.ndim else array.item()


def _other_class(operands: Sequence[Any]) -> type:
    """A class of tensors that is not Tensor itself, such as Parameter, if there is one."""
    kinds = [type(one) for one in operands if type(one) in PLAIN]
    return next((kind for kind in kinds if kind is not Tensor), Tensor)


def shown(function: Function) -> tuple[str, str]:
    """The name of a function, and its documentation behind its signature, as builtin ones have."""
    name = function.__name__
    documentation = function.__doc__ or ""
    try:
        parameters = inspect.signature(function)
    except ValueError:
        return name, documentation
    plain = [one.replace(annotation=one.empty) for one in parameters.parameters.values()]
    text = str(inspect.Signature(plain))
    return name, f"{name}{text}\n--\n\n{documentation}"


def as_method(function: Function) -> Any:
    """What a class needs to have a builtin function for a method.

    A cache that keeps nothing calls the function and is a method wherever it is put, so that who
    replaces one of Tensor's can put the old one back, as builtin functions cannot be.
    """
    method = functools.lru_cache(maxsize=0)(function)
    method.__qualname__ = f"Tensor.{function.__name__}"
    method.__module__ = str(function.__module__)  # which keeps nothing, as a function's does
    return method


_methods: dict[str, Any] = {}
"""By name the method that was put into Tensor here, or when that was assembled."""


def remember_methods() -> None:
    """Note what Tensor has, which alone is replaced; what a user puts there stays."""
    names = [name for state in _states.values() for name in state.names]
    _methods.update((name, vars(Tensor)[name]) for name in names)


_watched: dict[Function, Function] = {}
_states: dict[Function, Watched] = {}


def counted_with(function: Function, counting: Function) -> Function:
    """Note that a function calls one that counts its calls: both are replaced at once."""
    return _states[counting].counts(function)


def watched(function: Function) -> Function:
    """A short way that is counted and one day replaced; others as they are."""
    if function in _states:
        return function
    if function in _watched:
        return _watched[function]
    way = WAYS.get(function)
    if way is None or not way.watched:
        return function
    state = Watched(way, function)

    def counted(*operands: Any, **options: Any) -> Any:
        if options:
            return function(*operands, **options)
        for blank in state.blanks:
            del blank  # debuggers would show a tensor of which nothing is set
            break
        else:
            state.count(operands)
        return function(*operands)

    functools.update_wrapper(counted, function)
    counted.__wrapped__ = getattr(function, "__wrapped__", function)  # type: ignore[attr-defined]
    _watched[function] = counted
    _states[counted] = state
    return counted


def watch_methods(methods: Mapping[str, Any]) -> dict[str, Any]:
    """The methods, of which short ways are counted."""
    found: dict[str, Any] = {}
    for name, method in methods.items():
        found[name] = method if isinstance(method, property) else watched(method)
        state = _states.get(found[name])
        if state is not None:
            state.names.append(name)
    return found


def watch_op(op: Op, function: Function) -> Function:
    """The short way of an op, which is counted."""
    found = watched(function)
    if found in _states:
        _states[found].op = op
    return found
