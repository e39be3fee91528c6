"""What is put in the place of parts, tables and methods of modules, past their attributes."""

from __future__ import annotations

import types
from typing import Any

from .trap import TENSORS, trap


def _linear(t: Any, value: float) -> Any:
    layer = t.nn.Linear(3, 3, bias=False)
    with t.xp.no_grad():
        layer.weight.fill_(value)
    return layer


def _parameter(t: Any, value: float) -> Any:
    return t.nn.Parameter(t.xp.full((3, 3), value))


def _ways(t: Any, module: Any) -> list[Any]:
    """A module captured, closed over, as an argument, by keyword, and in a list."""
    given, named = t.capture(lambda x, m: m(x)), t.capture(lambda x, *, m: m(x))
    listed = t.capture(lambda x, ms: ms[0](x) + ms[-1](x))
    return [
        t.capture(module),
        t.capture(lambda x: module(x)),
        lambda x: given(x, module),
        lambda x: named(x, m=module),
        lambda x: listed(x, [module, module]),
    ]


def _seen(ways: list[Any], x: Any) -> list[Any]:
    return [one(x) for one in ways]


def _net(t: Any) -> Any:
    class Net(t.nn.Module):
        rate = 1.0

        def __init__(self) -> None:
            super().__init__()
            self.part = _linear(t, 0.5)
            self.scale = 2.0
            self.factors = [1.0]
            self.register_buffer("shift", t.xp.zeros(3))

        @property
        def both(self) -> float:
            return self.scale * self.factors[0]

        def helper(self, y: Any) -> Any:
            return y + self.shift

        def forward(self, x: Any) -> Any:
            return self.helper(self.part(x)) * self.both * self.rate

    return Net()


@trap(*TENSORS)
def the_table_of_parts(t: Any) -> Any:
    net = _net(t)
    ways = _ways(t, net)
    yield _seen(ways, t.x)
    net._modules = {"part": _linear(t, 2.0)}
    yield _seen(ways, t.x)


@trap(*TENSORS)
def the_table_of_parameters(t: Any) -> Any:
    net = _net(t)
    ways = _ways(t, net)
    yield _seen(ways, t.x)
    net.part._parameters = {"weight": _parameter(t, 3.0), "bias": None}
    yield _seen(ways, t.x)
    vars(net.part).update(_parameters={"weight": _parameter(t, 4.0), "bias": t.xp.ones(3)})
    yield _seen(ways, t.x)


@trap(*TENSORS)
def the_table_of_buffers(t: Any) -> Any:
    net = _net(t)
    ways = _ways(t, net)
    yield _seen(ways, t.x)
    net._buffers = {"shift": t.xp.ones(3)}
    yield _seen(ways, t.x)


@trap(*TENSORS)
def the_table_of_attributes(t: Any) -> Any:
    net = _net(t)
    ways = _ways(t, net)
    yield _seen(ways, t.x)
    net.__dict__ = dict(vars(net), scale=-1.0)
    yield _seen(ways, t.x)
    net.scale = 5.0
    yield _seen(ways, t.x)


@trap(*TENSORS)
def the_table_of_hooks(t: Any) -> Any:
    net = _net(t)
    net.part.register_forward_hook(lambda module, args, result: result + 1)
    ways = _ways(t, net)
    yield _seen(ways, t.x)
    net.part._forward_hooks = type(net.part._forward_hooks)()
    yield _seen(ways, t.x)


@trap(*TENSORS)
def an_attribute_and_a_list_of_a_module(t: Any) -> Any:
    net = _net(t)
    ways = _ways(t, net)
    yield _seen(ways, t.x)
    net.scale = 3.0
    yield _seen(ways, t.x)
    net.factors[0] = 7.0
    yield _seen(ways, t.x)
    type(net).rate = 0.5
    yield _seen(ways, t.x)


@trap(*TENSORS)
def a_method_of_a_module(t: Any) -> Any:
    net = _net(t)
    ways = _ways(t, net)
    yield _seen(ways, t.x)
    type(net).helper = lambda self, y: y * 11
    yield _seen(ways, t.x)
    net.helper = lambda y: y * 13
    yield _seen(ways, t.x)


@trap(*TENSORS)
def a_property_of_a_module(t: Any) -> Any:
    net = _net(t)
    ways = _ways(t, net)
    yield _seen(ways, t.x)
    type(net).both = property(lambda self: 10.0)
    yield _seen(ways, t.x)


@trap(*TENSORS)
def the_class_of_a_module(t: Any) -> Any:
    net = _net(t)
    ways = _ways(t, net)
    yield _seen(ways, t.x)

    class Other(type(net)):  # type: ignore[misc]
        def forward(self, x: Any) -> Any:
            return super().forward(x) + 1

    net.__class__ = Other
    yield _seen(ways, t.x)
    Other.forward = lambda self, x: super(Other, self).forward(x) - 1
    yield _seen(ways, t.x)


@trap(*TENSORS)
def a_part_and_then_what_it_has(t: Any) -> Any:
    net = _net(t)
    ways = _ways(t, net)
    yield _seen(ways, t.x)
    net.part = _linear(t, 1.5)
    yield _seen(ways, t.x)
    net.part.forward = lambda x: x * 2
    yield _seen(ways, t.x)
    del net.part.forward
    yield _seen(ways, t.x)
    net.part.__class__ = type("Twice", (t.nn.Linear,), {"forward": lambda self, x: x * 4})
    yield _seen(ways, t.x)


@trap(*TENSORS)
def a_method_that_is_bound(t: Any) -> Any:
    net = _net(t)
    f = t.capture(net.forward)
    yield f(t.x)
    net.part = _linear(t, 1.5)
    yield f(t.x)
    net.part.forward = lambda x: x * 2
    yield f(t.x)
    net.scale = 3.0
    yield f(t.x)


@trap(*TENSORS)
def forward_of_a_layer_of_the_engine(t: Any) -> Any:
    net = _net(t)
    ways = _ways(t, net)
    yield _seen(ways, t.x)
    before = t.nn.Linear.forward
    t.nn.Linear.forward = lambda self, x: x * 3
    try:
        yield _seen(ways, t.x)
    finally:
        t.nn.Linear.forward = before
    yield _seen(ways, t.x)


@trap(*TENSORS)
def a_call_of_every_module(t: Any) -> Any:
    net = _net(t)
    f = t.capture(lambda x: net(x))
    yield f(t.x)
    before = t.nn.Module.__call__
    t.nn.Module.__call__ = lambda self, *args: before(self, *args) * 2
    try:
        yield f(t.x)
    finally:
        t.nn.Module.__call__ = before
    yield f(t.x)


@trap(*TENSORS)
def a_function_of_the_engine_that_a_layer_calls(t: Any) -> Any:
    net = _net(t)
    ways = _ways(t, net)
    yield _seen(ways, t.x)
    before = t.nn.functional.linear
    t.nn.functional.linear = lambda x, weight, bias=None: x * 4
    try:
        yield _seen(ways, t.x)
    finally:
        t.nn.functional.linear = before
    yield _seen(ways, t.x)


@trap("arrays", "tensors", "jax", "torch")
def a_function_of_the_package(t: Any) -> Any:
    f = t.capture(lambda x: t.xp.exp(x))
    yield f(t.x)
    before = t.xp.exp
    t.xp.exp = t.xp.sqrt
    try:
        yield f(abs(t.x))
    finally:
        t.xp.exp = before
    yield f(t.x)


@trap(*TENSORS)
def a_function_of_a_package_under_another_name(t: Any) -> Any:
    functions = t.nn.functional

    def f(x: Any) -> Any:
        return functions.relu(x) + functions.softplus(x)

    g = t.capture(f)
    yield g(t.x)
    before = functions.relu
    functions.relu = lambda x: x * 100
    try:
        yield g(t.x)
    finally:
        functions.relu = before


@trap(*TENSORS)
def a_parameter_by_register(t: Any) -> Any:
    net = _net(t)
    ways = _ways(t, net)
    yield _seen(ways, t.x)
    net.part.register_parameter("bias", t.nn.Parameter(t.xp.ones(3)))
    yield _seen(ways, t.x)
    net.part.register_parameter("weight", _parameter(t, 9.0))
    yield _seen(ways, t.x)


@trap(*TENSORS)
def a_module_learns_to_answer_for_attributes(t: Any) -> Any:
    class Net(t.nn.Module):
        def forward(self, x: Any) -> Any:
            return x * getattr(self, "rate", 1.0)

    net = Net()
    f = t.capture(net)
    yield f(t.x)
    Net.rate = 2.0
    yield f(t.x)
    net.rate = 3.0
    yield f(t.x)
    del net.rate, Net.rate
    Net.__getattr__ = lambda self, name: 5.0 if name == "rate" else 1 / 0
    yield f(t.x)


@trap(*TENSORS)
def the_sequence_of_a_list_of_parts(t: Any) -> Any:
    parts = t.nn.ModuleList([_linear(t, 0.5), t.nn.ReLU()])

    def f(x: Any) -> Any:
        for one in parts:
            x = one(x)
        return x

    g = t.capture(f)
    yield g(t.x)
    parts[1] = t.nn.Tanh()
    yield g(t.x)
    parts.append(_linear(t, 2.0))
    yield g(t.x)
    parts._modules = dict(reversed(parts._modules.items()))
    yield g(t.x)
    del parts[0]
    yield g(t.x)


@trap(*TENSORS)
def an_activation_by_its_name(t: Any) -> Any:
    config = types.SimpleNamespace(activation="relu")

    class Net(t.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.activations = t.nn.ModuleDict({"relu": t.nn.ReLU(), "tanh": t.nn.Tanh()})

        def forward(self, x: Any) -> Any:
            return self.activations[config.activation](x)

    net = Net()
    ways = _ways(t, net)
    yield _seen(ways, t.x)
    config.activation = "tanh"
    yield _seen(ways, t.x)
    net.activations["tanh"] = t.nn.Sigmoid()
    yield _seen(ways, t.x)
