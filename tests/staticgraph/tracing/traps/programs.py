"""Whole programs, as users write them, that tripped captures."""

from __future__ import annotations

import collections
import configparser
import contextlib
import functools
import threading
import types
from typing import Any

import numpy as np

from .trap import trap

TENSORS = ("tensors", "torch")


class Empty:
    """An object whose attributes come and go."""

    __slots__ = ("__dict__", "slot")


def _linear(t: Any) -> Any:
    layer = t.nn.Linear(3, 3)
    with t.xp.no_grad():
        layer.weight.fill_(0.5)
        layer.bias.fill_(0.5)
    return layer


COUNTED = 0


@trap(*TENSORS)
def a_counter_of_a_module_before_its_layers(t: Any) -> Any:
    class Counting(t.nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.layer, self.count = _linear(t), 0

        def forward(self, x: Any) -> Any:
            self.count += 1
            return self.layer(x) * self.count

    f = t.capture(Counting())
    yield f(t.x).detach()
    yield f(t.x).detach()


@trap(*TENSORS)
def a_global_counter_before_a_layer(t: Any) -> Any:
    layer = _linear(t)

    def counted(x: Any) -> Any:
        global COUNTED  # noqa: PLW0603 - what is tested
        COUNTED += 1
        return layer(x) * COUNTED

    global COUNTED  # noqa: PLW0603 - what is tested
    COUNTED = 0
    f = t.capture(counted)
    yield f(t.x).detach()
    yield f(t.x).detach()


@trap()
def a_counter_before_code_that_is_found_late(t: Any) -> Any:
    count = 0
    table = {"late": eval("lambda x: x * 2")}

    def counted(x: Any) -> Any:
        nonlocal count
        count += 1
        return table.get("".join(["la", "te"]))(x) * count

    f = t.capture(counted)
    yield f(t.x)
    yield f(t.x)


@trap(*TENSORS)
def forward_of_the_class_is_replaced(t: Any) -> Any:
    class Net(t.nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.layer = _linear(t)

        def forward(self, x: Any) -> Any:
            return self.layer(x)

    f = t.capture(t.nn.Sequential(Net(), t.nn.ReLU()))
    yield f(t.x).detach()
    Net.forward = lambda self, x: self.layer(x) * 2  # type: ignore[method-assign]
    yield f(t.x).detach()


@trap(*TENSORS)
def forward_of_an_object_comes_and_goes(t: Any) -> Any:
    class Net(t.nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.layer = _linear(t)

        def forward(self, x: Any) -> Any:
            return self.layer(x)

    net: Any = Net()
    f = t.capture(net)
    yield f(t.x).detach()
    net.forward = lambda x: x * 3
    yield f(t.x).detach()
    del net.forward
    yield f(t.x).detach()


def _gradient(t: Any, f: Any) -> Any:
    x = t.x.clone().requires_grad_()
    f(x).sum().backward()
    return x.grad


@trap(*TENSORS)
def backward_of_an_op_of_the_users_is_replaced(t: Any) -> Any:
    class Base(t.xp.autograd.Function):  # type: ignore[misc, name-defined]
        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 2

    class Same(Base):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 1

    f = t.capture(lambda x: Same.apply(x))
    yield _gradient(t, f)
    Base.backward = staticmethod(lambda ctx, g: g * 3)  # type: ignore[method-assign]
    yield _gradient(t, f)
    Same.backward = staticmethod(lambda ctx, g: g * 5)  # type: ignore[method-assign]
    yield _gradient(t, f)


@trap(*TENSORS)
def an_optimizer_gets_more_parameters(t: Any) -> Any:
    first, second = _linear(t), _linear(t)
    optimizer = t.xp.optim.SGD(first.parameters(), lr=0.1)

    def step(x: Any) -> Any:
        optimizer.zero_grad()
        loss = (second(first(x)) ** 2).mean()
        loss.backward()
        optimizer.step()
        return loss.detach()

    f = t.capture(step)
    yield f(t.x)
    optimizer.add_param_group({"params": second.parameters(), "lr": 0.05})
    for _ in range(3):
        yield f(t.x)
    yield second.weight.detach()


@trap(*TENSORS)
def an_error_after_a_step(t: Any) -> Any:
    layer, late = _linear(t), True
    optimizer = t.xp.optim.SGD(layer.parameters(), lr=0.1)

    def step(x: Any) -> Any:
        optimizer.zero_grad()
        layer(x).sum().backward()
        optimizer.step()
        if late:
            raise KeyError("late")

    f = t.capture(step)
    with contextlib.suppress(KeyError):
        f(t.x)
    yield layer.weight.detach()


@trap(*TENSORS)
def an_error_after_a_write(t: Any) -> Any:
    total = t.array(np.zeros(3, "float32"))

    def add(x: Any) -> Any:
        total.add_(x)
        raise KeyError("late")

    f = t.capture(add)
    with contextlib.suppress(KeyError):
        f(t.x)
    yield total


def _or_itself(t: Any, read: Any) -> Any:
    def scaled(x: Any) -> Any:
        try:
            return x * read()
        except AttributeError:
            return x

    return t.capture(scaled)


@trap()
def an_attribute_that_is_missing_at_first(t: Any) -> Any:
    one: Any = types.SimpleNamespace()
    f = _or_itself(t, lambda: one.k)
    yield f(t.x)
    one.k = 3.0
    yield f(t.x)
    del one.k
    yield f(t.x)


@trap()
def an_attribute_of_a_class_that_is_missing_at_first(t: Any) -> Any:
    class Config:
        pass

    one: Any = Config()
    f = _or_itself(t, lambda: one.k)
    yield f(t.x)
    Config.k = 3.0  # type: ignore[attr-defined]
    yield f(t.x)
    one.k = 4.0
    yield f(t.x)


@trap()
def a_slot_that_is_empty_at_first(t: Any) -> Any:
    one: Any = Empty()
    f = _or_itself(t, lambda: one.slot)
    yield f(t.x)
    one.slot = 3.0
    yield f(t.x)
    del one.slot
    yield f(t.x)


@trap()
def an_attribute_of_a_function_that_is_missing_at_first(t: Any) -> Any:
    def one() -> None: ...

    f = _or_itself(t, lambda: one.k)  # type: ignore[attr-defined]
    yield f(t.x)
    one.k = 3.0  # type: ignore[attr-defined]
    yield f(t.x)


@trap()
def an_attribute_of_a_python_module_that_is_missing_at_first(t: Any) -> Any:
    one: Any = types.ModuleType("settings")
    f = _or_itself(t, lambda: one.k)
    yield f(t.x)
    one.k = 3.0
    yield f(t.x)


@trap()
def a_missing_attribute_that_is_suppressed(t: Any) -> Any:
    one: Any = types.SimpleNamespace()

    def scaled(x: Any) -> Any:
        with contextlib.suppress(AttributeError):
            x = x * one.k
        return x

    f = t.capture(scaled)
    yield f(t.x)
    one.k = 3.0
    yield f(t.x)


@trap(*TENSORS)
def an_attribute_of_a_layer_that_is_missing_at_first(t: Any) -> Any:
    class Net(t.nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.layer = _linear(t)

        def forward(self, x: Any) -> Any:
            try:
                return self.layer(x) * self.k
            except AttributeError:
                return self.layer(x)

    net: Any = Net()
    f = t.capture(net)
    yield f(t.x).detach()
    net.k = 3.0
    yield f(t.x).detach()


@trap()
def a_mapping_of_mappings(t: Any) -> Any:
    maps = collections.ChainMap({"a": 2.0}, {"a": 3.0, "b": 4.0})
    f = t.capture(lambda x: x * maps["a"] + maps["b"])
    yield f(t.x)
    maps.maps[1]["b"] = 7.0
    yield f(t.x)
    del maps["a"]
    yield f(t.x)


@trap()
def the_containers_to_inherit_from(t: Any) -> Any:
    table, items = collections.UserDict(a=2.0), collections.UserList([1.0])
    f = t.capture(lambda x: x * table["a"] + items[0])
    yield f(t.x)
    table["a"] = 3.0
    yield f(t.x)
    items[0] = 9.0
    yield f(t.x)


@trap()
def a_parsed_config(t: Any) -> Any:
    config = configparser.ConfigParser()
    config.read_string("[model]\nk = 2")
    f = t.capture(lambda x: x * config.getfloat("model", "k"))
    yield f(t.x)
    config["model"]["k"] = "5"
    yield f(t.x)


@trap()
def another_thread_has_another_value(t: Any) -> Any:
    local = threading.local()
    local.k = 2.0
    f = t.capture(lambda x: x * local.k)
    found = [f(t.x)]

    def other() -> None:
        local.k = 9.0
        found.append(f(t.x))

    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    yield from found
    yield f(t.x)


@trap()
def a_cache_is_cleared(t: Any) -> Any:
    k = 2.0

    @functools.lru_cache
    def scale() -> float:
        return k

    f = t.capture(lambda x: x * scale())
    yield f(t.x)
    k = 5.0
    yield f(t.x)
    scale.cache_clear()
    yield f(t.x)


@trap()
def a_function_by_type_gets_another_type(t: Any) -> Any:
    @functools.singledispatch
    def scaled(k: Any, x: Any) -> Any:
        return x

    k = "a"
    f = t.capture(lambda x: scaled(k, x))
    yield f(t.x)
    scaled.register(str, lambda k, x: x * 9)
    yield f(t.x)


@trap()
def a_property_of_a_class_of_classes(t: Any) -> Any:
    class Meta(type):
        k = property(lambda cls: cls._k * 2)

    class Config(metaclass=Meta):
        _k = 1.0

    f = t.capture(lambda x: x * Config.k)
    yield f(t.x)
    Config._k = 4.0
    yield f(t.x)
    Meta.k = property(lambda cls: 7.0)
    yield f(t.x)


@trap("arrays")
def functions_of_numpy_of_two_names(t: Any) -> Any:
    f = t.capture(lambda x: np.abs(x) + np.absolute(x) + np.power(x, 2) + np.arctan(x))
    yield f(t.x)


@trap()
def a_generator_that_moved_on_between_traces(t: Any) -> Any:
    rng, noisy = np.random.default_rng(0), False

    def noised(x: Any) -> Any:
        return x * float(rng.normal()) if noisy else x * 2

    f = t.capture(noised)
    yield f(t.x)
    rng.normal()
    yield f(t.array(np.ones((2, 3), "float32")))


@trap(*TENSORS)
def gradients_are_switched_on_inside(t: Any) -> Any:
    layer = _linear(t)

    def recorded(x: Any) -> Any:
        with t.xp.enable_grad():
            return layer(x)

    f = t.capture(recorded)
    yield f(t.x).requires_grad
    with t.xp.no_grad():
        yield f(t.x).requires_grad


@trap(*TENSORS)
def a_leaf_is_moved_by_its_gradients(t: Any) -> Any:
    layer = _linear(t)

    def moved(x: Any) -> Any:
        d = t.xp.zeros_like(x, requires_grad=True)
        for _ in range(3):
            (layer(x + d) ** 2).sum().backward()
            with t.xp.no_grad():
                d += 0.1 * d.grad.sign()
            d.grad.zero_()
        return d.detach()

    f = t.capture(moved)
    yield f(t.x)
    yield f(t.x * 2)


@trap(*TENSORS)
def a_module_drops_its_gradients(t: Any) -> Any:
    layer = _linear(t)

    def norms(x: Any) -> Any:
        layer.zero_grad()
        layer(x).sum().backward()
        return t.xp.stack([one.grad.norm() for one in layer.parameters()])

    f = t.capture(norms)
    yield f(t.x)
    yield f(t.x * 2)
