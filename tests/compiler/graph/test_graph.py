"""The networkx DAG: built and interned, verified, printed the same in every process, frozen."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import networkx as nx
import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.codegen.listing import listing
from staticgraph.compiler.core.errors import GraphError
from staticgraph.compiler.core.types import TensorType
from staticgraph.compiler.graph.build import (
    NODE_ATTRIBUTES,
    build,
    definition_of,
    graph_of,
    operands_of,
    verify,
)
from staticgraph.compiler.graph.definition import define, rebuilt, to_text
from staticgraph.compiler.passes.copy_insertion import separate_roots
from staticgraph.compiler.passes.sizes import unify_sizes
from staticgraph.compiler.pipeline import optimise, pipeline
from tests.graphs import DEFINITIONS, built, kernel

each = pytest.mark.parametrize("name", DEFINITIONS)


# -- build -----------------------------------------------------------------------------------------


def test_nodes_edges_and_roots() -> None:
    x, w = sg.placeholder("x", (2,)), sg.variable([1.0, 2.0], "w")
    y = x * x - w
    graph = build([x], [y, x], [(w, y)])
    assert isinstance(graph, nx.MultiDiGraph)
    assert [graph.nodes[n]["op"].name for n in graph] == [
        "placeholder", "variable", "multiply", "subtract",
    ]  # fmt: skip
    assert all(set(data) == NODE_ATTRIBUTES for _, data in graph.nodes.data())
    assert sorted(graph.edges(keys=True)) == [(0, 2, 0), (0, 2, 1), (1, 3, 1), (2, 3, 0)]
    assert operands_of(graph, 3) == (2, 1)
    assert graph.graph == {"inputs": (0,), "outputs": (3, 0), "updates": ((1, 3),)}
    assert nx.is_directed_acyclic_graph(graph)
    assert graph.nodes[3]["type"] == TensorType((2,), np.dtype(np.float32))
    assert graph.nodes[0]["name"] == "x"
    assert "test_graph.py:" in graph.nodes[2]["source"]


def test_equal_nodes_are_one() -> None:
    x, y = sg.placeholder("x", (2,)), sg.placeholder("y", (2,))
    pairs: list[tuple[Any, Any, bool]] = [
        (x + y, y + x, True),
        (x * y, x * y, True),
        (x - y, y - x, False),
        (sg.exp(x), sg.exp(x), True),
        (sg.exp(x), sg.exp(y), False),
        (sg.sum(x), sg.sum(x, keepdims=True), False),
        (sg.constant([1, 2]), sg.constant([1, 2]), True),
        (sg.constant([0.0]), sg.constant([-0.0]), False),
        (sg.constant(np.float32(1)), sg.constant(np.float64(1)), False),
        (sg.constant(np.nan), sg.constant(np.nan), True),
        (sg.constant(1), sg.constant([1]), False),
        (sg.pad(x, 1, 0.0), sg.pad(x, 1, -0.0), False),
        (sg.placeholder("z", (2,)), sg.placeholder("z", (2,)), False),
        (sg.variable([1.0]), sg.variable([1.0]), False),
    ]
    for left, right, same in pairs:
        graph = define([], [left, right])
        first, second = graph.outputs
        assert (first == second) == same, to_text(graph)
        verify(graph_of(graph))


def test_expressions_of_a_graph_build_the_same_graph() -> None:
    for name in DEFINITIONS:
        graph = built(name)
        again = rebuilt(graph, dict(enumerate(graph.expressions())))
        assert to_text(again) == to_text(graph)
        assert graph_of(again).graph == graph_of(graph).graph
        assert to_text(definition_of(nx.MultiDiGraph(graph_of(graph)))) == to_text(graph)


def test_frozen() -> None:
    definition = built("seed")
    graph = graph_of(definition)
    assert nx.is_frozen(graph)
    for change in (graph.add_node, graph.remove_node):
        with pytest.raises(nx.NetworkXError, match="Frozen"):
            change(0)
    # passes make new definitions of it
    text = to_text(definition)
    optimise(definition)
    assert to_text(definition) == text


# -- verify ----------------------------------------------------------------------------------------


def thawed() -> nx.MultiDiGraph[int]:
    x, w = sg.placeholder("x", (2, 3)), sg.variable(np.ones((3, 2), np.float32), "w")
    graph = build([x], [sg.exp(x @ w)], [(w, w * 2)])
    return nx.MultiDiGraph(graph)


def _drop_attribute(graph: nx.MultiDiGraph[int]) -> None:
    del graph.nodes[1]["source"]


def _add_attribute(graph: nx.MultiDiGraph[int]) -> None:
    graph.nodes[1]["color"] = "red"


def _change_type(graph: nx.MultiDiGraph[int]) -> None:
    graph.nodes[2]["type"] = TensorType((2, 3), np.dtype(np.float32))


def _change_dtype(graph: nx.MultiDiGraph[int]) -> None:
    graph.nodes[2]["type"] = TensorType((2, 2), np.dtype(np.float64))


def _remove_operand(graph: nx.MultiDiGraph[int]) -> None:
    graph.remove_edge(0, 2, 0)


def _repeat_position(graph: nx.MultiDiGraph[int]) -> None:
    graph.add_edge(1, 2, 0)


def _make_cycle(graph: nx.MultiDiGraph[int]) -> None:
    graph.remove_edge(2, 3, 0)
    graph.add_edge(3, 3, 0)


def _drop_root(graph: nx.MultiDiGraph[int]) -> None:
    graph.remove_node(3)


def _drop_updates(graph: nx.MultiDiGraph[int]) -> None:
    del graph.graph["updates"]


def _cross_update(graph: nx.MultiDiGraph[int]) -> None:
    graph.graph["updates"] = ((1, 2),)


def _foreign_output(graph: nx.MultiDiGraph[int]) -> None:
    graph.graph["outputs"] = (77,)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (_drop_attribute, "node 1 has the attributes"),
        (_add_attribute, "node 1 has the attributes .*color"),
        (_change_type, r"node 2 \(matmul\) has type float32\[2, 3\], not float32\[2, 2\]"),
        (_change_dtype, r"node 2 \(matmul\) has type float64\[2, 2\], not float32\[2, 2\]"),
        (_remove_operand, r"node 2: operand positions \[1\]"),
        (_repeat_position, r"node 2: operand positions \[0, 0, 1\]"),
        (_make_cycle, r"node 3 comes before one of its operands \(3,\)"),
        (_drop_root, "root 3 is not in the graph"),
        (_drop_updates, "the graph has no attribute 'updates'"),
        (_cross_update, r"the update of node 1 is float32\[2, 2\], the variable float32\[3, 2\]"),
        (_foreign_output, "root 77 is not in the graph"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_verify_catches(damage: Callable[[nx.MultiDiGraph[int]], None], message: str) -> None:
    graph = thawed()
    verify(graph)
    damage(graph)
    with pytest.raises(GraphError, match=f"^verify: {message}"):
        verify(graph)


@each
@pytest.mark.parametrize("numerics", ["strict", "fast"])
def test_every_pass_gives_a_valid_graph(name: str, numerics: str) -> None:
    graph = built(name)
    verify(graph_of(graph))
    types = [graph.nodes[node].type.dtype for node in graph.outputs]
    unified, _ = unify_sizes(graph)
    verify(graph_of(unified))
    for one in (*pipeline(numerics), separate_roots):
        unified = one(unified)
        verify(graph_of(unified))
        assert [unified.nodes[node].type.dtype for node in unified.outputs] == types
    computed = [*unified.outputs, *(new for _, new in unified.updates)]
    assert len(set(computed)) == len(computed)


@each
def test_no_rule_undoes_another(name: str) -> None:
    graph = optimise(built(name))
    assert to_text(pipeline()[-1](graph)) == to_text(graph)


# -- text ------------------------------------------------------------------------------------------


def test_text() -> None:
    x = sg.placeholder("x\n'", (None, 3), "float64")
    graph = define([x], [sg.sum(x, 1) / 2, sg.constant([1, 2])])
    assert to_text(graph).splitlines() == [
        "%0 = placeholder(shape=(x\\n'.0, 3)) : float64[x\\n'.0, 3]  # " + '"x\\n\'"',
        r"%1 = sum(%0, axes=(1,), keepdims=False) : float64[x\n'.0]",
        "%2 = constant(value=2.) : float64[]",
        r"%3 = divide(%1, %2) : float64[x\n'.0]",
        "%4 = constant(value=[1, 2]) : int64[2]",
        "return %3, %4",
    ]


PRINT = """
from tests.graphs import DEFINITIONS, built, kernel
from staticgraph.compiler.codegen.listing import listing
from staticgraph.compiler.graph.definition import to_text
for name, make in DEFINITIONS.items():
    print(to_text(built(name)), listing(kernel(make())), sep="\\n")
"""


@pytest.mark.slow
def test_text_and_kernels_are_the_same_in_every_process() -> None:
    texts = set()
    for hash_seed in ("0", "4711"):
        environment = os.environ | {"PYTHONHASHSEED": hash_seed}
        done = subprocess.run(
            [sys.executable, "-c", PRINT],
            env=environment,
            capture_output=True,
            check=True,
            text=True,
        )
        texts.add(done.stdout)
    assert len(texts) == 1
    assert "def kernel(t" in texts.pop()


@each
def test_kernels_are_the_same_when_made_again(name: str) -> None:
    first, second = (listing(kernel(DEFINITIONS[name]())) for _ in range(2))
    assert first == second
