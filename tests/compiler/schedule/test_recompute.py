"""Values that later groups compute again: less memory, the same bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import networkx as nx
import numpy as np
import pytest
from numpy.testing import assert_array_equal

import staticgraph as sg
from staticgraph.compiler.graph.build import graph_of, verify
from staticgraph.compiler.graph.definition import define
from staticgraph.compiler.schedule.recompute import recompute_values
from tests.graphs import DEFINITIONS, lowered

OFF = {"disable": ["recompute_values"]}
WIDTH = 24


def cubic(h: Any) -> Any:
    return h * (1.5 - 0.5 * h * h)


def network(activation: Callable[..., Any]) -> tuple[list[Any], list[Any]]:
    """Four layers, with the gradients to input, weights and biases."""
    rng = np.random.default_rng(0)
    x = h = sg.placeholder("x", ("n", WIDTH), "float64")
    variables = []
    for _ in range(4):
        w = sg.variable(rng.normal(size=(WIDTH, WIDTH)) / WIDTH)
        b = sg.variable(rng.normal(size=WIDTH))
        h = activation(h @ w + b)
        variables += [w, b]
    return [x], [h, *sg.grad(sg.sum(h * 0.5), [x, *variables])]


def count(graph: nx.MultiDiGraph[int], op: str) -> int:
    return sum(data["op"].name == op for _, data in graph.nodes(data=True))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("activation", "saved"),
    # layers of memory: of h + b, sigmoid(h + b), their product and the product h, two remain
    [(sg.silu, 3), (cubic, 3), (sg.tanh, 0), (sg.relu, 0), (sg.gelu, 0)],
)
def test_less_is_kept_and_every_bit_is_the_same(activation: Any, saved: int) -> None:
    inputs, outputs = network(activation)
    kept = sg.compile(inputs, outputs, **OFF)  # type: ignore[arg-type]
    again = sg.compile(inputs, outputs)
    x = np.random.default_rng(1).normal(size=(32, WIDTH))
    for one, other in zip(kept(x), again(x), strict=True):
        assert_array_equal(one, other)
    difference = kept.plan.arena_bytes(n=32) - again.plan.arena_bytes(n=32)
    assert difference >= saved * x.nbytes
    assert bool(count(again.lowered, "recompute")) == bool(saved)
    assert not count(kept.lowered, "recompute")


def test_without_fusion_nothing_is_recomputed() -> None:
    inputs, outputs = network(sg.silu)
    assert not count(sg.compile(inputs, outputs, fuse=False).lowered, "recompute")


@pytest.mark.parametrize("name", DEFINITIONS)
def test_the_graph_stays_a_graph_and_roots_stay_roots(name: str) -> None:
    inputs, outputs, updates = DEFINITIONS[name]()
    before = lowered(define(inputs, outputs, list(updates.items())))
    after = recompute_values(before)
    verify(graph_of(after))
    for key in ("inputs", "outputs", "updates"):
        assert len(getattr(after, key)) == len(getattr(before, key))


def test_a_value_that_a_product_reads_too_is_kept() -> None:
    x = sg.placeholder("x", ("n", WIDTH), "float64")
    w = sg.variable(np.eye(WIDTH))
    h = cubic(x @ w)
    late = sg.square(h @ w) + h  # h lies in memory for the product: reading it is free
    assert not count(sg.compile([x], late).lowered, "recompute")


def test_values_of_ops_that_are_dear_are_kept() -> None:
    x = sg.placeholder("x", ("n", WIDTH), "float64")
    w = sg.variable(np.eye(WIDTH))
    h = x @ w

    def late(value: Any) -> nx.MultiDiGraph[int]:
        # two values, of h alone, that loops before and after a product read
        other = value * h
        return sg.compile([x], ((other + value) @ w) * value + other).lowered

    assert count(late(h + 1), "recompute")
    assert count(late(sg.exp(h)), "recompute")
    assert not count(late(sg.erf(h)), "recompute")


@pytest.mark.slow
def test_what_is_computed_again_beside_a_product_that_puts_columns_by_piece() -> None:
    """A fusion lets the product take the place of a transpose, which the graph still has."""
    rng = np.random.default_rng(0)
    x = sg.placeholder("x", (None, 4, 8, 8), "float64")
    kernel, weight, last = (
        sg.variable(rng.normal(0, 0.3, shape)) for shape in ((16, 4, 3, 3), (1024, 64), (64, 8))
    )
    hidden = sg.reshape(sg.relu(sg.conv2d(x, kernel, padding=1)), (-1, 1024)) @ weight
    loss = sg.sum(sg.square(((hidden * hidden + 1) * hidden) @ last))
    outputs = [loss, *sg.grad(loss, [kernel, weight])]
    before = lowered(define([x], outputs))
    after = recompute_values(before)
    assert after is not before
    verify(graph_of(after))
    given = rng.normal(size=(3, 4, 8, 8))
    plain = sg.compile([x], outputs, fuse=False)(given)
    for one, other in zip(sg.compile([x], outputs)(given), plain, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12 * np.abs(other).max())
