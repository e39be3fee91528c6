"""The table of rules: each is one declaration of what it looks for, and how sure it is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any, NamedTuple

from staticgraph.compiler.core.record import Record, record
from staticgraph.compiler.core.source import gradient_of, place_of
from staticgraph.compiler.graph.definition import Definition, Node
from staticgraph.compiler.graph.expression import Expression
from staticgraph.compiler.graph.notes import Note
from staticgraph.compiler.ops import leaves


class Finding(NamedTuple):
    """What a rule found.

    Attributes:
        rule: its name.
        message: the op, its values, and what to write instead.
        source: the user's `file:line`.
    """

    rule: str
    message: str
    source: str


@record
class Captured(Record):
    """What a captured function of tensors does beside its results, as nodes.

    Attributes:
        results: how many outputs are the caller's, the first ones.
        stepped: the parameters of the optimizers that it steps.
        reached: those that get a gradient.
        written: tensors that it overwrites.
        unused: the arguments that nothing depends on: names, and the user's lines.
    """

    results: int
    stepped: frozenset[int]
    reached: frozenset[int]
    written: frozenset[int]
    unused: tuple[tuple[str, str], ...]


@record
class Linted(Record):
    """What is compiled, as rules look at it.

    Attributes:
        definition: its nodes; that of a body where a rule looks at the nodes of one.
        notes: what was noted of its expressions.
        reads: the lines that read a variable's value when the graph was defined.
        line: the user's line that compiles.
        arguments: the placeholders that a call of a captured function gives, not its surroundings.
        captured: what it does besides, if it is one of tensors.
        known: the readers of its nodes, once somebody has asked.
    """

    definition: Definition
    notes: Sequence[tuple[Expression, Note]] = ()
    expressions: frozenset[int] = frozenset()
    reads: Mapping[tuple[str, int], str] = field(default_factory=dict)
    line: str = ""
    arguments: frozenset[int] = frozenset()
    captured: Captured | None = None
    known: list[dict[int, list[Node]]] = field(default_factory=list)

    @property
    def nodes(self) -> tuple[Node, ...]:
        """The nodes, operands first."""
        return self.definition.nodes

    def operand(self, node: Node, position: int) -> Node:
        """An operand of a node."""
        return self.definition.nodes[node.operands[position]]

    def readers(self, node: Node) -> list[Node]:
        """The nodes that read one."""
        if not self.known:
            found: dict[int, list[Node]] = {}
            for one in self.nodes:
                for operand in one.operands:
                    found.setdefault(operand, []).append(one)
            self.known.append(found)
        return self.known[0].get(node.id, [])

    def constant(self, node: Node) -> Any:
        """The array of a constant, also if it is broadcast or cast; None of anything else."""
        while node.op.name in ("broadcast_to", "astype", "expand_dims", "reshape"):
            node = self.operand(node, 0)
        return node.attrs["value"].array if node.op is leaves.constant else None


Look = Callable[[Linted, Node], "str | None"]
LookAtAll = Callable[[Linted], "Iterable[tuple[str, str]]"]


@record
class Rule(Record):
    """One rule.

    Attributes:
        name: what messages call it.
        certain: whether what it finds is a slip wherever it is found; else it is advice.
        ops: the names of the ops that it looks at.
        look: the message about a node of these ops, or None.
        look_at_all: for a rule about a whole graph, pairs of a message and the line.
    """

    name: str
    certain: bool
    ops: tuple[str, ...] = ()
    look: Look | None = None
    look_at_all: LookAtAll | None = None


RULES: list[Rule] = []
"""All rules, in the order in which they are declared."""


def certain(*ops: str) -> Callable[[Look], Look]:
    """Declare a rule about nodes of these ops, whose findings are slips."""
    return _declaring(True, ops)


def advice(*ops: str) -> Callable[[Look], Look]:
    """Declare a rule about nodes of these ops, whose findings may be meant."""
    return _declaring(False, ops)


def _declaring(sure: bool, ops: tuple[str, ...]) -> Callable[[Look], Look]:
    def declare(look: Look) -> Look:
        RULES.append(Rule(look.__name__, sure, ops, look))
        return look

    return declare


def certain_of_all(look: LookAtAll) -> LookAtAll:
    """Declare a rule about a whole graph, whose findings are slips."""
    RULES.append(Rule(look.__name__, True, look_at_all=look))
    return look


def advice_of_all(look: LookAtAll) -> LookAtAll:
    """Declare a rule about a whole graph, whose findings may be meant."""
    RULES.append(Rule(look.__name__, False, look_at_all=look))
    return look


def described(node: Node | Expression) -> str:
    """A value as messages name it: its op, its name if it has one, and its type."""
    label = f" {node.name!r}" if node.name else ""
    return f"{node.op.name}{label} {node.type}"


def is_gradient(node: Node) -> bool:
    """Whether a node is a part of a gradient."""
    return node.source.startswith("gradient of") and bool(gradient_of(node.source))


class Table:
    """Rules by the ops that they look at."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        self._by_op: dict[str, list[Rule]] = {}
        self._of_all: list[Rule] = []
        for rule in rules:
            if rule.look_at_all is not None:
                self._of_all.append(rule)
            for op in rule.ops:
                self._by_op.setdefault(op, []).append(rule)

    def findings(self, linted: Linted) -> list[Finding]:
        """What the rules find."""
        found = list(self._in(linted))
        for rule in self._of_all:
            assert rule.look_at_all is not None
            found += [Finding(rule.name, *one) for one in rule.look_at_all(linted)]
        return list(dict.fromkeys(found))

    def _in(self, linted: Linted) -> Iterator[Finding]:
        """What the rules about nodes find, in loops and branches too."""
        by_op = self._by_op
        for node in linted.definition.nodes:
            rules = by_op.get(node.op.name)
            if rules is not None:
                for rule in rules:
                    assert rule.look is not None
                    message = rule.look(linted, node)
                    if message is not None:
                        yield Finding(rule.name, message, place_of(node.source))
            if node.op.vjp_items is not None:
                for value in node.attrs.values():
                    body = getattr(value, "definition", None)
                    if isinstance(body, Definition):
                        yield from self._in(Linted(body))
