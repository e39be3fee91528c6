"""Gradients of what is indexed are written once, window by window."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.graph.definition import define
from staticgraph.compiler.pipeline import optimise

RNG = np.random.default_rng(3)


def ops_of(x: sg.Expression, output: sg.Expression) -> list[str]:
    low = optimise(define([x], [output]))
    return [node.op.name for node in low.nodes if node.op.name != "constant"]


def cross(x: Any) -> Any:
    a, b, c = x[..., 0], x[..., 1], x[..., 2]
    return (a * b - c * c) * a + b


def rows(x: Any) -> Any:
    return sum((x[i] * x[i + 1]).sum() for i in range(3))


def differences(x: Any) -> Any:
    return ((x[1:] - x[:-1]) ** 2).sum() + x[-1].sum() * 3 + (x[:-1] * x[1:]).sum()


def blocks(x: Any) -> Any:
    return (x[:2, :1] * x[2:4, :1] + x[:2, 1:2] ** 2 * x[2:4, 2:3]).sum()


def stencil(x: Any) -> Any:
    return ((x[1:-1, 1:-1] * 4 - x[2:, 1:-1] - x[:-2, 1:-1] - x[1:-1, 2:]) ** 2).sum()


def mixed(x: Any) -> Any:
    return (x[::2] * 2).sum() + (x * x).sum() + x[1, 1] * x[0, 0] + x[1:3].sum()


@pytest.mark.parametrize("function", [cross, rows, differences, blocks, stencil, mixed])
def test_gradients_are_those_without_the_pass(function: Callable[[Any], Any]) -> None:
    x = sg.placeholder("x", (None, 3))
    gradient = sg.grad(sg.sum(function(x)), x)
    on = sg.compile([x], gradient, threads=2)
    off = sg.compile([x], gradient, disable=["join_embedded"])
    one = sg.compile([x], gradient, threads=1)
    for n in (4, 5, 70000):
        given = RNG.normal(size=(n, 3)).astype("float32")
        found = on(given)
        np.testing.assert_allclose(found, off(given), rtol=1e-4, atol=1e-5)
        np.testing.assert_array_equal(found, one(given))


def test_windows_over_each_other_where_an_axis_is_short() -> None:
    x = sg.placeholder("x", (None,))
    ends = sg.grad(sg.sum(x[:1] * 2) + sg.sum(x[-1:] ** 2) + sg.sum(x[:-1] * 5), x)
    f = sg.compile([x], ends)
    np.testing.assert_array_equal(f(np.float32([3])), [8])
    np.testing.assert_array_equal(f(np.float32([3, 4])), [7, 8])


def test_each_window_is_written_once() -> None:
    x = sg.placeholder("x", (None, 4))
    columns = sg.sum(x[:, 0] * x[:, 1] * x[:, 3])
    left = ops_of(x, sg.grad(columns, x))
    assert left.count("concatenate") == 1
    assert not {"embed", "add"} & set(left)
    again = ops_of(x, sg.grad(columns * sg.sum(x[:, 3] * x[:, 1]), x))
    assert again.count("concatenate") == 1
    assert "embed" not in again


def test_what_is_read_elsewhere_stays() -> None:
    x = sg.placeholder("x", (4,))
    padded = sg.pad(x, (0, 4))
    total = padded + sg.pad(x * 2, (4, 0))
    low = optimise(define([x], [total, padded]))
    assert [node.op.name for node in low.nodes].count("embed") == 2


@pytest.mark.slow
def test_integers_and_higher_derivatives() -> None:
    n = sg.placeholder("n", (None, 2), "int64")
    total = sg.pad(n[:, :1], ((0, 0), (0, 1))) + sg.pad(n[:, 1:], ((0, 0), (1, 0)))
    given = RNG.integers(-5, 5, (3, 2))
    np.testing.assert_array_equal(sg.compile([n], total)(given), given)
    x = sg.placeholder("x", (None, 3), "float64")
    first = sg.grad(sg.sum(cross(x) ** 2), x)
    second = sg.grad(sg.sum(first**2), x)
    rows = RNG.normal(size=(3, 3))
    on, off = (sg.compile([x], second, disable=d)(rows) for d in ([], ["join_embedded"]))
    np.testing.assert_allclose(on, off, rtol=1e-12)


def test_the_sum_of_a_thousand_slices_compiles_in_proportion() -> None:
    x = sg.placeholder("x", (400, 8))
    total = sg.sum(sum((x[i] * x[i + 1] for i in range(399)), x[0]))
    left = ops_of(x, sg.grad(total, x))
    assert left.count("concatenate") == 1
    assert "embed" not in left


@pytest.mark.parametrize("shape", [(0, 5), (4, 5)])
@pytest.mark.parametrize(
    "windows", [[(0, 3), (1, 4)], [(1, 4), (1, 1)], [(1, 1), (1, 4)], [(0, 0), (0, 5), (2, 4)]]
)
def test_windows_without_elements(shape: tuple[int, int], windows: list[tuple[int, int]]) -> None:
    given = RNG.normal(size=shape)
    expected = np.zeros(shape)
    for start, stop in windows:
        expected[:, start:stop] += 2 * given[:, start:stop]
    f = sg.grad(lambda x: sum(sg.sum(x[:, start:stop] ** 2) for start, stop in windows))
    np.testing.assert_allclose(f(given), expected)
