"""The reverse pass: what it accepts, how cotangents meet, and where they stop."""

from __future__ import annotations

import inspect
from typing import Any

import mpmath
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import special

import staticgraph as sg
from staticgraph.compiler import ops
from staticgraph.compiler.core.dims import unknown
from staticgraph.compiler.core.errors import GraphError
from staticgraph.compiler.core.op import Op
from staticgraph.compiler.graph.expression import Expression, constant
from staticgraph.compiler.graph.traversal import ancestors
from staticgraph.compiler.inspect.interpret import interpret
from staticgraph.compiler.transforms.autodiff import gradients
from tests.trace import placeholder


def test_cotangents_of_a_value_used_twice_are_added() -> None:
    x = placeholder((), "float64")
    y = x * x + ops.sin(2 * x)
    (slope,) = gradients(y, [x])
    at = np.float64(0.75)
    assert_allclose(interpret([slope], {x: at})[0], 2 * at + 2 * np.cos(2 * at), rtol=1e-15)


def test_the_output_itself_and_intermediate_values_are_differentiated_by() -> None:
    x = placeholder((3,), "float64")
    middle = x * 2
    loss = (middle * middle).sum()
    by_loss, by_middle, by_x, again = gradients(loss, [loss, middle, x, x])
    array = np.array([1.0, -2.0, 3.0])
    values = interpret([by_loss, by_middle, by_x, again], {x: array})
    assert_array_equal(values[0], 1)
    assert_array_equal(values[1], 4 * array)
    assert_array_equal(values[2], 8 * array)
    assert_array_equal(values[3], 8 * array)


def test_a_seed_is_the_cotangent_of_an_output_of_any_shape() -> None:
    x = placeholder((2, 3), "float64")
    seed = constant(np.arange(6.0).reshape(2, 3))
    (slope,) = gradients(ops.exp(x), [x], seed)
    assert_array_equal(interpret([slope], {x: np.zeros((2, 3))})[0], np.arange(6.0).reshape(2, 3))


def test_integers_and_bools_carry_no_gradient() -> None:
    x = placeholder((3,), "float64")
    steps = ops.astype(ops.astype(x, "int32"), "float64")
    mask = ops.astype(x > 0, "float64")
    counts = ops.astype((x > 0).sum(), "float64")
    loss = (steps * x + mask * x + counts * x).sum()
    array = np.array([1.5, -2.5, 3.5])
    (slope,) = interpret(gradients(loss, [x]), {x: array})
    assert_array_equal(slope, np.trunc(array) + (array > 0) + 2)
    (zero,) = interpret(gradients(steps.sum(), [x]), {x: array})
    assert_array_equal(zero, np.zeros(3))
    assert zero.dtype == np.float64


def test_what_does_not_lead_to_wrt_is_not_differentiated() -> None:
    x, y = placeholder((4,), "float64"), placeholder((4,), "float64")
    loss = (ops.tanh(x) * ops.erf(y)).sum()
    (slope,) = gradients(loss, [x])
    used = [node.op.name for node in ancestors([slope])]
    assert used.count("erf") == 1
    assert "exp" not in used


def test_gradient_nodes_belong_to_the_line_of_their_forward_node() -> None:
    x = placeholder((), "float64")
    line = inspect.currentframe().f_lineno + 1
    y = ops.tanh(x)
    (slope,) = gradients(y * 3.0, [x])
    rule = [node for node in ancestors([slope]) if node.op.name == "subtract"]
    assert [node.source for node in rule] == [f"gradient of tanh at {__file__}:{line}"]


def test_sizes_stay_unknown_through_a_model() -> None:
    batch = unknown("batch")
    x, t = placeholder((batch, 3), "float32"), placeholder((batch,), "int64")
    w, b = placeholder((3, 4), "float32"), placeholder((4,), "float32")
    hidden = ops.layer_norm(ops.relu(x @ w + b), 4)
    loss = ops.cross_entropy(hidden, t) + hidden.var() + ops.logsumexp(hidden).mean()
    slopes = gradients(loss, [x, w, b])
    assert [slope.type for slope in slopes] == [x.type, w.type, b.type]
    rng = np.random.default_rng(0)
    for size in (1, 2, 5):
        feeds: dict[Expression, Any] = {
            x: rng.normal(size=(size, 3)).astype("float32"),
            t: rng.integers(0, 4, size),
            w: rng.normal(size=(3, 4)).astype("float32"),
            b: rng.normal(size=4).astype("float32"),
        }
        for slope, leaf in zip(interpret(slopes, feeds), (x, w, b), strict=True):
            assert slope.shape == feeds[leaf].shape
            assert slope.dtype == np.float32


def test_third_derivative() -> None:
    x = placeholder((), "float64")
    slope: Expression = ops.tanh(x) * ops.exp(x)
    for _ in range(3):
        (slope,) = gradients(slope, [x])
    exact = mpmath.diff(lambda t: mpmath.tanh(t) * mpmath.exp(t), 0.3, 3)
    assert_allclose(interpret([slope], {x: np.float64(0.3)})[0], float(exact), rtol=1e-13)


def test_gradient_of_a_long_chain_needs_no_recursion() -> None:
    x = placeholder((), "float64")
    y = x
    for _ in range(3000):
        y = y + 1.0
    assert interpret(gradients(y, [x]), {x: np.float64(0)}) == [1.0]


V = placeholder((3,), "float32", "v")
I = placeholder((3,), "int64", "i")  # noqa: E741


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: gradients(V, [V]), r"grad: <placeholder 'v': .*> \(.*:\d+\) is not a scalar: red"),
        (lambda: gradients(I.sum(), [V]), r"grad: <sum: int64\[\]> \(.*\) is not floating point"),
        (lambda: gradients(V.sum(), [I]), r"grad: <placeholder 'i': .*> .* is not floating point"),
        (
            lambda: gradients(V.sum(), [placeholder((2,), "float32", "w")]),
            r"grad: <sum: float32\[\]> does not depend on <placeholder 'w': float32\[2\]> \(.*\)",
        ),
        (
            lambda: gradients(V, [V], constant(np.ones(3))),
            r"grad: the seed is float64\[3\], the output float32\[3\]",
        ),
    ],
)
def test_refusals(build: Any, message: str) -> None:
    with pytest.raises(GraphError, match=message):
        build()


@pytest.mark.parametrize(
    "wrong", [lambda g: g.sum(), lambda g: ops.astype(g, "float32"), lambda g: g[:2]]
)
def test_a_rule_that_returns_no_cotangent_is_named(wrong: Any) -> None:
    op = Op(
        name="wrong",
        infer_type=lambda x: x,
        evaluate=lambda x: x,
        vjp=(lambda g, o, a: wrong(g),),
    )
    x = placeholder((3,), "float64", "x")
    with pytest.raises(GraphError, match=r"grad: wrong: <.*> is no cotangent of <placeholder 'x'"):
        gradients(op(x).sum(), [x])


def test_a_logsumexp_by_hand_has_the_gradient_of_logsumexp() -> None:
    rng = np.random.default_rng(0)
    value = rng.standard_normal((4, 6)) * 300
    seed = rng.standard_normal((1, 6))
    x, g = sg.placeholder("x", value.shape, "float64"), sg.placeholder("g", seed.shape, "float64")
    largest = sg.max(x, 0)
    rest = x - largest
    sums = sg.log(sg.sum(sg.exp(rest), 0))
    kept = sg.reshape(largest, (1, 6))
    forms = [
        (sg.log(sg.sum(sg.exp(x - kept), 0, keepdims=True)) + kept) * g,
        (sg.stop_gradient(kept) + sg.log(sg.sum(sg.exp(x - kept), 0, keepdims=True))) * g,
        (sums + largest) * g[0],
    ]
    grads = [sg.grad(sg.sum(form), x) for form in forms]
    second = sg.grad(sg.sum(grads[0] * x), x)
    through = sg.grad(sg.sum(sums + largest), rest)
    found = sg.compile([x, g], [*grads, second, through], debug=True)(value, seed)
    softmax = special.softmax(value, axis=0)
    for one in found[:3]:
        np.testing.assert_allclose(one, softmax * seed, rtol=1e-12, atol=0)
    moved = softmax * (value - (softmax * value).sum(0))
    np.testing.assert_allclose(found[3], (softmax + moved) * seed, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found[4], softmax, rtol=1e-12)
