"""Derivatives and batches of `while_loop`, whose number of steps is known when it has run.

Forward mode is a loop of values with their tangents. `pushforward` finds tangents by transposing
twice: the first transpose is an op that is never computed (`pulled_while`), whose own transpose is
that loop. Reverse mode needs a bound of the steps: it is that of a scan of as many steps, which
does nothing when the condition holds no more.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from staticgraph.compiler.core import provided
from staticgraph.compiler.core.dtypes import is_inexact
from staticgraph.compiler.core.errors import GraphError
from staticgraph.compiler.core.op import Op
from staticgraph.compiler.core.types import TensorType, TupleType
from staticgraph.compiler.core.values import Value
from staticgraph.compiler.graph.body import Body
from staticgraph.compiler.graph.effects import without_effects
from staticgraph.compiler.graph.evaluate import substitute
from staticgraph.compiler.graph.expression import Expression, abstract, construct
from staticgraph.compiler.graph.loop import items_of
from staticgraph.compiler.ops.declare import zeros_like
from staticgraph.compiler.ops.programs import control
from staticgraph.compiler.transforms.autodiff import is_forward, pullback, pushforward
from staticgraph.compiler.transforms.control_gradients import stand_in
from staticgraph.compiler.transforms.custom_rules import LazyRule, Rule, with_rule
from staticgraph.compiler.transforms.packing import packed, unpacked


def _is_float(one: Expression) -> bool:
    return is_inexact(one.dtype)


# -- forward mode ------------------------------------------------------------------------------


def _pulled_type(*types: TensorType, test: Body, body: Body, consts: int) -> TupleType:
    """Of the cotangents of floating carries, then the operands of the loop: those of these."""
    operands = types[len(types) - len(body.inputs) :]
    return TupleType(tuple(one for one in operands if is_inexact(one.dtype)))


def _pulled_value(*operands: Value, **attrs: Value) -> NoReturn:
    raise GraphError("while_loop: its transpose has no value: it has no reverse-mode gradient")


def _tangents_of_carries(
    positions: Sequence[int],
    tangents: Sequence[Value],
    out: Value,
    *operands: Value,
    test: Body,
    body: Body,
    consts: int,
) -> Sequence[Value]:
    """The cotangents of the cotangents of the carries: the tangents of the last carries."""
    given = list(operands[len(operands) - len(body.inputs) :])
    moved = _tangent_loop(given, tangents, test, without_effects(body), consts)
    return [moved[i] if i < len(moved) else None for i in positions]


pulled_while = Op(
    name="pulled_while",
    infer_type=_pulled_type,
    evaluate=_pulled_value,
    vjp_items=_tangents_of_carries,
    doc="The cotangents of the operands of a while loop, of which only the types are known.",
)


def _tangent_loop(
    operands: Sequence[Expression],
    tangents: Sequence[Expression | None],
    test: Body,
    body: Body,
    consts: int,
) -> list[Expression]:
    """The tangents of the last carries, given those of the floating operands."""
    moving = [i for i, one in enumerate(operands) if _is_float(one)]
    first = [
        zeros_like(operands[i]) if tangent is None else tangent
        for i, tangent in zip(moving, tangents, strict=True)
    ]
    split = sum(i < consts for i in moving)  # the tangents of consts
    inputs, outputs = body.expressions()
    directions = [stand_in(inputs[i].type, "tangent") for i in moving]
    floats = [one for one in outputs if _is_float(one)]
    moved = pushforward(floats, [inputs[i] for i in moving], directions)
    asked, answer = test.expressions()
    others = [stand_in(one.type, "tangent") for one in directions]

    def arranged(values: Sequence[Expression], along: Sequence[Expression]) -> list[Expression]:
        return [*values[:consts], *along[:split], *values[consts:], *along[split:]]

    attrs = {
        "test": Body.of(arranged(asked, others), answer),
        "body": Body.of(arranged(inputs, directions), [*outputs, *moved]),
        "consts": consts + split,
    }
    node = construct(control.while_loop, tuple(arranged(operands, first)), attrs)
    return items_of(node, len(outputs) + len(moved))[len(outputs) :]


def while_cotangents(
    positions: Sequence[int],
    gs: Sequence[Value],
    out: Value,
    *operands: Value,
    test: Body,
    body: Body,
    consts: int,
) -> Sequence[Value]:
    """The cotangents of the operands of a while loop, where only forward mode asks for them."""
    if not is_forward():
        raise GraphError(
            f"grad: while_loop ({out.source}) has no reverse-mode gradient, since its number of "
            "steps is not known before it runs: give max_steps=, use scan with a length, or jvp"
        )
    given = [
        zeros_like(one) if g is None else g
        for g, one in zip(gs, operands[consts:], strict=True)
        if _is_float(one)
    ]
    attrs = {"test": test, "body": body, "consts": consts}
    node = construct(pulled_while, (*given, *operands), attrs)
    moving = [i for i, one in enumerate(operands) if _is_float(one)]
    found = dict(zip(moving, items_of(node, len(moving)), strict=True))
    return [found.get(i) for i in positions]


provided.while_cotangents.provide(while_cotangents)


# -- reverse mode ------------------------------------------------------------------------------


def with_bound(node: Expression, count: int, max_steps: int) -> list[Expression]:
    """The first `count` items of a while loop, with the gradient of a scan of so many steps."""
    items = items_of(node, count)
    places = [i for i, one in enumerate(items) if _is_float(one)]
    arguments = [one for one in node.operands if _is_float(one)]
    if not places or not arguments:
        return items
    values = [items[i] for i in places]
    joint = packed(values)
    rule = LazyRule(lambda: _bounded_rule(node, places, max_steps), len(arguments))
    made = with_rule(joint, arguments, rule, node.operands)
    for i, part in zip(places, unpacked(made, values), strict=True):
        items[i] = part
    return items


def _bounded_rule(node: Expression, places: Sequence[int], max_steps: int) -> Rule:
    """The gradient of a while loop by that of a scan."""
    from staticgraph.compiler.transforms import (
        control_symbolic as symbolic,  # which makes such loops
    )

    consts = node.attrs["consts"]
    given = [abstract(one.type) for one in node.operands]
    test, body = node.attrs["test"], without_effects(node.attrs["body"])

    def applied(function: Body, carry: Sequence[Expression]) -> list[Expression]:
        inputs, outputs = function.expressions()
        values = [*given[:consts], *carry]
        serials = [one.serial for one in inputs]
        return substitute(outputs, dict(zip(serials, values, strict=True)))

    def step(carry: Any, _: object) -> Any:
        (more,) = applied(test, carry)
        after = symbolic.cond(
            more, lambda *now: tuple(applied(body, now)), lambda *now: now, tuple(carry)
        )
        return after, ()

    last, _ = symbolic.scan(step, tuple(given[consts:]), None, max_steps, False)
    values = [last[i] for i in places]
    out = abstract(packed(values).type)
    g = abstract(out.type)
    floats = [one for one in given if _is_float(one)]
    found = pullback(values, floats, unpacked(g, values))
    return Rule(g, out, tuple(given), tuple(found))
