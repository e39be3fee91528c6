"""Guards: what a trace has read beside its arguments, checked at each call.

A `Read` says where something was read, and what was there. The reads of a trace become one Python
function of comparisons by identity, of which each takes some 15 ns: the generated source has
numbers for names, never a text of the user's.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from operator import is_
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

_MISSING: Any = object()
SMALL = 4096
"""Bytes: arrays up to this size are compared as bytes, larger ones in place."""

_FORMS = {
    "item": "o{i}[k{i}] is v{i}",
    "absent": "k{i} not in o{i}",
    "cell": "o{i}.cell_contents is v{i}",
    "attribute": "getattr(o{i}, k{i}) is v{i}",
    "disjoint": "o{i}.keys().isdisjoint(v{i})",
    "unset": "not hasattr(o{i}, k{i})",
    "misses": "o{i}.cache_info().misses >= v{i}",
    "class": "o{i}.__class__ is v{i}",
    "code": "o{i}.__code__ is v{i}",
    "length": "len(o{i}) == v{i}",
    "keys": "[*o{i}] == v{i}",
    "members": "o{i} == v{i}",
    "each": "len(o{i}) == len(v{i}) and all(map(is_, o{i}, v{i}))",
    "values": "all(map(is_, o{i}.values(), v{i}))",
    "bytes": "o{i}.tobytes() == v{i}",
    "pairs": "2 * len(o{i}) == len(v{i}) and all(map(is_, chain(o{i}.items()), v{i}))",
    "text": "bytes(o{i}) == v{i}",
    "memory": "same(o{i}, v{i})",
    "shape": "o{i}.shape == v{i}",
    "dtype": "o{i}.dtype == v{i}",
    "context": "o{i}.get(None) is v{i}",
    "unbound": "unbound(o{i})",
}
"""Per kind of read, whether `o`, read by the key `k`, still is `v`."""


@dataclass(frozen=True, slots=True)
class Read:
    """Something that a trace has read.

    Attributes:
        kind: how it is read: a key of the table of comparisons.
        owner: what it was read of.
        key: the name or index.
        value: what it was.
        name: what it is called: `global SCALE`, `config.rate`.
        place: `file:line` of the code that names it.
    """

    kind: str
    owner: Any
    key: Any
    value: Any
    name: str
    place: str

    def now(self) -> Any:
        """What it is now, or what stands for nothing."""
        owner = self.owner
        try:
            match self.kind:
                case "item":
                    return owner[self.key]
                case "absent":
                    return owner.get(self.key, _MISSING)
                case "cell" | "unbound":
                    return owner.cell_contents
                case "attribute":
                    return getattr(owner, self.key)
                case "unset":
                    return getattr(owner, self.key, _MISSING)
                case "disjoint":
                    return [key for key in self.value if key in owner]
                case "misses":
                    return owner.cache_info().misses
                case "class":
                    return owner.__class__
                case "code":
                    return owner.__code__
                case "length":
                    return len(owner)
                case "keys" | "each":
                    return [*owner]
                case "members":
                    return set(owner)
                case "pairs":
                    return [*chain.from_iterable(owner.items())]
                case "values":
                    return [*owner.values()]
                case "bytes" | "memory":
                    return owner.tobytes() if self.kind == "bytes" else owner.copy()
                case "text":
                    return bytes(owner)
                case "shape" | "dtype":
                    return getattr(owner, self.kind)
                case _:
                    return owner.get(None)
        except (AttributeError, LookupError, TypeError, ValueError):
            return _MISSING

    def holds(self, now: Any) -> bool:
        """Whether that is what it was."""
        if self.kind in ("absent", "unbound", "unset"):
            return now is _MISSING
        if self.kind == "disjoint":
            return not now
        if self.kind == "misses":
            return bool(now >= self.value)
        if now is self.value:
            return True
        if self.kind in ("each", "values", "pairs"):
            if now is _MISSING or len(now) != len(self.value):
                return False
            return all(map(_alike, now, self.value))
        if self.kind == "memory":
            return now is not _MISSING and _same_memory(now, self.value)
        if self.kind in ("keys", "members", "shape", "dtype", "length"):
            return bool(now == self.value)
        return _alike(now, self.value)

    def put_back(self) -> None:
        """Make it what it was, where that can be done."""
        owner, value = self.owner, self.value
        match self.kind:
            case "item":
                owner[self.key] = value
            case "absent":
                owner.pop(self.key, None)
            case "unset":
                delattr(owner, self.key)
            case "disjoint":
                for key in value & owner.keys():
                    del owner[key]
            case "cell":
                owner.cell_contents = value
            case "unbound":
                del owner.cell_contents
            case "attribute":
                setattr(owner, self.key, value)
            case "memory":
                owner[...] = value
            case "bytes":
                owner[...] = np.frombuffer(value, owner.dtype).reshape(owner.shape)
            case "members":
                owner.clear()
                owner.update(value)
            case "pairs":
                owner.clear()
                owner.update(zip(value[::2], value[1::2], strict=True))
            case "keys":
                for key in [key for key in owner if key not in value]:
                    del owner[key]
            case "length" if isinstance(owner, list):
                del owner[value:]
            case "length":
                owner.clear()
            case "each" if not isinstance(owner, tuple):
                owner.clear()
                owner.extend(value)


def _alike(now: Any, before: Any) -> bool:
    """Whether two values are one, or numbers or texts that nothing can tell apart."""
    if now is before:
        return True
    if type(now) is not type(before):
        return False
    if isinstance(now, tuple) and type(now) is tuple:
        return len(now) == len(before) and all(map(_alike, now, before))
    if isinstance(now, str | bytes | bool | int | np.dtype):
        return bool(now == before)
    if isinstance(now, float | complex | np.generic):
        return repr(now) == repr(before)
    return False


def _same_memory(now: Any, before: Any) -> bool:
    """Whether the bytes of two arrays are equal, so that nan equals itself."""
    if now.shape != before.shape or now.dtype != before.dtype:
        return False
    if now.dtype.hasobject:
        return all(map(is_, now.flat, before.flat))
    if now.dtype.kind in "fc" and now.flags.c_contiguous:
        words = f"u{min(now.itemsize, 8)}"
        return bool(np.array_equal(now.view(words), before.view(words)))
    return bool(np.array_equal(now, before, equal_nan=now.dtype.kind in "fc"))


def _unbound(cell: Any) -> bool:
    try:
        _ = cell.cell_contents
    except ValueError:
        return True
    return False


def reads_of_containers(value: Any, name: str) -> list[Read]:
    """The reads of what the lists and dicts in a value hold."""
    found: list[Read] = []
    if isinstance(value, dict):
        found.append(Read("pairs", value, None, [*chain.from_iterable(value.items())], name, "?"))
        value = [*value.values()]
    elif isinstance(value, list):
        found.append(Read("each", value, None, [*value], name, "?"))
    if isinstance(value, list | tuple):
        for one in value:
            found += reads_of_containers(one, name)
    return found


def reads_of_array(array: Any, name: str, place: str) -> list[Read]:
    """The reads of the contents of an array."""
    found = [
        Read("shape", array, None, array.shape, name, place),
        Read("dtype", array, None, array.dtype, name, place),
    ]
    if array.nbytes <= SMALL and not array.dtype.hasobject:
        return [*found, Read("bytes", array, None, array.tobytes(), name, place)]
    return [*found, Read("memory", array, None, array.copy(), name, place)]


@functools.lru_cache(1024)
def _maker(kinds: tuple[str, ...]) -> Callable[..., Any]:
    """The function from owners, keys and values to what checks them."""
    names = [f"{letter}{i}" for i in range(len(kinds)) for letter in "okv"]
    tests = " and ".join([f"({_FORMS[kind].format(i=i)})" for i, kind in enumerate(kinds)])
    lines = [
        "def make(is_, chain, same, unbound, failing, parts):",
        f"    [{', '.join(names)}] = parts",
        "    def check():",
        "        try:",
        f"            return {tests}",
        "        except failing:",
        "            return False",
        "    return check",
    ]
    namespace: dict[str, Any] = {}
    exec("\n".join(lines), namespace)
    made: Callable[..., Any] = namespace["make"]
    return made


_FAILING = (AttributeError, LookupError, TypeError, ValueError)
_PER_FUNCTION = 64


def _checking(reads: Sequence[Read]) -> Callable[[], bool]:
    parts = [part for one in reads for part in (one.owner, one.key, one.value)]
    make = _maker(tuple([one.kind for one in reads]))
    made: Callable[[], bool] = make(
        is_, chain.from_iterable, _same_memory, _unbound, _FAILING, parts
    )
    return made


class Guards:
    """The reads of a trace.

    Attributes:
        reads: what was read.
        check: `check()`: whether nothing changed, as fast as it can be told.
    """

    __slots__ = ("check", "reads")

    def __init__(self, reads: Sequence[Read]) -> None:
        self.reads = list(reads)
        self.check = self._made()

    def _made(self) -> Callable[[], bool]:
        groups = [
            _checking(self.reads[start : start + _PER_FUNCTION])
            for start in range(0, len(self.reads), _PER_FUNCTION)
        ]
        if len(groups) == 1:
            return groups[0]
        return lambda: all(check() for check in groups)

    def hold(self) -> bool:
        """Whether nothing that could be told apart has changed.

        Equal numbers and texts that are other objects are taken over, so that `check` knows them.
        """
        if self.check():
            return True
        renewed = []
        for one in self.reads:
            now = one.now()
            if not one.holds(now):
                return False
            plain = one.kind in ("item", "cell", "attribute", "context", "each", "values")
            renewed.append(replace(one, value=now) if plain else one)
        self.reads = renewed
        self.check = self._made()
        return True

    def changes(self) -> list[tuple[Read, Any]]:
        """The reads that are no longer what they were, and what they are."""
        found = [(one, one.now()) for one in self.reads]
        return [(one, now) for one, now in found if not one.holds(now)]


def shown(value: object) -> str:
    """A value for messages."""
    if value is _MISSING:
        return "nothing"
    if isinstance(value, FunctionType):
        value = value.__code__
    if isinstance(value, CodeType):
        return f"that at {value.co_filename}:{value.co_firstlineno}"
    if isinstance(value, ModuleType):
        return f"the module {value.__name__}"
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
