"""States that go from an eager optimizer to a compiled one and back in the middle of a run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dynamic
import staticgraph as sg
from tests.staticgraph.optim.test_groups import X, Y, leaves, model, prediction_error, tensors

CASES: dict[str, dict[str, Any]] = {
    "SGD": {"momentum": 0.9, "dampening": 0.3}, "ASGD": {"t0": 3}, "Rprop": {}, "Lion": {},
    "Adam": {"amsgrad": True}, "AdamW": {}, "Adamax": {}, "NAdam": {}, "RAdam": {}, "Adagrad": {},
    "RMSprop": {"momentum": 0.9, "centered": True}, "Adadelta": {}, "Adafactor": {},
}  # fmt: skip


class Eager:
    """A run on tensors."""

    def __init__(self, name: str, options: dict[str, Any]) -> None:
        self.parameters = leaves()
        groups = [{"params": self.parameters[:1]}, {"params": self.parameters[1:], "lr": 0.02}]
        self.optimizer = getattr(dynamic.optim, name)(groups, **{"lr": 0.05, **options})

    def step(self) -> float:
        self.optimizer.zero_grad()
        loss = prediction_error(*tensors(X, Y), *self.parameters)
        loss.backward()
        self.optimizer.step()
        return float(loss.item())

    @property
    def values(self) -> list[Any]:
        return [one.detach().numpy().copy() for one in self.parameters]

    @values.setter
    def values(self, new: list[Any]) -> None:
        with dynamic.no_grad():
            for one, value in zip(self.parameters, new, strict=True):
                one.copy_(dynamic.tensor(value))


class Static:
    """The same run, as calls of a graph."""

    def __init__(self, name: str, options: dict[str, Any], debug: bool = True) -> None:
        inputs, loss, self.variables = model()
        self.optimizer = getattr(sg.optim, name)(**{"lr": 0.05, **options})
        w, b = self.variables
        updates = self.optimizer.minimize(loss, [{"params": [w]}, {"params": [b], "lr": 0.02}])
        self.call = sg.compile(inputs, loss, updates=updates, debug=debug)

    def step(self) -> float:
        return float(self.call(X, Y))

    @property
    def values(self) -> list[Any]:
        return [one.value for one in self.variables]

    @values.setter
    def values(self, new: list[Any]) -> None:
        for one, value in zip(self.variables, new, strict=True):
            one.value = value


@pytest.mark.parametrize("name", CASES)
def test_a_run_that_changes_paradigm_in_the_middle_has_the_same_losses(name: str) -> None:
    alone = Eager(name, CASES[name])
    expected = [alone.step() for _ in range(12)]
    found: list[float] = []
    before: Any = None
    for kind in (Eager, Static, Static, Eager):
        run = kind(name, CASES[name])
        if before is not None:
            run.values = before.values
            run.optimizer.load_state_dict(before.optimizer.state_dict())
        found += [run.step() for _ in range(3)]
        before = run
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("name", CASES)
def test_a_run_may_change_before_its_first_step(name: str) -> None:
    expected = [Eager(name, CASES[name]).step() for _ in range(1)]
    eager, static = Eager(name, CASES[name]), Static(name, CASES[name])
    static.optimizer.load_state_dict(eager.optimizer.state_dict())
    eager.optimizer.load_state_dict(static.optimizer.state_dict())
    assert eager.step() == pytest.approx(expected[0], rel=1e-13)
    static.step()
    for one, other in zip(static.values, eager.values, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


def test_a_schedule_goes_on_in_the_other_paradigm() -> None:
    schedule = sg.optim.cosine(0.1, steps=9, warmup=2)

    def scheduled(last: int = -1) -> tuple[Any, Any]:
        ours = leaves()
        optimizer = dynamic.optim.AdamW(ours, lr=1.0)
        return ours, optimizer

    def steps(ours: Any, optimizer: Any, scheduler: Any, count: int) -> list[float]:
        losses = []
        for _ in range(count):
            optimizer.zero_grad()
            loss = prediction_error(*tensors(X, Y), *ours)
            loss.backward()
            optimizer.step()
            scheduler.step()
            losses.append(float(loss.item()))
        return losses

    ours, eager = scheduled()
    expected = steps(ours, eager, dynamic.optim.lr_scheduler.LambdaLR(eager, schedule), 9)
    ours, eager = scheduled()
    found = steps(ours, eager, dynamic.optim.lr_scheduler.LambdaLR(eager, schedule), 3)
    inputs, loss, variables = model()
    static = sg.optim.AdamW(lr=schedule)
    call = sg.compile(inputs, loss, updates=static.minimize(loss, variables), debug=True)
    for one, leaf in zip(variables, ours, strict=True):
        one.value = leaf.detach().numpy()
    static.load_state_dict(eager.state_dict())
    found += [float(call(X, Y)) for _ in range(3)]
    ours, eager = scheduled()
    with dynamic.no_grad():
        for leaf, one in zip(ours, variables, strict=True):
            leaf.copy_(dynamic.tensor(one.value))
    eager.load_state_dict(static.state_dict())
    assert eager.param_groups[0]["lr"] == schedule(6)
    scheduler = dynamic.optim.lr_scheduler.LambdaLR(eager, schedule, last_epoch=5)
    found += steps(ours, eager, scheduler, 3)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_a_rate_in_a_variable_is_saved_and_loaded() -> None:
    rate = sg.variable(np.array(0.5), "lr")
    w = sg.variable(np.ones(2), "w")
    optimizer = sg.optim.SGD(lr=rate)
    optimizer.minimize(w.sum())
    saved = optimizer.state_dict()
    assert saved["param_groups"][0]["lr"] == 0.5 and saved["state"] == {}
    saved["param_groups"][0]["lr"] = dynamic.tensor(0.25)
    optimizer.load_state_dict(saved)
    assert rate.value == 0.25
    computed = sg.optim.SGD(lr=rate * 2)
    computed.minimize(w.sum())
    assert "lr" not in computed.state_dict()["param_groups"][0]


def test_a_schedule_asks_for_the_steps_that_a_state_does_not_say() -> None:
    leaf = dynamic.ones(2, requires_grad=True)
    eager = dynamic.optim.SGD([leaf], lr=0.1, momentum=0.5)
    leaf.sum().backward()
    eager.step()
    w = sg.variable(np.ones(2, "float32"), "w")
    static = sg.optim.SGD(lr=sg.optim.exponential(1.0, 0.5), momentum=0.5)
    static.minimize(w.sum())
    with pytest.raises(sg.OptionError, match="SGD: the state does not say how many steps"):
        static.load_state_dict(eager.state_dict())
    with pytest.raises(sg.OptionError, match=r"SGD: steps=\[1, 2\] are not one for each group"):
        static.load_state_dict(eager.state_dict(), steps=[1, 2])
    static.load_state_dict(eager.state_dict(), steps=3)
    assert static.state_dict()["steps"] == [3]
    assert static.state_dict()["param_groups"][0]["lr"] == 0.125
    np.testing.assert_array_equal(static.state_dict()["state"][0]["momentum_buffer"], [1, 1])


def test_states_that_do_not_fit_are_refused_and_change_nothing() -> None:
    run, other = Static("Adam", {}), Static("Adam", {})
    other.step()
    for change, message in [
        (
            lambda s: s["param_groups"].pop(),
            r"Adam: the state has groups of \[1\] parameters, this",
        ),
        (
            lambda s: s["param_groups"][0].update(lr=0.5),
            "Adam: lr is 0.5 in the state, and 0.05 in",
        ),
        (
            lambda s: s["param_groups"][0].update(betas=[0.5, 0.9]),
            r"Adam: betas is \(0.5, 0.9\) in",
        ),
        (lambda s: s["state"][0].pop("exp_avg"), "Adam: the state of parameter 0 has no 'exp_avg'"),
        (
            lambda s: s["state"][1].update(exp_avg=np.ones(4)),
            r"Adam: the state has \(4,\) for variable 'b.exp_avg', which has \(3,\)",
        ),
    ]:
        saved = other.optimizer.state_dict()
        change(saved)
        with pytest.raises(sg.OptionError, match=message):
            run.optimizer.load_state_dict(saved)
        assert run.optimizer.state_dict()["steps"] == [0, 0]
        assert not run.optimizer.state_dict()["state"][0]["exp_avg"].any()
    w, b = sg.variable(np.ones(2), "w"), sg.variable(np.ones(2), "b")
    together = sg.optim.Adam()
    with pytest.raises(sg.OptionError, match="Adam: state_dict needs parameters: call minimize"):
        together.state_dict()
    with pytest.raises(sg.OptionError, match="Adam: load_state_dict needs parameters"):
        together.load_state_dict({})
    together.minimize((w + b).sum(), [w, b])
    saved = together.state_dict()
    saved["state"][0]["step"] = np.float32(3)
    saved.pop("steps")
    with pytest.raises(sg.OptionError, match=r"Adam: step differs between the parameters of a"):
        together.load_state_dict(saved)
    saved["state"].pop(0)
    with pytest.raises(sg.OptionError, match=r"Adam: step differs .*\[0.0\] of 2"):
        together.load_state_dict(saved)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda s: s.pop("state"), "a dict with 'state' and 'param_groups'"),
        (lambda s: s["param_groups"][0].pop("params"), "are dicts with 'params'"),
        (lambda s: s["state"].update({0: 3.0}), "'state' of each parameter is a dict"),
        (
            lambda s: s.update(state={str(key): one for key, one in s["state"].items()}),
            r"the state has parameter '0', the groups \[0, 1\]: none of them",
        ),
        (lambda s: s["state"][0].update(momentum_buffer=[1j] * 2), "complex128 for variable"),
        (lambda s: s.update(steps=[-1, -1]), "-1.0 is no number of steps"),
        (lambda s: s.update(steps=[0, float("nan")]), "nan is no number of steps"),
        (lambda s: s["param_groups"][0].update(lr=-1.0), "lr -1.0 is negative"),
        (lambda s: s.update(accumulated=[(4, [[0.0] * 2])] * 2), "has 4 accumulated gradients"),
        (lambda s: s.update(accumulated=[(1, [])] * 2), "1 accumulated gradients of 0 parameters"),
        (lambda s: s.update(accumulate=3), "a part of a step of 3 accumulated gradients, this"),
    ],
)
def test_damaged_states_are_refused_and_change_nothing(
    change: Callable[[Any], object], message: str
) -> None:
    def made() -> Any:
        w, b = sg.variable(np.ones(2), "w"), sg.variable(np.ones(2), "b")
        groups = [
            {"params": [w], "lr": sg.variable(0.5, dtype="float64")},
            {"params": [b], "lr": sg.optim.linear(0.5, 0.0, 9)},
        ]
        optimizer = sg.optim.SGD(momentum=0.5, accumulate=4)
        loss = (w * b).sum()
        return optimizer, sg.compile([], loss, optimizer.minimize(loss, groups), debug=True)

    (one, step), (other, _) = made(), made()
    for _ in range(5):
        step()
    before, saved = repr(other.state_dict()), one.state_dict()
    change(saved)
    with pytest.raises(sg.OptionError, match=message):
        other.load_state_dict(saved)
    assert repr(other.state_dict()) == before
