"""The graphs that the structural tests look at, each as (inputs, outputs, updates)."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import staticgraph as sg
from staticgraph.compiler.codegen.kernel import Kernel, emit
from staticgraph.compiler.graph.definition import Definition, define
from staticgraph.compiler.passes.copy_insertion import separate_roots
from staticgraph.compiler.passes.sizes import unify_sizes
from staticgraph.compiler.pipeline import optimise
from staticgraph.fuzz.campaign import Program
from staticgraph.fuzz.graphs.case import Graph, build as graph_of
from staticgraph.fuzz.graphs.generate import generate
from staticgraph.fuzz.graphs.program import bodies

Parts = tuple[list[Any], list[Any], dict[Any, Any]]


def seed() -> Parts:
    """x*x + sin(2y) with both gradients."""
    x, y = sg.placeholder("x", ("n",), "float64"), sg.placeholder("y", ("n",), "float64")
    z = x * x + sg.sin(2 * y)
    return [x, y], [z, *sg.grad(sg.sum(z), [x, y])], {}


def mlp_step() -> Parts:
    """One step of SGD on a network of two layers."""
    x, y = sg.placeholder("x", ("n", 8)), sg.placeholder("y", ("n",), "int64")
    w1, b1 = sg.variable(np.ones((8, 16), "f4"), "w1"), sg.variable(np.zeros(16, "f4"), "b1")
    w2, b2 = sg.variable(np.ones((16, 4), "f4"), "w2"), sg.variable(np.zeros(4, "f4"), "b2")
    loss = sg.cross_entropy(sg.relu(x @ w1 + b1) @ w2 + b2, y)
    return [x, y], [loss], sg.optim.SGD(lr=0.1).minimize(loss)


def softmax_gradient() -> Parts:
    """A weighted sum of a softmax, with its gradient."""
    x, t = sg.placeholder("x", ("n", "m")), sg.placeholder("t", ("n", "m"))
    p = sg.softmax(x)
    return [x, t], [p, sg.grad(sg.sum(p * t), x)], {}


def layer_norm_gradient() -> Parts:
    """A weighted sum of a layer norm, with its gradient to the input."""
    x, t = sg.placeholder("x", ("n", "m")), sg.placeholder("t", ("n", "m"))
    h = sg.layer_norm(x, (x.shape[1],))
    return [x, t], [h, sg.grad(sg.sum(h * t), x)], {}


def softmax_of_layer_norm() -> Parts:
    """softmax(layer_norm(x)) with the gradient to the input, the weight and the bias."""
    x, t = sg.placeholder("x", ("n", 16)), sg.placeholder("t", ("n", 16))
    w, b = sg.variable(np.ones(16, "f4"), "weight"), sg.variable(np.zeros(16, "f4"), "bias")
    p = sg.softmax(sg.layer_norm(x, 16, w, b))
    return [x, t], [p, *sg.grad(sg.sum(p * t), [x, w, b])], {}


def gathers() -> Parts:
    """Rows of a table, scattered back; slices, flips and a concatenation."""
    table = sg.variable(np.ones((5, 3)), "table")
    i = sg.placeholder("i", ("n",), "int64")
    rows = sg.concatenate([sg.take(table, i, axis=0), sg.flip(table[1:], 1)])
    loss = sg.sum(sg.pad(rows * rows, 1).T)
    return [i], [rows, loss], {table: table - 0.1 * sg.grad(loss, table)}


DEFINITIONS: dict[str, Callable[[], Parts]] = {
    make.__name__: make
    for make in (
        seed, mlp_step, softmax_gradient, layer_norm_gradient, softmax_of_layer_norm, gathers,
    )
}  # fmt: skip


def built(name: str) -> Definition:
    """The graph as it is defined."""
    inputs, outputs, updates = DEFINITIONS[name]()
    return define(inputs, outputs, list(updates.items()))


def lowered(graph: Definition) -> Definition:
    """The graph after all passes."""
    return separate_roots(optimise(unify_sizes(graph)[0]))


def random_graph(seed: int) -> Graph:
    """The graph of a program of the campaign `graphs`."""
    return graph_of(generate(seed))


def random_loop_groups(count: int) -> Iterator[Graph]:
    """Random graphs without loops and branches, and whose products read what is in memory."""
    programs = filter(_is_flat, map(generate, itertools.count()))
    return map(graph_of, itertools.islice(programs, count))


def _is_flat(program: Program) -> bool:
    used = {step.get("op") for step in program["steps"]}
    nested = any(bodies(program["steps"]))
    return not nested and not used & {"conv2d", "conv_transpose2d", "sliding_windows"}


def kernel(definition: Parts, **options: Any) -> Kernel:
    """What is emitted for a definition."""
    inputs, outputs, updates = definition
    return emit(lowered(define(inputs, outputs, list(updates.items()))), **options)
