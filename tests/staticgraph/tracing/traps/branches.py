"""Branches on values that change what a function does beside the values that it returns."""

from __future__ import annotations

from typing import Any

import numpy as np

from .trap import TENSORS, trap


def _both(t: Any, f: Any) -> Any:
    g = t.capture(f)
    for sign in (1, -1, 1):
        yield g(t.x * sign)


@trap()
def an_alias_is_changed_on_a_side(t: Any) -> Any:
    def f(x: Any) -> Any:
        y = x * 1
        z = y
        if x.sum() > 0:
            y += 1
        return z

    yield from _both(t, f)


@trap()
def an_argument_is_changed_on_a_side(t: Any) -> Any:
    def f(x: Any) -> Any:
        if x.sum() > 0:
            x += 1
        return x * 2

    g = t.capture(f)
    for sign in (1, -1):
        x = t.x * sign
        yield g(x), x


@trap(*TENSORS)
def the_argument_itself_is_returned_on_a_side(t: Any) -> Any:
    g = t.capture(lambda x: x if x.sum() > 0 else x * 1)
    for sign in (1, -1):
        x = t.x * sign
        y = g(x)
        y += 10
        yield x


@trap(*TENSORS)
def a_parameter_that_a_side_does_not_read(t: Any) -> Any:
    first, second = t.nn.Linear(3, 1), t.nn.Linear(3, 1)
    g = t.capture(lambda x: (first(x) if x.sum() > 0 else second(x)).sum())
    for sign in (1, -1):
        first.weight.grad = second.weight.grad = None
        g(t.x * sign).backward()
        yield first.weight.grad, second.weight.grad


@trap(*TENSORS)
def a_result_without_a_gradient_on_a_side(t: Any) -> Any:
    g = t.capture(lambda x: x * 2 if x.sum() > 0 else x.detach() * 2)
    for sign in (1, -1):
        x = (t.x * sign).requires_grad_()
        yield g(x).requires_grad


@trap(*TENSORS)
def a_step_on_a_side(t: Any) -> Any:
    layer = t.nn.Linear(3, 1)
    with t.xp.no_grad():
        layer.weight.fill_(0.5)
        layer.bias.fill_(0.0)
    optimizer = t.xp.optim.SGD(layer.parameters(), lr=0.1)

    def step(x: Any) -> Any:
        loss = layer(x).square().sum()
        optimizer.zero_grad()
        if loss < 2:
            loss.backward()
            optimizer.step()
        return loss.detach()

    g = t.capture(step)
    for scale in (1, 5, 1):
        yield g(t.x * scale)
        yield layer.weight.detach().clone()


@trap(*TENSORS)
def statistics_on_a_side(t: Any) -> Any:
    norm = t.nn.BatchNorm1d(1)

    def f(x: Any) -> Any:
        rows = x.reshape(3, 1)
        return norm(rows) if x.sum() > 0 else rows

    g = t.capture(f)
    for sign in (1, -1, 1):
        yield g(t.x * sign).detach()
        yield norm.running_mean.clone()


@trap(*TENSORS)
def random_numbers_on_a_side(t: Any) -> Any:
    g = t.capture(lambda x: x + t.xp.rand(3) if x.sum() > 0 else x)
    t.xp.manual_seed(0)
    for sign in (1, -1, 1):
        yield g(t.x * sign)


@trap()
def a_list_of_the_surroundings_on_a_side(t: Any) -> Any:
    seen: list[int] = []

    def f(x: Any) -> Any:
        if x.sum() > 0:
            seen.append(1)
        return x

    g = t.capture(f)
    for sign in (1, -1, 1):
        yield g(t.x * sign)
        yield len(seen)


@trap()
def a_local_list_on_a_side(t: Any) -> Any:
    def f(x: Any) -> Any:
        found = [x]
        if x.sum() > 0:
            found.append(x * 2)
        return sum(found)

    yield from _both(t, f)


@trap()
def an_error_on_a_side_that_is_caught(t: Any) -> Any:
    def f(x: Any) -> Any:
        try:
            if x.sum() > 0:
                raise KeyError("positive")
        except KeyError:
            return x * 2
        return x

    yield from _both(t, f)


@trap()
def a_shape_by_value(t: Any) -> Any:
    yield from _both(t, lambda x: x[:2] if x.sum() > 0 else x)


@trap()
def a_dtype_by_value(t: Any) -> Any:
    yield from _both(t, lambda x: x > 0 if x.sum() > 0 else x)


@trap()
def a_number_by_value(t: Any) -> Any:
    yield from _both(t, lambda x: x * (2 if x.sum() > 0 else 3))


@trap()
def steps_until_it_is_small(t: Any) -> Any:
    def f(x: Any) -> Any:
        for _ in range(4):
            if (x * x).sum() < 5:
                break
            x = x / 2
        return x

    yield from _both(t, f)


@trap()
def a_comparison_with_nan(t: Any) -> Any:
    g = t.capture(lambda x: x * 2 if not x.sum() < 0 else x)
    yield g(t.x)
    yield g(t.array(np.array([np.nan, 1, 2], "float32")))
