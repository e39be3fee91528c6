"""Collectives in their turn: the order in which all ranks begin and end them is part of the graph.

A collective is one node where it is written. `in_turn` puts three steps in their place: the rank
announces its program, each collective is begun after the one before it, by its number, and is ended
as late as it can be. So no pass can change their order, or drop one on one rank alone; and what is
begun is under way while the rest is computed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from staticgraph.compiler.core.dims import Dim
from staticgraph.compiler.core.errors import GraphError
from staticgraph.compiler.core.user_text import UserText
from staticgraph.compiler.graph.canonical import outline
from staticgraph.compiler.graph.definition import Definition, define
from staticgraph.compiler.graph.effects import first_token
from staticgraph.compiler.graph.expression import Expression, at_line, construct
from staticgraph.compiler.graph.traversal import ancestors, between, fold
from staticgraph.compiler.ops.leaves import size_of
from staticgraph.compiler.ops.programs.collectives import (
    COLLECTIVES,
    STEPS,
    alone,
    attrs_of_steps,
    collective_announce,
    collective_begin,
    collective_end,
    collective_of,
    remember_lines,
)
from staticgraph.compiler.ops.programs.effects import after
from staticgraph.compiler.reference.ranks import current, digest_of


def in_turn(name: str, roots: Sequence[Expression]) -> list[Expression]:
    """The roots of a graph, in which collectives are steps with an order.

    Raises:
        GraphError: there is a collective in a loop or a branch.
    """
    nodes = ancestors(roots)
    _refuse_inner(name, nodes)
    if any(node.op is collective_end for node in nodes):  # a graph that was compiled before
        roots = _without_steps(roots)
        nodes = ancestors(roots)
    if not any(node.op in COLLECTIVES for node in nodes):
        return list(roots)
    if current().size == 1:
        return _alone(name, roots)
    return _Turns(name, roots, nodes).made()


def _alone(name: str, roots: Sequence[Expression]) -> list[Expression]:
    """The roots where there is one rank: nothing is combined, and it is asked that it stays one.

    That is the first thing that is done, so that all is made again.
    """
    attrs = {"title": UserText(name), "digest": 0, "collectives": 0, "ranks": 1}
    with at_line(roots[0].source):
        token = construct(collective_announce, (first_token(0),), attrs)

    def remade(node: Expression, operands: tuple[Expression, ...]) -> Expression:
        if node.op not in COLLECTIVES:
            return _again(node, operands) if operands else node
        with at_line(node.source):
            return alone(node.op, operands[0])

    return _tied(fold(roots, {}, remade), [token])


def _tied(roots: Sequence[Expression], others: Sequence[Expression]) -> list[Expression]:
    """Roots, of which the first one is known when the others are."""
    first, *rest = roots
    with at_line(first.source):
        tied = Expression(after, (first, *others), {}, first.name)
    tied.weak = first.weak
    return [tied, *rest]


def _refuse_inner(name: str, nodes: Iterable[Expression]) -> None:
    for node in nodes:
        for value in node.attrs.values():
            found = _inner(getattr(value, "definition", None))
            if found:
                raise GraphError(
                    f"{name}: {found} in a {node.op.name} ({node.source}): ranks may differ in "
                    "how often they come there: combine its inputs or results outside of it"
                )


def _inner(definition: Definition | None) -> str:
    """A collective in a body, with its line; empty if there is none."""
    if definition is None:
        return ""
    for node in definition.nodes:
        if node.op in COLLECTIVES or node.op in STEPS:
            return f"{node.op.name} ({node.source})"
        for value in node.attrs.values():
            found = _inner(getattr(value, "definition", None))
            if found:
                return found
    return ""


def _without_steps(roots: Sequence[Expression]) -> list[Expression]:
    def plain(node: Expression, operands: tuple[Expression, ...]) -> Expression:
        if node.op is not collective_end:
            return _again(node, operands) if operands else node
        op, attrs = collective_of(node.attrs)
        return Expression(op, operands[2:], attrs, node.name, node.source, node.type)

    return fold(roots, {}, plain)


def _again(node: Expression, operands: tuple[Expression, ...]) -> Expression:
    made = Expression(node.op, operands, node.attrs, node.name, node.source, node.type)
    made.weak = node.weak
    return made


class _Turns:
    """Makes a graph again, with steps for its collectives, each begun as soon as it can be.

    A collective ends after the last begin that does not depend on it. So the reverse pass goes on
    while gradients that are complete are under way.
    """

    def __init__(self, name: str, roots: Sequence[Expression], nodes: Sequence[Expression]) -> None:
        self.name = name
        self.roots = roots
        self.nodes = nodes
        self.collectives = [node for node in nodes if node.op in COLLECTIVES]
        self.known: dict[int, Expression] = {}
        self.begun: list[Expression] = []
        self.last = self._last()

    def _last(self) -> list[int]:
        """Per collective the place of the last one that is begun before it ends."""
        found = [len(self.collectives) - 1] * len(self.collectives)
        places = {node.serial: place for place, node in enumerate(self.collectives)}
        needed: dict[int, int] = {}  # by serial the collectives that a node needs, as bits
        for node in self.nodes:
            bits = 0
            for one in node.operands:
                bits |= needed[one.serial]
            place = places.get(node.serial)
            if place is not None:
                for earlier in range(place):
                    if bits >> earlier & 1:
                        found[earlier] = min(found[earlier], place - 1)
                bits |= 1 << place
            needed[node.serial] = bits
        return found

    def made(self) -> list[Expression]:
        """The roots, of which the first is known when all collectives have ended."""
        before = self._announced()
        for node in self.collectives:
            self._make([node.operands[0]])
            before = self._begin(node, before)
            self._end_due()
        self._make(self.roots)
        ends = [self.known[one.serial] for one in self.collectives]
        return _tied([self.known[one.serial] for one in self.roots], ends)

    def _announced(self) -> Expression:
        lines = outline(define([], self.roots))
        digest = digest_of(*lines)
        remember_lines(digest, lines)
        sizes = {
            size: None for one in self.collectives for size in one.operands[0].shape
            if isinstance(size, Dim)
        }  # fmt: skip
        with at_line(self.collectives[0].source):
            counted = [construct(size_of, (), {"size": size}) for size in sizes]
            attrs = {
                "title": UserText(self.name),
                "digest": digest,
                "collectives": len(self.collectives),
                "ranks": current().size,
            }
            return construct(collective_announce, (first_token(0), *counted), attrs)

    def _make(self, wanted: Sequence[Expression]) -> None:
        """Make what some expressions need and is not there yet, with them."""
        for node in between(wanted, self.known):
            operands = tuple([self.known[one.serial] for one in node.operands])
            self.known[node.serial] = _again(node, operands) if operands else node

    def _begin(self, node: Expression, before: Expression) -> Expression:
        operands = before, self.known[node.operands[0].serial]
        with at_line(node.source):
            made = construct(collective_begin, operands, attrs_of_steps(node.op, node.attrs))
        self.begun.append(made)
        return made

    def _end_due(self) -> None:
        for place, node in enumerate(self.collectives[: len(self.begun)]):
            if self.last[place] != len(self.begun) - 1:
                continue
            operands = self.begun[place], self.begun[-1], self.known[node.operands[0].serial]
            attrs = attrs_of_steps(node.op, node.attrs)
            self.known[node.serial] = Expression(
                collective_end, operands, attrs, node.name, node.source
            )
