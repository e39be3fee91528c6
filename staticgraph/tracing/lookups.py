"""What the names of a captured function mean to who steps through its kernel."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, NoReturn

import numpy as np

from staticgraph.compiler.core.source import place_of
from staticgraph.compiler.core.values import Array
from staticgraph.compiler.export.prompt import END, Known, Lookup, computed
from staticgraph.compiler.graph.expression import Expression
from staticgraph.compiler.graph.traversal import ancestors
from staticgraph.compiler.ops import leaves
from staticgraph.compiler.transforms.custom_rules import without_rules
from staticgraph.tracing.followed import Bound, History, Object, Run, Unkept
from staticgraph.tracing.modules import is_module
from staticgraph.tracing.tracing import Trace


class OfFunction:
    """Who knows the names of a function, as they were when a statement's line was run.

    Values of arrays are computed op by op with NumPy.

    Args:
        trace: the function's, which has a history.
        arrays: one per input of the trace.
    """

    def __init__(self, trace: Trace, arrays: Sequence[Array]) -> None:
        self._trace, self._arrays = trace, arrays
        self._history = trace.history or History()
        self._same: dict[tuple[Expression, Expression], bool] = {}
        self._run = next(filter(self._is_taken, self._history.runs), None)

    def _is_taken(self, run: Run) -> bool:
        """Whether it is the way through the function that this call takes."""
        return all(bool(self._value(one.predicate)) is one.outcome for one in run.decisions)

    def __call__(self, name: str, mark: int | None) -> Known | None:
        """What a name stands for at the statement with a mark; None if it is no name there."""
        bound = self._bound(name, mark)
        if bound is None:
            return None
        marks = self._marks(name, bound)
        made = None
        if mark is not None and mark != END:
            given = self._history.given(name, mark)
            if given is not None:
                marks = {*marks, mark}
                made = partial(self._value, given)
        if isinstance(bound.value, Unkept):
            why = f"{self._trace.name}: {name!r} {bound.value.why}"
            return Known(lambda: _refuse(why), marks, made=made)
        value = bound.value
        is_leaf = (
            isinstance(value, Expression) and value.op is leaves.placeholder and value.name == name
        )
        is_input = is_leaf and any(value is one for one in self._trace.inputs)
        return Known(lambda: self._value(value), marks, is_input, is_leaf, made)

    def _marks(self, name: str, bound: Bound) -> set[int]:
        """The marks of the array that a name is given: on each way where it is the same."""
        if bound.by is None or not isinstance(bound.value, Expression):
            return set()
        found = (self._history.within(bound.by, run) for run in self._history.runs)
        ticks = {one for one in found if one is not None}
        return {one for one in ticks if self._is_same(self._history.given(name, one), bound.value)}

    def _is_same(self, one: Expression | None, other: Expression) -> bool:
        """Whether what a line gives on another way is what it gives on this."""
        if one is None or one is other:
            return one is other
        if (one, other) not in self._same:
            with suppress(NameError):  # in the body of a loop
                values = np.asarray(self._value(one)), np.asarray(self._value(other))
                self._same[one, other] = np.array_equal(*values)
        return self._same.get((one, other), False)

    def _bound(self, name: str, mark: int | None) -> Bound | None:
        if self._run is None:
            return None
        if mark is None or mark == END:
            return self._history.named(name, self._run.last)
        tick = self._history.within(mark, self._run)
        if tick is None:
            why = "has no known value here: the line is run on another way through the function"
            return Bound(mark, None, Unkept(why))
        return self._history.named(name, tick)

    def _value(self, kept: Any) -> object:
        """What a name stands for, with the arrays that expressions in it are."""
        if isinstance(kept, Object):
            return kept.value
        if isinstance(kept, dict):
            return {key: self._value(one) for key, one in kept.items()}
        if isinstance(kept, tuple | list):
            return type(kept)(map(self._value, kept))
        if not isinstance(kept, Expression):
            return kept
        (plain,) = without_rules([kept])
        feeds: dict[Expression, Any] = dict(zip(self._trace.inputs, self._arrays, strict=True))
        for one in ancestors([plain]):
            if one.op is leaves.variable:
                feeds[one] = one.attrs["key"].array
            elif one.op is leaves.placeholder and one not in feeds:
                _refuse(
                    f"{self._trace.name}: this is a value of one iteration or side, in the body of "
                    f"{os.path.basename(place_of(one.source))}: of those there is only what the "
                    "statements around this one have computed"
                )
        return computed(plain, feeds)


def of_globals(function: Callable[..., Any]) -> Lookup:
    """Who knows the globals of a function."""
    called: Any = function
    if is_module(function):
        called = called.forward
    table = getattr(getattr(called, "__func__", called), "__globals__", {})
    return lambda name, _: Known(lambda: table[name]) if name in table else None


def _refuse(why: str) -> NoReturn:
    raise NameError(why)
