"""L-BFGS as a compiled loop: the points, counts and states of PyTorch's and of the eager one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dynamic
import staticgraph as sg
from tests.data.optim_cases import (
    OPTIMIZERS,
    STEPS,
    WOLFE,
    loss,
    parameters,
    points,
    ridge_regression,
)
from tests.paths import TESTS

RECORDED = np.load(TESTS / "data" / "optim_trajectories.npz")["float64"]
CASES = [i for i, (name, _) in enumerate(OPTIMIZERS) if name == "LBFGS"]
RIDGE = 0.02


class Static:
    """The problem of the recorded paths, as a graph."""

    def __init__(self, options: dict[str, Any], dtype: str = "float64", debug: bool = True) -> None:
        x, y = (sg.constant(one) for one in points(dtype))
        self.variables = [sg.variable(one) for one in parameters(dtype)]
        self.optimizer = sg.optim.LBFGS(**options)
        loss = ridge_regression(sg, x, y, *self.variables, RIDGE)
        updates = self.optimizer.minimize(loss, self.variables)
        self.step = sg.compile([], loss, updates=updates, debug=debug)

    @property
    def flat(self) -> Any:
        return np.concatenate([one.value.reshape(-1) for one in self.variables])


class Eager:
    """The same on tensors."""

    def __init__(self, options: dict[str, Any], dtype: str = "float64") -> None:
        self.leaves = [dynamic.tensor(one, requires_grad=True) for one in parameters(dtype)]
        self.optimizer = dynamic.optim.LBFGS(self.leaves, **options)

    def step(self) -> Any:
        def closure() -> Any:
            self.optimizer.zero_grad()
            value = loss(dynamic, *self.leaves, RIDGE)
            value.backward()
            return value

        return self.optimizer.step(closure).item()

    @property
    def flat(self) -> Any:
        return np.concatenate([one.detach().numpy().reshape(-1) for one in self.leaves])


def same(found: Any, expected: Any) -> None:
    """Values of a state: numbers, arrays or tensors, and lists of them with gaps."""
    if isinstance(expected, list):
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            same(one, other)
    elif expected is None or isinstance(expected, int):
        assert found == expected
    else:
        found, expected = np.asarray(found), np.asarray(expected)
        assert found.shape == expected.shape
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("i", CASES)
def test_a_step_goes_where_the_eager_one_goes_and_keeps_the_same(i: int) -> None:
    options = OPTIMIZERS[i][1]
    static, eager = Static(options), Eager(options)
    for count in (1, 2, 3):
        np.testing.assert_allclose(static.step(), eager.step(), rtol=1e-12)
        scale = np.abs(RECORDED[i][STEPS.index(count)]).max()
        np.testing.assert_allclose(static.flat, RECORDED[i][STEPS.index(count)], atol=1e-11 * scale)
        mine, theirs = static.optimizer.state_dict(), eager.optimizer.state_dict()
        assert mine["param_groups"] == theirs["param_groups"]
        assert mine["state"].keys() == theirs["state"].keys() == {0}
        assert mine["state"][0].keys() == theirs["state"][0].keys()
        for kind, expected in theirs["state"][0].items():
            same(mine["state"][0][kind], expected)


@pytest.mark.slow
@pytest.mark.parametrize("i", [CASES[1], CASES[4]])
def test_100_compiled_steps_follow_pytorch(i: int) -> None:
    run = Static(OPTIMIZERS[i][1], debug=False)
    for count in range(1, max(STEPS) + 1):
        run.step()
        if count in STEPS:
            expected = RECORDED[i][STEPS.index(count)]
            assert np.abs(run.flat - expected).max() < 1e-9 * np.abs(expected).max()


@pytest.mark.parametrize("options", [{"lr": 0.1, "max_iter": 3}, {"max_iter": 3, **WOLFE}])
def test_a_run_that_changes_paradigm_in_the_middle_has_the_same_losses(options: Any) -> None:
    options = {**options, "history_size": 4}
    alone = Eager(options)
    expected = [alone.step() for _ in range(6)]
    first = Eager(options)
    found = [first.step() for _ in range(2)]
    middle = Static(options)
    for one, leaf in zip(middle.variables, first.leaves, strict=True):
        one.value = leaf.detach().numpy()
    middle.optimizer.load_state_dict(first.optimizer.state_dict())
    found += [float(middle.step()) for _ in range(2)]
    last = Eager(options)
    with dynamic.no_grad():
        for leaf, one in zip(last.leaves, middle.variables, strict=True):
            leaf.copy_(dynamic.tensor(one.value))
    last.optimizer.load_state_dict(middle.optimizer.state_dict())
    found += [last.step() for _ in range(2)]
    np.testing.assert_allclose(found, expected, rtol=1e-9)


@pytest.mark.slow
def test_float32_with_inputs_and_a_rate_that_changes_finds_the_minimum() -> None:
    rng = np.random.default_rng(0)
    x, y = sg.placeholder("x", (None, 3)), sg.placeholder("y", (None,))
    w, b = sg.variable(np.zeros(3, "float32"), "w"), sg.variable(np.zeros((), "float32"), "b")
    error = ((x @ w + b - y) ** 2).mean()
    optimizer = sg.optim.LBFGS(lr=lambda n: 1.0 / (1.0 + 0.0 * n), max_iter=15, **WOLFE)
    fit = sg.compile([x, y], error, updates=optimizer.minimize(error))
    for rows in (20, 50):
        xs = rng.normal(size=(rows, 3)).astype("float32")
        ys = xs @ np.array([1, -2, 3], "float32") + np.float32(0.5)
        fit(xs, ys)
        fit(xs, ys)
        np.testing.assert_allclose(w.value, [1, -2, 3], atol=1e-4)
        np.testing.assert_allclose(b.value, 0.5, atol=1e-4)
    assert w.value.dtype == np.float32
    assert optimizer.state_dict()["steps"] == [4]


def test_where_there_is_nothing_to_do_nothing_is_done() -> None:
    for options in ({"max_iter": 0}, {"tolerance_grad": 1e3}):
        w = sg.variable(np.array([1.0, 2.0]), "w")
        optimizer = sg.optim.LBFGS(**options)  # type: ignore[arg-type]
        loss = (w * w).sum()
        step = sg.compile([], loss, updates=optimizer.minimize(loss), debug=True)
        assert step() == 5.0
        np.testing.assert_array_equal(w.value, [1.0, 2.0])
        assert optimizer.state_dict()["state"] == {0: {"func_evals": 1, "n_iter": 0}}


def test_two_functions_share_the_memory_of_one_problem() -> None:
    w, v = sg.variable(np.array([1.0, 2.0]), "w"), sg.variable(np.ones(2), "v")
    optimizer = sg.optim.LBFGS(lr=0.1, max_iter=1)
    first = sg.compile([], w, updates=optimizer.minimize((w * w).sum()), debug=True)
    second = sg.compile([], w, updates=optimizer.minimize((w * w * w).sum(), [w]), debug=True)
    first(), second()
    assert optimizer.state_dict()["state"][0]["n_iter"] == 2
    with pytest.raises(sg.OptionError, match="LBFGS: other parameters have been minimized before"):
        optimizer.minimize((v * v).sum())
    with pytest.raises(sg.OptionError, match="LBFGS: max_iter is part of the updates"):
        optimizer.max_iter = 3


def test_what_lbfgs_does_not_take_is_refused() -> None:
    w, b = sg.variable(np.ones(2), "w"), sg.variable(np.ones((), "float32"), "b")
    empty = sg.variable(np.ones(0), "empty")
    loss = (w * w).sum() + astype(b) + empty.sum()
    optimizer: Any = sg.optim.LBFGS
    for options, message in [
        ({"max_iter": 1.5}, "LBFGS: max_iter 1.5 is no int from 0"),
        ({"history_size": 0}, "LBFGS: history_size 0 is no int from 1"),
        ({"max_eval": 0}, "LBFGS: max_eval 0 is no int from 1"),
        ({"line_search_fn": "armijo"}, "LBFGS: line_search_fn is None or 'strong_wolfe', not 'ar"),
    ]:
        with pytest.raises(sg.OptionError, match=message):
            optimizer(**options)
    for members, message in [
        (None, "minimize: LBFGS takes parameters of one dtype, not variable 'w' float64, variable"),
        ([empty], "minimize: LBFGS: the parameters have no elements"),
        (w, "minimize: the parameters are a list of variables, not"),
        ([], "minimize: there are no parameters, or none in a group"),
    ]:
        with pytest.raises(sg.GraphError, match=message):
            optimizer().minimize(loss, members)
    with pytest.raises(sg.OptionError, match=r"LBFGS: the parameters are a list .* no groups"):
        optimizer().minimize(loss, [{"params": [w]}])
    made = optimizer(history_size=2)
    with pytest.raises(sg.OptionError, match="LBFGS: state_dict needs parameters"):
        made.state_dict()
    made.minimize(loss, [w])
    for state, message in [
        ({"d": np.ones(3)}, r"LBFGS: d of the state has \(3,\), the parameters 2 elements"),
        ({"ro": [1.0] * 3}, r"LBFGS: the state has \[0, 0, 3\] rows of .* this optimizer 2"),
    ]:
        saved = made.state_dict()
        saved["state"][0] = {"n_iter": 1, **state}
        with pytest.raises(sg.OptionError, match=message):
            made.load_state_dict(saved)
    saved = made.state_dict()
    saved["param_groups"][0]["params"] = [0, 1]
    with pytest.raises(sg.OptionError, match="LBFGS: the state has 2 parameters, this optimizer 1"):
        made.load_state_dict(saved)
    saved["param_groups"] *= 2
    with pytest.raises(sg.OptionError, match="LBFGS: the state has several groups, this optimizer"):
        made.load_state_dict(saved)


def astype(b: Any) -> Any:
    return b.astype("float64") * 2.0
