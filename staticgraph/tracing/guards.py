"""Guards: what a trace has read beside its arguments, checked at each call.

A `Read` says where something was read, and what was there.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import chain
from types import CodeType, FunctionType, MemberDescriptorType, ModuleType
from typing import Any

import numpy as np

from staticgraph.compiler.core.pytree import is_object, names_of, parts_of
from staticgraph.compiler.core.record import frozen
from staticgraph.compiler.core.refusals import forgetting_refusals
from staticgraph.tracing.checks import check_of, same_memory

_MISSING: Any = object()
_ABSENT = ("absent", "unbound", "unset")
"""Kinds of reads that found nothing."""
_PLAIN = frozenset(("item", "cell", "attribute", "context", "each", "keys", "values"))
"""Kinds of reads of which equal numbers and texts are taken over."""
SMALL = 4096
"""Bytes: arrays up to this size are compared as bytes, larger ones in place."""


@frozen
class Read:
    """Something that a trace has read.

    Attributes:
        kind: how it is read: a key of the table of comparisons.
        owner: what it was read of.
        key: the name or index.
        value: what it was.
        name: what it is called: `global SCALE`, `config.rate`.
        place: `file:line` of the code that names it.
        of: the class whose table the owner is.
    """

    kind: str
    owner: Any
    key: Any
    value: Any
    name: str
    place: str
    of: type | None = None

    def where(self) -> tuple[object, ...]:
        """What is read: equal for reads of the same."""
        key = self.key
        if self.kind == "disjoint":  # one asks for some names, another for others
            return self.kind, id(self.owner), self.value
        return self.kind, id(self.owner), key if isinstance(key, str | int) else id(key)

    def was(self) -> Any:
        """What it was, or what stands for nothing."""
        return _MISSING if self.kind in _ABSENT else self.value

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
                    return type(owner)
                case "order":
                    return owner.__mro__
                case "code":
                    return owner.__code__
                case "length":
                    return len(owner)
                case "keys" | "each" | "members":
                    return [*owner]
                case "pairs":
                    return [*chain.from_iterable(owner.items())]
                case "values":
                    return [*owner.values()]
                case "bytes" | "memory":
                    return owner.tobytes() if self.kind == "bytes" else owner.copy()
                case "text":
                    return bytes(memoryview(owner))
                case "state":
                    return self.key(owner)
                case "asked":
                    return self.key()
                case "alive":
                    return owner() is not None
                case "shape" | "dtype":
                    return getattr(owner, self.kind)
                case _:
                    return owner.get(None)
        except (AttributeError, LookupError, TypeError, ValueError):
            return _MISSING

    def holds(self, now: Any) -> bool:
        """Whether that is what it was."""
        if self.kind in _ABSENT:
            return now is _MISSING
        if self.kind == "disjoint":
            return not now
        if self.kind == "misses":
            return bool(now >= self.value)
        if now is self.value:
            return True
        if self.kind in ("each", "keys", "values", "pairs", "members"):
            if now is _MISSING or len(now) != len(self.value):
                return False
            return all(map(alike, now, self.value))
        if self.kind == "memory":
            return now is not _MISSING and same_memory(now, self.value)
        if self.kind in ("shape", "dtype", "length", "state", "asked"):
            return bool(now == self.value)
        return alike(now, self.value)

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
            case "text":
                memoryview(owner).cast("B")[:] = value
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


def alike(now: Any, before: Any) -> bool:
    """Whether two values are one, or numbers or texts that nothing can tell apart."""
    if now is before:
        return True
    if type(now) is not type(before):
        return False
    if isinstance(now, tuple) and type(now) is tuple:
        return len(now) == len(before) and all(map(alike, now, before))
    if type(now) in (str, bytes, bool, int) or isinstance(now, np.dtype):
        return bool(now == before)
    if type(now) in (float, complex) or type(now).__module__ == "numpy":
        return isinstance(now, float | complex | np.generic) and repr(now) == repr(before)
    return False  # what is of a class of the user's has attributes of its own


def older(before: Iterable[Read], after: Iterable[Read]) -> list[Read]:
    """The reads of both, those of before where both read the same."""
    found = {_place(one): one for one in after}
    found |= {_place(one): one for one in before}
    return [*found.values()]


def unless_only(every: Iterable[Read], some: Iterable[Read], of: Iterable[Read]) -> list[Read]:
    """The reads but for those, and of lists and dicts, that `every` has and `some` of it have not.

    How a list or dict is read depends on its size, which may have changed between the two. What an
    object has not is not read, so that its attributes are compared one by one.
    """
    tables = {id(one.value) for one in every if one.key == "__dict__"}
    whole = {id(one.owner) for one in every if isinstance(one.owner, list | deque | dict | set)}
    lost = whole - tables - {id(one.owner) for one in some}
    gone = {*map(_place, every)} - {*map(_place, some)}
    return [one for one in of if id(one.owner) not in lost and _place(one) not in gone]


def _place(read: Read) -> tuple[str, int, Any]:
    return read.kind, id(read.owner), read.value if read.kind == "disjoint" else read.key


def reads_of_containers(value: object, name: str) -> list[Read]:
    """The reads of what the lists, dicts and objects in a value hold."""
    found: list[Read] = []
    if isinstance(value, dict):
        found.append(Read("pairs", value, None, [*chain.from_iterable(value.items())], name, "?"))
        value = [*value.values()]
    elif isinstance(value, list):
        found.append(Read("each", value, None, [*value], name, "?"))
    elif is_object(value):
        table = getattr(value, "__dict__", None)
        if table is not None:
            pairs = [*chain.from_iterable(table.items())]
            found.append(Read("pairs", table, None, pairs, name, "?"))
        else:
            for key in names_of(value):
                now = getattr(value, key)
                found.append(Read("attribute", value, key, now, f"{name}.{key}", "?"))
        value = parts_of(value)
    if isinstance(value, list | tuple):
        for one in value:
            found += reads_of_containers(one, name)
    return found


MEMORY = "_array"
"""The slot in which a tensor has its array."""


def kind_of(tensor: object) -> tuple[type, np.dtype[Any], tuple[int, ...], tuple[int, ...]]:
    """The class, dtype and shape of a tensor, and how it lies in memory."""
    array = getattr(tensor, MEMORY)
    return type(tensor), array.dtype, array.shape, array.strides


def is_eager(tensor: object) -> bool:
    """Whether a tensor has an array of its own: what stands for one has none."""
    return type(getattr(type(tensor), MEMORY, None)) is MemberDescriptorType


def reads_of_kind(tensor: object, name: str, place: str) -> list[Read]:
    """The reads of dtype and shape of a tensor; none of what stands for one."""
    if not is_eager(tensor):
        return []
    return [
        Read("state", tensor, kind_of, kind_of(tensor), f"class, dtype and shape of {name}", place)
    ]


def reads_of_tensor(tensor: Any, is_operand: bool, name: str, place: str) -> list[Read]:
    """The reads of a tensor: of all that it holds, unless each call reads that as an operand."""
    if is_operand:
        return reads_of_kind(tensor, name, place)
    (array,) = type(tensor)._arrays([tensor])
    return reads_of_array(array, name, place)


def reads_of_array(array: Any, name: str, place: str) -> list[Read]:
    """The reads of the contents of an array."""
    found = [
        Read("shape", array, None, array.shape, name, place),
        Read("dtype", array, None, array.dtype, name, place),
    ]
    if array.nbytes <= SMALL and not array.dtype.hasobject:
        return [*found, Read("bytes", array, None, array.tobytes(), name, place)]
    return [*found, Read("memory", array, None, array.copy(), name, place)]


class Guards:
    """The reads of a trace, each once.

    Attributes:
        reads: what was read.
    """

    __slots__ = ("_asked", "_check", "reads")

    def __init__(self, reads: Sequence[Read]) -> None:
        found: dict[tuple[object, ...], Read] = {}
        for one in reads:
            found.setdefault(one.where(), one)
        self.reads = list(found.values())
        self._check: Callable[[], bool] | None = None
        self._asked = False

    def check(self) -> bool:
        """Whether nothing changed, as fast as it can be told."""
        if self._check is None:
            self._check = check_of(self.reads)
        return self._check()

    def hold(self) -> bool:
        """Whether nothing that could be told apart has changed.

        Equal numbers and texts that are other objects are taken over, so that `check` knows them.
        """
        if not self._asked:  # to make a function of the comparisons takes longer than once
            self._asked = True
            return all(one.holds(one.now()) for one in self.reads)
        if self.check():
            return True
        renewed = []
        for one in self.reads:
            now = one.now()
            if not one.holds(now):
                return False
            plain = one.kind in _PLAIN
            renewed.append(replace(one, value=now) if plain else one)
        self.reads = renewed
        self._check = None
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
    try:
        with forgetting_refusals():
            text = repr(value)
    except Exception:  # of a tensor whose values are not known, or of the user's
        text = f"<{type(value).__name__}>"
    text = " ".join(text.split()) if "\n" in text else text
    return text if len(text) <= 60 else f"{text[:57]}..."
