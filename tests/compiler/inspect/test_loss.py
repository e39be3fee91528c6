"""What is said of a loss that is inf or nan in a program that trains, without being asked."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import dynamic as torch
import staticgraph as sg

ONES, ZEROS = np.ones((4, 3)), np.zeros((4, 3))


def step(**options: Any) -> tuple[sg.Executable, Any]:
    x = sg.placeholder("x", (None, 3), "float64")
    w = sg.variable(np.ones(3), "w")
    p = x @ w
    loss = sg.mean(sg.log(p))  # here
    updates = sg.optim.SGD(lr=0.1).minimize(loss, [w])
    made = sg.compile([x], [loss, sg.exp(2 * loss)], updates, name="train", **options)
    return made, w


def here() -> int:
    with open(__file__) as file:
        return next(i for i, line in enumerate(file, 1) if line.endswith("# here\n"))


def test_the_first_call_names_the_line_though_it_has_updated() -> None:
    run, w = step()
    with pytest.warns(sg.NonFiniteWarning, match="log = float64") as caught:
        found = run(ZEROS)
    assert isinstance(found, list)
    assert [(one.filename, one.lineno) for one in caught] == [(__file__, here())]
    assert np.isnan(w.value).all()  # the call went on
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run(ZEROS)  # it is told once


def test_a_later_call_says_what_is_known() -> None:
    run, _ = step()
    assert np.isfinite(run(ONES)).all()
    with pytest.warns(sg.NonFiniteWarning, match="the loss is -inf, and so are variables") as found:
        run(ZEROS)
    assert found[0].lineno == here()


def test_an_overflow_of_finite_variables_is_found_in_any_call() -> None:
    x = sg.placeholder("x", (None,))
    w = sg.variable(np.float32(1), "w")
    loss = sg.mean((x * w) ** 2)
    run = sg.compile([x], loss, sg.optim.SGD(lr=3.0).minimize(loss))
    with pytest.warns(sg.NonFiniteWarning, match="of [-0-9.e+]* and 2"):
        for _ in range(40):
            run(np.ones(4, "float32"))


@pytest.mark.parametrize("options", [{"lint": "off"}, {"on_nonfinite": "report"}])
def test_nothing_is_said_where_it_is_not_wanted(options: dict[str, Any]) -> None:
    run, _ = step(**options)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run(ZEROS)


def test_what_trains_nothing_may_be_infinite() -> None:
    x = sg.placeholder("x", (None,), "float64")
    total = sg.variable(np.array(0.0), "total")
    value = sg.sum(sg.log(x))
    programs = [
        sg.compile([x], value),
        sg.compile([x], [value, sg.grad(value, x)]),
        sg.compile([x], value, {total: total + value}),
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert [np.asarray(run(np.zeros(2)), object).flat[0] for run in programs] == [-np.inf] * 3
        run, _ = step()
        assert np.isinf(run(np.full((4, 3), 1e300))[1])  # not the loss: the exp of it


def test_a_captured_step_names_the_line() -> None:
    w = torch.ones(2, requires_grad=True)

    def train(x: Any) -> Any:
        loss = torch.log(x * w).mean()
        loss.backward()
        return loss

    with pytest.warns(sg.NonFiniteWarning, match="log = float32"):
        sg.function(train)(torch.zeros(2))
