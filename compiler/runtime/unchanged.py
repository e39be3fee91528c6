"""Whether objects of Python are what they were, told by words of their memory in nanoseconds.

The version of a dict is a number that no dict had before, and that every change of it renews (PEP
509); CPython has it up to 3.13. It, and the fields that are read of cells, lists and objects, are
where CPython's headers have them: `fields_are_right` compares them with what Python says.
"""

from __future__ import annotations

import ctypes
import sys
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from types import CellType, CodeType, FunctionType, MemberDescriptorType
from typing import Any

import numpy as np

from staticgraph.compiler.llvm.trampoline_words import HEADER
from staticgraph.compiler.runtime.cache.common import unchanged_address
from staticgraph.compiler.runtime.trampoline import (
    FIELDS,
    HEAD,
    METH_NOARGS,
    builtin,
    python_function,
)

Word = tuple[int, int]
"""Where a word is, and what it was."""

USED, VERSION, VALUES = HEAD, HEAD + 8, HEAD + 24  # of a dict
SIZE, ITEMS = HEAD, HEAD + 8  # of a list
CONTENTS = HEAD  # of a cell
ATTRIBUTES, MANAGED = -24, 1 << 4  # of an object: its dict; the flag of classes that say so
CODE, DEFAULTS = HEAD + 32, HEAD + 40  # of a function
MEMBER, OFFSET = HEAD + 24, 16  # of a descriptor: what it is of; of that: where
DATA, SIZES, STRIDES, DTYPE = HEAD, HEAD + 16, HEAD + 24, HEAD + 40  # of an array of NumPy
LARGEST = 1 << 13
"""Bytes: the elements of arrays up to this size are words."""
_memcmp = ctypes.PyDLL(None).memcmp  # no other thread runs meanwhile
_memcmp.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)
BASICSIZES = {dict: HEAD + 32, list: HEAD + 24, CellType: HEAD + 8}


def unchanged(words: Sequence[Word]) -> Callable[[], bool]:
    """A builtin function that says whether all words are what they were.

    They are read in order up to the first that is not: a word may say that the next ones are there.
    Whoever calls it keeps the objects whose words they are.
    """
    flat = [part for word in words for part in word]
    found = {"count": len(words), "true": id(True), "false": id(False)}
    header = [found[name] if name in found else python_function(name) for name in HEADER]
    told: Callable[[], bool] = builtin(
        unchanged_address(), METH_NOARGS, np.array([*header, *flat], np.int64)
    )
    return told


def version_of(table: object) -> Word:
    """The version of a dict."""
    return _word(id(table) + VERSION)


def length_of(table: object, length: int) -> Word:
    """That a dict has so many items."""
    return id(table) + USED, length


def class_of(value: object, kind: type) -> Word:
    """That an object is of a class."""
    return id(value) + FIELDS.type, id(kind)


def code_of(function: FunctionType, code: CodeType) -> list[Word]:
    """That a function has this code; none if nothing in memory says so."""
    return [(id(function) + CODE, id(code))] if functions_are_right() else []


def defaults_of(function: FunctionType, defaults: object) -> list[Word]:
    """That a function has these defaults; none if nothing in memory says so."""
    return [(id(function) + DEFAULTS, id(defaults))] if functions_are_right() else []


def slot_of(value: object, name: str, content: object) -> list[Word]:
    """That a slot of an object has a content; none if it is no slot, or memory does not say so."""
    slot = next((vars(one)[name] for one in type(value).__mro__ if name in vars(one)), None)
    if type(slot) is not MemberDescriptorType or not slots_are_right():
        return []
    word = _word(id(value) + _offset_of(slot))
    return [word] if word[1] == id(content) else []


def _offset_of(slot: object) -> int:
    """Where in an object a slot is."""
    return _word(_word(id(slot) + MEMBER)[1] + OFFSET)[1]


def attributes_of(value: object, table: Mapping[str, object]) -> list[Word]:
    """That an object has this dict for its attributes; none if nothing in memory says so."""
    if not (type(value).__flags__ & MANAGED and tables_are_right()):
        return []
    word = _word(id(value) + ATTRIBUTES)
    return [word] if word[1] == id(table) else []


def contents_of(cell: CellType, value: object) -> Word:
    """That a cell holds a value."""
    return id(cell) + CONTENTS, id(value)


def size_of(items: Sequence[object], size: int) -> Word:
    """That a list has so many items."""
    return id(items) + SIZE, size


def items_of(items: Sequence[object], values: Sequence[object]) -> list[Word]:
    """That a list has these values, and no more."""
    start = _word(id(items) + ITEMS)
    places = [(start[1] + 8 * i, id(value)) for i, value in enumerate(values)]
    return [size_of(items, len(values)), start, *places]


def item_of(items: Sequence[object], place: int, value: object) -> list[Word]:
    """That a list has a value in a place, and as many as it has now."""
    start = _word(id(items) + ITEMS)
    return [size_of(items, len(items)), start, (start[1] + 8 * place, id(value))]


def shape_of(array: np.ndarray) -> list[Word]:
    """That an array has the shape, and the strides, that it has now."""
    sizes, strides = _word(id(array) + SIZES), _word(id(array) + STRIDES)
    each = [_word(start + 8 * i) for _, start in (sizes, strides) for i in range(array.ndim)]
    return [sizes, strides, *each]


def dtype_of(array: np.ndarray) -> Word:
    """That an array has the dtype that it has now."""
    return _word(id(array) + DTYPE)


def elements_of(array: np.ndarray) -> list[Word]:
    """That an array has the elements that it has now; none if they are no words, or too many."""
    if not (8 <= array.nbytes <= LARGEST and array.flags.c_contiguous) or array.dtype.hasobject:
        return []
    start = _word(id(array) + DATA)
    places = [*range(0, array.nbytes - 7, 8), array.nbytes - 8]
    words = [_word(start[1] + place) for place in places]
    return [*shape_of(array), dtype_of(array), start, *words]


def place_of(array: np.ndarray) -> list[Word]:
    """That an array has its elements where it has them now, one after the other; else none."""
    if not array.flags.c_contiguous or array.dtype.hasobject:
        return []
    return [*shape_of(array), dtype_of(array), _word(id(array) + DATA)]


def lasting_memory(array: np.ndarray) -> bytes | None:
    """The object of bytes that an array without gaps has its elements in, if it is one; else None.

    Nothing changes it. A read-only flag does not say so: it can be taken away for a while, and
    there may be a view without it.
    """
    if not array.flags.c_contiguous:
        return None
    memory: object = array
    while isinstance(memory, np.ndarray):
        memory = memory.base
    if type(memory) is memoryview:
        memory = memory.obj
    return memory if type(memory) is bytes else None


def difference(array: np.ndarray, copy: np.ndarray) -> Callable[[], int]:
    """A function that compares the bytes of an array with those of a copy; 0 if they are equal.

    It is right for as long as the array has them in the same place, and both are held.
    """
    return partial(_memcmp, array.ctypes.data, copy.ctypes.data, array.nbytes)


def _word(address: int) -> Word:
    return address, ctypes.c_int64.from_address(address).value


@cache
def fields_are_right() -> bool:
    """Whether every word is where it is expected, and every change of a dict renews its version."""
    if sys.byteorder != "little" or any(
        kind.__basicsize__ != size for kind, size in BASICSIZES.items()
    ):
        return False
    values = [object() for _ in range(3)]
    cell, table = CellType(values[0]), {1: 1, 2: 2}
    words = [
        length_of(table, 2), class_of(cell, CellType), contents_of(cell, values[0]),
        *items_of(values, values), *item_of(values, 2, values[2]),
    ]  # fmt: skip
    right = all(_word(at) == (at, was) for at, was in words) and _versions_are_right()
    return right and _arrays_are_right()


def _arrays_are_right() -> bool:
    array = np.arange(6.0).reshape(2, 3)
    fields = _word(id(array) + DATA)[1], dtype_of(array)[1]
    if np.ndarray.__basicsize__ < DTYPE + 8 or fields != (array.ctypes.data, id(array.dtype)):
        return False  # nor are the places of its sizes where they are expected
    return [was for _, was in shape_of(array)[2:]] == [2, 3, 24, 8]


class _Object:
    """Something with attributes."""


def _versions_are_right() -> bool:
    value = _Object()
    value.__dict__ = {}
    table: dict[str, Any] = {}
    exec("def put():\n global a; a = 1\ndef change():\n global a; a = 2", table)
    put, change = table["put"], table["change"]
    steps = put, change, lambda: table.__delitem__("a")
    return _are_renewed(table, steps) and _attributes_are_renewed(value)


@cache
def functions_are_right() -> bool:
    """Whether the code and the defaults of functions are where they are expected."""

    def f(x: int = 1) -> int:
        return x

    def g(x: int = 2) -> int:
        return x + 1

    if FunctionType.__basicsize__ < DEFAULTS + 8:
        return False
    right = []
    for code, defaults in ((f.__code__, f.__defaults__), (g.__code__, g.__defaults__)):
        f.__code__, f.__defaults__ = code, defaults
        fields = _word(id(f) + CODE)[1], _word(id(f) + DEFAULTS)[1]
        right.append(fields == (id(code), id(defaults)))
    return all(right)


class _Slotted:
    """Something with slots."""

    __slots__ = ("a", "b")


@cache
def slots_are_right() -> bool:
    """Whether descriptors of slots say where these are, and another content is seen there."""
    if MemberDescriptorType.__basicsize__ < MEMBER + 8:
        return False
    value, right = _Slotted(), []
    for key in ("a", "b", "a", "b"):
        setattr(value, key, object())
        content = getattr(value, key)
        offset = _offset_of(vars(_Slotted)[key])
        inside = HEAD <= offset < _Slotted.__basicsize__ and offset % 8 == 0
        right.append(inside and _word(id(value) + offset)[1] == id(content))
    return all(right)


@cache
def tables_are_right() -> bool:
    """Whether the dict of an object is where it is expected, and another one is seen there."""
    value, found = _Object(), []
    for table in (vars(value), {}):
        value.__dict__ = table
        found.append(_word(id(value) + ATTRIBUTES)[1] == id(table))
    return all(found) and bool(_Object.__flags__ & MANAGED)


@cache
def attributes_are_right() -> bool:
    """The same of attributes that lie in their object, as Python 3.13 has them, too."""
    return _attributes_are_renewed(_Object())


@cache
def ordered_are_right() -> bool:
    """The same of ordered dicts; that an item is moved within them is no change of the version."""
    table: OrderedDict[str, Any] = OrderedDict()
    put, change = partial(table.__setitem__, "a", 1), partial(table.__setitem__, "a", 2)
    return _are_renewed(table, (put, change, partial(table.__delitem__, "a")))


def has_version(table: object) -> bool:
    """Whether every change of a dict renews its version."""
    return _word(id(table) + VALUES)[1] == 0 or attributes_are_right()


def _attributes_are_renewed(value: Any) -> bool:
    def put() -> None:
        value.a = 1

    def change() -> None:
        value.a = 2

    def delete() -> None:
        del value.a

    return _are_renewed(vars(value), (put, change, delete))


def _are_renewed(table: dict[str, Any], steps: tuple[Callable[[], None], ...]) -> bool:
    """Whether versions of a table are new ones after each step, and each change by a method."""
    put, change, delete = steps
    for step in steps * 20:  # so often that the interpreter has its quick ways
        step()
    changes: list[Callable[[], object]] = [
        *(put, change, delete) * 20,
        put, change, delete, put, lambda: table.update(a=3), lambda: table.__setitem__("a", 4),
        lambda: table.pop("a"), lambda: table.setdefault("b", 1), table.popitem,
        lambda: table.__ior__({"c": 1}), lambda: table.pop("c"), put, lambda: table.pop("a"),
        *(put, change, delete) * 20,
    ]  # fmt: skip
    seen = set()
    for one in changes:
        before = version_of(table)
        table.get("a"), len(table), [*table.items()]
        if version_of(table) != before or before in seen:
            return False
        seen.add(before)
        one()
    return version_of(table) not in seen
