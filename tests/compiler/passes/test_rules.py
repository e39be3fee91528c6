"""Each rewrite rule alone: it fires on its pattern and nowhere else, and keeps what it promises."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.codegen.budget import recompute_groups
from staticgraph.compiler.graph.build import graph_of, verify
from staticgraph.compiler.graph.definition import define
from staticgraph.compiler.graph.expression import Expression, promote
from staticgraph.compiler.graph.strided import view_inputs
from staticgraph.compiler.graph.traversal import ancestors
from staticgraph.compiler.inspect.interpret import interpret
from staticgraph.compiler.ops import add, divide, power
from staticgraph.compiler.ops.indexing.scatter_reductions import along_extremum
from staticgraph.compiler.ops.indexing.take import take_add
from staticgraph.compiler.passes.accumulate import accumulate_products
from staticgraph.compiler.passes.rules import RULES
from staticgraph.compiler.pipeline import LOOPS, optimise, recompute_regions, rule_names
from staticgraph.compiler.schedule.layouts import arrange_rows
from staticgraph.compiler.schedule.recompute import recompute_values

# the others: test_control_passes.py, test_accumulate.py, test_recompute.py, test_layouts.py,
# test_strided.py, test_budget.py
OTHERS = (
    *LOOPS, accumulate_products, recompute_values, recompute_regions, recompute_groups,
    arrange_rows, view_inputs,
)  # fmt: skip
ALL = rule_names() - {rewrite.__name__ for rewrite in OTHERS}
KINDS = {rule.name: rule.kind for rule in RULES} | {"fold_constants": "exact"}
KINDS |= {"drop_broadcasts": "exact", "sum_vector_products": "stable", "join_embedded": "stable"}
KINDS |= {"sum_small_products": "stable"}

TINY = float(np.finfo(np.float64).smallest_subnormal)
SPECIAL = np.array([
    np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 0.5, -2.5, TINY, -TINY, 3.0, 1e308, -1e308,
])  # fmt: skip
INTEGERS = np.array([0, 1, -1, 7, 2**62, -(2**63), 2**63 - 1])

X = sg.placeholder("x", (None,), "float64")
M = sg.placeholder("m", (None, 3), "float64")
S = sg.placeholder("s", (), "float64")
N = sg.placeholder("n", (None,), "int64")
B = sg.placeholder("b", (None,), "bool")
ROW = sg.placeholder("row", (1, 3), "float64")
T = sg.placeholder("t", (2, 1, 3), "float64")
FEEDS = {
    X: SPECIAL, S: np.array(-0.0), N: INTEGERS, M: np.resize(SPECIAL, (5, 3)),
    B: np.resize([True, False], len(SPECIAL)), ROW: np.array([[np.nan, -0.0, 2]]),
    T: np.resize(SPECIAL, (2, 1, 3)),
}  # fmt: skip


def optimised(
    output: Expression, enabled: Sequence[str], numerics: str = "fast"
) -> tuple[list[str], Expression, list[Expression]]:
    """The ops that are left, the new output and the inputs, with only some rules enabled."""
    inputs = [node for node in ancestors([output]) if node.op.name == "placeholder"]
    graph = optimise(define(inputs, [output]), numerics, ALL - set(enabled))
    verify(graph_of(graph))
    made = graph.expressions()
    ops = [node.op.name for node in made if node.operands]
    return ops, made[graph.outputs[0]], [made[node] for node in graph.inputs]


def values(output: Expression, enabled: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """The output's value as it is written and as it is rewritten, by NumPy."""
    _, new, _ = optimised(output, enabled)
    feeds = {leaf: FEEDS[leaf] for leaf in ancestors([output]) if leaf.op.name == "placeholder"}
    keys = {leaf.attrs["key"]: value for leaf, value in feeds.items()}
    moved = {
        leaf: keys[leaf.attrs["key"]] for leaf in ancestors([new]) if leaf.op.name == "placeholder"
    }
    # what a rule does away with may have been the only one to give a size
    (before,) = interpret([output], feeds)
    (after,) = interpret([new], feeds | moved)
    return before, after


def same_bits(before: np.ndarray, after: np.ndarray) -> None:
    """Equal with the sign of zero; one nan is as good as another."""
    assert before.dtype == after.dtype
    np.testing.assert_array_equal(after, before, strict=True)
    if before.dtype.kind == "f":
        known = ~np.isnan(before)
        np.testing.assert_array_equal(np.signbit(after)[known], np.signbit(before)[known])


def stretched(value: float, like: Expression) -> Expression:
    return sg.broadcast_to(sg.constant(np.float64(value)), like.shape)


FIRES: dict[str, list[tuple[Callable[[], Expression], list[str]]]] = {
    "fold_constants": [
        (lambda: X + sg.exp(sg.constant(np.array([0.0, 1.0]))).sum(), ["add"]),
        (lambda: X * sg.reshape(sg.constant(np.ones((1, 1))), (1,)), ["multiply"]),
    ],
    "drop_broadcasts": [
        (lambda: M + sg.broadcast_to(ROW, M.shape), ["add"]),
        (lambda: sg.broadcast_to(S, X.shape) * X, ["multiply"]),
        (lambda: sg.where(X > 0, X, sg.broadcast_to(S, X.shape)), ["greater", "where"]),
    ],
    "multiply_by_one": [
        (lambda: X * 1, []),
        (lambda: 1 * X, []),
        (lambda: N * 1, []),
        (lambda: X * stretched(1, X), []),
    ],
    "add_minus_zero": [(lambda: X + -0.0, []), (lambda: -0.0 + X, [])],
    "add_zero_to_scattered": [
        (lambda: take_add(X, np.arange(14) // 2, 0, 9) + 0.0, ["take_add"]),
        (lambda: 0.0 + take_add(X, np.arange(14), 0, 14), ["take_add"]),
    ],
    "divide_by_one": [(lambda: X / 1, [])],
    "floor_divide_by_one": [(lambda: N // 1, [])],
    "subtract_zero": [(lambda: X - 0.0, []), (lambda: N - 0, [])],
    "multiply_by_minus_one": [(lambda: X * -1, ["negative"]), (lambda: N * -1, ["negative"])],
    "negate_twice": [(lambda: sg.negative(-X), []), (lambda: sg.negative(-N), [])],
    "divide_by_power_of_two": [
        (lambda: X / 4, ["multiply"]),
        (lambda: X / -0.125, ["multiply"]),
        (lambda: X / 2.0**99, ["multiply"]),
    ],
    "power_of_constant_exponent": [
        (lambda: X**2, ["square"]),
        (lambda: X**1, []),
        (lambda: N**2, ["square"]),
    ],
    "power_of_half_or_minus_one": [
        (lambda: X**0.5, ["sqrt"]),
        (lambda: X**-1, ["reciprocal"]),
    ],
    "cast_to_same": [(lambda: sg.exp(X).astype("float64"), ["exp"])],
    "choose_by_constant": [
        (lambda: sg.where(sg.constant(True), X, X * 2), []),
        (lambda: sg.where(sg.constant(np.array([False])), X * 2, X), []),
        (lambda: sg.where(X > 0, X, X), []),
    ],
    "simplify_reshape": [
        (lambda: sg.reshape(sg.reshape(M, (-1,)), (3, -1)), ["reshape"]),
        (lambda: sg.reshape(X, X.shape), []),
        (lambda: sg.reshape(T, (1, 2, 3)), ["squeeze", "expand_dims"]),
        (lambda: sg.reshape(sg.arange(6), (2, 3)), []),
    ],
    "simplify_transpose": [
        (lambda: sg.transpose(sg.transpose(T, 2, 0, 1), 1, 2, 0), []),
        (lambda: sg.transpose(sg.transpose(T, 2, 0, 1), 2, 0, 1), ["transpose"]),
        (lambda: sg.transpose(T, 0, 1, 2), []),
    ],
    "simplify_broadcast": [
        (lambda: sg.broadcast_to(X, X.shape), []),
        (lambda: sg.broadcast_to(sg.broadcast_to(ROW, (4, 3)), (2, 4, 3)), ["broadcast_to"]),
    ],
    "expand_squeezed": [
        (lambda: sg.expand_dims(sg.squeeze(T, 1), 1), []),
        (lambda: sg.expand_dims(X, ()), []),
    ],
    "squeeze_expanded": [
        (lambda: sg.squeeze(sg.expand_dims(X, (0, 2)), (0, 2)), []),
        (lambda: sg.squeeze(X, ()), []),
    ],
    "flip_twice": [(lambda: sg.flip(sg.flip(M, 1), 1), []), (lambda: sg.flip(M, ()), [])],
    "reduce_no_axes": [(lambda: sg.max(N, ()), []), (lambda: sg.min(X, (), True), [])],
    "sum_no_axes": [(lambda: sg.sum(X, ()), ["add"]), (lambda: sg.sum(S, keepdims=True), ["add"])],
    "prod_no_axes": [(lambda: sg.prod(X, ()), []), (lambda: sg.prod(S), [])],
    "log_of_softmax": [
        (lambda: sg.log(sg.softmax(M)), ["max", "subtract", "exp", "sum", "log", "subtract"]),
        (lambda: sg.log(sg.sigmoid(X)), ["negative", "softplus", "negative"]),
    ],
    "log_of_one_plus": [(lambda: sg.log(1 + X), ["log1p"]), (lambda: sg.log(X + 1), ["log1p"])],
    "log1p_of_exp": [(lambda: sg.log1p(sg.exp(X)), ["softplus"])],
    "log_of_sum_of_exp": [
        (lambda: sg.log(sg.sum(sg.exp(M), 1)),
         ["max", "isinf", "where", "subtract", "exp", "sum", "log", "add", "squeeze"]),
    ],
    "log_of_shifted_sum": [
        (lambda: sg.log(sg.sum(sg.exp(M - sg.max(M, 1)[:, None]), 1)) + sg.max(M, 1),
         ["max", "isinf", "where", "subtract", "exp", "sum", "log", "add", "squeeze"]),
    ],
    "embed_everywhere": [(lambda: sg.pad(X, 0), [])],
    "concatenate_once": [
        (lambda: sg.concatenate([sg.concatenate([X, X]), X]), ["concatenate"]),
        (lambda: sg.concatenate([M, sg.concatenate([M, M], 1), M], 1), ["concatenate"]),
    ],
    "join_embedded": [
        (lambda: sg.pad(M[:, :1], ((0, 0), (0, 2))) + sg.pad(M[:, 1:], ((0, 0), (1, 0))),
         ["strided_slice", "strided_slice", "concatenate"]),
        (lambda: sg.pad(M[:, :1], ((0, 0), (0, 2))) + sg.pad(M[:, 2:], ((0, 0), (2, 0))),
         ["strided_slice", "strided_slice", "broadcast_to", "concatenate"]),
        (lambda: sg.pad(T, (0, 1)) + sg.pad(-T, (0, 1)) + sg.pad(T, (1, 0)),
         ["negative", "add", "embed", "embed", "add"]),
        (lambda: sg.pad(S[None], (0, 1)) + sg.pad(S[None], (1, 0)) + sg.pad(-S[None], (0, 1)),
         ["expand_dims", "negative", "add", "concatenate"]),
        (lambda: sg.pad(X, (0, 2)) + sg.pad(-X, (0, 2)) + sg.pad(X, (1, 1)),
         ["negative", "add", "embed", "embed", "add"]),
        (lambda: sg.pad(M[:2, 1:], ((0, 3), (1, 2))) + sg.pad(M[:2, :1], ((0, 3), (0, 4))),
         ["strided_slice", "strided_slice", "concatenate", "embed"]),
    ],
    "exp_minus_one": [(lambda: sg.exp(X) - 1, ["expm1"])],
    "reciprocal_of_sqrt": [(lambda: sg.reciprocal(sg.sqrt(X)), ["rsqrt"])],
    "divide_by_constant": [(lambda: X / 3, ["multiply"])],
    "sum_vector_products": [
        (lambda: sg.sin(M) @ sg.sin(ROW[0]),
         ["sin", "squeeze", "sin", "expand_dims", "multiply", "sum"]),
        (lambda: sg.sin(M) @ sg.transpose(sg.sin(ROW)),
         ["sin", "sin", "transpose", "squeeze", "expand_dims", "multiply", "sum", "expand_dims"]),
        (lambda: sg.sin(X[:5]) @ sg.sin(M),
         ["strided_slice", "sin", "sin", "expand_dims", "multiply", "sum"]),
        (lambda: sg.transpose(sg.sin(M)) @ sg.sin(X[:5]),
         ["sin", "strided_slice", "sin", "expand_dims", "multiply", "sum"]),
        (lambda: sg.transpose(sg.sin(ROW)) @ sg.sin(ROW), ["sin", "transpose", "multiply"]),
    ],
    "sum_small_products": [
        (lambda: sg.sin(T) @ sg.transpose(sg.cos(T), 0, 2, 1),
         ["sin", "cos", "transpose", "transpose", "multiply", "sum"]),
        (lambda: sg.transpose(sg.sin(T), 0, 2, 1) @ sg.cos(T),
         ["sin", "transpose", "cos", "multiply"]),
        (lambda: sg.sin(T) @ sg.cos(sg.broadcast_to(T[0], (2, 3, 3))),
         ["sin", "strided_slice", "squeeze", "broadcast_to", "cos", "expand_dims", "expand_dims",
          "multiply", "sum"]),
    ],
    "divide_by_broadcast": [(lambda: M / ROW, ["reciprocal", "multiply"])],
}  # fmt: skip


def test_every_rule_has_a_case() -> None:
    assert set(FIRES) == ALL


CASES = [pytest.param(name, i, id=f"{name}-{i}") for name in FIRES for i in range(len(FIRES[name]))]


@pytest.mark.parametrize(("name", "i"), CASES)
def test_fires_alone_and_is_switched_off(name: str, i: int) -> None:
    make, expected = FIRES[name][i]
    output = make()
    left, new, _ = optimised(output, [name])
    assert left == expected
    assert new.type.dtype == output.type.dtype
    assert optimised(output, [])[0] != left


@pytest.mark.parametrize(("name", "i"), CASES)
def test_keeps_its_promise(name: str, i: int) -> None:
    before, after = values(FIRES[name][i][0](), [name])
    if KINDS[name] == "exact":
        same_bits(before, after)
        return
    finite = np.isfinite(before)
    assert np.all(np.isfinite(after[finite]))
    # one rounding more or less in each of the few ops, and what expm1 and log1p do better than
    # the subtraction that they replace, which is right to eps of its operands
    eps = 8 * np.finfo(before.dtype).eps
    np.testing.assert_allclose(after[finite], before[finite], rtol=eps, atol=eps)


@pytest.mark.parametrize(("name", "i"), CASES)
def test_fast_rules_need_fast_numerics(name: str, i: int) -> None:
    output = FIRES[name][i][0]()
    strict = optimised(output, [name], "strict")[0]
    assert (strict == optimised(output, [name])[0]) == (KINDS[name] != "fast")


def raw(op: Any, *operands: Any) -> Expression:
    """The op on its operands, without what the frontend makes of Python's operators."""
    result: Expression = op(*promote(op, operands))
    return result


@pytest.mark.parametrize(
    "make",
    [
        lambda: X * 2, lambda: X * 0, lambda: X + 0.0, lambda: X - -0.0, lambda: X - X,
        lambda: X / X, lambda: X // 1.0, lambda: N // 2, lambda: 1 / X, lambda: 1 - X,
        lambda: X**3, lambda: X**-2, lambda: X / 0.0, lambda: X / np.inf, lambda: X / 2.0**101,
        lambda: X / 3, lambda: N * -2, lambda: sg.placeholder("u", (2,), "uint8") * 255,
        lambda: X.astype("float32"), lambda: sg.where(B, X[: B.shape[0]], 0.0),
        lambda: sg.transpose(T, 1, 0, 2), lambda: sg.flip(sg.flip(M, 0), 1),
        lambda: sg.expand_dims(sg.squeeze(T, 1), 0), lambda: sg.sum(N, ()),
        lambda: sg.pad(X, (0, 2)) + sg.pad(X, (1, 1)),
        # elements would be added in another order
        lambda: sg.pad(X, (0, 2)) + sg.pad(X, (1, 1)) + sg.pad(-X, (0, 2)),
        lambda: M + sg.pad(M[:, 1:], ((0, 0), (1, 0))) + sg.pad(-M[:, 1:], ((0, 0), (1, 0))),
        lambda: sg.pad(X[:3], (0, 3), 1.0) + sg.pad(X[:3], (3, 0)),
        lambda: sg.concatenate([sg.concatenate([M, M], 0), sg.concatenate([M, M], 0)], 1),
        lambda: sg.log(2 + X), lambda: sg.log1p(X), lambda: sg.exp(X) - 2, lambda: 1 - sg.exp(X),
        lambda: sg.log(sg.exp(X)),
        lambda: sg.reshape(M, (-1,)), lambda: sg.broadcast_to(ROW, (4, 3)),
        lambda: sg.reshape(sg.placeholder("q", (2, 3)), (3, 2)),
        lambda: M * sg.broadcast_to(S, (1, 3)), lambda: sg.max(M, 1),
        lambda: along_extremum.bound(
            (X, sg.constant(np.arange(14))),
            {"axis": 0, "size": 14, "wrap": False, "largest": True},
        ) + 0.0,
        # the other operand is what gives the result its shape
        lambda: take_add(X, np.zeros(14, int), 0, 1) + sg.zeros((2,), "float64"),
        lambda: S * sg.ones((1,), "float64"), lambda: sg.ones((2, 1), "float64") * X,
        lambda: raw(add, S, np.full((3,), -0.0)), lambda: S - sg.zeros((1, 1), "float64"),
        lambda: raw(divide, S, np.full((1,), 2.0)), lambda: S / sg.full((4,), 2.0, "float64"),
        lambda: raw(power, S, np.full((1,), 2.0)), lambda: S ** sg.ones((2,), "float64"),
        lambda: S / sg.full((4,), 3.0, "float64"), lambda: sg.exp(S) - sg.ones((2,), "float64"),
        lambda: sg.where(sg.constant(np.array([True])), S, S),
        lambda: sg.where(B, S, S), lambda: sg.log(S + sg.ones((2,), "float64")),
        lambda: sg.log(sg.sum(sg.exp(sg.placeholder("e", (0, 2))), 0)),
    ],
)  # fmt: skip
def test_strict_rules_leave_alone(make: Callable[[], Expression]) -> None:
    output = make()
    rules = [name for name in ALL if KINDS[name] != "fast" and name != "fold_constants"]
    allowed = {"drop_broadcasts", "simplify_reshape"}
    before = optimised(output, [])[0]
    left, new, _ = optimised(output, [name for name in rules if name not in allowed])
    assert left == before
    assert new.type == output.type


@pytest.mark.parametrize("name", ["divide_by_constant", "divide_by_broadcast"])
def test_fast_rules_leave_alone(name: str) -> None:
    for output in (
        S / sg.full((4,), 3.0, "float64"), X / 0.0, X / np.inf, X / X, S / X, M / M[:, ::-1],
    ):  # fmt: skip
        assert optimised(output, [name])[0] == optimised(output, [])[0]


def test_stable_rules_are_finite_where_what_is_written_overflows() -> None:
    x = sg.placeholder("x", (3, 2), "float64")
    large = np.array([[1000.0, 0], [-1000, 0], [-1e-20, 1e-20]])
    for output, expected in (
        (sg.log(sg.softmax(x)), [[0, -1000], [-1000, 0], [-np.log(2), -np.log(2)]]),
        (sg.log(sg.sigmoid(x)), [[0, -np.log(2)], [-1000, -np.log(2)], [-np.log(2)] * 2]),
        (sg.log1p(sg.exp(x)), [[1000, np.log(2)], [0, np.log(2)], [np.log(2)] * 2]),
        (sg.log(sg.sum(sg.exp(x), 1)), [1000, 0, np.log(2)]),
        (sg.log(1 + x * 1e-20)[2], [-1e-40, 1e-40]),
        ((sg.exp(x) - 1)[2], [-1e-20, 1e-20]),
    ):
        plain = sg.compile([x], output, disable=ALL)(large)
        better = sg.compile([x], output)(large)
        np.testing.assert_allclose(better, expected, rtol=1e-14, atol=1e-300)
        assert not np.allclose(plain, expected, rtol=1e-10, atol=0, equal_nan=False)


def test_disabled_by_name_through_compile() -> None:
    x = sg.placeholder("x", (2,), "float64")
    on, off = (sg.compile([x], sg.negative(-x), disable=names) for names in ([], ["negate_twice"]))
    assert "negative" in [data["op"].name for _, data in off.lowered.nodes.data()]
    assert "negative" not in [data["op"].name for _, data in on.lowered.nodes.data()]
    np.testing.assert_array_equal(on([1, -0.0]), off([1, -0.0]))


@pytest.mark.parametrize("name", sorted(ALL))
def test_without_any_one_rule_the_result_is_the_same(name: str) -> None:
    x = sg.placeholder("x", (None, 4), "float64")
    y = sg.placeholder("y", (None,), "int64")
    w = sg.constant(np.random.default_rng(0).normal(size=(4, 4)))
    hidden = sg.layer_norm(sg.gelu(x @ w), 4) / 2 - 0.0 + sg.log(1 + sg.exp(x)) ** 2
    total = sg.log(sg.sum(sg.exp(sg.negative(-hidden)), 1))
    loss = sg.cross_entropy(hidden, y) + total.mean() * 1.0
    outputs = [loss, sg.grad(loss, x)]
    graph = define([x, y], outputs)
    rows = np.random.default_rng(1).normal(size=(5, 4))
    labels = np.array([0, 3, 1, 1, 2])
    expected = interpret(outputs, {x: rows, y: labels})
    low = optimise(graph, disabled=[name])
    verify(graph_of(low))
    made = low.expressions()
    feeds = dict(zip((made[node] for node in low.inputs), (rows, labels), strict=True))
    found = interpret([made[node] for node in low.outputs], feeds)
    for value, other in zip(found, expected, strict=True):
        # some 100 roundings of numbers of order 1 and 10
        np.testing.assert_allclose(value, other, rtol=1e-12, atol=1e-13)
