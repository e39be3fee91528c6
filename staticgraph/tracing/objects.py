"""What captures follow of objects, classes and modules of layers."""

from __future__ import annotations

import functools
import threading
from abc import ABCMeta, get_cache_token
from collections import deque
from collections.abc import Collection, Iterable, Iterator
from types import FunctionType, MethodType, ModuleType
from typing import Any

from staticgraph.compiler.core.refusals import refuse
from staticgraph.compiler.core.whose_code import is_library, is_own
from staticgraph.tracing.code import named
from staticgraph.tracing.guards import Read
from staticgraph.tracing.inspection import (
    DESCRIPTORS,
    MAKING,
    OF_CLASSES,
    SPECIAL,
    file_of,
    file_of_module,
    has_parts,
    names_of_class,
    slots_of,
)  # fmt: skip
from staticgraph.tracing.library_states import getter_of, is_fixed, of_bytes, of_subclasses
from staticgraph.tracing.modules import TABLES

MOST = 400
"""Objects of libraries of which all attributes are compared."""
_METHODS_OF_LAYERS = ("__call__", "forward")
_ANNOUNCED = ("__name__", "__qualname__", "__doc__", "__annotations__")
"""What functions and classes have beside their tables."""


class Objects:
    """What is found of objects; `Surroundings` follows everything else.

    Attributes:
        cached: where cached properties and functions keep what they computed.
        tables: those of modules of layers.
        opaque: names of objects of other languages, by identity: nothing tells their state.
        stored: reads of what some code sets and is not there: no call need look at it.
    """

    reads: list[Read]
    stored: list[Read]
    on_tensors: bool
    cached: set[tuple[int, object]]
    tables: set[int]
    opaque: dict[int, str]
    _names: dict[str, str]
    _stores: set[str]
    _reflects: bool
    _catches: bool
    _classes: set[tuple[type, bool]]
    _layers: set[type]
    _handed: dict[int, object]
    _own: tuple[object, ...]

    def _value(self, value: Any, name: str, place: str) -> None:
        raise NotImplementedError

    def _of_library(self, value: object, name: str, place: str) -> None:
        raise NotImplementedError

    def _read(self, kind: str, owner: Any, key: Any, value: Any, name: str, place: str) -> None:
        self.reads.append(Read(kind, owner, key, value, name, place))

    def _item(self, owner: Any, key: Any, name: str, place: str) -> None:
        """What a table holds, and what that holds."""
        value = owner[key]
        self._read("item", owner, key, value, name, place)
        self._value(value, name, place)

    def _announced(self, value: Any, name: str) -> None:
        """What a function or class says of itself, where some code asks for it."""
        for key in _ANNOUNCED:
            if key in self._names:
                found = getattr(value, key, None)
                at = self._names[key]
                self._read("attribute", value, key, found, f"{name}.{key}", at)
                self._value(found, f"{name}.{key}", at)

    def _class(self, kind: type, name: str, place: str, makes: bool = False) -> None:
        """What the classes of the user's have that some code names, and their operators.

        `makes`: whether code has the class itself, of which it may make objects.
        """
        if (kind, makes) in self._classes:
            return
        self._classes.add((kind, makes))
        if _is_protocol(kind):  # isinstance looks for all that it has
            self._catches = True
            for key in vars(kind):
                self._names.setdefault(key, place)
        if makes:
            self._announced(kind, name)
            if "__subclasses__" in self._names:
                self._read("state", kind, of_subclasses, of_subclasses(kind), name, place)
            if isinstance(kind, ABCMeta):  # which classes belong to it
                self.cached.add((id(kind), id(_registered)))
                own = f"the classes that belong to {name}"
                self._read("state", kind, _registered, get_cache_token(), own, place)
        if type(kind) is not type and not is_library(file_of(type(kind))):
            self._class(type(kind), f"the class of {name}", place)
        order = [one for one in kind.__mro__ if not is_library(file_of(one))]
        if order:
            self._read("order", kind, None, kind.__mro__, f"the bases of {kind.__name__}", place)
        bases = [one for one in kind.__mro__ if is_library(file_of(one))]
        for place_of, one in enumerate(order):
            table = vars(one)
            self._lacks(table, one.__name__, place)
            missing = SPECIAL.difference(table)
            own = f"the special methods of {one.__name__}"
            self._read("disjoint", table, None, missing, own, place)
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
                own = f"{one.__name__}.{key}"
                self.reads.append(Read("item", table, key, table[key], own, at, one))
                self._value(table[key], own, at)

    def _object(self, value: object, name: str, place: str) -> None:
        """The attributes of an object that some code names."""
        kind: Any = type(value)
        table = getattr(value, "__dict__", None)
        of_library = is_library(file_of(kind))
        if isinstance(value, threading.local):  # its table is another in each thread
            for key in self._names.keys() & vars(value).keys():
                self._slot(value, key, f"{name}.{key}", self._names[key])
            self._class(kind, name, place)
            return
        if of_library and (get := getter_of(kind)) is not None:
            self._read("state", value, get, get(value), name, place)
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
            every = every or self._is_handed(value, [*table.values()], name, place)
            every = every and not _is_captured(kind)
            every_now = every or _is_read_by_own(kind)
            named = {*self._names, "_f", "_own"} if _is_captured(kind) else self._names.keys()
            keys = table.keys() if every_now else named & table.keys()
            if every:
                self._read("keys", table, None, [*table], f"the attributes of {name}", place)
            for key in [*keys]:
                self._item(table, key, f"{name}.{key}", self._names.get(key, place))
            self._over(kind, keys, name, place)
            if not every:
                self._lacks(table, name, place)
            self._of_class(kind, table, name)
        slots = slots_of(kind)
        found = [getattr(value, key, None) for key in slots]
        every = self._reflects or self._is_handed(value, found, name, place)
        for key in slots:
            if every or key in self._names:
                self._slot(value, key, f"{name}.{key}", self._names.get(key, place))
        if of_library and not isinstance(table, dict) and not slots and not is_fixed(kind):
            self.opaque[id(value)] = name

    def _put_on(self, tensor: Any, name: str, place: str) -> None:
        """What the user has put on a tensor, and what is asked for that may not be there."""
        kind: Any = type(tensor)
        own = self._names.keys() - names_of_class(kind)
        asks = self._catches or self._reflects or hasattr(kind, "__getattr__")
        if not (asks or self._stores & own or any(hasattr(tensor, key) for key in own)):
            return  # without a dict of its own, if nobody has asked for that
        table = getattr(tensor, "__dict__", None)
        if table is None:
            return
        what = f"the attributes of {name}"
        self._read("attribute", tensor, "__dict__", table, what, place)
        if self._reflects:
            self._read("keys", table, None, [*table], what, place)
        for key in [*table] if self._reflects else own & table.keys():
            self._item(table, key, f"{name}.{key}", self._names.get(key, place))
        self._lacks(table, name, place)

    def _over(self, kind: Any, keys: Iterable[str], name: str, place: str) -> None:
        """That no class has what would come before these attributes of an object: a property."""
        for one in kind.__mro__:
            missing = frozenset(keys).difference(vars(one))
            if missing and not is_library(file_of(one)):
                own = f"what {one.__name__} has of the attributes of {name}"
                self._read("disjoint", vars(one), None, missing, own, place)

    def _is_handed(self, value: object, parts: list[Any], name: str, place: str) -> bool:
        """Whether code of a library has it, which may read all of it, and of its parts."""
        if id(value) not in self._handed:
            return False
        for one in _within(parts):
            if has_parts(one) and is_library(file_of(type(one))):
                self._handed.setdefault(id(one), one)
        if len(self._handed) > MOST:
            self._handed.clear()  # so that the next trace is refused as well
            what = f"hands {name} to code of a library, which has more than {MOST} parts"
            refuse(what, "do it outside, and pass what comes out as an argument", place)
        return True

    def _every(self, table: dict[str, Any], name: str, place: str) -> None:
        """All that a Python module has: functions and classes are followed where they are used."""
        self._read("keys", table, None, [*table], f"the attributes of {name}", place)
        for key in [one for one in table if not one.startswith("__")]:
            if isinstance(table[key], FunctionType | type | ModuleType):
                self._read("item", table, key, table[key], f"{name}.{key}", place)
            else:
                self._item(table, key, f"{name}.{key}", self._names.get(key, place))

    def _lacks(self, table: Any, name: str, place: str) -> None:
        """What is named and not there, where code may ask for it, or catch the error and go on."""
        if self._catches or self._reflects:
            missing = frozenset(self._names.keys() - table.keys())
            self._read("disjoint", table, None, missing, f"the attributes of {name}", place)
            return
        for key in self._stores - table.keys():
            at = self._names[key]
            self.stored.append(Read("absent", table, key, None, f"{name}.{key}", at))

    def _groups(self, groups: list[Any], name: str, place: str) -> None:
        """Which parameters an optimizer has: it reads its other settings at each step."""
        self._read("each", groups, None, [*groups], name, place)
        for i, one in enumerate(groups):
            own = f"{name}[{i}]['params']"
            self._read("item", one, "params", one["params"], own, place)
            self._read("each", one["params"], None, [*one["params"]], own, place)

    def _reference(self, value: Any, name: str, place: str) -> None:
        """What a weak reference leads to, which is not held by what is read of it."""
        target = value()
        self._read("alive", value, None, target is not None, f"the object of {name}", place)
        if isinstance(target, MethodType):  # of a WeakMethod
            self._value(target.__func__, name, place)
            target = target.__self__
        table = getattr(target, "__dict__", None)
        if type(table) is not dict or is_library(file_of(type(target))):
            self._value(target, name, place)
            return
        self._class(type(target), name, place)
        every = self._reflects or id(value) in self._handed
        for key in [*table] if every else self._names.keys() & table.keys():
            self._item(table, key, f"{name}.{key}", self._names.get(key, place))
        self._lacks(table, name, place)
        self._of_class(type(target), table, name)

    def _of_class(self, kind: Any, table: dict[str, Any], name: str) -> None:
        """What an object has of its class, until it gets one of its own."""
        for key in self._names.keys() - table.keys():
            if any(key in vars(one) for one in kind.__mro__):
                if isinstance(getattr(kind, key, None), functools.cached_property):
                    self.cached.add((id(table), key))
                self._read("absent", table, key, None, f"{name}.{key}", self._names[key])

    def _error(self, error: BaseException, name: str, place: str) -> None:
        self._slot(error, "args", f"{name}.args", place)
        self._object(error, name, place)

    def _bytes(self, value: Any, name: str, place: str) -> None:
        try:
            self._read("text", value, None, of_bytes(value), name, place)
        except (BufferError, ValueError):
            self.opaque[id(value)] = name

    def _slot(self, value: object, key: str, name: str, place: str) -> None:
        try:
            found = getattr(value, key)
        except AttributeError:
            found = Read("unset", value, key, None, name, place)
            if self._catches or self._reflects:
                self.reads.append(found)
            elif key in self._stores:
                self.stored.append(found)
            return
        self._read("attribute", value, key, found, name, place)
        self._value(found, name, place)

    def _children(self, module: Any, name: str, place: str) -> None:
        """The attributes of a module and of its parts."""
        for path, part in module.named_modules():
            own = f"{name}.{path}" if path else name
            kind = type(part)
            user = not is_own(file_of(kind))
            self._read("class", part, None, kind, f"the class of {own}", place)
            self._read("attribute", part, "__dict__", vars(part), f"the attributes of {own}", place)
            for key, value in vars(part).items():
                if key in TABLES:
                    self.tables.add(id(value))
                    self._read("item", vars(part), key, value, f"{own}.{key}", place)
                    if all(one is not module for one in self._own):
                        self._value(value, own, place)
                    elif key == "_modules":
                        self._parts(value, own, place)
                    continue
                named = self._reflects or key in self._names or key in ("training", "forward")
                if (user or key.startswith("_")) and not named:
                    continue
                self._item(vars(part), key, f"{own}.{key}", self._names.get(key, place))
            if self._reflects or "__dict__" in self._names:
                what = f"the attributes of {own}"
                self._read("keys", vars(part), None, [*vars(part)], what, place)
            self._lacks(vars(part), own, place)
            if user:
                self._over(kind, self._names.keys() & vars(part).keys(), own, place)
                for key in self._names.keys() - vars(part).keys() - {"forward"}:
                    if any(key in vars(one) and not is_own(file_of(one)) for one in kind.__mro__):
                        at = self._names[key]
                        self._read("absent", vars(part), key, None, f"{own}.{key}", at)
            for table in ("_forward_hooks", "_forward_pre_hooks"):
                self._value(getattr(part, table), f"{own}.{table}", place)
            if "forward" not in vars(part):
                self._read("absent", vars(part), "forward", None, f"{own}.forward", place)
            self._layer(kind, place)
            self._class(kind, own, place)

    def _parts(self, table: dict[str, Any], name: str, place: str) -> None:
        """Which parts a module has: what these have is found with `_children`."""
        if table:
            self._read("keys", table, None, [*table], f"the parts of {name}", place)
            self._read("values", table, None, [*table.values()], f"the parts of {name}", place)
        else:
            self._read("length", table, None, 0, f"the parts of {name}", place)

    def _layer(self, kind: type, place: str) -> None:
        """The methods by which a layer of an engine's is called, and what they name: functions of
        the engine, for which others may be put.
        """
        for one in kind.__mro__:
            if one in self._layers or not is_own(file_of(one)):
                continue
            self._layers.add(one)
            for key in _METHODS_OF_LAYERS:
                if key in vars(one):
                    getattr(one, key)  # some are written when they are asked for
                    self._item(vars(one), key, f"{one.__name__}.{key}", place)
                    self._named_by_own(vars(one)[key], place)

    def _named_by_own(self, function: Any, place: str) -> None:
        """What the code of an engine's own method names of the engine."""
        if not isinstance(function, FunctionType) or not is_own(function.__code__.co_filename):
            return
        here = named(function.__code__)
        for name in here.globals.keys() & function.__globals__.keys():
            value = function.__globals__[name]
            if isinstance(value, FunctionType):
                self._item(function.__globals__, name, name, place)
            elif isinstance(value, ModuleType) and is_own(str(file_of_module(value))):
                for key in here.attributes.keys() & vars(value).keys():
                    self._read("item", vars(value), key, vars(value)[key], f"{name}.{key}", place)
                    self._of_library(vars(value)[key], key, place)


def _is_protocol(kind: type) -> bool:
    """Whether a class is a protocol, without asking what it answers for names it has not."""
    return any(vars(one).get("_is_protocol", False) for one in kind.__mro__)


def _is_read_by_own(kind: Any) -> bool:
    """Whether code of the engines reads what objects of a class have, and leaves it as it is."""
    changed = ("step", "manual_seed", "next")  # optimizers, generators, streams of keys
    return is_own(file_of(kind)) and not any(hasattr(kind, one) for one in changed)


def _is_captured(kind: Any) -> bool:
    """Whether objects of a class are captured functions.

    What they keep of their calls leads to all that those read, and is nobody's to read: of a
    function that reads any attribute, too, only what they were made of is followed.
    """
    return is_own(file_of(kind)) and hasattr(kind, "made_by")


def _within(values: Iterable[object]) -> Iterator[object]:
    """Values, and what is in those that are containers."""
    for one in values:
        if isinstance(one, dict):
            yield from _within(one.values())
        elif isinstance(one, list | tuple | set | frozenset | deque):
            yield from _within(one)
        else:
            yield one


def _registered(kind: type) -> object:
    """What changes when a class says that another one belongs to it."""
    return get_cache_token()
