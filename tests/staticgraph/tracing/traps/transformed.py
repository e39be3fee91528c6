"""Transforms and functions of the user's with rules."""

from __future__ import annotations

import importlib
from typing import Any

from .trap import TENSORS, trap


def _part(t: Any, name: str) -> Any:
    """A part of the paradigm's package that is not imported with it."""
    return importlib.import_module(f"{t.xp.__name__}.{name}")


@trap(*TENSORS)
def vmap_of_a_closure(t: Any) -> Any:
    k = [2.0]
    f = t.capture(lambda x: t.xp.func.vmap(lambda row: row * k[0])(x[:, None]))
    yield f(t.x)
    k[0] = 3.0
    yield f(t.x)


@trap(*TENSORS)
def vmap_over_another_axis(t: Any) -> Any:
    axis = [0]
    f = t.capture(lambda x: t.xp.func.vmap(t.xp.sum, in_dims=axis[0])(x[:, None] * x))
    yield f(t.x)
    axis[0] = 1
    yield f(t.x)


@trap(*TENSORS)
def vmap_of_what_is_captured(t: Any) -> Any:
    w = t.xp.ones(3)
    f = t.capture(lambda row: (row * w).sum())
    yield t.xp.func.vmap(f)(t.x[:, None] * t.x)
    w.fill_(2.0)
    yield t.xp.func.vmap(f)(t.x[:, None] * t.x)


@trap(*TENSORS)
def a_gradient_by_func(t: Any) -> Any:
    w, k = t.xp.ones(3), [2.0]
    f = t.capture(lambda x: t.xp.func.grad(lambda y: (y * y * w * k[0]).sum())(x))
    yield f(t.x)
    k[0] = 3.0
    yield f(t.x)
    w.mul_(2)
    yield f(t.x)


@trap(*TENSORS)
def a_gradient_and_an_extra(t: Any) -> Any:
    k = [2.0]

    def loss(y: Any) -> Any:
        return (y * y).sum() * k[0], y + k[0]

    f = t.capture(lambda x: t.xp.func.grad(loss, has_aux=True)(x))
    yield f(t.x)
    k[0] = 3.0
    yield f(t.x)


@trap(*TENSORS)
def a_gradient_of_what_is_captured(t: Any) -> Any:
    w = t.xp.ones(3)
    f = t.capture(lambda x: (x * x * w).sum())
    yield t.xp.func.grad(f)(t.x)
    w.fill_(2.0)
    yield t.xp.func.grad(f)(t.x)


@trap(*TENSORS)
def a_jacobian_inside(t: Any) -> Any:
    k = [2.0]
    f = t.capture(lambda x: t.xp.func.jacrev(lambda y: y**2 * k[0])(x))
    yield f(t.x)
    k[0] = 3.0
    yield f(t.x)


@trap(*TENSORS)
def a_product_with_a_jacobian(t: Any) -> Any:
    v = t.xp.ones(3)
    f = t.capture(lambda x: t.xp.func.jvp(lambda y: y**2, (x,), (v,)))
    yield f(t.x)
    v.fill_(2.0)
    yield f(t.x)


@trap(*TENSORS)
def a_checkpoint_inside(t: Any) -> Any:
    k, w = [2.0], t.xp.ones(3).requires_grad_()
    checkpoint = _part(t, "utils.checkpoint").checkpoint

    def f(x: Any) -> Any:
        return checkpoint(lambda y: (y * w * k[0]).sin(), x, use_reentrant=False)

    g = t.capture(f)
    for _ in range(2):
        w.grad = None
        g(t.x).sum().backward()
        yield w.grad
        k[0] = 3.0


@trap(*TENSORS)
def a_rule_with_a_state(t: Any) -> Any:
    scale = [2.0]

    class Scaled(t.xp.autograd.Function):  # type: ignore[misc,name-defined]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.scale = scale[0]
            ctx.save_for_backward(x)
            return x * scale[0]

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (x,) = ctx.saved_tensors
            return g * ctx.scale + 0 * x

    f = t.capture(lambda x: Scaled.apply(x).sum())
    for _ in range(2):
        x = t.x.requires_grad_()
        f(x).backward()
        yield x.grad
        scale[0] = 5.0


@trap(*TENSORS)
def a_rule_that_asks_what_is_needed(t: Any) -> Any:
    class Product(t.xp.autograd.Function):  # type: ignore[misc,name-defined]
        @staticmethod
        def forward(ctx: Any, a: Any, b: Any) -> Any:
            ctx.save_for_backward(a, b)
            return a * b

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            a, b = ctx.saved_tensors
            first = 10 * g * b if ctx.needs_input_grad[0] else None
            second = 10 * g * a if ctx.needs_input_grad[1] else None
            return first, second

    f = t.capture(lambda a, b: Product.apply(a, b).sum())
    a, b = t.x.requires_grad_(), t.x.requires_grad_()
    f(a, b).backward()
    yield a.grad, b.grad
    a, b = t.x.requires_grad_(), t.x
    f(a, b).backward()
    yield a.grad, b.grad
    a, b = t.x, t.x.requires_grad_()
    f(a, b).backward()
    yield a.grad, b.grad


@trap(*TENSORS)
def a_hook_on_a_parameter(t: Any) -> Any:
    w = t.xp.ones(3).requires_grad_()
    f = t.capture(lambda x: (w * x).sum())
    f(t.x).backward()
    yield w.grad
    handle = w.register_hook(lambda g: g * 10)
    w.grad = None
    f(t.x).backward()
    yield w.grad
    handle.remove()
    w.grad = None
    f(t.x).backward()
    yield w.grad


@trap(*TENSORS)
def gradients_through_two_results(t: Any) -> Any:
    w = t.xp.ones(3).requires_grad_()
    f = t.capture(lambda x: (w * x, (w * w).sum()))
    a, b = f(t.x)
    (a.sum() + b).backward()
    yield w.grad
    w.grad = None
    a, b = f(t.x)
    b.backward()
    yield w.grad


@trap(*TENSORS)
def a_graph_that_is_used_twice(t: Any) -> Any:
    w = t.xp.ones(3).requires_grad_()
    f = t.capture(lambda x: (w * w * x).sum())
    y = f(t.x)
    y.backward(retain_graph=True)
    y.backward()
    yield w.grad
    try:
        y.backward()
    except RuntimeError as error:
        yield "second time" in str(error)


@trap(*TENSORS)
def a_parameter_changed_before_the_reverse_pass(t: Any) -> Any:
    w = t.xp.ones(3).requires_grad_()
    f = t.capture(lambda x: (w * w * x).sum())
    y = f(t.x)
    with t.xp.no_grad():
        w.add_(1)
    try:
        y.backward()
    except RuntimeError as error:
        yield "modified by an inplace operation" in str(error)


@trap(*TENSORS)
def a_second_derivative(t: Any) -> Any:
    f = t.capture(lambda x: (x**3).sum())
    x = t.x.requires_grad_()
    (g,) = t.xp.autograd.grad(f(x), x, create_graph=True)
    (h,) = t.xp.autograd.grad(g.sum(), x)
    yield g.detach(), h


@trap(*TENSORS)
def an_unused_input_of_grad(t: Any) -> Any:
    w = t.xp.ones(3).requires_grad_()

    def f(x: Any) -> Any:
        found = t.xp.autograd.grad((x * x).sum(), [x, w], allow_unused=True)
        return found[0], found[1] is None

    g = t.capture(f)
    yield g(t.x.requires_grad_())


@trap(*TENSORS)
def batches_of_a_loader(t: Any) -> Any:
    data = _part(t, "utils.data")
    w = [1.0]
    f = t.capture(lambda x, y: (x * w[0]).sum() + y.sum())
    pairs = data.TensorDataset(t.xp.arange(10.0).view(5, 2), t.xp.arange(5))
    for x, y in data.DataLoader(pairs, batch_size=2):
        yield f(x, y)
        w[0] += 1


@trap(*TENSORS)
def a_loader_inside(t: Any) -> Any:
    data = _part(t, "utils.data")
    rows = [t.xp.ones(2), 2 * t.xp.ones(2)]

    class Rows(data.Dataset):  # type: ignore[misc,name-defined]
        def __len__(self) -> int:
            return len(rows)

        def __getitem__(self, i: int) -> Any:
            return rows[i]

    loader = data.DataLoader(Rows(), batch_size=2)
    f = t.capture(lambda x: x.sum() + sum(batch.sum() for batch in loader))
    yield f(t.x)
    rows.append(5 * t.xp.ones(2))
    yield f(t.x)


@trap(*TENSORS)
def a_density_of_a_distribution(t: Any) -> Any:
    d = _part(t, "distributions")
    scale = t.xp.tensor(1.0)
    f = t.capture(lambda x: d.Normal(x, scale).log_prob(x * 2).sum())
    yield f(t.x)
    scale.fill_(3.0)
    yield f(t.x)
