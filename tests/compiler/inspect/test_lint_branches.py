"""Gradients that are zero everywhere through branches and loops: told where all ways are flat."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dynamic as torch
import staticgraph as sg
from tests.compiler.inspect.lint_programs import Program, X, compiled, variable


def _captured(f: Callable[..., Any]) -> Program:
    g = sg.function(f, debug=True)
    return lambda: g(torch.ones(3, requires_grad=True), torch.ones(3))


def both_sides_of_a_cond() -> Program:
    w = variable(5)
    y = sg.cond(X[0, 0] > 0, lambda: sg.sum(sg.round(w)), lambda: sg.sum(X @ sg.floor(w)))
    return compiled([X], [X * 2, sg.grad(y, w)])


def in_a_scan() -> Program:
    w = variable(5)
    y, _ = sg.scan(lambda c, x: (c + x @ sg.round(2 * w), c), np.float32(0), X)
    return compiled([X], [X * 2, sg.grad(y, w)])


def in_a_while() -> Program:
    w = variable(5)
    y = sg.while_loop(
        lambda c: c < 3, lambda c: c + 1 + sg.sum(sg.round(w)), np.float32(0), max_steps=5
    )
    return compiled([X], [X * 2, sg.grad(y, w)])


def behind_products() -> Program:
    w = variable(5)
    return compiled([X], [X * 2, sg.grad(sg.sum(sg.tanh(sg.round(2 * w)) / 3 - 1), w)])


def both_sides_of_an_if() -> Program:
    def loss(w: Any, x: Any) -> None:
        if x.sum() > 0:
            y = (w.round() * x).sum()
        else:
            y = (torch.floor(w) + x).sum()
        y.backward()

    return _captured(loss)


def beside_an_error() -> Program:
    def loss(w: Any, x: Any) -> None:
        if x.sum() > 9:
            raise ValueError("too large")
        if x.sum() > 0:
            x = 2 * x
        (w.round() * x).sum().backward()

    return _captured(loss)


FLAT = [
    (both_sides_of_a_cond, r"gradient of cond float32\[\] .* through round at .* and floor at"),
    (in_a_scan, r"gradient of scan float32\[\] by variable 'w' .* through round at"),
    (in_a_while, r"by variable 'w' .* through round at"),
    (behind_products, r"gradient of sum float32\[\] by variable 'w' .* through round at"),
    (both_sides_of_an_if, "by placeholder 'w' .* through round at .* and floor at"),
    (beside_an_error, "by placeholder 'w' .* through round at"),
]


@pytest.mark.parametrize(("make", "says"), FLAT, ids=lambda one: getattr(one, "__name__", ""))
def test_a_gradient_of_zeros_is_told(make: Callable[[], Program], says: str) -> None:
    program = make()
    with pytest.warns(sg.LintWarning, match=says) as found:
        program()
    (one,) = [w for w in found if issubclass(w.category, sg.LintWarning)]
    lines, first = inspect.getsourcelines(make)
    assert one.filename == __file__
    assert first < one.lineno < first + len(lines)


def one_side_of_a_cond() -> Program:
    w = variable(5)
    y = sg.cond(X[0, 0] > 0, lambda: sg.sum(sg.round(w)), lambda: sg.sum(w))
    return compiled([X], [X * 2, sg.grad(y, w)])


def in_what_is_carried() -> Program:
    w = variable(5)
    y, _ = sg.scan(lambda c, x: (c * (1 + x @ sg.round(w)), c), sg.sum(w), X)
    return compiled([X], [X * 2, sg.grad(y, w)])


def by_an_index_of_zeros() -> Program:
    w = variable(5)
    y = sg.sum(sg.round(w)) + sg.sum(sg.take(w, np.zeros(2, "int64"), 0))
    return compiled([X], [X * 2, sg.grad(y, w)])


def chosen() -> Program:
    w = variable(5)
    return compiled([X], [X * 2, sg.grad(sg.sum(sg.where(w > 0, w, sg.round(w))), w)])


def one_side_of_an_if() -> Program:
    def loss(w: Any, x: Any) -> None:
        y = (w.round() * x).sum() if x.sum() > 0 else (w + x).sum()
        y.backward()

    return _captured(loss)


@pytest.mark.parametrize(
    "make",
    [one_side_of_a_cond, in_what_is_carried, by_an_index_of_zeros, chosen, one_side_of_an_if],
)
def test_a_gradient_that_is_some_way_is_not_told(make: Callable[[], Program]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        make()()
