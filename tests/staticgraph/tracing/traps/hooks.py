"""Hooks on gradients: of what is made inside, of parameters, put there before or after a call."""

from __future__ import annotations

from typing import Any

from .trap import TENSORS, trap


def _leaf(t: Any, *numbers: float) -> Any:
    return t.xp.tensor(list(numbers)).requires_grad_()


def _trained(t: Any, w: Any) -> Any:
    opt = t.xp.optim.SGD([w], lr=0.1)

    def step(x: Any) -> Any:
        opt.zero_grad()
        loss = (w * x).sum()
        loss.backward()
        opt.step()
        return loss.detach()

    return t.capture(step)


@trap(*TENSORS)
def a_hook_comes_and_goes(t: Any) -> Any:
    w, factor = _leaf(t, 1.0, 2.0, 3.0), [0.5]
    f = _trained(t, w)
    yield f(t.x), w
    handle = w.register_hook(lambda g: g * factor[0])
    yield f(t.x), w
    factor[0] = 2.0
    yield f(t.x), w
    handle.remove()
    yield f(t.x), w


@trap(*TENSORS)
def hooks_in_a_row(t: Any) -> Any:
    w = _leaf(t, 1.0, 2.0, 3.0)
    f = _trained(t, w)
    w.register_hook(lambda g: g + 1)
    w.register_hook(lambda g: g * 3)
    yield f(t.x), w
    w.register_hook(lambda g: None)
    w.register_hook(lambda g: -g)
    yield f(t.x), w


@trap(*TENSORS)
def gradients_that_hooks_accumulate(t: Any) -> Any:
    w = _leaf(t, 1.0, 2.0, 3.0)
    f = t.capture(lambda x: (w * x).sum().backward())
    f(t.x)
    yield w.grad
    handle = w.register_hook(lambda g: g * 10)
    f(t.x)
    yield w.grad
    handle.remove()
    f(t.x)
    yield w.grad


@trap(*TENSORS)
def a_hook_after_the_gradient_is_there(t: Any) -> Any:
    w, seen = _leaf(t, 1.0, 2.0, 3.0), [0]
    f = _trained(t, w)
    yield f(t.x), seen[0]

    def after(one: Any) -> None:
        seen[0] += 1

    w.register_post_accumulate_grad_hook(after)
    yield f(t.x), seen[0]


@trap(*TENSORS)
def a_step_within_a_hook(t: Any) -> Any:
    w = _leaf(t, 1.0, 2.0, 3.0)
    opt = t.xp.optim.SGD([w], lr=0.1)

    def after(one: Any) -> None:
        opt.step()
        opt.zero_grad()

    w.register_post_accumulate_grad_hook(after)
    f = t.capture(lambda x: (w * x).sum().backward())
    f(t.x)
    yield w
    f(t.x)
    yield w


@trap(*TENSORS)
def a_hook_of_a_parameter_is_put_inside(t: Any) -> Any:
    w = _leaf(t, 1.0, 2.0, 3.0)

    def step(x: Any) -> None:
        w.register_hook(lambda g: g * 2)
        (w * x).sum().backward()

    f = t.capture(step)
    for _ in range(2):
        f(t.x)
        yield w.grad


@trap(*TENSORS)
def a_hook_of_a_parameter_for_one_pass(t: Any) -> Any:
    w = _leaf(t, 1.0, 2.0, 3.0)

    def step(x: Any) -> None:
        handle = w.register_hook(lambda g: g * 2)
        (w * x).sum().backward()
        handle.remove()

    f = t.capture(step)
    for _ in range(2):
        f(t.x)
        yield w.grad


@trap(*TENSORS)
def a_hook_and_a_gradient_that_is_returned(t: Any) -> Any:
    w = _leaf(t, 1.0, 2.0, 3.0)
    f = t.capture(lambda x: t.xp.autograd.grad((w * x).sum(), [w])[0])
    yield f(t.x)
    handle = w.register_hook(lambda g: g * 2)
    yield f(t.x)
    handle.remove()
    yield f(t.x)


@trap(*TENSORS)
def a_hook_on_what_is_used_before_and_after(t: Any) -> Any:
    w = _leaf(t, 1.0, 2.0, 3.0)

    def step(x: Any) -> Any:
        y = w * x
        first = y.sum()
        y.register_hook(lambda g: g * 2)
        (first + (y * y).sum()).backward()
        return y.detach()

    f = t.capture(step)
    yield f(t.x), w.grad
    yield f(t.x), w.grad


@trap(*TENSORS)
def a_hook_that_is_taken_off_before_the_pass(t: Any) -> Any:
    w = _leaf(t, 1.0, 2.0, 3.0)

    def step(x: Any) -> Any:
        y = w * x
        kept = y.register_hook(lambda g: g * 2)
        gone = y.register_hook(lambda g: g * 100)
        gone.remove()
        y.sum().backward(retain_graph=True)
        kept.remove()
        y.sum().backward()
        return y.detach()

    f = t.capture(step)
    yield f(t.x), w.grad


@trap(*TENSORS)
def a_hook_before_a_write(t: Any) -> Any:
    w = _leaf(t, 1.0, 2.0, 3.0)

    def step(x: Any) -> Any:
        y = w * x
        y.register_hook(lambda g: g * 2)
        y.mul_(3.0)
        y.sum().backward()
        return y.detach()

    f = t.capture(step)
    yield f(t.x), w.grad


@trap(*TENSORS)
def a_hook_on_a_leaf_made_inside(t: Any) -> Any:
    def step(x: Any) -> Any:
        y = x.detach().clone().requires_grad_()
        y.register_hook(lambda g: g * 5)
        (y * y).sum().backward()
        return y.grad

    f = t.capture(step)
    yield f(t.x), f(t.x * 2)


@trap(*TENSORS)
def a_hook_that_counts(t: Any) -> Any:
    w, seen, kept = _leaf(t, 1.0, 2.0, 3.0), [0], []

    def counted(g: Any) -> None:
        seen[0] += 1
        kept.append(g.sum().item())

    def step(x: Any) -> Any:
        y = w * x
        y.register_hook(counted)
        y.sum().backward()
        return y.detach()

    f = t.capture(step)
    for k in range(3):
        yield f(t.x + k), seen[0], list(kept)


@trap(*TENSORS)
def a_hook_on_what_is_returned(t: Any) -> Any:
    w = _leaf(t, 1.0, 2.0, 3.0)

    def f(x: Any) -> Any:
        y = w * x
        y.register_hook(lambda g: g * 2)
        return y * y

    g = t.capture(f)
    g(t.x).sum().backward()
    yield w.grad


@trap(*TENSORS)
def a_hook_on_the_result_outside(t: Any) -> Any:
    w = _leaf(t, 1.0, 2.0, 3.0)
    g = t.capture(lambda x: w * x)
    for k in range(2):
        y = g(t.x)
        y.register_hook(lambda g, k=k: g * (2 + k))
        y.sum().backward()
        yield w.grad


@trap(*TENSORS)
def gradients_that_are_retained(t: Any) -> Any:
    w = _leaf(t, 1.0, 2.0, 3.0)

    def step(x: Any) -> Any:
        y = w * x
        z = y * y
        y.retain_grad()
        z.retain_grad()
        z.sum().backward(retain_graph=True)
        first = y.grad.clone()
        (2 * z).sum().backward()
        return first, y.grad, z.grad, y.retains_grad

    f = t.capture(step)
    yield f(t.x)
    yield f(t.x * 2), w.grad


@trap(*TENSORS)
def a_retained_gradient_behind_a_hook(t: Any) -> Any:
    w, on = _leaf(t, 1.0, 2.0, 3.0), [True]

    def step(x: Any) -> Any:
        y = w * x
        if on[0]:
            y.register_hook(lambda g: g * 2)
        y.retain_grad()
        y.sum().backward()
        return y.grad

    f = t.capture(step)
    yield f(t.x), w.grad
    on[0] = False
    yield f(t.x), w.grad


@trap(*TENSORS)
def a_hook_in_a_second_derivative(t: Any) -> Any:
    w = _leaf(t, 1.0, 2.0, 3.0)

    def step(x: Any) -> Any:
        y = w * w
        y.register_hook(lambda g: g * 2)
        (g,) = t.xp.autograd.grad((y * x).sum(), [w], create_graph=True)
        (g * g).sum().backward()
        return g.detach()

    f = t.capture(step)
    yield f(t.x), w.grad


@trap(*TENSORS)
def a_hook_of_a_wrong_shape(t: Any) -> Any:
    w = _leaf(t, 1.0, 2.0, 3.0)
    yield 1

    def step(x: Any) -> Any:
        y = w * x
        y.register_hook(lambda g: g.sum())
        y.sum().backward()
        return y.detach()

    f = t.capture(step)
    yield f(t.x)


@trap(*TENSORS)
def a_hook_of_a_module_clips_gradients(t: Any) -> Any:
    layer, limit = t.nn.Linear(3, 1), [0.5]
    with t.xp.no_grad():
        layer.weight.fill_(0.5)
        layer.bias.fill_(0.0)
    for one in layer.parameters():
        one.register_hook(lambda g: g.clamp(-limit[0], limit[0]))
    opt = t.xp.optim.SGD(layer.parameters(), lr=0.1)

    def step(x: Any) -> Any:
        opt.zero_grad()
        loss = layer(x).pow(2).sum()
        loss.backward()
        opt.step()
        return loss.detach()

    f = t.capture(step)
    yield f(t.x), layer.weight
    limit[0] = 0.1
    yield f(t.x), layer.weight
