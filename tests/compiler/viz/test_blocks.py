"""Blocks: every node once, under its keys, without circles; lanes of gradients and updates."""

from __future__ import annotations

import networkx as nx
import numpy as np
from hypothesis import given, settings, strategies as st

import staticgraph as sg
from staticgraph.compiler.graph.definition import Definition
from staticgraph.compiler.viz.blocks import MOST, Block, Item, Key, fold, nodes_in
from staticgraph.compiler.viz.lanes import FORWARD, GRADIENT, UPDATE, lanes_of


def scope(name: str) -> Key:
    return Key("scope", name)


def shown(items: list[Item]) -> list[object]:
    return [(one.key.label, shown(one.items)) if isinstance(one, Block) else one for one in items]


def blocks_in(items: list[Item]) -> list[Block]:
    found = [one for one in items if isinstance(one, Block)]
    return found + [inner for one in found for inner in blocks_in(one.items)]


def test_nodes_go_into_the_blocks_of_their_keys() -> None:
    paths = {0: "", 1: "a", 2: "ab", 3: "ab", 4: "a", 5: "c", 6: ""}
    operands = {0: [], 1: [0], 2: [1], 3: [2], 4: [3, 1], 5: [4], 6: [5, 0]}
    items = fold(range(7), operands, lambda node: [scope(name) for name in paths[node]])
    assert shown(items) == [0, ("a", [1, ("b", [2, 3]), 4]), ("c", [5]), 6]
    assert nodes_in(items[1]) == [1, 2, 3, 4]


def test_a_block_that_would_make_a_circle_is_begun_again() -> None:
    operands = {0: [], 1: [0], 2: [1], 3: [2], 4: [3]}
    names = {0: "a", 1: "b", 2: "a", 3: "b", 4: "a"}
    items = fold(range(5), operands, lambda node: [scope(names[node])])
    assert shown(items) == [("a", [0]), ("b", [1]), ("a", [2]), ("b", [3]), ("a", [4])]


def test_what_is_independent_shares_a_block_wherever_it_is() -> None:
    operands = {0: [], 1: [], 2: [0], 3: [1]}
    items = fold(range(4), operands, lambda node: [scope("ab"[node % 2])])
    assert shown(items) == [("a", [0, 2]), ("b", [1, 3])]


def test_too_many_items_are_put_together() -> None:
    count = 40 * MOST
    items = fold(range(count), {i: [i - 1] if i else [] for i in range(count)}, lambda node: [])
    assert len(items) <= MOST
    assert [node for one in items for node in nodes_in(one)] == list(range(count))
    assert all(len(block.items) <= MOST for block in blocks_in(items))


def test_what_is_put_together_of_scopes_is_called_by_them_in_both_directions() -> None:
    count = 3 * MOST
    names = {i: [scope(f"layer{i}")] for i in range(count)}
    down = {i: [i - 1] if i else [] for i in range(count)}
    forward = fold(range(count), down, lambda node: names[node])
    backward = fold(range(count), down, lambda node: names[count - 1 - node], upwards=True)
    labels = [one.key.label for one in blocks_in(forward) if one.key.kind == "part"]
    assert labels[0] == "layer0 to layer23"
    assert labels == [one.key.label for one in blocks_in(backward) if one.key.kind == "part"][::-1]
    assert [node for one in backward for node in nodes_in(one)] == list(range(count))


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.lists(st.integers(1, 12), max_size=3), st.text("abc", max_size=3)),
        max_size=40,
    )
)
def test_boxes_have_every_node_once_and_no_circle(made: list[tuple[list[int], str]]) -> None:
    operands = {
        i: sorted({i - back for back in backs if back <= i}) for i, (backs, _) in enumerate(made)
    }
    items = fold(list(operands), operands, lambda node: [scope(name) for name in made[node][1]])
    assert sorted(node for one in items for node in nodes_in(one)) == list(operands)

    def check(inside: list[Item]) -> None:
        home = {node: i for i, one in enumerate(inside) for node in nodes_in(one)}
        edges = {
            (home[operand], home[node])
            for node in home
            for operand in operands[node]
            if operand in home and home[operand] != home[node]
        }
        assert nx.is_directed_acyclic_graph(nx.DiGraph(edges))
        assert all(tail < head for tail, head in edges)  # operands first
        for one in inside:
            if isinstance(one, Block):
                check(one.items)

    check(items)


def lanes(definition: Definition) -> dict[str, set[int]]:
    nodes = definition.nodes
    found = lanes_of(
        {node.id: node.operands for node in nodes},
        {node.id: node.source for node in nodes},
        definition.outputs,
        definition.updates,
    )
    by_op: dict[str, set[int]] = {}
    for node in nodes:
        by_op.setdefault(node.name or node.op.name, set()).add(found[node.id])
    return by_op


def test_gradients_and_updates_have_lanes_of_their_own() -> None:
    x, w = sg.placeholder("x", (None, 2), "float64"), sg.variable(np.ones((2, 2)), "w")
    loss = sg.tanh(x @ w).sum()
    updates = sg.optim.Adam(lr=0.1).minimize(loss)
    found = lanes(sg.compile([x], loss, updates=updates).definition)
    assert found["x"] == found["w"] == found["tanh"] == found["sum"] == {FORWARD}
    assert found["matmul"] == {FORWARD, GRADIENT}
    assert found["transpose"] == {GRADIENT}
    assert found["Adam.step"] == found["w.exp_avg"] == found["sqrt"] == {UPDATE}


def test_what_is_made_of_a_gradient_for_an_output_is_the_programs() -> None:
    x = sg.placeholder("x", (3,), "float64")
    (gradient,) = sg.grad(sg.tanh(x).sum(), [x])
    found = lanes(sg.compile([x], sg.exp(gradient)).definition)
    assert found["exp"] == found["tanh"] == {FORWARD}
    assert found["multiply"] == {GRADIENT}


def test_a_region_that_is_computed_again_is_the_gradients() -> None:
    x = sg.placeholder("x", (3,), "float64")
    loss = sg.checkpoint(lambda x: sg.tanh(sg.exp(x)), x).sum()
    (gradient,) = sg.grad(loss, [x])
    assert lanes(sg.compile([x], [loss, gradient]).definition)["tanh"] == {FORWARD, GRADIENT}
