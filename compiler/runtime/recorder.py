"""What records an op on small tensors, as one builtin function: `compiler.llvm.recorder`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any

import numpy as np

from staticgraph.compiler.core.record import Record, record
from staticgraph.compiler.llvm.loop_words import RECORDER_SYMBOL, RESHAPER_SYMBOL, VIEWER_SYMBOL
from staticgraph.compiler.llvm.recorder_words import (
    HEAD,
    MOST_OPERANDS,
    NODE_SLOTS,
    PATTERN,
    PYTHON_FUNCTIONS,
    RESHAPER_FUNCTIONS,
    RESHAPER_HEAD,
    TENSOR_SLOTS,
)
from staticgraph.compiler.runtime.cache.common import loops_code, tensor_code
from staticgraph.compiler.runtime.loops import Module, loops_are_there, slot_offset, words_of
from staticgraph.compiler.runtime.trampoline import (
    FIELDS,
    METH_FASTCALL,
    METH_KEYWORDS,
    NEW_FROM_DESCR,
    SET_BASE_OBJECT,
    builtin,
    numpy_api,
    python_function,
    read_word,
)

_SPEC_SLOTS = ("shape", "dtype")


@record
class Pattern(Record):
    """What is recorded where certain operands have a place on the tape.

    Attributes:
        recipe: what the node holds of this.
        steps: whether an operand gets a cotangent.
        holds: whether anything is saved.
        keeps: per operand whether its array is saved.
        keeps_output: whether that of the result is.
    """

    recipe: Any
    steps: bool
    holds: bool
    keeps: tuple[bool, ...]
    keeps_output: bool

    def words(self) -> tuple[int, ...]:
        """What the machine code is told."""
        kept = sum(1 << i for i, one in enumerate(self.keeps) if one)
        return id(self.recipe), self.steps, self.holds, self.keeps_output, kept


@record
class Tape(Record):
    """What all recorders have to do with.

    Attributes:
        tensor, node, spec: the classes of results, of nodes, and of what stands for an array.
        plain: the classes of operands.
        paused: a list; while it is not empty, calls go to the general function.
        observers: a dict; the same.
        numbers: where the numbers of nodes come from.
    """

    tensor: type
    node: type
    spec: type
    plain: set[type]
    paused: list[None]
    observers: dict[Any, int]
    numbers: Iterator[int]

    def words(self) -> dict[str, int]:
        """What the machine code is told."""
        names = ("tensor", "node", "spec", "plain", "paused", "observers", "numbers")
        return {
            **{name: id(getattr(self, name)) for name in names},
            **{name: slot_offset(self.tensor, f"_{name}") for name in TENSOR_SLOTS},
            **{f"node_{name}": slot_offset(self.node, name) for name in NODE_SLOTS},
            **{f"spec_{name}": slot_offset(self.spec, name) for name in _SPEC_SLOTS},
        }


def recorder_function(
    tape: Tape, patterns: Sequence[Pattern | None], general: Callable[..., Any], attrs: Any = None
) -> Callable[..., Any] | None:
    """The builtin function that records an op; None where there is none.

    Args:
        patterns: by the number whose bits are the operands with a place on the tape; the first,
            where none has, is None.
        general: what takes all other calls, `(array, *operands)` or `(array, attrs, *operands)`.
        attrs: the attributes by the number of axes of the first operand; without it they are an
            argument.
    """
    count = len(patterns).bit_length() - 1
    if count > MOST_OPERANDS or not _is_ready(tape):
        return None
    first = 2 if attrs is None else 1
    values = {"attrs": 0 if attrs is None else id(attrs), "count": count, "first": first}
    words = _head(tape, general, values)
    for one in patterns:
        words += (0,) * len(PATTERN) if one is None else one.words()
    return made_of(RECORDER_SYMBOL, tape, words, (general, patterns, attrs))


def viewer_function(tape: Tape, general: Callable[..., Any]) -> Callable[..., Any] | None:
    """The builtin function `(recipe, operand, array, attrs) -> tensor` that makes views; or None.

    `general` takes all calls that are not plain.
    """
    if not _is_ready(tape):
        return None
    return made_of(VIEWER_SYMBOL, tape, _head(tape, general, {}), general)


def reshaper_function(
    tape: Tape,
    general: Callable[..., Any],
    recipe: object,
    key: str,
    kind: type[tuple[int, ...]],
    shown: tuple[str, str],
) -> Callable[..., Any] | None:
    """The builtin function `(operand, *sizes) -> tensor` that makes views of other shapes; or None.

    Args:
        general: what takes all calls that are not plain.
        recipe: what the node of a view holds of this, and the attribute `key`, its shape.
        kind: a class of tuples, which sizes may be given in.
        shown: its name, and its documentation.
    """
    if not (_is_ready(tape) and _tuples_are_right(kind)):
        return None
    api = numpy_api()
    values = {
        "recipe": id(recipe), "key": id(key), "int": id(int), "tuple": id(tuple), "Size": id(kind),
        "PyArray_NewFromDescr": api[NEW_FROM_DESCR], "PyArray_SetBaseObject": api[SET_BASE_OBJECT],
        **{name: python_function(name) for name in RESHAPER_FUNCTIONS},
    }  # fmt: skip
    words = _head(tape, general, values, RESHAPER_HEAD)
    return made_of(RESHAPER_SYMBOL, tape, words, (general, recipe, key, kind), shown)


def _tuples_are_right(kind: type[tuple[int, ...]]) -> bool:
    """Whether the length and the items of tuples are where they are expected."""
    items = (object(), object())
    for one in (items, kind(items)):  # type: ignore[arg-type]
        found = [read_word(id(one) + FIELDS.data + 8 * place) for place in range(3)]
        if found != [len(items), *map(id, items)]:
            return False
    return True


def _is_ready(tape: Tape) -> bool:
    """Whether there are such functions in this process."""
    return loops_are_there() and slots_are_right(tape.node, tape.spec)


_ZERO = 0


def _head(
    tape: Tape, general: object, values: dict[str, int], names: Sequence[str] = HEAD
) -> list[int]:
    """The words that every function begins with."""
    values = {
        "general": id(general), "ndarray": id(np.ndarray), "type": id(type), "list": id(list),
        "none": id(None), "zero": id(_ZERO), "attrs": 0, "count": 0, "first": 0, **tape.words(),
        **{name: python_function(name) for name in PYTHON_FUNCTIONS}, **values,
    }  # fmt: skip
    return [values[name] for name in names]


def made_of(
    symbol: str,
    tape: Tape,
    words: Sequence[int],
    held: object,
    shown: tuple[str, str] = ("kernel", ""),
) -> Callable[..., Any]:
    """A builtin function of tensors, that keeps what its words are addresses of."""
    kept = Module("staticgraph.dynamic")
    kept.held = tape, held, loops_code()
    convention = METH_FASTCALL | METH_KEYWORDS
    return builtin(tensor_code(symbol), convention, words_of(words), kept, shown)


@cache
def slots_are_right(node: type, spec: type) -> bool:
    """Whether the slots of nodes are where their descriptors say, and the length of a dict."""
    counted = {1: 2, 3: 4}
    if read_word(id(counted) + 16) != len(counted):
        return False
    for kind, names in ((node, NODE_SLOTS), (spec, _SPEC_SLOTS)):
        made: object = object.__new__(kind)
        for name in names:
            value = object()
            setattr(made, name, value)
            if read_word(id(made) + slot_offset(kind, name)) != id(value):
                return False
    return True
