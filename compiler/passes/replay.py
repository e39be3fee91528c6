"""Rewriting by replay: re-apply each op, in order, through an interning constructor with rules.

Common subexpressions fall together because equal applications are interned, and dead code falls
away because the new graph is built from its roots. A rule sees an op with operands that are
already in normal form, and what it returns is made of ops that pass through the same constructor:
no search for a fixed point is needed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from staticgraph.compiler.core.op import Attrs, Op
from staticgraph.compiler.core.reports import Report, collector
from staticgraph.compiler.graph.definition import Definition, Node, intern_key, rebuilt
from staticgraph.compiler.graph.expression import (
    Expression,
    again,
    at_line,
    constructing,
    current_line,
)
from staticgraph.compiler.graph.formula import application, written
from staticgraph.compiler.graph.traversal import fold_records

_KINDS = {"fold_constants": "folded", "expand": "expanded"}
"""What rewrites do that are not called rewriting."""

Rewrite = Callable[[Op, tuple[Expression, ...], Attrs], "Expression | None"]


def replay(
    graph: Definition,
    rules: Mapping[str, Sequence[Rewrite]],
    always: Sequence[Rewrite] = (),
) -> Definition:
    """The graph after re-applying each op with the rules of its name, then those for `always`."""
    interned: dict[Any, Expression] = {}
    reports = collector()

    def make(op: Op, operands: tuple[Expression, ...], attrs: Attrs) -> Expression:
        for rule in (*rules.get(op.name, ()), *always):
            result = rule(op, operands, attrs)
            if result is not None:
                if reports is not None:
                    reports.append(_rewritten(rule.__name__, op, operands, attrs, result))
                return result
        key = intern_key(op, tuple(operand.serial for operand in operands), attrs)
        if key not in interned:
            interned[key] = Expression(op, operands, attrs)
        elif reports is not None:
            reports.append(_merged(interned[key]))
        return interned[key]

    def replayed(node: Node, operands: tuple[Expression, ...]) -> Expression:
        if not operands and node.op.name in ("placeholder", "variable"):
            return again(node, operands)
        with at_line(node.source):
            result = make(node.op, operands, node.attrs)
        if node.name and result.name is None and result.operands:
            result.name = node.name
        return result

    with constructing(make):
        made = fold_records(graph.nodes, replayed)
    return rebuilt(graph, made)


def _rewritten(
    name: str, op: Op, operands: Sequence[Expression], attrs: Attrs, result: Expression
) -> Report:
    text = f"{application(op, operands, attrs)} -> {written(result)}"
    kind = _KINDS.get(name, "rewritten")
    return Report(kind, current_line(), op.name, name, text, ((result.op.name, result.source),))


def _merged(first: Expression) -> Report:
    """What would be made again is there already."""
    others = ((first.op.name, first.source),)
    return Report("merged", current_line(), first.op.name, "", "computed once", others)
