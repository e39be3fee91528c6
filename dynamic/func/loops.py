"""Loops of tracers inside captured functions: of the examples of a batch, and of dual numbers.

A loop of examples is one of the batch, and a loop of dual numbers one of primals and tangents.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core import provided
from staticgraph.compiler.core.dtypes import is_inexact
from staticgraph.compiler.core.pytree import leaves, mapped, rebuilt
from staticgraph.compiler.graph.expression import Handle
from staticgraph.compiler.transforms.control_eager import selected
from staticgraph.compiler.transforms.control_flow import while_loop
from staticgraph.dynamic.func.batched import Batched
from staticgraph.dynamic.func.dual import Dual, split
from staticgraph.dynamic.func.tracer import Level, Tracer, batch_of, innermost, settled, zeros_of
from staticgraph.dynamic.tensors.tensor import Tensor

Function = Callable[..., object]


def while_of_tracers(
    cond: Function, body: Function, init: object, max_steps: int | None
) -> tuple[Any] | None:
    """A loop whose carry has tracers of what is captured: that of what they hold, in a tuple.

    None if there are none.
    """
    init = mapped(settled, init)
    given = [one for one in leaves(init) if not isinstance(one, Handle)]
    like = innermost(given)
    if like is None or not any(map(_holds_captured, given)):
        return None
    init = mapped(lambda one: _tensor(one, like), init)
    loop = _of_examples if isinstance(like, Batched) else _of_duals
    try:
        return (loop(cond, body, init, max_steps, like._level),)
    except _FurtherInsideError as error:
        if error.level is not like._level:
            raise
        return (while_loop(cond, body, lifted(init, error.tracer), max_steps),)


class _FurtherInsideError(Exception):
    """A loop of the tracers of a level gave one of a level further inside, which it reads."""

    def __init__(self, level: Level, tracer: object) -> None:
        super().__init__()
        self.level, self.tracer = level, tracer


def _require_no_further(level: Level, tree: object) -> Any:
    """_FurtherInsideError if there is a tracer of a level further inside."""
    found = innermost(leaves(tree))
    if found is not None and found._level.number > level.number:
        raise _FurtherInsideError(level, found)
    return tree


def _of_examples(
    cond: Function, body: Function, init: object, max_steps: int | None, level: Level
) -> Any:
    """A loop that goes on as long as the condition holds for any example.

    The others keep what they have.
    """

    def whole(tree: object) -> Any:
        return mapped(lambda one: batch_of(one, level), tree)

    def each(tree: object) -> Any:
        return mapped(lambda one: Batched(level, one), tree)

    def goes_on(carry: object) -> Any:
        holds = _require_no_further(level, cond(each(carry)))
        return ops.any(whole(holds), axis=0)

    def step(carry: object) -> Any:
        before = each(carry)
        after = _require_no_further(level, body(before))
        return whole(selected(cond(before), after, before))

    return each(while_loop(goes_on, step, whole(init), max_steps))


def _of_duals(
    cond: Function, body: Function, init: object, max_steps: int | None, level: Level
) -> Any:
    """A loop of primals and, of floats, their tangents: it goes on as that of the primals."""

    def apart(tree: object) -> tuple[list[Any], list[Any]]:
        pairs = [split(one, level) for one in leaves(tree)]
        floats = [(p, t) for p, t in pairs if is_inexact(np.dtype(p.dtype))]
        return [p for p, _ in pairs], [zeros_of(p) if t is None else t for p, t in floats]

    def together(carry: tuple[list[Any], list[Any]]) -> Any:
        primals, tangents = carry[0], iter(carry[1])
        return rebuilt(
            init,
            [
                Dual(level, p, next(tangents)) if is_inexact(np.dtype(p.dtype)) else p
                for p in primals
            ],
        )

    def goes_on(carry: tuple[list[Any], list[Any]]) -> Any:
        return split(_require_no_further(level, cond(together(carry))), level)[0]

    def step(carry: tuple[list[Any], list[Any]]) -> Any:
        after = _require_no_further(level, body(together(carry)))
        pairs = zip(leaves(after), carry[0], strict=True)
        return apart([_tensor(one, like) for one, like in pairs])

    return together(while_loop(goes_on, step, apart(init), max_steps))


def lifted(tree: object, like: Any) -> Any:
    """A tree with tracers of the kind, and of the level, of one that is given."""
    level = like._level

    def tracer(leaf: object) -> Any:
        one = settled(_tensor(leaf, like))
        if isinstance(like, Batched):
            return Batched(level, batch_of(one, level))
        if split(one, level)[1] is not None or not is_inexact(np.dtype(one.dtype)):
            return one
        return Dual(level, one, zeros_of(one))

    return mapped(tracer, tree)


def _tensor(leaf: Any, like: Any) -> Any:
    """A leaf as a tensor; a float in the dtype of another one, if that is one of floats."""
    if isinstance(leaf, Tensor):
        return leaf
    floats = type(leaf) is float and is_inexact(np.dtype(like.dtype))
    return like._constant(np.asarray(leaf, np.dtype(like.dtype) if floats else None))


def _holds_captured(x: Any) -> bool:
    """Whether a leaf is a tracer of what is captured."""
    while isinstance(x, Tracer) and not isinstance(x, Handle):
        x = x._held
    return isinstance(x, Handle)


provided.while_of_tracers.provide(while_of_tracers)
provided.lifted.provide(lifted)
