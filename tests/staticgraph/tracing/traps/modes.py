"""Modes of an engine: gradients, errors, printing."""

from __future__ import annotations

from typing import Any

import numpy as np

from .trap import trap


def _x(t: Any) -> Any:
    return t.x.requires_grad_()


@trap("tensors", "torch")
def no_grad_inside(t: Any) -> Any:
    def f(x: Any) -> Any:
        with t.xp.no_grad():
            y = x * 2
        return (y * x).sum()

    x = _x(t)
    t.capture(f)(x).backward()
    yield x.grad


@trap("tensors", "torch")
def no_grad_outside(t: Any) -> Any:
    f, x = t.capture(lambda x: x * 2), _x(t)
    yield f(x).requires_grad
    with t.xp.no_grad():
        yield f(x).requires_grad
    yield f(x).requires_grad


@trap("tensors", "torch")
def whether_gradients_are_recorded(t: Any) -> Any:
    f, x = t.capture(lambda x: x * 2 if t.xp.is_grad_enabled() else x), t.x
    yield f(x)
    with t.xp.no_grad():
        yield f(x)


@trap("tensors", "torch")
def gradients_are_switched_off_for_good(t: Any) -> Any:
    def f(x: Any) -> Any:
        t.xp.set_grad_enabled(False)
        return x * 2

    g = t.capture(f)
    try:
        yield g(t.x)
        yield t.xp.is_grad_enabled()
        t.xp.set_grad_enabled(True)
        yield g(t.x)
        yield t.xp.is_grad_enabled()
    finally:
        t.xp.set_grad_enabled(True)


@trap("tensors", "torch")
def detach(t: Any) -> Any:
    x = _x(t)
    t.capture(lambda x: (x.detach() * x).sum())(x).backward()
    yield x.grad


@trap("tensors", "torch")
def whether_an_argument_requires_grad(t: Any) -> Any:
    f = t.capture(lambda x: x * 2 if x.requires_grad else x)
    yield f(t.x)
    yield f(_x(t)).detach()


@trap("tensors", "torch")
def backward_inside(t: Any) -> Any:
    def f(x: Any) -> Any:
        (x * x).sum().backward()
        return x * 2

    x = _x(t)
    yield t.capture(f)(x).detach()
    yield x.grad


@trap("tensors", "torch")
def the_gradient_is_read(t: Any) -> Any:
    x = _x(t)
    (x * x).sum().backward()
    f = t.capture(lambda x: x * 2 if x.grad is None else x * 3)
    yield f(x).detach()


@trap("tensors", "torch")
def a_hook_on_what_is_computed(t: Any) -> Any:
    def f(x: Any) -> Any:
        y = x * 2
        y.register_hook(lambda g: g * 100)
        return y.sum()

    x = _x(t)
    t.capture(f)(x).backward()
    yield x.grad


@trap("tensors", "torch")
def a_hook_on_an_argument(t: Any) -> Any:
    x = _x(t)
    x.register_hook(lambda g: g * 10)
    t.capture(lambda x: (x * x).sum())(x).backward()
    yield x.grad


@trap("tensors", "torch")
def retain_grad(t: Any) -> Any:
    kept = []

    def f(x: Any) -> Any:
        y = x * 2
        y.retain_grad()
        kept.append(y)
        return y.sum()

    x = _x(t)
    t.capture(f)(x).backward()
    yield kept[0].grad


@trap("tensors", "torch")
def inference_mode(t: Any) -> Any:
    f, x = t.capture(lambda x: x * 2), _x(t)
    with t.xp.inference_mode():
        yield f(x).requires_grad
    yield f(x).requires_grad


@trap("tensors", "torch")
def a_function_with_its_own_gradient(t: Any) -> Any:
    class Double(t.xp.autograd.Function):  # type: ignore[misc,name-defined]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 50

    x = _x(t)
    t.capture(lambda x: Double.apply(x).sum())(x).backward()
    yield x.grad


@trap("tensors", "torch")
def a_seed_is_set_inside(t: Any) -> Any:
    def f(x: Any) -> Any:
        t.xp.manual_seed(0)
        return x * 2

    g = t.capture(f)
    t.xp.manual_seed(1)
    first = t.xp.rand(1)
    t.xp.manual_seed(1)
    yield g(t.x)
    yield bool((t.xp.rand(1) == first).all())
    t.xp.manual_seed(1)
    yield g(t.x)
    yield bool((t.xp.rand(1) == first).all())


@trap()
def errors_of_numpy_are_raised(t: Any) -> Any:
    f = t.capture(lambda x: x + float(np.float64(1.0) * 2))
    with np.errstate(all="raise"):
        yield f(t.x)


@trap()
def how_numpy_prints(t: Any) -> Any:
    w = np.array([1.23456])
    f = t.capture(lambda x: x * len(str(w)))
    yield f(t.x)
    with np.printoptions(precision=2):
        yield f(t.x)
