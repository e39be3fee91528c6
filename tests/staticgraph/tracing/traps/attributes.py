"""Attributes of objects change between calls."""

from __future__ import annotations

import collections
import dataclasses
import enum
import functools
import types
import weakref
from typing import Any

from .trap import trap


class Plain:
    """An object with attributes."""

    kind = 1.0

    def __init__(self, **values: Any) -> None:
        self.__dict__.update(values)

    def scale(self, x: Any) -> Any:
        return x * self.k

    @property
    def doubled(self) -> Any:
        return self.k * 2


@trap()
def self_of_a_method(t: Any) -> Any:
    one = Plain(k=2.0)
    f = t.capture(one.scale)
    yield f(t.x)
    one.k = 3.0
    yield f(t.x)


@trap()
def a_method_of_an_object_closed_over(t: Any) -> Any:
    one = Plain(k=2.0)
    f = t.capture(lambda x: one.scale(x))
    yield f(t.x)
    one.k = 3.0
    yield f(t.x)


@trap()
def of_a_config(t: Any) -> Any:
    config = types.SimpleNamespace(k=2.0)
    f = t.capture(lambda x: x * config.k)
    yield f(t.x)
    config.k = 3.0
    yield f(t.x)


@trap()
def of_an_attribute(t: Any) -> Any:
    config = Plain(inner=Plain(k=2.0))
    f = t.capture(lambda x: x * config.inner.k)
    yield f(t.x)
    config.inner.k = 3.0
    yield f(t.x)
    config.inner = Plain(k=4.0)
    yield f(t.x)


@trap()
def by_a_local_name(t: Any) -> Any:
    config = Plain(inner=Plain(k=2.0))

    def f(x: Any) -> Any:
        inner = config.inner
        return x * inner.k

    g = t.capture(f)
    yield g(t.x)
    config.inner.k = 3.0
    yield g(t.x)


@trap()
def handed_to_a_helper(t: Any) -> Any:
    config = Plain(k=2.0)

    def helper(x: Any, one: Any) -> Any:
        return x * one.k

    f = t.capture(lambda x: helper(x, config))
    yield f(t.x)
    config.k = 3.0
    yield f(t.x)


@trap()
def a_property(t: Any) -> Any:
    one = Plain(k=2.0)
    f = t.capture(lambda x: x * one.doubled)
    yield f(t.x)
    one.k = 3.0
    yield f(t.x)


@trap()
def a_cached_property(t: Any) -> Any:
    class Cached:
        k = 2.0

        @functools.cached_property
        def doubled(self) -> float:
            return self.k * 2

    one = Cached()
    f = t.capture(lambda x: x * one.doubled)
    yield f(t.x)
    Cached.k = 3.0
    yield f(t.x)
    del one.doubled
    yield f(t.x)


@trap()
def of_getattr(t: Any) -> Any:
    class Proxy:
        values = {"k": 2.0}  # noqa: RUF012

        def __getattr__(self, name: str) -> Any:
            return self.values[name]

    one = Proxy()
    f = t.capture(lambda x: x * one.k)
    yield f(t.x)
    Proxy.values["k"] = 3.0
    yield f(t.x)


@trap()
def by_a_computed_name(t: Any) -> Any:
    one, names = Plain(k_0=2.0, k_1=5.0), ["k_0"]
    f = t.capture(lambda x: x * getattr(one, names[0]))
    yield f(t.x)
    one.k_0 = 3.0
    yield f(t.x)
    names[0] = "k_1"
    yield f(t.x)


@trap()
def by_vars(t: Any) -> Any:
    one = Plain(k=2.0)
    f = t.capture(lambda x: x * vars(one)["k"])
    yield f(t.x)
    one.k = 3.0
    yield f(t.x)


@trap()
def by_dict(t: Any) -> Any:
    one = Plain(k=2.0)
    f = t.capture(lambda x: x * one.__dict__["k"])
    yield f(t.x)
    one.k = 3.0
    yield f(t.x)


@trap()
def a_dict_of_attributes_is_replaced(t: Any) -> Any:
    one = Plain(k=2.0)
    f = t.capture(lambda x: x * one.k)
    yield f(t.x)
    one.__dict__ = {"k": 3.0}
    yield f(t.x)


@trap()
def a_slot(t: Any) -> Any:
    class Slotted:
        __slots__ = ("k",)

        def __init__(self, k: float) -> None:
            self.k = k

    one = Slotted(2.0)
    f = t.capture(lambda x: x * one.k)
    yield f(t.x)
    one.k = 3.0
    yield f(t.x)


@trap()
def a_dataclass(t: Any) -> Any:
    @dataclasses.dataclass
    class Config:
        k: float
        bias: float = 0.0

    config = Config(2.0)
    f = t.capture(lambda x: x * config.k + config.bias)
    yield f(t.x)
    config.bias = 1.0
    yield f(t.x)
    config = dataclasses.replace(config, k=5.0)
    yield f(t.x)


@trap()
def a_namedtuple(t: Any) -> Any:
    Pair = collections.namedtuple("Pair", ["k", "bias"])
    pair = Pair(2.0, 1.0)
    f = t.capture(lambda x: x * pair.k + pair.bias)
    yield f(t.x)
    pair = pair._replace(k=3.0)
    yield f(t.x)


@trap()
def an_enum(t: Any) -> Any:
    class Mode(enum.Enum):
        PLAIN = 1
        NEGATIVE = 2

    config = Plain(mode=Mode.PLAIN)
    f = t.capture(lambda x: -x if config.mode is Mode.NEGATIVE else x)
    yield f(t.x)
    config.mode = Mode.NEGATIVE
    yield f(t.x)


@trap()
def a_method_of_an_object_is_replaced(t: Any) -> Any:
    one = Plain(k=2.0)
    f = t.capture(lambda x: one.scale(x))
    yield f(t.x)
    one.scale = lambda x: -x  # type: ignore[method-assign]
    yield f(t.x)


@trap()
def a_callable_object(t: Any) -> Any:
    class Scale:
        def __init__(self) -> None:
            self.k = 2.0

        def __call__(self, x: Any) -> Any:
            return x * self.k

    scale = Scale()
    f = t.capture(scale)
    yield f(t.x)
    scale.k = 3.0
    yield f(t.x)


@trap()
def a_descriptor(t: Any) -> Any:
    class Stored:
        value = 2.0

        def __get__(self, instance: Any, owner: Any = None) -> float:
            return self.value

    class Config:
        k = Stored()

    config = Config()
    f = t.capture(lambda x: x * config.k)
    yield f(t.x)
    Stored.value = 3.0
    yield f(t.x)


@trap()
def of_objects_in_a_list(t: Any) -> Any:
    layers = [Plain(k=2.0), Plain(k=3.0)]

    def f(x: Any) -> Any:
        for layer in layers:
            x = layer.scale(x)
        return x

    g = t.capture(f)
    yield g(t.x)
    layers[1].k = 5.0
    yield g(t.x)


@trap()
def of_objects_in_a_dict(t: Any) -> Any:
    layers = {"a": Plain(k=2.0)}
    f = t.capture(lambda x: layers["a"].scale(x))
    yield f(t.x)
    layers["a"].k = 5.0
    yield f(t.x)


@trap()
def an_operator_of_an_object(t: Any) -> Any:
    class Factor:
        k = 2.0

        def __matmul__(self, x: Any) -> Any:
            return x * self.k

    factor = Factor()
    f = t.capture(lambda x: factor @ x)
    yield f(t.x)
    factor.k = 3.0
    yield f(t.x)


@trap()
def the_length_of_an_object(t: Any) -> Any:
    class Sized:
        count = 2

        def __len__(self) -> int:
            return self.count

    sized = Sized()
    f = t.capture(lambda x: x * len(sized))
    yield f(t.x)
    sized.count = 3
    yield f(t.x)


@trap()
def an_object_is_iterated(t: Any) -> Any:
    class Layers:
        def __init__(self) -> None:
            self.items = [2.0]

        def __iter__(self) -> Any:
            return iter(self.items)

    layers = Layers()

    def f(x: Any) -> Any:
        for one in layers:
            x = x * one
        return x

    g = t.capture(f)
    yield g(t.x)
    layers.items.append(3.0)
    yield g(t.x)


@trap()
def a_subscript_of_an_object(t: Any) -> Any:
    class Table:
        def __init__(self) -> None:
            self.rows = {"k": 2.0}

        def __getitem__(self, key: str) -> float:
            return self.rows[key]

    table = Table()
    f = t.capture(lambda x: x * table["k"])
    yield f(t.x)
    table.rows["k"] = 3.0
    yield f(t.x)


@trap()
def a_weak_reference(t: Any) -> Any:
    one = Plain(k=2.0)
    reference = weakref.ref(one)
    f = t.capture(lambda x: x * reference().k)
    yield f(t.x)
    one.k = 3.0
    yield f(t.x)


@trap()
def a_subclass_of_list(t: Any) -> Any:
    class Rates(list):  # type: ignore[type-arg]
        pass

    rates = Rates([2.0])
    f = t.capture(lambda x: x * rates[0])
    yield f(t.x)
    rates[0] = 3.0
    yield f(t.x)


@trap()
def a_deque_and_a_default_dict(t: Any) -> Any:
    queue, table = collections.deque([2.0]), collections.defaultdict(float, k=1.0)
    f = t.capture(lambda x: x * queue[0] + table["k"])
    yield f(t.x)
    queue[0] = 3.0
    yield f(t.x)
    table["k"] = 5.0
    yield f(t.x)


@trap()
def an_object_replaced_within_a_list(t: Any) -> Any:
    layers = [Plain(k=2.0)]
    f = t.capture(lambda x: x * layers[0].k)
    yield f(t.x)
    layers[0] = Plain(k=4.0)
    yield f(t.x)


@trap()
def an_attribute_that_is_added(t: Any) -> Any:
    one = Plain()
    f = t.capture(lambda x: x + one.bias if hasattr(one, "bias") else x)
    yield f(t.x)
    one.bias = 2.0
    yield f(t.x)
