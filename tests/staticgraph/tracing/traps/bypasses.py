"""Changes past what usually makes them: tables written directly, classes exchanged, deletions."""

from __future__ import annotations

import types
from typing import Any

import numpy as np

from .trap import trap

FORMS = ("tensors", "torch")


class _Equal:
    """Equal to everything, as `unittest.mock.ANY`."""

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 0

    def __rmul__(self, other: Any) -> Any:
        return other * 3.0

    __mul__ = __rmul__
    __array_ufunc__ = None


def _net(t: Any) -> Any:
    net = t.nn.Sequential(t.nn.Linear(3, 3), t.nn.ReLU(), t.nn.Dropout(0.5))
    with t.xp.no_grad():
        net[0].weight.fill_(0.5)
        net[0].bias.fill_(0.25)
    return net.eval()


@trap()
def a_slot_is_deleted(t: Any) -> Any:
    class Config:
        __slots__ = ("rate",)

    config = Config()
    config.rate = 2.0  # type: ignore[attr-defined]

    def f(x: Any) -> Any:
        return x * (config.rate if hasattr(config, "rate") else 1.0)  # type: ignore[attr-defined]

    g = t.capture(f)
    yield g(t.x)
    del config.rate  # type: ignore[attr-defined]
    yield g(t.x)


@trap()
def slots_and_a_dict(t: Any) -> Any:
    class Base:
        __slots__ = ("rate",)

    class Config(Base):
        pass

    config: Any = Config()
    config.rate, config.shift = 2.0, 1.0

    def f(x: Any) -> Any:
        return x * config.rate + config.shift

    g = t.capture(f)
    yield g(t.x)
    config.rate = 3.0
    yield g(t.x)
    config.shift = 4.0
    yield g(t.x)
    config.__dict__ = {"shift": 7.0}
    yield g(t.x)


@trap()
def an_attribute_over_that_of_the_class_is_deleted(t: Any) -> Any:
    class Config:
        rate = 2.0

    config: Any = Config()
    config.rate = 5.0

    def f(x: Any) -> Any:
        return x * config.rate

    g = t.capture(f)
    yield g(t.x)
    del config.rate
    yield g(t.x)


@trap()
def an_attribute_of_another_type_that_is_equal(t: Any) -> Any:
    class Config:
        rate: Any = 1

    config: Any = Config()
    config.rate = 1

    def f(x: Any) -> Any:
        return t.xp.floor(x).astype("int32") * config.rate if hasattr(x, "astype") else (
            x.int() * config.rate
        )  # fmt: skip

    g = t.capture(f)
    yield g(t.x)
    config.rate = 1.0
    yield g(t.x)
    config.rate = True
    yield g(t.x)


@trap()
def an_attribute_that_equals_everything(t: Any) -> Any:
    class Config:
        pass

    config: Any = Config()
    config.rate = 2.0

    def f(x: Any) -> Any:
        return config.rate * x

    g = t.capture(f)
    yield g(t.x)
    config.rate = _Equal()
    yield g(t.x)


@trap()
def a_view_of_a_dict(t: Any) -> Any:
    table = {"rate": 2.0}
    view = types.MappingProxyType(table)

    def f(x: Any) -> Any:
        return x * view["rate"]

    g = t.capture(f)
    yield g(t.x)
    table["rate"] = 3.0
    yield g(t.x)


@trap()
def an_order_of_keys(t: Any) -> Any:
    table = {"a": 2.0, "b": 3.0}

    def f(x: Any) -> Any:
        for one in table.values():
            x = x * one + 1
        return x

    g = t.capture(f)
    yield g(t.x)
    table["a"] = table.pop("a")
    yield g(t.x)


@trap()
def the_class_of_an_object_with_slots(t: Any) -> Any:
    class Twice:
        __slots__ = ()

        def of(self, x: Any) -> Any:
            return x * 2

    class Thrice:
        __slots__ = ()

        def of(self, x: Any) -> Any:
            return x * 3

    one: Any = Twice()

    def f(x: Any) -> Any:
        return one.of(x)

    g = t.capture(f)
    yield g(t.x)
    one.__class__ = Thrice
    yield g(t.x)


@trap()
def the_bases_of_a_class(t: Any) -> Any:
    class Two:
        rate = 2.0

    class Three:
        rate = 3.0

    class Config(Two):
        pass

    config = Config()

    def f(x: Any) -> Any:
        return x * config.rate

    g = t.capture(f)
    yield g(t.x)
    Config.__bases__ = (Three,)
    yield g(t.x)


@trap()
def what_makes_an_array_prints(t: Any) -> Any:
    class Rows:
        made: list[int] = []  # noqa: RUF012  # what is shared is what is tested

        def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
            self.made.append(1)
            return np.ones(3, "float32")

    rows = Rows()

    def f(x: Any) -> Any:
        return x + np.asarray(rows)

    g = t.capture(f)
    yield g(t.x)
    yield g(t.x)
    yield len(rows.made)


@trap(*FORMS)
def backward_of_a_function_prints(t: Any) -> Any:
    seen: list[int] = []
    base: Any = getattr(t.xp, "autograd").Function  # noqa: B009  # a name for mypy's sake

    class Twice(base):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            seen.append(1)
            return g * 2

    def f(x: Any) -> Any:
        y = x.detach().requires_grad_()
        Twice.apply(y).sum().backward()
        return y.grad

    g = t.capture(f)
    yield g(t.x)
    yield g(t.x)
    yield len(seen)


def _twice(t: Any, change: Any) -> Any:
    """What a module that is captured, and one that is closed over, are before and after."""
    for own in (True, False):
        net = _net(t)
        f = t.capture(net if own else lambda x, net=net: net(x) * 2)
        yield f(t.x).detach()
        change(net)
        yield f(t.x).detach()


@trap(*FORMS)
def a_mode_set_in_the_table(t: Any) -> Any:
    def change(net: Any) -> None:
        vars(net[2])["training"] = True
        net[2].p = 0.0
        vars(net[2])["p"] = 1.0

    yield from _twice(t, change)


@trap(*FORMS)
def a_parameter_set_in_the_table(t: Any) -> Any:
    def change(net: Any) -> None:
        net[0]._parameters["weight"] = t.nn.Parameter(t.array(np.eye(3, dtype="float32")))

    yield from _twice(t, change)


@trap(*FORMS)
def a_parameter_becomes_none(t: Any) -> Any:
    def change(net: Any) -> None:
        net[0].bias = None

    yield from _twice(t, change)


@trap(*FORMS)
def a_part_set_in_the_table(t: Any) -> Any:
    def change(net: Any) -> None:
        net._modules["1"] = t.nn.Tanh()

    yield from _twice(t, change)


@trap(*FORMS)
def a_part_is_deleted(t: Any) -> Any:
    def change(net: Any) -> None:
        del net[1]

    yield from _twice(t, change)


@trap(*FORMS)
def parts_in_another_order(t: Any) -> Any:
    def change(net: Any) -> None:
        net._modules["0"] = net._modules.pop("0")

    yield from _twice(t, change)


@trap(*FORMS)
def the_class_of_a_part(t: Any) -> Any:
    def change(net: Any) -> None:
        net[1].__class__ = t.nn.Tanh

    yield from _twice(t, change)


@trap(*FORMS)
def a_forward_set_in_the_table(t: Any) -> Any:
    def change(net: Any) -> None:
        vars(net[1])["forward"] = lambda x: x * 3

    yield from _twice(t, change)


@trap(*FORMS)
def a_forward_set_and_deleted(t: Any) -> Any:
    net = _net(t)
    net[1].forward = lambda x: x * 3
    f = t.capture(net)
    yield f(t.x).detach()
    del net[1].forward
    yield f(t.x).detach()


@trap(*FORMS)
def a_hook_set_in_the_table(t: Any) -> Any:
    def change(net: Any) -> None:
        net[1]._forward_hooks[0] = lambda module, args, output: output * 4

    yield from _twice(t, change)


@trap(*FORMS)
def a_hook_is_removed(t: Any) -> Any:
    net = _net(t)
    handle = net[1].register_forward_hook(lambda module, args, output: output * 4)
    f = t.capture(net)
    yield f(t.x).detach()
    handle.remove()
    yield f(t.x).detach()


@trap(*FORMS)
def a_method_of_a_layer_class_is_replaced(t: Any) -> Any:
    class Own(t.nn.Module):  # type: ignore[misc, name-defined]
        def forward(self, x: Any) -> Any:
            return self.act(x)

        def act(self, x: Any) -> Any:
            return x * 2

    own = Own()
    f = t.capture(own)
    yield f(t.x)
    Own.act = lambda self, x: x * 5  # type: ignore[method-assign]
    yield f(t.x)
    own.act = lambda x: x * 7
    yield f(t.x)
    del own.act
    yield f(t.x)
