"""Layers whose parts, parameters, buffers and hooks are changed between calls."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from .trap import TENSORS, trap


def _rows(t: Any, k: float = 1.0) -> Any:
    """Two rows of three numbers."""
    return t.array(np.array([[1.0, -2.0, 3.0], [0.5, 4.0, -1.0]], "float32") * np.float32(k))


def _linear(t: Any, rows: int = 3, columns: int = 3) -> Any:
    layer = t.nn.Linear(rows, columns)
    with t.xp.no_grad():
        layer.weight.copy_(t.xp.arange(rows * columns).reshape(columns, rows) * 0.1)
        layer.bias.fill_(0.5)
    return layer


def _calls(t: Any, layer: Any, *changes: Any) -> Any:
    """What a captured layer gives, before each of some changes and after them."""
    f = t.capture(layer)
    yield f(_rows(t)), f(_rows(t, 2.0))
    for change in changes:
        change()
        yield f(_rows(t)), f(_rows(t, 2.0))


@trap(*TENSORS)
def a_norm_of_weights(t: Any) -> Any:
    layer = t.nn.utils.parametrizations.weight_norm(_linear(t))

    def changed() -> None:
        with t.xp.no_grad():
            layer.parametrizations.weight.original0.fill_(2.0)

    yield from _calls(t, layer, changed)


@trap(*TENSORS)
def an_assignment_to_a_parametrized_weight(t: Any) -> Any:
    layer = t.nn.utils.parametrizations.weight_norm(_linear(t))

    def assigned() -> None:
        layer.weight = t.xp.ones(3, 3)

    yield from _calls(t, layer, assigned)


@trap(*TENSORS)
def a_state_is_loaded(t: Any) -> Any:
    layer, other = _linear(t), _linear(t)
    with t.xp.no_grad():
        other.weight.mul_(3.0)
    yield from _calls(t, layer, lambda: layer.load_state_dict(other.state_dict()))


@trap(*TENSORS)
def a_state_that_is_kept_is_no_copy(t: Any) -> Any:
    layer = _linear(t)
    kept = layer.state_dict()

    def zeroed() -> None:
        kept["weight"].zero_()

    yield from _calls(t, layer, zeroed)


@trap(*TENSORS)
def a_copy_of_a_module_is_called(t: Any) -> Any:
    layer = _linear(t)
    held = {"net": layer}
    f = t.capture(lambda x: held["net"](x))
    yield f(_rows(t))
    held["net"] = copy.deepcopy(layer)
    with t.xp.no_grad():
        held["net"].bias.fill_(9.0)
    yield f(_rows(t))
    with t.xp.no_grad():
        layer.bias.fill_(-9.0)
    yield f(_rows(t))


@trap(*TENSORS)
def a_function_is_applied_to_all_parts(t: Any) -> Any:
    layer = t.nn.Sequential(_linear(t), _linear(t))

    def set_bias(part: Any) -> None:
        if isinstance(part, t.nn.Linear):
            with t.xp.no_grad():
                part.bias.fill_(7.0)

    yield from _calls(t, layer, lambda: layer.apply(set_bias))


@trap(*TENSORS)
def parameters_in_a_list(t: Any) -> Any:
    class Sum(t.nn.Module):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.ws = t.nn.ParameterList([t.nn.Parameter(t.xp.ones(3))])

        def forward(self, x: Any) -> Any:
            return sum(w * x for w in self.ws)

    layer = Sum()

    def replaced() -> None:
        layer.ws[0] = t.nn.Parameter(t.xp.zeros(3))

    yield from _calls(t, layer, lambda: layer.ws.append(t.nn.Parameter(2 * t.xp.ones(3))), replaced)


@trap(*TENSORS)
def parts_in_a_dict(t: Any) -> Any:
    class Chosen(t.nn.Module):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.parts = t.nn.ModuleDict({"a": t.nn.ReLU(), "b": t.nn.Tanh()})
            self.name = "a"

        def forward(self, x: Any) -> Any:
            return self.parts[self.name](x)

    layer = Chosen()

    def other() -> None:
        layer.name = "b"

    def exchanged() -> None:
        layer.parts["b"] = t.nn.Sigmoid()

    yield from _calls(t, layer, other, exchanged)


@trap(*TENSORS)
def a_buffer_is_registered_again(t: Any) -> Any:
    class Shifted(t.nn.Module):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("shift", t.xp.ones(3), persistent=False)

        def forward(self, x: Any) -> Any:
            return x if self.shift is None else x + self.shift

    layer = Shifted()

    def none() -> None:
        layer.shift = None

    def other() -> None:
        layer.register_buffer("shift", 5 * t.xp.ones(3))

    yield from _calls(t, layer, none, other)


@trap(*TENSORS)
def a_hook_before_a_layer(t: Any) -> Any:
    layer, held = _linear(t), {}

    def add() -> None:
        held["hook"] = layer.register_forward_pre_hook(lambda m, args: (args[0] * 2,))

    yield from _calls(t, layer, add, lambda: held["hook"].remove())


@trap(*TENSORS)
def a_hook_that_sees_keywords(t: Any) -> Any:
    class Scaled(t.nn.Module):  # type: ignore[misc,name-defined]
        def forward(self, x: Any, scale: float = 1.0) -> Any:
            return x * scale

    layer = Scaled()
    f = t.capture(lambda x: layer(x, scale=2.0))
    yield f(t.x)
    handle = layer.register_forward_hook(
        lambda m, args, kwargs, out: out + kwargs["scale"], with_kwargs=True
    )
    yield f(t.x)
    handle.remove()
    yield f(t.x)


@trap(*TENSORS)
def a_hook_of_gradients_of_a_layer(t: Any) -> Any:
    layer = _linear(t)
    handle = layer.register_full_backward_hook(lambda m, gi, go: tuple(2 * g for g in gi))
    f, x = t.capture(layer), _rows(t).requires_grad_()
    f(x).sum().backward()
    yield x.grad
    handle.remove()
    x.grad = None
    f(x).sum().backward()
    yield x.grad


@trap(*TENSORS)
def a_hook_that_counts(t: Any) -> Any:
    layer, count = _linear(t), [0]

    def counted(m: Any, args: Any, out: Any) -> None:
        count[0] += 1

    layer.register_forward_hook(counted)
    f = t.capture(layer)
    for _ in range(3):
        yield f(_rows(t)), count[0]


@trap(*TENSORS)
def activations_that_a_hook_keeps(t: Any) -> Any:
    layer, kept = t.nn.Sequential(_linear(t), t.nn.ReLU()), {}

    def keep(m: Any, args: Any, out: Any) -> None:
        kept["first"] = out.detach()

    layer[0].register_forward_hook(keep)
    f = t.capture(layer)
    for k in range(3):
        yield f(_rows(t, k)), kept["first"]


@trap(*TENSORS)
def a_data_parallel_module(t: Any) -> Any:
    layer = _linear(t)
    outer = t.nn.DataParallel(layer)

    def changed() -> None:
        with t.xp.no_grad():
            outer.module.bias.fill_(4.0)

    yield from _calls(t, outer, changed, lambda: setattr(outer, "module", t.nn.ReLU()))


@trap(*TENSORS)
def a_module_is_cast(t: Any) -> Any:
    layer = _linear(t)
    f = t.capture(layer)
    yield f(_rows(t))
    layer.double()
    yield f(_rows(t).double())
    layer.float()
    yield f(_rows(t))


@trap(*TENSORS)
def an_identity_takes_the_place(t: Any) -> Any:
    layer = t.nn.Sequential(_linear(t), t.nn.ReLU())

    def no_relu() -> None:
        layer[1] = t.nn.Identity()

    def longer() -> None:
        layer.append(_linear(t))

    yield from _calls(t, layer, no_relu, longer, lambda: layer.pop(0))


@trap(*TENSORS)
def one_weight_for_two_layers(t: Any) -> Any:
    one, two = _linear(t), _linear(t)
    f = t.capture(lambda x: two(one(x)))
    yield f(_rows(t))
    two.weight = one.weight
    yield f(_rows(t))
    with t.xp.no_grad():
        one.weight.add_(1.0)
    yield f(_rows(t))
    one.weight = t.nn.Parameter(t.xp.zeros(3, 3))
    yield f(_rows(t))


@trap(*TENSORS)
def some_parameters_are_frozen(t: Any) -> Any:
    layer = t.nn.Sequential(_linear(t), _linear(t))

    def f(x: Any) -> Any:
        layer.zero_grad()
        layer(x).square().mean().backward()
        return [None if p.grad is None else p.grad.sum() for p in layer.parameters()]

    g = t.capture(f)
    yield g(_rows(t))
    layer[0].requires_grad_(False)
    yield g(_rows(t))
    layer[0].requires_grad_(True)
    layer[1].bias.requires_grad_(False)
    yield g(_rows(t))


@trap(*TENSORS)
def attention_with_a_mask(t: Any) -> Any:
    layer = t.nn.MultiheadAttention(4, 2, batch_first=True)
    with t.xp.no_grad():
        for one in layer.parameters():
            one.copy_(t.xp.linspace(-1, 1, one.numel()).reshape(one.shape))
    mask = t.xp.zeros(3, 3)
    f = t.capture(lambda x: layer(x, x, x, attn_mask=mask, need_weights=False)[0])
    x = t.xp.arange(12.0).reshape(1, 3, 4) / 10
    yield f(x)
    mask[0, 1] = -1e9
    yield f(x)
    layer.dropout = 0.0
    layer.eval()
    yield f(x)


@trap(*TENSORS)
def a_layer_without_its_bias(t: Any) -> Any:
    layer = _linear(t)

    def no_bias() -> None:
        layer.bias = None

    yield from _calls(t, layer, no_bias)


@trap(*TENSORS)
def a_module_made_inside(t: Any) -> Any:
    def f(x: Any) -> Any:
        t.xp.manual_seed(0)
        return t.nn.Linear(3, 2)(x)

    g = t.capture(f)
    yield g(t.x)
    yield g(t.x)


@trap(*TENSORS)
def a_lazy_attribute_of_a_module(t: Any) -> Any:
    class Lazy(t.nn.Module):  # type: ignore[misc,name-defined]
        def forward(self, x: Any) -> Any:
            if not hasattr(self, "scale"):
                self.scale = x.shape[0] * 1.0
            return x * self.scale

    layer = Lazy()
    f = t.capture(layer)
    yield f(t.x)
    yield f(t.x[:2])
    del layer.scale
    yield f(t.x[:2])


@trap(*TENSORS)
def an_extra_state(t: Any) -> Any:
    class Extra(t.nn.Module):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.factor = 1.0

        def get_extra_state(self) -> Any:
            return {"factor": self.factor}

        def set_extra_state(self, state: Any) -> None:
            self.factor = state["factor"]

        def forward(self, x: Any) -> Any:
            return x * self.factor

    layer = Extra()
    yield from _calls(t, layer, lambda: layer.set_extra_state({"factor": 3.0}))


@trap(*TENSORS)
def a_functional_call(t: Any) -> Any:
    layer = _linear(t)
    params = {"weight": t.xp.ones(3, 3), "bias": t.xp.zeros(3)}
    f = t.capture(lambda x: t.xp.func.functional_call(layer, params, (x,)))
    yield f(_rows(t))
    params["bias"] = t.xp.ones(3)
    yield f(_rows(t))
    params["weight"].mul_(2.0)
    yield f(_rows(t)), layer(_rows(t))
