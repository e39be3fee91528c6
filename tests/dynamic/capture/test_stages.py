"""Functions that read parameters after an optimizer has changed them: they run in stages."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dynamic
import staticgraph as sg
from staticgraph.dynamic import nn
from tests.combinations import some

Step = Callable[[Any, Any], Any]
F = nn.functional


def _net() -> Any:
    return nn.Sequential(nn.Linear(4, 8, bias=False), nn.BatchNorm1d(8), nn.Tanh(), nn.Linear(8, 2))


def _updated(model: Any, opt: Any, x: Any, y: Any) -> Any:
    opt.zero_grad()
    loss = F.mse_loss(model(x), y)
    loss.backward()
    opt.step()
    return loss


def two_steps() -> tuple[Any, Step]:
    model = _net()
    opt = dynamic.optim.Adam(model.parameters(), lr=0.01)

    def step(x: Any, y: Any) -> Any:
        first = _updated(model, opt, x, y)
        return first, _updated(model, opt, x * 0.5, y)

    return model, step


def averaged_weights() -> tuple[Any, Step]:
    model = _net()
    average = copy.deepcopy(model)
    opt = dynamic.optim.SGD(model.parameters(), lr=0.1)

    def step(x: Any, y: Any) -> Any:
        loss = _updated(model, opt, x, y)
        with dynamic.no_grad():
            for ema, p in zip(average.parameters(), model.parameters(), strict=True):
                ema.mul_(0.9).add_(p, alpha=0.1)
        return loss

    return average, step


def the_loss_after_the_step() -> tuple[Any, Step]:
    model = _net()
    opt = dynamic.optim.SGD(model.parameters(), lr=0.1)

    def step(x: Any, y: Any) -> Any:
        before = _updated(model, opt, x, y)
        with dynamic.no_grad():
            return before, F.mse_loss(model(x), y), model[0].weight.sum()

    return model, step


def clipped_weights() -> tuple[Any, Step]:
    model = _net()
    opt = dynamic.optim.SGD(model.parameters(), lr=0.1)

    def step(x: Any, y: Any) -> Any:
        loss = _updated(model, opt, x, y)
        with dynamic.no_grad():
            for p in model.parameters():
                p.clamp_(-0.2, 0.2)
        return loss, _updated(model, opt, x, y)

    return model, step


def two_players() -> tuple[Any, Step]:
    model, critic = _net(), nn.Linear(2, 1)
    of_model = dynamic.optim.SGD(model.parameters(), lr=0.05)
    of_critic = dynamic.optim.SGD(critic.parameters(), lr=0.05)

    def step(x: Any, y: Any) -> Any:
        made = model(x)
        of_critic.zero_grad()
        gap = critic(y).mean() - critic(made.detach()).mean()
        gap.backward()
        of_critic.step()
        of_model.zero_grad()
        loss = critic(made).mean()
        loss.backward()
        of_model.step()
        return gap, loss

    return model, step


def many_steps_with_dropout_and_a_schedule() -> tuple[Any, Step]:
    model = nn.Sequential(_net(), nn.Dropout(0.3))
    opt = dynamic.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    schedule = dynamic.optim.lr_scheduler.StepLR(opt, 2, 0.5)

    def step(x: Any, y: Any) -> Any:
        total = 0.0
        for _ in range(3):
            loss = _updated(model, opt, x, y)
            schedule.step()
            total = total + loss.detach()
        nn.utils.clip_grad_norm_(model.parameters(), 0.1)
        return total

    return model, step


def modes_that_change() -> tuple[Any, Step]:
    model = nn.Sequential(_net(), nn.Dropout(0.3))
    opt = dynamic.optim.SGD(model.parameters(), lr=0.1)

    def step(x: Any, y: Any) -> Any:
        model.train()
        loss = _updated(model, opt, x, y)
        model.eval()
        with dynamic.no_grad():
            return loss, model(x)

    return model, step


def one_layer_that_is_frozen() -> tuple[Any, Step]:
    model = _net()
    opt = dynamic.optim.SGD(model.parameters(), lr=0.1)

    def step(x: Any, y: Any) -> Any:
        model.train(not model.training)
        model[1].training = True
        return _updated(model, opt, x, y)

    return model, step


PROGRAMS = (
    modes_that_change, one_layer_that_is_frozen,
    two_steps, averaged_weights, the_loss_after_the_step, clipped_weights, two_players,
    many_steps_with_dropout_and_a_schedule,
)  # fmt: skip


def _seen(program: Callable[[], tuple[Any, Step]], capture: Callable[[Step], Step]) -> Any:
    dynamic.manual_seed(1)
    model, step = program()
    step = capture(step)
    rng = np.random.default_rng(0)
    seen = []
    for _ in range(3):
        x, y = (dynamic.tensor(rng.normal(size=(8, n)).astype("float32")) for n in (4, 2))
        results = step(x, y)
        for one in results if isinstance(results, tuple) else (results,):
            seen.append(one.detach().numpy())
    state = [one.detach().numpy().copy() for one in (*model.parameters(), *model.buffers())]
    grads = [one.grad.numpy() for one in model.parameters() if one.grad is not None]
    return seen, state, grads


@pytest.mark.slow
@pytest.mark.parametrize("program", some(PROGRAMS, 4), ids=lambda one: one.__name__)
def test_stages_do_what_the_function_does_eagerly(
    program: Callable[[], tuple[Any, Step]],
) -> None:
    expected = _seen(program, lambda f: f)
    found = _seen(program, sg.function)
    for left, right in zip(expected, found, strict=True):
        for one, other in zip(left, right, strict=True):
            np.testing.assert_allclose(other, one, rtol=2e-4, atol=2e-5)


@pytest.mark.slow
def test_a_function_in_stages_is_traced_once_and_has_no_single_executable() -> None:
    _, step = two_steps()
    f = sg.function(step, name="twice")
    x, y = dynamic.randn(8, 4), dynamic.randn(8, 2)
    f(x, y)
    f(x, y)
    assert len(f.traces) == 1
    with pytest.raises(sg.OptionError, match="twice: reads parameters after an optimizer's step"):
        f.executable(x, y)


@pytest.mark.slow
def test_modes_are_as_they_are_left() -> None:
    model, step = modes_that_change()
    f = sg.function(step)
    for _ in range(3):
        f(dynamic.randn(8, 4), dynamic.randn(8, 2))
        assert not any(part.training for part in model.modules())
        assert len(f.traces) <= 2  # one begins in training, one in evaluation
    model.train()
    f(dynamic.randn(8, 4), dynamic.randn(8, 2))
    assert len(f.traces) == 2


def test_an_effect_beside_a_mode_is_named_by_its_own_line() -> None:
    layer, seen = nn.Linear(4, 2), [0]

    def step(x: Any) -> Any:
        layer.train(not layer.training)
        seen.insert(0, 1)  # the line
        return layer(x)

    with pytest.raises(sg.EffectError, match=r"\.py:\d+: changes len\(seen\)"):
        sg.function(step)(dynamic.randn(8, 4))
    assert layer.training
    assert seen == [0]


def test_a_history_over_a_step_is_refused() -> None:
    layer = nn.Linear(4, 2)
    opt = dynamic.optim.SGD(layer.parameters(), lr=0.1)

    def step(x: Any, y: Any) -> Any:
        _updated(layer, opt, x, y)
        return layer(x)

    with pytest.raises(sg.CaptureError, match=r"hands on a tensor with a history.*detach"):
        sg.function(step)(dynamic.randn(8, 4), dynamic.randn(8, 2))


def test_reading_a_changed_parameter_in_a_loop_body_is_refused() -> None:
    layer = nn.Linear(4, 4)
    opt = dynamic.optim.SGD(layer.parameters(), lr=0.1)

    def step(x: Any, y: Any) -> Any:
        loss = _updated(layer, opt, x, y)
        with dynamic.no_grad():
            last, _ = sg.scan(lambda h, _: (h @ layer.weight, h.sum()), x, None, length=2)
        return loss, last

    with pytest.raises(sg.CaptureError, match=r"test_stages.py:\d+.*changed in a branch or the"):
        sg.function(step)(dynamic.randn(8, 4), dynamic.randn(8, 4))
