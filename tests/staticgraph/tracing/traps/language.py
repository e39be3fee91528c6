"""Constructs of Python: how names, classes and calls may be bound anew between calls."""

from __future__ import annotations

import collections
import dataclasses
import enum
import functools
import typing
from typing import Any

from .trap import trap


@trap()
def a_field_of_a_dataclass(t: Any) -> Any:
    @dataclasses.dataclass
    class Config:
        scale: float = 2.0
        layers: list[float] = dataclasses.field(default_factory=lambda: [1.0])

    config = Config()
    f = t.capture(lambda x: x * config.scale + config.layers[-1])
    yield f(t.x)
    config.scale = 3.0
    yield f(t.x)
    config.layers.append(4.0)
    yield f(t.x)


@trap()
def a_frozen_dataclass_is_replaced(t: Any) -> Any:
    @dataclasses.dataclass(frozen=True)
    class Config:
        scale: float

    config = Config(2.0)
    f = t.capture(lambda x: x * config.scale)
    yield f(t.x)
    config = dataclasses.replace(config, scale=5.0)
    yield f(t.x)


@trap()
def a_named_tuple_is_replaced(t: Any) -> Any:
    pair = collections.namedtuple("pair", "a b")
    held = pair(1.0, 2.0)
    f = t.capture(lambda x: pair(x * held.a, x + held.b))
    yield tuple(f(t.x))
    held = held._replace(b=7.0)
    yield tuple(f(t.x))


@trap()
def a_property_that_counts(t: Any) -> Any:
    class Counting:
        number = 0.0

        @property
        def next(self) -> float:
            self.number += 1
            return self.number

    one = Counting()
    f = t.capture(lambda x: x * one.next)
    yield f(t.x)
    yield f(t.x)


@trap()
def a_cached_property_is_dropped(t: Any) -> Any:
    class Lazy:
        base = 2.0

        @functools.cached_property
        def scale(self) -> float:
            return self.base * 10

    one = Lazy()
    f = t.capture(lambda x: x * one.scale)
    yield f(t.x)
    one.base = 3.0
    yield f(t.x)
    del one.scale
    yield f(t.x)


@trap()
def getattr_of_a_class(t: Any) -> Any:
    class Dynamic:
        table: typing.ClassVar[dict[str, float]] = {"scale": 2.0}

        def __getattr__(self, name: str) -> float:
            return self.table[name]

    one = Dynamic()
    f = t.capture(lambda x: x * one.scale)
    yield f(t.x)
    Dynamic.table["scale"] = 4.0
    yield f(t.x)


@trap()
def getattribute_of_a_class(t: Any) -> Any:
    numbers = [2.0]

    class Watching:
        def __getattribute__(self, name: str) -> Any:
            return numbers[0] if name == "scale" else object.__getattribute__(self, name)

    one = Watching()
    f = t.capture(lambda x: x * one.scale)
    yield f(t.x)
    numbers[0] = 6.0
    yield f(t.x)


@trap()
def a_descriptor_with_a_table(t: Any) -> Any:
    class Field:
        def __init__(self) -> None:
            self.values: dict[int, float] = {}

        def __get__(self, owner: Any, kind: Any = None) -> float:
            return self.values.get(id(owner), 1.0)

        def __set__(self, owner: Any, value: float) -> None:
            self.values[id(owner)] = value

    class Holder:
        scale = Field()

    one = Holder()
    f = t.capture(lambda x: x * one.scale)
    yield f(t.x)
    one.scale = 3.0
    yield f(t.x)


@trap()
def slots_of_an_object(t: Any) -> Any:
    class Slotted:
        __slots__ = ("scale",)

    one = Slotted()
    one.scale = 2.0
    f = t.capture(lambda x: x * one.scale)
    yield f(t.x)
    one.scale = 8.0
    yield f(t.x)


@trap()
def a_metaclass_has_the_number(t: Any) -> Any:
    class Meta(type):
        scale = 2.0

    class One(metaclass=Meta):
        pass

    f = t.capture(lambda x: x * One.scale)
    yield f(t.x)
    Meta.scale = 3.0
    yield f(t.x)


@trap()
def a_base_is_exchanged(t: Any) -> Any:
    class Two:
        scale = 2.0

    class Three:
        scale = 3.0

    class One(Two):
        pass

    one = One()
    f = t.capture(lambda x: x * one.scale)
    yield f(t.x)
    One.__bases__ = (Three,)
    yield f(t.x)


@trap()
def a_name_in_a_walrus(t: Any) -> Any:
    k = 2.0

    def f(x: Any) -> Any:
        return (y := x * k) + y

    g = t.capture(f)
    yield g(t.x)
    k = 3.0
    yield g(t.x)


@trap()
def a_match_on_a_tuple(t: Any) -> Any:
    mode: Any = ("scale", 2.0)

    def f(x: Any) -> Any:
        match mode:
            case ("scale", k):
                return x * k
            case {"shift": k}:
                return x + k
            case _:
                return x

    g = t.capture(f)
    yield g(t.x)
    mode = {"shift": 5.0}
    yield g(t.x)
    mode = None
    yield g(t.x)


@trap()
def star_arguments(t: Any) -> Any:
    more: list[float] = [1.0]
    named = {"k": 2.0}

    def inner(x: Any, *shifts: float, k: float = 1.0) -> Any:
        return x * k + sum(shifts)

    f = t.capture(lambda x: inner(x, *more, **named))
    yield f(t.x)
    more.append(3.0)
    yield f(t.x)
    named["k"] = 7.0
    yield f(t.x)


@trap()
def arrays_by_star(t: Any) -> Any:
    f = t.capture(lambda *xs: sum(xs[1:], xs[0]))
    yield f(t.x)
    yield f(t.x, t.x * 2)
    yield f(t.x, t.x, t.x)


@trap()
def an_enum_decides(t: Any) -> Any:
    class Mode(enum.Enum):
        TWICE = 2
        THRICE = 3

    mode = Mode.TWICE
    f = t.capture(lambda x: x * mode.value if mode is Mode.TWICE else x + mode.value)
    yield f(t.x)
    mode = Mode.THRICE
    yield f(t.x)


@trap()
def flags_are_combined(t: Any) -> Any:
    class Flag(enum.Flag):
        A = 1
        B = 2

    flags = Flag.A
    f = t.capture(lambda x: x * (2.0 if Flag.B in flags else 1.0))
    yield f(t.x)
    flags |= Flag.B
    yield f(t.x)


@trap()
def partial_methods(t: Any) -> Any:
    class One:
        def scaled(self, x: Any, k: float) -> Any:
            return x * k

        twice = functools.partialmethod(scaled, k=2.0)

    one = One()
    f = t.capture(lambda x: one.twice(x))
    yield f(t.x)
    One.twice = functools.partialmethod(One.scaled, k=4.0)
    yield f(t.x)


@trap()
def a_cache_of_a_helper_is_cleared(t: Any) -> Any:
    k = 2.0

    @functools.lru_cache
    def scale() -> float:
        return k

    f = t.capture(lambda x: x * scale())
    yield f(t.x)
    k = 9.0
    yield f(t.x)
    scale.cache_clear()
    yield f(t.x)


@trap()
def a_dispatch_gets_another_function(t: Any) -> Any:
    @functools.singledispatch
    def scale(mode: object) -> float:
        return 2.0

    f = t.capture(lambda x: x * scale("text"))
    yield f(t.x)
    scale.register(str, lambda mode: 5.0)
    yield f(t.x)
