"""Rewriting by replay: re-apply each op, in order, through an interning constructor with rules.

Common subexpressions fall together because equal applications are interned, and dead code falls
away because the new graph is built from its roots. A rule sees an op with operands that are
already in normal form, and what it returns is made of ops that pass through the same constructor:
no search for a fixed point is needed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import networkx as nx

from compiler.graph.build import expressions_of, intern_key, operands_of, rebuilt
from compiler.graph.expression import Expression, at_line, constructing
from compiler.op import Attrs, Op

Rewrite = Callable[[Op, tuple[Expression, ...], Attrs], "Expression | None"]


def replay(
    graph: nx.MultiDiGraph[int],
    rules: Mapping[str, Sequence[Rewrite]],
    always: Sequence[Rewrite] = (),
) -> nx.MultiDiGraph[int]:
    """The graph after re-applying each op with the rules of its name, then those for `always`."""
    interned: dict[Any, Expression] = {}
    leaves = expressions_of(graph)

    def make(op: Op, operands: tuple[Expression, ...], attrs: Attrs) -> Expression:
        for rule in (*rules.get(op.name, ()), *always):
            result = rule(op, operands, attrs)
            if result is not None:
                return result
        key = intern_key(op, tuple(operand.serial for operand in operands), attrs)
        if key not in interned:
            interned[key] = Expression(op, operands, attrs)
        return interned[key]

    made: dict[int, Expression] = {}
    with constructing(make):
        for node in sorted(graph):
            data = graph.nodes[node]
            operands = operands_of(graph, node)
            if not operands and data["op"].name in ("placeholder", "variable"):
                made[node] = leaves[node]
                continue
            with at_line(data["source"]):
                made[node] = make(
                    data["op"], tuple(made[operand] for operand in operands), data["attrs"]
                )
            if data["name"] and made[node].name is None and made[node].operands:
                made[node].name = data["name"]
    return rebuilt(graph, made)
