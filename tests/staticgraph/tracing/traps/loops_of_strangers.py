"""Training loops, and state of arrays and tensors, of people who know nothing of captures."""

from __future__ import annotations

import collections
import copy
import math
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .trap import TENSORS, trap


def _model(t: Any, *more: Any) -> Any:
    first, last = t.nn.Linear(3, 4), t.nn.Linear(4, 1)
    model = t.nn.Sequential(first, *more, t.nn.Tanh(), last)
    with t.xp.no_grad():
        for i, param in enumerate(model.parameters()):
            param.copy_(t.array(np.cos(np.arange(param.numel()) + i).astype("float32")).reshape(
                param.shape))  # fmt: skip
    return model


def _batch(t: Any, k: int = 0) -> tuple[Any, Any]:
    x = np.sin(np.arange(12) + k).reshape(4, 3).astype("float32")
    return t.array(x), t.array(x.sum(1, keepdims=True))


def _loss(model: Any, x: Any, y: Any) -> Any:
    return (model(x) - y).pow(2).mean()


def _state(model: Any) -> list[Any]:
    return [param.detach().clone() for param in model.parameters()]


def _trained(t: Any, step: Callable[..., Any], model: Any, calls: int = 3) -> Iterator[Any]:
    f = t.capture(step)
    for k in range(calls):
        yield f(*_batch(t, k)), _state(model)


@trap(*TENSORS)
def an_average_of_the_weights(t: Any) -> Any:
    model = _model(t)
    average = copy.deepcopy(model)
    opt = t.xp.optim.SGD(model.parameters(), lr=0.1)

    def step(x: Any, y: Any) -> Any:
        opt.zero_grad()
        loss = _loss(model, x, y)
        loss.backward()
        opt.step()
        with t.xp.no_grad():
            for own, of in zip(average.parameters(), model.parameters(), strict=True):
                own.mul_(0.9).add_(of, alpha=0.1)
        return loss.detach()

    yield from _trained(t, step, model)
    yield _state(average)


@trap(*TENSORS)
def an_average_in_a_dict(t: Any) -> Any:
    model = _model(t)
    average = {name: p.detach().clone() for name, p in model.named_parameters()}
    opt = t.xp.optim.SGD(model.parameters(), lr=0.1)

    def step(x: Any, y: Any) -> Any:
        opt.zero_grad()
        loss = _loss(model, x, y)
        loss.backward()
        opt.step()
        with t.xp.no_grad():
            for name, p in model.named_parameters():
                average[name] = 0.9 * average[name] + 0.1 * p
        return loss.detach()

    yield from _trained(t, step, model)
    yield list(average.values())


@trap(*TENSORS)
def gradients_are_clipped(t: Any) -> Any:
    model, limit = _model(t), [0.5]
    opt = t.xp.optim.Adam(model.parameters(), lr=0.1)

    def step(x: Any, y: Any) -> Any:
        opt.zero_grad(set_to_none=True)
        loss = _loss(model, x, y)
        loss.backward()
        norm = t.nn.utils.clip_grad_norm_(model.parameters(), limit[0])
        opt.step()
        return loss.detach(), norm

    yield from _trained(t, step, model, 2)
    limit[0] = 0.01
    yield from _trained(t, step, model, 2)


@trap(*TENSORS)
def gradients_are_accumulated(t: Any) -> Any:
    model = _model(t)
    opt = t.xp.optim.SGD(model.parameters(), lr=0.1)

    def part(x: Any, y: Any) -> Any:
        loss = _loss(model, x, y) / 2
        loss.backward()
        return loss.detach()

    f = t.capture(part)
    for k in range(4):
        yield f(*_batch(t, k))
        if k % 2:
            opt.step()
            opt.zero_grad()
            yield _state(model)


@trap(*TENSORS)
def a_schedule_by_hand(t: Any) -> Any:
    model, count = _model(t), types.SimpleNamespace(step=0)
    opt = t.xp.optim.SGD(model.parameters(), lr=0.1)

    def step(x: Any, y: Any) -> Any:
        opt.zero_grad()
        loss = _loss(model, x, y)
        loss.backward()
        opt.step()
        return loss.detach()

    f = t.capture(step)
    for k in range(4):
        opt.param_groups[0]["lr"] = 0.1 * math.cos(count.step / 4)
        count.step += 1
        yield f(*_batch(t, k)), _state(model)


@trap(*TENSORS)
def a_schedule_inside(t: Any) -> Any:
    model = _model(t)
    opt = t.xp.optim.SGD(model.parameters(), lr=0.1, momentum=0.5)
    schedule = t.xp.optim.lr_scheduler.StepLR(opt, 1, 0.5)

    def step(x: Any, y: Any) -> Any:
        opt.zero_grad()
        loss = _loss(model, x, y)
        loss.backward()
        opt.step()
        schedule.step()
        return loss.detach()

    yield from _trained(t, step, model)
    yield schedule.get_last_lr()


@trap(*TENSORS)
def layers_are_frozen_in_turn(t: Any) -> Any:
    model = _model(t)
    opt = t.xp.optim.SGD(model.parameters(), lr=0.1)

    def step(x: Any, y: Any) -> Any:
        opt.zero_grad()
        loss = _loss(model, x, y)
        loss.backward()
        opt.step()
        return loss.detach()

    f = t.capture(step)
    for k in range(4):
        model[0].requires_grad_(k % 2 == 0)
        yield f(*_batch(t, k)), _state(model)


@trap(*TENSORS)
def the_optimizer_is_loaded(t: Any) -> Any:
    model = _model(t)
    opt = t.xp.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

    def step(x: Any, y: Any) -> Any:
        opt.zero_grad()
        loss = _loss(model, x, y)
        loss.backward()
        opt.step()
        return loss.detach()

    f = t.capture(step)
    kept, state = copy.deepcopy(opt.state_dict()), copy.deepcopy(model.state_dict())
    yield f(*_batch(t))
    yield f(*_batch(t, 1)), _state(model)
    opt.load_state_dict(kept)
    model.load_state_dict(state)
    yield f(*_batch(t)), _state(model)


@trap(*TENSORS)
def the_best_is_kept(t: Any) -> Any:
    model, best = _model(t), {"loss": math.inf}
    opt = t.xp.optim.SGD(model.parameters(), lr=0.5)

    def step(x: Any, y: Any) -> Any:
        opt.zero_grad()
        loss = _loss(model, x, y)
        loss.backward()
        opt.step()
        return loss.detach()

    f = t.capture(step)
    for k in range(3):
        loss = f(*_batch(t, k)).item()
        if loss < best["loss"]:
            best["loss"] = loss
        yield dict(best)


@trap(*TENSORS)
def two_optimizers(t: Any) -> Any:
    model = _model(t)
    one = t.xp.optim.SGD(model[0].parameters(), lr=0.1)
    two = t.xp.optim.Adam(model[-1].parameters(), lr=0.05)

    def step(x: Any, y: Any) -> Any:
        for opt in (one, two):
            opt.zero_grad()
        loss = _loss(model, x, y)
        loss.backward()
        for opt in (one, two):
            opt.step()
        return loss.detach()

    yield from _trained(t, step, model)


@trap(*TENSORS)
def a_penalty_by_names(t: Any) -> Any:
    model, rates = _model(t), {"weight": 0.1, "bias": 0.0}
    opt = t.xp.optim.SGD(model.parameters(), lr=0.1)

    def step(x: Any, y: Any) -> Any:
        opt.zero_grad()
        loss = _loss(model, x, y)
        for name, p in model.named_parameters():
            loss = loss + rates[name.rsplit(".", 1)[-1]] * p.pow(2).sum()
        loss.backward()
        opt.step()
        return loss.detach()

    f = t.capture(step)
    yield f(*_batch(t)), _state(model)
    rates["bias"] = 1.0
    yield f(*_batch(t)), _state(model)


@trap(*TENSORS)
def a_step_that_is_skipped_for_nan(t: Any) -> Any:
    model = _model(t)
    opt = t.xp.optim.SGD(model.parameters(), lr=0.1)

    def step(x: Any, y: Any) -> Any:
        opt.zero_grad()
        loss = _loss(model, x, y)
        if loss.isfinite():
            loss.backward()
            opt.step()
        return loss.detach()

    f = t.capture(step)
    x, y = _batch(t)
    yield f(x, y), _state(model)
    yield f(x * math.nan, y), _state(model)
    yield f(x, y), _state(model)


@trap(*TENSORS)
def teacher_and_student(t: Any) -> Any:
    teacher, student = _model(t), _model(t, t.nn.ReLU())
    opt = t.xp.optim.SGD(student.parameters(), lr=0.1)

    def step(x: Any, y: Any) -> Any:
        with t.xp.no_grad():
            soft = teacher(x)
        opt.zero_grad()
        loss = (student(x) - soft).abs().mean() + 0.1 * _loss(student, x, y)
        loss.backward()
        opt.step()
        return loss.detach()

    f = t.capture(step)
    yield f(*_batch(t)), _state(student)
    with t.xp.no_grad():
        teacher[0].weight.zero_()
    yield f(*_batch(t)), _state(student)


@trap(*TENSORS)
def a_buffer_of_statistics(t: Any) -> Any:
    class Norm(t.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("mean", t.array(np.zeros(3, "float32")))
            self.rate = 0.5

        def forward(self, x: Any) -> Any:
            if self.training:
                self.mean = (1 - self.rate) * self.mean + self.rate * x.detach().mean(0)
            return x - self.mean

    norm = Norm()
    f = t.capture(lambda x: norm(x))
    for k in range(3):
        yield f(_batch(t, k)[0]), norm.mean.clone()
        norm.rate /= 2
    norm.eval()
    yield f(_batch(t)[0]), norm.mean.clone()


@trap(*TENSORS)
def hooks_that_look_at_activations(t: Any) -> Any:
    model, seen = _model(t), {}

    def keep(module: Any, given: Any, result: Any) -> None:
        seen["mean"] = result.detach().mean()

    model[0].register_forward_hook(keep)
    f = t.capture(lambda x: model(x))
    for k in range(2):
        yield f(_batch(t, k)[0]), seen["mean"]


@trap(*TENSORS)
def a_list_of_tensors_that_grows(t: Any) -> Any:
    history: list[Any] = []

    def f(x: Any) -> Any:
        history.append(x.detach().sum())
        return x * 2

    g = t.capture(f)
    for k in range(3):
        yield g(t.x * k)
    yield history


@trap(*TENSORS)
def a_queue_of_fixed_length(t: Any) -> Any:
    last: Any = collections.deque([1.0, 2.0], maxlen=2)
    f = t.capture(lambda x: x * sum(last))
    yield f(t.x)
    last.append(5.0)
    yield f(t.x)


@trap(*TENSORS)
def an_array_and_a_tensor_on_it(t: Any) -> Any:
    array = np.ones(3, "float32")
    tensor = t.xp.from_numpy(array)
    f = t.capture(lambda x: x * tensor + t.xp.from_numpy(array[::-1].copy()))
    yield f(t.x)
    array[0] = 5.0
    yield f(t.x)
    tensor[1] = 7.0
    yield f(t.x), array.copy()


@trap(*TENSORS)
def a_large_array_and_a_tensor_on_it(t: Any) -> Any:
    array = np.ones(3000, "float32")
    tensor = t.xp.from_numpy(array)
    f = t.capture(lambda x: x * tensor[:3] + t.xp.from_numpy(array)[-3:] + float(array[5]))
    yield f(t.x)
    array[[0, 5, -1]] = 5.0
    yield f(t.x)
    tensor[1] = 7.0
    yield f(t.x)


@trap(*TENSORS)
def numpy_written_through_a_tensor(t: Any) -> Any:
    w = t.array(np.ones(3, "float32"))
    view = w.numpy()
    f = t.capture(lambda x: x * w)
    yield f(t.x)
    view[:] = 4.0
    yield f(t.x)
    np.multiply(view, 2, out=view)
    yield f(t.x), w.clone()


@trap(*TENSORS)
def a_view_of_a_view_is_written(t: Any) -> Any:
    w = t.array(np.arange(6, dtype="float32").reshape(2, 3))

    def f(x: Any) -> Any:
        row = w[1]
        last = row[1:]
        with t.xp.no_grad():
            last.mul_(2)
        return x + row

    g = t.capture(f)
    yield g(t.x), w.clone()
    yield g(t.x), w.clone()
