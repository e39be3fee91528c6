"""Loop: a scan with its body as expressions, to be read, changed and closed to a node again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from staticgraph.compiler.core.dims import Size
from staticgraph.compiler.core.op import Attrs
from staticgraph.compiler.core.record import frozen
from staticgraph.compiler.graph.body import Body
from staticgraph.compiler.graph.expression import Expression, construct
from staticgraph.compiler.graph.traversal import between
from staticgraph.compiler.ops.programs import control

Pair: TypeAlias = "tuple[Expression, Expression]"
"""What a body reads, and the expression outside that it stands for."""


@frozen(eq=False)
class Carry:
    """A value that a loop hands from step to step.

    Attributes:
        inner: what the body reads.
        first: its value before the first step, outside.
        next: what the body gives to the next step.
    """

    inner: Expression
    first: Expression
    next: Expression


@frozen(eq=False)
class OpenLoop:
    """A scan whose body is made of expressions.

    Attributes:
        consts, xs: what the body reads, of the xs the slices, and what it stands for outside.
        carries: what goes from step to step.
        ys: what the body gives to be stacked.
        length, reverse: the number of steps, and whether the last slice comes first.
    """

    consts: Sequence[Pair]
    carries: Sequence[Carry]
    xs: Sequence[Pair]
    ys: Sequence[Expression]
    length: Size
    reverse: bool

    @property
    def outputs(self) -> list[Expression]:
        """What the body gives: the next carries and the ys."""
        return [*(carry.next for carry in self.carries), *self.ys]

    @property
    def inputs(self) -> list[Expression]:
        """What the body takes, in the order of the scan's operands."""
        consts, xs = ([inner for inner, _ in pairs] for pairs in (self.consts, self.xs))
        return [*consts, *(carry.inner for carry in self.carries), *xs]

    @property
    def border(self) -> dict[int, Expression]:
        """What the body starts from, by serial."""
        return {one.serial: one for one in self.inputs}

    @property
    def nodes(self) -> list[Expression]:
        """The expressions that the body computes, operands first."""
        return between(self.outputs, self.border)

    def read(self) -> tuple[list[Pair], list[Pair]]:
        """The consts and the xs that the body reads."""
        read = {output.serial for output in self.outputs}
        for node in self.nodes:
            read.update(operand.serial for operand in node.operands)
        return (
            [pair for pair in self.consts if pair[0].serial in read],
            [pair for pair in self.xs if pair[0].serial in read],
        )

    def close(self) -> list[Expression]:
        """The last carries and the stacked ys as expressions, of a scan of what the body reads."""
        if not self.outputs:
            return []
        consts, xs = self.read()
        inner = [one for one, _ in consts] + [one.inner for one in self.carries]
        outer = [one for _, one in consts] + [one.first for one in self.carries]
        attrs = {
            "body": Body.of([*inner, *(one for one, _ in xs)], self.outputs),
            "consts": len(consts),
            "carries": len(self.carries),
            "length": self.length,
            "reverse": self.reverse,
        }
        node = construct(control.scan, (*outer, *(one for _, one in xs)), attrs)
        return items_of(node, len(self.outputs))


def items_of(node: Expression, count: int) -> list[Expression]:
    """The tensors of which the value of `node` consists."""
    return [construct(control.item, (node,), {"index": index}) for index in range(count)]


def open_loop(operands: Sequence[Expression], attrs: Attrs) -> OpenLoop:
    """The loop of a scan of these operands and attributes."""
    inputs, outputs = attrs["body"].expressions()
    consts, carries = attrs["consts"], attrs["carries"]
    start = consts + carries
    return OpenLoop(
        list(zip(inputs[:consts], operands[:consts], strict=True)),
        [
            Carry(*parts)
            for parts in zip(
                inputs[consts:start], operands[consts:start], outputs[:carries], strict=True
            )
        ],
        list(zip(inputs[start:], operands[start:], strict=True)),
        outputs[carries:],
        attrs["length"],
        attrs["reverse"],
    )
