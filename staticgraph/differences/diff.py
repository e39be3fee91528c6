"""`diff`: both paradigms on the same inputs, value by value."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from staticgraph import dynamic
from staticgraph.compiler.core.errors import OptionError
from staticgraph.compiler.core.source import place_of
from staticgraph.compiler.core.values import Array
from staticgraph.compiler.graph.evaluate import evaluate
from staticgraph.compiler.graph.expression import Expression
from staticgraph.compiler.graph.traversal import ancestors
from staticgraph.compiler.inspect.interpret import interpret
from staticgraph.compiler.ops import leaves as leaf_ops
from staticgraph.compiler.ops.programs.effects import quiet
from staticgraph.differences.compared import Compared, compared_of
from staticgraph.differences.loops import Inside, Opened, computed, loop_of, opened
from staticgraph.differences.records import Diff, Row, is_far
from staticgraph.differences.rows import Both, Far, Within, numbered, row_of
from staticgraph.differences.steps import Stepping, rows_of_state
from staticgraph.differences.streams import Engines, movers, streamed
from staticgraph.dynamic.kernels import native
from staticgraph.fuzz.graphs.rounding import farthest, largest_of, sizes, tight
from staticgraph.tracing.parts import Part

BOUND = 1.0
"""How many times as far apart as rounding explains values may be."""
MOST = 1 << 26
"""Bytes of the values inside one loop that are compared at once."""
RUNS = 3
"""How often everything is evaluated with other roundings for that estimate."""


def diff(
    f: object,
    /,
    *inputs: object,
    gradient: bool = False,
    exact: bool = False,
    bound: float = BOUND,
    **named: Any,
) -> Diff:
    """Run a function in both paradigms on the same inputs, and compare value by value.

    What a function changes, as a training step its parameters, is compared as it is after the call:
    each run begins with the state that there is, in a process of its own, so that yours stays.

    The function is run eagerly, on tensors; it is captured as `function` does it, and each op of
    its graph computed by the eager engine and compiled: with all values as outputs of one graph,
    and with its results alone, as it is compiled usually. Of an executable the graph is that which
    it was compiled of, and nothing is updated. Loops and branches are opened: of a value inside
    there is the row of the first iteration that is too far apart, else of the one that is most
    apart.

    Args:
        f: a function of arrays or tensors, a module, what `function` made, or an executable.
        inputs, named: its arguments, as a call takes them; arrays become tensors.
        gradient: whether to compare the gradient of the sum of all outputs by all floating inputs
            and parameters, and what it is computed of, too.
        exact: whether to compile with `numerics="exact"`, and to evaluate op by op on row-major
            arrays: then every bit of every value has to be the same.
        bound: how far apart values may be, as a multiple of what rounding explains: of how far they
            move when everything that an op computes is moved at random by up to 3 units in the last
            place, inputs of sums too (Parker, Monte Carlo Arithmetic, 1997).

    Returns:
        A record whose `values` and `results` have a row each; `print` shows them in a table with a
        verdict, `divergence` is the first row that is farther apart than the bound.

    Raises:
        CaptureError: no graph can be made of the function.
        OptionError: `f` is neither a function nor an executable, the gradient of an executable is
            asked for, or there is nothing to differentiate.
        What the function raises, if it does.

    Example:
        >>> def energy(x, w):
        ...     return (sg.tanh(x @ w) ** 2).sum()
        >>> found = sg.diff(energy, np.ones((2, 3)), np.ones((3, 1)), exact=True)
        >>> [row.op for row in found.values], found.divergence
        (['matmul', 'tanh', 'power', 'sum'], None)
        >>> print(found.verdict)
        energy: equal bits in 4 values, 1 result
    """
    if not isinstance(bound, int | float) or not bound >= 0:
        raise OptionError(f"diff: the bound is a number of units, not {bound!r:.80}")
    for option, value in {"gradient": gradient, "exact": exact}.items():
        if not isinstance(value, bool):
            raise OptionError(f"diff: {option} is True or False, not {value!r:.80}")
    with _by_numpy(exact):
        compared = compared_of(f, inputs, named, gradient)
        if compared.stepping is not None:
            return _of_step(compared, compared.stepping, exact, float(bound))
        eager = None if compared.eager is None else compared.eager()
        with quiet():  # the eager run has printed and checked
            return _compared(compared, eager, exact, float(bound))


def _of_step(compared: Compared, stepping: Stepping, exact: bool, bound: float) -> Diff:
    """What is found of a function that changes its state: what is left is a result, too."""
    engines = _engines(compared, exact)
    inputs = compared.inputs
    constants = {one: array for one, array in inputs.items() if one.op is leaf_ops.variable}
    left = stepping.eagerly()
    with quiet():
        if stepping.is_whole:
            engines.compiled(stepping.outputs, inputs)  # once, and not in each fork
        if exact:
            left = stepping.by(engines.eager, constants)
        found = stepping.by(engines.compiled, constants)
        moved = [stepping.by(one, constants) for one in engines.moved]
        placeholders = list(inputs)
        late = {placeholders[i]: array for i, array in found.late.items()}
        compared = dataclasses.replace(compared, inputs={**inputs, **late})
        diff = _compared(compared, left.values, exact, bound)
    rows = tuple(rows_of_state(stepping, left, found, moved))
    return dataclasses.replace(diff, results=(*diff.results, *rows))


def _compared(compared: Compared, eager: Sequence[Array] | None, exact: bool, bound: float) -> Diff:
    """What is found, given the results of the function itself, run eagerly."""
    roots = [one for _, one in compared.outputs]
    changes = [] if compared.stepping is None else compared.stepping.outputs
    graph, known = ancestors([*roots, *changes]), sizes(compared.inputs)
    nested = {one.node: one for one in opened(graph, compared.inputs)}
    small = {node: one for node, one in nested.items() if one.bytes(known) <= MOST}
    inside = [one for found in small.values() for one in found.inside]
    nodes = [*computed(graph), *(one for found in small.values() for one in found.wanted)]
    wanted = [*nodes, *roots]
    axes = {one.stack: len(one.loops) for one in inside}
    engines = _engines(compared, exact)
    evaluated = engines.eager(wanted, compared.inputs)
    explained = _explained(compared, wanted, evaluated, [axes.get(one, 0) for one in wanted])
    values = engines.compiled(nodes, compared.inputs) if nodes else []
    if compared.compiled is None or exact:
        results = engines.compiled(roots, compared.inputs)
    else:
        results = compared.compiled()
    op_by_op = evaluated[len(nodes) :]
    captured: tuple[Row, ...] = ()
    if eager is not None:
        captured = _of_results(compared, eager, op_by_op, explained[len(nodes) :])
    both = {
        node: Both(*found)
        for node, *found in zip(nodes, evaluated, values, explained, strict=False)
    }

    def far(row: Row) -> bool:
        return is_far(row, exact, bound)

    def rows_inside(one: Opened) -> Iterator[Row]:
        if one.node in small:
            yield from _of_inside(one.inside, both, far)
        elif one.has_room(known, MOST):
            yield from streamed(one, compared.inputs, engines, MOST, far)

    closed = [
        loop_of(node)
        for node, one in nested.items()
        if node not in small and not one.has_room(known, MOST)
    ]
    return Diff(
        compared.name,
        numbered(_of_values(graph, nested, both, rows_inside)),
        _of_results(
            compared,
            op_by_op if eager is None or exact else eager,
            results,
            explained[len(nodes) :],
        ),
        captured,
        exact,
        bound,
        tuple(map(str, closed)),
    )


def _explained(
    compared: Compared,
    wanted: Sequence[Expression],
    evaluated: Sequence[Array],
    kept: Sequence[int],
) -> list[Array]:
    """How far rounding may take values, of each iteration of loops."""
    most = farthest(wanted, compared.inputs, RUNS, kept)
    return [
        np.maximum(one, largest_of(tight(value), count))
        for one, value, count in zip(most, evaluated, kept, strict=True)
    ]


def _engines(compared: Compared, exact: bool) -> Engines:
    """What computes values: op by op by the eager engine, or on row-major arrays; a kernel."""
    options = {**compared.options, "lint": None, **({"numerics": "exact"} if exact else {})}
    kernels: dict[tuple[int, ...], Part] = {}

    def eager(wanted: Sequence[Expression], inputs: Mapping[Expression, Array]) -> list[Array]:
        if exact:
            return interpret(wanted, inputs, ordered=True)
        tensors: Mapping[Expression, Any] = {
            one: dynamic.tensor(array) for one, array in inputs.items()
        }
        with dynamic.no_grad():
            found = evaluate(wanted, tensors)
        return [
            one.numpy() if isinstance(one, dynamic.Tensor) else np.asarray(one) for one in found
        ]

    def compiled(wanted: Sequence[Expression], inputs: Mapping[Expression, Array]) -> list[Array]:
        fed = [one for one in inputs if one.op is leaf_ops.placeholder]
        key = tuple(one.serial for one in wanted)
        if key not in kernels:
            kernels[key] = Part(compared.name, fed, list(wanted), options)
        found: list[Array] = kernels[key]([inputs[one] for one in fed])
        return found

    return Engines(eager, compiled, movers(RUNS))


def _of_results(
    compared: Compared,
    eager: Sequence[Array],
    compiled: Sequence[Array],
    explained: Sequence[Array],
) -> tuple[Row, ...]:
    return tuple(
        row_of(title, None, place_of(node.source), Both(*found))
        for (title, node), *found in zip(compared.outputs, eager, compiled, explained, strict=True)
    )


def _of_values(
    graph: Sequence[Expression],
    nested: Mapping[Expression, Opened],
    both: Mapping[Expression, Both],
    rows_inside: Callable[[Opened], Iterator[Row]],
) -> Iterator[Row]:
    """A row for each value of a graph, and inside loops before what they give."""
    for node in graph:
        if node in nested:
            yield from rows_inside(nested[node])
        if node in both:
            yield row_of(node.op.name, node.name, node.source, both[node])


def _of_inside(
    inside: Sequence[Inside], both: Mapping[Expression, Both], far: Far
) -> Iterator[Row]:
    """The rows of values inside a loop or a branch that are there as a whole."""
    for one in inside:
        within, taken = Within(one, far), np.ones((), bool)
        if one.taken is not None:
            taken = both[one.taken].eager & both[one.taken].compiled
        within.add(both[one.stack], taken)
        if within.row is not None:
            yield within.row


@contextmanager
def _by_numpy(exact: bool) -> Iterator[None]:
    """If `exact`, the eager engine leaves large arrays to NumPy, whose function each op has."""
    before = native.state.enabled
    native.state.enabled = before and not exact
    try:
        yield
    finally:
        native.state.enabled = before
