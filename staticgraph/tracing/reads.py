"""What a function can read beside its arguments, found before it is traced.

From the function on, everything is followed that its code, and the code of what it calls, names:
cells that it has closed over, globals, defaults, attributes, what lists and dicts hold. Of an
object those attributes count that any of this code names; if some of it finds attributes by texts
(`getattr`, `vars`), all. Libraries are not followed: what they read is theirs.
"""

from __future__ import annotations

import functools
import operator
import sys
import weakref
from collections import deque
from collections.abc import Callable, Mapping, Sequence
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

from compiler.core.op import Op, Operand
from compiler.core.refusals import is_library, is_library_code
from compiler.graph.expression import Expression, is_own
from staticgraph.tracing.code import Named, named
from staticgraph.tracing.guards import Guards, Read, reads_of_array
from staticgraph.tracing.modules import is_module
from staticgraph.tracing.states import State, state_of

_PLAIN = (
    type(None), bool, int, float, complex, str, bytes, type(...), np.dtype, BuiltinFunctionType, Op,
)  # fmt: skip
_OF_CLASSES = frozenset(
    ("__module__", "__dict__", "__weakref__", "__doc__", "__qualname__", "__annotations__",
     "__init_subclass__", "__class_getitem__", "__abstractmethods__", "__parameters__",
     "__orig_bases__", "__slots__", "__match_args__", "__dataclass_fields__",
     "__dataclass_params__", "__static_attributes__", "__firstlineno__", "__hash__", "__repr__",
     "__eq__", "__setattr__", "__delattr__")
)  # fmt: skip
_MAKING = frozenset(("__init__", "__new__", "__post_init__", "__del__"))
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
        settings: lists of one that the engine's own code reads: its default dtype.

    Attributes:
        guards: the reads.
        states: what cannot be compared but by its state: generators of random numbers, iterators.
        codes: the code that was followed.
        cached: where cached properties keep what they computed.
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
        self._reflects = False
        self._extra: list[Read] = []
        self.guards = Guards([])
        self.follow()

    def follow(self) -> None:
        """Follow all roots, until no code is found that names more attributes."""
        while True:
            before = len(self._names), self._reflects
            self.reads: list[Read] = []
            self.states: list[State] = []
            self._seen: dict[int, Any] = {}
            self._classes: set[tuple[type, bool]] = set()
            self.cached: set[tuple[int, str]] = set()
            self.tables: set[int] = set()
            for root in self.roots:
                self._value(root, "the function", "?")
            for table in self.settings:
                self._item(table, 0, "the default dtype", "?")
            if (len(self._names), self._reflects) == before:
                break
        self.guards = Guards([*self.reads, *self._extra])

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
        self.follow()

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
        if _is_tensor(value):
            if not self.on_tensors:
                for array in kind.arrays([value]):
                    self.reads += reads_of_array(array, name, place)
            return
        if isinstance(value, _GETTERS):
            for text in value.__reduce__()[1]:
                for one in str(text).split("."):
                    self._names.setdefault(one, place)
            return
        found = state_of(value, name, place)
        if found is not None:
            self.states.append(found)
            return
        for types, follow in _FOLLOWED:
            if isinstance(value, types):
                follow(self, value, name, place)
                break
        else:
            if is_module(value):
                for hook in _hooks(value):
                    self._value(hook, f"a hook of {name}", place)
                self._class(type(value), name, place)
                self._children(value, name, place)
            else:
                self._object(value, name, place)

    def _children(self, module: Any, name: str, place: str) -> None:
        """The attributes of a module and of its parts."""
        for path, part in module.named_modules():
            own = f"{name}.{path}" if path else name
            user = not is_own(_file_of(type(part)))
            for key, value in vars(part).items():
                if key in _OF_MODULES:
                    self.tables.add(id(value))
                    if all(one is not module for one in self.own):
                        self._dict(value, own, place)
                    continue
                if not user and key.startswith("_"):
                    continue
                if user and not self._reflects and key not in self._names and key != "training":
                    continue
                self._item(vars(part), key, f"{own}.{key}", self._names.get(key, place))
            for table in ("_forward_hooks", "_forward_pre_hooks"):
                self._value(getattr(part, table), f"{own}.{table}", place)
            if "forward" not in vars(part):
                self._read("absent", vars(part), "forward", None, f"{own}.forward", place)
            self._class(type(part), own, place)

    def _function(self, f: FunctionType, name: str, place: str) -> None:
        code = f.__code__
        if is_library_code(code, f.__globals__):
            for cell in f.__closure__ or ():
                if not _is_empty(cell):
                    self._of_library(cell.cell_contents, name, place)
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
        if f.__dict__ and self._reflects_on(f.__dict__):
            self._object(f, name, place)

    def _reflects_on(self, table: Mapping[str, Any]) -> bool:
        return any(key in self._names for key in table)

    def _code(self, code: CodeType) -> Named:
        here = named(code)
        self._add_code(code)
        for key, line in here.attributes.items():
            self._names.setdefault(key, f"{here.file}:{line}")
        self._reflects = self._reflects or here.reflects
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
        if _is_empty(cell):
            self._read("unbound", cell, None, None, name, place)
        else:
            self._read("cell", cell, None, cell.cell_contents, name, place)
            self._value(cell.cell_contents, label, place)

    def _of_library(self, value: Any, name: str, place: str) -> None:
        """What a function of a library calls: functions of the user's, which it was given."""
        if isinstance(value, FunctionType | MethodType | functools.partial):
            self._value(value, name, place)
        elif isinstance(value, Mapping):
            for one in [*value.values()]:
                self._of_library(one, name, place)
        elif not isinstance(value, _PLAIN) and not is_library(_file_of(type(value))):
            self._value(value, name, place)

    def _method(self, method: MethodType, name: str, place: str) -> None:
        self._value(method.__self__, name, place)
        self._value(method.__func__, name, place)

    def _partial(self, part: Any, name: str, place: str) -> None:
        for one in (part.func, part.args, part.keywords):
            self._value(one, name, place)

    def _wrapper(self, value: Any, name: str, place: str) -> None:
        for key in ("__func__", "fget", "fset", "func", "__wrapped__"):
            inner = getattr(value, key, None)
            if inner is not None:
                self._value(inner, name, place)

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
        if not is_library(_file_of(type(value))):
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
        for key in self._names.keys() & table.keys():
            own = f"{module.__name__}.{key}"
            if is_library(file) or module.__name__ in sys.builtin_module_names:
                self._read("item", table, key, table[key], own, self._names[key])
                if isinstance(table[key], ModuleType):
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
        order = [one for one in kind.__mro__ if not is_library(_file_of(one))]
        for place_of, one in enumerate(order):
            table = vars(one)
            for key in table:
                special = key.startswith("__") and key.endswith("__") and key not in _OF_CLASSES
                if not special and not self._reflects and key not in self._names:
                    continue
                if not makes and key in _MAKING:
                    continue
                if key in _OF_CLASSES or isinstance(table[key], _DESCRIPTORS):
                    continue
                for earlier in order[:place_of]:
                    if key not in vars(earlier):
                        own = f"{earlier.__name__}.{key}"
                        self._read("absent", vars(earlier), key, None, own, place)
                at = self._names.get(key, place)
                self._read("item", table, key, table[key], f"{one.__name__}.{key}", at)
                self._value(table[key], f"{one.__name__}.{key}", at)

    def _object(self, value: Any, name: str, place: str) -> None:
        """The attributes of an object that some code names."""
        kind = type(value)
        table = getattr(value, "__dict__", None)
        of_library = is_library(_file_of(kind))
        if not isinstance(value, FunctionType) and not of_library:
            self._read("class", value, None, kind, f"the class of {name}", place)
            self._class(kind, name, place)
        if isinstance(table, dict):
            if not of_library:
                own = f"the attributes of {name}"
                self._read("attribute", value, "__dict__", table, own, place)
            keys = table.keys() if self._reflects else self._names.keys() & table.keys()
            if self._reflects:
                self._read("keys", table, None, [*table], f"the attributes of {name}", place)
            for key in [*keys]:
                self._item(table, key, f"{name}.{key}", self._names.get(key, place))
            for key in self._names.keys() - table.keys():
                if any(key in vars(one) for one in kind.__mro__):
                    if isinstance(getattr(kind, key, None), functools.cached_property):
                        self.cached.add((id(table), key))
                    own = f"{name}.{key}"
                    self._read("absent", table, key, None, own, self._names[key])
        for key in _slots_of(kind):
            if self._reflects or key in self._names:
                self._slot(value, key, f"{name}.{key}", self._names.get(key, place))

    def _slot(self, value: Any, key: str, name: str, place: str) -> None:
        try:
            found = getattr(value, key)
        except AttributeError:
            return
        self._read("attribute", value, key, found, name, place)
        self._value(found, name, place)


_OF_MODULES = frozenset(
    ("_parameters", "_buffers", "_modules", "_forward_hooks", "_forward_pre_hooks")
)
_GETTERS = (operator.attrgetter, operator.itemgetter, operator.methodcaller)
_DESCRIPTORS = (type(FunctionType.__code__), type(property.fget))


def _is_tensor(value: Any) -> bool:
    return isinstance(value, Operand) and not isinstance(value, Op) and hasattr(value, "arrays")


def _is_empty(cell: CellType) -> bool:
    try:
        _ = cell.cell_contents
    except ValueError:
        return True
    return False


def _hooks(module: Any) -> list[Any]:
    return [
        hook
        for _, part in module.named_modules()
        for table in (part._forward_hooks, part._forward_pre_hooks)
        for hook in table.values()
    ]


_files: dict[type, str] = {}


def _file_of(kind: type) -> str:
    """The file of a class; of Python's own that of a library."""
    found = _files.get(kind)
    if found is None:
        own = kind.__module__ in sys.builtin_module_names
        file = getattr(sys.modules.get(kind.__module__), "__file__", None)
        found = _files[kind] = file or ("<frozen" if own else "")
    return found


def _slots_of(kind: type) -> tuple[str, ...]:
    found: list[str] = []
    for one in kind.__mro__:
        if not is_library(_file_of(one)):
            slots = vars(one).get("__slots__", ())
            found += [slots] if isinstance(slots, str) else slots
    return tuple(one for one in found if one not in ("__dict__", "__weakref__"))


_S = Surroundings
_FOLLOWED: list[tuple[Any, Callable[[Surroundings, Any, str, str], None]]] = [
    (FunctionType, _S._function),
    (MethodType, _S._method),
    (functools.partial, _S._partial),
    ((staticmethod, classmethod, property, functools.cached_property), _S._wrapper),
    (type(functools.lru_cache(len)), _S._wrapper),
    (ModuleType, _S._module),
    (type, lambda self, value, name, place: self._class(value, name, place, True)),
    (tuple, _S._tuple),
    ((list, deque), _S._list),
    (MappingProxyType, _S._dict),
    (dict, _S._dict),
    (set, _S._set),
    (bytearray, _S._bytes),
    (np.ndarray, _S._array),
    (weakref.ref, _S._reference),
    (ContextVar, _S._context),
]
