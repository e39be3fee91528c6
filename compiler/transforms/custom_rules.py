"""Gradients that users give: rules of `custom_gradient` that stand for themselves.

A rule is traced on cotangents of which only the types are known. What it reads of the graph around
are then operands of the node, and the rule's expressions are those of placeholders alone: so it is
right wherever the node goes, into the body of a loop or onto a batch, and its own derivatives by
what it reads are found as any others.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence

from staticgraph.compiler import ops
from staticgraph.compiler.core.dims import Size
from staticgraph.compiler.core.op import Attrs
from staticgraph.compiler.core.record import frozen
from staticgraph.compiler.core.types import TensorType
from staticgraph.compiler.graph.body import Body
from staticgraph.compiler.graph.definition import Node, define
from staticgraph.compiler.graph.evaluate import replaced
from staticgraph.compiler.graph.expression import Expression, abstract, construct
from staticgraph.compiler.graph.traversal import ancestors, fold
from staticgraph.compiler.ops import leaves
from staticgraph.compiler.ops.batching import Example
from staticgraph.compiler.ops.declare import size_value
from staticgraph.compiler.ops.programs.regions import GivenRule, custom_gradient, gradient_to

INSIDE = (leaves.constant, leaves.size_of, leaves.iota)
"""What a rule keeps: it is the same everywhere."""


@frozen(eq=False)
class Rule:
    """What a user's rule makes of a cotangent.

    Attributes:
        g, out: stand for the cotangent and the value.
        reads: stand for what else the rule reads.
        found: per argument its cotangent, or None.
    """

    g: Expression
    out: Expression
    reads: tuple[Expression, ...]
    found: tuple[Expression | None, ...]

    @property
    def arguments(self) -> int:
        """How many operands of the node, behind the value, are differentiated by."""
        return len(self.found)

    def cotangent(
        self, position: int, g: Expression, out: Expression, reads: Sequence[Expression]
    ) -> Expression | None:
        """That of one argument."""
        found = self.found[position]
        if found is None:
            return None
        values = dict(zip((self.g, self.out, *self.reads), (g, out, *reads), strict=True))
        return replaced([found], values)[0]

    def batched(self, examples: Sequence[Example], size: Size) -> Rule:
        """The rule of a batch, of which the value is one; `examples` are the operands behind it."""
        from staticgraph.compiler.transforms.vectorize import (
            batched,  # which needs the rules of all ops
        )

        arguments, reads = examples[: self.arguments], examples[self.arguments :]
        g, out = (_of_batch(one, size) for one in (self.g, self.out))
        wholes = [
            _of_batch(one, size) if example.batched else one
            for one, example in zip(self.reads, reads, strict=True)
        ]
        batches = {self.g: g, self.out: out}
        batches |= {
            one: whole for one, whole in zip(self.reads, wholes, strict=True) if whole is not one
        }
        there = [one for one in self.found if one is not None]
        made = iter(zip(there, batched(there, batches, size), strict=True))
        found = [
            None if one is None else _of_argument(*next(made), example, size)
            for one, example in zip(self.found, arguments, strict=True)
        ]
        return Rule(g, out, tuple(wholes), tuple(found))


@frozen(eq=False)
class FailingRule:
    """The rule of what cannot be differentiated: the error is raised where somebody does.

    Attributes:
        error: what is raised, from `cause` if there is one.
        arguments: how many operands have such a gradient.
    """

    error: Exception
    arguments: int
    cause: Exception | None = None

    def cotangent(self, position: int, *operands: object) -> Expression | None:
        """Raise the error."""
        raise self.error from self.cause

    def batched(self, examples: Sequence[Example], size: Size) -> FailingRule:
        """The same of a batch."""
        return self


class LazyRule:
    """A rule that is traced when it is asked for.

    Attributes:
        arguments: how many operands are differentiated by.
    """

    def __init__(self, make: Callable[[], Rule], arguments: int) -> None:
        self.arguments = arguments
        self._make = make
        self._made: Rule | None = None

    def trace(self) -> Rule:
        """The rule."""
        if self._made is None:
            self._made = self._make()
        return self._made

    def cotangent(
        self, position: int, g: Expression, out: Expression, reads: Sequence[Expression]
    ) -> Expression | None:
        """That of one argument."""
        return self.trace().cotangent(position, g, out, reads)

    def batched(self, examples: Sequence[Example], size: Size) -> LazyRule:
        """The rule of a batch."""
        return LazyRule(lambda: self.trace().batched(examples, size), self.arguments)


def with_rule(
    value: Expression,
    arguments: Sequence[Expression],
    rule: GivenRule,
    reads: Sequence[Expression] = (),
) -> Expression:
    """The value, whose gradient by the arguments is that of a rule."""
    return construct(custom_gradient, (value, *arguments, *reads), {"rule": rule})


def closed_rule(
    g: Expression, out: Expression, found: Sequence[Expression | None]
) -> tuple[Rule, list[Expression]]:
    """A rule of what was made of a cotangent, and what the rule reads beside it and the value.

    Args:
        g: stands for the cotangent.
        out: the value; it may be one that is only like it, which the results depend on.
        found: per argument what the rule made, or None.
    """
    there = [one for one in found if one is not None]
    own = {g.serial, out.serial}
    reads: dict[int, Expression] = {}
    for node in ancestors(there):
        if node.serial not in own and not own.isdisjoint(one.serial for one in node.operands):
            own.add(node.serial)
    inside = [one for node in ancestors(there) if node.serial in own for one in node.operands]
    for one in (*inside, *there):
        if one.serial not in own and one.op not in INSIDE:
            reads[one.serial] = one
    inner = [abstract(one.type) for one in reads.values()]
    value = abstract(out.type)
    made = iter(replaced(there, dict(zip([out, *reads.values()], [value, *inner], strict=True))))
    closed = tuple([None if one is None else next(made) for one in found])
    return Rule(g, value, tuple(inner), closed), list(reads.values())


def _of_batch(one: Expression, size: Size) -> Expression:
    return abstract(TensorType((size, *one.shape), one.dtype))


def _of_argument(
    one: Expression, whole: Expression | None, example: Example, size: Size
) -> Expression:
    """The cotangent of an argument: summed over the batch if that is the same for all examples."""
    if example.batched:
        return ops.broadcast_to(one, (size, *one.shape)) if whole is None else whole
    if whole is None:
        return one * size_value(size, one)
    return ops.sum(whole, axis=0)


_MARKS = (custom_gradient, gradient_to)


def without_rules(outputs: Sequence[Expression]) -> list[Expression]:
    """The outputs without what only says what a gradient is, in loops and branches too."""
    if not _have_rules(ancestors(outputs)):
        return list(outputs)
    return fold(outputs, {}, _without_rule)


def _have_rules(nodes: Iterable[Expression | Node]) -> bool:
    return any(
        node.op in _MARKS or any(_have_rules(one.definition.nodes) for one in _bodies(node.attrs))
        for node in nodes
    )


def _bodies(attrs: Attrs) -> list[Body]:
    return [one for one in attrs.values() if isinstance(one, Body)]


def _without_rule(node: Expression, operands: tuple[Expression, ...]) -> Expression:
    if node.op in _MARKS:
        return operands[0]
    attrs = node.attrs
    if any(_have_rules(one.definition.nodes) for one in _bodies(attrs)):
        attrs = {
            key: _body_without_rules(one) if isinstance(one, Body) else one
            for key, one in attrs.items()
        }
    elif all(map(operator.is_, operands, node.operands)):
        return node
    return Expression(node.op, operands, attrs, node.name, node.source, node.type)


def _body_without_rules(body: Body) -> Body:
    nodes = body.definition.expressions()
    inputs, outputs = (
        [nodes[at] for at in roots] for roots in (body.definition.inputs, body.definition.outputs)
    )
    return Body(define(inputs, without_rules(outputs)))
