"""Definition: what expressions define, each equal one once, as records without expressions.

It is the DAG that `compiler.graph.build` makes a networkx graph of, for whoever needs no more of it
than its nodes in their order: the check of sizes, and a start from the kernel cache.
"""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from staticgraph.compiler.core.errors import GraphError
from staticgraph.compiler.core.op import Attrs, Op
from staticgraph.compiler.core.record import frozen
from staticgraph.compiler.core.reports import Report, collector, report_all
from staticgraph.compiler.core.types import TensorType
from staticgraph.compiler.graph.expression import Expression, again
from staticgraph.compiler.graph.state import State
from staticgraph.compiler.graph.traversal import ancestors, fold_records
from staticgraph.compiler.ops import leaves

LEAVES = (leaves.placeholder, leaves.variable, leaves.constant)
"""The ops of nodes that lie in memory before anything is computed."""

Updates: TypeAlias = Sequence[tuple[Expression, Expression]]


@frozen(eq=False)
class Node:
    """One node of a graph with its operands in order."""

    id: int
    op: Op
    operands: tuple[int, ...]
    attrs: Attrs
    type: TensorType
    name: str | None
    source: str


@frozen(eq=False, weakref_slot=True)
class Definition:
    """The nodes of some outputs and updates, operands first; a node's id is its place.

    Attributes:
        inputs, outputs: nodes.
        updates: pairs of a variable's node and the node of its next value.
        merged: what is written elsewhere too: nodes, each with the source of an equal one.
    """

    nodes: tuple[Node, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    updates: tuple[tuple[int, int], ...]
    merged: tuple[tuple[int, str], ...] = ()

    def with_states(self, copied: Callable[[State], object]) -> Definition:
        """The same over other states of its variables: what `copied` makes of each."""
        nodes = tuple(
            replace(node, attrs={**node.attrs, "key": copied(node.attrs["key"])})
            if node.op is leaves.variable
            else node
            for node in self.nodes
        )
        return replace(self, nodes=nodes)

    def numbered(self) -> dict[int, Node]:
        """The nodes by their ids."""
        return {node.id: node for node in self.nodes}

    def expressions(self) -> list[Expression]:
        """The nodes as expressions again."""
        return list(fold_records(self.nodes, again).values())


def define(
    inputs: Sequence[Expression], outputs: Sequence[Expression], updates: Updates = ()
) -> Definition:
    """What computes `outputs` and the new values of `updates`."""
    nodes: list[Node] = []
    merged: list[tuple[int, str]] = []
    ids: dict[int, int] = {}
    known: dict[Any, int] = {}
    roots = [*inputs, *outputs, *(part for pair in updates for part in pair)]
    for one in ancestors(roots):
        operands = tuple([ids[operand.serial] for operand in one.operands])
        node = known.setdefault(intern_key(one.op, operands, one.attrs), len(nodes))
        if node == len(nodes):
            nodes.append(Node(node, one.op, operands, one.attrs, one.type, one.name, one.source))
        elif operands and one.source is not nodes[node].source:
            merged.append((node, one.source))
        ids[one.serial] = node
    for node, source in merged:
        first = nodes[node]
        others = ((first.op.name, first.source),)
        report_all("merged", "", [(first.op.name, source)], "computed once", others)
    return Definition(
        tuple(nodes),
        tuple(ids[expression.serial] for expression in inputs),
        tuple(ids[expression.serial] for expression in outputs),
        tuple((ids[variable.serial], ids[new.serial]) for variable, new in updates),
        tuple(merged),
    )


def rebuilt(definition: Definition, made: Mapping[int, Expression]) -> Definition:
    """The definition in which each root is replaced by the expression made for it."""
    inputs = [made[node] for node in definition.inputs]
    outputs = [made[node] for node in definition.outputs]
    updates = [(made[variable], made[new]) for variable, new in definition.updates]
    reports = collector()
    if reports is not None:
        kept = {one.serial for one in ancestors([*inputs, *outputs, *itertools.chain(*updates)])}
        reports.extend(_dropped(definition.nodes, made, kept))
    return define(inputs, outputs, updates)


def _dropped(
    nodes: Sequence[Node], made: Mapping[int, object], kept: Container[int]
) -> Iterator[Report]:
    """The nodes of which nothing is left, each with those that have read it."""
    readers: list[list[Node]] = [[] for _ in nodes]
    for node in nodes:
        for operand in dict.fromkeys(node.operands):
            readers[operand].append(node)
    for node in nodes:
        value = made.get(node.id)
        if isinstance(value, Expression) and value.serial not in kept:
            others = tuple([(one.op.name, one.source) for one in readers[node.id]])
            yield Report("dropped", node.source, node.op.name, "", "nothing reads it", others)


def require_lowerings(nodes: Iterable[Node]) -> None:
    """GraphError unless each op, those of loops and branches too, can be compiled."""
    for node in nodes:
        if node.op.lowering is None and node.op.expand is None and node.op not in LEAVES:
            raise no_lowering(node)
        for value in node.attrs.values():
            body = _body(value)
            if body is not None:
                require_lowerings(body.nodes)


def no_lowering(node: Node) -> GraphError:
    """What is raised for a node of which no kernel can be made."""
    return GraphError(
        f"compile: {node.op.name} has no lowering, so no kernel can compute {node.type} "
        f"({node.source}); with debug=True, it is evaluated with NumPy"
    )


def intern_key(op: Op, operands: tuple[int, ...], attrs: Attrs) -> object:
    """What two equal nodes have in common: the order of commutative operands does not matter."""
    if op.commutative:
        operands = tuple(sorted(operands))
    return op.name, operands, tuple(sorted((key, _exact(value)) for key, value in attrs.items()))


def _exact(value: object) -> Any:
    """An attribute as a key: 0.0 and -0.0 are equal, but not the same."""
    return value.hex() if isinstance(value, float) else value


def to_text(definition: Definition) -> str:
    """One line per node, always the same for equal graphs: `%3 = add(%1, %2) : float32[n]`.

    The bodies of loops and branches follow their node, indented.
    """
    lines = []
    for node in definition.nodes:
        attrs = sorted(node.attrs.items())
        bodies = {key: body for key, value in attrs if (body := _body(value)) is not None}
        parts = [f"%{operand}" for operand in node.operands]
        parts += [
            f"{key}={value}"
            for key, value in attrs
            if (key not in ("key", "dtype") or node.op.name == "astype") and key not in bodies
        ]
        name = f"  # {node.name!r}" if node.name else ""
        line = f"%{node.id} = {node.op.name}({', '.join(parts)}) : {node.type}{name}"
        # a size is named after its placeholder, whose name may be any text
        lines.append("".join(c if c.isprintable() else repr(c)[1:-1] for c in line))
        for key, body in bodies.items():
            lines += [f"  {key}:", textwrap.indent(to_text(body), "    ")]
    lines.append(f"return {', '.join(f'%{node}' for node in definition.outputs)}")
    lines += [f"update %{variable} <- %{new}" for variable, new in definition.updates]
    return "\n".join(lines)


def _body(value: object) -> Definition | None:
    """The definition of a loop's or branch's body, if an attribute is one."""
    found = getattr(value, "definition", None)
    return found if isinstance(found, Definition) else None
