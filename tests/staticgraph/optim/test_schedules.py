"""Schedules: against the rates that PyTorch's schedulers were recorded to set, and in steps."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import dynamic
import staticgraph as sg
from staticgraph import optim
from tests.data.optim_cases import EPOCHS, SCHEDULERS
from tests.paths import TESTS

RATES = dict(
    zip(SCHEDULERS, np.load(TESTS / "data" / "optim_trajectories.npz")["rates"], strict=True)
)

SAME: dict[str, tuple[Any, int]] = {
    "LambdaLR": (lambda lr: optim.Schedule(_decayed, {"lr": lr}), EPOCHS),
    "StepLR": (lambda lr: optim.step(lr, 7, gamma=0.5), EPOCHS),
    "MultiStepLR": (lambda lr: optim.multi_step(lr, [25, 3, 10, 10], gamma=0.3), EPOCHS),
    "ConstantLR": (lambda lr: optim.sequential([0.4 * lr, optim.constant(lr)], [8]), EPOCHS),
    "LinearLR": (lambda lr: optim.linear(0.2 * lr, 0.8 * lr, 12), EPOCHS),
    "ExponentialLR": (lambda lr: optim.exponential(lr, 0.9), EPOCHS),
    "PolynomialLR": (lambda lr: optim.polynomial(lr, 20, power=2.0), EPOCHS),
    "CosineAnnealingLR": (lambda lr: optim.cosine(lr, 9, end=0.01), 9),
    "CosineAnnealingWarmRestarts": (lambda lr: optim.cosine_restarts(lr, 5), EPOCHS),
    "CosineAnnealingWarmRestarts of growing length": (
        lambda lr: optim.cosine_restarts(lr, 3, growth=2, end=0.01), EPOCHS,
    ),
    "OneCycleLR": (lambda lr: optim.one_cycle({0.2: 0.5, 0.3: 0.1}[lr], EPOCHS + 1), EPOCHS),
    "OneCycleLR linear": (
        lambda lr: optim.one_cycle(0.5, 44, start_div=10.0, linear=True), EPOCHS,
    ),
    "OneCycleLR of three phases": (
        lambda lr: optim.one_cycle(0.5, 50, rise=0.25, three_phase=True), EPOCHS,
    ),
    "SequentialLR": (
        lambda lr: optim.sequential(
            [optim.linear(0.1 * lr, lr, 5), optim.exponential(lr, 0.9), optim.step(lr, 3)], [5, 20]
        ),
        EPOCHS,
    ),
    "ChainedScheduler": (
        lambda lr: optim.chained(
            optim.linear(0.5 * lr, lr, 4), optim.exponential(1, 0.95), optim.cosine(1.0, 15)
        ),
        15,
    ),
}  # fmt: skip


def _decayed(n: Any, lr: float) -> Any:
    return lr * 0.95**n


@pytest.mark.parametrize("name", SAME)
def test_rates_are_those_of_pytorch(name: str) -> None:
    make, last = SAME[name]
    for group, lr in enumerate((0.2, 0.3)):
        schedule = make(lr)
        found = [schedule(n) for n in range(last + 1)]
        assert all(type(one) is float for one in found)
        np.testing.assert_allclose(found, RATES[name][: last + 1, group, 0], rtol=1e-12, atol=1e-16)


def test_expressions_have_the_values_of_numbers() -> None:
    n = sg.placeholder("n", (), "int64")
    schedules = [make(0.3) for make, _ in SAME.values()]
    schedules += [optim.warmup(0.1, 5), optim.warmup(schedules[5], 3), optim.cosine(1.0, 30, 10)]
    compiled = sg.compile([n], [schedule(n) for schedule in schedules])
    for steps in (0, 1, 2, 7, 9, 20, 21, 45, 1000):
        expected = [schedule(steps) for schedule in schedules]
        np.testing.assert_allclose(compiled(np.int64(steps)), expected, rtol=1e-12, atol=1e-16)


def test_restarts_begin_where_they_begin_for_any_growth() -> None:
    for growth in (2, 3, 5, 10):
        begin, length = 0, 7
        schedule = optim.cosine_restarts(1.0, 7, growth)
        for _ in range(8):
            assert schedule(begin) == 1.0
            assert schedule(begin + length - 1) < 0.06
            begin, length = begin + length, length * growth


def test_a_warm_up_rises_to_the_rate_and_a_cosine_ends_where_it_ends() -> None:
    schedule = optim.cosine(1.0, steps=50, warmup=9, end=0.1)
    rates = [schedule(n) for n in range(60)]
    np.testing.assert_allclose(rates[:10], np.arange(1, 11) / 10)
    assert rates[10:51] == sorted(rates[10:51], reverse=True)
    np.testing.assert_allclose(rates[50:], 0.1)


@pytest.mark.parametrize("make", [lambda n: 0.1 / (1 + n), optim.step(0.1, 2)])
@pytest.mark.parametrize("name", ["SGD", "AdamW"])
def test_a_schedule_sets_the_rates_that_an_eager_scheduler_sets(name: str, make: Any) -> None:
    start = np.array([1.0, -2.0])
    w, leaf = sg.variable(start, "w"), dynamic.tensor(start, requires_grad=True)
    loss = (w * w).sum()
    step = sg.compile([], loss, updates=getattr(optim, name)(lr=make).minimize(loss))
    optimizer = getattr(dynamic.optim, name)([leaf], lr=1.0)
    scheduler = dynamic.optim.lr_scheduler.LambdaLR(optimizer, make)
    for _ in range(6):
        optimizer.zero_grad()
        loss = (leaf * leaf).sum()
        loss.backward()
        optimizer.step()
        scheduler.step()
        np.testing.assert_allclose(step(), loss.item(), rtol=1e-13)
    np.testing.assert_allclose(w.value, leaf.detach().numpy(), rtol=1e-13)


def test_schedules_print_their_arguments_and_are_pickled() -> None:
    schedule = optim.warmup(optim.cosine(0.1, 100), 10)
    assert repr(optim.step(0.5, 3)) == "step(lr=0.5, size=3, gamma=0.1)"
    again = pickle.loads(pickle.dumps(schedule))
    assert repr(again) == repr(schedule)
    assert [again(n) for n in range(50)] == [schedule(n) for n in range(50)]


def test_what_is_no_schedule_is_refused() -> None:
    w = sg.variable(np.ones(3), "w")
    for wrong, message in {
        "constant: lr 'x' is no number": lambda: optim.constant("x"),  # type: ignore[arg-type]
        "step: lr -1 is negative": lambda: optim.step(-1, 2),
        "step: size 0 is no int from 1": lambda: optim.step(0.1, 0),
        "multi_step: milestone -3 is no int from 0": lambda: optim.multi_step(0.1, [-3]),
        "exponential: gamma nan is no number": lambda: optim.exponential(0.1, float("nan")),
        "polynomial: steps 2.5 is no int from 1": lambda: optim.polynomial(0.1, 2.5),  # type: ignore[arg-type]
        "linear: end -0.1 is negative": lambda: optim.linear(0.1, -0.1, 3),
        "cosine: steps 10 is no int from 11": lambda: optim.cosine(0.1, 10, warmup=10),
        "cosine_restarts: growth 0 is no int from 1": lambda: optim.cosine_restarts(0.1, 3, 0),
        "one_cycle: rise 1.5 is more than 1": lambda: optim.one_cycle(0.1, 9, rise=1.5),
        "one_cycle: linear is True or False, not 'yes'": lambda: optim.one_cycle(
            0.1, 9, linear="yes"  # type: ignore[arg-type]
        ),
        "warmup: steps True is no int from 0": lambda: optim.warmup(0.1, True),
        "warmup: .* is neither a number nor a schedule": lambda: optim.warmup(w, 3),  # type: ignore[arg-type]
        r"sequential: 2 schedules take 1 milestones that increase, not \[3, 4\]": lambda: (
            optim.sequential([0.1, 0.2], [3, 4])
        ),
        r"sequential: 3 schedules .* not \[4, 3\]": lambda: (
            optim.sequential([0.1, 0.2, 0.3], [4, 3])
        ),
        "chained: no schedules are given": lambda: optim.chained(),
        "chained: rate -1 is negative": lambda: optim.chained(-1),
        "SGD: lr 'x' is no number": lambda: optim.SGD(lr=lambda n: "x").minimize(w.sum()),
        "Rprop: lr is what the state begins with: .* not": lambda: (
            optim.Rprop(lr=sg.sum(w)).minimize(w.sum())
        ),
    }.items():  # fmt: skip
        with pytest.raises(sg.OptionError, match=wrong):
            message()
