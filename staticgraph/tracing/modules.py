"""Modules of an eager engine as arguments of traced functions: their tensors become operands.

A module is whatever has `parameters()`, `named_parameters()`, `buffers()` and `modules()`, can be
called, and keeps its tensors in tables `_parameters` and `_buffers` and its parts in `_modules`, as
PyTorch's do. Its tensors stay its own: each call reads them from the tables.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

from staticgraph.compiler.core import fork
from staticgraph.tracing.guards import Read

_METHODS = ("parameters", "named_parameters", "buffers", "named_modules", "__call__")
TABLES = ("_parameters", "_buffers", "_modules", "_forward_hooks", "_forward_pre_hooks")
"""What a module keeps its tensors, parts and hooks in."""
tracing = threading.RLock()
"""While a function is traced places of arrays hold expressions: one thread at a time."""
fork.hold(fork.Rank.TRACING, tracing)


def is_module(value: object) -> bool:
    """Whether a value is a module, by what it can do."""
    kind = type(value)
    return hasattr(kind, "named_parameters") and all(hasattr(kind, one) for one in _METHODS)


def _item(table: dict[str, Any], name: str) -> Read:
    return Read("item", table, name, table.get(name), name, "?")


def _keys(table: dict[str, Any], name: str) -> Read:
    """How many there are, and in which order."""
    if len(table) > 1:
        return Read("keys", table, None, [*table], name, "?")
    return Read("length", table, None, len(table), name, "?")


class ModuleTensors:
    """Where the tensors of some modules are.

    Attributes:
        tables: per tensor all (table, name) that hold it: several where weights are tied.
        names: per tensor its dotted name.
        parts: the modules, and those that they are made of.
        made_for: the `state` for which all this holds.
    """

    def __init__(self, modules: Sequence[Any]) -> None:
        self.tables: list[list[tuple[dict[str, Any], str]]] = []
        self.names: list[str] = []
        self.parts = [part for module in modules for _, part in module.named_modules()]
        self._slots: list[tuple[dict[str, Any], str]] = []
        places: dict[int, int] = {}
        for module in modules:
            for prefix, part in module.named_modules():
                for table in (part._parameters, part._buffers):
                    for name, tensor in table.items():
                        self._slots.append((table, name))
                        if tensor is not None:
                            self._add(places, table, name, tensor, prefix)
        self._tables = [(vars(part), key, vars(part)[key]) for part in self.parts for key in TABLES]
        self._first = [places[0] for places in self.tables]
        self._tied = [(*one, *places[0]) for places in self.tables for one in places[1:]]
        self.made_for = self.state()

    def _add(
        self, places: dict[int, int], table: dict[str, Any], name: str, tensor: object, prefix: str
    ) -> None:
        place = places.setdefault(id(tensor), len(self.tables))
        if place == len(self.tables):
            self.tables.append([])
            self.names.append(f"{prefix}.{name}" if prefix else name)
        self.tables[place].append((table, name))

    def current(self) -> list[Any]:
        """The tensors as they are now."""
        return [table.get(name) for table, name in self._first]

    def state(self) -> list[Any]:
        """What a trace depends on besides the tensors: the parts, their modes, what is tied."""
        found: list[Any] = [table.get(name) is None for table, name in self._slots]
        found += [table.get(name) is first.get(other) for table, name, first, other in self._tied]
        found += [table.get(key) is own for table, key, own in self._tables]
        for part in self.parts:
            found += part._modules.values()
            found += (
                part.training, tuple(part._parameters), tuple(part._buffers),
                len(part._forward_hooks), len(part._forward_pre_hooks),
            )  # fmt: skip
        return found

    def reads(self) -> list[Read]:
        """What makes tensors and `state` be as they are now, each compared by identity."""
        found = [_item(table, name) for table, name in self._slots]
        for part in self.parts:
            found += [_item(part._modules, name) for name in part._modules]
            found.append(_item(vars(part), "training"))
            for key in TABLES:
                found += [_item(vars(part), key), _keys(getattr(part, key), key)]
        return found
