"""Branches on values inside of loops, branches and examples: conds in their bodies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dynamic as torch
import staticgraph as sg

HERE = r"test_branches_in_bodies\.py:\d+: "
XS = [np.array([1.0, -2.0, 3.0, 0.5]), np.array([-1.0, 2.0, -2.0, 0.5]), np.full(4, np.nan)]


def summed(x: Any) -> Any:
    def step(total: Any, one: Any) -> Any:
        if one > 0:
            total = total * one if total > 2 else total + one
        return total, (one if total > 1 else 0.0)

    return sg.scan(step, x[0] * 0, x)


def searched(x: Any) -> Any:
    """`and` in a condition is a branch too."""
    return sg.while_loop(
        lambda s: s[0] < 10 and s[1] < 5,
        lambda s: (s[0] + 1, s[1] * 2 if s[1] < 2 else s[1] + 0.5),
        (np.int64(0), x[0]),
    )


def nested(x: Any) -> Any:
    def step(c: Any, v: Any) -> Any:
        if v > 0:
            c = sg.while_loop(lambda s: s < 10, lambda s: s * 3 if s > 1 else s + 1, c)
        return max(c, v), sg.cond(v > 0, lambda a: a + 1 if a < 2 else a, lambda a: a - 1, v)

    return sg.scan(step, x[0] * 0, x)


def of_both(x: Any) -> Any:
    """Decided by what is around the loop, and by both."""

    def step(c: Any, v: Any) -> Any:
        c = c + v if x[0] > 0 else c - v
        return (c * 2 if x[1] > v else c), None

    return sg.scan(step, x[0] * 0, x)[0]


def raising(x: Any) -> Any:
    def step(c: Any, v: Any) -> Any:
        if v < -1.5 and c > 0.5:
            raise ArithmeticError("low")
        return c + v, None

    return sg.scan(step, x[0] * 0, x)[0]


PROGRAMS = [summed, searched, nested, of_both, raising]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda one: one.__name__)
@pytest.mark.parametrize("lifted", [np.array, torch.tensor], ids=["arrays", "tensors"])
def test_a_branch_in_a_body_means_what_it_means_eagerly(
    program: Callable[..., Any], lifted: Any
) -> None:
    fast = sg.function(program, debug=program is not nested)
    for x in XS:
        try:
            expected = program(lifted(x))
        except ArithmeticError as error:
            with pytest.raises(ArithmeticError, match=f"^{error}"):
                fast(lifted(x))
            continue
        for one, other in zip(_flat(fast(lifted(x))), _flat(expected), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12)


def _flat(result: Any) -> list[Any]:
    return list(result) if isinstance(result, tuple) else [result]


def test_only_the_side_that_is_taken_is_computed() -> None:
    def step(c: Any, v: Any) -> Any:
        if v > 0:
            sg.check(v < 2, "a value is {}", v)
            c = c + v
        return c, None

    fast = sg.function(lambda x: sg.scan(step, 0.0, x)[0])
    assert fast(np.array([1.0, -3.0])) == 1.0
    with pytest.raises(sg.CheckError, match=r"a value is 3\.0 \(iteration 1\)"):
        fast(np.array([1.0, 3.0]))


def test_an_example_of_vmap_chooses_between_both_sides() -> None:
    def one(a: Any) -> Any:
        return (a.sum(), 1) if a[0] > 0 else (a[1] * 2, 0)

    rows = np.array([[1.0, 2.0], [-1.0, 3.0], [0.5, -1.0]])
    for f in (sg.vmap(one), sg.function(sg.vmap(one))):
        values, numbers = f(rows)
        np.testing.assert_array_equal(values, [3.0, 6.0, -0.5])
        np.testing.assert_array_equal(numbers, [1, 0, 1])


def test_gradients_of_branches_in_loops() -> None:
    slope = sg.grad(lambda x: summed(x)[0])
    x = torch.tensor(XS[0], requires_grad=True)
    summed(x)[0].backward()
    np.testing.assert_allclose(slope(XS[0]), x.grad.numpy())


def test_tensors_of_the_body_are_changed_on_a_side() -> None:
    def step(c: Any, v: Any) -> Any:
        y = v.clone()
        if v > 0:
            y.add_(c)
        return c + y, y

    x = torch.tensor(XS[0])
    for one, other in zip(
        sg.function(lambda x: sg.scan(step, x[0] * 0, x))(x),
        sg.scan(step, x[0] * 0, x),
        strict=True,
    ):
        np.testing.assert_allclose(one, other)


def _shapes(x: Any) -> Any:
    return sg.scan(lambda c, v: (c, x if v > 0 else x[:1]), 0.0, x)


def _structures(x: Any) -> Any:
    return sg.scan(lambda c, v: (c, (v, v) if v > 0 else v), 0.0, x)


def _drawn(x: Any) -> Any:
    return sg.scan(lambda c, v: (c + torch.rand(()) if v > 0 else c, None), x[0] * 0, x)[0]


def _two_traces(x: Any) -> Any:
    return sg.vmap(lambda a: sg.vmap(lambda b: a * b if a > b else a)(XS[0]))(XS[0]) + x


REFUSED = [
    (_shapes, np.array, r"a result is .*if it holds, and float64\[1\] if not"),
    (_structures, np.array, r"returns \(\*, \(\*, \*\)\) if it holds, and \(\*, \*\) if not"),
    (_drawn, torch.tensor, "draws random numbers in a branch, the body of a loop or"),
    (_two_traces, np.array, "a branch on a value in the body of a loop, .*: use sg.cond or sg.wh"),
]


@pytest.mark.parametrize(("program", "lifted", "text"), REFUSED)
def test_what_cannot_be_a_branch_in_a_body_is_refused(program: Any, lifted: Any, text: str) -> None:
    with pytest.raises(sg.CaptureError, match=HERE + ".*" + text):
        sg.function(program)(lifted(XS[0]))
