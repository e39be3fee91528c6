"""Values and gradients at the edges: kinks, ties, zeros, infinities, nan, and mixed dtypes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import dynamic
import staticgraph as sg
from staticgraph.compiler import ops
from staticgraph.compiler.graph.expression import Expression
from staticgraph.compiler.inspect.interpret import interpret
from staticgraph.compiler.transforms.autodiff import gradients
from tests.trace import placeholder, symbolic

INF, NAN = math.inf, math.nan


def test_integers_to_negative_powers_round_toward_zero_in_either_way():
    base, exponent = sg.placeholder("a", (None,), "int32"), sg.placeholder("b", (None,), "int32")
    feeds = np.array([0, 1, -1, -1, 2, 3], "int32"), np.array([-1, -2, -2, -3, -1, 2], "int32")
    for debug in (False, True):
        found = sg.compile([base, exponent], base**exponent, debug=debug)(*feeds)
        assert found.dtype == "int32"
        assert_array_equal(found, [0, 1, 1, -1, 0, 9])


def slopes(function: Callable[..., Any], *points: Any) -> list[np.ndarray]:
    """The gradients of the summed result by each operand."""
    arrays = [np.asarray(point, np.float64) for point in points]
    operands = [symbolic(array) for array in arrays]
    feeds = dict(zip(operands, arrays, strict=True))
    return interpret(gradients(function(*operands).sum(), operands), feeds)


@pytest.mark.parametrize(
    ("function", "at", "expected"),
    [
        (ops.abs, [-1.0, 0.0, -0.0, 2.0], [-1, 0, 0, 1]),
        (ops.relu, [-1.0, 0.0, 2.0, NAN], [0, 0, 1, 1]),
        (ops.sign, [-1.0, 0.0, 2.0], [0, 0, 0]),
        (lambda x: ops.clip(x, 0.0, 1.0), [-1.0, 0.0, 0.5, 1.0, 2.0], [0, 1, 1, 1, 0]),
        (lambda x: ops.clip(x, min=0.0), [-1.0, 0.0, 2.0], [0, 1, 1]),
        (lambda x: ops.clip(x, max=0.0), [-1.0, 0.0, 2.0], [1, 1, 0]),
        (ops.sqrt, [0.0, 4.0], [INF, 0.25]),
        (ops.rsqrt, [0.0, 4.0], [-INF, -0.0625]),
        (ops.log, [0.0, -2.0], [INF, -0.5]),
        (ops.reciprocal, [0.0], [-INF]),
        (ops.leaky_relu, [-1.0, 0.0, 1.0], [0.01, 0.01, 1]),
        (ops.elu, [-800.0, 0.0, 800.0], [0, 1, 1]),
        (ops.sigmoid, [-800.0, 800.0], [0, 0]),
        (ops.softplus, [-800.0, 800.0], [0, 1]),
        (ops.max, [1.0, 3.0, 3.0], [0, 0.5, 0.5]),
        (ops.max, [1.0, NAN, NAN], [NAN, NAN, NAN]),
        (ops.min, [[1.0, 1.0], [1.0, 2.0]], [[1 / 3, 1 / 3], [1 / 3, 0]]),
        (lambda x: ops.max(x, axis=0), [1.0, 3.0, 3.0], [0, 1, 0]),
        (lambda x: ops.max(x, axis=-1), [[2.0, NAN, NAN]], [[0, 1, 0]]),
        (lambda x: ops.min(x, dim=1), [[2.0, 2.0], [0.0, -0.0]], [[1, 0], [1, 0]]),
        (lambda x: ops.max(x, axis=(0, 1)), [[2.0, 1.0], [2.0, 0.0]], [[0.5, 0], [0.5, 0]]),
        (ops.prod, [2.0, 3.0, 4.0], [12, 8, 6]),
        (ops.prod, [2.0, 0.0, 4.0], [0, 8, 0]),
        (ops.prod, [0.0, 0.0, 4.0], [0, 0, 0]),
        (lambda x: ops.prod(x, axis=1), [[0.0, 5.0], [2.0, 3.0]], [[5, 0], [3, 2]]),
        (ops.std, [3.0, 3.0, 3.0], [0, 0, 0]),
        (lambda x: ops.power(x, 2), [0.0, -3.0], [0, -6]),
        (lambda x: ops.power(x, 0), [0.0, 2.0], [0, 0]),
        (lambda x: ops.power(x, 1), [0.0, 2.0], [1, 1]),
        (lambda x: ops.power(x, 0.5), [0.0], [INF]),
        (lambda x: ops.power(0.0, x), [0.0, 2.0], [0, 0]),
        (ops.floor, [0.5, 1.0], [0, 0]),
        (ops.round, [0.5, 1.5], [0, 0]),
        (lambda x: ops.softmax(x)[0], [1000.0, 0.0], [0, 0]),
        (lambda x: ops.stop_gradient(x) * x, [3.0], [3]),
    ],
)
def test_gradient_convention(function: Callable[..., Any], at: Any, expected: Any) -> None:
    (slope,) = slopes(function, at)
    assert_array_equal(slope, expected)


@pytest.mark.parametrize(
    ("function", "a", "b", "by_a", "by_b"),
    [
        (ops.maximum, [1.0, 2.0, NAN], [2.0, 2.0, 0.0], [0, 0.5, 1], [1, 0.5, 1]),
        (ops.minimum, [1.0, 2.0, 3.0], [2.0, 2.0, NAN], [1, 0.5, 1], [0, 0.5, 1]),
        (ops.atan2, [0.0, 0.0], [0.0, 2.0], [0, 0.5], [0, 0]),
        (lambda a, b: ops.where(a > 0, a, b), [1.0, -1.0], [5.0, 6.0], [1, 0], [0, 1]),
        (ops.floor_divide, [7.0], [2.0], [0], [0]),
        (ops.remainder, [7.0], [2.0], [1], [-3]),
    ],
)
def test_gradient_convention_of_two(
    function: Callable[..., Any], a: Any, b: Any, by_a: Any, by_b: Any
) -> None:
    first, second = slopes(function, a, b)
    assert_array_equal(first, by_a)
    assert_array_equal(second, by_b)


def test_the_branch_not_taken_does_not_poison_the_gradient() -> None:
    def safe_log(x: Any) -> Any:
        positive = x > 0
        return ops.where(positive, ops.log(ops.where(positive, x, 1.0)), 0.0)

    assert_array_equal(slopes(safe_log, [0.0, -1.0, 2.0])[0], [0, 0, 0.5])
    # the gradient into the branch is 0, whatever its value is
    picked, other = slopes(lambda a, b: ops.where(b > 0, a, b), [1.0, 1.0], [NAN, -INF])
    assert_array_equal(picked, [0, 0])
    assert_array_equal(other, [1, 1])


def test_second_derivatives_at_zero_are_finite() -> None:
    for exponent, expected in ((0, 0), (1, 0), (2, 2), (3, 0)):
        x = placeholder((), "float64")
        (first,) = gradients(x**exponent, [x])
        (second,) = gradients(first, [x])
        assert interpret([second], {x: np.float64(0.0)}) == [expected]


@pytest.mark.parametrize(
    ("function", "at", "expected"),
    [
        (ops.sigmoid, [-INF, -800.0, 0.0, 800.0, INF, NAN], [0, 0, 0.5, 1, 1, NAN]),
        (ops.softplus, [-INF, 800.0, INF, NAN], [0, 800, INF, NAN]),
        (ops.softmax, [INF, 0.0], [NAN, NAN]),
        (ops.softmax, [1000.0, 1000.0, -INF], [0.5, 0.5, 0]),
        (ops.log_softmax, [0.0, -1000.0], [0, -1000]),
        (ops.logsumexp, [-INF, -INF], -INF),
        (ops.logsumexp, [INF, 0.0], INF),
        (ops.max, [1.0, NAN], NAN),
        (ops.argmax, [1.0, NAN, NAN], 1),
        (ops.round, [0.5, 1.5, 2.5, -0.5], [0, 2, 2, -0.0]),
        (ops.sign, [-3.0, 0.0, NAN], [-1, 0, NAN]),
        (lambda x: x // 2.0, [-1.0, 3.0, INF], [-1, 1, NAN]),
        (lambda x: x % -3.0, [1.0, -1.0], [-2, -1]),
        (ops.mean, [], NAN),
        (ops.sum, [], 0),
        (ops.prod, [], 1),
        (lambda x: ops.var(x, correction=1), [2.0], NAN),
        (lambda x: ops.var(x, correction=3), [2.0, 4.0], INF),
    ],
)
def test_value_at_the_edge(function: Callable[..., Any], at: Any, expected: Any) -> None:
    array = np.array(at)
    for sizes in (False, True):
        x = symbolic(array, sizes=sizes)
        assert_array_equal(interpret([function(x)], {x: array})[0], expected)


def test_losses_do_not_overflow() -> None:
    assert_allclose(slopes(ops.logsumexp, [1000.0, 1000.0])[0], 0.5, rtol=1e-12)
    logits = np.array([[1000.0, 0.0, -1000.0]])
    for target, expected in ((0, 0.0), (1, 1000.0), (2, 2000.0)):
        x = symbolic(logits)
        loss = ops.cross_entropy(x, np.array([target]))
        assert interpret([loss], {x: logits}) == [expected]
    x = placeholder((2,), "float64")
    loss = ops.binary_cross_entropy_with_logits(x, np.array([1.0, 0.0]), reduction="none")
    (value,) = interpret([loss], {x: np.array([-1000.0, 1000.0])})
    assert_array_equal(value, [1000, 1000])


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        ("bool", "int32", "int32"),
        ("bool", "float32", "float32"),
        ("uint8", "int8", "int16"),
        ("uint8", "int64", "int64"),
        ("int32", "float32", "float64"),
        ("int16", "float32", "float32"),
        ("float32", "float64", "float64"),
        ("uint8", 7, "uint8"),
        ("int32", 7, "int32"),
        ("float32", 7, "float32"),
        ("float32", 0.1, "float32"),
        ("int64", 0.5, "float64"),
        ("float32", True, "float32"),
        ("float32", np.float64(0.1), "float64"),
        ("uint8", np.array([1], "int16"), "int16"),
    ],
)
def test_operands_are_promoted_as_numpy_promotes_them(left: str, right: Any, expected: str) -> None:
    x = placeholder((1,), left)
    y = placeholder((1,), right) if isinstance(right, str) else right
    assert (x + y).dtype == expected
    assert (y * x).dtype == expected
    assert ops.where(np.array([True]), x, y).dtype == expected
    assert ops.concatenate([x, ops.reshape(y, 1)]).dtype == np.result_type(
        x.dtype, y.dtype if hasattr(y, "dtype") else np.asarray(y).dtype
    )


def test_division_of_integers_is_floating_point() -> None:
    a, b = placeholder((3,), "int32"), placeholder((3,), "int32")
    quotient = a / b
    assert quotient.dtype == np.float64
    feeds = {a: np.array([1, -1, 0], "int32"), b: np.array([2, 0, 0], "int32")}
    assert_array_equal(interpret([quotient], feeds)[0], [0.5, -INF, NAN])
    assert ops.exp(a).dtype == ops.mean(a).dtype == np.float64
    assert (a // b).dtype == np.int32


def test_every_operator_and_method_is_its_op() -> None:
    x = placeholder((2, 2), "float64", "x")
    array = np.array([[1.5, -2.0], [0.5, 3.0]])
    cases: list[tuple[Expression, Any]] = [
        (2 + x, 2 + array),
        (2 - x, 2 - array),
        (2 / x, 2 / array),
        (7 // x, 7 // array),
        (7 % x, 7 % array),
        (2**x, 2**array),
        (array @ x, array @ array),
        (x @ array, array @ array),
        (-x, -array),
        (+x, array),
        (abs(x), abs(array)),
        (x > array.T, array > array.T),
        (x >= 1, array >= 1),
        (x < 1, array < 1),
        (x <= 1, array <= 1),
        (x == 1.5, array == 1.5),
        (x != 1.5, array != 1.5),
        ((x > 0) & (x < 2), (array > 0) & (array < 2)),
        ((x > 0) | (x < 2), (array > 0) | (array < 2)),
        ((x > 0) ^ (x < 2), (array > 0) ^ (array < 2)),
        (True & (x > 0), array > 0),
        (~(x > 0), ~(array > 0)),
        (x.T, array.T),
        (x.mT, array.T),
        (x[0], array[0]),
        (x.sum(axis=0), array.sum(axis=0)),
        (x.clip(0, 1), array.clip(0, 1)),
        (x.transpose(1, 0), array.T),
        (np.float64(2) * x, 2 * array),
        (array * x, array * array),
    ]
    for expression, expected in cases:
        assert_array_equal(interpret([expression], {x: array})[0], expected)
    first, second = x
    assert_array_equal(interpret([first - second], {x: array})[0], array[0] - array[1])
    assert x.sum.__doc__.startswith(ops.sum.doc)


def test_erf_is_within_two_ulp() -> None:
    rng = np.random.default_rng(1)
    x = np.concatenate(
        [
            rng.uniform(-7, 7, 1500),
            rng.uniform(0.9, 1.1, 500),
            10.0 ** rng.uniform(-307, 0, 300),
            [0.0, 5e-324, 1.0, 6.0, 1e300],
        ]
    )
    with mpmath.workprec(200):
        exact = [mpmath.erf(mpmath.mpf(float(value))) for value in x]
        errors = [
            abs(mpmath.mpf(float(got)) - want) / float(np.spacing(abs(float(want))))
            for got, want in zip(ops.erf(x), exact, strict=True)
        ]
    assert max(errors) < 2
    assert_array_equal(ops.erf(-x), -ops.erf(x))
    assert_array_equal(ops.erf(np.array([INF, -INF, NAN, -0.0])), [1, -1, NAN, -0.0])
    assert np.signbit(ops.erf(np.array(-0.0)))


def test_erf_is_within_four_ulp_in_float32() -> None:
    small = 10.0 ** np.random.default_rng(1).uniform(-37, 0, 1000)
    x = np.concatenate([np.linspace(-5, 5, 4001), small]).astype(np.float32)
    exact = np.array([float(mpmath.erf(float(value))) for value in x])
    found = ops.erf(x)
    assert found.dtype == np.float32
    assert (np.abs(found - exact) <= 4 * np.spacing(np.abs(exact).astype(np.float32))).all()
    edges = np.array([INF, -INF, NAN, 1e30, -1e30, -0.0], np.float32)
    assert_array_equal(ops.erf(edges), np.array([1, -1, NAN, 1, -1, -0.0], np.float32))
    assert np.signbit(ops.erf(edges)[-1])


def test_narrow_indices_reach_beyond_their_dtype() -> None:
    values = np.arange(300.0)
    for index in (np.array([-1, 5], "int8"), np.array([255, 5], "uint8")):
        assert_array_equal(ops.take(values, index, axis=0), values[index.astype(int)])
        x = symbolic(values)
        picked = ops.take_along_axis(x, index[:1], axis=0)
        (slope,) = interpret(gradients(picked.sum(), [x]), {x: values})
        assert slope.sum() == slope[int(index[0])] == 1


def test_constants_compare_by_bits() -> None:
    from staticgraph.compiler.ops.leaves import Literal

    assert Literal(np.array([0.0])) != Literal(np.array([-0.0]))
    assert Literal(np.array([NAN])) == Literal(np.array([NAN]))
    assert Literal(np.array([1, 2])) != Literal(np.array([1.0, 2.0]))
    assert hash(Literal(np.ones(3))) == hash(Literal(np.ones(3)))
    assert str(Literal(np.ones(2))) == "[1., 1.]"
    assert str(Literal(np.ones(9))) == "<9 values>"
    original = np.ones(2)
    literal = Literal(original)
    original[0] = 5
    assert literal.array[0] == 1
    assert not literal.array.flags.writeable


@pytest.mark.parametrize(
    ("left", "right"), [((1, 1), (1, 2)), ((2, 1), (1, 1)), ((1,), (1, 3)), ((3, 2), (2, 4))]
)
def test_a_product_of_nothing_and_infinity_is_nan(
    left: tuple[int, ...], right: tuple[int, ...]
) -> None:
    nothing, infinite = np.zeros(left), np.full(right, np.inf)
    x = dynamic.tensor(nothing, requires_grad=True)
    a, b = sg.placeholder("a", left, "float64"), sg.placeholder("b", right, "float64")
    with np.errstate(invalid="ignore"):
        assert np.isnan(ops.matmul(nothing, infinite)).all()
        product = x @ dynamic.tensor(infinite)
        assert np.isnan(product.detach().numpy()).all()
        product.backward(dynamic.zeros(product.shape, dtype=dynamic.float64))
        assert np.isnan(x.grad.numpy()).all()
        assert np.isnan(sg.compile([a, b], a @ b)(nothing, infinite)).all()


def test_the_gradient_by_a_target_that_broadcasts() -> None:
    logits = dynamic.tensor([0.5], dtype=dynamic.float64)
    target = dynamic.tensor([[0.25, 0.5]], dtype=dynamic.float64, requires_grad=True)
    loss = ops.binary_cross_entropy_with_logits(logits, target, reduction="sum")
    for again in (True, False):
        (found,) = dynamic.autograd.grad(2 * loss, [target], create_graph=again, retain_graph=True)
        assert found.tolist() == [[-1.0, -1.0]]
