"""Hooks of the tape: functions that see, and may replace, the gradients that pass through a node.

For each node they run in this order: those of the tensor that it made, the retained gradient,
those before the node, the node itself, those after it, and at a leaf those after accumulation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from staticgraph.compiler.core.op import Operand
from staticgraph.compiler.core.refusals import refuse
from staticgraph.dynamic.core import provided
from staticgraph.dynamic.core.dtypes import DTYPES
from staticgraph.dynamic.core.errors import ArgumentError, AutogradError
from staticgraph.dynamic.tape import handles
from staticgraph.dynamic.tape.grad_mode import mode, paused
from staticgraph.dynamic.tape.undefined import UNDEFINED

Hook = Callable[..., Any]


class Cell:
    """Where the gradient of a tensor is put that has no AccumulateGrad.

    Attributes:
        grad: the gradient, or None.
        retains: whether `retain_grad` asked for it.
        hooks: what `_backward_hooks` of a tensor that requires no grad was set to, or None.
    """

    __slots__ = ("grad", "hooks", "retains")

    def __init__(self, grad: object = None, retains: bool = False) -> None:
        self.grad = grad
        self.retains = retains
        self.hooks: Any = None

    def add(self, g: Any, create_graph: bool) -> None:
        """Add a cotangent that others may hold as well."""
        if self.grad is None:
            self.grad = g.clone() if create_graph else np.array(g)
        else:
            total = self.grad + g
            self.grad = total if isinstance(total, Operand) else np.asarray(total)


class Hooks:
    """The hooks of one node.

    Attributes:
        tensor: on the gradient of the tensor that the node made.
        cell: where to retain that gradient, or None.
        before, after: around the node.
        accumulated: after a leaf's gradient was accumulated; called with the leaf.
    """

    __slots__ = ("accumulated", "after", "before", "cell", "tensor")

    def __init__(self) -> None:
        self.tensor, self.before, self.after, self.accumulated = (handles.Hooks() for _ in range(4))
        self.cell: Cell | None = None


def hooks_of(node: Any) -> Hooks:
    """The hooks of a node, which from now on has some."""
    if node.hooks is None:
        node.hooks = Hooks()
    found: Hooks = node.hooks
    return found


def hooks_to_change(node: Any) -> Hooks:
    """The hooks of a node that exists outside of a function that is captured, if one is."""
    refuse_hooks()
    return hooks_of(node)


def refuse_hooks() -> None:
    """Refuse to put a hook on what exists outside, if a function is captured."""
    if paused and mode.capture is not None:
        refuse(
            "puts a hook on a tensor from outside, or retains its gradient: once, and not at each "
            "call",
            "do it outside, before the call",
        )


def as_tensor(g: object) -> Any:
    """A cotangent as a tensor; None where there is none."""
    if g is UNDEFINED:
        return None
    return g if g is None or isinstance(g, Operand) else provided.wrap(g)


def replacement(hook: Hook, before: Any, after: object) -> Any:
    """What a hook returned for one gradient, a tensor; None leaves the gradient as it is."""
    if after is None:
        return before
    if not isinstance(after, Operand):
        raise ArgumentError(f"expected Variable, but hook returned '{type(after).__name__}'")
    if before is None:
        return after
    name = getattr(hook, "__name__", type(hook).__name__)
    if after.shape != before.shape:
        raise AutogradError(f"hook '{name}' has changed the size of value")
    if after.dtype != before.dtype:
        was, got = (f"torch.{DTYPES[np.dtype(one.dtype)].legacy}Tensor" for one in (before, after))
        raise AutogradError(f"hook '{name}' has changed the type of value (was {was} got {got})")
    return after


def at_tensor(hooks: Hooks, g: object, create_graph: bool) -> Any:
    """Run the hooks of the tensor on its gradient, then retain what they leave of it.

    They are called with None where it is UNDEFINED.
    """
    if hooks.tensor:
        value = as_tensor(g)
        for hook in tuple(hooks.tensor.values()):
            value = replacement(hook, value, hook(value))
        if value is None:
            return UNDEFINED
        g = value if create_graph else value._array
    if hooks.cell is not None and g is not UNDEFINED:
        hooks.cell.add(g, create_graph)
    return g


def run_before(hooks: Hooks, gradients: tuple[object, ...]) -> tuple[Any, ...]:
    """The gradients of a node's outputs after the hooks before it."""
    for hook in tuple(hooks.before.values()):
        gradients = _all_replaced(hook, gradients, hook(gradients))
    return gradients


def run_after(
    hooks: Hooks, found: tuple[object, ...], gradients: tuple[object, ...]
) -> tuple[Any, ...]:
    """The gradients that a node found, by the position of its operands, after its hooks."""
    for hook in tuple(hooks.after.values()):
        found = _all_replaced(hook, found, hook(found, gradients))
    return found


def _all_replaced(hook: Hook, before: tuple[object, ...], after: object) -> tuple[Any, ...]:
    if after is None:
        return before
    if not isinstance(after, tuple):
        raise ArgumentError(f"expected tuple, but hook returned '{type(after).__name__}'")
    if len(after) != len(before):
        name = getattr(hook, "__name__", type(hook).__name__)
        raise AutogradError(
            f"hook '{name}' has returned an incorrect number of values (got {len(after)}, but "
            f"expected {len(before)})"
        )
    return tuple(
        None if other is None else replacement(hook, one, other)
        for one, other in zip(before, after, strict=True)
    )
