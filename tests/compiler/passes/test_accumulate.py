"""Products that are added to a variable or to another product, in place."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import staticgraph as sg

RNG = np.random.default_rng(0)
PRODUCTS: dict[str, Any] = {"disable": ["sum_small_products"]}  # those of few numbers too


def count(graph: Any, name: str) -> int:
    return sum(data["op"].name == name for _, data in graph.nodes(data=True))


def values(*shape: int) -> Any:
    return RNG.standard_normal(shape)


def step(rows: Any, **options: Any) -> tuple[Any, Any, Any]:
    """w -= 0.1 x.T @ g, and what it is compiled from; g depends on w."""
    x = sg.placeholder("x", (rows, 5), "float64")
    w = sg.variable(np.arange(15.0).reshape(5, 3) / 10, name="w")
    loss = ((x @ w) ** 2).sum()
    updates = sg.optim.SGD(lr=0.1).minimize(loss, [w])
    return sg.compile([x], loss, updates=updates, **options), w, x


@pytest.mark.parametrize("rows", [0, 1, 7, 600, 5000])
def test_the_step_of_gradient_descent(rows: int) -> None:
    run, w, _ = step(None)
    before, x = np.array(w.value), values(rows, 5)
    run(x)
    assert count(run.lowered, "gemm") == 1
    expected = before - 0.1 * (x.T @ (2 * (x @ before)))
    np.testing.assert_allclose(w.value, expected, rtol=1e-12, atol=1e-12)


def test_it_changes_no_bit_and_can_be_switched_off() -> None:
    run, w, _ = step(100)
    off, v, _ = step(100, disable=["accumulate_products"])
    assert count(off.lowered, "gemm") == 0
    x = values(100, 5)
    for _ in range(3):
        np.testing.assert_array_equal(run(x), off(x))
    np.testing.assert_array_equal(w.value, v.value)


def test_momentum_is_scaled_in_place() -> None:
    x = sg.placeholder("x", (None, 4), "float64")
    m = sg.variable(values(4, 4), name="m")
    run = sg.compile([x], x.sum(), updates=[(m, 0.9 * m + x.T @ x)])
    assert count(run.lowered, "gemm") == 1
    before, given = np.array(m.value), values(9, 4)
    run(given)
    np.testing.assert_allclose(m.value, 0.9 * before + given.T @ given, rtol=1e-13, atol=1e-13)


def test_two_products_are_added_while_they_are_computed() -> None:
    a, b = (sg.placeholder(name, (None, 6), "float64") for name in "ab")
    w = sg.placeholder("w", (6, 6), "float64")
    slope = sg.grad((sg.tanh(a @ w) @ w).sum() + (b @ w).sum() * 3, w)
    run, off = (
        sg.compile([a, b, w], slope, disable=names) for names in ([], ["accumulate_products"])
    )
    assert count(run.lowered, "gemm") > 0
    given = values(30, 6), values(20, 6), values(6, 6)
    np.testing.assert_allclose(run(*given), off(*given), rtol=1e-12, atol=1e-12)


def test_the_gradient_of_a_matrix_that_is_used_often_is_one_sum() -> None:
    x, w = sg.placeholder("x", (None, 6), "float64"), sg.placeholder("w", (6, 6), "float64")
    h = x
    for _ in range(5):
        h = sg.tanh(h @ w)
    slope = sg.grad(h.sum(), w)
    run, off = (sg.compile([x, w], slope, disable=n) for n in ([], ["accumulate_products"]))
    assert count(run.lowered, "gemm") == 4
    given = values(30, 6), values(6, 6)
    np.testing.assert_allclose(run(*given), off(*given), rtol=1e-11, atol=1e-12)


def test_the_old_value_is_read_before_it_is_written_over() -> None:
    x = sg.placeholder("x", (4, 4), "float64")
    w, v = (sg.variable(values(4, 4), name=name) for name in "wv")
    # w is a factor of its own update, and is read by another update and an output behind it
    run = sg.compile(
        [x], (x.T @ w).sum(), updates=[(w, w - 0.5 * (x @ w)), (v, v + w @ x)], **PRODUCTS
    )
    assert count(run.lowered, "gemm") == 2
    a, b, given = np.array(w.value), np.array(v.value), values(4, 4)
    np.testing.assert_allclose(run(given), (given.T @ a).sum(), rtol=1e-13)
    np.testing.assert_allclose(w.value, a - 0.5 * (given @ a), rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(v.value, b + a @ given, rtol=1e-13, atol=1e-13)


def test_nothing_is_updated_if_an_index_is_out_of_range() -> None:
    x, at = sg.placeholder("x", (4, 4), "float64"), sg.placeholder("at", (2,), "int64")
    w = sg.variable(values(4, 4), name="w")
    run = sg.compile([x, at], sg.take(x, at, axis=0), updates=[(w, w + x @ x)], **PRODUCTS)
    assert count(run.lowered, "gemm") == 1
    before = np.array(w.value)
    with pytest.raises(sg.OutOfRangeError, match="take: index 9 is out of range"):
        run(values(4, 4), np.array([0, 9]))
    np.testing.assert_array_equal(w.value, before)
    given = values(4, 4)
    run(given, np.array([0, 3]))
    np.testing.assert_allclose(w.value, before + given @ given, rtol=1e-13, atol=1e-13)


def test_nan_is_not_lost_in_a_factor_of_zero() -> None:
    x = sg.placeholder("x", (2, 2), "float64")
    w, v = (sg.variable(np.full((2, 2), one), name="w") for one in (1.0, np.nan))
    run = sg.compile(
        [x], x.sum(), updates=[(w, w - 0.0 * (x @ x)), (v, 0.0 * v + x @ x.T)], **PRODUCTS
    )
    assert count(run.lowered, "gemm") == 2
    run(np.full((2, 2), np.nan))
    assert np.isnan(w.value).all()
    run(np.ones((2, 2)))
    assert np.isnan(v.value).all()


def test_products_that_are_needed_elsewhere_stay() -> None:
    x = sg.placeholder("x", (3, 3), "float64")
    w = sg.variable(values(3, 3), name="w")
    product = x @ x
    run = sg.compile([x], product, updates=[(w, w + product)])
    assert count(run.lowered, "gemm") == 0
    given, before = values(3, 3), np.array(w.value)
    np.testing.assert_allclose(run(given), given @ given, rtol=1e-13)
    np.testing.assert_allclose(w.value, before + given @ given, rtol=1e-13)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("sizes", [(700, 40, 30), (30, 40, 700), (8, 5000, 8), (0, 3, 9)])
def test_bits_do_not_depend_on_threads(sizes: tuple[int, int, int], dtype: str) -> None:
    m, k, n = sizes
    results = []
    for threads in (1, 2, 3):
        rng = np.random.default_rng(1)
        w = sg.variable(rng.standard_normal((m, n)).astype(dtype), name="w")
        given = (rng.standard_normal(shape).astype(dtype) for shape in ((m, k), (k, n)))
        a, b = sg.placeholder("a", (m, k), dtype), sg.placeholder("b", (k, n), dtype)
        run = sg.compile([a, b], a.sum(), updates=[(w, w + 2 * (a @ b))], threads=threads)
        assert count(run.lowered, "gemm") == 1
        run(*given)
        results.append(np.array(w.value))
    for other in results[1:]:
        np.testing.assert_array_equal(results[0], other)


def test_the_sum_is_read_before_the_last_use_of_the_old_value() -> None:
    x = sg.placeholder("x", (4, 4), "float64")
    w = sg.variable(values(4, 4), name="w")
    new = w + x @ x
    product = sg.tanh(new) @ new
    run = sg.compile([x], [(new * 2).sum(), sg.sin(w * product)], updates={w: new}, **PRODUCTS)
    assert count(run.lowered, "gemm") == 1
    old, given = np.array(w.value), values(4, 4)
    total, late = run(given)
    expected = old + given @ given
    np.testing.assert_allclose(w.value, expected, rtol=1e-13, atol=1e-14)
    np.testing.assert_allclose(total, (expected * 2).sum(), rtol=1e-13)
    wanted = np.sin(old * (np.tanh(expected) @ expected))
    np.testing.assert_allclose(late, wanted, rtol=1e-12, atol=1e-12)
