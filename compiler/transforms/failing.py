"""Ways through a traced function on which it raises: they become checks that raise the same.

`if bad: raise ValueError("...")` is a check of `bad` before what follows. Where that may raise by
itself, or both sides do, the side that raises is one of a branch, with a check that never holds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from compiler import ops
from compiler.core.lowering import Gather, Host, Nested
from compiler.core.raised import Raised
from compiler.graph.effects import Effect, depth, first_token
from compiler.graph.expression import Expression, at_line, constant, construct
from compiler.graph.traversal import ancestors
from compiler.ops import effects
from compiler.transforms.decisions import Decision, Way

Made = TypeVar("Made")


@dataclass(frozen=True, slots=True, eq=False)
class Failure:
    """What a function that raises on a way has made.

    Attributes:
        error: what it raises, as an attribute.
        shown: its prints and checks before.
    """

    error: Raised
    shown: Sequence[Effect]


def without_failures(
    ways: Sequence[Way[Made | Failure]],
    roots: Callable[[Made], Iterable[Expression]],
    shown: Callable[[Made], Sequence[Effect]],
    with_shown: Callable[[Made, Sequence[Effect]], Made],
    instead: Callable[[Sequence[Effect]], Made],
) -> list[Way[Made]]:
    """The ways that are left, each of which makes something.

    Args:
        ways: those of a function, of which not all raise.
        roots: the expressions that are made on a way.
        shown: the effects there.
        with_shown: the same with other effects.
        instead: what a way that raises makes in the place of results, with these effects.
    """
    left: list[Way[Made | Failure]] = list(ways)
    while failing := [one for one in left if isinstance(one.made, Failure)]:
        way = max(failing, key=lambda one: len(one.decisions))
        failure = way.made
        assert isinstance(failure, Failure)
        last = way.decisions[-1]
        others = _beside(way, left)
        made = [one.made for one in others if not isinstance(one.made, Failure)]
        quiet = all(one.enter.serial < last.start for one in failure.shown)
        free = not any(_may_raise(roots(one), last.start) for one in made)
        if quiet and free and len(made) == len(others):
            left.remove(way)
            for other in others:
                assert not isinstance(other.made, Failure)
                decision = other.decisions[len(way.decisions) - 1]
                check = _check(decision, decision.predicate, decision.outcome, failure.error)
                before = [one for one in shown(other.made) if one.enter.serial < decision.start]
                behind = shown(other.made)[len(before) :]
                rest = [one for one in other.decisions if one is not decision]
                changed = with_shown(other.made, [*before, check, *behind])
                left[left.index(other)] = Way(tuple(rest), changed)
        else:
            check = _check(last, constant(np.False_), True, failure.error)
            left[left.index(way)] = Way(way.decisions, instead([*failure.shown, check]))
    return [Way(one.decisions, one.made) for one in left if not isinstance(one.made, Failure)]


def _beside(way: Way[Made], ways: Sequence[Way[Made]]) -> list[Way[Made]]:
    """The ways on the other side of the last decision of a way."""
    place = len(way.decisions) - 1
    told = [one.outcome for one in way.decisions[:-1]]
    return [
        one
        for one in ways
        if one is not way
        and len(one.decisions) > place
        and [other.outcome for other in one.decisions[:place]] == told
    ]


def _may_raise(roots: Iterable[Expression], start: int) -> bool:
    """Whether something that was made since a decision may raise, which it must not do before.

    Prints and checks are in order anyway.
    """
    kinds = (Gather, Host, Nested)
    made = [one for one in ancestors(roots) if one.serial >= start]
    return any(isinstance(x.op.lowering, kinds) and x.op not in effects.EFFECTS for x in made)


def _check(decision: Decision, value: Expression, outcome: bool, error: Raised) -> Effect:
    attrs = {"error": error, "batched": False, "place": 0}
    with at_line(decision.source):
        holds = value if outcome else ops.logical_not(value)
        made = construct(effects.fail, (first_token(depth()), holds), attrs)
    return Effect(made, 0, made)
