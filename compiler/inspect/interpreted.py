"""A graph as a function of arrays that runs op by op with NumPy: nothing is compiled."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any

import numpy as np

from staticgraph.compiler.core import fork
from staticgraph.compiler.core.arrays import row_major
from staticgraph.compiler.core.dims import Unknown, evaluate
from staticgraph.compiler.core.record import mutable
from staticgraph.compiler.core.values import Array, Tree
from staticgraph.compiler.graph.build import graph_of
from staticgraph.compiler.graph.definition import Definition
from staticgraph.compiler.graph.expression import Expression
from staticgraph.compiler.graph.state import State, holding, write
from staticgraph.compiler.inspect.bodies import Run
from staticgraph.compiler.inspect.interpret import Observer, interpret
from staticgraph.compiler.inspect.lost import Lost, is_finite
from staticgraph.compiler.ops import leaves
from staticgraph.compiler.runtime.arguments import (
    as_inputs,
    check_outputs,
    given_outputs,
    in_order,
    is_fed_out,
)
from staticgraph.compiler.runtime.sizes import Feed, check_sizes, sizes_of

if TYPE_CHECKING:
    import networkx as nx

    from staticgraph.compiler.inspect.origins import Replay

interpreting = threading.RLock()
"""Held by a call: what it reads of variables is not updated by another one meanwhile."""
fork.hold(fork.Rank.INTERPRETING, interpreting)


@mutable(eq=False, repr=False)
class Interpreted:
    """The function that a graph defines, called like an executable and with the same errors.

    Values are those of a kernel up to rounding: nothing is rewritten or fused, and sums are added
    in NumPy's order.
    """

    definition: Definition
    feeds: tuple[Feed, ...]
    restructure: Callable[[list[Tree]], Tree]
    name: str
    lost: Lost | None = None
    _made: list[Expression] = field(init=False)
    _graph: nx.MultiDiGraph[int] | None = field(default=None, init=False)
    _checked: dict[Unknown, int] | None = None

    def __post_init__(self) -> None:
        self._made = self.definition.expressions()

    @property
    def graph(self) -> nx.MultiDiGraph[int]:
        """The networkx DAG as it was defined, frozen."""
        if self._graph is None:
            self._graph = graph_of(self.definition)
        return self._graph

    def made(self, node: int) -> Expression:
        """The expression that observers are shown for a node."""
        return self._made[node]

    def over(self, definition: Definition) -> Interpreted:
        """The same over other variables."""
        lost = None if self.lost is None else Lost(self.lost.policy)
        return Interpreted(definition, self.feeds, self.restructure, self.name, lost)

    def run(
        self,
        args: Sequence[object],
        kwargs: Mapping[str, object],
        observe: Observer | None = None,
        run: Run | None = None,
    ) -> Tree:
        """The outputs, in new arrays; variables are updated when everything is computed.

        Args:
            args, kwargs: what the call was given.
            observe: called after each op.
            run: what runs the bodies of loops and branches, see `compiler.inspect.bodies`.
        """
        updates = self.definition.updates
        named = dict(kwargs)
        out = None if is_fed_out(self.feeds) else named.pop("out", None)
        values = in_order(self.name, self.feeds, args, named)
        arrays, sizes = self._bound(values)
        taken = [*values, *arrays]  # the caller's, even of what is copied
        given = None if out is None else self._checked_outputs(out, taken, sizes)
        with interpreting, holding(self._states(), changes=bool(updates)):
            found = self._values(arrays, self._variables(), observe, run)
            # copies: a value may be an input, a variable, or a view of one
            results = [np.array(value, order="C") for value in found]
            if self.lost is not None and not all(map(is_finite, results)):
                self.lost.tell(lambda: self.replay(arrays, {}))
            count = len(self.definition.outputs)
            write([self._made[one].attrs["key"] for one, _ in updates], results[count:])
        del results[count:]
        if given is not None:
            for array, value in zip(given, results, strict=True):
                array[...] = value
        return self.restructure(results if given is None else given)

    def replay(self, args: Sequence[object], kwargs: Mapping[str, object]) -> Replay:
        """A call once more, op by op, on the variables as they are; nothing is updated."""
        from staticgraph.compiler.inspect.replay import replay

        return replay(self.definition, self.feeds, self.name, args, kwargs)

    def watch(
        self,
        args: Sequence[object],
        kwargs: Mapping[str, object],
        observe: Observer,
        run: Run | None = None,
    ) -> list[Array]:
        """The outputs and the new values of variables, which are not updated.

        Args:
            args, kwargs: what the call was given.
            observe: called after each op.
            run: what runs the bodies of loops and branches, see `compiler.inspect.bodies`.
        """
        arrays, _ = self._bound(in_order(self.name, self.feeds, args, kwargs))
        with interpreting, holding(self._states(), changes=False):
            # copies, since what the observer keeps must not change when a variable does
            variables = {node: value.copy() for node, value in self._variables().items()}
            return self._values(arrays, variables, observe, run)

    def _bound(self, values: Sequence[object]) -> tuple[list[Any], dict[Unknown, int]]:
        """The inputs as arrays, and the sizes that were unknown."""
        arrays = as_inputs(self.name, self.feeds, values)
        sizes = sizes_of(self.feeds, arrays)
        if sizes != self._checked:
            check_sizes(self.definition, sizes)
            self._checked = sizes
        return arrays, sizes

    def _checked_outputs(
        self, out: object, taken: Sequence[object], sizes: Mapping[Unknown, int]
    ) -> list[Any]:
        """The arrays that the results go to."""
        given = given_outputs(self.name, out)
        types = [self.definition.nodes[node].type for node in self.definition.outputs]
        shapes = [tuple([evaluate(size, sizes) for size in type.shape]) for type in types]
        constants = [node.attrs["value"] for node in self._made if node.op is leaves.constant]
        fixed = [one.array for one in (*self._states(), *constants)]
        check_outputs(self.name, given, types, shapes, [*taken, *fixed])
        return given

    def _states(self) -> list[State]:
        return [node.attrs["key"] for node in self._made if node.op is leaves.variable]

    def _variables(self) -> dict[Expression, Any]:
        return {node: node.attrs["key"].array for node in self._made if node.op is leaves.variable}

    def _values(
        self,
        arrays: Sequence[object],
        variables: Mapping[Expression, object],
        observe: Observer | None,
        run: Run | None = None,
    ) -> list[Any]:
        """The outputs and the new values of variables."""
        definition = self.definition
        inputs = [self._made[node] for node in definition.inputs]
        wanted = [*definition.outputs, *(new for _, new in definition.updates)]
        feeds = {**variables, **dict(zip(inputs, map(row_major, arrays), strict=True))}
        return list(interpret([self._made[node] for node in wanted], feeds, observe, run))
