"""The ways through a function that is traced: it is called once per outcome of its branches.

A function that asks for the truth of a value, such as by `if`, is told that it holds, and is called
again to be told that it does not, until all ways through it are known. `branches` joins them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Generic, TypeVar

from staticgraph.compiler.core.deciding import Decider, deciding
from staticgraph.compiler.core.record import frozen
from staticgraph.compiler.core.refusals import refuse, user_place
from staticgraph.compiler.graph.definition import define
from staticgraph.compiler.graph.effects import depth, first_token
from staticgraph.compiler.graph.expression import Expression, again, next_serial, user_line
from staticgraph.compiler.graph.traversal import ancestors, fold
from staticgraph.compiler.ops import leaves
from staticgraph.compiler.ops.programs import regions

Made = TypeVar("Made")

DECISIONS = 8
"""The branches on values on one way through a function: more are those of a loop."""
WAYS = 32
"""The ways through a function: each is traced and compiled."""

_MARKS = (regions.checkpoint, regions.recompute, regions.gradient_to, regions.custom_gradient)
"""Ops whose value is their first operand."""


@frozen(eq=False)
class Decision:
    """A branch on a value.

    Attributes:
        predicate: the value, a bool scalar.
        outcome: what the function was told.
        place: the user's line with its text, for messages.
        source: that line, as expressions have it.
        start: a serial above those of all expressions that were made before, which is no other's.
        token: one that an effect in this place may take.
    """

    predicate: Expression
    outcome: bool
    place: str
    source: str
    start: int
    token: Expression

    def asked_of(self) -> str:
        """The arguments that the value depends on, for messages."""
        return asked_of(self.predicate)


@frozen(eq=False)
class Way(Generic[Made]):
    """One way through a function: its decisions, in order, and what was made on it."""

    decisions: Sequence[Decision]
    made: Made


class _Decider:
    """The truth of values on one way.

    Attributes:
        made: the decisions so far.
        leaves: what the function may depend on.
    """

    def __init__(
        self,
        told: Sequence[Decision],
        leaves: Callable[[], Iterable[Expression]],
        around: Decider | None,
    ) -> None:
        self.made: list[Decision] = []
        self._told = told
        self._leaves = leaves
        self._around = around

    def restart(self) -> None:
        """Tell the same once more."""
        self._told, self.made = self.made or self._told, []

    def truth(self, predicate: Expression) -> bool:
        """The outcome for a bool scalar; CaptureError where it cannot become a branch."""
        predicate = _unmarked(predicate)
        own = {one.serial for one in self._leaves()}
        read = [one for one in ancestors([predicate]) if one.op is leaves.placeholder]
        if self._around is not None and not any(one.serial in own for one in read):
            return self._around.truth(predicate)  # it is the same in each iteration
        if not all(one.serial in own or self._is_around(one) for one in read):
            refuse(
                "a branch on a value in the body of a loop, in a function given to sg.cond, "
                "or in one example of vmap",
                "use sg.cond or sg.where there",
            )
        for one in self.made:
            if _are_equal(one.predicate, predicate):
                return one.outcome
        place, outcome = user_place(), True
        if len(self.made) < len(self._told):
            told = self._told[len(self.made)]
            if not _are_equal(told.predicate, predicate):
                refuse(
                    f"a branch on a value is on another one than when {told.place} was traced",
                    "let the function do the same each time that it is called",
                    place,
                )
            outcome = told.outcome
        elif len(self.made) == DECISIONS:
            refuse(
                f"asks for more than {DECISIONS} truth values in one call, the last one of a value"
                f"{asked_of(predicate)}",
                "write sg.while_loop for a loop that ends by a value, sg.scan for one of many "
                "steps, and sg.cond or sg.where for a branch in it",
                place,
            )
        token = first_token(depth())
        self.made.append(Decision(predicate, outcome, place, user_line(), next_serial(), token))
        return outcome

    def knows(self, leaf: Expression) -> bool:
        """Whether a leaf is one of the function, or of a function around it."""
        return any(one is leaf for one in self._leaves()) or self._is_around(leaf)

    def _is_around(self, leaf: Expression) -> bool:
        return self._around is not None and self._around.knows(leaf)


def asked_of(predicate: Expression) -> str:
    """The arguments that a value depends on, for messages."""
    names = sorted({str(x.name) for x in ancestors([predicate]) if x.op is leaves.placeholder})
    return f", which depends on {', '.join(names)}" if names else ""


def ways_through(
    run: Callable[[], Made],
    leaves: Callable[[], Iterable[Expression]],
    around: Decider | None = None,
) -> list[Way[Made]]:
    """What `run` makes on each way through it, those first on which values hold.

    Args:
        run: calls the function.
        leaves: the inputs of the trace that is running.
        around: who tells the truth of values of the function around it, of whose body this is a
            part.

    Raises:
        CaptureError: there are too many, or the function does not do the same each time.
    """
    found: list[Way[Made]] = []
    told: list[Decision] = []
    while True:
        current = _Decider(told, leaves, around)
        with deciding(current):
            made = run()
        found.append(Way(tuple(current.made), made))
        told = list(current.made)
        while told and not told[-1].outcome:
            told.pop()
        if not told:
            return found
        last = told.pop()
        if len(found) == WAYS:
            refuse(
                f"has more than {WAYS} ways through its branches on values",
                "use sg.where for some of them, or sg.cond around what is short",
                last.place,
            )
        told.append(replace(last, outcome=False))


def _unmarked(predicate: Expression) -> Expression:
    """A value without what says whose a gradient is, or when it is computed."""
    if not any(node.op in _MARKS for node in ancestors([predicate])):
        return predicate

    def plain(node: Expression, operands: tuple[Expression, ...]) -> Expression:
        if node.op in _MARKS:
            return operands[0]
        return again(node, operands) if operands else node

    return fold([predicate], {}, plain)[0]


def _are_equal(one: Expression, other: Expression) -> bool:
    """Whether two values are computed in the same way from the same leaves."""
    first, second = define([], [one, other]).outputs
    return first == second
