"""The ways through a function that is traced, joined: a branch on a value becomes a `cond`.

What was made before a branch is computed once, whichever side is taken. What was made after it, on
one side, is the body of that side, up to where both go on alike: that is computed once, behind
the `cond`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Any, NoReturn, TypeAlias

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core.record import frozen, mutable
from staticgraph.compiler.core.refusals import refuse
from staticgraph.compiler.core.types import TensorType, TupleType, same_type
from staticgraph.compiler.graph.body import Body
from staticgraph.compiler.graph.definition import intern_key
from staticgraph.compiler.graph.effects import Effect, depth, first_token, in_order
from staticgraph.compiler.graph.expression import Expression, again, at_line, constant, construct
from staticgraph.compiler.graph.loop import items_of
from staticgraph.compiler.graph.traversal import ancestors, cut
from staticgraph.compiler.ops import leaves
from staticgraph.compiler.ops.programs import control
from staticgraph.compiler.transforms.control_gradients import stand_in
from staticgraph.compiler.transforms.decisions import Decision

Pair: TypeAlias = "tuple[Expression, Expression]"
"""A value on one side, and on the other."""
Serials: TypeAlias = "tuple[int, int]"

_FED = (leaves.placeholder, leaves.variable)


@frozen(eq=False)
class Path:
    """What a function computes on one way through it.

    Attributes:
        decisions: those on the way.
        results: as many as on any other way.
        effects: its prints and checks.
    """

    decisions: Sequence[Decision]
    results: Sequence[Expression]
    effects: Sequence[Effect]


class DisagreementError(Exception):
    """A result has two types.

    Attributes:
        decision: the branch that makes the difference.
        place: which result.
        types: what it is if that holds, and if not.
    """

    def __init__(self, decision: Decision, place: int, types: Sequence[TensorType]) -> None:
        super().__init__(decision, place, types)
        self.decision, self.place, self.types = decision, place, types


def refuse_branch(decision: Decision, what: str) -> NoReturn:
    """CaptureError at the line of a branch whose sides do not agree."""
    refuse(
        f"a branch on a value{decision.asked_of()}: {what}",
        "let both sides give the same, or use sg.where, or sg.cond around what differs",
        decision.place,
    )


@mutable(eq=False)
class _Known:
    """A path over expressions that equal ones of other paths are.

    Attributes:
        before: per decision the serials of what was made before it.
    """

    decisions: Sequence[Decision]
    results: list[Expression]
    effects: list[Effect]
    predicates: list[Expression]
    before: list[set[int]]


@mutable(eq=False)
class _Joining:
    """The expressions of all paths, equal ones once; and the branches that were needed.

    Attributes:
        first: a serial below those of all that the function has made.
    """

    first: int
    table: dict[Any, Expression] = field(default_factory=dict)
    own: set[int] = field(default_factory=set)
    branches: dict[str, bool] = field(default_factory=dict)

    def known(self, path: Path) -> _Known:
        """A path over the expressions that are known, and its own."""
        predicates = [one.predicate for one in path.decisions]
        results, effects, made = self._over_known(path.results, path.effects, predicates)
        before = [
            {one.serial for serial, one in made.items() if serial < decision.start}
            for decision in path.decisions
        ]
        return _Known(
            path.decisions, results, effects, [made[one.serial] for one in predicates], before
        )

    def _over_known(
        self,
        results: Sequence[Expression],
        effects: Sequence[Effect],
        others: Sequence[Expression] = (),
    ) -> tuple[list[Expression], list[Effect], dict[int, Expression]]:
        made = self.interned([*results, *others, *(one.leave for one in effects)], effects)
        return (
            [made[one.serial] for one in results],
            [Effect(made[e.enter.serial], e.position, made[e.leave.serial]) for e in effects],
            made,
        )

    def interned(
        self, roots: Sequence[Expression], effects: Sequence[Effect]
    ) -> dict[int, Expression]:
        """By serial, what equals each expression that the roots depend on.

        An effect equals only one that has the same place among the effects.
        """
        places = {one.enter.serial: place for place, one in enumerate(effects)}
        made: dict[int, Expression] = {}
        for node in ancestors(roots):
            if node.serial in self.own or node.serial < self.first:
                made[node.serial] = node
                continue
            operands = tuple([made[one.serial] for one in node.operands])
            serials = tuple([one.serial for one in operands])
            key = intern_key(node.op, serials, node.attrs), places.get(node.serial)
            if key not in self.table:
                self.table[key] = _over(node, operands)
                self.own.add(self.table[key].serial)
            made[node.serial] = self.table[key]
        return made

    def join(self, paths: Sequence[_Known], number: int) -> tuple[list[Expression], list[Effect]]:
        """The results and effects of paths that differ from a decision on, if they do."""
        first = paths[0]
        if len(paths) == 1:
            return first.results, first.effects
        decision = first.decisions[number]
        sides = [
            self.join([x for x in paths if x.decisions[number].outcome is outcome], number + 1)
            for outcome in (True, False)
        ]
        for place, (one, other) in enumerate(zip(sides[0][0], sides[1][0], strict=True)):
            if not same_type(one.type, other.type):
                raise DisagreementError(decision, place, (one.type, other.type))
        before = set[int]().union(*(one.before[number] for one in paths))
        branch = _Branch(decision, first.predicates[number], before, *sides)
        results, effects, _ = self._over_known(*branch.close())
        self.branches[decision.place] = self.branches.get(decision.place, False) or branch.is_made
        return results, effects


class _Branch:
    """A decision, and what the function computes on both sides.

    Attributes:
        outside: the serials of what is computed whichever side is taken.
        is_made: whether there is anything in which the sides differ.
    """

    def __init__(
        self,
        decision: Decision,
        predicate: Expression,
        before: set[int],
        on_true: tuple[list[Expression], list[Effect]],
        on_false: tuple[list[Expression], list[Effect]],
    ) -> None:
        self.decision, self.predicate, self.outside = decision, predicate, before
        self.results = on_true[0], on_false[0]
        self.common = [one for one in on_true[1] if one.enter.serial in before]
        self.effects = [
            [one for one in effects if one.enter.serial not in before]
            for _, effects in (on_true, on_false)
        ]
        if _enters(self.effects[0]) == _enters(self.effects[1]):
            self.common += self.effects[0]
            self.effects = [[], []]
        self.is_loud = bool(self.effects[0] or self.effects[1])
        self.is_made = False

    def close(self) -> tuple[list[Expression], list[Effect]]:
        """The results, chosen by the predicate, and the effects."""
        wanted = [*zip(*self.results, strict=True)]
        chosen, behind, same = self._parted(wanted)
        self.is_made = bool(chosen) or self.is_loud
        if not self.is_made:
            return self.results[0], self.common
        same += [one.leave for one in self.common]
        self.outside |= {one.serial for one in ancestors(same)}
        with at_line(self.decision.source):
            items = self._node([[pair[side] for pair in chosen.values()] for side in (0, 1)])
        found = dict(zip(chosen, items, strict=False))
        for key, (one, other) in sorted(behind.items()):
            operands = [
                _found(found, *pair) for pair in zip(one.operands, other.operands, strict=True)
            ]
            found[key] = _over(one, tuple(operands))
        results = [_found(found, one, other) for one, other in wanted]
        if not self.is_loud:
            return results, self.common
        node = items[-1].operands[0]
        return results, [*self.common, Effect(node, len(node.operands) - 1, items[-1])]

    def _parted(
        self, wanted: Sequence[Pair]
    ) -> tuple[dict[Serials, Pair], dict[Serials, Pair], list[Expression]]:
        """What is chosen by the branch, what follows it on both sides alike, and what is the same.

        What follows is the same ops of what is chosen. Where that would be computed on a side
        too, nothing follows.
        """
        if self.is_loud:
            own = [one for one in wanted if one[0] is not one[1] or self._is_inside(one[0])]
            return {_serials(one): one for one in own}, {}, []
        chosen: dict[Serials, Pair] = {}
        behind: dict[Serials, Pair] = {}
        same: list[Expression] = []
        stack = [*reversed(wanted)]
        while stack:
            one, other = pair = stack.pop()
            key = _serials(pair)
            if one is other:
                same.append(one)
            elif key not in chosen and key not in behind:
                is_behind = self._is_behind(one, other)
                (behind if is_behind else chosen)[key] = pair
                if is_behind:
                    stack += zip(one.operands, other.operands, strict=True)
        ends = [one for pair in chosen.values() for one in pair]
        inside = {one.serial for one in cut(ends, self._is_inside)[0]}
        if any(one.serial in inside for pair in behind.values() for one in pair):
            differing = [one for one in wanted if one[0] is not one[1]]
            same = [one for one, other in wanted if one is other]
            return {_serials(one): one for one in differing}, {}, same
        return chosen, behind, same

    def _is_behind(self, one: Expression, other: Expression) -> bool:
        """Whether two values, one of each side, are the same op of what the branch chooses."""
        if not (one.operands and self._is_inside(one) and self._is_inside(other)):
            return False
        if len(one.operands) != len(other.operands) or not _have_type(one, other):
            return False
        if intern_key(one.op, (), one.attrs) != intern_key(other.op, (), other.attrs):
            return False
        pairs = zip(one.operands, other.operands, strict=True)
        for left, right in pairs:
            if left is right:
                continue
            if not (_have_type(left, right) and (self._is_made(left) or self._is_made(right))):
                return False
            if isinstance(left.type, TupleType) and not self._is_behind(left, right):
                return False
        return True

    def _is_made(self, node: Expression) -> bool:
        """Whether a value is computed on a side."""
        return bool(node.operands) and self._is_inside(node)

    def _node(self, sides: list[list[Expression]]) -> list[Expression]:
        """The items of the cond, the last of them the token if there are effects."""
        ends = [one.leave for effects in self.effects for one in effects]
        _, border = cut([*sides[0], *sides[1], *ends], self._is_inside)
        inputs, given = list(border), list(border)
        if self.is_loud:
            token = stand_in(TensorType((1 + depth(),), np.dtype(np.int64)), "token")
            inputs.append(token)
            given.append(first_token(depth()))
            for results, effects in zip(sides, self.effects, strict=True):
                results[:], last = in_order(results, effects, token)
                results.append(last)
        on_true, on_false = (Body.of(inputs, results) for results in sides)
        attrs = {"on_true": on_true, "on_false": on_false}
        node = construct(control.cond, (self.predicate, *given), attrs)
        return items_of(node, len(sides[0]))

    def _is_inside(self, node: Expression) -> bool:
        """Whether a value is computed in a body: constants are, wherever they were made."""
        if node.op in _FED:
            return False
        return node.serial not in self.outside or not node.operands


def _over(node: Expression, operands: tuple[Expression, ...]) -> Expression:
    """The expression over other operands; itself over its own."""
    if all(one is other for one, other in zip(operands, node.operands, strict=True)):
        return node
    made = again(node, operands)
    made.weak = node.weak
    return made


def _serials(pair: Pair) -> Serials:
    return pair[0].serial, pair[1].serial


def _found(found: dict[Serials, Expression], one: Expression, other: Expression) -> Expression:
    return one if one is other else found[one.serial, other.serial]


def _have_type(one: Expression, other: Expression) -> bool:
    """Whether two values have the same type; of a loop or a branch that is a tuple."""
    left, right = one.type, other.type
    if isinstance(left, TupleType) or isinstance(right, TupleType):
        return left == right
    return same_type(left, right)


def _enters(effects: Sequence[Effect]) -> list[int]:
    return [one.enter.serial for one in effects]


def joined(
    paths: Sequence[Path], first: int = 0
) -> tuple[list[Expression], list[Effect], dict[str, bool]]:
    """The results and effects of a function, given those on all ways through it, in order.

    Args:
        paths: the ways.
        first: a serial below those of all that the function has made.

    Returns:
        The results, the effects, and per line with a branch whether it became a `cond`: if
        not, nothing depends on it.

    Raises:
        DisagreementError: the results differ in dtype or shape.
    """
    joining = _Joining(first)
    known = [joining.known(path) for path in paths]
    results, effects = joining.join(known, 0)
    return results, effects, joining.branches


def padded(
    results: Sequence[Sequence[Expression]],
) -> tuple[list[list[Expression]], list[list[int]]]:
    """Results of which each way has its own, as many of each: zeros where a way has none.

    Returns:
        Per way its results, and zeros; and where its own are among them.
    """
    types: list[TensorType] = []
    slots: list[list[int]] = []
    for own in results:
        free = [*range(len(types))]
        slots.append([])
        for one in own:
            place = next((i for i in free if types[i] == one.type), len(types))
            if place == len(types):
                types.append(one.type)
            else:
                free.remove(place)
            slots[-1].append(place)
    zeros = [ops.broadcast_to(constant(np.zeros((), one.dtype)), one.shape) for one in types]
    made = []
    for own, places in zip(results, slots, strict=True):
        found = dict(zip(places, own, strict=True))
        made.append([found.get(i, zero) for i, zero in enumerate(zeros)])
    return made, slots
