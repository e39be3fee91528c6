"""Modules of an eager engine: parameters, buffers, modes, hooks, parts."""

from __future__ import annotations

from typing import Any

import numpy as np

from .trap import trap

FORMS = ("tensors", "torch")


def _linear(t: Any, sizes: tuple[int, int] = (3, 3), value: float = 0.5) -> Any:
    layer = t.nn.Linear(*sizes)
    with t.xp.no_grad():
        layer.weight.fill_(value)
        layer.bias.fill_(value)
    return layer


@trap(*FORMS)
def a_parameter_changes_in_place(t: Any) -> Any:
    layer = _linear(t)
    f = t.capture(layer)
    yield f(t.x).detach()
    with t.xp.no_grad():
        layer.weight.mul_(2)
    yield f(t.x).detach()


@trap(*FORMS)
def a_parameter_is_replaced(t: Any) -> Any:
    layer = _linear(t)
    f = t.capture(layer)
    yield f(t.x).detach()
    layer.weight = t.nn.Parameter(t.array(np.eye(3, dtype="float32")))
    yield f(t.x).detach()


@trap(*FORMS)
def the_sizes_of_a_parameter(t: Any) -> Any:
    layer = _linear(t)
    f = t.capture(layer)
    yield f(t.x).detach()
    layer.weight = t.nn.Parameter(t.array(np.ones((2, 3), "float32")))
    layer.bias = t.nn.Parameter(t.array(np.ones(2, "float32")))
    yield f(t.x).detach()


@trap(*FORMS)
def a_module_closed_over(t: Any) -> Any:
    layer = _linear(t)
    f = t.capture(lambda x: layer(x) * 2)
    yield f(t.x).detach()
    with t.xp.no_grad():
        layer.weight.mul_(2)
    yield f(t.x).detach()


@trap(*FORMS)
def gradients_of_a_module_closed_over(t: Any) -> Any:
    layer = _linear(t)
    t.capture(lambda x: layer(x).sum())(t.x).backward()
    yield layer.weight.grad


@trap(*FORMS)
def a_module_of_an_attribute(t: Any) -> Any:
    class Model:
        def __init__(self) -> None:
            self.layer = _linear(t)

        def apply(self, x: Any) -> Any:
            return self.layer(x)

    model = Model()
    f = t.capture(model.apply)
    yield f(t.x).detach()
    model.layer = _linear(t, value=2.0)
    yield f(t.x).detach()


@trap(*FORMS)
def an_attribute_of_a_module(t: Any) -> Any:
    class Scaled(t.nn.Module):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.layer = _linear(t)
            self.scale = 2.0

        def forward(self, x: Any) -> Any:
            return self.layer(x) * self.scale

    model = Scaled()
    f = t.capture(model)
    yield f(t.x).detach()
    model.scale = 5.0
    yield f(t.x).detach()


@trap(*FORMS)
def an_attribute_of_an_inner_module(t: Any) -> Any:
    model = t.nn.Sequential(_linear(t), t.nn.LeakyReLU(0.1))
    f = t.capture(model)
    yield f(-t.x).detach()
    model[1].negative_slope = 0.5
    yield f(-t.x).detach()


@trap(*FORMS)
def evaluation_mode(t: Any) -> Any:
    model = t.nn.Sequential(_linear(t), t.nn.Dropout(1.0))
    model.eval()
    f = t.capture(model)
    yield f(t.x).detach()
    model.train()
    yield f(t.x).detach()


@trap(*FORMS)
def dropout_in_training(t: Any) -> Any:
    f = t.capture(t.nn.Dropout(0.5))
    t.xp.manual_seed(0)
    yield f(t.x)
    yield f(t.x)


@trap(*FORMS)
def statistics_of_a_batch(t: Any) -> Any:
    layer = t.nn.BatchNorm1d(3)
    f = t.capture(layer)
    x = t.array(np.arange(6, dtype="float32").reshape(2, 3))
    yield f(x).detach()
    yield f(x * 3).detach()
    yield layer.running_mean
    yield layer.num_batches_tracked


@trap(*FORMS)
def running_statistics(t: Any) -> Any:
    layer = t.nn.BatchNorm1d(3).eval()
    f = t.capture(layer)
    x = t.array(np.arange(6, dtype="float32").reshape(2, 3))
    yield f(x).detach()
    layer.running_mean.add_(1)
    yield f(x).detach()


@trap(*FORMS)
def the_epsilon_of_a_layer(t: Any) -> Any:
    layer = t.nn.LayerNorm(3)
    f = t.capture(layer)
    yield f(t.x).detach()
    layer.eps = 10.0
    yield f(t.x).detach()


@trap(*FORMS)
def a_part_is_replaced(t: Any) -> Any:
    model = t.nn.Sequential(_linear(t), t.nn.ReLU())
    f = t.capture(model)
    yield f(t.x).detach()
    model[1] = t.nn.Tanh()
    yield f(t.x).detach()


@trap(*FORMS)
def a_part_is_added(t: Any) -> Any:
    model = t.nn.Sequential(_linear(t))
    f = t.capture(model)
    yield f(t.x).detach()
    model.append(t.nn.Tanh())
    yield f(t.x).detach()


@trap(*FORMS)
def a_hook_is_added(t: Any) -> Any:
    layer = _linear(t)
    f = t.capture(layer)
    yield f(t.x).detach()
    layer.register_forward_hook(lambda module, args, out: out * 2)
    yield f(t.x).detach()


@trap(*FORMS)
def a_hook_is_exchanged(t: Any) -> Any:
    layer = _linear(t)
    handle = layer.register_forward_hook(lambda module, args, out: out * 2)
    f = t.capture(layer)
    yield f(t.x).detach()
    handle.remove()
    layer.register_forward_hook(lambda module, args, out: out * 3)
    yield f(t.x).detach()


@trap(*FORMS)
def what_a_hook_reads(t: Any) -> Any:
    layer, k = _linear(t), 2.0
    layer.register_forward_pre_hook(lambda module, args: (args[0] * k,))
    f = t.capture(layer)
    yield f(t.x).detach()
    k = 3.0
    yield f(t.x).detach()


@trap(*FORMS)
def forward_is_replaced(t: Any) -> Any:
    layer = _linear(t)
    f = t.capture(layer)
    yield f(t.x).detach()
    layer.forward = lambda x: x * 2
    yield f(t.x).detach()


@trap(*FORMS)
def weights_are_tied(t: Any) -> Any:
    first, second = _linear(t), _linear(t, value=2.0)
    model = t.nn.Sequential(first, second)
    f = t.capture(model)
    yield f(t.x).detach()
    second.weight = first.weight
    yield f(t.x).detach()


@trap(*FORMS)
def a_buffer_of_a_module(t: Any) -> Any:
    class Shifted(t.nn.Module):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("shift", t.array(np.ones(3, "float32")))

        def forward(self, x: Any) -> Any:
            return x + self.shift

    model = Shifted()
    f = t.capture(model)
    yield f(t.x)
    model.shift.add_(1)
    yield f(t.x)
    model.shift = t.array(np.zeros(3, "float32"))
    yield f(t.x)


@trap(*FORMS)
def a_module_counts_its_calls(t: Any) -> Any:
    class Counting(t.nn.Module):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.calls = 0

        def forward(self, x: Any) -> Any:
            self.calls += 1
            return x * self.calls

    model = Counting()
    f = t.capture(model)
    yield f(t.x)
    yield f(t.x)
    yield model.calls


@trap(*FORMS)
def a_module_keeps_a_buffer_up_to_date(t: Any) -> Any:
    class Averaging(t.nn.Module):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("mean", t.xp.zeros(3))

        def forward(self, x: Any) -> Any:
            self.mean = 0.9 * self.mean + 0.1 * x
            return x - self.mean

    model = Averaging()
    f = t.capture(model)
    yield f(t.x)
    yield f(t.x)
    yield model.mean


@trap(*FORMS)
def an_activation_among_attributes(t: Any) -> Any:
    class Net(t.nn.Module):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.activation = t.xp.tanh

        def forward(self, x: Any) -> Any:
            return self.activation(x)

    model = Net()
    f = t.capture(model)
    yield f(t.x)
    model.activation = t.xp.exp
    yield f(t.x)


@trap(*FORMS)
def parts_in_a_list(t: Any) -> Any:
    layers = [_linear(t), _linear(t, value=0.25)]

    def f(x: Any) -> Any:
        for layer in layers:
            x = layer(x)
        return x

    g = t.capture(f)
    yield g(t.x).detach()
    layers.pop()
    yield g(t.x).detach()


@trap(*FORMS)
def a_module_as_an_argument(t: Any) -> Any:
    layer = _linear(t)
    f = t.capture(lambda x, layer: layer(x))
    yield f(t.x, layer).detach()
    layer.register_forward_hook(lambda module, args, out: out * 2)
    yield f(t.x, layer).detach()


@trap(*FORMS)
def parameters_that_no_longer_require_grad(t: Any) -> Any:
    layer = _linear(t)
    f = t.capture(layer)
    yield f(t.x).requires_grad
    layer.requires_grad_(False)
    yield f(t.x).requires_grad


@trap(*FORMS)
def a_step_of_an_optimizer(t: Any) -> Any:
    layer = _linear(t)
    optimizer = t.xp.optim.SGD(layer.parameters(), lr=0.1)
    f = t.capture(lambda x: (layer(x) ** 2).sum())
    for _ in range(2):
        optimizer.zero_grad()
        loss = f(t.x)
        loss.backward()
        optimizer.step()
        yield loss.detach()


@trap(*FORMS)
def a_whole_step(t: Any) -> Any:
    layer = _linear(t)
    optimizer = t.xp.optim.SGD(layer.parameters(), lr=0.1)

    def step(x: Any) -> Any:
        optimizer.zero_grad()
        loss = (layer(x) ** 2).sum()
        loss.backward()
        optimizer.step()
        return loss.detach()

    f = t.capture(step)
    yield f(t.x)
    yield f(t.x)


@trap(*FORMS)
def the_dtype_of_a_module(t: Any) -> Any:
    layer = _linear(t)
    f = t.capture(layer)
    yield f(t.x).detach()
    layer.double()
    yield f(t.x.double()).detach()


@trap(*FORMS)
def a_module_in_evaluation_asks_for_its_mode(t: Any) -> Any:
    class Net(t.nn.Module):  # type: ignore[misc,name-defined]
        def forward(self, x: Any) -> Any:
            return x * 2 if self.training else x

    model = Net()
    f = t.capture(model)
    yield f(t.x)
    model.eval()
    yield f(t.x)
