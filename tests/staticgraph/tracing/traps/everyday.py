"""What scripts of training, evaluation and preparation do around and inside of a step."""

from __future__ import annotations

import collections
import contextlib
import functools
import itertools
import logging
import math
import time
import types
from typing import Any

import numpy as np

from .trap import TENSORS, trap


def _model(t: Any) -> tuple[Any, Any]:
    layer = t.nn.Linear(3, 1)
    with t.xp.no_grad():
        layer.weight.fill_(0.5)
        layer.bias.fill_(0.0)
    return layer, t.xp.optim.SGD(layer.parameters(), lr=0.01)


def _step(model: Any, opt: Any, x: Any) -> Any:
    opt.zero_grad()
    loss = (model(x) - 1.0).pow(2).sum()
    loss.backward()
    opt.step()
    return loss


@trap(*TENSORS)
def losses_are_appended_as_numbers(t: Any) -> Any:
    model, opt = _model(t)
    losses: list[float] = []

    def step(x: Any) -> Any:
        loss = _step(model, opt, x)
        losses.append(loss.item())
        return loss.detach()

    f = t.capture(step)
    for k in range(3):
        yield f(t.x * k), list(losses)


@trap(*TENSORS)
def losses_are_appended_by_float(t: Any) -> Any:
    model, opt = _model(t)
    history: dict[str, list[float]] = {"loss": []}

    def step(x: Any) -> Any:
        loss = _step(model, opt, x)
        history["loss"].append(float(loss))
        return loss.detach()

    f = t.capture(step)
    for k in range(3):
        yield f(t.x * k), list(history["loss"])


@trap(*TENSORS)
def a_total_is_kept(t: Any) -> Any:
    model, opt = _model(t)
    total = 0.0

    def step(x: Any) -> Any:
        nonlocal total
        loss = _step(model, opt, x)
        total += loss.item()
        return loss.detach()

    f = t.capture(step)
    for k in range(3):
        yield f(t.x * k), total


@trap(*TENSORS)
def a_meter_is_updated(t: Any) -> Any:
    class Meter:
        def __init__(self) -> None:
            self.sum = self.count = 0.0

        def update(self, value: float, n: int) -> None:
            self.sum += value * n
            self.count += n

    model, opt = _model(t)
    meter = Meter()

    def step(x: Any) -> Any:
        loss = _step(model, opt, x)
        meter.update(loss.item(), x.shape[0])
        return loss.detach()

    f = t.capture(step)
    for k in range(3):
        yield f(t.x * k), meter.sum, meter.count


@trap(*TENSORS)
def a_loss_is_printed(t: Any) -> Any:
    model, opt = _model(t)

    def step(x: Any) -> Any:
        loss = _step(model, opt, x)
        print(f"loss {loss.item():.3f}")
        return loss.detach()

    f = t.capture(step)
    for k in range(2):
        yield f(t.x * k)


@trap(*TENSORS)
def a_loss_is_logged(t: Any) -> Any:
    model, opt = _model(t)
    logger = logging.getLogger("everyday")

    def step(x: Any) -> Any:
        loss = _step(model, opt, x)
        logger.info("loss %.3f", loss)
        return loss.detach()

    f = t.capture(step)
    for k in range(2):
        yield f(t.x * k)


@trap(*TENSORS)
def a_metric_in_a_dict(t: Any) -> Any:
    model, opt = _model(t)

    def step(x: Any) -> Any:
        loss = _step(model, opt, x)
        return {"loss": loss.item(), "norm": model.weight.norm().item(), "n": x.shape[0]}

    f = t.capture(step)
    for k in range(3):
        yield f(t.x * k)


@trap(*TENSORS)
def the_best_is_kept(t: Any) -> Any:
    model, opt = _model(t)
    best = {"loss": math.inf}

    def step(x: Any) -> Any:
        loss = _step(model, opt, x)
        best["loss"] = min(best["loss"], loss.item())
        return loss.detach()

    f = t.capture(step)
    for k in range(3):
        yield f(t.x * k), best["loss"]


@trap(*TENSORS)
def a_step_is_left_out_if_it_is_not_finite(t: Any) -> Any:
    model, opt = _model(t)

    def step(x: Any) -> Any:
        loss = (model(x) - 1.0).pow(2).sum()
        if not math.isfinite(loss.item()):
            return loss.detach()
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss.detach()

    f = t.capture(step)
    yield f(t.x), model.weight
    yield f(t.x / 0), model.weight


@trap(*TENSORS)
def a_tensor_says_if_it_is_finite(t: Any) -> Any:
    model, opt = _model(t)

    def step(x: Any) -> Any:
        opt.zero_grad()
        loss = (model(x) - 1.0).pow(2).sum()
        loss.backward()
        if t.xp.isfinite(loss):
            opt.step()
        return loss.detach()

    f = t.capture(step)
    yield f(t.x), model.weight
    yield f(t.x / 0), model.weight


@trap(*TENSORS)
def every_tenth_step(t: Any) -> Any:
    model, opt = _model(t)
    counter = itertools.count()

    def step(x: Any, k: int) -> Any:
        loss = _step(model, opt, x)
        return loss.detach() * (10 if k % 2 == 0 else 1)

    f = t.capture(step)
    for _ in range(4):
        yield f(t.x, next(counter))


@trap(*TENSORS)
def the_model_is_set_to_evaluation_and_back(t: Any) -> Any:
    model = t.nn.Sequential(t.nn.Linear(3, 3), t.nn.BatchNorm1d(3), t.nn.Dropout(0.0))
    with t.xp.no_grad():
        model[0].weight.fill_(0.5)
        model[0].bias.fill_(0.1)
    x = t.array(np.arange(6, dtype="float32").reshape(2, 3))

    def evaluate(x: Any) -> Any:
        model.eval()
        with t.xp.no_grad():
            y = model(x)
        model.train()
        return y

    f = t.capture(evaluate)
    yield f(x), model.training, model[1].running_mean
    model(x)
    yield f(x), model.training, model[1].running_mean


@trap(*TENSORS)
def gradients_are_clipped_by_hand(t: Any) -> Any:
    model, opt = _model(t)
    limit = [0.5]

    def step(x: Any) -> Any:
        opt.zero_grad()
        loss = (model(x) - 1.0).pow(2).sum()
        loss.backward()
        for p in model.parameters():
            p.grad.data.clamp_(-limit[0], limit[0])
        opt.step()
        return loss.detach()

    f = t.capture(step)
    yield f(t.x), model.weight
    limit[0] = 0.1
    yield f(t.x), model.weight


@trap(*TENSORS)
def a_snapshot_of_the_best_weights(t: Any) -> Any:
    model, opt = _model(t)
    snapshots: list[Any] = []
    f = t.capture(lambda x: _step(model, opt, x).detach())
    for _ in range(3):
        yield f(t.x)
        snapshots.append({k: v.clone() for k, v in model.state_dict().items()})
    model.load_state_dict(snapshots[0])
    yield f(t.x), model.weight


@trap(*TENSORS)
def a_target_network_follows(t: Any) -> Any:
    (model, opt), (target, _) = _model(t), _model(t)

    def step(x: Any) -> Any:
        loss = _step(model, opt, x)
        with t.xp.no_grad():
            for p, q in zip(model.parameters(), target.parameters(), strict=True):
                q.mul_(0.9).add_(p, alpha=0.1)
        return loss.detach()

    f = t.capture(step)
    for _ in range(3):
        yield f(t.x), target.weight


@trap(*TENSORS)
def a_target_network_is_copied_every_other_step(t: Any) -> Any:
    (model, opt), (target, _) = _model(t), _model(t)
    f = t.capture(lambda x: _step(model, opt, x).detach() + target(x).sum().detach())
    for k in range(4):
        if k % 2:
            target.load_state_dict(model.state_dict())
        yield f(t.x)


@trap(*TENSORS)
def gradients_of_two_losses(t: Any) -> Any:
    model, opt = _model(t)

    def step(x: Any) -> Any:
        opt.zero_grad()
        y = model(x)
        y.sum().backward(retain_graph=True)
        (y * y).sum().backward()
        opt.step()
        return y.detach()

    f = t.capture(step)
    for _ in range(3):
        yield f(t.x), model.weight


@trap(*TENSORS)
def two_networks_that_play(t: Any) -> Any:
    (one, first), (two, second) = _model(t), _model(t)

    def step(x: Any) -> Any:
        second.zero_grad()
        real = (two(x) - one(x).detach().sum()).pow(2).sum()
        real.backward()
        second.step()
        first.zero_grad()
        fake = (one(x) * 2 - 1).pow(2).sum()
        fake.backward()
        first.step()
        return real.detach() + fake.detach()

    f = t.capture(step)
    for _ in range(3):
        yield f(t.x), one.weight, two.weight


@trap(*TENSORS)
def a_region_without_gradients_by_a_flag(t: Any) -> Any:
    model, _ = _model(t)
    state = types.SimpleNamespace(train=True)

    def f(x: Any) -> Any:
        with contextlib.nullcontext() if state.train else t.xp.no_grad():
            return model(x).sum()

    g = t.capture(f)
    yield g(t.x), g(t.x).requires_grad
    state.train = False
    yield g(t.x), g(t.x).requires_grad


@trap(*TENSORS)
def a_decorator_without_gradients(t: Any) -> Any:
    model, _ = _model(t)

    @t.xp.no_grad()
    def f(x: Any) -> Any:
        return model(x).sum()

    g = t.capture(f)
    yield g(t.x), g(t.x).requires_grad


@trap(*TENSORS)
def the_time_of_a_step_is_taken(t: Any) -> Any:
    model, opt = _model(t)

    def step(x: Any) -> Any:
        start = time.perf_counter()
        loss = _step(model, opt, x)
        return loss.detach(), time.perf_counter() - start > 0

    yield t.capture(step)(t.x)


@trap(*TENSORS)
def a_decorator_takes_the_time(t: Any) -> Any:
    model, opt = _model(t)
    times: list[float] = []

    def timed(f: Any) -> Any:
        @functools.wraps(f)
        def wrapped(*args: Any) -> Any:
            start = time.perf_counter()
            result = f(*args)
            times.append(time.perf_counter() - start)
            return result

        return wrapped

    f = timed(t.capture(lambda x: _step(model, opt, x).detach()))
    yield f(t.x), len(times)
    yield f(t.x), len(times)


@trap(*TENSORS)
def the_last_batch_is_smaller(t: Any) -> Any:
    model, opt = _model(t)
    f = t.capture(lambda x: _step(model, opt, x).detach() / len(x))
    data = t.array(np.arange(21, dtype="float32").reshape(7, 3) / 21)
    for batch in data.split(3):
        yield f(batch), model.weight


@trap(*TENSORS)
def a_count_of_correct_answers(t: Any) -> Any:
    def correct(x: Any, y: Any) -> Any:
        return (x.argmax(1) == y).sum().item()

    f = t.capture(correct)
    x = t.array(np.eye(3, dtype="float32"))
    for k in range(3):
        found = f(x, t.array(np.array([0, k, 2])))
        yield found, type(found).__name__


@trap(*TENSORS)
def a_running_mean_by_hand(t: Any) -> Any:
    state = {"mean": t.xp.zeros(3), "n": 0}

    def f(x: Any) -> Any:
        state["n"] += 1
        state["mean"] += (x - state["mean"]) / state["n"]
        return x - state["mean"]

    g = t.capture(f)
    for k in range(3):
        yield g(t.x * k), state["mean"], state["n"]


@trap(*TENSORS)
def a_buffer_of_replay(t: Any) -> Any:
    memory: Any = collections.deque(maxlen=2)

    def f(x: Any) -> Any:
        memory.append(x.detach())
        return sum(memory)

    g = t.capture(f)
    for k in range(3):
        yield g(t.x * (k + 1))
