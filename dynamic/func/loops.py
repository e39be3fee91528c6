"""Loops of the examples of a batch inside captured functions: loops of the batch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core import provided
from staticgraph.compiler.core.pytree import leaves, mapped
from staticgraph.compiler.graph.expression import Handle
from staticgraph.compiler.transforms.control_eager import selected
from staticgraph.compiler.transforms.control_flow import while_loop
from staticgraph.dynamic.func.batched import Batched
from staticgraph.dynamic.func.tracer import Tracer, batch_of
from staticgraph.dynamic.tensors.tensor import Tensor


def while_of_examples(
    cond: Callable[..., object],
    body: Callable[..., object],
    init: object,
    max_steps: int | None,
) -> tuple[Any] | None:
    """A loop whose carry has examples of what is captured: that of the batch, in a tuple.

    It goes on as long as the condition holds for any example; the others keep what they have. None
    if there are no such examples.
    """
    given = [one for one in leaves(init) if isinstance(one, Batched) and _is_captured(one)]
    if not given:
        return None
    like = max(given, key=lambda one: one._level.number)
    level = like._level

    def whole(tree: object) -> Any:
        return mapped(lambda one: batch_of(_tensor(one), level), tree)

    def each(tree: object) -> Any:
        return mapped(lambda one: Batched(level, one), tree)

    def _tensor(leaf: object) -> Any:
        return leaf if isinstance(leaf, Tensor) else like._data._constant(np.asarray(leaf))

    def goes_on(carry: object) -> Any:
        return ops.any(whole(cond(each(carry))), axis=0)

    def step(carry: object) -> Any:
        before = each(carry)
        return whole(selected(cond(before), body(before), before))

    return (each(while_loop(goes_on, step, whole(init), max_steps)),)


def _is_captured(x: Any) -> bool:
    while isinstance(x, Tracer) and not isinstance(x, Handle):
        x = x._held
    return isinstance(x, Handle)


provided.while_of_examples.provide(while_of_examples)
