"""A graph as a function of arrays that runs op by op with NumPy: nothing is compiled."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from compiler.dims import Unknown
from compiler.graph.definition import Definition
from compiler.graph.expression import Expression
from compiler.runtime.arguments import as_inputs, in_order
from compiler.runtime.interpret import Observer, interpret
from compiler.runtime.sizes import Feed, check_sizes, sizes_of
from compiler.runtime.strided import row_major

interpreting = threading.RLock()
"""Held by a call: what it reads of variables is not updated by another one meanwhile."""


@dataclass(slots=True, eq=False, repr=False)
class Interpreted:
    """The function that a graph defines, called like an executable and with the same errors.

    Values are those of a kernel up to rounding: nothing is rewritten or fused, and sums are added
    in NumPy's order.
    """

    definition: Definition
    feeds: tuple[Feed, ...]
    restructure: Callable[[list[Any]], Any]
    name: str
    _made: list[Expression] = field(init=False)
    _checked: dict[Unknown, int] | None = None

    def __post_init__(self) -> None:
        self._made = self.definition.expressions()

    def run(
        self, args: Sequence[Any], kwargs: Mapping[str, Any], observe: Observer | None = None
    ) -> Any:
        """The outputs, in new arrays; variables are updated when everything is computed.

        Args:
            args, kwargs: what the call was given.
            observe: called after each op.
        """
        definition = self.definition
        arrays = self._bound(args, kwargs)
        with interpreting:
            values = self._values(arrays, self._variables(), observe)
            # copies: a value may be an input, a variable, or a view of one
            results = [np.array(value, order="C") for value in values]
            count = len(definition.outputs)
            for (variable, _), value in zip(definition.updates, results[count:], strict=True):
                self._made[variable].attrs["key"].array[...] = value
        return self.restructure(results[:count])

    def watch(self, args: Sequence[Any], kwargs: Mapping[str, Any], observe: Observer) -> None:
        """Compute everything, and update nothing."""
        arrays = self._bound(args, kwargs)
        with interpreting:
            # copies, since what the observer keeps must not change when a variable does
            variables = {node: value.copy() for node, value in self._variables().items()}
            self._values(arrays, variables, observe)

    def _bound(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Any]:
        given = as_inputs(self.name, self.feeds, in_order(self.name, self.feeds, args, kwargs))
        arrays = list(map(row_major, given))
        sizes = sizes_of(self.feeds, arrays)
        if sizes != self._checked:
            check_sizes(self.definition, sizes)
            self._checked = sizes
        return arrays

    def _variables(self) -> dict[Expression, Any]:
        return {node: node.attrs["key"].array for node in self._made if node.op.name == "variable"}

    def _values(
        self,
        arrays: Sequence[Any],
        variables: Mapping[Expression, Any],
        observe: Observer | None,
    ) -> list[Any]:
        """The outputs and the new values of variables."""
        definition = self.definition
        inputs = [self._made[node] for node in definition.inputs]
        wanted = [*definition.outputs, *(new for _, new in definition.updates)]
        feeds = {**variables, **dict(zip(inputs, arrays, strict=True))}
        return list(interpret([self._made[node] for node in wanted], feeds, observe))


if hasattr(os, "register_at_fork"):
    # a child must not inherit the lock from a thread that it does not have
    os.register_at_fork(
        before=interpreting.acquire,
        after_in_parent=interpreting.release,
        after_in_child=interpreting.release,
    )
