"""Unify sizes: unknowns that the type rules assume to be equal become one unknown, or a number.

What was assumed is returned beside the graph: it is checked at run time, before native code runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import networkx as nx

from compiler import dims
from compiler.dims import Dim, Size, Unknown
from compiler.graph.build import operands_of, rebuilt
from compiler.graph.expression import Expression
from compiler.types import TensorType, collecting_assumptions


@dataclass(frozen=True, slots=True)
class Assumption:
    """Two sizes that must be equal at run time, and the node that needs it."""

    left: Size
    right: Size
    op: str
    types: tuple[TensorType, ...]
    source: str


def unify_sizes(
    graph: nx.MultiDiGraph[int],
) -> tuple[nx.MultiDiGraph[int], tuple[Assumption, ...], dict[Unknown, Size]]:
    """The graph with equal unknowns merged, what is assumed, and what each unknown became."""
    assumptions = tuple(_assumptions(graph))
    merged: dict[Unknown, Size] = {}
    for assumption in assumptions:
        _merge(merged, assumption.left, assumption.right)
    if not merged:
        return graph, assumptions, merged
    made: dict[int, Expression] = {}
    for node in sorted(graph):
        data = graph.nodes[node]
        operands = tuple(made[operand] for operand in operands_of(graph, node))
        attrs = {key: _substitute(value, merged) for key, value in data["attrs"].items()}
        made[node] = Expression(data["op"], operands, attrs, data["name"], data["source"])
    return rebuilt(graph, made), assumptions, merged


def _assumptions(graph: nx.MultiDiGraph[int]) -> list[Assumption]:
    found = []
    for node in sorted(graph):
        data = graph.nodes[node]
        types = tuple(graph.nodes[operand]["type"] for operand in operands_of(graph, node))
        with collecting_assumptions() as pairs:
            data["op"].infer_type(*types, **data["attrs"])
        found += [
            Assumption(left, right, data["op"].name, types, data["source"])
            for left, right in dict.fromkeys(pairs)
        ]
    return found


def _merge(merged: dict[Unknown, Size], left: Size, right: Size) -> None:
    left, right = _substitute(left, merged), _substitute(right, merged)
    for one, other in ((right, left), (left, right)):
        atom = single(one)
        if atom is not None and one != other and atom not in dims.atoms([other]):
            for known, size in merged.items():
                merged[known] = _substitute(size, {atom: other})
            merged[atom] = other
            return


def single(size: Size) -> Unknown | None:
    """The unknown that a size consists of, or None."""
    if isinstance(size, Dim) and len(size.terms) == 1:
        ((monomial, coefficient),) = size.terms
        if coefficient == 1 and len(monomial) == 1 and isinstance(monomial[0], Unknown):
            return monomial[0]
    return None


def _substitute(value: Any, merged: Mapping[Unknown, Size]) -> Any:
    if isinstance(value, Dim):
        return dims.substitute(value, merged)
    if isinstance(value, tuple):
        return tuple(_substitute(part, merged) for part in value)
    return value

