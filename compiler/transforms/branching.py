"""Branches on values in functions that become bodies: of loops, of branches, of one example.

In a captured function such a function is called once per way through it, as the captured function
itself is, and the ways are joined to a body with a `cond` in it.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from staticgraph.compiler import ops
from staticgraph.compiler.core.deciding import decider
from staticgraph.compiler.core.errors import CaptureError
from staticgraph.compiler.core.pytree import leaves, rebuilt, same_structure, structure
from staticgraph.compiler.core.record import frozen
from staticgraph.compiler.core.refusals import has_refused
from staticgraph.compiler.core.types import DType
from staticgraph.compiler.core.values import Tree
from staticgraph.compiler.graph.effects import Effect, collecting, depth, keep
from staticgraph.compiler.graph.expression import Expression, Handle, next_serial
from staticgraph.compiler.transforms.branches import DisagreementError, Path, joined, refuse_branch
from staticgraph.compiler.transforms.control_eager import is_number
from staticgraph.compiler.transforms.decisions import Way, ways_through
from staticgraph.compiler.transforms.failing import Caught, as_checks, zeros

Promoted: TypeAlias = "Callable[[object, DType | None], Expression]"
"""What makes an expression of a value."""


@frozen(eq=False)
class _Made:
    """What a function has returned on one way, and its prints and checks."""

    tree: Any
    values: list[Any]
    shown: Sequence[Effect]

    def roots(self) -> list[Expression]:
        """The expressions that it has made."""
        values = [one for one in self.values if isinstance(one, Expression)]
        return [*values, *(one.leave for one in self.shown)]


def on_all_ways(
    call: Callable[[], object],
    inputs: Iterable[Expression],
    promoted: Promoted,
) -> Tree:
    """What a function returns: on all ways through its branches, if it is called in a trace.

    Args:
        call: calls it.
        inputs: what stands for the operands of the body.
        promoted: a value as an expression; Python numbers take a dtype, if one is given.

    Raises:
        CaptureError: the ways differ in what they return, or there are too many.
    """
    around = decider()
    if around is None:
        return call()
    own, first = list(inputs), next_serial()
    ways = ways_through(lambda: _made(call), lambda: own, around)
    if len(ways) == 1 and isinstance(ways[0].made, Caught):
        raise ways[0].made.error
    made = as_checks(
        ways, _Made.roots, lambda one: one.shown, lambda one, shown: replace(one, shown=shown),
        lambda one: replace(one, values=_nothing(one.values, promoted), shown=()),
    )  # fmt: skip
    if len(made) == 1 and not made[0].decisions:
        for effect in made[0].made.shown:
            keep(effect)
        return rebuilt(made[0].made.tree, made[0].made.values)
    return _joined(made, promoted, first)


def _made(call: Callable[[], object]) -> _Made | Caught:
    with collecting(depth()) as shown:
        try:
            tree: Any = call()
        except CaptureError:
            raise
        except Exception as error:
            if has_refused():
                raise
            return Caught(error, shown.effects)
    values = [one.expression if isinstance(one, Handle) else one for one in leaves(tree)]
    return _Made(tree, values, shown.effects)


def _nothing(values: Sequence[Any], promoted: Promoted) -> list[Any]:
    """What stands for values where there are none: numbers are as they are."""
    return [one if is_number(one) else zeros(promoted(one, None)) for one in values]


def _joined(ways: Sequence[Way[_Made]], promoted: Promoted, first: int) -> Any:
    for one, other in itertools.pairwise(ways):
        if not same_structure(one.made.tree, other.made.tree):
            left, right = structure(one.made.tree), structure(other.made.tree)
            pairs = zip(one.decisions, other.decisions, strict=False)
            decision = next(a for a, b in pairs if a.outcome is not b.outcome)
            refuse_branch(decision, f"returns {left} if it holds, and {right} if not")
    columns = list(zip(*(way.made.values for way in ways), strict=True))
    differing = [i for i, column in enumerate(columns) if not _are_one_number(column)]
    rows = list(zip(*(_as_expressions(columns[i], promoted) for i in differing), strict=True))
    paths = [
        Path(way.decisions, list(row), way.made.shown)
        for way, row in zip(ways, rows or [()] * len(ways), strict=True)
    ]
    try:
        found, shown, _ = joined(paths, first)
    except DisagreementError as error:
        held, not_held = error.types
        refuse_branch(error.decision, f"a result is {held} if it holds, and {not_held} if not")
    for effect in shown:
        keep(effect)
    values = list(ways[0].made.values)
    for i, value in zip(differing, found, strict=True):
        values[i] = value
    return rebuilt(ways[0].made.tree, values)


def _are_one_number(column: Sequence[Any]) -> bool:
    first = column[0]
    return all(is_number(one) and type(one) is type(first) and one == first for one in column)


def _as_expressions(column: Sequence[Any], promoted: Promoted) -> list[Expression]:
    """A value of each way; numbers, and what is made of numbers alone, in the dtype of another."""
    sure = [one.dtype for one in column if not is_number(one) and not getattr(one, "weak", False)]
    dtype = sure[0] if sure else None
    found = [promoted(one, dtype if is_number(one) else None) for one in column]
    return [
        ops.astype(one, dtype) if one.weak and dtype is not None and one.dtype != dtype else one
        for one in found
    ]
