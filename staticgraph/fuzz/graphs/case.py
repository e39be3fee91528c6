"""A program as a graph, and what the interpreter makes of it: what other ways are compared with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from staticgraph.compilation import sizes_needed
from staticgraph.compiler.core.dtypes import is_float
from staticgraph.compiler.core.errors import StaticGraphError
from staticgraph.compiler.core.values import Array
from staticgraph.compiler.graph.expression import Expression
from staticgraph.compiler.graph.traversal import ancestors
from staticgraph.compiler.inspect.interpret import interpret
from staticgraph.fuzz.campaign import Program
from staticgraph.fuzz.graphs import rounding
from staticgraph.fuzz.graphs.program import run
from staticgraph.fuzz.graphs.values import array, laid_out
from staticgraph.fuzz.graphs.worlds import Symbolic

RUNS, MORE_RUNS = 4, 40  # of Monte Carlo arithmetic: at a glance, and before something is wrong
ROOM = 4.0  # spreads that a difference may be
OF_INVERSES = 100.0  # where a matrix is singular but for rounding, they have no bound


class DifferenceError(Exception):
    """Two ways of running a program give different results."""


@dataclass(slots=True)
class Graph:
    """The expressions of a program."""

    program: Program
    inputs: list[Any]
    variables: list[Any]
    outputs: list[Any]
    updates: list[tuple[Any, Any]]
    values: dict[str, Any]

    @property
    def roots(self) -> list[Any]:
        """Outputs, then the next values of variables."""
        return [*self.outputs, *(new for _, new in self.updates)]


def build(program: Program) -> Graph:
    """The graph of a program."""
    world = Symbolic(program["seed"])
    values: dict[str, Any] = {}
    run(program["steps"], world, values)
    outputs = [values[step["output"][1:]] for step in program["steps"] if "output" in step]
    updates = _updates(program, values)
    roots = [*outputs, *(new for _, new in updates)]
    needed = {node.serial for node in ancestors(roots)}
    inputs = [x for x in world.inputs if x.serial in needed or sizes_needed(x, roots)]
    return Graph(program, inputs, world.variables, outputs, updates, values)


def _updates(program: Program, values: Mapping[str, object]) -> list[tuple[Any, Any]]:
    return [
        (values[step["update"][1:]], values[step["to"][1:]])
        for step in program["steps"]
        if "update" in step
    ]


@dataclass(slots=True)
class Case:
    """The values of a program's leaves, and what the interpreter makes of them.

    Attributes:
        arrays: per name of a leaf.
        feeds: the same per expression.
        expected: the values of the roots, or the error that they raise.
    """

    graph: Graph
    case: Mapping[str, Any]
    arrays: dict[str, Array]
    feeds: dict[Expression, Array] = field(default_factory=dict)
    expected: list[Array] | Exception = field(default_factory=list)
    _bounds: dict[int, list[Array]] = field(default_factory=dict)

    def compare(
        self, name: str, found: Sequence[Array], lenient: bool = False, either: bool = False
    ) -> None:
        """DifferenceError unless each value is as near to the expected one as rounding explains.

        With `lenient`, what is not finite may be better; with `either`, worse too, and so may
        be what is picked among such values.
        """
        assert not isinstance(self.expected, Exception)
        for i, (value, expected) in enumerate(zip(found, self.expected, strict=True)):
            if (value.shape, value.dtype) != (expected.shape, expected.dtype):
                raise DifferenceError(
                    f"{name} has another type than the interpreter\nroot {i} is "
                    f"{value.dtype}{value.shape}, not {expected.dtype}{expected.shape}"
                )
            wrong = self._wrong(i, value, expected, lenient)
            if either:
                wrong = wrong & np.isfinite(value)
            if wrong.any() and not (either and self._picks_among_nans(i)):
                raise DifferenceError(
                    f"{name} differs from the interpreter\nroot {i}, {dict(self.case)}: at "
                    f"{np.argwhere(wrong)[:4].tolist()} {value[wrong][:4]} is not "
                    f"{expected[wrong][:4]}"
                )

    def _wrong(self, i: int, value: Array, expected: Array, lenient: bool) -> Array:
        away = rounding.distance(value, expected)
        allowed = rounding.tight(expected)
        wrong = np.asarray(away > allowed)
        inverts = any(n.op.name in rounding.MATRICES for n in ancestors([self.graph.roots[i]]))
        room = OF_INVERSES if inverts else ROOM
        if lenient:
            wrong = wrong & np.isfinite(expected)
        for runs in (RUNS, MORE_RUNS):
            if not wrong.any():
                break
            spread = self._spread(runs)[i]
            wrong = wrong & (away > allowed + room * spread)
            # 1 / x, where x is 0 but for rounding
            wrong = wrong & ~(np.isinf(value) & (spread > 0.1 * abs(expected)))
        return wrong

    def _picks_among_nans(self, i: int) -> bool:
        """Whether a root depends on a comparison of, or a place among, values that are not finite:
        an argmax is where the first nan is.
        """
        picked = [
            operand
            for node in ancestors([self.graph.roots[i]])
            if node.dtype is not None and not is_float(node.dtype)
            for operand in node.operands
            if operand.dtype is not None and is_float(operand.dtype)
        ]
        return any(not np.isfinite(value).all() for value in interpret(picked, self.feeds))

    def _spread(self, runs: int) -> list[Array]:
        if runs not in self._bounds:
            self._bounds[runs] = rounding.spread(self.graph.roots, self.feeds, runs)
        return self._bounds[runs]


def cases_of(graph: Graph) -> list[Case]:
    """Every case of a program, interpreted."""
    return [_case(graph, case) for case in graph.program["cases"]]


def _case(graph: Graph, case: Mapping[str, Any]) -> Case:
    program = graph.program
    arrays: dict[str, Array] = {}
    for step in program["steps"]:
        if "leaf" in step:
            fixed = step["leaf"] != "input"
            value = array(step, {} if fixed else case["sizes"], program["seed"])
            layout = 0 if fixed or not case["layout"] else case["layout"] + len(arrays)
            arrays[step["name"]] = laid_out(value, layout)
    made = Case(graph, case, arrays)
    made.feeds = {leaf: arrays[leaf.name] for leaf in [*graph.inputs, *graph.variables]}
    try:
        made.expected = interpret(graph.roots, made.feeds)
    except (StaticGraphError, ValueError, IndexError) as error:
        made.expected = error
    return made
