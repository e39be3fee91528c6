"""What captures follow of tuples, lists, dicts, sets and arrays, and of what these hold."""

from __future__ import annotations

import datetime
import sys
from contextvars import ContextVar
from types import MappingProxyType, ModuleType
from typing import Any

import numpy as np

from staticgraph.tracing.callables import PLAIN, Callables
from staticgraph.tracing.guards import reads_of_array
from staticgraph.tracing.inspection import has_memory
from staticgraph.tracing.library_states import (
    OF_GENERATORS,
    is_suspended,
    of_bits,
    of_decimals,
    of_flags,
    of_generator,
)
from staticgraph.tracing.live import LiveArrays

HOW_ARRAYS_FAIL: ContextVar[Any] = np._core.umath._extobj_contextvar  # type: ignore[attr-defined]
FEW = 8
"""Items of lists and dicts that are compared one by one."""


class Containers(Callables):
    """What is found of containers; `Surroundings` follows everything else."""

    live: LiveArrays

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

    def _dict(self, value: Any, name: str, place: str) -> None:
        if value is sys.modules:
            return self._imported(name, place)
        for key in value:
            if type(key) not in PLAIN:
                self._value(key, f"a key of {name}", place)
        if not value:
            self._read("length", value, None, 0, f"len({name})", place)
        else:
            self._read("keys", value, None, [*value], f"the keys of {name}", place)
        plain = all(type(key) in PLAIN for key in value)  # no hash of another is asked for
        if len(value) <= FEW and type(value) is dict and plain:
            for key in value:
                self._item(value, key, f"{name}[{key!r}]", place)
        elif value:
            self._read("values", value, None, [*value.values()], name, place)
            for key, one in value.items():
                self._value(one, f"{name}[{key!r}]", place)
        return None

    def _imported(self, name: str, place: str) -> None:
        """All modules: what a call imports is none of its effects."""
        for kind, found in (("keys", [*sys.modules]), ("values", [*sys.modules.values()])):
            self.cached.add((id(sys.modules), id(None)))
            self._read(kind, sys.modules, None, found, name, place)
        for key, module in [*sys.modules.items()]:
            if isinstance(module, ModuleType):
                self._value(module, f"{name}[{key!r}]", place)

    def _view(self, value: Any, name: str, place: str) -> None:
        table = getattr(value, "mapping", None)
        if isinstance(table, MappingProxyType):
            self._dict(table, name, place)
        else:
            self._object(value, name, place)

    def _set(self, value: Any, name: str, place: str) -> None:
        if isinstance(value, set):
            self._read("members", value, None, [*value], name, place)
        for one in value:
            self._value(one, f"a member of {name}", place)

    def _array(self, value: Any, name: str, place: str) -> None:
        self.live.meet(value)
        self.reads += reads_of_array(value, name, place)
        self._context(HOW_ARRAYS_FAIL, "np.errstate", place)
        if not self._names.keys().isdisjoint(("flags", "setflags", "strides")):
            self._read("state", value, of_flags, of_flags(value), f"the layout of {name}", place)
        if value.dtype.hasobject:
            self._tuple(value.ravel().tolist(), name, place)

    def _context(self, value: Any, name: str, place: str) -> None:
        now = value.get(None)
        self._read("context", value, None, now, name, place)
        self._value(now, name, place)

    def _of_other_languages(self, value: Any, name: str, place: str) -> bool:
        """What memory has, and what the operators of numbers read."""
        if type(value).__module__ == "decimal" and not hasattr(value, "prec"):
            self._read("asked", None, of_decimals, of_decimals(), "the context of decimals", place)
        elif isinstance(value, datetime.datetime | datetime.time):
            self._value(value.tzinfo, f"{name}.tzinfo", place)
        elif has_memory(value):
            self._bytes(value, name, place)
        else:
            return False
        return True

    def _named_state(self, value: Any, name: str) -> None:
        """The state of a generator, where some code names it."""
        if isinstance(value, np.flatiter):
            self._value(value.base, name, "?")
        bits = getattr(value, "bit_generator", value)
        asked = [key for key in OF_GENERATORS if key in self._names]
        if asked and is_suspended(value):
            at = self._names[asked[0]]
            self._read("state", value, of_generator, of_generator(value), f"where {name} is", at)
        if "state" in self._names and hasattr(bits, "state"):
            self._read("state", bits, of_bits, of_bits(bits), f"{name}.state", self._names["state"])
