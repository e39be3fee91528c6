"""`compile(checks="int")`: integers that leave their dtype, or are divided by 0, end the call.

Beside each integer op stands how many of its elements are wrong, which the same loop counts. In
loops those of the first wrong iteration are carried; a check (`ops/programs/effects.py`)
looks at them when the loop has ended, before anything is updated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core.dtypes import is_float
from staticgraph.compiler.core.source import place_of
from staticgraph.compiler.graph.body import Body
from staticgraph.compiler.graph.effects import Effect, first_token
from staticgraph.compiler.graph.expression import Expression, again, at_line, constant, construct
from staticgraph.compiler.graph.loop import Carry, items_of, open_loop
from staticgraph.compiler.graph.traversal import fold
from staticgraph.compiler.ops.programs import control, effects
from staticgraph.compiler.ops.programs.effects import user_text
from staticgraph.compiler.transforms.control_gradients import stand_in

_FAR = 2.0**62  # what wrapped is off by 2**64, what was rounded by much less
_INT64, _FLOAT64 = np.dtype(np.int64), np.dtype(np.float64)


class Count(NamedTuple):
    """How much of an op's result is wrong.

    Attributes:
        numbers: how many elements, and what their operands add up to: scalars. Of an op in a loop
            they are of the first iteration in which elements are wrong.
        iterations: which iterations of the loops around, the outermost first.
        text: what the check says of these numbers.
        source: the user's line.
    """

    numbers: tuple[Expression, ...]
    iterations: tuple[Expression, ...]
    text: str
    source: str


def integer_checks(
    roots: Sequence[Expression], known: Sequence[Effect] = ()
) -> tuple[list[Expression], list[Effect]]:
    """The roots of a graph, and its effects: those that are known, and the checks of integers."""
    ends = [end for effect in known for end in (effect.enter, effect.leave)]
    made, counts = _counted([*roots, *ends], {})
    remade = iter(made[len(roots) :])
    found = [Effect(next(remade), effect.position, next(remade)) for effect in known]
    for count in counts:
        with at_line(count.source):
            holds = ops.equal(count.numbers[0], 0)
            numbers = (*count.numbers, *count.iterations)
            at = ", ".join(["{}"] * len(count.iterations))
            text = f"{count.text} (iteration {at})" if at else count.text
            attrs = {
                "text": user_text("check", text, len(numbers)),
                "batched": False,
                "place": 0,
            }
            check = construct(effects.check, (first_token(0), holds, *numbers), attrs)
        found.append(Effect(check, 0, check))
    return made[: len(roots)], found


def _counted(
    roots: Sequence[Expression], known: dict[int, Expression]
) -> tuple[list[Expression], list[Count]]:
    """The roots, whose loops and branches count too, and the counts of all their ops."""
    counts: list[Count] = []
    items: dict[int, list[Expression]] = {}

    def remade(node: Expression, operands: tuple[Expression, ...]) -> Expression:
        if node.op is control.item and node.operands[0].serial in items:
            return items[node.operands[0].serial][node.attrs["index"]]
        rewrite = _NESTED.get(node.op.name)
        if rewrite is not None:
            with at_line(node.source):
                found = rewrite(node, operands)
            if found is not None:
                items[node.serial], more = found
                counts.extend(more)
                return items[node.serial][0].operands[0]
        same = all(one is other for one, other in zip(operands, node.operands, strict=True))
        made = node if same else again(node, operands)
        counts.extend(_counts_of(made))
        return made

    return fold(roots, known, remade), counts


def _counts_of(node: Expression) -> Iterator[Count]:
    """How many elements of an op on integers are wrong, if some can be."""
    rule = _WRONG.get(node.op.name)
    if rule is None or node.dtype.kind not in "iu" or node.source.startswith("gradient of"):
        return
    with at_line(place_of(node.source)):
        for wrong, said in rule(node):
            numbers = [_total(wrong)]
            if node.op.elementwise or node.op is ops.astype:
                numbers += [_total(ops.where(wrong, one, _zero(one))) for one in node.operands]
            fields = " and ".join(["{}"] * (len(numbers) - 1))
            of = f", whose operands are (of several, add up to) {fields}" if fields else ""
            text = f"{node.op.name}: {said} in {{}} of its elements{of}"
            yield Count(tuple(numbers), (), text, place_of(node.source))


def _total(values: Any) -> Any:
    """The sum of values, of integers and bools as int64."""
    return ops.sum(values if is_float(values.dtype) else ops.astype(values, _INT64))


def _zero(one: Expression) -> Expression:
    return constant(np.zeros((), one.dtype))


Found: TypeAlias = "list[tuple[Any, str]]"
"""Where elements are wrong, and how that is said; nothing if none can be."""


def _overflow(node: Expression) -> str:
    return f"{node.dtype.name} overflow"


def _added(node: Expression) -> Found:
    a, b = node.operands
    grows = ops.greater_equal(b, _zero(b))
    return [(ops.not_equal(grows, ops.greater_equal(node, a)), _overflow(node))]


def _subtracted(node: Expression) -> Found:
    a, b = node.operands
    shrinks = ops.greater_equal(b, _zero(b))
    return [(ops.not_equal(shrinks, ops.less_equal(node, a)), _overflow(node))]


def _multiplied(node: Expression) -> Found:
    left, right = (node.operands * 2)[:2]  # square has one
    if node.dtype != _INT64:
        exact = ops.astype(left, _INT64) * ops.astype(right, _INT64)
        return [(ops.not_equal(exact, ops.astype(node, _INT64)), _overflow(node))]
    return _far(ops.astype(left, _FLOAT64) * ops.astype(right, _FLOAT64), node)


def _far(rounded: object, node: Expression) -> Found:
    """Where an integer is not what floats, rounded, give."""
    apart = ops.abs(rounded - ops.astype(node, _FLOAT64))
    return [(ops.greater(apart, _FAR if node.dtype == _INT64 else 0.5), _overflow(node))]


def _again_in_floats(node: Expression) -> Found:
    floats = tuple(ops.astype(one, _FLOAT64) for one in node.operands)
    return _far(construct(node.op, floats, node.attrs), node)


def _lowest(one: Expression) -> Any:
    return constant(np.array(np.iinfo(one.dtype).min, one.dtype))


def _negated(node: Expression) -> Found:
    (a,) = node.operands
    if a.dtype.kind == "u":
        of_all = [(ops.not_equal(a, _zero(a)), _overflow(node))]
        return of_all if node.op is ops.negative else []
    return [(ops.equal(a, _lowest(a)), _overflow(node))]


def _divided(node: Expression) -> Found:
    _, b = node.operands
    return [(ops.equal(b, _zero(b)), "division by 0")]


def _floor_divided(node: Expression) -> Found:
    a, b = node.operands
    if a.dtype.kind == "u":
        return _divided(node)
    beyond = ops.logical_and(ops.equal(a, _lowest(a)), ops.equal(b, _zero(b) - 1))
    return [*_divided(node), (beyond, _overflow(node))]


def _cast(node: Expression) -> Found:
    (a,) = node.operands
    limits = np.iinfo(node.dtype)
    said = f"does not fit {node.dtype.name}"
    if is_float(a.dtype):
        wide = ops.astype(a, _FLOAT64)  # in which limits of 32 bits are not rounded
        above = ops.greater_equal if node.dtype == _INT64 else ops.greater
        least = limits.min - (node.dtype != _INT64)
        inside = ops.logical_and(above(wide, float(least)), ops.less(wide, limits.max + 1.0))
        return [(ops.logical_not(inside), said)]
    if a.dtype.kind == "b" or np.can_cast(a.dtype, node.dtype):
        return []
    return [(ops.not_equal(ops.astype(node, _INT64), ops.astype(a, _INT64)), said)]


_WRONG: dict[str, Callable[[Expression], Found]] = {
    "add": _added,
    "subtract": _subtracted,
    "multiply": _multiplied,
    "square": _multiplied,
    "sum": _again_in_floats,
    "prod": _again_in_floats,
    "cumsum": _again_in_floats,
    "cumprod": _again_in_floats,
    "matmul": _again_in_floats,
    "dot": _again_in_floats,
    "outer": _again_in_floats,
    "power": _again_in_floats,
    "negative": _negated,
    "abs": _negated,
    "floor_divide": _floor_divided,
    "remainder": _divided,
    "fmod": _divided,
    "astype": _cast,
}
"""Where an op's result, of integers, is wrong, and how that is said."""

Rewritten: TypeAlias = "tuple[list[Expression], list[Count]] | None"
"""The items of a loop or a branch that counts too, and its counts; None if it has none."""


def _in_scan(node: Expression, operands: Sequence[Expression]) -> Rewritten:
    loop = open_loop(operands, node.attrs)
    outputs, counts = _counted(loop.outputs, loop.border)
    if not counts:
        return None
    count = len(loop.carries)
    carries = [
        Carry(one.inner, one.first, new)
        for one, new in zip(loop.carries, outputs[:count], strict=True)
    ]
    totals = _totals(counts)
    items = replace(loop, carries=[*carries, *totals], ys=outputs[count:]).close()
    kept = [*items[:count], *items[count + len(totals) :]]
    return kept, _renumbered(counts, items[count + 1 : count + len(totals)], 1)


def _totals(counts: Sequence[Count]) -> list[Carry]:
    """What a loop carries: its iteration, and for each count the numbers of the first wrong one."""
    start = constant(np.zeros((), _INT64))
    now = stand_in(start.type, "iteration")
    totals = [Carry(now, start, now + 1)]
    for count in counts:
        numbers = (*count.numbers, now, *count.iterations)
        inner = [stand_in(one.type, "count") for one in numbers]
        is_first = ops.equal(inner[0], 0)
        for one, number in zip(inner, numbers, strict=True):
            totals.append(Carry(one, _zero(number), ops.where(is_first, number, one)))
    return totals


def _renumbered(counts: Sequence[Count], numbers: Sequence[Expression], loops: int) -> list[Count]:
    """The counts with other numbers, in their order, in so many loops more."""
    rest = iter(numbers)
    return [
        one._replace(
            numbers=tuple([next(rest) for _ in one.numbers]),
            iterations=tuple([next(rest) for _ in range(loops + len(one.iterations))]),
        )
        for one in counts
    ]


def _in_while(node: Expression, operands: Sequence[Expression]) -> Rewritten:
    inputs, outputs = node.attrs["body"].expressions()
    made, counts = _counted(outputs, {one.serial: one for one in inputs})
    if not counts:
        return None
    totals = _totals(counts)
    tested, answer = node.attrs["test"].expressions()
    more = [stand_in(one.inner.type, "count") for one in totals]
    attrs = {
        **node.attrs,
        "test": Body.of([*tested, *more], answer),
        "body": Body.of(
            [*inputs, *(one.inner for one in totals)], [*made, *(one.next for one in totals)]
        ),
    }
    new = construct(node.op, (*operands, *(one.first for one in totals)), attrs)
    items = items_of(new, len(made) + len(totals))
    return items[: len(made)], _renumbered(counts, items[len(made) + 1 :], 1)


def _in_cond(node: Expression, operands: Sequence[Expression]) -> Rewritten:
    sides = []
    for key in ("on_true", "on_false"):
        inputs, outputs = node.attrs[key].expressions()
        sides.append((inputs, *_counted(outputs, {one.serial: one for one in inputs})))
    counts = [one for *_, found in sides for one in found]
    if not counts:
        return None
    bodies = []
    for inputs, outputs, found in sides:
        numbers = [
            number if any(count is one for one in found) else _zero(number)
            for count in counts
            for number in (*count.numbers, *count.iterations)
        ]
        bodies.append(Body.of(inputs, [*outputs, *numbers]))
    attrs = {"on_true": bodies[0], "on_false": bodies[1]}
    new = construct(node.op, tuple(operands), attrs)
    count = len(sides[0][1])
    more = sum(len(one.numbers) + len(one.iterations) for one in counts)
    items = items_of(new, count + more)
    return items[:count], _renumbered(counts, items[count:], 0)


_NESTED: dict[str, Callable[[Expression, Sequence[Expression]], Rewritten]] = {
    "scan": _in_scan,
    "while_loop": _in_while,
    "cond": _in_cond,
}
