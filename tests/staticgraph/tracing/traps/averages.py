"""Steps of training: averages, scalers, clipping and parameters that change between calls."""

from __future__ import annotations

from typing import Any

import numpy as np

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


@trap(*TENSORS)
def a_region_of_autocast(t: Any) -> Any:
    on = [True]

    def f(x: Any) -> Any:
        with t.xp.autocast("cpu", dtype=t.xp.bfloat16, enabled=on[0]):
            return (x[:, None] @ x[None, :]).float()

    g = t.capture(f)
    x = t.x * 1.234567
    yield g(x)
    on[0] = False
    yield g(x)


@trap(*TENSORS)
def autocast_around_the_call(t: Any) -> Any:
    g = t.capture(lambda x: x[:, None] @ x[None, :])
    x = t.x * 1.234567
    yield g(x)
    with t.xp.autocast("cpu", dtype=t.xp.bfloat16):
        yield g(x).float()
    yield g(x)


@trap(*TENSORS)
def an_optimizer_is_replaced(t: Any) -> Any:
    w, held = _leaf(t, 1.0, 2.0, 3.0), {}
    held["opt"] = t.xp.optim.SGD([w], lr=0.1)

    def step(x: Any) -> Any:
        held["opt"].zero_grad()
        (w * x).sum().backward()
        held["opt"].step()
        return (w * 1).detach()

    f = t.capture(step)
    yield f(t.x)
    held["opt"] = t.xp.optim.Adam([w], lr=0.5)
    yield f(t.x), f(t.x)


@trap(*TENSORS)
def a_hook_of_a_step(t: Any) -> Any:
    w, count = _leaf(t, 1.0, 2.0, 3.0), [0]
    opt = t.xp.optim.SGD([w], lr=0.1)

    def counted(opt: Any, args: Any, kwargs: Any) -> None:
        count[0] += 1

    f = _step(t, w, opt)
    yield f(t.x), count[0]
    handle = opt.register_step_post_hook(counted)
    yield f(t.x), count[0]
    yield f(t.x), count[0]
    handle.remove()
    yield f(t.x), count[0]


@trap(*TENSORS)
def a_parameter_is_frozen_in_an_optimizer(t: Any) -> Any:
    a, b = _leaf(t, 1.0), _leaf(t, 2.0)
    opt = t.xp.optim.SGD([a, b], lr=0.1)

    def step(x: Any) -> Any:
        opt.zero_grad()
        (a * x + b).sum().backward()
        opt.step()
        return (a + b).detach()

    f = t.capture(step)
    yield f(t.x)
    a.requires_grad_(False)
    yield f(t.x), a.detach().clone()
    a.requires_grad_(True)
    yield f(t.x), a.detach().clone()


@trap(*TENSORS)
def two_optimizers_in_turn(t: Any) -> Any:
    a, b = _leaf(t, 1.0, 1.0, 1.0), _leaf(t, 2.0, 2.0, 2.0)
    first, second = t.xp.optim.SGD([a], lr=0.1), t.xp.optim.Adam([b], lr=0.1)

    def step(x: Any) -> Any:
        first.zero_grad()
        second.zero_grad()
        (a * b * x).sum().backward()
        first.step()
        (a * b * x).sum().backward()
        second.step()
        return (a + b).detach()

    f = t.capture(step)
    for _ in range(3):
        yield f(t.x), a.grad, b.grad


@trap(*TENSORS)
def a_step_only_if_it_is_finite(t: Any) -> Any:
    w = _leaf(t, 1.0, 2.0, 3.0)
    opt = t.xp.optim.SGD([w], lr=0.1)

    def step(x: Any) -> Any:
        opt.zero_grad()
        loss = (w * x).sum()
        loss.backward()
        if t.xp.isfinite(loss):
            opt.step()
        return loss.detach()

    f = t.capture(step)
    yield f(t.x), w.detach().clone()
    yield f(t.x * float("inf")), w.detach().clone()
    yield f(t.x), w.detach().clone()


@trap(*TENSORS)
def the_best_loss_so_far(t: Any) -> Any:
    best = t.xp.tensor(float("inf"))

    def f(x: Any) -> Any:
        loss = (x * x).sum()
        if loss < best:
            best.copy_(loss)
        return best * 1

    g = t.capture(f)
    for k in (3.0, 2.0, 4.0, 1.0):
        yield g(t.x * k), best


@trap(*TENSORS)
def losses_are_collected(t: Any) -> Any:
    losses: list[Any] = []

    def f(x: Any) -> Any:
        loss = (x * x).sum()
        losses.append(loss.item())
        return loss

    g = t.capture(f)
    for k in range(3):
        yield g(t.x * k), sum(losses)


@trap(*TENSORS)
def a_penalty_of_gradients(t: Any) -> Any:
    w, weight = _leaf(t, 1.0, 2.0, 3.0), [0.1]

    def f(x: Any) -> Any:
        x = x.detach().requires_grad_()
        y = (w * x * x).sum()
        (g,) = t.xp.autograd.grad(y, x, create_graph=True)
        return y + weight[0] * (g * g).sum()

    h = t.capture(f)
    for _ in range(2):
        w.grad = None
        h(t.x).backward()
        yield w.grad
        weight[0] = 2.0


@trap(*TENSORS)
def a_step_by_hand(t: Any) -> Any:
    w, lr = _leaf(t, 1.0, 2.0, 3.0), [0.1]

    def step(x: Any) -> Any:
        (g,) = t.xp.autograd.grad((w * x).sum(), [w])
        with t.xp.no_grad():
            w.sub_(lr[0] * g)
        return (w * 1).detach()

    f = t.capture(step)
    yield f(t.x)
    lr[0] = 1.0
    yield f(t.x)
    with t.xp.no_grad():
        w.zero_()
    yield f(t.x)


@trap(*TENSORS)
def a_step_by_a_captured_function_in_another(t: Any) -> Any:
    w = _leaf(t, 1.0, 2.0, 3.0)
    opt = t.xp.optim.SGD([w], lr=0.1)
    inner = t.capture(lambda x: ((w * x) ** 2).sum())

    def step(x: Any) -> Any:
        opt.zero_grad()
        loss = inner(x)
        loss.backward()
        opt.step()
        return loss.detach()

    f = t.capture(step)
    for _ in range(3):
        yield f(t.x), w.detach().clone()


@trap(*TENSORS)
def a_view_of_a_parameter_is_stepped(t: Any) -> Any:
    w = _leaf(t, 1.0, 2.0, 3.0)
    opt = t.xp.optim.SGD([w], lr=0.1)
    first = w.detach()[:1]

    def step(x: Any) -> Any:
        opt.zero_grad()
        (w * x).sum().backward()
        opt.step()
        return first * 1

    f = t.capture(step)
    for _ in range(2):
        yield f(t.x)


@trap(*TENSORS)
def a_group_of_parameters_is_added(t: Any) -> Any:
    a, b = _leaf(t, 1.0), _leaf(t, 2.0)
    opt = t.xp.optim.SGD([a], lr=0.1)

    def step(x: Any) -> Any:
        opt.zero_grad()
        (a * b * x).sum().backward()
        opt.step()
        return (a + b).detach()

    f = t.capture(step)
    yield f(t.x)
    opt.add_param_group({"params": [b], "lr": 0.01})
    yield f(t.x), b.detach().clone()


@trap(*TENSORS)
def a_count_of_steps_in_a_tensor(t: Any) -> Any:
    count = t.xp.zeros((), dtype=t.xp.int64)

    def f(x: Any) -> Any:
        count.add_(1)
        return x / count

    g = t.capture(f)
    for _ in range(3):
        yield g(t.x), count
    count.zero_()
    yield g(t.x), count


@trap(*TENSORS)
def weights_are_averaged_by_a_helper(t: Any) -> Any:
    net = t.nn.Linear(3, 1)
    with t.xp.no_grad():
        net.weight.fill_(0.5)
        net.bias.fill_(0.1)
    mean = t.xp.optim.swa_utils.AveragedModel(net)

    f = t.capture(lambda x: mean(x))
    yield f(t.x)
    with t.xp.no_grad():
        net.weight.fill_(1.5)
    mean.update_parameters(net)
    yield f(t.x)
    mean.update_parameters(net)
    yield f(t.x)


@trap(*TENSORS)
def a_loss_of_whole_numbers(t: Any) -> Any:
    w = _leaf(t, 1.0, 2.0, 3.0)
    count = np.zeros(1, "int64")

    def f(x: Any) -> Any:
        return (w * x).sum() * int(count[0])

    g = t.capture(f)
    for k in range(3):
        count[0] = k
        yield g(t.x)
