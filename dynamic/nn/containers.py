"""Containers of modules: in a row, in a list, in a dict."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from typing import Any

from staticgraph.compiler.core.errors import OptionError, OutOfRangeError
from staticgraph.dynamic.core.errors import ArgumentError
from staticgraph.dynamic.nn.module import Module, indented


def position(index: object, length: int) -> int:
    """An index into a list; IndexError if it is outside, TypeError if it is no integer."""
    if not hasattr(index, "__index__"):
        kind = type(index).__name__
        raise ArgumentError(f"'{kind}' object cannot be interpreted as an integer")
    place: int = index.__index__()
    if not -length <= place < length:
        raise OutOfRangeError(f"index {place} is out of range")
    return place


class Numbered(Module):
    """Children that are named by their positions; abstract."""

    def _key(self, index: object) -> str:
        """The name of the child at a position; IndexError if there is none."""
        return list(self._modules)[position(index, len(self))]

    def _renumber(self, modules: Iterable[object]) -> None:
        numbered = {str(i): module for i, module in enumerate(modules)}
        self._modules.clear()  # captures of it know the table
        self._modules.update(numbered)

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._modules.values())

    def __setitem__(self, index: int, module: object) -> None:
        setattr(self, self._key(index), module)

    def __delitem__(self, index: object) -> None:
        doomed = list(self._modules)[index] if isinstance(index, slice) else [self._key(index)]
        self._renumber([module for key, module in self._modules.items() if key not in doomed])

    def append(self, module: Any) -> Any:
        """Add a module at the end."""
        self.add_module(str(len(self)), module)
        return self

    def insert(self, index: int, module: object) -> Any:
        """Add a module before a position."""
        modules = list(self._modules.values())
        modules.insert(index, module)
        self._renumber(modules)
        return self

    def extend(self, modules: object) -> Any:
        """Add modules at the end; TypeError if they cannot be iterated over."""
        if not isinstance(modules, Iterable):
            raise ArgumentError(
                f"{self._get_name()}.extend should be called with an iterable, but got "
                f"{type(modules).__name__}"
            )
        for module in list(modules):
            self.append(module)
        return self

    def pop(self, index: object) -> Any:
        """Remove the module at a position and return it."""
        module = self._modules[self._key(index)]
        del self[index]
        return module


class Sequential(Numbered):
    """Modules of which each is called with what the one before returned.

    `Sequential(a, b)` names them 0, 1, ...; an OrderedDict gives them its names.

    Example:
        >>> nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1))(dynamic.ones(4, 2)).shape
        torch.Size([4, 1])
    """

    def __init__(self, *modules: Any) -> None:
        super().__init__()
        single = modules[0] if len(modules) == 1 else None
        named = single.items() if isinstance(single, OrderedDict) else enumerate(modules)
        for name, module in named:
            self.add_module(str(name), module)

    def forward(self, input: Any) -> Any:
        """The output of the last module."""
        for module in self._modules.values():
            input = module(input)
        return input

    def __getitem__(self, index: object) -> Any:
        if isinstance(index, slice):
            return type(self)(OrderedDict(list(self._modules.items())[index]))
        return self._modules[self._key(index)]

    def insert(self, index: int, module: object) -> Any:
        """Add a module before a position; IndexError if that is outside."""
        if not -len(self) <= index <= len(self):
            raise OutOfRangeError(f"Index out of range: {index}")
        return super().insert(index, module)

    def __add__(self, other: object) -> Sequential:
        return Sequential(*self)._join(other)

    def __iadd__(self, other: object) -> Sequential:
        return self._join(other)

    def _join(self, other: object) -> Sequential:
        if not isinstance(other, Sequential):
            raise OptionError(
                f"add operator supports only objects of Sequential class, but {type(other)} "
                "is given."
            )
        result: Sequential = self.extend(other)
        return result

    def __mul__(self, times: object) -> Sequential:
        if not isinstance(times, int):
            raise ArgumentError(
                f"unsupported operand type(s) for *: {type(self)} and {type(times)}"
            )
        if times <= 0:
            raise OptionError(f"Non-positive multiplication factor {times} for {type(self)}")
        return Sequential(*(list(self) * times))

    __rmul__ = __mul__


class ModuleList(Numbered):
    """Modules in a list, which is not called itself.

    Example:
        >>> layers = nn.ModuleList([nn.Linear(2, 2) for _ in range(3)])
        >>> len(list(layers.parameters()))
        6
    """

    def __init__(self, modules: Iterable[object] | None = None) -> None:
        super().__init__()
        self.extend(() if modules is None else modules)

    def __getitem__(self, index: object) -> Any:
        if isinstance(index, slice):
            return type(self)(list(self._modules.values())[index])
        return self._modules[self._key(index)]

    def __add__(self, other: Iterable[object]) -> ModuleList:
        return ModuleList([*self, *other])

    def __iadd__(self, modules: Iterable[object]) -> ModuleList:
        result: ModuleList = self.extend(modules)
        return result

    def _child_lines(self) -> Iterator[str]:
        first = 0
        for text, group in groupby(map(repr, self)):
            count = len(list(group))
            last = first + count - 1
            shown = f"({first}): {text}" if count == 1 else f"({first}-{last}): {count} x {text}"
            yield indented(shown)
            first += count


class ModuleDict(Module):
    """Modules in a dict, in the order in which they were added; it is not called itself.

    Example:
        >>> layers = nn.ModuleDict({"first": nn.Linear(2, 3)})
        >>> layers["first"](dynamic.ones(1, 2)).shape
        torch.Size([1, 3])
    """

    def __init__(self, modules: object = None) -> None:
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key: str) -> Any:
        return self._modules[key]

    def __setitem__(self, key: str, module: Any) -> None:
        self.add_module(key, module)

    def __delitem__(self, key: str) -> None:
        del self._modules[key]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __contains__(self, key: object) -> bool:
        return key in self._modules

    def clear(self) -> None:
        """Remove all modules."""
        self._modules.clear()

    def pop(self, key: str) -> Any:
        """Remove a module and return it."""
        return self._modules.pop(key)

    def keys(self) -> Any:
        """The names."""
        return self._modules.keys()

    def items(self) -> Any:
        """The names with the modules."""
        return self._modules.items()

    def values(self) -> Any:
        """The modules."""
        return self._modules.values()

    def update(self, modules: object) -> None:
        """Add the modules of a mapping, or of pairs of a name and a module."""
        for key, module in pairs("ModuleDict", modules):
            self[key] = module


def pairs(owner: str, entries: object) -> list[tuple[str, Any]]:
    """The pairs of a mapping or of an iterable of pairs; PyTorch's errors for anything else."""
    if isinstance(entries, Mapping | ModuleDict) or hasattr(entries, "items"):
        return list(entries.items())
    if not isinstance(entries, Iterable):
        raise ArgumentError(
            f"{owner.replace('Parameter', 'Parameters')}.update should be called with an iterable "
            f"of key/value pairs, but got {type(entries).__name__}"
        )
    listed = list(entries)
    for i, entry in enumerate(listed):
        if not isinstance(entry, Iterable):
            raise ArgumentError(
                f"{owner} update sequence element #{i} should be Iterable; is{type(entry).__name__}"
            )
        if len(list(entry)) != 2:
            raise OptionError(
                f"{owner} update sequence element #{i} has length {len(list(entry))}; 2 is required"
            )
    return [(key, value) for key, value in listed]
