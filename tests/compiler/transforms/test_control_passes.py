"""Rewrites of loops: each keeps the values, alone and with the others, and does what it is for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import staticgraph as sg
from staticgraph.compiler.core.errors import OutOfRangeError
from staticgraph.compiler.graph.build import graph_of, verify
from staticgraph.compiler.graph.definition import Definition, define, to_text
from staticgraph.compiler.graph.expression import Expression
from staticgraph.compiler.inspect.interpret import interpret
from staticgraph.compiler.ops.programs import control
from staticgraph.compiler.passes.hoist import hoist_invariants, hoist_products
from staticgraph.compiler.passes.merge import merge_scans
from staticgraph.compiler.passes.prune import prune_loops
from staticgraph.compiler.passes.sink import sink_products, sink_sums
from staticgraph.compiler.pipeline import optimise, pipeline
from tests.combinations import some
from tests.compiler.transforms.test_control_values import symbolic
from tests.loops import PROGRAMS, values

PASSES = [merge_scans, hoist_invariants, hoist_products, sink_sums, sink_products, prune_loops]
NAMES = [*(one.__name__ for one in PASSES), "sum_small_products"]
# sums over steps are taken in another order
CLOSE = {"rtol": 1e-11, "atol": 1e-12}


def with_gradients(name: str, order: int = 1) -> tuple[Definition, list[np.ndarray]]:
    output, feeds = symbolic(PROGRAMS[name])
    leaves = list(feeds)
    outputs = [output, *sg.grad(output, leaves)]
    if order > 1:
        outputs += sg.grad(sum((g * g).sum() for g in outputs[1:]), leaves)
    return define(leaves, outputs), list(feeds.values())


def evaluated(graph: Definition, args: Any) -> list[np.ndarray]:
    made = graph.expressions()
    feeds = {made[node]: array for node, array in zip(graph.inputs, args, strict=True)}
    return interpret([made[node] for node in graph.outputs], feeds)


def close(left: list[np.ndarray], right: list[np.ndarray]) -> None:
    for one, other in zip(left, right, strict=True):
        assert one.dtype == other.dtype
        assert_allclose(one, other, **CLOSE)


@pytest.mark.slow
@pytest.mark.parametrize(
    "of", [*((name, 1) for name in PROGRAMS), *some([(name, 2) for name in PROGRAMS], 4)], ids=str
)
def test_optimised_graphs_give_the_same_values(of: tuple[str, int]) -> None:
    graph, args = with_gradients(*of)
    expected = evaluated(graph, args)
    for one in pipeline():
        graph = one(graph)
        verify(graph_of(graph))
    close(evaluated(graph, args), expected)


@pytest.mark.slow
@pytest.mark.parametrize("name", some(PROGRAMS, 3))
@pytest.mark.parametrize("rewrite", PASSES, ids=NAMES[:-1])
def test_each_rewrite_alone(name: str, rewrite: Callable[[Definition], Definition]) -> None:
    graph, args = with_gradients(name)
    graph = optimise(graph, disabled=NAMES)
    expected = evaluated(graph, args)
    rewritten = rewrite(graph)
    verify(graph_of(rewritten))
    close(evaluated(rewritten, args), expected)
    assert to_text(rewrite(graph)) == to_text(rewritten)


@pytest.mark.slow
@pytest.mark.parametrize("name", some(["gru_with_head", "lstm", "nested"], 1))
@pytest.mark.parametrize("without", NAMES)
def test_all_rewrites_but_one(name: str, without: str) -> None:
    graph, args = with_gradients(name)
    close(evaluated(optimise(graph, disabled=[without]), args), evaluated(graph, args))


@pytest.mark.parametrize("name", PROGRAMS)
def test_no_rewrite_undoes_another(name: str) -> None:
    graph = optimise(with_gradients(name)[0])
    assert to_text(optimise(graph)) == to_text(graph)


def scans(graph: Definition) -> list[Any]:
    return [node for node in graph.nodes if node.op is control.scan]


def count(graph: Definition, op: str) -> int:
    return Counter(node.op.name for node in graph.nodes)[op]


@pytest.mark.parametrize("name", ["rnn", "lstm", "gru_with_head", "mapped", "perceptron"])
def test_the_forward_loop_runs_once(name: str) -> None:
    graph, _ = with_gradients(name)
    assert len(scans(graph)) >= 2
    forward = [one for one in scans(optimise(graph)) if one.attrs["reverse"] is (name[:3] == "gru")]
    assert len(forward) <= 1


def test_the_products_of_a_recurrent_network() -> None:
    """Of the training step of a network, one product each way has to wait for the step before."""
    graph = optimise(with_gradients("rnn")[0])
    forward, backward = scans(graph)
    for loop in (forward, backward):
        assert count(loop.attrs["body"].definition, "matmul") == 1
        assert loop.attrs["carries"] == 1
    # x @ wx, and the gradients of x, wx and wh; the gradient of the bias is a sum
    assert count(graph, "matmul") == 4
    inner = backward.attrs["body"].definition
    assert count(inner, "sum") == 0


def test_the_head_of_a_network_is_computed_below() -> None:
    graph = optimise(with_gradients("gru_with_head")[0])
    forward, backward = scans(graph)
    assert count(forward.attrs["body"].definition, "exp") == 0
    assert count(forward.attrs["body"].definition, "matmul") == 1
    assert count(backward.attrs["body"].definition, "matmul") == 1


def looped(
    step: Any, init: Any, xs: Any, pick: Callable[[Any, Any], Any], **options: Any
) -> Definition:
    outputs = pick(*sg.scan(step, init, xs, **options))
    return define([], outputs if isinstance(outputs, list) else [outputs])


X = sg.placeholder("x", ("t", 2, 3), "float64")
W = sg.placeholder("w", (3, 3), "float64")
H = sg.placeholder("h", (2, 3), "float64")


def test_what_is_the_same_in_all_steps_is_hoisted() -> None:
    graph = looped(lambda h, x: ((sg.exp(W @ W).T @ h.T).T + x, h), H, X, lambda h, ys: [h, ys])
    assert count(scans(graph)[0].attrs["body"].definition, "exp") == 1
    hoisted = hoist_invariants(graph)
    inner = scans(hoisted)[0].attrs["body"].definition
    assert (count(inner, "exp"), count(inner, "matmul"), count(inner, "transpose")) == (0, 1, 3)
    assert (count(hoisted, "exp"), count(hoisted, "matmul")) == (1, 1)


def test_a_transposed_factor_on_the_right_is_made_once() -> None:
    graph = looped(lambda h, x: (h @ sg.exp(W).T + x @ W.T, h), H, X, lambda h, ys: [h, ys])
    hoisted = hoist_invariants(graph)
    assert count(scans(hoisted)[0].attrs["body"].definition, "transpose") == 0
    assert count(hoisted, "transpose") == 2


def test_what_may_fail_is_not_hoisted_out_of_a_loop_of_unknown_length() -> None:
    table, index = sg.placeholder("table", (4, 3), "float64"), sg.placeholder("i", (), "int64")

    def looked_up(length: Any) -> Expression:
        xs = sg.placeholder("xs", (length, 3), "float64")
        h, _ = sg.scan(lambda h, x: (h + x * table[index], None), table[0], xs)
        feeds = {table: np.ones((4, 3)), index: np.array(9)}
        return h, {**feeds, xs: np.zeros((length or 0, 3))}

    output, feeds = looked_up(None)
    graph = optimise(define(list(feeds), [output]))
    assert_array_equal(evaluated(graph, feeds.values())[0], np.ones(3))
    output, feeds = looked_up(2)
    graph = optimise(define(list(feeds), [output]))
    assert count(graph, "take") == 1
    with pytest.raises(OutOfRangeError, match="take: index 9 is out of range"):
        evaluated(graph, feeds.values())


@pytest.mark.parametrize(
    ("step", "xs", "expected"),
    [
        (lambda h, x: (h + x @ W, None), X, 1),
        (lambda h, x: (h + sg.maximum(x, 0) @ W, None), X, 1),
        (lambda h, x: (h + sg.concatenate([x, x[:, :1]], 1)[:, :3] @ W, None), X, 1),
        (lambda h, x: (h + (W @ x.T).T, None), X, 1),
        (lambda h, x: (h + (x.reshape(3, 2) * 2).T @ W, None), X, 1),
        (lambda h, x: (h + sg.expand_dims(W @ x[0] + x[1] @ W, 0), None), X, 2),
        (lambda h, x: (h + sg.softmax(x, -1) @ W + sg.flip(x, 0) @ W, None), X, 2),
        (lambda h, x: (h + (x * x.mean(1, keepdims=True)) @ W, None), X, 1),
        (lambda h, x: (h + sg.pad(x[:, 1:], ((0, 0), (1, 0))) @ W, None), X, 1),
        (lambda h, x: (h + sg.broadcast_to(x[0], (2, 3)) @ W, None), X, 1),
        (lambda h, x: (h + (x @ x.T @ x) @ W, None), X, 1),
        (lambda h, x: (h + (x + h) @ W, None), X, 0),
        (lambda h, x: (h + x @ x.T @ h, None), X, 0),
    ],
)  # fmt: skip
def test_products_of_slices_become_one(step: Any, xs: Expression, expected: int) -> None:
    last, _ = sg.scan(step, H, xs)
    args = [values(1, 4, 2, 3), values(2, 3, 3), values(3, 2, 3)]
    graph = optimise(define([X, W, H], [last]), disabled=NAMES)
    before = count(scans(graph)[0].attrs["body"].definition, "matmul")
    hoisted = hoist_products(graph)
    assert before - count(scans(hoisted)[0].attrs["body"].definition, "matmul") >= expected
    assert (count(hoisted, "matmul") > 0) is (expected > 0)
    close(evaluated(hoisted, args), evaluated(graph, args))


def test_embeddings_are_looked_up_at_once() -> None:
    table, tokens = sg.placeholder("e", (7, 3), "float64"), sg.placeholder("i", (None, 2), "int64")
    last, _ = sg.scan(lambda h, i: (sg.tanh(h + table[i] @ W), None), H, tokens)
    args = [values(1, 7, 3), np.arange(8).reshape(4, 2) % 7, values(2, 3, 3), values(3, 2, 3)]
    graph = define([table, tokens, W, H], [last, *sg.grad(last.sum(), [table, W])])
    optimised = optimise(graph)
    for loop in scans(optimised):
        for op in ("take", "take_add", "matmul"):
            assert count(loop.attrs["body"].definition, op) == 0
    assert count(optimised, "take_add") == 1
    close(evaluated(optimised, args), evaluated(graph, args))


def test_sums_of_products_become_one_product() -> None:
    def step(carry: Any, x: Any) -> Any:
        h, a, b, c, d = carry
        h = sg.tanh(h + x)
        a, b = a + x.T @ h, b + h.sum(0)
        return (h, a, b, c + sg.exp(h).sum(), d + x.sum()), None

    zero = sg.constant(np.float64(0))
    init = H, sg.zeros((3, 3), "float64"), W[0], zero, zero
    last, _ = sg.scan(step, init, X)
    graph = optimise(define([X, H, W], list(last)), disabled=NAMES)
    sunk = sink_sums(graph)
    inner = scans(sunk)[0].attrs["body"].definition
    assert (count(inner, "matmul"), count(sunk, "matmul")) == (0, 1)
    # sums of what is stacked for the product, or given, are taken below, the other one in the loop
    assert (count(inner, "sum"), count(sunk, "sum")) == (1, 2)
    assert scans(prune_loops(sunk))[0].attrs["carries"] == 2
    args = [values(1, 4, 2, 3), values(3, 2, 3), values(2, 3, 3)]
    close(evaluated(sunk, args), evaluated(graph, args))


@pytest.mark.parametrize(
    "step",
    [
        lambda total, x: (total + x.T @ x, total.sum()),
        lambda total, x: (total + x.T @ (x @ total), None),
        lambda total, x: (total * 2 + x.T @ x, None),
        lambda total, x: (x.T @ x - total, None),
        lambda total, x: (total + total + x.T @ x, None),
        lambda total, x: (total + W @ W, None),
    ],
)
def test_sums_that_a_step_waits_for_stay(step: Any) -> None:
    graph = looped(step, W, X, lambda total, ys: [total] if ys is None else [total, ys])
    assert to_text(sink_sums(graph)) == to_text(graph)


def test_sums_of_other_forms_sink_through_what_is_linear() -> None:
    def step(total: Any, x: Any) -> Any:
        product = x.T @ sg.tanh(x)
        padded = sg.pad(-sg.expand_dims(product, 0).reshape(9), (1, 2))
        return total + padded + sg.broadcast_to(product[:1, :1].reshape(1), (12,)), product

    total, products = sg.scan(step, sg.zeros(12, "float64"), X)
    graph = optimise(define([X], [total, products]), disabled=NAMES)
    args = [values(1, 4, 2, 3)]
    sunk = sink_sums(graph)
    assert (count(sunk, "matmul"), count(sunk, "negative")) == (1, 1)
    close(evaluated(sunk, args), evaluated(graph, args))


def test_what_follows_from_a_product_sinks_with_it() -> None:
    def step(h: Any, x: Any) -> Any:
        h = sg.tanh(h + x)
        return h, (sg.softmax(h @ W, -1), h * x, (h @ h.T) @ h)

    h, ys = sg.scan(step, H, X)
    graph = optimise(define([X, W, H], [h, *ys]), disabled=NAMES)
    sunk = sink_products(graph)
    inner = scans(sunk)[0].attrs["body"].definition
    assert (count(inner, "exp"), count(inner, "matmul"), count(inner, "multiply")) == (0, 2, 1)
    assert (count(sunk, "exp"), count(sunk, "matmul")) == (1, 1)
    args = [values(1, 4, 2, 3), values(2, 3, 3), values(3, 2, 3)]
    close(evaluated(sunk, args), evaluated(graph, args))


def test_what_takes_more_stacks_than_products_stays() -> None:
    def step(carry: Any, x: Any) -> Any:
        a, b = carry
        a, b = sg.tanh(a + x), sg.sin(b + a)
        return (a, b), a @ W * b

    _, ys = sg.scan(step, (H, H), X)
    graph = define([X, W, H], [ys])
    assert to_text(sink_products(graph)) == to_text(graph)


def test_unused_carries_and_ys_go() -> None:
    def step(carry: Any, x: Any) -> Any:
        a, b, c, d = carry
        return (a + x, b * a, c + b, d), (a, b, x, d, sg.exp(c))

    last, ys = sg.scan(step, (H, H, H, W[:2]), X)
    pruned = prune_loops(define([X, W, H], [last[0], ys[0]]))
    (loop,) = scans(pruned)
    assert (loop.attrs["carries"], len(loop.attrs["body"].outputs)) == (1, 2)
    # what does not change, and what is a slice, comes from outside
    graph = define([X, W, H], [last[3], ys[2], ys[3], last[1]])
    (loop,) = scans(prune_loops(graph))
    assert (loop.attrs["carries"], len(loop.attrs["body"].outputs)) == (2, 2)
    args = [values(1, 4, 2, 3), values(2, 3, 3), values(3, 2, 3)]
    close(evaluated(prune_loops(graph), args), evaluated(graph, args))


def test_equal_operands_and_ys_are_one() -> None:
    _, ys = sg.scan(lambda h, x: (x[0] + h, [x[1] @ W, sg.exp(h), sg.exp(h)]), H, (X, X))
    graph = optimise(define([X, W, H], ys), disabled=set(NAMES) - {"prune_loops"})
    (loop,) = scans(graph)
    assert len(loop.operands) == 3
    assert len(loop.attrs["body"].outputs) == 3


def test_what_only_an_unused_result_reads_may_be_gone() -> None:
    stacked = sg.scan(lambda carry, x: (carry, x * 2), H, X)[1]
    last, _ = sg.scan(lambda carry, x: (carry + 1, stacked), H, X)
    graph = define([X, H], [last, sg.sum(X)])
    pruned = prune_loops(graph)
    assert len(scans(pruned)) == 1
    args = [np.ones((4, 2, 3)), np.ones((2, 3))]
    close(evaluated(pruned, args), evaluated(graph, args))


def test_branches_compute_only_what_is_used() -> None:
    pred = sg.placeholder("p", (), "bool")
    first, second = sg.cond(pred, lambda h: (h @ W, h), lambda h: (h, sg.exp(h)), H)
    graph = prune_loops(define([pred, W, H], [second]))
    (branch,) = (node for node in graph.nodes if node.op is control.cond)
    assert len(branch.operands) == 2
    assert len(branch.attrs["on_true"].outputs) == 1
    assert first.op is control.item


def test_scans_of_different_steps_are_not_merged() -> None:
    one, _ = sg.scan(lambda h, x: (h + x, None), H, X)
    two, ys = sg.scan(lambda h, x: (h + x, h), H, X)
    three, _ = sg.scan(lambda h, x: (h + x, None), H, X, reverse=True)
    four, _ = sg.scan(lambda h, x: (h + x * 2, None), H, X)
    merged = merge_scans(define([X, H], [one, two, ys, three, four]))
    assert len(scans(merged)) == 3
    # the second reads what the first gives: together they could not run
    _, first = sg.scan(lambda h, x: (h + x, h), H, X)
    _, second = sg.scan(lambda h, x: (h + x[0], x[1] * 2), H, (X, first))
    assert len(scans(merge_scans(define([X, H], [first, second])))) == 2


def test_a_merged_scan_reads_what_only_one_of_them_read() -> None:
    others = sg.exp(X)
    first, _ = sg.scan(lambda h, x: (h + x, None), H, X)
    _, second = sg.scan(lambda h, x: (h + x[0], sg.tanh(x[1] * h @ W)), H, (X, others))
    graph = define([X, W, H], [first, second])
    merged = merge_scans(graph)
    assert len(scans(merged)) == 1
    args = [values(1, 4, 2, 3), values(2, 3, 3), values(3, 2, 3)]
    close(evaluated(merged, args), evaluated(graph, args))


def test_bodies_are_optimised_by_the_same_rules() -> None:
    graph = looped(lambda h, x: (sg.log(sg.softmax(h + x, -1)) ** 1, None), H, X, lambda h, _: h)
    inner = scans(optimise(graph))[0].attrs["body"].definition
    assert (count(inner, "power"), count(inner, "log_softmax")) == (0, 0)
    assert "divide" not in to_text(inner)
    plain = scans(optimise(graph, disabled=["log_of_softmax"]))[0].attrs["body"].definition
    assert count(plain, "divide") == 1
