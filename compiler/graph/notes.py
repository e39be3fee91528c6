"""Notes: what was known of an expression when it was made, and is not in its record.

Nothing computes with a note: `compiler.inspect.lint` reads them. Few expressions have one.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from typing import Any, Protocol, TypeAlias, TypeVar

import numpy as np

from staticgraph.compiler.core.record import Record, record
from staticgraph.compiler.core.values import Value


class Noted(Protocol):
    """An expression, as far as notes look at it."""

    serial: int


AnyNoted = TypeVar("AnyNoted", bound=Noted)


@record
class ZeroGradient(Record):
    """A gradient that is zero everywhere.

    Attributes:
        output, target: what was differentiated, and by what.
        blocks: the ops through which no gradient flows, each with the user's line.
        implied: whether nobody named the target.
    """

    output: str
    target: str
    blocks: tuple[str, ...]
    implied: bool


@record
class Promoted(Record):
    """A float32 value that was cast to float64 because of another operand.

    Attributes:
        op: the op that cast it.
        value: its type, and name if it has one.
        other: the other operand.
        is_constant: whether that is a float64 constant, not integers or what is made of them.
    """

    op: str
    value: str
    other: str
    is_constant: bool


@record
class Sibling(Record):
    """A gradient that was taken together with others.

    Attributes:
        serials: of all of them, this one among them.
        targets: by what each of them was taken.
    """

    serials: tuple[int, ...]
    targets: tuple[object, ...]


@record
class LossGradient(Record):
    """A gradient of a number, as an optimizer takes it.

    Attributes:
        serial: of the number.
    """

    serial: int


@record
class ConstantLoss(Record):
    """A gradient of a loss that is the same for all values of what it was differentiated by.

    Attributes:
        output: the loss.
        blocks: the ops that make it so, each with the user's line.
    """

    output: str
    blocks: tuple[str, ...]


@record
class Scores(Record):
    """A loss that takes what it is given for log-probabilities.

    Attributes:
        given: the expression of that.
    """

    given: Value


Note: TypeAlias = "ZeroGradient | Promoted | Sibling | LossGradient | ConstantLoss | Scores"

_notes: dict[int, list[Note]] = {}  # by the serial of the expression; dropped with it


def is_of_integers(wide: Any) -> bool:
    """Whether a float64 expression is made of integers alone, as their mean is."""
    pending, seen = [wide], {wide.serial}
    while pending:
        node = pending.pop()
        if not node.operands and node.op.name != "constant":
            return False
        for one in node.operands:
            dtype = getattr(one.type, "dtype", None)
            if dtype is None or dtype == np.float32:
                return False
            if dtype == np.float64 and one.serial not in seen:
                seen.add(one.serial)
                pending.append(one)
    return True


def note(expression: Noted, what: Note) -> None:
    """Remember something about an expression, as long as it lives."""
    known = _notes.get(expression.serial)
    if known is None:
        known = _notes[expression.serial] = []
        weakref.finalize(expression, _notes.pop, expression.serial, None)
    known.append(what)


def notes_of(expressions: Iterable[AnyNoted]) -> list[tuple[AnyNoted, Note]]:
    """The expressions about which something was noted, with that."""
    if not _notes:
        return []
    return [(one, what) for one in expressions for what in _notes.get(one.serial, ())]
