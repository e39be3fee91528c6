"""What is said of a loss that is inf or nan in a program that trains, without being asked."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import dynamic as torch
import staticgraph as sg
from staticgraph.compiler.inspect import loss

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


def test_a_later_call_is_run_again_on_the_variables_before_the_first() -> None:
    """Those of the call itself are nan when it has ended."""
    run, _ = step()
    assert np.isfinite(run(ONES)).all()
    with pytest.warns(sg.NonFiniteWarning, match="the loss is -inf, and so are variables") as found:
        run(ZEROS)
    assert found[0].lineno == here()
    text = str(found[0].message)
    assert "after this call; with those before the first call:\ntrain: not finite" in text
    assert "log = float64[4]: 4 not finite, the first is -inf at [0], of 0" in text


def falling() -> tuple[sg.Executable, dict[str, int]]:
    """A program whose variable becomes 0 by itself, and the lines of its ops."""
    x = sg.placeholder("x", (None,), "float64")
    w = sg.variable(np.ones(()), "w")
    third = x / 3
    root = sg.sqrt(w * third)
    logs = sg.log(sg.relu(w) * third)
    loss = sg.sum(logs + root)
    lines = {one.op.name: int(one.source.rpartition(":")[2]) for one in (root, logs)}
    return sg.compile([x], loss, sg.optim.SGD(lr=0.1).minimize(loss)), lines


def test_what_was_fine_before_the_first_call_names_what_can_have_done_it() -> None:
    run, lines = falling()
    with pytest.warns(sg.NonFiniteWarning, match="so are variables after this call; of") as found:
        for _ in range(20):
            run(np.ones(3))
    text = str(found[0].message)
    assert f"made so by sqrt ({__file__}:{lines['sqrt']}), log ({__file__}:{lines['log']})" in text
    assert "divide" not in text  # by a constant that is not 0
    assert found[0].lineno == lines["sqrt"]


def test_an_input_that_is_not_finite_is_named() -> None:
    run, _ = step()
    run(ONES)
    with pytest.warns(sg.NonFiniteWarning, match="placeholder 'x' = float64.4, 3.: 1 not finite"):
        run(np.where(np.eye(4, 3) * [1, 0, 0], np.nan, 1.0))


def test_variables_that_are_finite_again_are_not_said_to_be_lost() -> None:
    x = sg.placeholder("x", (None,), "float64")
    w = sg.variable(np.ones(()), "w")
    total = sg.sum(sg.log(w * x)) + w * w  # its gradient is no op of its line
    run = sg.compile([x], total, sg.optim.SGD(lr=0.3).minimize(total))
    with pytest.warns(sg.NonFiniteWarning, match="though not with the variables that are there"):
        for _ in range(2):
            run(np.ones(3))
    assert np.isfinite(w.value)


def test_a_sum_of_losses_is_one_in_a_captured_step() -> None:
    w = torch.ones((), requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.3)

    @sg.function
    def captured(x: Any) -> Any:
        loss = torch.log(w * x).sum() + w**2
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    with pytest.warns(sg.NonFiniteWarning, match="log = float32.3.: 3 not finite"):
        for _ in range(2):
            captured(torch.ones(3))


def test_large_variables_are_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loss, "MOST_KEPT", 8)
    run, _ = step()
    run(ONES)
    with pytest.warns(sg.NonFiniteWarning, match=r"can have been made so by log \(") as found:
        run(ZEROS)
    assert found[0].lineno == here()


def test_a_loss_that_a_loop_gives_is_one_and_its_body_is_looked_into() -> None:
    x = sg.placeholder("x", (None,), "float64")
    w = sg.variable(np.ones(()), "w")

    def body(h: Any, one: Any) -> tuple[Any, None]:
        return h + sg.sqrt(w * one), None  # inside

    total, _ = sg.scan(body, sg.constant(np.zeros(())), x)
    run = sg.compile([x], total, sg.optim.SGD(lr=0.3).minimize(total))
    with pytest.warns(sg.NonFiniteWarning, match=r"made so by sqrt \(") as found:
        for _ in range(20):
            run(np.ones(3))
    with open(__file__) as file:
        inside = next(i for i, line in enumerate(file, 1) if line.endswith("# inside\n"))
    assert found[0].lineno == inside


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
