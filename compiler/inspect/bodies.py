"""Loops and branches op by op: what runs their bodies, iteration by iteration."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from staticgraph.compiler.core.errors import StaticGraphError, located
from staticgraph.compiler.core.record import frozen
from staticgraph.compiler.core.values import Value
from staticgraph.compiler.graph.body import Body
from staticgraph.compiler.graph.definition import Node
from staticgraph.compiler.graph.expression import Expression
from staticgraph.compiler.graph.traversal import fold_records
from staticgraph.compiler.ops.programs import control

NESTED = (control.scan, control.while_loop, control.cond)
"""The ops that have bodies."""


@frozen
class Iteration:
    """One run of a body.

    Attributes:
        op: scan, while_loop or cond.
        source: the user's `file:line` of the loop or branch.
        index: which iteration it is, from 0; of a scan, which slice of the xs.
        part: the attribute that holds the body: body, test, on_true or on_false.
        step: how many iterations ran before; another number than `index` in reverse.
    """

    op: str
    source: str
    index: int
    part: str
    step: int

    def __str__(self) -> str:
        if self.op == "cond":
            return f"in the {self.part[3:]} branch of cond ({self.source})"
        test = "the condition of " if self.part == "test" else ""
        return f"in {test}iteration {self.index} of {self.op} ({self.source})"


Run: TypeAlias = "Callable[[Body, Iteration, Sequence[Any]], Sequence[Any]]"
"""What runs a body on some values, and gives those of its outputs."""

Inside: TypeAlias = "Callable[[Node, Sequence[Any], Any, tuple[Iteration, ...]], None]"
"""Called with a node of a body, its operands, its value, and where it ran, outermost first."""


def run_nested(
    node: Expression | Node, arrays: Sequence[Any], attrs: Mapping[str, Any], run: Run
) -> tuple[Any, ...]:
    """The value of a loop or branch whose bodies `run` runs; `attrs` have no unknown size."""
    name, source = node.op.name, node.source
    if node.op is control.cond:
        part = "on_true" if arrays[0] else "on_false"
        return tuple(run(attrs[part], Iteration(name, source, 0, part, 0), arrays[1:]))
    consts = arrays[: attrs["consts"]]
    carry: Sequence[Any]
    if node.op is control.while_loop:
        carry, index = arrays[attrs["consts"] :], 0
        while True:
            test, body = (Iteration(name, source, index, one, index) for one in ("test", "body"))
            if not run(attrs["test"], test, [*consts, *carry])[0]:
                return tuple(carry)
            carry = run(attrs["body"], body, [*consts, *carry])
            index += 1
    body, count, length = attrs["body"], attrs["carries"], attrs["length"]
    start = len(consts) + count
    carry, xs = arrays[len(consts) : start], arrays[start:]
    ys = [np.empty((length, *type.shape), type.dtype) for type in body.outputs[count:]]
    for step in range(length):
        index = length - 1 - step if attrs["reverse"] else step
        given = [*consts, *carry, *(x[index] for x in xs)]
        results = run(body, Iteration(name, source, index, "body", step), given)
        carry = results[:count]
        for y, value in zip(ys, results[count:], strict=True):
            y[index] = value
    return (*carry, *ys)


def run_body(
    body: Body,
    given: Sequence[Value],
    step: Callable[[Node, Sequence[Value], Value], None],
    run: Run,
) -> list[Value]:
    """The outputs of a body, node by node: `step` sees each one, `run` runs the bodies in it."""

    def evaluated(node: Node, operands: tuple[Any, ...]) -> Any:
        try:
            if node.op in NESTED:
                value: Any = run_nested(node, operands, node.attrs, run)
            else:
                value = node.op.value(*operands, **node.attrs)
        except StaticGraphError as error:
            raise located(error, node.source, f"{error} ({node.source})") from error
        step(node, operands, value)
        return value

    inputs = dict(zip(body.definition.inputs, given, strict=True))
    values = fold_records(body.definition.nodes, evaluated, inputs)
    return [values[node] for node in body.definition.outputs]


def observed(inside: Inside, most: int | None = None, path: tuple[Iteration, ...] = ()) -> Run:
    """What runs bodies and shows each of their ops to `inside`.

    `most`: in how many iterations of each loop; None for all.
    """

    def run(body: Body, at: Iteration, given: Sequence[Any]) -> Sequence[Any]:
        if most is not None and at.step >= most:
            return body(*given)
        here = (*path, at)

        def step(node: Node, operands: Sequence[Any], value: object) -> None:
            inside(node, operands, value, here)

        return run_body(body, given, step, observed(inside, most, here))

    return run
