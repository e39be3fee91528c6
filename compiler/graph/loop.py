"""Loop: a scan with its body as expressions, to be read, changed and closed to a node again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from compiler.dims import Size
from compiler.graph.body import Body, between
from compiler.graph.expression import Expression, construct
from compiler.op import Attrs
from compiler.ops import control


@dataclass(frozen=True, slots=True, eq=False)
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


@dataclass(frozen=True, slots=True, eq=False)
class Loop:
    """A scan whose body is made of expressions.

    Attributes:
        consts, xs: pairs of what the body reads and of the expression outside that it stands for;
            of `xs` the body reads the slices.
        carries: what goes from step to step.
        ys: what the body gives to be stacked.
        length, reverse: the number of steps, and whether the last slice comes first.
    """

    consts: Sequence[tuple[Expression, Expression]]
    carries: Sequence[Carry]
    xs: Sequence[tuple[Expression, Expression]]
    ys: Sequence[Expression]
    length: Size
    reverse: bool

    @property
    def outputs(self) -> list[Expression]:
        """What the body gives: the next carries and the ys."""
        return [*(carry.next for carry in self.carries), *self.ys]

    def close(self) -> list[Expression]:
        """The last carries and the stacked ys, as expressions. Consts and xs that the body does
        not read are left out.
        """
        if not self.outputs:
            return []
        pairs = (*self.consts, *self.xs)
        border = {inner.serial for inner, _ in pairs} | {one.inner.serial for one in self.carries}
        read = {output.serial for output in self.outputs}
        for node in between(self.outputs, dict.fromkeys(border)):
            read.update(operand.serial for operand in node.operands)
        consts = [pair for pair in self.consts if pair[0].serial in read]
        xs = [pair for pair in self.xs if pair[0].serial in read]
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


def open_loop(operands: Sequence[Expression], attrs: Attrs) -> Loop:
    """The loop of a scan of these operands and attributes."""
    inputs, outputs = attrs["body"].expressions()
    consts, carries = attrs["consts"], attrs["carries"]
    start = consts + carries
    return Loop(
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
