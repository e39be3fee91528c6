"""Training loops as they are written: gradients of before, memory that is shared or exchanged."""

from __future__ import annotations

import importlib
import logging
import sys
import types
from typing import Any

import numpy as np

from .trap import TENSORS, trap


def _leaf(t: Any, *numbers: float) -> Any:
    return t.xp.tensor(list(numbers)).requires_grad_()


def _sgd(t: Any, *tensors: Any, **options: Any) -> Any:
    return t.xp.optim.SGD(list(tensors), lr=0.1, **options)


@trap(*TENSORS)
def a_gradient_that_is_cleared_after_the_step(t: Any) -> Any:
    w = _leaf(t, 1.0, 2.0)
    opt = _sgd(t, w)

    def step(x: Any) -> Any:
        (w * w * x).sum().backward()
        norm = t.nn.utils.clip_grad_norm_([w], 0.5)
        opt.step()
        opt.zero_grad()
        return norm

    f = t.capture(step)
    for k in range(3):
        yield f(t.x[:2] * k), w, w.grad is None


@trap(*TENSORS)
def a_gradient_of_before_is_scaled(t: Any) -> Any:
    w = _leaf(t, 1.0, 2.0, 3.0)

    def accumulate(x: Any) -> Any:
        (w * x).sum().backward()
        w.grad.mul_(0.5)
        return w.grad * 1

    f, before = t.capture(accumulate), None
    for _ in range(3):
        yield f(t.x), w.grad, before
        before = w.grad
    w.grad = None
    yield f(t.x)


@trap(*TENSORS)
def a_gradient_that_is_returned_goes_on(t: Any) -> Any:
    w = _leaf(t, 1.0, 2.0, 3.0)

    def gradient(x: Any) -> Any:
        (w * x).sum().backward()
        return w.grad

    f = t.capture(gradient)
    found = [f(t.x), f(t.x)]
    yield found[0], found[1], found[0] is w.grad


@trap(*TENSORS)
def a_gradient_that_may_be_missing(t: Any) -> Any:
    ws = [_leaf(t, 1.0), _leaf(t, 2.0)]

    def norm(x: Any) -> Any:
        (ws[0] * x).sum().backward()
        return sum(w.grad.sum() for w in ws if w.grad is not None)

    f = t.capture(norm)
    yield f(t.x)
    ws[1].grad = t.xp.ones(1)
    yield f(t.x)
    ws[0].grad = None
    yield f(t.x)


@trap(*TENSORS)
def a_gradient_has_another_name(t: Any) -> Any:
    w, held = _leaf(t, 1.0, 2.0, 3.0), t.xp.ones(3)
    w.grad = held

    def f(x: Any) -> Any:
        (w * x).sum().backward()
        return held.sum()

    yield t.capture(f)(t.x)


@trap(*TENSORS)
def a_parameter_has_another_name(t: Any) -> Any:
    w = _leaf(t, 1.0, 2.0, 3.0)
    other, opt = w.detach(), _sgd(t, w)

    def step(x: Any) -> Any:
        opt.zero_grad()
        (w * x).sum().backward()
        opt.step()
        return other.sum()

    yield t.capture(step)(t.x)


@trap(*TENSORS)
def a_parameter_is_on_an_array(t: Any) -> Any:
    array = np.ones(3, "float32")
    w = t.xp.from_numpy(array)

    def f(x: Any) -> Any:
        w.add_(x)
        return x * float(array.sum())

    yield t.capture(f)(t.x)


@trap(*TENSORS)
def what_an_optimizer_keeps(t: Any) -> Any:
    w = _leaf(t, 1.0, 2.0, 3.0)
    opt = _sgd(t, w, momentum=0.9)

    def step(x: Any) -> Any:
        opt.zero_grad()
        (w * x).sum().backward()
        opt.step()

    step(t.x)
    kept = opt.state[w]["momentum_buffer"]
    f = t.capture(lambda x: (step(x), kept.sum())[1])
    yield f(t.x), f(t.x)


@trap(*TENSORS)
def the_data_becomes_an_average(t: Any) -> Any:
    slow, fast = _leaf(t, 1.0, 2.0, 3.0), _leaf(t, 4.0, 5.0, 6.0)
    old = slow.detach()

    def follow(x: Any) -> Any:
        slow.data = slow.data * 0.9 + fast.data * 0.1
        return (slow * x).sum()

    f = t.capture(follow)
    for _ in range(2):
        yield f(t.x).detach(), slow, old


@trap(*TENSORS)
def the_data_becomes_that_of_another(t: Any) -> Any:
    def give(x: Any, y: Any) -> Any:
        x.data = y.data
        return x.sum()

    x, y = t.x, t.x * 2
    yield t.capture(give)(x, y)
    y += 1
    yield x


@trap(*TENSORS)
def a_view_of_before_the_data_moved(t: Any) -> Any:
    def move(x: Any) -> Any:
        head = x[:2]
        x.data = x.data * 3
        return head * 1

    yield t.capture(move)(t.x)


@trap(*TENSORS)
def a_confusion_matrix(t: Any) -> Any:
    counts = t.xp.zeros(2, 2)

    def count(i: Any) -> Any:
        counts.view(-1).index_add_(0, i, t.xp.ones(i.shape[0]))
        return counts.sum()

    f = t.capture(count)
    for _ in range(2):
        yield f(t.array(np.array([0, 3, 3]))), counts


@trap("arrays", "tensors", "torch")
def the_second_of_two_normal_numbers(t: Any) -> Any:
    np.random.seed(3)
    np.random.normal()
    f = t.capture(lambda x: x + np.random.normal())
    yield [f(t.x) for _ in range(3)]


@trap("arrays", "tensors", "torch")
def a_line_in_a_log(t: Any) -> Any:
    records: list[Any] = []
    log = logging.getLogger("staticgraph.traps")
    log.handlers, log.propagate, log.level = [_Keeping(records)], False, logging.INFO

    def f(x: Any) -> Any:
        log.info("called")
        return x

    g = t.capture(f)
    g(t.x), g(t.x)
    yield len(records)


class _Keeping(logging.Handler):
    def __init__(self, records: list[Any]) -> None:
        super().__init__()
        self.records = records

    def emit(self, record: Any) -> None:
        self.records.append(record)


@trap()
def two_functions_of_one_line_that_are_found_late(t: Any) -> Any:
    def factor(box: list[float]) -> Any:
        return lambda x: x * box[0]

    boxes = [[2.0], [3.0]]
    module: Any = types.ModuleType("found_late")
    module.functions = [factor(box) for box in boxes]
    sys.modules["found_late"] = module

    def f(x: Any) -> Any:
        for one in importlib.import_module("found_late").functions:
            x = one(x)
        return x

    g = t.capture(f)
    for i in (0, 1, 0):
        yield g(t.x)
        boxes[i][0] += 1.0
    yield g(t.x)


@trap("arrays", "jax")
def an_element_of_an_array_is_set(t: Any) -> Any:
    def f(x: Any) -> Any:
        out = np.zeros(3)
        out[1:] = x[1:]
        return out

    yield t.capture(f)(t.x)


@trap(*TENSORS)
def schedulers_with_a_step_of_their_own(t: Any) -> Any:
    schedulers = t.xp.optim.lr_scheduler
    makers = [
        lambda opt: schedulers.CosineAnnealingWarmRestarts(opt, 2),
        lambda opt: schedulers.SequentialLR(
            opt, [schedulers.LinearLR(opt, 0.1, 1.0, 2), schedulers.ExponentialLR(opt, 0.5)], [2]
        ),
        lambda opt: schedulers.ChainedScheduler([schedulers.ExponentialLR(opt, 0.5)]),
    ]
    for make in makers:
        w = _leaf(t, 1.0, 2.0, 3.0)
        opt = _sgd(t, w)
        scheduler = make(opt)

        def step(x: Any, w: Any = w, opt: Any = opt, scheduler: Any = scheduler) -> Any:
            opt.zero_grad()
            (w * x).sum().backward()
            opt.step()
            scheduler.step()
            return w.detach() * 1.0

        f = t.capture(step)
        for _ in range(4):
            yield f(t.x), opt.param_groups[0]["lr"], scheduler.last_epoch


@trap(*TENSORS)
def a_scheduler_of_numbers(t: Any) -> Any:
    w = _leaf(t, 1.0, 2.0, 3.0)
    opt = _sgd(t, w)
    scheduler = t.xp.optim.lr_scheduler.ReduceLROnPlateau(opt, patience=0)

    def step(x: Any) -> Any:
        (w * x).sum().backward()
        opt.step()
        scheduler.step(1.0)
        return w.detach() * 1.0

    f = t.capture(step)
    for _ in range(4):
        yield f(t.x), opt.param_groups[0]["lr"], scheduler.num_bad_epochs


@trap(*TENSORS)
def a_scheduler_is_asked_for_its_rates_and_set_back(t: Any) -> Any:
    w = _leaf(t, 1.0, 2.0, 3.0)
    opt = _sgd(t, w)
    scheduler = t.xp.optim.lr_scheduler.StepLR(opt, 1, 0.5)
    start = scheduler.state_dict() | {}

    def back(x: Any) -> Any:
        scheduler.load_state_dict(start)
        (w * x).sum().backward()
        opt.step()
        scheduler.step()
        return w.detach() * 1.0

    f = t.capture(back)
    for _ in range(3):
        yield f(t.x), opt.param_groups[0]["lr"], scheduler.last_epoch

    def asked(x: Any) -> Any:
        (w * x).sum().backward()
        opt.step()
        scheduler.step()
        return x.sum() * scheduler.get_last_lr()[0]

    f = t.capture(asked)
    for _ in range(3):
        yield f(t.x)


@trap(*TENSORS)
def a_loss_is_scaled_and_the_factor_changes(t: Any) -> Any:
    scaler = t.xp.amp.GradScaler("cpu", init_scale=4.0)
    f = t.capture(lambda x: scaler.scale(x.sum()))
    yield f(t.x)
    scaler.update(2.0)
    yield f(t.x)


@trap(*TENSORS)
def an_optimizer_is_set_back_in_the_step(t: Any) -> Any:
    w = _leaf(t, 1.0, 2.0, 3.0)
    opt = _sgd(t, w, momentum=0.9)
    start = opt.state_dict()

    def step(x: Any) -> Any:
        opt.load_state_dict(start)
        opt.zero_grad()
        (w * x).sum().backward()
        opt.step()
        return w.detach() * 1.0

    f = t.capture(step)
    for _ in range(3):
        yield f(t.x)
