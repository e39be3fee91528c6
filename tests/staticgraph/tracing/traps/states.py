"""What hooks, modes, groups and names of parameters change between calls."""

from __future__ import annotations

from typing import Any

import numpy as np

from .trap import trap


@trap("tensors", "torch")
def a_hook_changes_a_buffer(t: Any) -> Any:
    class Net(t.nn.Module):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("calls", t.array(np.zeros(1, "float32")))

        def forward(self, x: Any) -> Any:
            return x * (self.calls + 1)

    net = Net()
    net.register_forward_hook(lambda module, given, out: module.calls.add_(1))
    f = t.capture(net)
    for _ in range(3):
        yield f(t.x)
    yield net.calls


@trap("tensors", "torch")
def a_hook_before_exchanges_a_buffer(t: Any) -> Any:
    class Net(t.nn.Module):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("scale", t.array(np.ones(1, "float32")))

        def forward(self, x: Any) -> Any:
            return x * self.scale

    def doubled(module: Any, given: Any) -> None:
        module.scale = module.scale * 2

    net = Net()
    net.register_forward_pre_hook(doubled)
    f = t.capture(net)
    for _ in range(3):
        yield f(t.x)
    yield net.scale


@trap("tensors", "torch")
def the_groups_of_an_optimizer_change(t: Any) -> Any:
    w = t.array(np.ones(3, "float32")).requires_grad_()
    v = t.array(np.ones(3, "float32")).requires_grad_()
    optimizer = t.xp.optim.SGD([{"params": [w]}, {"params": [v], "lr": 0.5}], lr=0.1)

    def step(x: Any) -> Any:
        optimizer.zero_grad()
        loss = (w * x + v).sum()
        loss.backward()
        optimizer.step()
        return loss.detach()

    g = t.capture(step)
    yield g(t.x)
    optimizer.param_groups[1]["lr"] = 0.0
    yield g(t.x)
    optimizer.param_groups[0]["weight_decay"] = 0.5
    yield g(t.x)
    optimizer.param_groups.pop()
    yield g(t.x)
    yield w.detach(), v.detach()


@trap("tensors", "torch")
def a_scope_of_autocast_that_is_left(t: Any) -> Any:
    w = t.array(np.ones((3, 3), "float32"))

    def f(x: Any) -> Any:
        with t.xp.autocast("cpu", dtype=t.xp.float16):
            y = x @ w
        return y.float() + (x @ w)

    g = t.capture(f)
    yield g(t.x)
    w += 1
    yield g(t.x)


@trap("tensors", "torch")
def a_subclass_of_tensors(t: Any) -> Any:
    class Scaled(t.xp.Tensor):  # type: ignore[misc,name-defined]
        def doubled(self) -> Any:
            return self * 2

    def f(x: Any) -> Any:
        return x.doubled() if isinstance(x, Scaled) else x * 3

    g = t.capture(f)
    yield g(t.x)
    yield g(t.x.as_subclass(Scaled)) * 1


@trap("tensors", "torch")
def set_grad_enabled_by_a_flag(t: Any) -> Any:
    flags = [True]

    def f(x: Any) -> Any:
        with t.xp.set_grad_enabled(flags[0]):
            y = x * 2
        return (y * x).sum()

    g = t.capture(f)
    for flag in (True, False, True):
        flags[0] = flag
        x = t.x.requires_grad_()
        g(x).backward()
        yield x.grad


@trap("tensors", "torch")
def the_default_dtype_set_and_left_inside(t: Any) -> Any:
    def f(x: Any) -> Any:
        t.xp.set_default_dtype(t.xp.float64)
        y = t.xp.zeros(3) + 1
        t.xp.set_default_dtype(t.xp.float32)
        return x * y

    g = t.capture(f)
    yield g(t.x)
    yield g(t.x)
    yield str(t.xp.get_default_dtype())


@trap("tensors", "torch")
def a_state_dict_is_kept_over_a_step(t: Any) -> Any:
    layer = t.nn.Linear(3, 1)
    layer.weight.data.fill_(1.0)
    layer.bias.data.fill_(0.0)
    kept = layer.state_dict()
    f = t.capture(lambda x: layer(x) + kept["weight"].sum())
    yield f(t.x).detach()
    layer.weight.data.fill_(2.0)
    yield f(t.x).detach()
    kept["weight"] = kept["weight"] * 5
    yield f(t.x).detach()


@trap("tensors", "torch")
def a_parameter_among_defaults(t: Any) -> Any:
    w = t.array(np.ones(3, "float32"))

    def f(x: Any, scale: Any = w, *, shift: Any = w) -> Any:
        return x * scale + shift

    g = t.capture(f)
    yield g(t.x)
    w.fill_(3.0)
    yield g(t.x)
    f.__defaults__ = (w * 2,)
    yield g(t.x)
    f.__kwdefaults__["shift"] = w * 0
    yield g(t.x)


@trap("tensors", "torch")
def a_view_of_a_view_of_the_outside_is_written(t: Any) -> Any:
    buffer = t.array(np.zeros((2, 3), "float32"))
    row = buffer[1][1:]

    def f(x: Any) -> Any:
        row.add_(x[:2])
        return buffer * 1

    g = t.capture(f)
    for _ in range(3):
        yield g(t.x)
    yield buffer


@trap()
def a_view_of_a_view_is_written_inside(t: Any) -> Any:
    def f(x: Any) -> Any:
        y = x * 1
        z = y[1:]
        z[0:1] += 5
        z[1:][0:1] *= 2
        return y

    g = t.capture(f)
    yield g(t.x)
    yield g(t.x * 2)
