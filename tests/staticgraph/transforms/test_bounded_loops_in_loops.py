"""`vmap` of bounded loops in other loops and in branches: each example has its own bounds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

import dynamic
import staticgraph as sg
from tests.combinations import some

X = np.linspace(0.1, 1.0, 4)


def in_while(a: Any) -> Any:
    def body(state: Any) -> Any:
        i, total = state
        step = lambda s: (s[0] * 1.01 + a * a, s[1] + 1.0)  # noqa: E731
        total, _ = sg.while_loop(lambda s: s[1] < i, step, (total, a * 0.0), max_steps=9)
        return i + 1.0, total

    return sg.while_loop(lambda s: s[0] < a * 5, body, (a * 0.0, a), max_steps=8)[1]


def in_scan(a: Any) -> Any:
    def step(carry: Any, x: Any) -> Any:
        found = sg.while_loop(lambda s: s < x, lambda s: s * 2 + a, carry, max_steps=6)
        return found, found * a

    return sg.sum(sg.scan(step, a, np.array([0.5, 2.0, 3.0]))[1])


def in_branch(a: Any) -> Any:
    def doubled(x: Any) -> Any:
        return sg.while_loop(lambda s: s < 3.0, lambda s: s * 2, x, max_steps=4)

    return sg.fori_loop(0, 2, lambda _, x: sg.cond(x > 0.5, doubled, lambda x: x * a, x), a)


@pytest.mark.slow
@pytest.mark.parametrize("f", some([in_while, in_scan, in_branch], 1))
def test_values_and_gradients_are_those_of_one_call_after_the_other(f: Callable[..., Any]) -> None:
    one = sg.function(f)
    assert_allclose(sg.vmap(f)(X), [one(x) for x in X], rtol=1e-15)
    assert_allclose(sg.function(lambda x: sg.vmap(f)(x))(X), sg.vmap(f)(X), rtol=1e-15)
    assert_allclose(sg.vmap(f)(dynamic.tensor(X)).numpy(), sg.vmap(f)(X), rtol=1e-15)
    assert_allclose(sg.vmap(sg.vmap(f))(X.reshape(2, 2)).ravel(), sg.vmap(f)(X), rtol=1e-15)
    slopes = [sg.grad(f)(x) for x in X]
    assert_allclose(sg.vmap(sg.grad(f))(X), slopes, rtol=1e-14)
    assert_allclose(sg.grad(lambda x: sg.sum(sg.vmap(f)(x)))(X), slopes, rtol=1e-14)


@pytest.mark.slow
def test_an_example_that_goes_on_is_an_error_and_one_that_is_done_is_none() -> None:
    with pytest.raises(sg.CheckError, match="while_loop goes on after max_steps=6 steps"):
        sg.vmap(lambda a: in_scan(a * 1e-3))(X)
    three = "while_loop goes on after max_steps=3 steps; .* max_steps=2 steps"

    def deeper(a: Any) -> Any:
        def both(_: Any, x: Any) -> Any:
            x = sg.while_loop(lambda s: s < a, lambda s: s + 1, x, max_steps=3)
            return sg.while_loop(lambda s: s < a, lambda s: s + 1, x, max_steps=2)

        return sg.fori_loop(0, 2, both, a * 0)

    with pytest.raises(sg.CheckError, match=three):
        sg.vmap(deeper)(np.array([1.0, 4.0]))
    assert_allclose(sg.vmap(deeper)(np.array([1.0, 3.0])), [1, 3])

    def done(a: Any) -> Any:  # the loop of the first example would go on if it had more to do
        def body(state: Any) -> Any:
            i, _ = state
            bound = i * 2 / a
            return i + 1, sg.while_loop(lambda s: s < bound, lambda s: s + 1, a * 0, max_steps=2)

        return sg.while_loop(lambda s: s[0] < a, body, (a * 0, a * 0), max_steps=9)[1]

    assert_allclose(sg.vmap(done)(np.array([1.0, 4.0])), [0, 2])
