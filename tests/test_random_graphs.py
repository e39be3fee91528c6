"""Random graphs: the compiled function against NumPy, node by node, at several sizes.

Inputs lie row by row at one size, in any other way at the next.

The gate runs a few fixed examples. To search for long, give seeds instead:

    python -m tests.test_random_graphs --count 2000 --seed 0 --steps 14

which stops at no failure, prints the seed of each and after every hundred how many there were.
`--show SEED` prints the graph and the kernel of one seed. STATICGRAPH_CACHE=0 keeps the kernels
out of the user's cache.
"""

from __future__ import annotations

import argparse
import random
import sys
import traceback
from collections.abc import Mapping
from typing import Any

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import staticgraph as sg
from compiler.errors import StaticGraphError
from compiler.graph.build import to_text
from compiler.graph.expression import Expression
from compiler.passes.pipeline import rule_names
from compiler.runtime.interpret import interpret
from tests.layouts import all_in_place, shuffled
from tests.random_graphs import SIZES, Graph, Grower, feeds_of, spread

RULES = sorted(rule_names())
CONFIGURATIONS: dict[str, dict[str, Any]] = {
    "default": {},
    "no rewrites": {"disable": RULES},
    "no fusion": {"fuse": False},
    "neither": {"fuse": False, "disable": RULES},
    "fast": {"numerics": "fast"},
}


def check_graph(graph: Graph, configurations: list[str], sizes: list[dict[str, int]]) -> None:
    """Compile a graph in several ways and compare each at several sizes with NumPy."""
    initial = [variable.value for variable in graph.variables]
    for name in configurations:
        executable = sg.compile(
            graph.inputs, graph.outputs, graph.updates, name=name, **CONFIGURATIONS[name]
        )
        for seed, chosen in enumerate(sizes):
            for variable, value in zip(graph.variables, initial, strict=True):
                variable.value = value
            feeds = feeds_of(graph, chosen, seed)
            if seed % 2:
                order = random.Random(seed)
                feeds |= {leaf: shuffled(feeds[leaf], order) for leaf in graph.inputs}
            with all_in_place():
                check_run(graph, executable, feeds, f"{name}, {chosen}")
    for variable, value in zip(graph.variables, initial, strict=True):
        variable.value = value


def check_run(
    graph: Graph, executable: sg.Executable, feeds: Mapping[Expression, np.ndarray], where: str
) -> None:
    """One call: values, inputs unchanged, no memory shared; an error where NumPy has one."""
    roots = [*graph.outputs, *(new for _, new in graph.updates)]
    inputs = [feeds[leaf] for leaf in graph.inputs]
    before = [array.copy() for array in inputs]
    old = [variable.value for variable in graph.variables]
    try:
        expected = interpret(roots, feeds)
    except (StaticGraphError, ValueError, IndexError):
        expected = None
    try:
        results = executable(*inputs)
    except StaticGraphError:
        assert expected is None, f"{where}: raises where NumPy does not"
        for variable, value in zip(graph.variables, old, strict=True):
            np.testing.assert_array_equal(variable.value, value)
        return
    assert expected is not None, f"{where}: does not raise where NumPy does"
    for array, copy in zip(inputs, before, strict=True):
        np.testing.assert_array_equal(array, copy, err_msg=f"{where}: an input has changed")
    check_memory(results, inputs, [variable.state.array for variable in graph.variables])
    new = [variable.value for variable, _ in graph.updates]
    check_values([*results, *new], expected, roots, feeds, where)
    updated = {variable.serial for variable, _ in graph.updates}
    for variable, value in zip(graph.variables, old, strict=True):
        if variable.serial not in updated:
            np.testing.assert_array_equal(variable.value, value)


def check_memory(
    results: list[np.ndarray], inputs: list[np.ndarray], states: list[np.ndarray]
) -> None:
    for i, result in enumerate(results):
        for other in (*results[:i], *inputs, *states):
            assert not np.shares_memory(result, other)


def check_values(
    results: list[np.ndarray],
    expected: list[np.ndarray],
    roots: list[Expression],
    feeds: Mapping[Expression, np.ndarray],
    where: str,
) -> None:
    """Equal, or as near as rounding explains: within 8 spreads of Monte Carlo arithmetic.

    The spread is that of 6 runs, of the size of one node's error times the slope up to the
    result; 8 of them leave room for the errors that the runs did not meet. What is not finite in
    NumPy may be better in a kernel, whose rules avoid overflow.
    """
    bounds: list[np.ndarray] | None = None
    for i, (result, value, root) in enumerate(zip(results, expected, roots, strict=True)):
        assert (result.shape, result.dtype) == (value.shape, value.dtype), where
        if result.dtype.kind != "f" and np.array_equal(result, value):
            continue
        tight = 16 * np.finfo(value.dtype).eps if value.dtype.kind == "f" else 0
        with np.errstate(all="ignore"):
            distance = np.abs(np.subtract(result, value, dtype=np.float64))
        if np.all((distance <= tight * np.abs(value, dtype=np.float64)) | (result == value)):
            continue
        if bounds is None:
            bounds = spread(roots, feeds)
        allowed = 8 * bounds[i] + tight * (np.abs(value, dtype=np.float64) + 1e-3)
        wrong = np.isfinite(value) & ~(distance <= allowed) & ~np.isnan(bounds[i])
        assert not wrong.any(), (
            f"{where}: root {i} {root!r}:\n{result[wrong]}\nis not\n{value[wrong]}\n"
            f"within\n{allowed[wrong]}"
        )


@settings(
    max_examples=24, derandomize=True, deadline=None, database=None,
    suppress_health_check=list(HealthCheck),
)  # fmt: skip
@given(st.randoms(use_true_random=False), st.integers(2, 12))
def test_compiled_is_numpy(choose: random.Random, steps: int) -> None:
    graph = Grower(choose).grow(steps)
    other = choose.choice(list(CONFIGURATIONS)[1:])
    check_graph(graph, ["default", other], choose.sample(SIZES, 3))


def _graph(seed: int, steps: int) -> Graph:
    return Grower(random.Random(seed)).grow(steps)


def _show(seed: int, steps: int) -> None:
    graph = _graph(seed, steps)
    executable = sg.compile(graph.inputs, graph.outputs, graph.updates)
    print(to_text(executable.graph), to_text(executable.lowered), executable.source, sep="\n\n")


def main() -> int:
    """Search for failures; how many there were."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=12)
    parser.add_argument("--show", type=int)
    options = parser.parse_args()
    if options.show is not None:
        _show(options.show, options.steps)
        return 0
    failures = 0
    for i in range(options.count):
        seed = options.seed + i
        try:
            check_graph(_graph(seed, options.steps), list(CONFIGURATIONS), list(SIZES))
        except Exception:
            failures += 1
            print(f"seed {seed}:", traceback.format_exc(limit=-3), sep="\n", flush=True)
        if (i + 1) % 100 == 0 or i + 1 == options.count:
            print(f"{failures} of {i + 1} failed", flush=True)
    return failures


if __name__ == "__main__":
    sys.exit(min(main(), 1))
