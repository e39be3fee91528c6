"""The reverse pass: nodes in the order opposite to that in which they were made."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from heapq import heappop, heappush
from typing import Any

import numpy as np

from dynamic.grad_mode import mode
from dynamic.tape import AccumulateGrad

Root = tuple[Any, Any]


def run(
    roots: Collection[Root],
    retain_graph: bool,
    create_graph: bool,
    inputs: Sequence[Any] | None = None,
) -> dict[Any, Any]:
    """Propagate cotangents from the roots to the leaves.

    Args:
        roots: nodes, each with the cotangent of its output: an ndarray, or a tensor if
            `create_graph`.
        retain_graph: whether the saved arrays stay for another pass.
        create_graph: whether the pass is recorded itself.
        inputs: nodes whose cotangents are wanted instead of those of all leaves.

    Returns:
        The cotangents of `inputs` that the roots depend on; empty without `inputs`.
    """
    wanted = needed = None
    if inputs is not None:
        wanted = set(inputs)
        needed = _leading_to(wanted, [node for node, _ in roots])
    before, mode.enabled = mode.enabled, create_graph
    try:
        return _propagate(roots, retain_graph, create_graph, wanted, needed)
    finally:
        mode.enabled = before


def _propagate(
    roots: Collection[Root],
    retain_graph: bool,
    create_graph: bool,
    wanted: Collection[Any] | None,
    needed: Collection[Any] | None,
) -> dict[Any, Any]:
    pending: dict[Any, Any] = {}
    heap: list[tuple[int, Any]] = []
    found: dict[Any, Any] = {}
    for node, g in roots:
        if node in pending:
            pending[node] = pending[node] + g
        else:
            pending[node] = g.copy() if type(node) is AccumulateGrad and not create_graph else g
            heappush(heap, (-node.serial, node))
    while heap:
        node = heappop(heap)[1]
        g = pending.pop(node)
        if needed is not None:
            if node in wanted:  # type: ignore[operator]
                found[node] = g
            if node not in needed:
                continue
        parts = node.pull(g, create_graph)
        for edge, part in parts:
            before = pending.get(edge)
            if before is not None:
                pending[edge] = before + part
                continue
            # what a leaf gets is its own: neither passed on nor a view nor read-only
            if (
                type(edge) is AccumulateGrad
                and not create_graph
                and (part is g or type(part) is not np.ndarray or part.base is not None)
            ):
                part = np.array(part)
            pending[edge] = part
            heappush(heap, (-edge.serial, edge))
        if type(node) is not AccumulateGrad:
            if node.cell is not None:
                node.cell.add(g, create_graph)
            if not retain_graph:
                node.release()
    return found


def _leading_to(wanted: Collection[Any], roots: Iterable[Any]) -> set[Any]:
    """The nodes between the roots and the wanted ones: those that have to run."""
    oldest = min((node.serial for node in wanted), default=0)
    seen: set[Any] = set()
    stack = list(roots)
    while stack:
        node = stack.pop()
        if node in seen or node.serial < oldest:
            continue
        seen.add(node)
        stack.extend(edge for edge in node.edges if edge is not None)
    needed: set[Any] = set()
    for node in sorted(seen, key=lambda one: one.serial):
        if any(edge in wanted or edge in needed for edge in node.edges):
            needed.add(node)
    return needed
