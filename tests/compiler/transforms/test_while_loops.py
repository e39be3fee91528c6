"""Derivatives and batches of `while_loop`, against loops in Python and derivatives by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dynamic
import staticgraph as sg
from staticgraph.compiler.core.errors import CheckError, GraphError, OptionError
from staticgraph.compiler.transforms.while_loops import pulled_while

STARTS = np.array([3.0, 5.0, 200.0, 1.5])
POWERS = np.array([8, 4, 1, 16])  # squared until it is 100 or more
SLOPES = POWERS * STARTS ** (POWERS - 1)


def squared(x: Any, max_steps: int | None = None) -> Any:
    return sg.while_loop(lambda c: sg.sum(c) < 100, lambda c: c * c, x, max_steps)


def root(a: Any) -> Any:
    """The square root by Newton's method, which reads `a` from around."""

    def step(state: Any) -> Any:
        return 0.5 * (state[0] + a / state[0]), state[1] + 1

    return sg.while_loop(lambda s: sg.abs(s[0] * s[0] - a) > 1e-12, step, (a, 0), max_steps=50)[0]


def test_forward_mode() -> None:
    assert sg.jvp(squared, (3.0,), (2.0,)) == (3.0**8, 16 * 3.0**7)
    second = sg.jvp(lambda x: sg.jvp(squared, (x,), (1.0,))[1], (3.0,), (1.0,))[1]
    assert second == 56 * 3.0**6
    np.testing.assert_allclose(sg.jvp(root, (2.0,), (1.0,))[1], 0.5 / np.sqrt(2), 1e-12)

    def repeated(x: Any) -> Any:
        return sg.scan(lambda carry, _: (squared(carry) * 0.01, carry), x, None, 2)[0]

    # 3 -> 3**8 / 100 = 65.61 -> 65.61**2 / 100
    expected = 2 * 65.61 * 0.01 * 8 * 3.0**7 * 0.01
    np.testing.assert_allclose(sg.jvp(repeated, (3.0,), (1.0,))[1], expected, 1e-12)


def test_batches_run_until_none_goes_on() -> None:
    np.testing.assert_allclose(sg.vmap(squared)(STARTS), STARTS**POWERS, 1e-14)
    moved = sg.vmap(lambda x: sg.jvp(squared, (x,), (1.0,))[1])(STARTS)
    np.testing.assert_allclose(moved, SLOPES, 1e-13)
    moved = sg.jvp(sg.vmap(squared), (STARTS,), (np.ones(4),))[1]
    np.testing.assert_allclose(moved, SLOPES, 1e-13)
    # of a condition that is the same for all, and a carry that only the body makes a batch
    found = sg.vmap(
        lambda x: sg.while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, s[1] * x), (0, 1.0))
    )(STARTS)
    assert found[0].tolist() == [3, 3, 3, 3]
    np.testing.assert_allclose(found[1], STARTS**3, 1e-14)
    # of a condition of what all share is no batch
    shared = sg.vmap(lambda x: x + squared(2.0))(STARTS)
    np.testing.assert_allclose(shared, STARTS + 256, 1e-14)


@pytest.mark.slow
def test_reverse_mode_up_to_a_bound() -> None:
    assert sg.grad(lambda x: squared(x, 10))(3.0) == 8 * 3.0**7
    assert sg.grad(sg.grad(lambda x: squared(x, 10)))(3.0) == 56 * 3.0**6
    np.testing.assert_allclose(sg.vmap(sg.grad(root))(STARTS), 0.5 / np.sqrt(STARTS), 1e-11)
    summed = sg.grad(lambda x: sg.sum(sg.vmap(lambda one: squared(one, 10))(x)))(STARTS)
    np.testing.assert_allclose(summed, SLOPES, 1e-13)
    for function in (root, sg.function(root)):
        a = dynamic.tensor(2.0, dtype=dynamic.float64, requires_grad=True)
        function(a).backward()
        np.testing.assert_allclose(a.grad.item(), 0.5 / np.sqrt(2), 1e-12)


def test_effects_happen_once(capsys: pytest.CaptureFixture[str]) -> None:
    def loud(x: Any) -> Any:
        return sg.while_loop(lambda c: c < 10, lambda c: sg.print("at", c) * 2, x, max_steps=9)

    assert sg.grad(loud)(3.0) == 4
    assert capsys.readouterr().out.count("\n") == 2


def test_a_loop_beyond_its_bound_is_an_error() -> None:
    assert squared(3.0, 3) == 3.0**8
    for function in (squared, sg.function(squared)):
        with pytest.raises(CheckError, match="while_loop goes on after max_steps=2 steps"):
            function(3.0, max_steps=2)
    with pytest.raises(OptionError, match="max_steps is a number of steps, not -1"):
        squared(3.0, -1)
    with pytest.raises(GraphError, match=r"has no reverse-mode gradient, .*: give max_steps="):
        sg.grad(squared)(3.0)
    with pytest.raises(GraphError, match="its transpose has no value"):
        pulled_while.evaluate()


def fed() -> tuple[Any, Any]:
    return sg.placeholder("x", (), "float64"), sg.placeholder("rows", (None,), "float64")


GIVEN = 1.5, np.array([1.5, 1.5])
OPTIONS: Any = {"on_unused_input": "ignore", "debug": True}


@pytest.mark.parametrize("of", [
    lambda x, rows: squared(x, 2),
    lambda x, rows: sg.grad(squared(x, 2), x),
    lambda x, rows: sg.hessian(lambda a: squared(a, 2))(x),
    lambda x, rows: sg.jvp(lambda a: squared(a, 2), (x,), (1.0,))[1],
    lambda x, rows: sg.linearize(lambda a: squared(a, 2), x)[1](1.0),
    lambda x, rows: sg.cond(x > 0, lambda: squared(x, 2), lambda: x),
    lambda x, rows: sg.scan(lambda carry, row: (squared(row, 2), carry), x, rows)[0],
    lambda x, rows: sg.grad(sg.scan(lambda c, row: (squared(row, 2) * c, c), x, rows)[0], rows),
    lambda x, rows: sg.vmap(lambda row: squared(row, 2))(rows),
    lambda x, rows: sg.vmap(sg.grad(lambda row: squared(row, 2)))(rows),
])  # fmt: skip
def test_what_has_a_bounded_loop_checks_it(of: Any) -> None:
    x, rows = fed()  # of its own: what other graphs check of these would be checked here too
    with pytest.raises(CheckError, match="goes on after max_steps=2 steps"):
        sg.compile([x, rows], of(x, rows), **OPTIONS)(*GIVEN)


def test_what_has_no_bounded_loop_does_not_check_one() -> None:
    x, rows = fed()
    squared(x, 2), sg.grad(squared(x, 2), x), sg.vmap(lambda row: squared(row, 2))(rows)
    assert sg.compile([x, rows], x + sg.sum(rows), **OPTIONS)(*GIVEN) == 4.5
    other = sg.scan(lambda carry, row: (carry * row, carry), x, rows)[0]
    assert sg.compile([x, rows], other, **OPTIONS)(*GIVEN) == 1.5**3

    def checked(carry: Any, row: Any) -> Any:
        sg.check(carry < 1, "too large")
        return squared(row, 2), carry

    sg.scan(checked, x, rows)  # what users check belongs to all that read the same
    with pytest.raises(CheckError, match="too large"):
        sg.compile([x, rows], x + sg.sum(rows), **OPTIONS)(*GIVEN)
