"""What a function can read beside its arguments, found before it is traced.

From the function on, everything is followed that its code, and the code of what it calls, names:
cells that it has closed over, globals, defaults, attributes, what lists and dicts hold. Of an
object those attributes count that any of this code names; if some of it finds attributes by texts
(`getattr`, `vars`), all. Libraries are not followed: what they read is theirs.
"""

from __future__ import annotations

import functools
import os
import sys
import weakref
from abc import ABCMeta
from codecs import lookup_error
from collections import Counter, deque
from collections.abc import (
    Callable,
    ItemsView,
    Iterable,
    KeysView,
    Mapping,
    Sequence,
    ValuesView,
)  # fmt: skip
from contextvars import ContextVar
from types import (
    BuiltinFunctionType,
    CellType,
    CodeType,
    FunctionType,
    MappingProxyType,
    MethodType,
    ModuleType,
)  # fmt: skip
from typing import Any

import numpy as np

from staticgraph.compiler.core.errors import CaptureError
from staticgraph.compiler.core.refusals import remembered
from staticgraph.compiler.core.whose_code import is_library, is_library_code, is_own
from staticgraph.compiler.graph.expression import Expression
from staticgraph.compiler.ops.programs.user_ops import UserOp
from staticgraph.tracing.callables import PLAIN
from staticgraph.tracing.code import Named, handlers_of_errors, named
from staticgraph.tracing.containers import HOW_ARRAYS_FAIL, Containers
from staticgraph.tracing.deferred import Deferred, without
from staticgraph.tracing.elements import ElementReads
from staticgraph.tracing.guards import Guards, Read, is_eager, older, reads_of_tensor, unless_only
from staticgraph.tracing.inspection import (
    GETTERS,
    file_of,
    file_of_module,
    has_parts,
    hooks_of,
    is_empty,
    is_tensor,
)  # fmt: skip
from staticgraph.tracing.kept import NONE as NOTHING_KEPT, Appended, Kept
from staticgraph.tracing.library_states import (
    of_decimals,
)  # fmt: skip
from staticgraph.tracing.live import LEAST, NONE, LiveArrays, is_alone, of_others
from staticgraph.tracing.modules import is_module
from staticgraph.tracing.states import State, state_of

_BOUND = (BuiltinFunctionType, type([].__len__))
_ENVIRONMENTS = (os.environ, os.environb)
_NO_STATES: Mapping[int, State] = MappingProxyType({})


class Surroundings(Containers):
    """What a function can read.

    Args:
        roots: the function, and what its arguments are beside arrays.
        on_tensors: whether it is called on tensors: then the values of tensors among what it can
            read are operands of the trace; else they are compared.
        own: modules whose parameters and buffers are operands.
        statics: the static arguments, which are roots too.
        settings: lists of one that the engines' own code reads: the default dtypes.
        deferred: functions that only steps of the graph call.
        lift: whether arrays may be operands of the trace.

    Attributes:
        codes: the code that was followed.
        cached: where cached properties and functions keep what they computed.
        tables: those of modules, whose changes captures of tensors see themselves.
        opaque: names of objects of other languages, by identity: nothing tells their state.
        live: the arrays that are operands of the trace, so that what they hold is no read.
        elements: the elements of these that are.
    """

    def __init__(
        self,
        roots: Sequence[Any],
        on_tensors: bool,
        own: Sequence[object] = (),
        statics: Sequence[object] = (),
        settings: Sequence[list[Any]] = (),
        deferred: Deferred | None = None,
        lift: bool = True,
    ) -> None:
        self.deferred = Deferred() if deferred is None else deferred
        self.statics = statics
        self.settings = settings
        self.roots = list(roots)
        self.on_tensors = on_tensors
        self._own = tuple(own)
        self.compares_identity = False
        self._by_text: dict[str, str] = {}
        self._forget()
        self._extra: list[Read] = []
        self._guards: Guards | None = None
        self._handed: dict[int, object] = {}
        self._constant: set[int] = set()
        self._least = LEAST
        self._failed: CaptureError | None = None
        self.live, self.kept = NONE, NOTHING_KEPT
        self.elements = ElementReads(self.add_read)
        self.follow()
        if lift:
            self._lift()

    @property
    def guards(self) -> Guards:
        """The reads."""
        if self._guards is None:  # it is followed several times before that is asked for
            self._guards = Guards([*self.reads, *self._extra])
        return self._guards

    @property
    def states(self) -> list[State]:
        """What cannot be compared but by its state: generators of random numbers, iterators."""
        return [*self._states.values()]

    @property
    def seen(self) -> Mapping[int, object]:
        """All that was followed, by identity."""
        return self._seen

    def follow(self, states: Mapping[int, State] = _NO_STATES) -> None:
        """Follow all roots, until no code is found that names more attributes.

        `states`: those that are known, by the identity of what has them.
        """
        while True:
            before = len(self._names), self._reflects, self._catches, len(self._handed)
            self.reads, self.stored = [], []
            self._states = dict(states)
            self._seen: dict[int, Any] = {}
            self._routes: Counter[int] = Counter()
            self._classes = set()
            self._layers = set()
            self.cached = set()
            self.opaque = {}
            self.tables = set()
            for root in self.roots:
                self._value(root, "the function", "?")
            for i, table in enumerate(self.settings):
                self._item(table, 0, ("sg's default dtype", "the default dtype")[i], "?")
            now = len(self._names), self._reflects, self._catches, len(self._handed)
            if now == before:
                break
        self.reads = self.kept.without(self.live.without_contents(self.reads))
        self._guards = None

    def keep(self, kept: Kept) -> None:
        """Take numbers and lists for what each call changes, so that what they are is no read."""
        self.kept = kept
        self.add_roots(())
        self.reads = kept.without(self.reads)
        self._guards = None

    def _lift(self) -> None:
        """Take arrays for operands, where nothing could tell what stands for them from them."""
        catches = self._catches and not self.on_tensors  # what those refuse, nobody catches
        tells = catches or self._reflects or self._computes or self.compares_identity
        if tells or self.cached or not is_alone():
            return
        self.live = LiveArrays(self.reads, self._routes, self._constant, self._least)
        self.reads = self.live.without_contents(self.reads)
        self._guards = None

    def exchanged(self) -> bool:
        """Take other arrays for operands, if nothing but such has changed: `w = w - rate * g`."""
        new = self.live.exchanged()
        if not new or self.elements.are_of(new):
            return False
        reads = of_others(self.reads, new)
        guards = Guards([*reads, *self._extra])
        if not guards.hold():
            return False
        self.live.exchange(new)
        self.reads, self._guards = reads, guards
        return True

    def keep_constant(self, arrays: Iterable[int]) -> None:
        """Take these arrays, by identity, for constants, and compare what they hold."""
        self._constant |= {*arrays}
        self.live = NONE
        self.add_roots(())
        self._lift()

    def lift_small(self) -> bool:
        """Take small arrays of functions of arrays for operands, too: whether there are any.

        One of them may be what one side of a branch on a value returns.
        """
        self._least = 0
        if not (self.live.arrays or self.on_tensors):
            self._lift()
        return bool(self.live.arrays)

    def _forget(self) -> None:
        """Forget what code names, but for what was only seen when it was used."""
        self.codes: set[CodeType] = set()
        self._names = dict(self._by_text)
        self._stores: set[str] = set()
        self._reflects = self._catches = self._computes = False

    def defer(self, function: object) -> None:
        """Take what a step of the graph calls: what only that reads is none of the trace's."""
        values = self.deferred.new(function)
        if not values:
            return
        before, stored, states = self.reads, self.stored, self._states
        self.follow()
        every, reached = [*self.reads, *self.stored], self._states.keys()
        self.deferred.add(values)
        self._forget()
        self.follow()
        gone = reached - self._states.keys()
        self._states |= {key: one for key, one in states.items() if key not in gone}
        others = functools.partial(unless_only, every, [*self.reads, *self.stored])
        self.reads = older(others(before), self.reads)
        self.stored = older(others(stored), self.stored)
        self._guards = None

    def begin(self) -> None:
        """Note the states as they are: they may have moved on since they were found.

        What was refused while something was followed, in a trace before, is so again.
        """
        if self._failed is not None:
            raise remembered(self._failed)
        self._states = {key: one.now() for key, one in self._states.items()}

    def again(self) -> Surroundings:
        """The same, followed anew."""
        return Surroundings(
            self.roots, self.on_tensors, self._own, (), self.settings, self.deferred, False
        )

    def changes(self) -> list[tuple[Read, Any]]:
        """What is no longer what it was, and what it is."""
        return [*self.guards.changes(), *Guards(self.stored).changes()]

    def add_read(self, read: Read) -> None:
        """Take a read that was only seen when it happened."""
        if all(one.owner is not read.owner or one.key != read.key for one in self._extra):
            self._extra.append(read)
            self._guards = None

    def add_names(self, names: Iterable[str], place: str) -> None:
        """Take names of attributes that were only seen when they were used."""
        new = [one for one in names if one not in self._names]
        if new:
            self._by_text.update(dict.fromkeys(new, place))
            self._names.update(self._by_text)
            self.add_roots(())

    def add_module(self, name: str, place: str) -> None:
        """Take a module that was only seen when its name was asked for."""
        if name in sys.modules:
            module = sys.modules[name]
            self.add_read(Read("item", sys.modules, name, module, f"module {name}", place))
            self.add_roots((module,))

    def hand(self, values: Iterable[object]) -> None:
        """Take what code of a library is called with: it may read all that these have."""
        new = [
            one
            for one in values
            if self._seen.get(id(one)) is one and id(one) not in self._handed and has_parts(one)
        ]
        if new:
            self._handed |= {id(one): one for one in new}
            self.add_roots(())

    def add_roots(self, roots: Sequence[Any]) -> None:
        """Take functions that were only seen when they were called."""
        self.roots.extend(roots)
        before, stored = self.reads, self.stored
        try:
            self.follow(dict(self._states))
        except CaptureError as error:
            self._failed = error
            raise
        # what changed since the call began is known by what it was then
        self.reads, self.stored = older(before, self.reads), older(stored, self.stored)
        self._guards = None

    def _value(self, value: Any, name: str, place: str) -> None:
        kind = type(value)
        if kind in _BOUND and not isinstance(value.__self__, ModuleType):
            value = value.__self__
            kind = type(value)
        self._routes[id(value)] += kind is np.ndarray or isinstance(value, tuple)
        if kind in PLAIN or isinstance(value, Expression | Appended) or id(value) in self._seen:
            return
        self._seen[id(value)] = value
        if kind in _EXACT:
            _EXACT[kind](self, value, name, place)
            return
        if is_tensor(value):
            self.reads += reads_of_tensor(value, self.on_tensors, name, place)
            if is_eager(value):
                self._put_on(value, name, place)
            return
        if isinstance(value, GETTERS):
            for text in value.__reduce__()[1]:
                for one in str(text).split("."):
                    self._names.setdefault(one, place)
            return
        found = self._states.get(id(value)) or state_of(value, name, place)
        if found is not None:
            self._states[id(value)] = found
            self._named_state(value, name)
            return
        for types, follow in _FOLLOWED:
            if isinstance(value, types):
                follow(self, value, name, place)
                if not is_library(file_of(kind)):
                    self._object(value, name, place)
                break
        else:
            if is_module(value):
                for hook in hooks_of(value):
                    self._value(hook, f"a hook of {name}", place)
                self._class(type(value), name, place)
                self._children(value, name, place)
            elif any(value is one for one in _ENVIRONMENTS) and id(value) not in self._handed:
                pass  # which of its names are read is seen when they are
            elif not self._of_other_languages(value, name, place):
                self._object(value, name, place)

    def _function(self, f: FunctionType, name: str, place: str) -> None:
        code = f.__code__
        if is_library_code(code, f.__globals__):
            for cell in f.__closure__ or ():
                if not is_empty(cell):
                    self._of_library(cell.cell_contents, name, place)
            if code.co_filename == "<string>" and f.__defaults__ is not None:  # a named tuple's
                own = f"the defaults of {name}"
                self._read("attribute", f, "__defaults__", f.__defaults__, own, place)
                self._value(f.__defaults__, own, place)
            registry = vars(f).get("registry")  # of functools.singledispatch
            if isinstance(registry, MappingProxyType):
                self._value(registry, f"the registry of {name}", place)
            return
        if f not in self.deferred:
            self._runs(f)
        self._announced(f, f.__name__)
        if any(key in self._names for key in f.__dict__):
            self._object(f, name, place)
        else:
            self._lacks(f.__dict__, name, place)

    def _runs(self, f: FunctionType) -> None:
        """What a function reads when it is called."""
        code = f.__code__
        here = self._code(code)
        at = f"{code.co_filename}:{code.co_firstlineno}"
        self._read("code", f, None, code, f"the code of {f.__name__}", at)
        for key in ("__defaults__", "__kwdefaults__"):
            if (given := getattr(f, key)) is not None:
                own = f"the defaults of {f.__name__}"
                self._read("attribute", f, key, given, own, at)
                self._value(given, own, at)
        elsewhere = {label for one in self.deferred.codes for label in one.co_freevars}
        for label, cell in zip(code.co_freevars, f.__closure__ or (), strict=True):
            if label in (*here.free, *here.globals) or label not in elsewhere:
                self._cell(cell, label, here.place(label, here.free))
        self._globals(f.__globals__, here)
        if self._computes and "__globals__" in self._names:
            self._every(f.__globals__, f"globals of {f.__name__}", at)

    def _code(self, code: CodeType) -> Named:
        here = named(without(code, self.deferred.codes))
        self._add_code(code)
        if not {"encode", "decode"}.isdisjoint(here.attributes):
            for text, handler in handlers_of_errors(code):
                self._read("state", text, lookup_error, handler, f"the handler {text!r}", here.file)
                self._value(handler, f"the handler {text!r}", here.file)
        for key, line in here.attributes.items():
            self._names.setdefault(key, f"{here.file}:{line}")
        self._stores |= here.stores
        self._computes = self._computes or here.computes
        self._reflects = self._reflects or here.reflects
        self._catches = self._catches or here.catches
        self.compares_identity = self.compares_identity or here.compares_identity
        return here

    def _add_code(self, code: CodeType) -> None:
        self.codes.add(code)
        for one in code.co_consts:
            if isinstance(one, CodeType) and one not in self.deferred.codes:
                self._add_code(one)

    def _globals(self, table: dict[str, Any], here: Named) -> None:
        for key in here.globals:
            place = here.place(key, here.globals)
            if key in table:
                self._item(table, key, f"global {key}", place)
            elif not here.reflects or not key.isidentifier():
                self._read("absent", table, key, None, f"global {key}", place)
        for key in here.imports:
            if key in sys.modules:
                self._item(sys.modules, key, f"module {key}", here.file)
            elif here.catches:
                self.cached.add((id(sys.modules), key))
                self._read("absent", sys.modules, key, None, f"module {key}", here.file)

    def _cell(self, cell: CellType, label: str, place: str) -> None:
        name = f"{label}, which is closed over"
        if is_empty(cell):
            self._read("unbound", cell, None, None, name, place)
        else:
            self._read("cell", cell, None, cell.cell_contents, name, place)
            self._value(cell.cell_contents, label, place)

    def _module(self, module: ModuleType, name: str, place: str) -> None:
        file = str(file_of_module(module) or "")
        table = vars(module)
        if is_own(file):  # others may be put for its functions
            for key in self._names.keys() & table.keys():
                own = f"{module.__name__}.{key}"
                self._read("item", table, key, table[key], own, self._names[key])
                self._of_library(table[key], own, self._names[key])
            return
        if module.__name__ == "decimal":
            self._read("asked", None, of_decimals, of_decimals(), "the context of decimals", place)
        if module.__name__ == "numpy" and self._catches:
            self._context(HOW_ARRAYS_FAIL, "np.errstate", place)
        if not is_library(file):
            self._lacks(table, name, place)
            if "__getattr__" in table:  # it answers for what is not there
                missing = frozenset(self._names.keys() - table.keys())
                self._read("disjoint", table, None, missing, f"the attributes of {name}", place)
            if self._computes:
                self._every(table, name, place)
        for key in self._names.keys() & table.keys():
            own = f"{module.__name__}.{key}"
            if is_library(file) or module.__name__ in sys.builtin_module_names:
                self._read("item", table, key, table[key], own, self._names[key])
                if isinstance(table[key], ABCMeta) or not isinstance(
                    table[key], FunctionType | type
                ):
                    self._value(table[key], own, self._names[key])
            else:
                self._item(table, key, own, self._names[key])


_DISPATCHED = functools.singledispatchmethod
_S = Surroundings
_FOLLOWED: list[tuple[Any, Callable[[Surroundings, Any, str, str], None]]] = [
    (FunctionType, _S._function),
    (MethodType, _S._method),
    (functools.partial, _S._partial),
    (UserOp, lambda self, value, name, place: self._tuple(value.rules, f"a rule of {name}", place)),
    ((staticmethod, classmethod, property, functools.cached_property, _DISPATCHED), _S._wrapper),
    (type(functools.lru_cache(len)), _S._memoized),
    (ModuleType, _S._module),
    (type, lambda self, value, name, place: self._class(value, name, place, True)),
    (tuple, _S._tuple),
    ((list, deque), _S._list),
    (MappingProxyType, _S._dict),
    (dict, _S._dict),
    ((set, frozenset), _S._set),
    ((KeysView, ValuesView, ItemsView), _S._view),
    (BaseException, _S._error),
    ((bytearray, memoryview), _S._bytes),
    (np.ndarray, _S._array),
    (weakref.ref, _S._reference),
    (ContextVar, _S._context),
]
_EXACT: dict[Any, Callable[[Surroundings, Any, str, str], None]] = {
    kind: next(follow for types, follow in _FOLLOWED if issubclass(kind, types))
    for kind in (tuple, list, deque, dict, set, frozenset, type, FunctionType, MethodType)
}
"""What most values are, of which nothing else has to be asked."""
