"""What steps change is not read after them in a captured function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import dynamic
import staticgraph as sg
from staticgraph.dynamic import nn, optim


def _parts(name: str = "SGD", **options: Any) -> tuple[Any, Any, Any]:
    w = nn.Parameter(dynamic.ones(2))
    opt = getattr(optim, name)([w], lr=0.5, **options)
    return w, opt, optim.lr_scheduler.StepLR(opt, 1, 0.1)


def _captured(w: Any, opt: Any, schedule: Any, ask: Callable[[], Any]) -> Any:
    def step(x: Any) -> Any:
        opt.zero_grad()
        (w * x).sum().backward()
        opt.step()
        schedule.step()
        return x * 1.0, ask()

    return sg.function(step)


@pytest.mark.parametrize(
    ("ask", "what"),
    [
        (lambda opt, schedule: opt.param_groups[0]["lr"] * 2, "reads 'lr' of a group of StepLR"),
        (lambda opt, schedule: opt.param_groups[0]["lr"] > 0.1, "reads 'lr' of a group of StepLR"),
        (lambda opt, schedule: schedule.last_epoch + 1, "reads 'last_epoch' of StepLR"),
        (lambda opt, schedule: len(opt.state), "reads 'state' of SGD"),
        (lambda opt, schedule: opt.param_groups[0]["lr"], "hands on 'lr' of a group of StepLR"),
    ],
)
def test_what_a_step_has_changed_is_refused_at_the_line(ask: Any, what: str) -> None:
    w, opt, schedule = _parts()
    captured = _captured(w, opt, schedule, lambda: ask(opt, schedule))
    with pytest.raises(sg.CaptureError, match=rf"test_stale\.py:\d+: .*{what} after a step"):
        captured(dynamic.ones(2))
    assert (opt.param_groups[0]["lr"], schedule.last_epoch) == (0.5, 0)
    assert dict(opt.state) == {}


def test_what_is_read_before_the_step_is_what_it_is() -> None:
    w, opt, schedule = _parts("Adam")
    rates = []

    def step(x: Any) -> Any:
        rate = opt.param_groups[0]["lr"]
        opt.zero_grad()
        (w * x).sum().backward()
        opt.step()
        schedule.step()
        return x * rate

    captured = sg.function(step)
    for _ in range(3):
        rates.append(captured(dynamic.ones(1)).item())
    assert rates == pytest.approx([0.5, 0.05, 0.005])
    assert schedule.last_epoch == 3


def test_an_optimizer_of_the_users_may_set_numbers_in_its_step() -> None:
    class Counting(optim.Optimizer):
        def __init__(self, params: Any) -> None:
            super().__init__(params, {"lr": 0.1})
            self.count = 0

        def step(self, closure: Any = None) -> None:
            self.count += 1

    w = nn.Parameter(dynamic.ones(2))
    opt = Counting([w])

    def step(x: Any) -> Any:
        opt.step()
        return x * opt.count

    with pytest.raises(sg.CaptureError, match="reads 'count' of Counting after a step"):
        sg.function(step)(dynamic.ones(2))
