"""Arrays around a function that are operands of its graph: each call reads them.

So no call has to compare what they hold. While the function is traced, what stands for them is in
their places: in cells, dicts and lists. A function that needs their elements before it runs, or
computes with them alone what is dear, is traced with them as constants, whose bytes are compared.
"""

from __future__ import annotations

import math
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from types import CellType, FunctionType
from typing import Any

import numpy as np

from staticgraph.compiler.core.errors import DTypeError
from staticgraph.compiler.core.lowering import Alias, IndexMap, Pointwise
from staticgraph.compiler.core.types import TupleType, as_dtype, is_static
from staticgraph.compiler.core.whose_code import is_library
from staticgraph.compiler.graph.expression import Expression
from staticgraph.compiler.graph.traversal import ancestors
from staticgraph.compiler.ops import leaves
from staticgraph.compiler.runtime.sharing import POOL
from staticgraph.tracing.guards import Read
from staticgraph.tracing.inspection import file_of, slots_of
from staticgraph.tracing.modules import tracing
from staticgraph.tracing.tracing import Trace

LEAST = 1024
"""Bytes: to compare smaller arrays takes no longer than to pass them."""
OFTEN = 8
"""Changes of an array after which it is no constant for the sake of what is computed with it."""
PART = 64
"""How many times larger an array is than that of it with which something dear may be computed."""
_CONTENTS = ("bytes", "memory")
_Kind = tuple[str, np.dtype[Any]]
Place = tuple[Any, Any]
"""A cell and None, a dict or list and the key, or an object, a function or a class and the name."""


class LiveArrays:
    """The arrays, and where they are.

    Args:
        reads: what the function can read.
        routes: per identity of an array on how many ways it is reached.
        constants: the identities of those that are constants.
        least: the bytes of the smallest.

    Attributes:
        arrays: the arrays.
        names: what they are called.
    """

    def __init__(
        self, reads: Sequence[Read], routes: Mapping[int, int], constants: set[int], least: int
    ) -> None:
        owners = [
            one
            for one in reads
            if one.kind in _CONTENTS
            and id(one.owner) not in constants
            and _is_plain(one.owner, least)
        ]
        found: dict[int, list[Place]] = {}
        held: dict[tuple[int, Any], tuple[Place, Any]] = {}
        counts: Counter[int] = Counter()
        for read in reads if owners else ():
            for place, value in _places(read):
                counts[id(value)] += 1
                held[id(place[0]), place[1]] = place, value
        tuples = {id(value): value for _, value in held.values() if isinstance(value, tuple)}
        parts = [one for value in tuples.values() for one in value]
        counts.update(id(one) for one in parts if type(one) is np.ndarray)
        whole = {key for key in tuples if counts[key] == routes.get(key)}
        for place, value in held.values():
            inside = value if isinstance(value, tuple) and id(value) in whole else (value,)
            for one in inside:
                found.setdefault(id(one), []).append(place)
        live = {
            id(one.owner): one
            for one in owners
            if id(one.owner) in found
            and counts[id(one.owner)] == routes.get(id(one.owner))
            and not any(one.owner is part for key in tuples.keys() - whole for part in tuples[key])
        }
        self.arrays = [one.owner for one in live.values()]
        self.names = [one.name for one in live.values()]
        places = {id(place): place for key in live for place in found[key]}
        self._held = [held[id(owner), key] for owner, key in places.values()]
        self._ids = frozenset(live)
        self._met: set[int] = set()
        self._replaced = False

    def named(self) -> Iterator[tuple[str, Any]]:
        """The arrays with what they are called."""
        return zip(self.names, self.arrays, strict=True)

    def current(self) -> list[Any]:
        """The arrays."""
        return self.arrays

    def without_contents(self, reads: Sequence[Read]) -> list[Read]:
        """The reads but for those of what the arrays hold."""
        return [one for one in reads if id(one.owner) not in self._ids or one.kind not in _CONTENTS]

    def meet(self, value: object) -> None:
        """Note an array that is found where nothing stands for it."""
        if self._replaced and id(value) in self._ids:
            self._met.add(id(value))

    def exchanged(self) -> dict[int, Any]:
        """Per identity of an array the other one of its shape and dtype that is in its places.

        And per identity of a tuple around arrays the one that is there now. Empty if none is
        another, or something else is in a place, or one array is now in the places of two.
        """
        found: dict[int, Any] = {}
        for place, value in self._held:
            try:
                now = get_place(place)
            except (AttributeError, LookupError, ValueError):
                return {}
            if not self._match(value, now, found):
                return {}
        arrays = [one for key, one in found.items() if key in self._ids]
        distinct = len({*map(id, arrays)}) == len(arrays)
        return {key: one for key, one in found.items() if key != id(one)} if distinct else {}

    def _match(self, value: Any, now: Any, found: dict[int, Any]) -> bool:
        """Whether another value in a place differs in arrays alone, which are then found."""
        if isinstance(value, tuple):
            if type(now) is not type(value) or len(now) != len(value):
                return False
            found[id(value)] = now
            return all(
                self._match(one, other, found) for one, other in zip(value, now, strict=True)
            )
        if id(value) not in self._ids:
            return value is now
        return _is_like(now, value) and found.setdefault(id(value), now) is now

    def exchange(self, new: Mapping[int, Any]) -> None:
        """Take what `exchanged` has found."""
        self.arrays = [new.get(id(one), one) for one in self.arrays]
        self._held = [(place, new.get(id(one), one)) for place, one in self._held]
        self._ids = frozenset(map(id, self.arrays))

    @contextmanager
    def replaced(self, values: Sequence[object]) -> Iterator[None]:
        """Inside the block, these values are in the places of the arrays."""
        instead = {id(one): value for one, value in zip(self.arrays, values, strict=True)}
        put = [_with(value, instead) for _, value in self._held]
        with tracing:
            self._replaced = True
            try:
                for (place, _), value in zip(self._held, put, strict=True):
                    put_place(place, value)
                yield
            finally:
                self._replaced = False
                for (place, before), value in zip(self._held, put, strict=True):
                    with suppress(AttributeError, LookupError, ValueError):  # it is gone
                        if get_place(place) is value:
                            put_place(place, before)

    def met(self) -> set[int]:
        """The identities of those that were met in places that were not known."""
        return set(self._met)

    def dear(self, inputs: Sequence[Expression], outputs: Sequence[Expression]) -> set[int]:
        """The identities of those with which alone something dear is computed.

        It is done once if they are constants. With a small part of an array it takes less than to
        compare the whole.

        Args:
            inputs: what stands for the arrays.
            outputs: what is computed.
        """
        sizes = {id(a): a.size for a in self.arrays}
        own = {x.serial: {id(a)} for x, a in zip(inputs, self.arrays, strict=True)}
        given: set[int] = set()
        found: set[int] = set()
        for node in ancestors(outputs):
            if node.serial in own or node.op is leaves.constant:
                continue
            parts = [one.serial for one in node.operands]
            if not parts or not given.isdisjoint(parts):  # an argument, and what depends on one
                given.add(node.serial)
                stored = () if node.op.elementwise else filter(_is_computed, node.operands)
                found.update(*(own.get(one.serial, ()) for one in stored))
                continue
            read = set().union(*(own.get(one, ()) for one in parts))
            own[node.serial] = read
            if not _is_cheap(node):
                least = PART * _largest((node, *node.operands))
                found.update(one for one in read if sizes[one] < least)
        return found


class Known:
    """What the calls before have shown of arrays, which are known again by their names and dtypes.

    So that no trace is made twice where an array has to be a constant, and none each time that an
    array has changed which would be one because something dear is computed with it.

    Attributes:
        elements: whether single elements were needed.
    """

    def __init__(self) -> None:
        self.elements = False
        self._needed: set[_Kind] = set()
        self._dear: set[_Kind] = set()
        self._changes: Counter[str] = Counter()

    def constants(self, live: LiveArrays) -> set[int]:
        """The identities of the arrays that have to be constants."""
        kinds = self._needed | {one for one in self._dear if not self._changes_often(one[0])}
        return {id(array) for name, array in live.named() if (name, array.dtype) in kinds}

    def traced(self, live: LiveArrays, trace: Trace, first: int) -> set[int]:
        """The identities of those that have to be, after a trace in which `first` is the first."""
        dear = live.dear(trace.inputs[first : first + len(live.arrays)], trace.outputs)
        often = {id(array) for name, array in live.named() if self._changes_often(name)}
        self._dear |= {(name, one.dtype) for name, one in live.named() if id(one) in dear}
        return live.met() | (dear - often)

    def read_elements(self) -> None:
        """Single elements are needed: of arrays that were constants they may be all."""
        self.elements = True
        self._needed.clear()
        self._dear.clear()

    def failed(self, live: LiveArrays, now: LiveArrays) -> None:
        """A trace with `live` as operands has failed, one with `now` has not."""
        self._needed |= {(name, one.dtype) for name, one in live.named()}
        self._needed -= {(name, one.dtype) for name, one in now.named()}

    def changed(self, changes: Iterable[tuple[Read, object]], reads: Iterable[Read]) -> None:
        """Take what is no longer what it was, of these reads."""
        named = {id(one.owner): one.name for one in reads if one.kind in _CONTENTS}
        found = [one.owner if one.kind in _CONTENTS else one.value for one, _ in changes]
        self._changes.update({named[id(one)] for one in found if id(one) in named})

    def _changes_often(self, name: str) -> bool:
        return self._changes[name] >= OFTEN


def of_others(reads: Sequence[Read], new: Mapping[int, Any]) -> list[Read]:
    """The reads with other arrays for some, by identity."""

    def renewed(read: Read) -> Any:
        if read.kind in ("each", "values"):  # a list of its own, of what was there
            return [new.get(id(one), one) for one in read.value]
        return new.get(id(read.value), read.value)

    return [
        replace(one, owner=new.get(id(one.owner), one.owner), value=renewed(one)) for one in reads
    ]


NONE = LiveArrays((), {}, set(), LEAST)


def is_alone() -> bool:
    """Whether no other thread may run code of the user's, which would see what stands for arrays.

    Threads of libraries' own, as notebooks have them, run none.
    """
    current = threading.current_thread()
    return all(one is current or _is_of_library(one) for one in threading.enumerate())


def _is_of_library(thread: threading.Thread) -> bool:
    """Whether a thread runs code of a library alone: no pool's, or timer's, that is given code."""
    if type(thread) is not threading.Thread:
        file = file_of(type(thread))
    else:
        target = getattr(thread, "_target", None)
        code = getattr(getattr(target, "__func__", target), "__code__", None)
        if code is None or thread.name.startswith(POOL):
            return target is not None  # native code, or a pool that only calls of graphs use
        file = code.co_filename
    return is_library(file) and not file.endswith(("threading.py", "futures/thread.py"))


def _is_plain(array: Any, least: int) -> bool:
    if type(array) is not np.ndarray or array.nbytes < least or not array.dtype.isnative:
        return False
    try:
        as_dtype(array.dtype, "an array")
    except DTypeError:
        return False
    return True


def _is_like(value: Any, array: np.ndarray) -> bool:
    """Whether it is an array that a trace for another one is right for."""
    return type(value) is np.ndarray and (value.dtype, value.shape) == (array.dtype, array.shape)


def _is_computed(node: Expression) -> bool:
    """Whether it is stored before an op that is not elementwise reads it: no view is."""
    return bool(node.operands) and not isinstance(node.op.lowering, Alias | IndexMap)


def _largest(nodes: Iterable[Expression]) -> float:
    """The elements of the largest array that these are, or consist of."""
    found = [x.type.items if isinstance(x.type, TupleType) else (x.type,) for x in nodes]
    shapes = [one.shape for items in found for one in items]
    return max([math.prod(map(int, one)) if is_static(one) else math.inf for one in shapes])


def _is_cheap(node: Expression) -> bool:
    """Whether it is computed again in each call, with what reads it, in no more time."""
    is_by_element = isinstance(node.op.lowering, Pointwise)
    return not _is_computed(node) or (is_by_element and node.op.cost == "cheap")


def settable(read: Read) -> Place | None:
    """Where a read found what it has, if something else can be put there."""
    owner = read.owner
    if read.of is not None:
        return read.of, read.key
    if read.kind == "cell" or (read.kind == "item" and type(owner) in (dict, list)):
        return owner, read.key
    return (owner, read.key) if read.kind == "attribute" and _can_be_set(owner, read.key) else None


def _places(read: Read) -> Iterator[tuple[Place, Any]]:
    """Where a read found arrays, or tuples of such, as far as something else can be put there."""
    owner, value = read.owner, read.value
    place = settable(read)
    if place is not None:
        found = [(place, value)]
    elif read.kind == "each" and type(owner) is list:
        found = [((owner, i), one) for i, one in enumerate(value)]
    elif read.kind == "values" and type(owner) is dict:
        found = [((owner, key), one) for key, one in zip(owner, value, strict=True)]
    else:
        found = []
    return ((at, one) for at, one in found if _has_arrays(one))


def _can_be_set(owner: object, key: str) -> bool:
    """Whether an attribute is a function's defaults, or in a slot of a class of the user's."""
    if isinstance(owner, FunctionType):
        return key == "__defaults__"
    return key in slots_of(type(owner)) and not is_library(file_of(type(owner)))


def _has_arrays(value: object) -> bool:
    if isinstance(value, tuple) and (type(value) is tuple or hasattr(value, "_make")):
        return any(type(one) is np.ndarray for one in value)
    return type(value) is np.ndarray


def _with(value: Any, instead: Mapping[int, object]) -> Any:
    """An array's place taken by another value, in a tuple too."""
    if not isinstance(value, tuple):
        return instead.get(id(value), value)
    made = [instead.get(id(one), one) for one in value]
    return tuple(made) if type(value) is tuple else type(value)._make(made)  # type: ignore[attr-defined]


def get_place(place: Place) -> Any:
    """What is in a place."""
    owner, key = place
    if type(owner) is CellType:
        return owner.cell_contents
    if isinstance(owner, type):
        return vars(owner)[key]
    return owner[key] if type(owner) in (dict, list) else getattr(owner, key)


def put_place(place: Place, value: object) -> None:
    """Put something there."""
    owner, key = place
    if type(owner) is CellType:
        owner.cell_contents = value
    elif isinstance(owner, type):
        type.__setattr__(owner, key, value)
    elif isinstance(owner, FunctionType):
        owner.__defaults__ = value  # type: ignore[assignment]
    elif type(owner) in (dict, list):
        owner[key] = value
    else:
        object.__setattr__(owner, key, value)
