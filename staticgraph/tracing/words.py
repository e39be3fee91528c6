"""Reads of which words of memory tell that they are what they were.

Of a dict it is its version, which every change renews, so that one word serves all that is read of
it. A dict that changes from call to call without a change of what is read of it, such as the
globals of a script, is compared item by item after a few times.
"""

from __future__ import annotations

import gc
from collections import Counter, OrderedDict
from collections.abc import Sequence
from dataclasses import replace
from types import FunctionType, MappingProxyType
from typing import Any

import numpy as np

from staticgraph.compiler.runtime import unchanged
from staticgraph.tracing.guards import MEMORY, Read, kind_of

_OF_DICTS = frozenset(("item", "absent", "keys", "pairs", "values", "length", "disjoint"))
_Key = tuple[int, str]
"""The identity of an object, and the name of what it has."""
OFTEN = 3
"""Changes of a dict after which it is compared item by item."""


class Versions:
    """The versions of the dicts that a call reads, and how often each was found to be another.

    So it is of the arrays of tensors.
    """

    __slots__ = ("_changes", "_seen")

    def __init__(self) -> None:
        self._seen: dict[_Key, int] = {}
        self._changes: Counter[_Key] = Counter()

    def of(self, table: object) -> unchanged.Word | None:
        """The version of a dict as it is now; None of one that changes often, or has none."""
        if not unchanged.has_version(table):
            return None
        word = unchanged.version_of(table)
        return None if self._changes_often((id(table), ""), word[1]) else word

    def is_exchanged(self, owner: object, content: object, name: str = "") -> bool:
        """Whether what an object has, such as `content` now, was often found to be another."""
        return self._changes_often((id(owner), name), id(content))

    def _changes_often(self, key: _Key, now: int) -> bool:
        before = self._seen.setdefault(key, now)
        if before != now:
            self._seen[key] = now
            self._changes[key] += 1
        return self._changes[key] > OFTEN


def with_words(reads: Sequence[Read], versions: Versions) -> list[Read]:
    """The reads, of which one stands for all those that words of memory tell."""
    if not unchanged.fields_are_right():
        return [*reads]
    words: list[unchanged.Word] = []
    told: list[Read] = []
    rest: list[Read] = []
    of_dicts: dict[int, tuple[Any, list[Read]]] = {}
    for one in reads:
        if one.kind == "state":
            of = _words_of_kind if one.key is kind_of else _words_of_answer
            found = of(one, versions)
        else:
            found = _words_of(one)
        table = _table_of(one.owner)
        if table is not None and one.kind in _OF_DICTS:
            of_dicts.setdefault(id(table), (table, []))[1].append(one)
        elif found:
            words += found
            told.append(one)
        elif place := _place_of(one):
            words += place
            lasting = unchanged.lasting_memory(one.owner)
            told.append(replace(one, key=lasting))  # which is held, so that no other is there
            if lasting is None:
                pair = one.owner, one.value
                differs = unchanged.difference(*pair)
                rest.append(Read("copied", pair, None, differs, one.name, one.place))
        else:
            rest.append(one)
    for table, group in of_dicts.values():
        version = versions.of(table)
        # the version is read before what it stands for is looked at
        if version is not None and all(one.holds(one.now()) for one in group):
            words.append(version)
            told += group
        else:
            rest += group
    if not words:
        return rest
    # it has those that it stands for as its owner: their memory is read for as long as it is
    return [Read("words", told, None, unchanged.unchanged(words), "words of memory", "?"), *rest]


def _words_of_kind(read: Read, versions: Versions) -> list[unchanged.Word]:
    """That a tensor has its class and its array, unless it often has another one."""
    array = getattr(read.owner, MEMORY)
    if versions.is_exchanged(read.owner, array) or not read.holds(read.now()):
        return []
    found = unchanged.slot_of(read.owner, MEMORY, array)
    return [unchanged.class_of(read.owner, type(read.owner)), *found] if found else []


def _words_of_answer(read: Read, versions: Versions) -> list[unchanged.Word]:
    """That what an answer is read of has what it has, unless something often has another."""
    fields = getattr(read.key, "fields", None)
    if fields is None or not read.holds(read.now()):
        return []
    words: list[unchanged.Word] = []
    for owner, name in fields(read.owner):
        if not name:
            words.append(unchanged.length_of(owner, len(owner)))
            continue
        content = getattr(owner, name)
        found = unchanged.slot_of(owner, name, content)
        if not found or versions.is_exchanged(owner, content, name):
            return []
        words += found
    return words


def _words_of_array(read: Read) -> list[unchanged.Word]:
    match read.kind:
        case "shape":
            found = unchanged.shape_of(read.owner)
        case "dtype":
            found = [unchanged.dtype_of(read.owner)]
        case "bytes" | "memory":
            found = unchanged.elements_of(read.owner)
        case _:
            found = []
    return found if found and read.holds(read.now()) else []  # they are as they are now


def _place_of(read: Read) -> list[unchanged.Word]:
    """The words that say where the elements of a large array are; none if they are elsewhere."""
    if read.kind != "memory" or type(read.owner) is not np.ndarray:
        return []
    return unchanged.place_of(read.owner) if read.holds(read.now()) else []


def _table_of(owner: Any) -> Any:
    """The dict that an owner is, or shows: that of a class is seen through a proxy."""
    if type(owner) is MappingProxyType:
        owner = gc.get_referents(owner)[0]
    plain = getattr(type(owner), "__iter__", None) is OrderedDict.__iter__
    if plain and len(owner) == 1 and unchanged.ordered_are_right():
        return owner  # one item has no order
    return owner if type(owner) is dict else None


def _words_of_attribute(owner: object, key: str, value: Any) -> list[unchanged.Word]:
    if key == "__dict__" and type(value) is dict:
        return unchanged.attributes_of(owner, value)
    if type(owner) is FunctionType:
        return unchanged.defaults_of(owner, value) if key == "__defaults__" else []
    return unchanged.slot_of(owner, key, value)


def _words_of(read: Read) -> list[unchanged.Word]:
    """The words that tell of a read of something else than a dict; none if there are none."""
    owner: Any = read.owner
    if read.kind == "class":
        return [unchanged.class_of(owner, read.value)]
    if read.kind == "attribute":
        return _words_of_attribute(owner, read.key, read.value)
    if read.kind == "code" and type(owner) is FunctionType:
        return unchanged.code_of(owner, read.value)
    if read.kind == "cell":
        return [unchanged.contents_of(owner, read.value)]
    if type(owner) is np.ndarray:
        return _words_of_array(read)
    if type(owner) is list:
        match read.kind:
            case "length":
                return [unchanged.size_of(owner, read.value)]
            case "each":
                return unchanged.items_of(owner, read.value)
            case "item":
                return unchanged.item_of(owner, read.key, read.value)
    if read.kind == "length" and getattr(type(owner), "__len__", None) is dict.__len__:
        return [unchanged.length_of(owner, read.value)]
    return []
