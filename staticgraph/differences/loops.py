"""Loops opened: what is computed inside, of all iterations, as values that a graph can have.

The body of a scan gives each of its values as one more stack of slices. A while loop whose
iterations have been counted is a scan of that many, which gives what the test computes too.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from compiler.core import dims
from compiler.core.types import TensorType
from compiler.core.values import Array
from compiler.graph.body import Body
from compiler.graph.definition import LEAVES
from compiler.graph.evaluate import substitute
from compiler.graph.expression import Expression, at_line, construct
from compiler.graph.loop import items_of
from compiler.graph.traversal import ancestors
from compiler.inspect.interpret import interpret
from compiler.ops import control
from compiler.ops.effects import EFFECTS, after
from staticgraph.fuzz.graphs.rounding import sizes

MOST = 1 << 26
"""Bytes of the values inside one loop: above them it stays closed."""


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
class Inside:
    """A value inside loops.

    Attributes:
        node: what it is in the body.
        loops: the loops, the outermost first.
        stack: the value of all iterations, with an axis for each loop.
    """

    node: Expression
    loops: tuple[Loop, ...]
    stack: Expression


def computed(nodes: Sequence[Expression]) -> list[Expression]:
    """The tensors among nodes that are computed."""
    return [
        node
        for node in nodes
        if isinstance(node.type, TensorType) and node.op not in (*LEAVES, *EFFECTS, after)
    ]


def opened(
    nodes: Sequence[Expression], inputs: Mapping[Expression, Array]
) -> Iterator[tuple[Expression, list[Inside] | None]]:
    """Each loop among the nodes of a graph with the values inside; None if they take too much."""
    known = sizes(inputs)
    for node in nodes:
        if node.op is control.scan:
            found = _of_scan(node)
        elif node.op is control.while_loop:
            found = _of_while(node, inputs)
        else:
            continue
        taken = sum(_bytes(one.stack, known) for one in found)
        yield node, found if taken <= MOST else None


def _bytes(value: Expression, known: Mapping[dims.Unknown, int]) -> int:
    return value.dtype.itemsize * math.prod(dims.evaluate(size, known) for size in value.shape)


def _insides(outputs: Sequence[Expression]) -> list[Inside]:
    """The values that the outputs of a body are computed of, those of scans inside it too.

    A while loop in a loop has another number of iterations in each: it stays closed.
    """
    found = []
    for node in ancestors(outputs):
        if node.op is control.scan:
            found += _of_scan(node)
        else:
            found += [Inside(one, (), one) for one in computed([node])]
    return found


def loop_of(node: Expression) -> Loop:
    """What is said of a scan or a while loop."""
    return Loop(node.op.name, node.source, bool(node.attrs.get("reverse")))


def _of_scan(node: Expression) -> list[Inside]:
    inputs, outputs = node.attrs["body"].expressions()
    return _stacked(node, inputs, outputs, _insides(outputs), node.attrs)


def _of_while(node: Expression, given: Mapping[Expression, Array]) -> list[Inside]:
    length = _iterations(node, given)
    inputs, outputs = node.attrs["body"].expressions()
    taken, answers = node.attrs["test"].expressions()
    tests = substitute(
        answers, {one.serial: other for one, other in zip(taken, inputs, strict=True)}
    )
    attrs = {
        "consts": node.attrs["consts"], "carries": len(outputs), "length": length, "reverse": False,
    }  # fmt: skip
    return _stacked(node, inputs, outputs, _insides([*tests, *outputs]), attrs)


def _iterations(node: Expression, given: Mapping[Expression, Array]) -> int:
    """How often a while loop runs its body."""
    arrays = interpret(node.operands, given)
    consts = node.attrs["consts"]
    fixed, carry = arrays[:consts], list(arrays[consts:])
    count = 0
    with np.errstate(all="ignore"):
        while node.attrs["test"](*fixed, *carry)[0]:
            carry = node.attrs["body"](*fixed, *carry)
            count += 1
    return count


def _stacked(
    node: Expression,
    inputs: Sequence[Expression],
    outputs: Sequence[Expression],
    found: Sequence[Inside],
    attrs: Mapping[str, Any],
) -> list[Inside]:
    """The values with the iterations of one more loop, which is made a scan that gives them."""
    body = Body.of(inputs, [*outputs, *(one.stack for one in found)])
    with at_line(node.source):
        made = construct(control.scan, node.operands, {**attrs, "body": body})
        stacks = items_of(made, len(outputs) + len(found))[len(outputs) :]
    return [
        Inside(one.node, (loop_of(node), *one.loops), stack)
        for one, stack in zip(found, stacks, strict=True)
    ]
