"""The order in which the reverse pass that is running runs its nodes, found beside it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from staticgraph import dynamic as torch
from staticgraph.dynamic.tape.grad_mode import mode


def execution_order() -> list[Any]:
    """The nodes that the reverse pass that is running runs, in its order."""
    if mode.task is None:
        raise RuntimeError("should only be called during the backward pass")
    if torch.autograd.is_multithreading_enabled():
        raise RuntimeError(
            "expects the current backward to be executed with multithreading disabled"
        )
    task = mode.task
    ready, found, waiting = list(dict.fromkeys(task._roots)), [], _uses(task._roots)
    while ready:
        node = max(ready, key=lambda one: one._sequence_nr())
        ready.remove(node)
        if task._needed is None or node in task._needed or node in task._wanted:
            found.append(node)
        for edge in node.edges:
            if edge is not None:
                waiting[edge] -= 1
                if not waiting[edge] and edge not in task._roots:
                    ready.append(edge)
    return found


def _uses(roots: Sequence[Any]) -> dict[Any, int]:
    """How often each node is an operand of those that the roots lead to."""
    seen: set[Any] = set()
    counts: dict[Any, int] = {}
    stack = list(roots)
    while stack:
        node = stack.pop()
        if node not in seen:
            seen.add(node)
            for edge in node.edges:
                if edge is not None:
                    counts[edge] = counts.get(edge, 0) + 1
                    stack.append(edge)
    return counts
