"""Steps of training: optimizers and schedules that change between calls."""

from __future__ import annotations

import copy
from typing import Any

from .trap import TENSORS, trap


def _leaf(t: Any, *numbers: float) -> Any:
    return t.xp.tensor(list(numbers)).requires_grad_()


def _step(t: Any, w: Any, opt: Any) -> Any:
    """A captured step of training."""

    def step(x: Any) -> Any:
        opt.zero_grad()
        loss = ((w * x - 1) ** 2).sum()
        loss.backward()
        opt.step()
        return loss.detach()

    return t.capture(step)


def _steps(t: Any, make: Any, *changes: Any) -> Any:
    """The parameter after steps of an optimizer that `make` makes, with changes in between."""
    w = _leaf(t, 1.0, 2.0, 3.0)
    opt = make([w])
    f = _step(t, w, opt)
    yield f(t.x), w.detach().clone(), f(t.x), w.detach().clone()
    for change in changes:
        change(opt)
        yield f(t.x), w.detach().clone(), f(t.x), w.detach().clone()


@trap(*TENSORS)
def the_rate_of_learning(t: Any) -> Any:
    def slower(opt: Any) -> None:
        opt.param_groups[0]["lr"] = 0.001

    yield from _steps(t, lambda ws: t.xp.optim.SGD(ws, lr=0.05), slower)


@trap(*TENSORS)
def momentum_is_switched_on(t: Any) -> Any:
    def on(opt: Any) -> None:
        opt.param_groups[0]["momentum"] = 0.9

    def nesterov(opt: Any) -> None:
        opt.param_groups[0]["nesterov"] = True

    yield from _steps(t, lambda ws: t.xp.optim.SGD(ws, lr=0.01), on, nesterov)


@trap(*TENSORS)
def the_decay_of_weights(t: Any) -> Any:
    def decayed(opt: Any) -> None:
        opt.param_groups[0]["weight_decay"] = 0.5

    yield from _steps(t, lambda ws: t.xp.optim.AdamW(ws, lr=0.1, weight_decay=0.0), decayed)


@trap(*TENSORS)
def the_betas_of_adam(t: Any) -> Any:
    def others(opt: Any) -> None:
        opt.param_groups[0]["betas"] = (0.5, 0.5)

    yield from _steps(t, lambda ws: t.xp.optim.Adam(ws, lr=0.1), others)


@trap(*TENSORS)
def a_state_of_an_optimizer_is_cleared(t: Any) -> Any:
    yield from _steps(t, lambda ws: t.xp.optim.Adam(ws, lr=0.1), lambda opt: opt.state.clear())


@trap(*TENSORS)
def a_state_of_an_optimizer_is_loaded(t: Any) -> Any:
    kept: list[Any] = []

    def keep(opt: Any) -> None:
        kept.append(copy.deepcopy(opt.state_dict()))

    def load(opt: Any) -> None:
        opt.load_state_dict(kept[0])

    yield from _steps(t, lambda ws: t.xp.optim.Adam(ws, lr=0.1), keep, load)


@trap(*TENSORS)
def an_optimizer_maximizes(t: Any) -> Any:
    def upwards(opt: Any) -> None:
        opt.param_groups[0]["maximize"] = True

    yield from _steps(t, lambda ws: t.xp.optim.SGD(ws, lr=0.01), upwards)


@trap(*TENSORS)
def a_schedule_outside(t: Any) -> Any:
    w = _leaf(t, 1.0, 2.0, 3.0)
    opt = t.xp.optim.SGD([w], lr=0.1)
    schedule = t.xp.optim.lr_scheduler.StepLR(opt, step_size=1, gamma=0.1)
    f = _step(t, w, opt)
    for _ in range(3):
        yield f(t.x), w.detach().clone(), schedule.get_last_lr()[0]
        schedule.step()


@trap(*TENSORS)
def a_schedule_inside(t: Any) -> Any:
    w = _leaf(t, 1.0, 2.0, 3.0)
    opt = t.xp.optim.SGD([w], lr=0.1)
    schedule = t.xp.optim.lr_scheduler.ExponentialLR(opt, 0.5)

    def step(x: Any) -> Any:
        opt.zero_grad()
        (w * x).sum().backward()
        opt.step()
        schedule.step()
        return (w * 1).detach()

    f = t.capture(step)
    for _ in range(3):
        yield f(t.x), opt.param_groups[0]["lr"]


@trap(*TENSORS)
def a_rate_that_a_lambda_gives(t: Any) -> Any:
    w, factor = _leaf(t, 1.0, 2.0, 3.0), [1.0]
    opt = t.xp.optim.SGD([w], lr=0.1)
    schedule = t.xp.optim.lr_scheduler.LambdaLR(opt, lambda epoch: factor[0])
    f = _step(t, w, opt)
    yield f(t.x), w.detach().clone()
    factor[0] = 0.01
    schedule.step()
    yield f(t.x), w.detach().clone()


@trap(*TENSORS)
def a_step_with_a_closure(t: Any) -> Any:
    w = _leaf(t, 1.0, 2.0, 3.0)
    opt = t.xp.optim.SGD([w], lr=0.05)

    def step(x: Any) -> Any:
        def closure() -> Any:
            opt.zero_grad()
            loss = ((w * x) ** 2).sum()
            loss.backward()
            return loss

        return opt.step(closure).detach()

    f = t.capture(step)
    for _ in range(3):
        yield f(t.x), w.detach().clone()


@trap(*TENSORS)
def an_optimizer_of_many_evaluations(t: Any) -> Any:
    w = _leaf(t, 1.0, 2.0, 3.0)
    opt = t.xp.optim.LBFGS([w], lr=0.5, max_iter=3)

    def step(x: Any) -> Any:
        def closure() -> Any:
            opt.zero_grad()
            loss = ((w * x - 1) ** 2).sum()
            loss.backward()
            return loss

        opt.step(closure)
        return (w * 1).detach()

    f = t.capture(step)
    for _ in range(2):
        yield f(t.x)


@trap(*TENSORS)
def a_closure_that_is_captured(t: Any) -> Any:
    w = _leaf(t, 1.0, 2.0, 3.0)
    opt = t.xp.optim.LBFGS([w], lr=0.5, max_iter=3)

    def loss(x: Any) -> Any:
        opt.zero_grad()
        found = ((w * x - 1) ** 2).sum()
        found.backward()
        return found.detach()

    f = t.capture(loss)
    for _ in range(2):
        opt.step(lambda: f(t.x))
        yield w.detach().clone()


@trap(*TENSORS)
def gradients_are_accumulated(t: Any) -> Any:
    w = _leaf(t, 1.0, 2.0, 3.0)
    opt = t.xp.optim.SGD([w], lr=0.05)

    def add(x: Any) -> None:
        ((w * x).sum() / 3).backward()

    f = t.capture(add)
    for k in range(6):
        f(t.x * k)
        yield w.grad.clone()
        if k % 3 == 2:
            opt.step()
            opt.zero_grad()
            yield w.detach().clone()


@trap(*TENSORS)
def a_step_every_other_call(t: Any) -> Any:
    w, count = _leaf(t, 1.0, 2.0, 3.0), [0]
    opt = t.xp.optim.SGD([w], lr=0.05)

    def step(x: Any) -> Any:
        (w * x).sum().backward()
        if count[0] % 2 == 1:
            opt.step()
            opt.zero_grad()
        return (w * 1).detach()

    f = t.capture(step)
    for k in range(4):
        count[0] = k
        yield f(t.x)


@trap(*TENSORS)
def gradients_are_set_to_zero(t: Any) -> Any:
    w = _leaf(t, 1.0, 2.0, 3.0)
    opt = t.xp.optim.SGD([w], lr=0.05, momentum=0.9)

    def step(x: Any) -> Any:
        opt.zero_grad(set_to_none=False)
        (w * x).sum().backward()
        opt.step()
        return (w * 1).detach()

    f = t.capture(step)
    for k in range(3):
        yield f(t.x * k), w.grad


@trap(*TENSORS)
def an_average_of_weights(t: Any) -> Any:
    w, mean = _leaf(t, 1.0, 2.0, 3.0), t.xp.zeros(3)
    opt, rate = t.xp.optim.SGD([w], lr=0.05), [0.5]

    def step(x: Any) -> Any:
        opt.zero_grad()
        (w * x).sum().backward()
        opt.step()
        with t.xp.no_grad():
            mean.mul_(rate[0]).add_(w, alpha=1 - rate[0])
        return mean * 1

    f = t.capture(step)
    for k in range(3):
        yield f(t.x)
        rate[0] = 0.1 * k


@trap(*TENSORS)
def an_average_over_a_module(t: Any) -> Any:
    net = t.nn.Linear(3, 1)
    with t.xp.no_grad():
        net.weight.fill_(0.5)
        net.bias.fill_(0.1)
    mean = copy.deepcopy(net).requires_grad_(False)
    opt = t.xp.optim.SGD(net.parameters(), lr=0.05)

    def step(x: Any) -> Any:
        opt.zero_grad()
        net(x).sum().backward()
        opt.step()
        with t.xp.no_grad():
            for p, q in zip(mean.parameters(), net.parameters(), strict=True):
                p.lerp_(q, 0.25)
        return mean(x)

    f = t.capture(step)
    for k in range(3):
        yield f(t.x * k), mean.weight


@trap(*TENSORS)
def gradients_are_clipped_by_value(t: Any) -> Any:
    w, most = _leaf(t, 1.0, 2.0, 3.0), [0.5]

    def f(x: Any) -> Any:
        w.grad = None
        (w * x * 5).sum().backward()
        t.nn.utils.clip_grad_value_([w], most[0])
        return w.grad * 1

    g = t.capture(f)
    yield g(t.x)
    most[0] = 2.0
    yield g(t.x)


@trap(*TENSORS)
def the_largest_norm_of_gradients(t: Any) -> Any:
    w, most = _leaf(t, 1.0, 2.0, 3.0), [0.5]
    opt = t.xp.optim.SGD([w], lr=0.1)

    def step(x: Any) -> Any:
        opt.zero_grad()
        (w * x * 5).sum().backward()
        norm = t.nn.utils.clip_grad_norm_([w], most[0])
        opt.step()
        return norm

    f = t.capture(step)
    yield f(t.x), w.detach().clone()
    most[0] = 1e9
    yield f(t.x), w.detach().clone()


@trap(*TENSORS)
def a_scaler_of_losses(t: Any) -> Any:
    w = _leaf(t, 1.0, 2.0, 3.0)
    opt = t.xp.optim.SGD([w], lr=0.1)
    scaler = t.xp.amp.GradScaler("cpu", init_scale=4.0, growth_interval=1)

    def step(x: Any) -> Any:
        opt.zero_grad()
        scaler.scale((w * x).sum()).backward()
        scaler.step(opt)
        scaler.update()
        return (w * 1).detach()

    f = t.capture(step)
    for _ in range(3):
        yield f(t.x), scaler.get_scale()
