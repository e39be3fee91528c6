"""What the code of modules reads beside their parts: descriptors, caches, contexts, classes."""

from __future__ import annotations

import functools
import types
from contextvars import ContextVar
from typing import Any

from .trap import TENSORS, trap

LEVEL: ContextVar[float] = ContextVar("LEVEL", default=1.0)
LAZY = types.ModuleType("lazy_of_traps")


def _ways(t: Any, net: Any) -> Any:
    given = t.capture(lambda x, m: m(x))
    ways = [t.capture(net), t.capture(lambda x: net(x)), lambda x: given(x, net)]
    return lambda: [one(t.x) for one in ways]


@trap(*TENSORS)
def a_context_variable_in_forward(t: Any) -> Any:
    class Net(t.nn.Module):
        def forward(self, x: Any) -> Any:
            return x * LEVEL.get()

    see = _ways(t, Net())
    yield see()
    token = LEVEL.set(3.0)
    try:
        yield see()
    finally:
        LEVEL.reset(token)
    yield see()


@trap(*TENSORS)
def a_cached_property_of_a_module(t: Any) -> Any:
    class Net(t.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.rate = 2.0

        @functools.cached_property
        def scale(self) -> float:
            return self.rate * 10

        def forward(self, x: Any) -> Any:
            return x * self.scale

    net = Net()
    see = _ways(t, net)
    yield see()
    net.rate = 3.0
    yield see()
    del net.scale
    yield see()


@trap(*TENSORS)
def a_cache_of_a_method(t: Any) -> Any:
    class Net(t.nn.Module):
        rate = 2.0

        @functools.lru_cache  # noqa: B019
        def scale(self, k: int) -> float:
            return self.rate * k

        def forward(self, x: Any) -> Any:
            return x * self.scale(2)

    net = Net()
    see = _ways(t, net)
    yield see()
    net.rate = 5.0
    yield see()
    Net.scale.cache_clear()
    yield see()


@trap(*TENSORS)
def a_descriptor_of_a_module(t: Any) -> Any:
    class Scaled:
        factor = 2.0

        def __get__(self, instance: Any, owner: Any = None) -> Any:
            return self if instance is None else instance.rate * self.factor

    class Net(t.nn.Module):
        scale = Scaled()

        def __init__(self) -> None:
            super().__init__()
            self.rate = 1.0

        def forward(self, x: Any) -> Any:
            return x * self.scale

    net = Net()
    see = _ways(t, net)
    yield see()
    net.rate = 3.0
    yield see()
    Scaled.factor = 7.0
    yield see()
    Net.scale = 11.0
    yield see()


@trap(*TENSORS)
def a_metaclass_of_a_module(t: Any) -> Any:
    class Meta(type):
        factor = 2.0

        @property
        def scale(cls) -> float:
            return cls.factor

    class Net(t.nn.Module, metaclass=Meta):
        def forward(self, x: Any) -> Any:
            return x * type(self).scale

    see = _ways(t, Net())
    yield see()
    Meta.factor = 3.0
    yield see()
    Meta.scale = property(lambda cls: cls.factor * 2)
    yield see()


@trap(*TENSORS)
def a_python_module_that_answers_in_forward(t: Any) -> Any:
    rates = {"rate": 2.0}
    LAZY.__getattr__ = lambda name: rates[name]  # type: ignore[method-assign]

    class Net(t.nn.Module):
        def forward(self, x: Any) -> Any:
            return x * LAZY.rate

    see = _ways(t, Net())
    yield see()
    rates["rate"] = 3.0
    yield see()
    LAZY.rate = 5.0
    yield see()
    del LAZY.rate
    yield see()


@trap(*TENSORS)
def slots_beside_the_table_of_a_module(t: Any) -> Any:
    class Config:
        __slots__ = ("rate", "table")

    class Net(t.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.config = Config()
            self.config.rate, self.config.table = 2.0, [1.0]

        def forward(self, x: Any) -> Any:
            return x * self.config.rate * self.config.table[0]

    net = Net()
    see = _ways(t, net)
    yield see()
    net.config.rate = 3.0
    yield see()
    net.config.table[0] = 5.0
    yield see()
    net.config = Config()
    net.config.rate, net.config.table = 7.0, [2.0]
    yield see()


@trap(*TENSORS)
def super_of_a_module(t: Any) -> Any:
    class Base(t.nn.Module):
        def forward(self, x: Any) -> Any:
            return x * 2

    class Net(Base):
        def forward(self, x: Any) -> Any:
            return super().forward(x) + 1

    see = _ways(t, Net())
    yield see()
    Base.forward = lambda self, x: x * 3
    yield see()
    Net.__bases__ = (type("Other", (t.nn.Module,), {"forward": lambda self, x: x * 4}),)
    yield see()


@trap(*TENSORS)
def a_partial_of_a_function_in_a_module(t: Any) -> Any:
    def scaled(x: Any, rate: float = 1.0) -> Any:
        return x * rate

    class Net(t.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.function = functools.partial(scaled, rate=2.0)

        def forward(self, x: Any) -> Any:
            return self.function(x)

    net = Net()
    see = _ways(t, net)
    yield see()
    net.function.keywords["rate"] = 3.0
    yield see()
    net.function = functools.partial(scaled, rate=5.0)
    yield see()


@trap(*TENSORS)
def an_object_of_a_module_with_a_module(t: Any) -> Any:
    class Holder:
        def __init__(self) -> None:
            self.layer = t.nn.ReLU()
            self.rate = 1.0

    class Net(t.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.holder = Holder()

        def forward(self, x: Any) -> Any:
            return self.holder.layer(x) * self.holder.rate

    net = Net()
    see = _ways(t, net)
    yield see()
    net.holder.layer = t.nn.Tanh()
    yield see()
    net.holder.rate = 2.0
    yield see()
    net.holder.layer.forward = lambda x: x * 9
    yield see()


@trap(*TENSORS)
def a_mode_that_a_part_reads_of_another(t: Any) -> Any:
    class Part(t.nn.Module):
        def __init__(self, other: Any) -> None:
            super().__init__()
            self.others = [other]

        def forward(self, x: Any) -> Any:
            return x * 2 if self.others[0].training else x

    class Net(t.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = t.nn.Dropout(0.0)
            self.second = Part(self.first)

        def forward(self, x: Any) -> Any:
            return self.second(self.first(x))

    net = Net()
    see = _ways(t, net)
    yield see()
    net.first.eval()
    yield see()
    net.second.others[0] = t.nn.ReLU()
    yield see()
    net.second.others[0].train(False)
    yield see()


@trap(*TENSORS)
def a_set_of_names_of_a_module(t: Any) -> Any:
    class Net(t.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.skipped = {"b"}
            self.a, self.b = (t.nn.Parameter(t.xp.ones(3) * k) for k in (2.0, 3.0))

        def forward(self, x: Any) -> Any:
            return x * sum(p for name, p in self.named_parameters() if name not in self.skipped)

    net = Net()
    see = _ways(t, net)
    yield see()
    net.skipped.clear()
    yield see()
    net.skipped.add("a")
    yield see()


@trap(*TENSORS)
def an_order_of_parts_that_is_sorted(t: Any) -> Any:
    class Layer(t.nn.Module):
        def __init__(self, rank: int) -> None:
            super().__init__()
            self.rank = rank

        def __lt__(self, other: Any) -> bool:
            return self.rank < other.rank

        def forward(self, x: Any) -> Any:
            return x * self.rank + self.rank

    class Net(t.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = t.nn.ModuleList([Layer(2), Layer(1), Layer(3)])

        def forward(self, x: Any) -> Any:
            for one in sorted(self.layers):
                x = one(x)
            return x

    net = Net()
    see = _ways(t, net)
    yield see()
    net.layers[0].rank = 0
    yield see()
    Layer.__lt__ = lambda self, other: self.rank > other.rank
    yield see()
