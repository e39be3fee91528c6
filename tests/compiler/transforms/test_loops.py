"""`fori_loop`, `map`, `switch` and `associative_scan`, in both paradigms."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dynamic
import staticgraph as sg
from staticgraph.compiler.core.errors import OptionError, ShapeError

BRANCHES = [lambda x: x, lambda x: -x, lambda x: x * x]
RNG = np.random.default_rng(0)


def test_loops_over_integers() -> None:
    assert sg.fori_loop(2, 5, lambda i, total: total + i * i, 0) == 29
    assert sg.fori_loop(5, 2, lambda i, total: total + i, 7) == 7
    assert sg.grad(lambda x: sg.fori_loop(0, 3, lambda i, v: v * x, 1.0))(2.0) == 12

    def power(x: Any, n: Any) -> Any:
        return sg.fori_loop(0, n, lambda i, v: v * x, 1.0, max_steps=8)

    assert sg.function(power)(2.0, np.int64(5)) == 32
    assert sg.grad(power)(2.0, np.int64(5)) == 80
    assert power(2.0, np.int64(0)) == 1


def test_maps() -> None:
    xs = np.arange(3.0)
    assert sg.map(lambda x: x * x, xs).tolist() == [0, 1, 4]
    found = sg.map(lambda pair: {"sum": pair[0] + pair[1]}, (xs, xs))
    assert found["sum"].tolist() == [0, 2, 4]
    np.testing.assert_allclose(sg.grad(lambda x: sg.sum(sg.map(sg.sin, x)))(xs), np.cos(xs))
    tensor = dynamic.tensor(xs, requires_grad=True)
    sg.map(sg.sin, tensor).sum().backward()
    np.testing.assert_allclose(tensor.grad.numpy(), np.cos(xs))


@pytest.mark.parametrize(("index", "expected"), [(-1, 3), (0, 3), (1, -3), (2, 9), (7, 9)])
def test_switches(index: int, expected: float) -> None:
    assert sg.switch(index, BRANCHES, 3.0) == expected
    chosen = sg.function(lambda k, x: sg.switch(k, BRANCHES, x))
    assert chosen(np.int64(index), 3.0) == expected


def test_a_switch_has_gradients_and_batches() -> None:
    assert sg.grad(lambda x, k: sg.switch(k, BRANCHES, x))(3.0, np.int64(2)) == 6
    assert sg.vmap(lambda k: sg.switch(k, BRANCHES, 3.0))(np.arange(3)).tolist() == [3, -3, 9]
    with pytest.raises(OptionError, match="switch: there are no branches"):
        sg.switch(0, [], 3.0)


@pytest.mark.parametrize("count", [0, 1, 2, 3, 4, 5, 8, 13])
def test_associative_scans_are_partial_results(count: int) -> None:
    rows = RNG.normal(size=(count, 2))
    np.testing.assert_allclose(sg.associative_scan(sg.add, rows), np.cumsum(rows, 0), 1e-12)
    backward = sg.associative_scan(sg.add, rows.T, reverse=True, axis=1)
    np.testing.assert_allclose(backward, np.cumsum(rows[::-1], 0)[::-1].T, 1e-12)


def test_associative_scans_of_matrices_and_trees() -> None:
    matrices = RNG.normal(size=(6, 2, 2))
    products = [matrices[0]]
    for one in matrices[1:]:
        products.append(products[-1] @ one)
    np.testing.assert_allclose(sg.associative_scan(sg.matmul, matrices), products, 1e-12)
    a, b = RNG.normal(size=(2, 7))

    def affine(left: Any, right: Any) -> Any:
        return {"a": left["a"] * right["a"], "b": right["a"] * left["b"] + right["b"]}

    found = sg.associative_scan(affine, {"a": a, "b": b})["b"]
    state, expected = 0.0, []
    for factor, term in zip(a, b, strict=True):
        state = factor * state + term
        expected.append(state)
    np.testing.assert_allclose(found, expected, 1e-12)


def test_associative_scans_have_gradients() -> None:
    x = np.array([1.0, 2.0, 3.0])
    found = sg.grad(lambda x: sg.sum(sg.associative_scan(sg.multiply, x)))(x)
    assert found.tolist() == [9, 4, 2]
    tensor = dynamic.tensor(x, requires_grad=True)
    sg.function(lambda t: sg.associative_scan(sg.multiply, t).sum())(tensor).backward()
    assert tensor.grad.tolist() == [9, 4, 2]
    with pytest.raises(ShapeError, match="associative_scan: one size along axis 0, not"):
        sg.associative_scan(sg.add, (x, x[:2]))
