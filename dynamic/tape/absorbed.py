"""Hooks on a node that the tape has as two: a product, and what adds a bias to it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from staticgraph.dynamic.core.errors import AutogradError
from staticgraph.dynamic.core.pytorch import known
from staticgraph.dynamic.tape.handles import RemovableHandle
from staticgraph.dynamic.tape.tape import Node


def register_hook(node: Any, hook: Callable[[Any, Any], Any]) -> RemovableHandle:
    """Call `hook(grad_inputs, grad_outputs)` after a node, with the gradients that PyTorch's has.

    Those of a node within it are computed for the hook, and once more when that node runs.
    """
    shown = node.operands_shown()
    place = known(node.recipe.op).absorbs if isinstance(node, Node) else None
    if place not in shown or len(shown) == 1:
        found: RemovableHandle = node.register_hook(hook)
        return found
    inside, at = node.edges[place], shown.index(place)

    def seen(found: tuple[Any, ...], given: tuple[Any, ...]) -> tuple[Any, ...] | None:
        others = (*found[:at], *found[at + 1 :])
        parts = _within(inside, found[at])
        changed = hook((*others, *parts), given)
        if changed is None:
            return None
        if len(changed) != len(others) + len(parts):
            name = getattr(hook, "__name__", type(hook).__name__)
            raise AutogradError(
                f"hook '{name}' has returned an incorrect number of values (got {len(changed)}, "
                f"but expected {len(others) + len(parts)})"
            )
        if inside is not None:
            _replace_once(inside, changed[len(others) :])
        return (*changed[:at], found[at], *changed[at : len(others)])

    made: RemovableHandle = node.register_hook(seen)
    return made


def _within(node: Any, gradient: Any) -> tuple[Any, ...]:
    """What a node finds for its operands, in PyTorch's order; None for each where there is none."""
    if node is None or gradient is None:
        return (None, None)
    found = node(gradient)
    return tuple([found[i] for i in node.operands_shown()])


def _replace_once(node: Any, gradients: tuple[Any, ...]) -> None:
    """Have a node find these when it runs next."""

    def replace(found: object, given: object) -> tuple[Any, ...]:
        handle.remove()
        return gradients

    handle = node.register_hook(replace)
