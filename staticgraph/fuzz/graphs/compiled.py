"""Kernels against the interpreter: fused or not, with rules or without, from the cache or not."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

import numpy as np

import staticgraph as sg
from staticgraph.compiler.core.errors import StaticGraphError
from staticgraph.compiler.core.values import Array
from staticgraph.compiler.inspect.interpret import interpret
from staticgraph.compiler.passes.rules import RULES
from staticgraph.compiler.pipeline import rule_names
from staticgraph.compiler.runners import strided
from staticgraph.fuzz.graphs.case import Case, DifferenceError, Graph

STABLE = sorted(rule.name for rule in RULES if rule.kind == "stable")
CONFIGURATIONS: dict[str, dict[str, Any]] = {
    "without stable rules": {"disable": STABLE},
    "without rewrites": {"disable": sorted(rule_names())},
    "without fusion": {"fuse": False},
    "without fusion and rewrites": {"fuse": False, "disable": sorted(rule_names())},
    "with fast numerics": {"numerics": "fast"},
}
IN_PLACE = 0.25  # of the programs read small inputs where they lie
EXACT = 0.25  # of the programs are compiled to the bits of the interpreter
THREADS = (1, 2, 3)


def check_compiled(graph: Graph, cases: Sequence[Case]) -> None:
    """DifferenceError if any kernel is wrong: as it is by default, and in another configuration."""
    choose = random.Random(graph.program["seed"])
    other = choose.choice(list(CONFIGURATIONS))
    for name, options in {"compiled": {}, f"compiled {other}": CONFIGURATIONS[other]}.items():
        executable = sg.compile(graph.inputs, graph.outputs, graph.updates, **options)
        lenient = "stable" not in name and "rewrites" not in name
        # a kernel for each layout takes longer than all the rest
        with _all_in_place() if not options and choose.random() < IN_PLACE else nullcontext():
            for case in cases:
                _check_call(name, executable, case, lenient, choose)
        if not options:
            _check_again(graph, executable, cases)
    if choose.random() < EXACT:
        _check_exact(graph, cases)


@contextmanager
def _all_in_place() -> Iterator[None]:
    """Small inputs are read where they lie, as large ones are."""
    least, strided.LEAST_BYTES = strided.LEAST_BYTES, 0
    try:
        yield
    finally:
        strided.LEAST_BYTES = least


def _check_call(
    name: str, executable: sg.Executable, case: Case, lenient: bool, choose: random.Random
) -> None:
    graph = case.graph
    inputs = [case.arrays[leaf.name] for leaf in graph.inputs]
    before = [array.copy() for array in inputs]
    found = _call(graph, case, executable, inputs)
    if isinstance(found, StaticGraphError) or isinstance(case.expected, Exception):
        if not isinstance(found, StaticGraphError):
            raise DifferenceError(f"{name} does not raise, the interpreter does\n{case.expected}")
        if not isinstance(case.expected, Exception):
            raise DifferenceError(
                f"{name} raises {type(found).__name__}, the interpreter does not\n{found}"
            )
        return
    case.compare(name, found, lenient)
    for array, copy in zip(inputs, before, strict=True):
        if array.tobytes() != copy.tobytes():
            raise DifferenceError(f"{name} changes an input\n{dict(case.case)}")
    _check_memory(name, found[: len(graph.outputs)], [*inputs, *_states(graph)])
    _check_same(name + ": again", found, _call(graph, case, executable, inputs))
    if choose.random() < 0.5:
        out = [np.empty(one.shape, one.dtype) for one in found[: len(graph.outputs)]]
        _check_same(name + ": out=", found, _call(graph, case, executable, inputs, out))
        _check_same(name + ": the arrays of out=", found[: len(out)], out)
    if choose.random() < 0.3:
        threads = sg.get_num_threads()
        try:
            for count in THREADS:
                sg.set_num_threads(count)
                _check_same(f"{name}: threads", found, _call(graph, case, executable, inputs))
        finally:
            sg.set_num_threads(threads)


def _check_exact(graph: Graph, cases: Sequence[Case]) -> None:
    """With exact numerics a kernel gives the bits of the interpreter on row-major arrays."""
    executable = sg.compile(graph.inputs, graph.outputs, graph.updates, numerics="exact")
    for case in cases:
        if isinstance(case.expected, Exception):
            continue
        feeds = {leaf: np.array(array, order="C") for leaf, array in case.feeds.items()}
        expected = interpret(graph.roots, feeds, ordered=True)
        found = _call(graph, case, executable, [case.arrays[leaf.name] for leaf in graph.inputs])
        _check_same("compiled exactly", *(list(map(_one_nan, x)) for x in (expected, found)))


def _one_nan(value: Array) -> Array:
    """A value in which each nan is the same one."""
    return np.where(np.isnan(value), np.nan, value).astype(value.dtype, order="C")


def _states(graph: Graph) -> list[Array]:
    return [variable.state.array for variable in graph.variables]


def _call(
    graph: Graph, case: Case, executable: sg.Executable, inputs: Sequence[Array], out: object = None
) -> Any:
    """Outputs, then the new values of variables, which then have the old ones; or the error."""
    for variable in graph.variables:
        variable.value = case.arrays[variable.name]
    try:
        results = executable(*inputs) if out is None else executable(*inputs, out=out)
        return [*results, *(variable.value for variable, _ in graph.updates)]
    except StaticGraphError as error:
        for variable in graph.variables:
            if variable.value.tobytes() != case.arrays[variable.name].tobytes():
                raise DifferenceError(f"a call that fails changes a variable\n{error}") from error
        return error
    finally:
        for variable in graph.variables:
            variable.value = case.arrays[variable.name]


def _check_same(name: str, expected: Sequence[Array], found: Any) -> None:
    """The same bits."""
    if isinstance(found, Exception):
        raise DifferenceError(f"{name} raises {type(found).__name__}\n{found}")
    for i, (one, other) in enumerate(zip(expected, found, strict=True)):
        if (one.shape, one.dtype, one.tobytes()) != (other.shape, other.dtype, other.tobytes()):
            raise DifferenceError(f"{name} gives other bits\nroot {i}: {one} and {other}")


def _check_memory(name: str, results: Sequence[Array], others: Sequence[Array]) -> None:
    for i, result in enumerate(results):
        for other in (*results[:i], *others):
            if np.shares_memory(result, other):
                raise DifferenceError(f"{name}: a result shares memory\nresult {i}")


def _check_again(graph: Graph, executable: sg.Executable, cases: Sequence[Case]) -> None:
    """A second executable of the same graph, from the cache, gives the same bits."""
    again = sg.compile(graph.inputs, graph.outputs, graph.updates)
    for case in cases:
        inputs = [np.array(case.arrays[leaf.name]) for leaf in graph.inputs]
        first, second = (_call(graph, case, one, inputs) for one in (executable, again))
        if isinstance(first, Exception):
            if type(first) is not type(second):
                raise DifferenceError(f"from the cache: another error\n{first}\n{second}")
            continue
        _check_same("from the cache", first, second)
