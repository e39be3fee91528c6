"""Loops and branches opened: what is computed inside, of all iterations, as values of a graph.

The body of a scan gives each of its values as one more stack of slices. A branch gives those of
both sides, of which the side that is not taken has zeros. A while loop is a scan of as many steps
as it takes, with a branch on whether it goes on.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any

import numpy as np

from staticgraph.compiler.core import dims
from staticgraph.compiler.core.record import frozen
from staticgraph.compiler.core.types import TensorType
from staticgraph.compiler.core.values import Array
from staticgraph.compiler.graph.body import Body
from staticgraph.compiler.graph.definition import LEAVES
from staticgraph.compiler.graph.expression import Expression, at_line, constant, construct
from staticgraph.compiler.graph.loop import items_of
from staticgraph.compiler.graph.traversal import ancestors
from staticgraph.compiler.inspect.bodies import NESTED, Iteration, run_body
from staticgraph.compiler.inspect.interpret import interpret
from staticgraph.compiler.ops import broadcast_to, logical_not
from staticgraph.compiler.ops.programs import control
from staticgraph.compiler.ops.programs.effects import EFFECTS, after
from staticgraph.compiler.transforms.control_gradients import stand_in
from staticgraph.fuzz.graphs.rounding import sizes


@frozen
class Loop:
    """A loop that a value is computed in.

    Attributes:
        op: scan or while_loop.
        source: the user's `file:line`.
        reverse: whether the last slice comes first.
    """

    op: str
    source: str
    reverse: bool = False

    def __str__(self) -> str:
        return f"{self.op} ({self.source})"


@frozen
class Inside:
    """A value inside loops and branches.

    Attributes:
        node: what it is in the body.
        loops: the loops, the outermost first.
        stack: the value of all iterations, with an axis for each loop.
        taken: whether it is computed: a bool with an axis for each of the first loops; None if it
            always is.
    """

    node: Expression
    loops: tuple[Loop, ...]
    stack: Expression
    taken: Expression | None = None


@frozen
class Opened:
    """A loop or a branch of a graph.

    Attributes:
        node: it.
        inside: the values inside.
        operands, attrs: of a loop, of the scan that gives them behind its carries.
    """

    node: Expression
    inside: list[Inside]
    operands: Sequence[Expression] = ()
    attrs: Mapping[str, Any] = field(default_factory=dict)

    @property
    def wanted(self) -> list[Expression]:
        """What has to be computed for a comparison of what is inside."""
        return _together(self.inside)

    def bytes(self, known: Mapping[dims.Unknown, int]) -> int:
        """What all that takes."""
        return sum(_bytes(one, known) for one in self.wanted)

    def has_room(self, known: Mapping[dims.Unknown, int], most: int) -> bool:
        """Whether what is inside one iteration takes at most so many bytes."""
        if not self.attrs:
            return False
        return self.bytes(known) <= most * dims.evaluate(self.attrs["length"], known)


def _bytes(value: Expression, known: Mapping[dims.Unknown, int]) -> int:
    return value.dtype.itemsize * math.prod(dims.evaluate(size, known) for size in value.shape)


def computed(nodes: Sequence[Expression]) -> list[Expression]:
    """The tensors among nodes that are computed."""
    return [
        node
        for node in nodes
        if isinstance(node.type, TensorType) and node.op not in (*LEAVES, *EFFECTS, after)
    ]


def opened(nodes: Sequence[Expression], inputs: Mapping[Expression, Array]) -> Iterator[Opened]:
    """Each loop and each branch among the nodes of a graph."""
    nested = [node for node in nodes if node.op in NESTED]
    if nested:
        lengths = Lengths(sizes(inputs), {})
        if any(map(_has_while, nested)):
            lengths.count(nested, inputs)
        yield from (_opened(node, lengths) for node in nested)


@frozen
class Lengths:
    """How often the tests of while loops are computed, at most.

    Attributes:
        known: the unknown sizes.
        tests: the numbers, by tests with known sizes.
    """

    known: Mapping[dims.Unknown, int]
    tests: dict[Body, int]

    def count(self, nested: Sequence[Expression], inputs: Mapping[Expression, Array]) -> None:
        """Those of while loops among loops and branches, and inside them."""

        def run(body: Body, at: Iteration, given: Sequence[Any]) -> Sequence[Any]:
            if at.part == "test":
                self.tests[body] = max(self.tests.get(body, 0), at.step + 1)
            return run_body(body, given, lambda node, operands, value: None, run)

        interpret([item for node in nested for item in items_of(node, 1)], inputs, run=run)

    def of(self, test: Body) -> int:
        """That of a while loop; 1 in a body that never runs."""
        return self.tests.get(test.with_sizes(lambda size: dims.evaluate(size, self.known)), 1)


def _has_while(node: Any) -> bool:
    if node.op is control.while_loop:
        return True
    bodies = (one for one in node.attrs.values() if isinstance(one, Body))
    return any(_has_while(one) for body in bodies for one in body.definition.nodes)


def _opened(node: Expression, lengths: Lengths) -> Opened:
    with at_line(node.source):
        if node.op is control.cond:
            pred, *operands = node.operands
            bodies = node.attrs["on_true"], node.attrs["on_false"]
            return Opened(node, _sides(pred, operands, *bodies, lengths)[1])
        return (_of_scan if node.op is control.scan else _of_while)(node, lengths)


def _insides(outputs: Sequence[Expression], lengths: Lengths) -> list[Inside]:
    """The values that the outputs of a body are computed of, with those of bodies inside it."""
    found = []
    for node in ancestors(outputs):
        if node.op in NESTED:
            found += _opened(node, lengths).inside
        else:
            found += [Inside(one, (), one) for one in computed([node])]
    return found


def loop_of(node: Expression) -> Loop:
    """What is said of a scan or a while loop."""
    return Loop(node.op.name, node.source, bool(node.attrs.get("reverse")))


def _of_scan(node: Expression, lengths: Lengths) -> Opened:
    inputs, outputs = node.attrs["body"].expressions()
    return _stacked(node, node.operands, inputs, outputs, _insides(outputs, lengths), node.attrs)


def _of_while(node: Expression, lengths: Lengths) -> Opened:
    """A scan whose first carry says whether the loop still goes on."""
    test, body, consts = (node.attrs[key] for key in ("test", "body", "consts"))
    given = [stand_in(type, None) for type in body.inputs]
    goes_on = stand_in(TensorType((), np.dtype(np.bool_)), None)
    (holds,), tested = _sides(goes_on, given, test, _constantly_false(test), lengths)
    after_it, inside = _sides(holds, given, body, _carries_of(body, consts), lengths)
    operands = [*node.operands[:consts], constant(np.True_), *node.operands[consts:]]
    inputs = [*given[:consts], goes_on, *given[consts:]]
    attrs = {
        "consts": consts, "carries": 1 + len(after_it), "length": lengths.of(test),
        "reverse": False,
    }  # fmt: skip
    return _stacked(node, operands, inputs, [holds, *after_it], [*tested, *inside], attrs)


def _constantly_false(test: Body) -> Body:
    return Body.of(test.expressions()[0], [constant(np.False_)])


def _carries_of(body: Body, consts: int) -> Body:
    inputs = body.expressions()[0]
    return Body.of(inputs, inputs[consts:])


def _sides(
    pred: Expression,
    operands: Sequence[Expression],
    on_true: Body,
    on_false: Body,
    lengths: Lengths,
) -> tuple[list[Expression], list[Inside]]:
    """What a branch gives, and the values of both sides: zeros where a side is not taken."""
    traced = [body.expressions() for body in (on_true, on_false)]
    found = [_insides(outputs, lengths) for _, outputs in traced]
    more = [_together(insides) for insides in found]
    bodies = [
        Body.of(traced[0][0], [*traced[0][1], *more[0], *map(_zeros, more[1])]),
        Body.of(traced[1][0], [*traced[1][1], *map(_zeros, more[0]), *more[1]]),
    ]
    attrs = {"on_true": bodies[0], "on_false": bodies[1]}
    made = construct(control.cond, (pred, *operands), attrs)
    count = len(traced[0][1])
    items = items_of(made, count + len(more[0]) + len(more[1]))
    outer = dict(zip([one.serial for side in more for one in side], items[count:], strict=True))
    masks = pred, logical_not(pred)
    return items[:count], [
        Inside(
            one.node,
            one.loops,
            outer[one.stack.serial],
            mask if one.taken is None else outer[one.taken.serial],
        )
        for insides, mask in zip(found, masks, strict=True)
        for one in insides
    ]


def _together(insides: Sequence[Inside]) -> list[Expression]:
    """What a body has to give beside its outputs, each once."""
    found = {one.stack.serial: one.stack for one in insides}
    found |= {one.taken.serial: one.taken for one in insides if one.taken is not None}
    return list(found.values())


def _zeros(value: Expression) -> Expression:
    zeros: Expression = broadcast_to(constant(np.zeros((), value.dtype)), value.shape)
    return zeros


def _stacked(
    node: Expression,
    operands: Sequence[Expression],
    inputs: Sequence[Expression],
    outputs: Sequence[Expression],
    found: Sequence[Inside],
    attrs: Mapping[str, Any],
) -> Opened:
    """The values with the iterations of one more loop, which is made a scan that gives them."""
    carries = attrs["carries"]
    more = _together(found)
    body = Body.of(inputs, [*outputs[:carries], *more])
    attrs = {**attrs, "body": body}
    with at_line(node.source):
        made = construct(control.scan, tuple(operands), attrs)
        stacks = items_of(made, carries + len(more))[carries:]
    outer = dict(zip([one.serial for one in more], stacks, strict=True))
    inside = [
        Inside(
            one.node,
            (loop_of(node), *one.loops),
            outer[one.stack.serial],
            None if one.taken is None else outer[one.taken.serial],
        )
        for one in found
    ]
    return Opened(node, inside, operands, attrs)
