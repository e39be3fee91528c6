"""Ways through a traced function on which it raises: they become checks that raise the same.

`if bad: raise ValueError("...")` is a check of `bad` before what follows. Where that may raise by
itself, or both sides do, the side that raises is one of a branch, with a check that never holds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from compiler.core.lowering import Gather, Host, Nested
from compiler.core.raised import Raised
from compiler.graph.effects import Effect
from compiler.graph.expression import Expression, at_line, constant, construct, next_serial
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
    kept: list[Made] = []
    while failing := [one for one in left if isinstance(one.made, Failure)]:
        way = max(failing, key=lambda one: len(one.decisions))
        failure = way.made
        assert isinstance(failure, Failure)
        last = way.decisions[-1]
        others = _beside(way, left)
        made = [one.made for one in others if not isinstance(one.made, Failure)]
        made = [one for one in made if not any(one is other for other in kept)]
        quiet = all(one.enter.serial < last.start for one in failure.shown)
        free = not any(_may_raise(roots(one), last.start) for one in made)
        if quiet and free and len(made) == len(others):
            left.remove(way)
            for other in others:
                assert not isinstance(other.made, Failure)
                decision = other.decisions[len(way.decisions) - 1]
                check = _check(decision, failure.error)
                before = [one for one in shown(other.made) if one.enter.serial < decision.start]
                behind = shown(other.made)[len(before) :]
                rest = [one for one in other.decisions if one is not decision]
                changed = with_shown(other.made, [*before, check, *behind])
                left[left.index(other)] = Way(tuple(rest), changed)
        else:
            token = constant(last.token.attrs["value"].array)
            check = _check(replace(last, token=token, start=next_serial()), failure.error, False)
            kept.append(instead([*failure.shown, check]))
            left[left.index(way)] = Way(way.decisions, kept[-1])
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


def _check(decision: Decision, error: Raised, holds: bool = True) -> Effect:
    """A check that a decision has its outcome, or has it not.

    Its serial is that of the decision: effects are in the order of their serials.
    """
    expected = decision.outcome is holds
    attrs = {"error": error, "expected": expected, "batched": False, "place": 0}
    with at_line(decision.source):
        made = construct(effects.fail, (decision.token, decision.predicate), attrs)
    made.serial = decision.start
    return Effect(made, 0, made)
