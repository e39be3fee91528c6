"""What a function can read beside its arguments, found before it is traced.

From the function on, everything is followed that its code, and the code of what it calls, names:
cells that it has closed over, globals, defaults, attributes, what lists and dicts hold. Of an
object those attributes count that any of this code names; if some of it finds attributes by texts
(`getattr`, `vars`), all. Libraries are not followed: what they read is theirs.
"""

from __future__ import annotations

import functools
import sys
import threading
import weakref
from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
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

from compiler.core.op import Op
from compiler.core.whose_code import is_library, is_library_code, is_own
from compiler.graph.expression import Expression
from compiler.ops.user_ops import UserOp
from staticgraph.tracing.code import Named, named
from staticgraph.tracing.guards import Guards, Read, reads_of_array
from staticgraph.tracing.inspection import (
    DESCRIPTORS,
    GETTERS,
    MAKING,
    OF_CLASSES,
    file_of,
    hooks_of,
    is_empty,
    is_tensor,
    slots_of,
)  # fmt: skip
from staticgraph.tracing.modules import TABLES, is_module
from staticgraph.tracing.states import State, state_of

_PLAIN = (
    type(None), bool, int, float, complex, str, bytes, type(...), np.dtype, BuiltinFunctionType, Op,
)  # fmt: skip
_NO_STATES: Mapping[int, State] = MappingProxyType({})
FEW = 8
"""Items of lists and dicts that are compared one by one."""


class Surroundings:
    """What a function can read.

    Args:
        roots: the function, and what its arguments are beside arrays.
        on_tensors: whether it is called on tensors: then the values of tensors among what it can
            read are operands of the trace; else they are compared.
        own: modules whose parameters and buffers are operands.
        statics: the static arguments, which are roots too.
        settings: lists of one that the engines' own code reads: the default dtypes.

    Attributes:
        guards: the reads.
        codes: the code that was followed.
        cached: where cached properties and functions keep what they computed.
        tables: those of modules, whose changes captures of tensors see themselves.
    """

    def __init__(
        self,
        roots: Sequence[Any],
        on_tensors: bool,
        own: Sequence[object] = (),
        statics: Sequence[object] = (),
        settings: Sequence[list[Any]] = (),
    ) -> None:
        self.statics = statics
        self.settings = settings
        self.roots = list(roots)
        self.on_tensors = on_tensors
        self.own = own
        self.compares_identity = False
        self.codes: set[CodeType] = set()
        self._names: dict[str, str] = {}
        self._reflects = self._catches = False
        self._extra: list[Read] = []
        self.follow()

    @property
    def states(self) -> list[State]:
        """What cannot be compared but by its state: generators of random numbers, iterators."""
        return [*self._states.values()]

    def follow(self, states: Mapping[int, State] = _NO_STATES) -> None:
        """Follow all roots, until no code is found that names more attributes.

        `states`: those that are known, by the identity of what has them.
        """
        while True:
            before = len(self._names), self._reflects, self._catches
            self.reads: list[Read] = []
            self._states = dict(states)
            self._seen: dict[int, Any] = {}
            self._classes: set[tuple[type, bool]] = set()
            self.cached: set[tuple[int, str]] = set()
            self.tables: set[int] = set()
            for root in self.roots:
                self._value(root, "the function", "?")
            for i, table in enumerate(self.settings):
                self._item(table, 0, ("sg's default dtype", "the default dtype")[i], "?")
            if (len(self._names), self._reflects, self._catches) == before:
                break
        self.guards = Guards([*self.reads, *self._extra])

    def begin(self) -> None:
        """Note the states as they are: they may have moved on since they were found."""
        self._states = {key: one.now() for key, one in self._states.items()}

    def again(self) -> Surroundings:
        """The same, followed anew."""
        return Surroundings(self.roots, self.on_tensors, self.own, settings=self.settings)

    def add_read(self, read: Read) -> None:
        """Take a read that was only seen when it happened."""
        if all(one.owner is not read.owner or one.key != read.key for one in self._extra):
            self._extra.append(read)
            self.guards = Guards([*self.reads, *self._extra])

    def add_roots(self, roots: Sequence[Any]) -> None:
        """Take functions that were only seen when they were called."""
        self.roots.extend(roots)
        before = {(one.kind, id(one.owner), one.key): one for one in self.reads}
        states = dict(self._states)
        self.follow(states)
        # what changed since the call began is known by what it was then
        known = {(one.kind, id(one.owner), one.key): one for one in self.reads}
        self.reads = [*(known | before).values()]
        self.guards = Guards([*self.reads, *self._extra])

    def _read(self, kind: str, owner: Any, key: Any, value: Any, name: str, place: str) -> None:
        self.reads.append(Read(kind, owner, key, value, name, place))

    def _item(self, owner: Any, key: Any, name: str, place: str) -> None:
        """What a table holds, and what that holds."""
        value = owner[key]
        self._read("item", owner, key, value, name, place)
        self._value(value, name, place)

    def _value(self, value: Any, name: str, place: str) -> None:
        kind = type(value)
        if kind in _PLAIN or isinstance(value, Expression) or id(value) in self._seen:
            return
        self._seen[id(value)] = value
        if is_tensor(value):
            if not self.on_tensors:
                for array in kind.arrays([value]):
                    self.reads += reads_of_array(array, name, place)
            return
        if isinstance(value, GETTERS):
            for text in value.__reduce__()[1]:
                for one in str(text).split("."):
                    self._names.setdefault(one, place)
            return
        found = self._states.get(id(value)) or state_of(value, name, place)
        if found is not None:
            self._states[id(value)] = found
            return
        for types, follow in _FOLLOWED:
            if isinstance(value, types):
                follow(self, value, name, place)
                break
        else:
            if is_module(value):
                for hook in hooks_of(value):
                    self._value(hook, f"a hook of {name}", place)
                self._class(type(value), name, place)
                self._children(value, name, place)
            else:
                self._object(value, name, place)

    def _children(self, module: Any, name: str, place: str) -> None:
        """The attributes of a module and of its parts."""
        for path, part in module.named_modules():
            own = f"{name}.{path}" if path else name
            kind = type(part)
            user = not is_own(file_of(kind))
            self._read("class", part, None, kind, f"the class of {own}", place)
            for key, value in vars(part).items():
                if key in TABLES:
                    self.tables.add(id(value))
                    if all(one is not module for one in self.own):
                        self._dict(value, own, place)
                    continue
                if not user and key.startswith("_"):
                    continue
                named = self._reflects or key in self._names or key in ("training", "forward")
                if user and not named:
                    continue
                self._item(vars(part), key, f"{own}.{key}", self._names.get(key, place))
            if user:
                self._lacks(vars(part), own, place)
                for key in self._names.keys() - vars(part).keys() - {"forward"}:
                    if any(key in vars(one) and not is_own(file_of(one)) for one in kind.__mro__):
                        at = self._names[key]
                        self._read("absent", vars(part), key, None, f"{own}.{key}", at)
            for table in ("_forward_hooks", "_forward_pre_hooks"):
                self._value(getattr(part, table), f"{own}.{table}", place)
            if "forward" not in vars(part):
                self._read("absent", vars(part), "forward", None, f"{own}.forward", place)
            self._class(kind, own, place)

    def _function(self, f: FunctionType, name: str, place: str) -> None:
        code = f.__code__
        if is_library_code(code, f.__globals__):
            for cell in f.__closure__ or ():
                if not is_empty(cell):
                    self._of_library(cell.cell_contents, name, place)
            registry = vars(f).get("registry")  # of functools.singledispatch
            if isinstance(registry, MappingProxyType):
                self._value(registry, f"the registry of {name}", place)
            return
        here = self._code(code)
        at = f"{code.co_filename}:{code.co_firstlineno}"
        self._read("code", f, None, code, f"the code of {f.__name__}", at)
        for key in ("__defaults__", "__kwdefaults__"):
            if (given := getattr(f, key)) is not None:
                own = f"the defaults of {f.__name__}"
                self._read("attribute", f, key, given, own, at)
                self._value(given, own, at)
        for label, cell in zip(code.co_freevars, f.__closure__ or (), strict=True):
            self._cell(cell, label, here.place(label, here.free))
        self._globals(f.__globals__, here)
        if any(key in self._names for key in f.__dict__):
            self._object(f, name, place)
        else:
            self._lacks(f.__dict__, name, place)

    def _code(self, code: CodeType) -> Named:
        here = named(code)
        self._add_code(code)
        for key, line in here.attributes.items():
            self._names.setdefault(key, f"{here.file}:{line}")
        self._reflects = self._reflects or here.reflects
        self._catches = self._catches or here.catches
        self.compares_identity = self.compares_identity or here.compares_identity
        return here

    def _add_code(self, code: CodeType) -> None:
        self.codes.add(code)
        for one in code.co_consts:
            if isinstance(one, CodeType):
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

    def _cell(self, cell: CellType, label: str, place: str) -> None:
        name = f"{label}, which is closed over"
        if is_empty(cell):
            self._read("unbound", cell, None, None, name, place)
        else:
            self._read("cell", cell, None, cell.cell_contents, name, place)
            self._value(cell.cell_contents, label, place)

    def _of_library(self, value: object, name: str, place: str) -> None:
        """What a function of a library calls: functions of the user's, which it was given."""
        if isinstance(value, FunctionType | MethodType | functools.partial):
            self._value(value, name, place)
        elif isinstance(value, Mapping):
            for one in [*value.values()]:
                self._of_library(one, name, place)
        elif not isinstance(value, _PLAIN) and not is_library(file_of(type(value))):
            self._value(value, name, place)

    def _method(self, method: MethodType, name: str, place: str) -> None:
        self._value(method.__self__, name, place)
        self._value(method.__func__, name, place)

    def _partial(self, part: Any, name: str, place: str) -> None:
        for one in (part.func, part.args, part.keywords):
            self._value(one, name, place)

    def _wrapper(self, value: object, name: str, place: str) -> None:
        for key in ("__func__", "fget", "fset", "func", "dispatcher", "__wrapped__"):
            inner = getattr(value, key, None)
            if inner is not None:
                self._value(inner, name, place)

    def _memoized(self, value: Any, name: str, place: str) -> None:
        """What has a cache: a call may fill it, and `cache_clear` empties it."""
        self.cached.add((id(value), ""))
        self._read("misses", value, "", value.cache_info().misses, f"the cache of {name}", place)
        self._wrapper(value, name, place)

    def _compiled(self, value: Any, name: str, place: str) -> None:
        self._value(value._f, name, place)
        for one in value._own:
            self._value(one, name, place)

    def _tuple(self, value: Any, name: str, place: str) -> None:
        for i, one in enumerate(value):
            self._value(one, f"{name}[{i}]", place)

    def _list(self, value: Any, name: str, place: str) -> None:
        if type(value) is list and len(value) <= FEW:
            self._read("length", value, None, len(value), f"len({name})", place)
            for i in range(len(value)):
                self._item(value, i, f"{name}[{i}]", place)
        else:
            self._read("each", value, None, [*value], name, place)
            for i, one in enumerate(value):
                self._value(one, f"{name}[{i}]", place)
        if type(value) not in (list, deque):
            self._object(value, name, place)

    def _dict(self, value: Any, name: str, place: str) -> None:
        if not value:
            self._read("length", value, None, 0, f"len({name})", place)
        else:
            self._read("keys", value, None, [*value], f"the keys of {name}", place)
        if len(value) <= FEW and type(value) is dict:
            for key in value:
                self._item(value, key, f"{name}[{key!r}]", place)
        elif value:
            self._read("values", value, None, [*value.values()], name, place)
            for key, one in value.items():
                self._value(one, f"{name}[{key!r}]", place)
        if not is_library(file_of(type(value))):
            self._object(value, name, place)

    def _set(self, value: Any, name: str, place: str) -> None:
        self._read("members", value, None, set(value), name, place)

    def _bytes(self, value: Any, name: str, place: str) -> None:
        self._read("text", value, None, bytes(value), name, place)

    def _array(self, value: Any, name: str, place: str) -> None:
        self.reads += reads_of_array(value, name, place)
        if value.dtype.hasobject:
            self._tuple(value.ravel().tolist(), name, place)

    def _reference(self, value: Any, name: str, place: str) -> None:
        self._value(value(), name, place)

    def _context(self, value: Any, name: str, place: str) -> None:
        now = value.get(None)
        self._read("context", value, None, now, name, place)
        self._value(now, name, place)

    def _module(self, module: ModuleType, name: str, place: str) -> None:
        file = getattr(module, "__file__", None) or ""
        if is_own(file):
            return
        table = vars(module)
        if not is_library(file):
            self._lacks(table, name, place)
        for key in self._names.keys() & table.keys():
            own = f"{module.__name__}.{key}"
            if is_library(file) or module.__name__ in sys.builtin_module_names:
                self._read("item", table, key, table[key], own, self._names[key])
                if isinstance(table[key], ModuleType) or table[key] is sys.argv:
                    self._value(table[key], own, self._names[key])
            else:
                self._item(table, key, own, self._names[key])

    def _class(self, kind: type, name: str, place: str, makes: bool = False) -> None:
        """What the classes of the user's have that some code names, and their operators.

        `makes`: whether code has the class itself, of which it may make objects.
        """
        if (kind, makes) in self._classes:
            return
        self._classes.add((kind, makes))
        if type(kind) is not type and not is_library(file_of(type(kind))):
            self._class(type(kind), f"the class of {name}", place)
        order = [one for one in kind.__mro__ if not is_library(file_of(one))]
        if order:
            self._read("order", kind, None, kind.__mro__, f"the bases of {kind.__name__}", place)
        bases = [one for one in kind.__mro__ if is_library(file_of(one))]
        for place_of, one in enumerate(order):
            table = vars(one)
            self._lacks(table, one.__name__, place)
            for key in table:
                special = key.startswith("__") and key.endswith("__") and key not in OF_CLASSES
                # what a library calls by a name of its own: `forward`, `backward`
                called = any(key in vars(base) for base in bases)
                if not (special or called or self._reflects or key in self._names):
                    continue
                if not makes and key in MAKING:
                    continue
                if key in OF_CLASSES or isinstance(table[key], DESCRIPTORS):
                    continue
                for earlier in order[:place_of]:
                    if key not in vars(earlier):
                        own = f"{earlier.__name__}.{key}"
                        self._read("absent", vars(earlier), key, None, own, place)
                at = self._names.get(key, place)
                self._read("item", table, key, table[key], f"{one.__name__}.{key}", at)
                self._value(table[key], f"{one.__name__}.{key}", at)

    def _object(self, value: object, name: str, place: str) -> None:
        """The attributes of an object that some code names."""
        kind = type(value)
        table = getattr(value, "__dict__", None)
        of_library = is_library(file_of(kind))
        if isinstance(value, threading.local):  # its table is another in each thread
            for key in self._names.keys() & vars(value).keys():
                self._slot(value, key, f"{name}.{key}", self._names[key])
            return
        groups = table.get("param_groups") if isinstance(table, dict) else None
        if isinstance(groups, list) and hasattr(kind, "zero_grad"):
            self._groups(groups, f"{name}.param_groups", place)
        if not isinstance(value, FunctionType) and not of_library:
            self._read("class", value, None, kind, f"the class of {name}", place)
            self._class(kind, name, place)
        if isinstance(table, dict):
            if not of_library:
                own = f"the attributes of {name}"
                self._read("attribute", value, "__dict__", table, own, place)
            # a collection of a library reads any of its attributes: a ChainMap its maps
            every = self._reflects or (of_library and isinstance(value, Collection))
            keys = table.keys() if every else self._names.keys() & table.keys()
            if every:
                self._read("keys", table, None, [*table], f"the attributes of {name}", place)
            for key in [*keys]:
                self._item(table, key, f"{name}.{key}", self._names.get(key, place))
            self._lacks(table, name, place)
            for key in self._names.keys() - table.keys():
                if any(key in vars(one) for one in kind.__mro__):
                    if isinstance(getattr(kind, key, None), functools.cached_property):
                        self.cached.add((id(table), key))
                    own = f"{name}.{key}"
                    self._read("absent", table, key, None, own, self._names[key])
        for key in slots_of(kind):
            if self._reflects or key in self._names:
                self._slot(value, key, f"{name}.{key}", self._names.get(key, place))

    def _lacks(self, table: Any, name: str, place: str) -> None:
        """What is named and not there, where code may catch the error, and go on."""
        if self._catches and not self._reflects:
            missing = frozenset(self._names.keys() - table.keys())
            self._read("disjoint", table, None, missing, f"the attributes of {name}", place)

    def _groups(self, groups: list[Any], name: str, place: str) -> None:
        """Which parameters an optimizer has: it reads its other settings at each step."""
        self._read("each", groups, None, [*groups], name, place)
        for i, one in enumerate(groups):
            own = f"{name}[{i}]['params']"
            self._read("item", one, "params", one["params"], own, place)
            self._read("each", one["params"], None, [*one["params"]], own, place)

    def _slot(self, value: object, key: str, name: str, place: str) -> None:
        try:
            found = getattr(value, key)
        except AttributeError:
            if self._catches or self._reflects:
                self._read("unset", value, key, None, name, place)
            return
        self._read("attribute", value, key, found, name, place)
        self._value(found, name, place)


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
    (set, _S._set),
    ((bytearray, memoryview), _S._bytes),
    (np.ndarray, _S._array),
    (weakref.ref, _S._reference),
    (ContextVar, _S._context),
]
