"""Running totals where a single scale of a row would not do, and where there are none."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import dynamic
import staticgraph as sg

ROWS = [
    [0.0, 1000.0, -5.0, 3.0],
    [-1000.0, 0.0, 2000.0, 5.0],
    [1.0, -np.inf, 2.0, 0.5],
    [-np.inf, -np.inf, 2.0, -3.0],
]


@pytest.mark.parametrize("values", ROWS)
def test_logcumsumexp_keeps_what_is_far_below_the_largest(values: list[float]) -> None:
    x = np.array(values)
    expected = [np.logaddexp.reduce(x[: i + 1]) for i in range(len(x))]
    assert_allclose(sg.logcumsumexp(x), expected, rtol=1e-15)
    symbol = sg.placeholder("x", (None,), "float64")
    total = sg.logcumsumexp(symbol)
    weights = np.array([1.0, -2.0, 0.5, 3.0])
    compiled = sg.compile([symbol], [total, *sg.grad((total * weights).sum(), [symbol])])
    value, slope = compiled(x)
    assert_allclose(value, expected, rtol=1e-15)
    # d out[j] / d x[i] = exp(x[i] - out[j]) for i <= j
    steps = np.array([
        [0 if i > j or x[i] == -np.inf else np.exp(x[i] - expected[j]) for i in range(len(x))]
        for j in range(len(x))
    ])  # fmt: skip
    assert_allclose(slope, weights @ steps, rtol=1e-11, atol=1e-300)
    tensor = dynamic.tensor(values, dtype=dynamic.float64, requires_grad=True)
    (dynamic.logcumsumexp(tensor, 0) * dynamic.tensor(weights)).sum().backward()
    assert_allclose(tensor.grad.numpy(), weights @ steps, rtol=1e-11, atol=1e-300)


def test_logcumsumexp_of_nothing_is_nothing() -> None:
    assert dynamic.zeros(2, 0).logcumsumexp(1).shape == (2, 0)
    assert sg.logcumsumexp(np.zeros((0, 3)), 0).shape == (0, 3)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_many_are_added_up_by_a_loop_with_numpys_bits(dtype: str) -> None:
    rng = np.random.default_rng(0)
    x = sg.placeholder("x", (None, None, None), dtype)
    compiled = sg.compile([x], [f(x, i) for f in (sg.cumsum, sg.cumprod) for i in (0, 1, 2, None)])
    for shape in ((17, 29, 41), (1, 2, 20011), (5000, 2, 3), (3, 70, 2500)):
        given = rng.normal(size=shape).astype(dtype)
        given.flat[:3] = -0.0, 0.0, np.inf
        with np.errstate(all="ignore"):
            wide = [
                function(given, axis, "float64").astype(dtype)
                for function in (np.cumsum, np.cumprod)
                for axis in (0, 1, 2, None)
            ]
        eager = [f(given, i) for f in (sg.cumsum, sg.cumprod) for i in (0, 1, 2, None)]
        turned = sg.cumsum(np.asfortranarray(given), 1)
        pairs = [*zip(compiled(given), wide, strict=True), *zip(eager, wide, strict=True)]
        for found, expected in [*pairs, (turned, wide[1])]:
            np.testing.assert_array_equal(found, expected)
            numbers = ~np.isnan(expected)
            np.testing.assert_array_equal(np.signbit(found)[numbers], np.signbit(expected)[numbers])
    assert sg.cumsum(np.zeros((0, 1 << 15)), 0).shape == (0, 1 << 15)


def test_zeros_of_either_sign_stay_in_their_order() -> None:
    rng = np.random.default_rng(1)
    x = sg.placeholder("x", (None, None), "float64")
    both = sg.compile([x], [sg.sort(x, 1), sg.sort(x, 1, descending=True), sg.sort(x, None)])
    for zeros in ((0.0, -0.0), (0.0,)):
        given = rng.choice([*zeros, np.nan, 1.5, -2.0], (5, 40))
        up, down, flat = both(given)
        order = np.argsort(given, 1, kind="stable")
        kept = np.take_along_axis(given, order, 1)
        back = [sorted(range(40), key=lambda i: _falling(row[i])) for row in given]
        falling = np.take_along_axis(given, np.array(back), 1)
        whole = given.ravel()[np.argsort(given.ravel(), kind="stable")]
        for found, expected in ((up, kept), (down, falling), (flat, whole)):
            np.testing.assert_array_equal(found, expected)
            np.testing.assert_array_equal(np.signbit(found), np.signbit(expected))


def _falling(number: float) -> tuple[bool, float]:
    """What orders numbers from the largest on, nan before them."""
    return (number == number, 0.0 if number != number else -number)


@pytest.mark.slow
@pytest.mark.parametrize(
    "row", [[2.0, 0, 3, 0, 1.5], [0.0, 2, 3, 0.5, 1], [1.0, 2, 0, 3, 4], [0.0, 0, 0, 1, 2]]
)
def test_second_derivatives_of_cumprod_where_elements_are_0(row: list[float]) -> None:
    x, g, t = np.array(row), np.array([1.0, -2, 0.5, 3, 1.25]), np.array([0.5, 1, -1, 2, -0.25])

    def second(i: int, j: int) -> float:  # of sum(g * cumprod(x)), which is linear in each element
        others = [np.delete(x[: k + 1], [i, j]).prod() for k in range(max(i, j), len(x))]
        return 0.0 if i == j else float(np.dot(g[max(i, j) :], others))

    expected = [sum(second(i, j) * t[j] for j in range(5)) for i in range(5)]
    gradient = sg.grad(lambda x: sg.sum(g * sg.cumprod(x)))
    assert_allclose(sg.jvp(gradient, (x,), (t,))[1], expected, atol=1e-14)
    assert_allclose(sg.grad(lambda x: sg.sum(t * gradient(x)))(x), expected, atol=1e-14)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("shape", "axis"), [((300, 70), 0), ((300, 70), 1), ((20, 30, 40), 1)])
def test_gradients_of_large_running_sums_are_added_from_the_end(
    shape: tuple[int, ...], axis: int, dtype: str
) -> None:
    g = np.random.default_rng(0).normal(size=shape).astype(dtype)
    expected = np.flip(np.cumsum(np.flip(g, axis), axis, dtype=np.float64), axis).astype(dtype)
    rule = sg.cumsum.rule(0)
    assert rule is not None
    assert np.array_equal(rule(g, None, None, axis=axis), expected)
    repeated = np.broadcast_to(g[:1], shape)
    expected = np.flip(np.cumsum(np.flip(repeated, axis), axis, dtype=np.float64), axis)
    assert np.array_equal(rule(repeated, None, None, axis=axis), expected.astype(dtype))
