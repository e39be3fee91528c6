"""What a captured function asks of its operands: the answers are those of each call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from staticgraph.compiler.core.refusals import refuse
from staticgraph.compiler.graph.expression import Expression
from staticgraph.dynamic.capture.outside import Operands
from staticgraph.dynamic.capture.questions import (
    HasAttribute,
    Same,
    attribute_of,
    grad_state,
    is_leaf,
)  # fmt: skip

_FIXED = (bool, int, float, complex, str, bytes, type(None))


class Asking:
    """The questions of a capture to its operands."""

    lifted: Callable[[Any], Any]
    place_of: Callable[[Any], int | None]
    input_at: Callable[[int], Expression]
    _given: list[Any]
    _operands: Operands

    def requires(self, place: int) -> bool:
        """Whether an operand requires grad as a call begins, which each must have in common."""
        state = grad_state(self._given[place])
        return self._operands.asked.setdefault((grad_state, place), state) is not False

    def is_hooked_by(self, place: int, question: Callable[[Any], bool]) -> None:
        """Note which hooks an operand has, which each call must have in common."""
        self._operands.asked[question, place] = True

    def is_leaf(self, place: int) -> bool:
        """Whether nothing that is recorded made an operand, which each call must have in common."""
        answer: bool = is_leaf(self._given[place])
        self._operands.asked[is_leaf, place] = answer
        return answer

    def told(self, x: Any, name: str, ask: Callable[[Any], Any]) -> Any:
        """What a tensor of the surroundings says of itself, which each call must have in common.

        `name` is what has the answer of one that the function has changed.
        """
        standing = self.lifted(x)
        place = None if standing is x else self.place_of(standing)
        if place is None:
            return ask(x)
        if standing._value is not self.input_at(place):
            found = getattr(standing, name)
            return found() if callable(found) else found
        answer = ask(x)
        self._operands.asked[Same(ask, answer), place] = True
        return answer

    def attribute(self, place: int, name: str) -> Any:
        """What an operand has under a name of the user's, which each call must have in common.

        AttributeError if it has nothing.
        """
        given = self._given[place]
        found = attribute_of(given, name)
        if found and type(found[0]) not in _FIXED:
            refuse(
                f"reads {name!r} of an argument, which is of type {type(found[0]).__name__}",
                "pass it as an argument of its own, or keep a number or a text there",
            )
        self._operands.asked[HasAttribute(name, found), place] = True
        if not found:
            kind = type(given).__name__
            raise AttributeError(f"{kind!r} object has no attribute {name!r}", name=name)
        return found[0]
