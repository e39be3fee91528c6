"""Ways through a traced function on which it raises: they become checks that raise the same.

`if bad: raise ValueError("...")` is a check of `bad` before what follows. Where that may raise by
itself, or both sides do, the side that raises is one of a branch, with a check that never holds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, TypeVar, cast

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core.lowering import Gather, Host, Nested
from staticgraph.compiler.core.messages import Field, require_arrived
from staticgraph.compiler.core.raised import Raised, raised
from staticgraph.compiler.core.record import frozen
from staticgraph.compiler.core.refusals import place_of, raised_by_user, refuse
from staticgraph.compiler.core.user_text import UserText
from staticgraph.compiler.graph.effects import Effect
from staticgraph.compiler.graph.expression import (
    Expression,
    at_line,
    constant,
    construct,
    next_serial,
)
from staticgraph.compiler.graph.traversal import ancestors
from staticgraph.compiler.ops.programs import effects
from staticgraph.compiler.transforms.decisions import Decision, Way

Made = TypeVar("Made")


@frozen(eq=False)
class Caught:
    """What was raised on one way, after some prints and checks.

    `drawn`: a number of the engine's for the random numbers that were drawn before; 0: none.
    `fields`: the values in its message.
    """

    error: Exception
    shown: Sequence[Effect]
    drawn: int = 0
    fields: Sequence[Field] = ()


@frozen(eq=False)
class _Failure:
    """What a function that raises on a way has made.

    Attributes:
        error: what it raises, as an attribute.
        shown: its prints and checks before.
        drawn, fields: those of `Caught`.
    """

    error: Raised
    shown: Sequence[Effect]
    drawn: int
    fields: Sequence[Field]


def as_checks(
    ways: Sequence[Way[Made | Caught]],
    roots: Callable[[Made], Iterable[Expression]],
    shown: Callable[[Made], Sequence[Effect]],
    with_shown: Callable[[Made, Sequence[Effect]], Made],
    nothing: Callable[[Made], Made],
) -> Sequence[Way[Made]]:
    """The ways, those on which the function raises as checks that raise the same.

    Args:
        ways: those of a function.
        roots: the expressions that are made on a way.
        shown: the effects there.
        with_shown: the same with other effects.
        nothing: of what a way makes, what stands for it where nothing is made.

    Raises:
        CaptureError: it raises on some what cannot be raised when it runs.
        What it raises on all of them.
    """
    errors = [(way, way.made) for way in ways if isinstance(way.made, Caught)]
    if not errors:
        return [Way(way.decisions, way.made) for way in ways if not isinstance(way.made, Caught)]
    whole = next((way.made for way in ways if not isinstance(way.made, Caught)), None)
    if whole is None:
        require_arrived([field for _, one in errors for field in one.fields], None)
    if whole is None and len({(type(one.error), str(one.error)) for _, one in errors}) == 1:
        raise errors[0][1].error
    failures: dict[Way[Made | Caught], _Failure] = {}
    for way, one in errors:
        attribute = raised(one.error) if whole and raised_by_user(one.error) else None
        if attribute is None:
            refuse(
                f"raises {one.error!r} on one side of a branch on a value "
                f"({way.decisions[-1].place})",
                "use sg.check(condition, message), which raises when it runs, or raise it outside",
                place_of(one.error),
            )
        failures[way] = _Failure(attribute, one.shown, one.drawn, one.fields)
    assert whole is not None
    empty = nothing(whole)
    left: list[Way[Made | _Failure]] = [
        Way(way.decisions, failures[way] if isinstance(way.made, Caught) else way.made)
        for way in ways
    ]
    return _without_failures(left, roots, shown, with_shown, lambda new: with_shown(empty, new))


def zeros(value: Expression) -> Expression:
    """What stands for a value where there is none."""
    found: Expression = ops.broadcast_to(constant(np.zeros((), value.dtype)), value.shape)
    return found


def _without_failures(
    left: list[Way[Made | _Failure]],
    roots: Callable[[Made], Iterable[Expression]],
    shown: Callable[[Made], Sequence[Effect]],
    with_shown: Callable[[Made, Sequence[Effect]], Made],
    instead: Callable[[Sequence[Effect]], Made],
) -> list[Way[Made]]:
    """The ways that are left, each of which makes something.

    `instead`: what a way that raises makes in the place of results, with these effects.
    """
    kept: list[Made] = []
    while failing := [one for one in left if isinstance(one.made, _Failure)]:
        way = max(failing, key=lambda one: len(one.decisions))
        failure = way.made
        assert isinstance(failure, _Failure)
        last = way.decisions[-1]
        others = _beside(way, left)
        made = [one.made for one in others if not isinstance(one.made, _Failure)]
        made = [one for one in made if not any(one is other for other in kept)]
        quiet = all(one.enter.serial < last.start for one in failure.shown)
        quiet = quiet and _is_told_before(failure, last, made, shown)
        free = not any(_may_raise(roots(one), last.start) for one in made)
        if quiet and free and len(made) == len(others):
            left.remove(way)
            for other in others:
                assert not isinstance(other.made, _Failure)
                decision = other.decisions[len(way.decisions) - 1]
                check = _check(decision, failure)
                before = [one for one in shown(other.made) if one.enter.serial < decision.start]
                behind = shown(other.made)[len(before) :]
                rest = [one for one in other.decisions if one is not decision]
                changed = with_shown(other.made, [*before, check, *behind])
                left[left.index(other)] = Way(tuple(rest), changed)
        else:
            token = constant(last.token.attrs["value"].array)
            check = _check(replace(last, token=token, start=next_serial()), failure, False)
            kept.append(instead([*failure.shown, check]))
            left[left.index(way)] = Way(way.decisions, kept[-1])
    return [Way(one.decisions, one.made) for one in left if not isinstance(one.made, _Failure)]


def _values(failure: _Failure) -> list[Expression]:
    """The values in a message."""
    return [cast(Expression, one.value) for one in failure.fields]


def _is_told_before(
    failure: _Failure,
    decision: Decision,
    others: Iterable[Made],
    shown: Callable[[Made], Sequence[Effect]],
) -> bool:
    """Whether a message can be made of values before what else is done behind a decision."""
    if not failure.fields:
        return True
    later = [x for one in others for x in shown(one) if x.enter.serial >= decision.start]
    return not later and not _may_raise(_values(failure), decision.start)


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


def _check(decision: Decision, failure: _Failure, holds: bool = True) -> Effect:
    """A check that a decision has its outcome, or has it not.

    Its serial is that of the decision: effects are in the order of their serials.
    """
    expected = decision.outcome is holds
    attrs: dict[str, Any] = {
        "error": failure.error,
        "expected": expected,
        "batched": False,
        "place": 0,
    }
    if failure.drawn:
        attrs["drawn"] = failure.drawn
    if failure.fields:
        attrs["fields"] = tuple(
            [(UserText(x.marker), UserText(x.spec), x.is_number) for x in failure.fields]
        )
    values = _values(failure)
    with at_line(decision.source):
        made = construct(effects.fail, (decision.token, decision.predicate, *values), attrs)
    if not values:  # else it is behind them
        made.serial = decision.start
    return Effect(made, 0, made)
