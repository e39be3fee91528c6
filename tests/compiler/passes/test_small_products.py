"""Small products that become sums: in any shape, in loops and branches, and their gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import staticgraph as sg

RANDOM = np.random.default_rng(5)


def _normal(*shape: int) -> Any:
    return RANDOM.standard_normal(shape)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("left", "right", "calls"),
    [
        ((5, 3, 3), (5, 3, 3), False),
        ((2, 1, 2, 5), (1, 3, 5, 4), False),
        ((5, 1, 40), (5, 40, 1), False),
        ((5, 40, 1), (5, 1, 30), False),
        ((3, 3), (3, 3), False),
        ((3, 3), (7, 3, 3), False),
        ((7, 4, 4), (4, 4), True),  # one product of 28 rows
        ((7, 3, 2), (2, 3), False),
        ((4, 8), (7, 8, 4), False),  # many products
        ((300, 3), (3, 2), False),
        ((300, 3), (3, 3), True),
        ((2, 3), (3, 300), False),
        ((3, 40), (40, 3), False),
        ((4, 40), (40, 4), True),
        ((0, 3, 3), (0, 3, 3), False),
        ((4, 3, 0), (4, 0, 3), True),
        ((5, 7, 7), (5, 7, 7), True),
    ],
)
def test_products_of_batches(left: tuple[int, ...], right: tuple[int, ...], calls: bool) -> None:
    a, b = sg.placeholder("a", left, "float64"), sg.placeholder("b", right, "float64")
    given = _normal(*left), _normal(*right)
    weights = sg.constant(_normal(*np.matmul(*given).shape))
    loss = sg.sum(sg.sin(a @ b) * weights)
    outputs = [a @ b, *sg.grad(loss, [a, b]), sg.grad(sg.sum(sg.grad(loss, a) ** 2), b)]
    found = sg.compile([a, b], outputs)(*given)
    expected = sg.compile([a, b], outputs, disable=["sum_small_products"])(*given)
    np.testing.assert_allclose(found[0], np.matmul(*given), rtol=1e-13, atol=1e-13)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-12)
    text = sg.compile([a, b], a @ b).source
    assert ("gemm" in text) == calls


def test_what_is_left_as_a_product() -> None:
    a, b = sg.placeholder("a", (None, 3, None), "float64"), sg.placeholder("b", (None, None, 3))
    n = sg.placeholder("n", (None, 2, 2), "int64")
    given = _normal(4, 3, 5), _normal(4, 5, 3).astype("float32")
    executable = sg.compile([a, b], a @ sg.astype(b, "float64"))
    np.testing.assert_allclose(executable(*given), np.matmul(*given), rtol=1e-13)
    assert "gemm" in executable.source
    whole = np.arange(12).reshape(3, 2, 2)
    np.testing.assert_array_equal(sg.compile([n], n @ n)(whole), whole @ whole)


def test_rows_of_both_operands_are_multiplied_by_sums() -> None:
    a, b = sg.placeholder("a", (4, None), "float64"), sg.placeholder("b", (4, None), "float64")
    given = _normal(4, 700), _normal(4, 700)
    rows, columns = sg.compile([a, b], a @ b.T), sg.compile([a, b], a.T @ b)
    np.testing.assert_allclose(rows(*given), given[0] @ given[1].T, rtol=1e-13, atol=1e-12)
    np.testing.assert_allclose(columns(*given), given[0].T @ given[1], rtol=1e-13, atol=1e-12)
    assert "gemm" not in rows.source
    assert "gemm" in columns.source


@pytest.mark.slow
@pytest.mark.parametrize("batch", [(), (6,)])
def test_in_loops_and_branches(batch: tuple[int, ...]) -> None:
    f, p = (sg.placeholder(name, (*batch, 3, 3), "float64") for name in "fp")
    ys = sg.placeholder("ys", (None,), "float64")

    def step(p: Any, y: Any) -> tuple[Any, Any]:
        inner, _ = sg.scan(lambda q, z: (q @ f * z, None), p, sg.stack([y, y + 1.0]))
        p = sg.cond(y > 0.5, lambda: f @ p, lambda: sg.tanh(p @ sg.swapaxes(f, -1, -2) + inner))
        return p, sg.sum(p)

    last, sums = sg.scan(step, p, ys)
    loss = sg.sum(last) + sg.sum(sums)
    outputs = [loss, *sg.grad(loss, [f, p])]
    given = 0.5 * _normal(*batch, 3, 3), _normal(*batch, 3, 3), np.array([0.1, 0.9, 0.4])
    new = sg.compile([f, p, ys], outputs)
    old = sg.compile([f, p, ys], outputs, disable=["sum_small_products"])
    calls, before = (one.source.count("gemm_f64(gemm") for one in (new, old))
    assert calls <= (0 if batch else 2)  # those over all steps
    assert before >= calls + 2
    for one, other in zip(new(*given), old(*given), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-12)


def test_the_bits_do_not_depend_on_threads() -> None:
    a = sg.placeholder("a", (None, 4, 4))
    given = _normal(20_000, 4, 4).astype("float32")
    outputs = [a @ a, sg.grad(sg.sum((a @ a) ** 2), a)]
    alone, shared = (sg.compile([a], outputs, threads=threads)(given) for threads in (1, 2))
    for one, other in zip(alone, shared, strict=True):
        assert one.tobytes() == other.tobytes()
