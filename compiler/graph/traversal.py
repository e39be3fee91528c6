"""Traversal of graphs: what expressions depend on, and what is made of their nodes in order.

All walks keep a stack of their own, since graphs may be deeper than Python's. An expression's
serial is greater than those of its operands, and so is a record's number: sorted, operands come
first.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from staticgraph.compiler.core.errors import StaticGraphError


class Term(Protocol):
    """An expression, as far as walks look at it."""

    serial: int

    @property
    def operands(self) -> Sequence[Any]:
        """The terms that it is computed from."""


class Record(Protocol):
    """A node of a definition, as far as walks look at it."""

    @property
    def id(self) -> int:
        """Its number."""

    @property
    def operands(self) -> Sequence[int]:
        """The numbers of what it is computed from."""


AnyTerm = TypeVar("AnyTerm", bound=Term)
AnyRecord = TypeVar("AnyRecord", bound=Record)
Value = TypeVar("Value")


def ancestors(outputs: Iterable[AnyTerm]) -> list[AnyTerm]:
    """The expressions that the outputs depend on, with them, operands first.

    Raises:
        StaticGraphError: one of them is no expression.
    """
    return between(outputs, ())


def between(outputs: Iterable[AnyTerm], known: Container[int]) -> list[AnyTerm]:
    """What the outputs depend on, with them, up to those whose serials are known; operands first.

    Raises:
        StaticGraphError: one of them is no expression.
    """
    found: dict[int, AnyTerm] = {}
    stack = list(outputs)
    while stack:
        term = stack.pop()
        try:
            serial = term.serial
        except AttributeError:
            raise StaticGraphError(f"{term!r} is not a symbolic expression") from None
        if serial not in found and serial not in known:
            found[serial] = term
            stack.extend(term.operands)
    return [found[serial] for serial in sorted(found)]


def cut(
    outputs: Iterable[AnyTerm], through: Callable[[AnyTerm], object]
) -> tuple[list[AnyTerm], list[AnyTerm]]:
    """What the outputs depend on through expressions for which `through` is true.

    Returns:
        Those expressions, and those where the walk ends; operands first in both.
    """
    inside: dict[int, AnyTerm] = {}
    border: dict[int, AnyTerm] = {}
    stack = list(outputs)
    while stack:
        term = stack.pop()
        if term.serial in inside or term.serial in border:
            continue
        if through(term):
            inside[term.serial] = term
            stack.extend(term.operands)
        else:
            border[term.serial] = term
    return [inside[serial] for serial in sorted(inside)], [border[at] for at in sorted(border)]


def fold(
    outputs: Sequence[AnyTerm],
    known: Mapping[int, Value],
    step: Callable[[AnyTerm, tuple[Value, ...]], Value],
) -> list[Value]:
    """The values of outputs: `step` gives that of an expression from those of its operands.

    Args:
        outputs: what is wanted.
        known: by their serials, the values of expressions that the walk ends at.
        step: called once for each expression between, operands first. A value is dropped when its
            last reader has been made.
    """
    values = dict(known)
    terms = between(outputs, known)
    last = {operand.serial: term.serial for term in terms for operand in term.operands}
    for output in outputs:
        last.pop(output.serial, None)
    for term in terms:
        values[term.serial] = step(term, tuple([values[one.serial] for one in term.operands]))
        for operand in term.operands:
            if last.get(operand.serial) == term.serial:
                values.pop(operand.serial, None)
    return [values[output.serial] for output in outputs]


def fold_records(
    records: Iterable[AnyRecord],
    step: Callable[[AnyRecord, tuple[Value, ...]], Value],
    known: Mapping[int, Value] | None = None,
) -> dict[int, Value]:
    """The values of all records, by number: `step` gives one from those of the operands.

    Records whose values are known are passed over.
    """
    values = dict(known or {})
    for record in records:
        if record.id not in values:
            values[record.id] = step(record, tuple([values[one] for one in record.operands]))
    return values
