"""What is set outside: at each call of functions of tensors, and refused where none is given."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dynamic as torch
import staticgraph as sg
from staticgraph.dynamic import nn


def _adversaries(wrap: Callable[..., Any]) -> list[Any]:
    torch.manual_seed(0)
    maker, judge = nn.Linear(2, 2), nn.Linear(2, 1)
    of_maker = torch.optim.SGD(maker.parameters(), lr=0.1)
    of_judge = torch.optim.SGD(judge.parameters(), lr=0.1)

    @wrap
    def step(x: Any) -> Any:
        for one in judge.parameters():
            one.requires_grad_(True)
        of_judge.zero_grad()
        (judge(maker(x).detach()) - judge(x)).mean().backward()
        of_judge.step()
        for one in judge.parameters():
            one.requires_grad_(False)
        of_maker.zero_grad()
        loss = -judge(maker(x)).mean()
        loss.backward()
        of_maker.step()
        return loss

    found = []
    for i in range(3):
        found += [step(torch.full((3, 2), 0.5 * i - 0.3))]
        found += [one.grad for one in judge.parameters()]
        found += [torch.tensor(one.requires_grad) for one in judge.parameters()]
    return [one.detach().numpy() for one in (*found, *maker.parameters(), *judge.parameters())]


def test_parameters_are_frozen_at_each_call() -> None:
    for one, other in zip(_adversaries(sg.function), _adversaries(lambda f: f), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("frozen", [True, False])
def test_a_flag_stays_as_the_call_has_set_it(frozen: bool) -> None:
    w = torch.ones(2, requires_grad=frozen)

    @sg.function
    def scaled(x: Any) -> Any:
        w.requires_grad_(not frozen)
        return x * 2

    for _ in range(3):
        scaled(torch.ones(2))
        assert w.requires_grad is not frozen
        w.requires_grad_(frozen)


def _of(what: str, w: Any, optimizer: Any, scheduler: Any) -> None:
    if what == "accumulates gradients":
        (w * 2).sum().backward()
    elif what == "clears gradients":
        optimizer.zero_grad()
    elif what == "steps an optimizer":
        optimizer.step()
    elif what == "steps a scheduler":
        scheduler.step()
    else:
        w.grad = None


@pytest.mark.parametrize(
    "what",
    [
        "accumulates gradients", "clears gradients", "steps an optimizer", "steps a scheduler",
        "sets a gradient",
    ],
)  # fmt: skip
@pytest.mark.parametrize("arrays", [(), (np.ones(2),)])
def test_what_would_be_done_once_is_refused_without_tensors(what: str, arrays: Any) -> None:
    w = torch.ones(2, requires_grad=True)
    w.grad = torch.ones(2)
    optimizer = torch.optim.SGD([w], lr=0.1)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)

    @sg.function
    def changes(*given: Any) -> Any:
        _of(what, w, optimizer, scheduler)
        return given

    with pytest.raises(sg.EffectError, match=rf"test_flags.py:\d+: {what} when it is traced, and"):
        changes(*arrays)


def test_what_changes_is_not_shown_as_bytes() -> None:
    w = torch.ones(2)

    @sg.function
    def changes(x: Any) -> Any:
        w.add_(1.0)
        return x

    with pytest.raises(sg.EffectError, match=r"changes w, which a graph would not"):
        changes(np.ones(2))


def test_a_weight_that_is_frozen_for_a_while_gets_no_gradient_of_that() -> None:
    w = torch.ones(2, requires_grad=True)

    def step(x: Any) -> None:
        w.requires_grad_(False)
        first = (w * x).sum()
        w.requires_grad_(True)
        (first + (3 * w).sum()).backward()

    sg.function(step)(torch.ones(2, requires_grad=True))
    np.testing.assert_array_equal(w.grad.numpy(), [3.0, 3.0])


def _thawed_and_returned(x: Any, w: Any) -> Any:
    w.requires_grad_(True)
    return w * x


def _frozen_on_a_side(x: Any, w: Any) -> Any:
    return sg.cond(x.sum() > 0, lambda: (w.requires_grad_(True) * 1).sum(), lambda: x.sum())


def _thawed_and_written(x: Any, w: Any) -> Any:
    w.requires_grad_(True)
    w.add_(x)
    return x * 1


FLAGS = {
    _thawed_and_returned: "returns a tensor with a history of one that requires grad only since",
    _frozen_on_a_side: "changes whether a tensor requires grad in a branch or the body of a loop",
    _thawed_and_written: "a leaf Variable that requires grad is being used in an in-place",
}


@pytest.mark.parametrize("f", FLAGS, ids=lambda f: f.__name__.strip("_"))
def test_flags_that_a_graph_cannot_follow_are_refused(f: Callable[..., Any]) -> None:
    w = torch.ones(2)
    with pytest.raises((sg.CaptureError, RuntimeError), match=FLAGS[f]):
        sg.function(lambda x: f(x, w))(torch.ones(2))
    assert not w.requires_grad
