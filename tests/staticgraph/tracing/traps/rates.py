"""What optimizers and schedulers have, read and set inside of a captured step and around it."""

from __future__ import annotations

from typing import Any

from .trap import TENSORS, trap


def _parts(t: Any, name: str = "SGD", **options: Any) -> tuple[Any, Any]:
    w = t.nn.Parameter(t.xp.tensor([1.0, 2.0, 3.0]))
    return w, getattr(t.xp.optim, name)([w], lr=0.5, **options)


def _descend(w: Any, opt: Any, x: Any) -> Any:
    opt.zero_grad()
    loss = (w * w * x).sum()
    loss.backward()
    opt.step()
    return loss.detach()


@trap(*TENSORS)
def the_rate_after_a_schedule_inside(t: Any) -> Any:
    w, opt = _parts(t)
    schedule = t.xp.optim.lr_scheduler.StepLR(opt, 1, 0.1)

    def step(x: Any) -> Any:
        loss = _descend(w, opt, x)
        schedule.step()
        return loss * 0 + opt.param_groups[0]["lr"]

    f = t.capture(step)
    for _ in range(3):
        yield f(t.x), w


@trap(*TENSORS)
def the_rate_before_and_after_a_schedule_inside(t: Any) -> Any:
    w, opt = _parts(t)
    schedule = t.xp.optim.lr_scheduler.ExponentialLR(opt, 0.5)

    def step(x: Any) -> Any:
        before = opt.param_groups[0]["lr"]
        _descend(w, opt, x)
        schedule.step()
        after = opt.param_groups[0]["lr"]
        return x * (after / before)

    f = t.capture(step)
    for _ in range(3):
        yield f(t.x), w


@trap(*TENSORS)
def the_epoch_of_a_schedule(t: Any) -> Any:
    w, opt = _parts(t)
    schedule = t.xp.optim.lr_scheduler.StepLR(opt, 2, 0.1)

    def step(x: Any) -> Any:
        loss = _descend(w, opt, x)
        schedule.step()
        return loss * 0 + schedule.last_epoch

    f = t.capture(step)
    for _ in range(3):
        yield f(t.x), w


@trap(*TENSORS)
def the_epoch_of_a_schedule_outside(t: Any) -> Any:
    w, opt = _parts(t)
    schedule = t.xp.optim.lr_scheduler.StepLR(opt, 2, 0.1)
    f = t.capture(lambda x: _descend(w, opt, x) * 0 + schedule.last_epoch)
    for _ in range(3):
        yield f(t.x), w
        schedule.step()


@trap(*TENSORS)
def the_last_rates_outside(t: Any) -> Any:
    w, opt = _parts(t)
    schedule = t.xp.optim.lr_scheduler.StepLR(opt, 1, 0.1)
    f = t.capture(lambda x: _descend(w, opt, x) * 0 + schedule.get_last_lr()[0])
    for _ in range(3):
        yield f(t.x), w
        schedule.step()


@trap(*TENSORS)
def the_rate_is_warmed_up_inside(t: Any) -> Any:
    w, opt = _parts(t)
    progress = {"step": 0}

    def step(x: Any) -> Any:
        for group in opt.param_groups:
            group["lr"] = 0.1 * (progress["step"] + 1)
        return _descend(w, opt, x)

    f = t.capture(step)
    for progress["step"] in range(4):
        yield f(t.x), w, opt.param_groups[0]["lr"]


@trap(*TENSORS)
def the_rate_is_set_inside_after_the_step(t: Any) -> Any:
    w, opt = _parts(t)

    def step(x: Any) -> Any:
        loss = _descend(w, opt, x)
        opt.param_groups[0]["lr"] *= 0.5
        return loss

    f = t.capture(step)
    for _ in range(3):
        yield f(t.x), w, opt.param_groups[0]["lr"]


@trap(*TENSORS)
def the_rate_is_set_by_a_value(t: Any) -> Any:
    w, opt = _parts(t)

    def step(x: Any) -> Any:
        opt.param_groups[0]["lr"] = x.abs().max().item() * 0.1
        return _descend(w, opt, x)

    f = t.capture(step)
    for k in range(1, 4):
        yield f(t.x * k), w


@trap(*TENSORS)
def the_momentum_that_an_optimizer_has(t: Any) -> Any:
    w, opt = _parts(t, momentum=0.9)

    def step(x: Any) -> Any:
        _descend(w, opt, x)
        return opt.state[w]["momentum_buffer"].norm()

    f = t.capture(step)
    for _ in range(3):
        yield f(t.x), w


@trap(*TENSORS)
def the_momentum_of_the_step_before(t: Any) -> Any:
    w, opt = _parts(t, "Adam")
    _descend(w, opt, t.x)

    def step(x: Any) -> Any:
        size = opt.state[w]["exp_avg"].norm()
        _descend(w, opt, x)
        return size

    f = t.capture(step)
    for _ in range(3):
        yield f(t.x), w


@trap(*TENSORS)
def how_many_steps_adam_has_made(t: Any) -> Any:
    w, opt = _parts(t, "Adam")
    _descend(w, opt, t.x)

    def f(x: Any) -> Any:
        return x * opt.state[w]["step"]

    g = t.capture(f)
    yield g(t.x)
    _descend(w, opt, t.x)
    yield g(t.x)
    _descend(w, opt, t.x)
    yield g(t.x)


@trap(*TENSORS)
def the_second_moments_between_steps(t: Any) -> Any:
    w, opt = _parts(t, "Adam")
    _descend(w, opt, t.x)
    f = t.capture(lambda x: x / (opt.state[w]["exp_avg_sq"].sqrt() + 1e-8))
    for _ in range(3):
        yield f(t.x)
        _descend(w, opt, t.x)


@trap(*TENSORS)
def whether_an_optimizer_has_a_state(t: Any) -> Any:
    w, opt = _parts(t, momentum=0.9)
    f = t.capture(lambda x: x * (2.0 if w in opt.state else 1.0))
    yield f(t.x)
    _descend(w, opt, t.x)
    yield f(t.x)


@trap(*TENSORS)
def how_many_states_an_optimizer_has(t: Any) -> Any:
    w, opt = _parts(t, momentum=0.9)
    f = t.capture(lambda x: x * len(opt.state))
    yield f(t.x)
    _descend(w, opt, t.x)
    yield f(t.x)


@trap(*TENSORS)
def the_groups_are_exchanged(t: Any) -> Any:
    w, opt = _parts(t)
    f = t.capture(lambda x: _descend(w, opt, x))
    yield f(t.x), w
    opt.param_groups = [dict(opt.param_groups[0], lr=0.01)]
    yield f(t.x), w
    opt.param_groups[0] = dict(opt.param_groups[0], lr=0.02)
    yield f(t.x), w


@trap(*TENSORS)
def the_parameters_of_a_group_are_exchanged(t: Any) -> Any:
    w, opt = _parts(t)
    v = t.nn.Parameter(t.xp.ones(3))

    def step(x: Any) -> Any:
        opt.zero_grad()
        loss = (w * v * x).sum()
        loss.backward()
        opt.step()
        return loss.detach()

    f = t.capture(step)
    yield f(t.x), w, v
    opt.param_groups[0]["params"][0] = v
    yield f(t.x), w, v
    opt.param_groups[0]["params"] = [w, v]
    yield f(t.x), w, v


@trap(*TENSORS)
def the_defaults_of_an_optimizer(t: Any) -> Any:
    _, opt = _parts(t)
    f = t.capture(lambda x: x * opt.defaults["lr"])
    yield f(t.x)
    opt.defaults["lr"] = 3.0
    yield f(t.x)


@trap(*TENSORS)
def the_rate_of_each_group(t: Any) -> Any:
    a, b = (t.nn.Parameter(t.xp.ones(3)) for _ in range(2))
    opt = t.xp.optim.SGD([{"params": [a], "lr": 0.1}, {"params": [b]}], lr=1.0)

    def step(x: Any) -> Any:
        opt.zero_grad()
        (a * b * x).sum().backward()
        opt.step()
        return x * sum(group["lr"] for group in opt.param_groups)

    f = t.capture(step)
    for k in range(3):
        opt.param_groups[k % 2]["lr"] *= 0.5
        yield f(t.x), a, b


@trap(*TENSORS)
def a_rate_that_is_a_tensor(t: Any) -> Any:
    w = t.nn.Parameter(t.xp.tensor([1.0, 2.0, 3.0]))
    rate = t.xp.tensor(0.5)
    opt = t.xp.optim.SGD([w], lr=rate)

    def step(x: Any) -> Any:
        loss = _descend(w, opt, x)
        return loss * 0 + opt.param_groups[0]["lr"]

    f = t.capture(step)
    for _ in range(3):
        yield f(t.x), w
        rate.mul_(0.1)


@trap(*TENSORS)
def schedules_in_a_row(t: Any) -> Any:
    w, opt = _parts(t)
    schedules = t.xp.optim.lr_scheduler
    both = schedules.SequentialLR(
        opt, [schedules.ConstantLR(opt, 0.1, 2), schedules.ExponentialLR(opt, 0.5)], [2]
    )

    def step(x: Any) -> Any:
        loss = _descend(w, opt, x)
        both.step()
        return loss

    f = t.capture(step)
    for _ in range(5):
        yield f(t.x), w, opt.param_groups[0]["lr"]


@trap(*TENSORS)
def a_schedule_by_the_loss(t: Any) -> Any:
    w, opt = _parts(t)
    schedule = t.xp.optim.lr_scheduler.ReduceLROnPlateau(opt, factor=0.5, patience=0)

    def step(x: Any) -> Any:
        loss = _descend(w, opt, x)
        schedule.step(loss)
        return loss

    f = t.capture(step)
    for _ in range(3):
        yield f(t.x), w, opt.param_groups[0]["lr"]


@trap(*TENSORS)
def a_schedule_every_other_step(t: Any) -> Any:
    w, opt = _parts(t)
    schedule = t.xp.optim.lr_scheduler.StepLR(opt, 1, 0.1)
    state = {"due": False}

    def step(x: Any) -> Any:
        loss = _descend(w, opt, x)
        if state["due"]:
            schedule.step()
        return loss

    f = t.capture(step)
    for k in range(4):
        state["due"] = k % 2 == 1
        yield f(t.x), w, opt.param_groups[0]["lr"]


@trap(*TENSORS)
def a_hook_of_an_optimizer_reads_what_changes(t: Any) -> Any:
    w, opt = _parts(t)
    scale = [1.0]

    def hook(optimizer: Any, args: Any, kwargs: Any) -> None:
        for group in optimizer.param_groups:
            for one in group["params"]:
                one.grad.mul_(scale[0])

    opt.register_step_pre_hook(hook)
    f = t.capture(lambda x: _descend(w, opt, x))
    yield f(t.x), w
    scale[0] = 0.1
    yield f(t.x), w


@trap(*TENSORS)
def the_state_dict_of_an_optimizer_inside(t: Any) -> Any:
    w, opt = _parts(t, momentum=0.9)

    def step(x: Any) -> Any:
        loss = _descend(w, opt, x)
        return loss * len(opt.state_dict()["state"])

    f = t.capture(step)
    yield f(t.x), w
    yield f(t.x), w


@trap(*TENSORS)
def an_optimizer_of_ones_own(t: Any) -> Any:
    class Signs(t.xp.optim.Optimizer):
        def __init__(self, params: Any, rate: float) -> None:
            super().__init__(params, {"lr": rate})
            self.count = 0

        @t.xp.no_grad()
        def step(self, closure: Any = None) -> None:
            self.count += 1
            for group in self.param_groups:
                for one in group["params"]:
                    one.add_(one.grad.sign(), alpha=-group["lr"] / self.count)

    w = t.nn.Parameter(t.xp.tensor([1.0, 2.0, 3.0]))
    opt = Signs([w], 0.5)
    f = t.capture(lambda x: _descend(w, opt, x))
    for _ in range(3):
        yield f(t.x), w, opt.count


@trap(*TENSORS)
def a_momentum_by_hand_in_a_dict_of_parameters(t: Any) -> Any:
    layer = t.nn.Linear(3, 1, bias=False)
    with t.xp.no_grad():
        layer.weight.fill_(1.0)
    momenta = {one: t.xp.zeros(1, 3) for one in layer.parameters()}

    def step(x: Any) -> Any:
        layer.zero_grad()
        loss = layer(x).pow(2).sum()
        loss.backward()
        with t.xp.no_grad():
            for one in layer.parameters():
                momenta[one].mul_(0.9).add_(one.grad)
                one.sub_(momenta[one], alpha=0.1)
        return loss.detach()

    f = t.capture(step)
    for _ in range(3):
        yield f(t.x), layer.weight, [*momenta.values()]
